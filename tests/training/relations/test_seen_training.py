"""Training of networks that look: batches of pictures with pairs, targets that follow a turn, a toy training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.relations.items import views_of
from sightline.exams.relations.pairs import tables_of
from sightline.generation import generate
from sightline.models.nets.vrd import ARCHITECTURES
from sightline.models.registry import load
from sightline.models.relations.seen import SeenModel, squared
from sightline.scenes import View
from sightline.skills import Judgements, Pairs, RelationsSpec
from sightline.store import Dataset
from sightline.training.fit import fit
from sightline.training.relations.options import RelationsOptions, plan_of, seen_plan
from sightline.training.relations.seen import SeenPlan, SeenSource, SeenTask, ViewPictures
from sightline.training.relations.setup import seen_source, source_of, training_split
from sightline.training.relations.tables import examples_of, scenes_of

TOY = {"steps": 3, "batch": 2, "width": 4, "side": 64, "warmup": 0, "precision": "fp32"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("scenes") / "data"
    return generate("geospa/train", folder, scenes=4, size="96x64", pairs=True)


def source(data: Dataset, plan: SeenPlan, *, across: bool) -> SeenSource:
    tables = [
        t
        for t in tables_of(data, training_split(data, None)).values()
        if len(t) and (across or t.setting == "within_image")
    ]
    views = {scene: view for table in tables for scene, view in views_of(data, table).items()}
    picture, scenes = scenes_of(tables)
    pictures = ViewPictures([views.get(scene) for scene in scenes], scenes, plan.side)
    return SeenSource(examples_of(tables), picture, pictures, plan, {})


def test_batches(data: Dataset) -> None:
    made = source(data, SeenPlan(**TOY), across=True)
    first, second = made.loader(0, 2)
    pictures, shares = made.pictures.chosen(first.numbers, torch.device("cpu"))
    assert pictures.shape[1:] == (64, 64, 3)
    assert shares[0].tolist() == pytest.approx([1.0, 43 / 64])  # of 96×64, filled up to a square
    assert len(first.rows) == len(first.image_a) == len(first.image_b)
    again = next(iter(made.loader(1, 2)))
    np.testing.assert_array_equal(again.rows, second.rows)
    examples = made.examples
    across = examples.across[first.rows]
    np.testing.assert_array_equal(first.image_a != first.image_b, across)


def test_a_turned_pair_has_a_turned_target(data: Dataset) -> None:
    plan = SeenPlan(**{**TOY, "batch": 4}, jitter=0.0, augmented=False)
    task = SeenTask(plan, source(data, plan, across=True))
    batch = next(iter(task.source.loader(0, 1)))
    torch.manual_seed(0)
    pairs, (depth, _) = task.prepared(batch, torch.device("cpu"))
    examples = task.source.examples
    boxes = torch.from_numpy(examples.boxes[examples.first[batch.rows]])
    _, shares = task.source.pictures.chosen(batch.numbers, torch.device("cpu"))
    straight = (pairs.boxes_a == boxes * shares[batch.image_a].repeat(1, 2)).all(1)
    assert 0 < straight.sum() < len(straight)
    truth = torch.from_numpy(examples.depth[batch.rows])
    torch.testing.assert_close(depth[straight], truth[straight])
    torch.testing.assert_close(depth[~straight], truth[~straight][:, [0, 2, 1, 3]])


def test_pairs_without_a_depth_label_are_not_counted_as_right(data: Dataset) -> None:
    plan = SeenPlan(**TOY)
    task = SeenTask(plan, source(data, plan, across=True))
    task.modules()
    task.source.examples.depth_label[:] = -1
    _, metrics = task.loss(next(iter(task.source.loader(0, 1))), 0)
    assert metrics["right"].isnan()


@pytest.mark.long
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_toy_training_answers(data: Dataset, tmp_path: Path, architecture: str) -> None:
    across = architecture in ("drnet", "vtranse")
    plan = SeenPlan(architecture=architecture, **TOY)
    _, fitted = fit(SeenTask(plan, source(data, plan, across=across)), tmp_path / "net", device="cpu")
    model = load(str(fitted.weights))
    assert isinstance(model, SeenModel)
    image = np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8)
    view = View("a", size=(60, 40), units="normalised", load_image=lambda: image)
    boxes = np.array([[0.1, 0.1, 0.5, 0.6], [0.3, 0.2, 0.9, 0.9]])
    pairs = Pairs("a", "within_image", view, view, boxes, boxes[::-1], ("cube", "zebra"), ("zebra", "cube"))
    assert Judgements.checked(model.relate(pairs), 2, architecture).depth.shape == (2,)
    model.check_relations(RelationsSpec(("a",), ("zebra",)))
    assert model.facts()["unknown_classes"] == 1
    assert bool(model.unable) == (not across)
    blind = View("b", units="normalised")
    with pytest.raises(ModelError, match="there is no picture"):
        model.relate(Pairs("b", "within_image", blind, blind, boxes, boxes, ("cube",) * 2, ("cube",) * 2))


def test_pictures_are_needed(data: Dataset) -> None:
    table = tables_of(data, training_split(data, None))["within_image"]
    with pytest.raises(DataError, match="a picture to learn from is not there"):
        ViewPictures([None] * len(scenes_of([table])[1]), scenes_of([table])[1], 64)


def test_a_box_around_both_is_within_an_image(data: Dataset) -> None:
    with pytest.raises(ConfigError, match="vipcnn learns from pairs within an image alone"):
        source(data, SeenPlan(architecture="vipcnn", **TOY), across=True)
    with pytest.raises(ConfigError, match="learns with --study within"):
        RelationsOptions(data=Path("x"), model="pprfcn")
    with pytest.raises(ConfigError, match="it looks itself"):
        RelationsOptions(data=Path("x"), model="drnet", cues="bca")


def test_too_few_scenes_are_asked_for() -> None:
    options = RelationsOptions(world="room", scenes=1, study="across")
    with pytest.raises(ConfigError, match="too few scenes: there is no pair across two images in 1 scene of room"):
        source_of(options, plan_of(options))


def test_from_options(data: Dataset) -> None:
    options = RelationsOptions(data=data.path, model="drnet", steps=5, batch=2)
    plan = seen_plan(options, "cpu")
    assert (plan.architecture, plan.steps, plan.precision) == ("drnet", 5, "fp32")
    assert seen_source(options, plan).facts()["settings"] == ["within_image", "across_images"]


def test_depth_and_appearance_of_generated_scenes(data: Dataset, tmp_path: Path) -> None:
    for scene in data:
        np.save(tmp_path / f"{scene.id.split('/')[-1]}.npy", scene.views[0].depth())
    options = RelationsOptions(data=data.path, cues="bcd", depth=tmp_path)
    made = source_of(options, plan_of(options)).examples
    used = np.union1d(made.first, made.second)
    assert made.numbers.shape[1] == 8
    low, mean, high = (made.numbers[used, i] for i in (2, 0, 3))
    assert ((low <= mean + 1e-5) & (mean <= high + 1e-5)).all()
    assert (made.numbers[used, 6] <= low + 1e-5).all()  # the image's least depth is not above the box's


def test_squares() -> None:
    picture, share = squared(np.zeros((50, 100, 3), dtype=np.uint8), 64)
    assert picture.shape == (1, 3, 64, 64)
    assert share.tolist() == pytest.approx([1.0, 0.5])
