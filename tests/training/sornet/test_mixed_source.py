"""Sources in turn: whose batch comes when, which identities are whose, and sources that do not go together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_scenes import NumberedSource

from sightline.errors import ConfigError
from sightline.training.sornet.layouts import PlacedScenes
from sightline.training.sornet.pictures import SceneBatch
from sightline.training.sornet.sources import FewScenes, MixedSource, WorldSource
from sightline.worlds import World, load_world

TURNS = st.lists(st.integers(0, 2), min_size=3, max_size=6).filter(lambda turns: set(turns) == {0, 1, 2})


def three(batches: tuple[int, int, int]) -> list[NumberedSource]:
    return [NumberedSource(2, 2 * n) for n in batches]


def in_turn(turns: list[int], batches: tuple[int, int, int]) -> list[tuple[int, int]]:
    """(source, its batch) as long as there are any, one after the other."""
    told: list[tuple[int, int]] = []
    while True:
        turn = turns[len(told) % len(turns)]
        own = sum(other == turn for other, _ in told)
        if own == batches[turn]:
            return told
        told.append((turn, own))


@settings(max_examples=100, deadline=None)
@given(turns=TURNS, batches=st.tuples(*[st.integers(0, 5)] * 3), data=st.data())
def test_every_source_in_order(turns: list[int], batches: tuple[int, int, int], data: st.DataObject) -> None:
    mixed, told = MixedSource(three(batches), turns), in_turn(turns, batches)
    assert mixed.facts()["scenes"] == 2 * len(told)
    start = data.draw(st.integers(0, len(told)))
    assert list(mixed.loader(start, len(told))) == told[start:]


def test_one_after_the_other_by_default() -> None:
    mixed = MixedSource(three((2, 2, 2)))
    assert list(mixed.loader(0, 6)) == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    told: dict[str, Any] = {"numbered": True, "scenes": 4}
    assert mixed.facts() == {"sources": [told] * 3, "turns": [0, 1, 2], "scenes": 12}
    assert (mixed.batch, mixed.image, mixed.most) == (2, (4, 2), 2)


def test_no_further_than_its_sources() -> None:
    sources = three((2, 1, 2))
    mixed = MixedSource(sources)
    with pytest.raises(ConfigError, match="10 scenes are asked for, there are 8"):
        mixed.loader(1, 5)  # at once, not when the second source has no more
    assert [source.asked for source in sources] == [[], [], []]
    assert len(list(mixed.loader(1, 4))) == 3


def test_identities_and_patches_are_those_of_the_source() -> None:
    sources = [
        NumberedSource(2, 8, identities=5, canonical=2),
        NumberedSource(2, 8, identities=3, canonical=6, lit=100),
    ]
    mixed = MixedSource(sources)
    assert mixed.bank.shape[:2] == (8, 6)
    assert mixed.outlines is not None
    assert mixed.outlines.shape[:2] == (8, 6)
    for turn, number in mixed.loader(0, 4):
        torch.manual_seed(0)
        found = mixed.scenes((turn, number), (0,))
        torch.manual_seed(0)
        alone = sources[turn].scenes(number, (0,))
        assert torch.equal(found.patches, alone.patches)
        assert found.identities is not None
        assert alone.identities is not None
        there = found.present
        views = sources[turn].bank[alone.identities[there]]
        assert torch.equal(mixed.bank[found.identities[there]], views.repeat(1, 6 // views.shape[1], 1, 1, 1))
        assert torch.equal(
            255 - mixed.outlines[found.identities[there]], mixed.bank[found.identities[there]][..., 0]
        )
        assert not found.identities[~there].any()


def test_each_canonical_view_as_often_as_another() -> None:
    mixed = MixedSource(
        [NumberedSource(2, 8, identities=1, canonical=2), NumberedSource(2, 8, identities=1, canonical=6)]
    )
    assert mixed.bank[0].flatten().tolist() == [0, 1, 0, 1, 0, 1]


def test_outlines_of_all_or_none() -> None:
    sources = three((1, 1, 1))
    sources[1].outlines = None
    assert MixedSource(sources).outlines is None


class Nameless(NumberedSource):
    """Does not say which objects its queries are."""

    def scenes(self, loaded: int, views: Any) -> SceneBatch:
        return replace(super().scenes(loaded, views), identities=None)


def test_identities_that_are_not_known_stay_so() -> None:
    mixed = MixedSource([NumberedSource(2, 8), Nameless(2, 8)])
    assert [mixed.scenes(loaded, (0,)).identities is None for loaded in mixed.loader(0, 2)] == [False, True]


class Large(NumberedSource):
    """Larger pictures."""

    image = (8, 4)


@pytest.mark.parametrize(
    ("sources", "turns", "problem"),
    [
        ([], None, "must name each of 0 sources"),
        (three((1, 1, 1)), (0, 1), "turns \\[0, 1\\] must name each of 3 sources"),  # one left out
        (three((1, 1, 1)), (0, 1, 2, 3), "must name each of 3"),  # one too many
        (three((1, 1, 1)), (), "must name each of 3"),
        ([NumberedSource(2, 8), NumberedSource(4, 8)], None, "different scenes of a batch do not mix: 2, 4"),
        ([NumberedSource(2, 8), Large(2, 8)], None, "different sizes of a view do not mix"),
        (
            [NumberedSource(2, 8, canonical=2), NumberedSource(2, 8, canonical=3)],
            None,
            "2 canonical views of one source do not go evenly into another's 3",
        ),
        (
            [NumberedSource(2, 8), NumberedSource(2, 8, objects=3)],
            None,
            "different room for objects \\(`most`\\) do not mix: 2, 3",
        ),
        (
            [NumberedSource(2, 8), FewScenes(NumberedSource(2, 8), 2, 2, batch=2, seed=0)],
            None,
            "kept scenes do not mix: mix their sources",
        ),
    ],
)
def test_sources_that_do_not_mix(sources: Any, turns: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        MixedSource(sources, turns)


@pytest.mark.parametrize("workers", [0, 1])
def test_two_worlds(workers: int, red_world: World) -> None:
    few = replace(red_world, shapes=red_world.shapes[:3], materials=("rubber",))
    diverse = load_world("geospa/diverse")
    other = replace(
        diverse, shapes=diverse.shapes[-3:], resolution=(96, 64), colors=("cyan",), distinct=False, objects=(2, 4)
    )
    sources = [
        WorldSource(
            PlacedScenes(world, ("original", "top"), seed=3, size=2, batches=8, most=red_world.objects[1]),
            canonical=1,
            workers=workers,
        )
        for world in (few, other)
    ]
    mixed = MixedSource(sources, (0, 1, 1))
    assert mixed.facts()["scenes"] == 26  # of a fifth round there is the first batch alone
    for turn, loaded in mixed.loader(2, 6):
        placed = sources[turn].stream[loaded.first // 2]
        assert np.array_equal(loaded.identities, placed.identities)
        assert np.array_equal(loaded.facts, placed.facts)
        assert loaded.present.shape == (2, mixed.most) == (2, red_world.objects[1])
    assert [(turn, loaded.first) for turn, loaded in mixed.loader(2, 6)] == [(1, 2), (0, 2), (1, 4), (1, 6)]
    kept = FewScenes(mixed, 6, 2, batch=6, seed=0, fresh=1)
    assert kept.most == mixed.most
    for loaded in kept.loader(0, 2):
        scenes = kept.scenes(loaded, (0, 1))
        assert scenes.identities is not None
        assert {int(identity) < len(sources[0].bank) for identity in scenes.identities[scenes.present]} == {
            True,
            False,
        }
        shown = mixed.bank[scenes.identities[scenes.present], 0]
        assert torch.equal(scenes.patches[scenes.present], shown)
