"""The loop: it learns, goes on as if it had not been interrupted, refuses another plan's folder, keeps a log."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from signal import SIGINT, getsignal
from typing import Any

import pytest
import torch
from toy_scenes import VIEWS, ToySource, fit_sornet, toy_plan

from sightline.errors import ConfigError, ModelError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.sornet import Sornet, SornetConfig
from sightline.plain import plain
from sightline.training.folder import LOG, PLAN, STATE, last_row
from sightline.training.learner import Learner
from sightline.training.optimizers import optimizers
from sightline.training.sornet.plan import begin
from sightline.training.sornet.sources import WorldSource
from sightline.training.sornet.task import WEIGHTS, SornetTask


class KilledError(Exception):
    """Stands for a machine that goes away."""


def killed_at(step: int) -> Any:
    def progress(done: int, total: int, row: Mapping[str, float]) -> None:
        if done == step:
            raise KilledError

    return progress


def weights(learner: Learner) -> list[torch.Tensor]:
    return [*(w.detach() for w in learner.net.parameters()), *learner.head.parameters(), *learner.mean]


def rows_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / LOG).read_text().splitlines()))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Of views of 64 × 32 pixels."""
    torch.manual_seed(5)
    net = Sornet(SornetConfig(32, 1, 2, 16, views=VIEWS, image=(64, 32), most_objects=6))
    file = tmp_path / "start.safetensors"
    file.write_bytes(dump_checkpoint(net))
    return file


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_going_on_is_as_if_never_interrupted(optimizer: Any, tmp_path: Path) -> None:
    plan = toy_plan(optimizer=optimizer)
    whole, _ = fit_sornet(plan, ToySource(), tmp_path / "whole", log_every=1)
    # Once stopped in good order, once gone in the middle of things, two steps after the last state.
    fit_sornet(plan, ToySource(), tmp_path / "parts", log_every=1, stop_after=2)
    with pytest.raises(KilledError):
        fit_sornet(plan, ToySource(), tmp_path / "parts", log_every=1, save_every=3, progress=killed_at(5))
    source = ToySource()
    parts, done = fit_sornet(plan, source, tmp_path / "parts", log_every=1)
    assert source.asked == [3, 4, 5]
    assert (done.steps, done.planned) == (6, 6)
    assert all(map(torch.equal, weights(whole), weights(parts)))
    assert (tmp_path / "whole" / WEIGHTS).read_bytes() == (tmp_path / "parts" / WEIGHTS).read_bytes()
    for one, other in zip(rows_of(tmp_path / "whole"), rows_of(tmp_path / "parts"), strict=True):
        for name in ("step", "predicates", "right", "facts", "pointing", "rate"):
            assert one[name] == other[name]


def test_time_is_up_after_a_whole_step(tmp_path: Path) -> None:
    plan = toy_plan()
    whole, _ = fit_sornet(plan, ToySource(), tmp_path / "whole")
    done = [fit_sornet(plan, ToySource(), tmp_path / "parts", seconds=0.0)[1].steps for _ in range(3)]
    parts, _ = fit_sornet(plan, ToySource(), tmp_path / "parts")
    assert done == [1, 2, 3]
    assert all(map(torch.equal, weights(whole), weights(parts)))


def test_a_finished_training_does_nothing_more(tmp_path: Path) -> None:
    plan, source = toy_plan(), ToySource()
    _, first = fit_sornet(plan, source, tmp_path, log_every=2)
    kept = (tmp_path / WEIGHTS).read_bytes()
    _, again = fit_sornet(plan, source, tmp_path, log_every=2)
    assert source.asked == [0, 1, 2, 3, 4, 5]
    assert (again.steps, again.weights) == (6, tmp_path / WEIGHTS)
    assert again.last["right"] == pytest.approx(first.last["right"], rel=1e-4)
    assert (tmp_path / WEIGHTS).read_bytes() == kept


