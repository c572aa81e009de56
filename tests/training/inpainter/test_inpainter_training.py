"""The in-painter's training: pairs of pictures, holes, losses, and that it learns."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sightline.errors import ConfigError
from sightline.generation.scene import scene_from
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.inpainter import Discriminator, Inpainter, InpainterConfig
from sightline.render.fast import FastRenderer
from sightline.training.inpainter.examples import FillExamples, examples, strokes
from sightline.training.inpainter.pairs import KeptPairs, PairSource, PairStream, ScenePairs, placed
from sightline.training.inpainter.task import InpainterPlan, InpainterTask, adversarial, reconstruction
from sightline.worlds import load_world

WORLDS = [replace(load_world(name), resolution=(48, 32)) for name in ("context/train", "kitchen")]


@pytest.fixture(scope="module")
def source() -> PairSource:
    return PairSource(PairStream(WORLDS, seed=3, size=3))


@pytest.fixture(scope="module")
def pairs(source: PairSource) -> ScenePairs:
    return source.pairs(next(iter(source.loader(1, 2))))


def test_pairs_are_a_scene_and_the_scene_without_one_object(source: PairSource, pairs: ScenePairs) -> None:
    loaded, renderer = placed((source.stream, 1)), FastRenderer()
    assert {layout.world for layout in loaded.layouts} == {"kitchen"}
    for i, (layout, gone) in enumerate(zip(loaded.layouts, loaded.gone.tolist(), strict=True)):
        whole = scene_from(layout, renderer.frames(layout, ["original"]))
        without = scene_from(layout.without(gone), renderer.frames(layout.without(gone), ["original"]))
        assert (pairs.before[i].numpy() == whole.views[0].image()).all()
        assert (pairs.after[i].numpy() == without.views[0].image()).all()
        assert (pairs.mask[i].numpy() == (whole.views[0].ids() == gone + 1)).all()


def test_batches_are_the_same_whoever_makes_them_and_no_scene_comes_twice(source: PairSource) -> None:
    again = list(source.loader(0, 4))
    assert [batch.layouts for batch in again] == [placed((source.stream, k)).layouts for k in range(4)]
    assert len({(layout.world, layout.index) for batch in again for layout in batch.layouts}) == 12
    with pytest.raises(ConfigError, match="no world"):
        PairStream([], seed=0, size=1)


def test_an_objects_own_hole_is_filled_with_the_scene_without_it(pairs: ScenePairs) -> None:
    torch.manual_seed(0)
    made = examples(pairs, 32, objects=1.0, moved=0.0, changed=False)
    after = pairs.after.permute(0, 3, 1, 2) / 127.5 - 1
    before = pairs.before.permute(0, 3, 1, 2) / 127.5 - 1
    for i in range(len(made.holes)):
        places = [x for x in range(48 - 32 + 1) if torch.equal(made.pictures[i], before[i, :, :, x : x + 32])]
        assert places
        inside = (made.holes[i] > 0).expand(3, -1, -1)
        cut = after[i, :, :, places[0] : places[0] + 32]
        mask = pairs.mask[i, :, places[0] : places[0] + 32]
        assert (made.holes[i, 0][mask] == 1).all()
        assert torch.equal(made.targets[i][inside], cut[inside])
        assert torch.equal(made.targets[i][~inside], made.pictures[i][~inside])


@pytest.mark.parametrize(("objects", "moved"), [(0.0, 1.0), (0.0, 0.0)])
def test_other_holes_are_filled_with_the_picture_itself(pairs: ScenePairs, objects: float, moved: float) -> None:
    for seed in range(4):
        torch.manual_seed(seed)
        made = examples(pairs, 32, objects=objects, moved=moved)
        assert torch.equal(made.targets, made.pictures)
        share = made.holes.mean(dim=(1, 2, 3))
        assert ((share > 0) & (share <= 0.5)).all()


def test_strokes_are_irregular_and_depend_on_the_seed() -> None:
    torch.manual_seed(1)
    drawn = strokes(8, 40, torch.device("cpu"))
    torch.manual_seed(1)
    assert torch.equal(drawn, strokes(8, 40, torch.device("cpu")))
    assert set(drawn.unique().tolist()) == {0.0, 1.0}
    assert len({one.numpy().tobytes() for one in drawn}) == 8


def filled(value: float) -> tuple[torch.Tensor, FillExamples]:
    targets, holes = torch.zeros(1, 3, 32, 32), torch.zeros(1, 1, 32, 32)
    holes[..., :8] = 1
    return torch.where(holes > 0, value, 0.5).expand(1, 3, 32, 32), FillExamples(targets, targets, holes)


def test_reconstruction_is_counted_inside_and_outside() -> None:
    made = reconstruction(*filled(0.2))
    assert made["hole"].item() == pytest.approx(0.2)
    assert made["outside"].item() == pytest.approx(0.5)
    assert made["psnr"].item() == pytest.approx(-20 * math.log10(0.1), abs=1e-4)


def test_painter_and_discriminator_are_kept_from_each_others_weights() -> None:
    torch.manual_seed(0)
    judge, (painted, made) = Discriminator(2), filled(0.3)
    painted = painted.clone().requires_grad_()
    losses = adversarial(judge, painted, made)
    weights = list(judge.parameters())
    assert all(
        one is None for one in torch.autograd.grad(losses["painter"], weights, allow_unused=True, retain_graph=True)
    )
    assert torch.autograd.grad(losses["judge"], painted, allow_unused=True, retain_graph=True) == (None,)
    moved = torch.autograd.grad(losses["painter"], painted)[0]
    assert (moved[..., :8] != 0).any()
    assert (moved[..., 8:] == 0).all(), "what lies outside the hole is the picture's own"
    assert any((one != 0).any() for one in torch.autograd.grad(losses["judge"], weights))


def test_kept_pairs_are_those_of_the_stream_each_once_an_epoch() -> None:
    source = PairSource(PairStream([replace(load_world("context/train"), resolution=(48, 32))], seed=5, size=2))
    kept = KeptPairs(source, 3)
    drawn = [source.pairs(loaded) for loaded in source.loader(0, 3)]
    wanted = torch.cat([one.after for one in drawn])
    epoch = [kept.pairs(loaded).after for loaded in kept.loader(0, 3)]
    places = [int((wanted == one).flatten(1).all(dim=1).nonzero()) for one in torch.cat(epoch)]
    assert sorted(places) == list(range(6))
    assert places != list(range(6)), "shuffled"
    assert kept.facts() == {"worlds": ["context/train"], "seed": 5, "kept": 6}


def test_kept_pairs_must_be_of_one_size() -> None:
    worlds = [replace(load_world("context/train"), resolution=size) for size in ((48, 32), (32, 32))]
    with pytest.raises(ConfigError, match="one size"):
        KeptPairs(PairSource(PairStream(worlds, seed=5, size=1)), 2)


class Kept:
    """Pairs that are drawn already."""

    batch = 3

    def __init__(self, pairs: ScenePairs) -> None:
        self._pairs = pairs

    def pairs(self, _: Any) -> ScenePairs:
        return self._pairs


def test_it_learns(pairs: ScenePairs) -> None:
    plan = InpainterPlan(width=4, blocks=1, side=32, batch=3, objects=1.0, moved=0.0)
    torch.manual_seed(0)
    task = InpainterTask(plan, Kept(pairs))  # type: ignore[arg-type]
    optimizer = torch.optim.Adam([w for part in task.modules().values() for w in part.parameters()], lr=1e-2)
    errors = []
    for step in range(24):
        torch.manual_seed(step)
        loss, metrics = task.loss(None, step)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        errors.append(metrics["hole"].item())
    assert np.mean(errors[-5:]) < 0.6 * np.mean(errors[:2])


@pytest.mark.long
def test_the_engine_trains_it_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    from sightline.training.fit import fit

    plan = InpainterPlan(width=4, blocks=1, side=32, batch=3, steps=6, warmup=1, precision="fp32")

    def task() -> InpainterTask:
        return InpainterTask(plan, PairSource(PairStream(WORLDS, seed=3, size=3)))

    whole = fit(task(), tmp_path / "whole", log_every=2, device="cpu")[1]
    fit(task(), tmp_path / "parts", log_every=2, device="cpu", stop_after=4)
    parts = fit(task(), tmp_path / "parts", log_every=2, device="cpu")[1]
    assert parts.weights.read_bytes() == whole.weights.read_bytes()
    net, facts = load_checkpoint(whole.weights, Inpainter)
    assert (net.config, facts["steps"]) == (InpainterConfig(4, 1), 6)
