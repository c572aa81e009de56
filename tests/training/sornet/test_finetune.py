"""Fine-tuning on few scenes: which scenes, what is kept of them, and the curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toy_scenes import VIEWS, ToySource, toy_plan

from sightline.errors import ConfigError, ModelError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.sornet import Sornet, SornetConfig
from sightline.models.sornet import SHIPPED
from sightline.training.folder import STATE
from sightline.training.sornet.evaluation import SceneAnswers, answers
from sightline.training.sornet.finetune import CURVE, curve, majority
from sightline.training.sornet.layouts import PlacedScenes
from sightline.training.sornet.plan import SornetPlan, begin, fine_plan, size_of
from sightline.training.sornet.sources import FewScenes, WorldSource
from sightline.training.sornet.task import WEIGHTS
from sightline.worlds import World


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    net = Sornet(SornetConfig(32, 1, 2, 16, views=VIEWS, image=(96, 64), most_objects=6))
    file = tmp_path / "start.safetensors"
    file.write_bytes(dump_checkpoint(net, {"plan": {"size": "tiny"}}))
    return file


@pytest.fixture(scope="module")
def held(red_world: World) -> WorldSource:
    return WorldSource(PlacedScenes(red_world, VIEWS, seed=99, size=3, batches=2), canonical=1)


def test_first_scenes_of_the_source(drawn: WorldSource) -> None:
    few = FewScenes(drawn, 3, 2, batch=3, seed=0)
    [(rows, incoming)] = few.loader(0, 1)
    assert sorted(rows.tolist()) == [0, 1, 2]
    assert incoming is None
    batch = few.scenes((rows, None), (1,))
    parts = [drawn.scenes(loaded, (1,)) for loaded in drawn.loader(0, 2)]
    for name in ("views", "labels", "present", "facts", "identities", "ids"):
        whole = torch.cat([getattr(part, name) for part in parts])
        assert torch.equal(getattr(batch, name), whole[rows])
    assert (few.image, few.most) == (drawn.image, drawn.most)
    assert few.facts() == {**drawn.facts(), "kept": 3}


def test_fewer_scenes_than_a_batch(drawn: WorldSource) -> None:
    few = FewScenes(drawn, 2, 2, batch=5, seed=0)
    [loaded] = few.loader(3, 4)
    assert sorted(set(loaded[0].tolist())) == [0, 1]
    assert len(few.scenes(loaded, (0, 1))) == 5


def test_patches_vary(drawn: WorldSource) -> None:
    few = FewScenes(drawn, 2, 2, batch=2, seed=0)
    made = []
    for seed in (0, 0, 1, 2, 3):
        torch.manual_seed(seed)
        made.append(few.scenes((np.array([0, 1]), None), (0,)).patches)
    assert torch.equal(made[0], made[1])
    assert not all(torch.equal(made[0], other) for other in made[2:])


def test_plan_follows_the_checkpoint(checkpoint: Path) -> None:
    plan = fine_plan(checkpoint, seed=4)
    assert (plan.views, plan.most_objects, plan.size, plan.start, plan.seed) == (
        VIEWS,
        6,
        "tiny",
        str(checkpoint),
        4,
    )
    usual = SornetPlan()
    assert plan.steps < usual.steps
    assert plan.rate < usual.rate
    assert plan.augmentation == usual.augmentation
    assert fine_plan(checkpoint, steps=7).steps == 7
    assert fine_plan(checkpoint, size="tiny") == fine_plan(checkpoint)
    with pytest.raises(ConfigError, match=r"start\.safetensors is a network of size tiny, not base"):
        fine_plan(checkpoint, size="base")
    with pytest.raises(ModelError, match="no such file"):
        fine_plan("nowhere.safetensors")


def test_the_network_that_comes_with_sightline() -> None:
    shipped = load_checkpoint(SHIPPED).net
    assert size_of(shipped.config) == ""  # the fixture has made tiny smaller
    plan = fine_plan("sornet")
    assert (plan.start, plan.views, plan.most_objects) == (
        "sornet",
        shipped.config.views,
        shipped.config.most_objects,
    )
    assert all(map(torch.equal, begin(plan, shipped.config.image).parameters(), shipped.parameters()))


def test_curve(checkpoint: Path, drawn: WorldSource, held: WorldSource, tmp_path: Path) -> None:
    plan = fine_plan(checkpoint, steps=20, batch=2, rate=3e-3, compiled=False, precision="fp32", warmup=2)
    told: list[tuple[int, int, int]] = []
    made = curve(
        plan, drawn, held, tmp_path / "c", scenes=(0, 3), held_out=5, progress=lambda *row: told.append(row)
    )
    assert [(p.scenes, p.steps, p.scores.n_scenes) for p in made.points] == [(0, 0, 5), (3, 20, 5)]
    assert told[-1] == (3, 20, 20)
    assert json.loads((tmp_path / "c" / CURVE).read_text()) == json.loads(json.dumps(made.to_dict()))
    for point, file in zip(made.points, (checkpoint, tmp_path / "c" / "scenes-3" / WEIGHTS), strict=True):
        found = answers(load_checkpoint(file).net, held, 2, (0, 1))
        shares = []
        for s in range(5):
            n = int(found.present[s].sum())
            off = ~np.eye(n, dtype=bool)
            shares.append((found.truth[s, :n, :n] == found.said[s, :n, :n])[off].mean())
        assert point.scores.scene_accuracy["all"].value == pytest.approx(np.mean(shares))
    before, after = (point.scores.scene_accuracy["all"].value for point in made.points)
    assert after > before + 0.05, "a random network learns at least which answers are common"


def test_curve_goes_on(checkpoint: Path, drawn: WorldSource, held: WorldSource, tmp_path: Path) -> None:
    plan = fine_plan(checkpoint, steps=2, batch=2, compiled=False, precision="fp32")
    first = curve(plan, drawn, held, tmp_path / "c", scenes=(2,), held_out=3)
    told: list[Any] = []
    again = curve(
        plan, drawn, held, tmp_path / "c", scenes=(2,), held_out=3, progress=lambda *row: told.append(row)
    )
    assert again.to_dict() == first.to_dict()  # NaN is null there
    assert told == []


def test_majority_says_the_commoner_answer() -> None:
    truth = np.zeros((2, 3, 3, 8), bool)
    truth[..., 2] = True
    truth[0, 0, 1, 0] = True
    present = np.array([[1, 1, 1], [1, 1, 0]], bool)
    found = majority(SceneAnswers(present, truth, truth, truth, truth, truth.astype(np.float32)), 2)
    assert found.scene_accuracy["front"].value == 1.0
    assert found.scene_accuracy["left"].value == pytest.approx((5 / 6 + 1) / 2)
    assert np.isnan(found.f1["left"].value)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"scenes": ()}, "different numbers ≥ 0"),  # none
        ({"scenes": (0, -8)}, "different numbers ≥ 0, not '0, -8'"),
        ({"scenes": (8, 8)}, "different numbers"),
        ({"scenes": (0, 13)}, "13 scenes are asked for, there are 12"),
        ({"scenes": (0,), "held_out": 7}, "7 scenes are asked for, there are 6"),
    ],
)
def test_curves_that_cannot_be_had(
    settings: Any, problem: str, checkpoint: Path, drawn: WorldSource, held: WorldSource, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=problem):
        curve(fine_plan(checkpoint), drawn, held, tmp_path / "c", **settings)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("dataset.json", "it is a Sightline dataset"),
        ("plan.json", "it holds plan.json"),  # a training
        ("notes.txt", "it holds notes.txt"),
    ],
)
def test_folder_of_something_else(
    name: str, problem: str, checkpoint: Path, drawn: WorldSource, held: WorldSource, tmp_path: Path
) -> None:
    out = tmp_path / "c"
    out.mkdir()
    (out / name).write_text("{}")
    with pytest.raises(ConfigError, match=f"c is no folder of a curve: {problem}"):
        curve(fine_plan(checkpoint), drawn, held, out, scenes=(0,), held_out=3)
    assert [file.name for file in out.iterdir()] == [name]


def test_curve_saves_states(checkpoint: Path, drawn: WorldSource, held: WorldSource, tmp_path: Path) -> None:
    plan = fine_plan(checkpoint, steps=20, batch=2, compiled=False, precision="fp32")

    def press(scenes: int, done: int, total: int) -> None:
        assert (tmp_path / "c" / "scenes-2" / STATE).exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        curve(plan, drawn, held, tmp_path / "c", scenes=(2,), held_out=3, save_every=5, progress=press)


def test_curve_needs_a_checkpoint(drawn: WorldSource, held: WorldSource, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="begins with a checkpoint"):
        curve(toy_plan(), drawn, held, tmp_path)


def test_scenes_whose_objects_are_not_known() -> None:
    with pytest.raises(ConfigError, match="do not tell which objects"):
        FewScenes(ToySource(), 2, 2, batch=2, seed=0)