def test_interrupted_by_hand(tmp_path: Path) -> None:
    def press(done: int, total: int, row: Mapping[str, float]) -> None:
        raise KeyboardInterrupt

    before = getsignal(SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit_sornet(toy_plan(), ToySource(), tmp_path, log_every=2, progress=press)
    assert getsignal(SIGINT) == before
    _, done = fit_sornet(toy_plan(), ToySource(), tmp_path)
    assert done.steps == 6


def test_log(tmp_path: Path) -> None:
    rows_seen: list[tuple[int, int]] = []
    plan = toy_plan(steps=5)
    fit_sornet(
        plan, ToySource(), tmp_path, log_every=2, progress=lambda done, total, _: rows_seen.append((done, total))
    )
    rows = rows_of(tmp_path)
    assert [row["step"] for row in rows] == ["2", "4", "5"]
    assert rows_seen == [(2, 5), (4, 5), (5, 5)]
    for row in rows:
        assert float(row["rate"]) == pytest.approx(plan.rate * plan.factor(int(row["step"]) - 1), rel=1e-5)
        assert 0.0 <= float(row["right"]) <= 1.0
        assert float(row["images_per_s"]) >= float(row["scenes_per_s"]) > 0
    assert last_row(tmp_path)["step"] == 5
    assert last_row(tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    ("plan", "was", "source", "problem"),
    [
        ({"steps": 7}, {}, {}, "its steps is 6, now it is 7"),  # another plan
        ({"augmentation": None}, {}, {}, "its augmentation is .*, now it is None"),
        ({}, {}, {"name": "other"}, "its toy is 'toy', now it is 'other'"),  # other scenes
        ({}, {"fresh": 4}, {}, "its fresh is 4, now it is not set;"),  # told before, and no more
        ({}, {}, {"fresh": 4}, "its fresh is not set, now it is 4;"),
    ],
)
def test_folder_of_another_training(plan: Any, was: Any, source: Any, problem: str, tmp_path: Path) -> None:
    fit_sornet(toy_plan(), ToySource(**was), tmp_path, stop_after=1)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match=problem):
        fit_sornet(toy_plan(**plan), ToySource(**source), tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_nothing_is_left_where_nothing_began(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        fit_sornet(toy_plan(start=str(tmp_path / "none.safetensors")), ToySource(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_learns(tmp_path: Path) -> None:
    """Brightness decides; with facts out of the way it is found in seconds."""
    plan = toy_plan(
        steps=60, batch=16, warmup=5, facts=0.0, pointing=0.0, augmentation=None, fewer_views=0.0, average=0.9
    )
    source = ToySource(batch=16)
    learner, done = fit_sornet(plan, source, tmp_path, log_every=1)
    rows = [float(row["predicates"]) for row in rows_of(tmp_path)]
    assert rows[0] > 0.6
    assert sum(rows[-5:]) / 5 < 0.15
    assert done.last["right"] > 0.93
    scenes = source.scenes(1000, (0, 1))
    kept = load_checkpoint(done.weights).net
    with torch.inference_mode():
        right = (kept(scenes.views, scenes.patches) > 0) == scenes.labels
    assert right[scenes.present].float().mean() > 0.9
    assert not all(map(torch.equal, kept.parameters(), learner.net.parameters())), "the running mean is kept"


def test_what_a_checkpoint_says(tmp_path: Path) -> None:
    plan = toy_plan(steps=1)
    _, done = fit_sornet(plan, ToySource(), tmp_path)
    net, facts = load_checkpoint(done.weights)
    assert net.config.image == ToySource.image
    assert net.config.views == plan.views
    assert facts["plan"] == plain(plan)
    assert (facts["steps"], facts["source"]["toy"]) == (1, "toy")
    assert json.loads((tmp_path / PLAN).read_text())["plan"] == facts["plan"]
    assert {file.name for file in tmp_path.iterdir()} == {WEIGHTS, STATE, LOG, PLAN}


def test_without_facts(tmp_path: Path) -> None:
    _, done = fit_sornet(toy_plan(steps=1), ToySource(facts=False), tmp_path)
    assert math.isnan(done.last["facts"])
    assert math.isnan(done.last["pointing"])
    assert done.last["predicates"] > 0


@pytest.mark.parametrize("loss", ["facts", "pointing"])
def test_losses_beside_change_what_is_learned(loss: str, tmp_path: Path) -> None:
    one, with_it = fit_sornet(toy_plan(steps=2), ToySource(), tmp_path / "a")
    two, without = fit_sornet(toy_plan(steps=2, **{loss: 0.0}), ToySource(), tmp_path / "b")
    assert with_it.last[loss] > 0
    assert math.isnan(without.last[loss])
    assert not all(map(torch.equal, one.mean, two.mean))


def test_begins_with_a_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    net = begin(toy_plan(start=str(checkpoint)), (64, 32))
    assert all(map(torch.equal, net.parameters(), load_checkpoint(checkpoint).net.parameters()))
    learner, _ = fit_sornet(toy_plan(start=str(checkpoint), rate=1e-9, steps=1), ToySource(), tmp_path / "o")
    for weight, was in zip(learner.net.parameters(), net.parameters(), strict=True):
        torch.testing.assert_close(weight.detach(), was.detach(), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("plan", "image", "problem"),
    [
        ({"views": ("original",)}, (64, 32), "takes views original, top .*; the training has views original of"),
        ({}, (96, 64), "64×32 pixels .* 96×64"),  # other pictures
        ({"most_objects": 7}, (64, 32), "up to 6 objects; .* up to 7 objects"),
    ],
)
def test_checkpoint_that_does_not_fit(plan: Any, image: Any, problem: str, checkpoint: Path) -> None:
    with pytest.raises(ConfigError, match=problem):
        begin(toy_plan(start=str(checkpoint), **plan), image)


def test_weights_follow_the_seed() -> None:
    made = [Learner(SornetTask(toy_plan(seed=seed), ToySource())) for seed in (0, 0, 1)]
    assert all(map(torch.equal, weights(made[0]), weights(made[1])))
    assert not torch.equal(made[0].mean[0], made[2].mean[0])


def test_only_matrices_decay() -> None:
    learner = Learner(SornetTask(toy_plan(), ToySource()))
    for optimizer in ("adamw", "muon"):
        made = optimizers([learner.net, learner.head], toy_plan(optimizer=optimizer), "blocks.")
        groups = [group for one in made for group in one.param_groups]
        count = sum(len(group["params"]) for group in groups)
        assert count == len([*learner.net.parameters(), *learner.head.parameters()])
        for group in groups:
            assert all((w.ndim >= 2) == (group["weight_decay"] > 0) for w in group["params"])
    assert {w.ndim for w in made[1].param_groups[0]["params"]} == {2}


def test_scenes_of_a_world(drawn: WorldSource, tmp_path: Path) -> None:
    learner, done = fit_sornet(toy_plan(steps=2, batch=2), drawn, tmp_path, log_every=1)
    assert learner.net.config.image == drawn.image == (96, 64)
    assert done.last["facts"] > 0
    assert json.loads((tmp_path / PLAN).read_text())["source"] == drawn.facts()
