"""Kept scenes of which the oldest are replaced: which are there at a step, whenever the training began."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_scenes import NumberedSource
from toy_scenes import VIEWS, fit_sornet, toy_plan

from sightline.errors import ConfigError
from sightline.training.sornet.pictures import SceneBatch
from sightline.training.sornet.sources import FewScenes, WorldSource

STEPS = 12


def moving(size: int, blocks: int, fresh: int, batch: int = 3) -> FewScenes:
    return FewScenes(NumberedSource(size, 120), size * blocks, 2, batch=batch, seed=1, fresh=fresh)


def shown(few: FewScenes, start: int, stop: int, views: tuple[int, ...] = (0, 1)) -> list[SceneBatch]:
    """What the steps see; everything is loaded ahead, as far as a trainer ever might."""
    made = []
    for step, loaded in enumerate(list(few.loader(start, stop)), start=start):
        torch.manual_seed(step)
        made.append((few.scenes(loaded, views), torch.rand(1)))
    assert len({float(after) for _, after in made}) == len(made)
    return [scenes for scenes, _ in made]


def same(one: SceneBatch, other: SceneBatch) -> bool:
    return all(torch.equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(SceneBatch))


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 3), blocks=st.integers(1, 4), fresh=st.integers(1, 5), start=st.integers(0, STEPS - 1))
def test_a_window_that_moves(size: int, blocks: int, fresh: int, start: int) -> None:
    """The scene of a row, the slow way: of the batches t // fresh and following, that whose place it is."""
    few = moving(size, blocks, fresh)
    for step, scenes in enumerate(shown(few, start, STEPS, (1,)), start=start):
        window = range(step // fresh, step // fresh + blocks)
        there = {b % blocks * size + i: b * size + i for b in window for i in range(size)}
        [(rows, _)] = moving(size, blocks, fresh).loader(step, step + 1)
        wanted = [there[row] for row in rows.tolist()]
        assert scenes.facts is not None
        assert scenes.facts[:, 0, 0].tolist() == wanted
        assert scenes.views[:, 0, 0, 0, 0].tolist() == [scene + 1 for scene in wanted]  # the second view
        assert scenes.views.shape == (3, 1, 2, 4, 3)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 3), blocks=st.integers(1, 4), fresh=st.integers(1, 5), start=st.integers(0, STEPS - 1))
def test_a_training_that_goes_on_sees_the_same(size: int, blocks: int, fresh: int, start: int) -> None:
    whole = shown(moving(size, blocks, fresh), 0, STEPS)
    used = moving(size, blocks, fresh)
    shown(used, 0, start + 1)  # as a trial before the training would
    for few, first in ((moving(size, blocks, fresh), start), (used, start), (used, 0)):
        made = shown(few, first, STEPS)
        assert all(same(a, b) for a, b in zip(whole[first:], made, strict=True))


def test_random_numbers_go_on_as_if_nothing_came_in() -> None:
    few = moving(2, 2, 1)
    loaded = list(few.loader(0, 2))
    torch.manual_seed(0)
    few.scenes(loaded[1], (0,))  # one comes in
    after = torch.rand(1)
    torch.manual_seed(0)
    few.scenes((loaded[1][0], None), (0,))
    assert torch.equal(after, torch.rand(1))


def test_only_what_is_missing_is_drawn_again() -> None:
    base = NumberedSource(2, 120)
    few = FewScenes(base, 8, 2, batch=3, seed=1, fresh=2)
    assert base.asked == []
    shown(few, 0, 6)
    assert base.asked == [0, 1, 2, 3, 4, 5]
    base.asked.clear()
    shown(few, 0, 2)
    assert base.asked == [0, 1]
    base.asked.clear()
    shown(few, 0, 0)
    shown(few, 2, 2)  # a training that is done
    assert base.asked == []


def test_without_fresh_ones_all_stay() -> None:
    base = NumberedSource(2, 120)
    few = FewScenes(base, 5, 2, batch=5, seed=1)
    for scenes in shown(few, 0, 4):
        assert scenes.facts is not None
        assert sorted(scenes.facts[:, 0, 0].tolist()) == [0, 1, 2, 3, 4]
    assert base.asked == [0, 1, 2]
    assert few.facts() == {"numbered": True, "scenes": 120, "kept": 5}
    assert moving(2, 2, 3).facts() == {"numbered": True, "scenes": 120, "kept": 4, "fresh": 3}


@pytest.mark.parametrize(
    ("scenes", "fresh", "stop", "problem"),
    [
        (5, 1, 1, "give a multiple of 2"),
        (4, -1, 1, "steps ≥ 0"),
        (14, 1, 1, "14 scenes are asked for, there are 12"),
        (8, 2, 7, "14 scenes are asked for, there are 12"),  # the seventh step needs a fourth new batch
    ],
)
def test_windows_that_cannot_be_had(scenes: int, fresh: int, stop: int, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        FewScenes(NumberedSource(2, 12), scenes, 2, batch=3, seed=1, fresh=fresh).loader(0, stop)


def test_the_last_scenes_may_come_in() -> None:
    few = FewScenes(NumberedSource(2, 12), 8, 2, batch=3, seed=1, fresh=2)
    assert [None if incoming is None else incoming[0] for _, incoming in few.loader(0, 6)] == [
        None,
        None,
        4,
        None,
        5,
        None,
    ]


class Forgetful(NumberedSource):
    """Its second batch has neither facts nor id maps."""

    def scenes(self, loaded: int, views: Any) -> SceneBatch:
        made = super().scenes(loaded, views)
        rest = {f.name: getattr(made, f.name) for f in fields(SceneBatch) if f.name not in ("facts", "ids")}
        return made if loaded != 1 else SceneBatch(**rest)


def test_what_some_lack_none_has() -> None:
    few = FewScenes(Forgetful(2, 12), 6, 2, batch=3, seed=1)
    for scenes in shown(few, 0, 2):
        assert (scenes.facts, scenes.ids) == (None, None)
        assert scenes.sizes is not None


class Breaking(NumberedSource):
    """Where asked to, its batches end in something that cannot be copied; the views come before that."""

    breaks = False

    def scenes(self, loaded: int, views: Any) -> SceneBatch:
        made = super().scenes(loaded, views)
        return replace(made, sizes=torch.zeros(self.batch, self.most + 1)) if self.breaks else made


def test_half_a_copy_passes_for_no_batch() -> None:
    base = Breaking(2, 12)
    few = FewScenes(base, 4, 2, batch=4, seed=1, fresh=1)
    [_, (rows, incoming)] = few.loader(0, 2)
    base.breaks = True
    with pytest.raises(RuntimeError):
        few.scenes((rows, incoming), (0,))
    base.breaks = False
    [begun_again] = shown(few, 0, 1)
    assert same(begun_again, shown(moving(2, 2, 1, batch=4), 0, 1)[0])


def test_weights_are_those_of_an_uninterrupted_training(drawn: WorldSource, tmp_path: Path) -> None:
    plan = toy_plan(batch=2, steps=4)

    def few() -> FewScenes:
        return FewScenes(drawn, 4, len(VIEWS), batch=2, seed=0, fresh=1)

    whole, _ = fit_sornet(plan, few(), tmp_path / "whole", device="cpu")
    fit_sornet(plan, few(), tmp_path / "parts", stop_after=2, device="cpu")
    parts, done = fit_sornet(plan, few(), tmp_path / "parts", device="cpu")
    assert done.steps == 4
    for one, other in zip(whole.net.parameters(), parts.net.parameters(), strict=True):
        assert np.array_equal(one.detach().numpy(), other.detach().numpy())
