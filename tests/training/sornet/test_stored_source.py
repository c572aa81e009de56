"""A stored dataset as a source: what is on disk and nothing else, checked before any work."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from sightline.errors import ConfigError, DataError
from sightline.generation import canonical_of
from sightline.scenes.labels import PREDICATES
from sightline.store import Dataset, Tables, open_dataset
from sightline.training.sornet.dataset import StoredSource, stored_scenes
from sightline.training.sornet.layouts import object_facts
from sightline.worlds import World, arrange

BOTH = ("original", "top")
SEED = 5  # of the scenes of the fixture


@pytest.fixture(scope="module")
def data(generated: Path) -> Dataset:
    return open_dataset(generated)


def source(data: Dataset, **changes: Any) -> StoredSource:
    return StoredSource(data, **{"views": BOTH, "batch": 4, "seed": 1, **changes})


def test_a_batch_is_what_is_stored(data: Dataset) -> None:
    made, scenes = source(data), list(data)
    assert made.image == (96, 64)
    assert made.most == max(len(scene.objects) for scene in scenes)
    [loaded] = made.loader(1, 2)
    batch = made.scenes(loaded, (1, 0))
    assert batch.present.shape == (4, made.most)
    for s, row in enumerate(loaded.rows):
        scene = scenes[row]
        n = len(scene.objects)
        for v, name in enumerate(("top", "original")):
            assert np.array_equal(batch.views[s, v].numpy(), scene.view(name).image())
            assert batch.ids is not None
            assert np.array_equal(batch.ids[s, v].numpy(), scene.view(name).ids()[1::2, 1::2])
        assert batch.present[s].tolist() == [i < n for i in range(batch.present.shape[1])]
        ids = [thing.id for thing in scene.objects]
        told = {
            (ids.index(r.subject), ids.index(r.object), PREDICATES.index(r.predicate))
            for r in scene.relations
            if r.aspect in ("spatial", "geometry") and r.predicate
        }
        assert {tuple(index) for index in batch.labels[s].nonzero().tolist()} == told
        for q, thing in enumerate(scene.objects):
            assert any(np.array_equal(batch.patches[s, q].numpy(), view) for view in canonical_of(data, thing))
        assert not batch.patches[s, n:].any()


def test_facts_are_those_of_the_layouts(data: Dataset, world: World) -> None:
    facts = stored_scenes(data, BOTH).facts
    assert facts is not None
    for i in range(len(data)):
        expected = object_facts(arrange(world, SEED, i))
        np.testing.assert_allclose(facts[i, : len(expected)], expected, atol=1e-6)
        assert not facts[i, len(expected) :].any()


def test_every_scene_once_an_epoch(data: Dataset) -> None:
    rows = np.concatenate([loaded.rows for loaded in source(data).loader(0, 3)])  # two epochs of six
    assert sorted(rows[:6].tolist()) == sorted(rows[6:].tolist()) == list(range(6))
    assert rows[:6].tolist() != rows[6:].tolist()


def test_any_batch_is_the_same_whenever_asked_for(data: Dataset) -> None:
    whole = list(source(data).loader(0, 3))
    [last] = source(data).loader(2, 3)
    assert np.array_equal(last.rows, whole[2].rows)
    assert np.array_equal(last.views, whole[2].views)
    assert not np.array_equal(whole[2].rows, next(source(data, seed=2).loader(2, 3)).rows)


def test_patches_vary_and_follow_the_seed(data: Dataset) -> None:
    made = source(data)
    [loaded] = made.loader(0, 1)
    patches = []
    for seed in (0, 0, 1, 2):
        torch.manual_seed(seed)
        patches.append(made.scenes(loaded, (0,)).patches)
    assert torch.equal(patches[0], patches[1])
    assert not all(torch.equal(patches[0], other) for other in patches[2:])


def test_part(data: Dataset) -> None:
    whole, scenes = source(data), list(data)
    part = whole.part(range(4, 6))
    [loaded] = part.loader(0, 1)
    assert sorted(loaded.rows.tolist()) == [0, 0, 1, 1]
    row = int(loaded.rows[0])
    assert np.array_equal(loaded.views[0, 0], scenes[4 + row].view("original").image())
    assert part.scenes(loaded, (0,)).present[0].sum() == len(scenes[4 + row].objects)
    assert part.facts() == {**whole.facts(), "scenes": 2, "part": [4, 6]}
    assert len(whole.stored) == 6


def test_describe(data: Dataset) -> None:
    told = source(data, split="train").facts()
    assert told["fingerprint"] == data.fingerprint
    assert (told["scenes"], told["split"], told["left_out"]) == (6, "train", 0)


def changed(data: Dataset, **frames: Callable[[pl.DataFrame], pl.DataFrame]) -> Dataset:
    """The dataset in memory, with some tables changed."""
    tables = data.tables()
    kept = dict(tables.frames())
    return Dataset.from_tables(
        Tables(**{**kept, **{n: change(kept[n]) for n, change in frames.items()}}), data.path
    )


def without_first(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the last view of the first scene."""
    scene = frame["scene_id"][0]
    return frame.filter(~((pl.col("scene_id") == scene) & (pl.col("view_id") == "top")))


def first_scene(column: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def change(frame: pl.DataFrame) -> pl.DataFrame:
        here = pl.col("scene_id") == frame["scene_id"][0]
        return frame.with_columns(
            pl.when(here).then(pl.lit(value)).otherwise(column).cast(frame[column].dtype).alias(column)
        )

    return change


@pytest.mark.parametrize(
    ("frames", "settings", "error", "problem"),
    [
        ({}, {"views": ("original", "side_1")}, ConfigError, "no view 'side_1'; it has original, top"),
        ({}, {"split": "val"}, ConfigError, "no split 'val': it has train"),
        ({}, {"most_objects": 2}, DataError, "more objects than the network takes"),
        ({"views": without_first}, {}, DataError, "scene without this view"),
        ({"views": first_scene("image", None)}, {}, DataError, "scene without this picture"),
        ({"views": first_scene("width", 128)}, {}, DataError, "views must have one size"),
        ({"views": lambda f: f.with_columns(width=pl.lit(None, pl.Int32))}, {}, DataError, "expected a size"),
        ({"relations": lambda f: f.clear()}, {}, DataError, "nothing to examine"),  # unlabelled
        ({"objects": first_scene("shape", "brick:small")}, {}, DataError, "no canonical views of brick:small"),
    ],
)
def test_refused_before_any_work(
    data: Dataset, frames: Any, settings: Any, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        source(changed(data, **frames), **settings)


def test_scenes_without_a_pair_are_left_out(data: Dataset) -> None:
    scene = data.tables().objects["scene_id"][0]
    lone = (pl.col("scene_id") != scene) | (pl.col("object_id") == "0")
    made = stored_scenes(
        changed(data, objects=lambda f: f.filter(lone), relations=lambda f: f.filter(pl.col("scene_id") != scene)),
        BOTH,
    )
    assert (len(made), made.left_out) == (5, 1)


@pytest.mark.parametrize(
    "frames",
    [
        {"objects": lambda f: f.with_columns(pose=pl.lit(None, f["pose"].dtype))},  # no poses
        {"views": lambda f: f.with_columns(camera=pl.lit(None, pl.String))},  # no cameras
        {"views": lambda f: f.with_columns(pl.col("view_id").replace("original", "front"))},  # left of whom?
    ],
)
def test_facts_that_are_not_known(data: Dataset, frames: Any) -> None:
    views = ("front", "top") if "front" in changed(data, **frames).tables().views["view_id"].to_list() else BOTH
    made = source(changed(data, **frames), views=views)
    assert made.stored.facts is None
    assert made.scenes(next(iter(made.loader(0, 1))), (0,)).facts is None


def test_without_id_maps(data: Dataset) -> None:
    made = source(changed(data, views=first_scene("ids", None)))
    assert made.scenes(next(iter(made.loader(0, 1))), (0,)).ids is None


def test_no_canonical_views(generated: Path, tmp_path: Path) -> None:
    shutil.copytree(generated, tmp_path / "d")
    shutil.rmtree(tmp_path / "d" / "canonical")
    with pytest.raises(DataError, match="no canonical views: run the same sightline generate again"):
        source(open_dataset(tmp_path / "d"))


@pytest.mark.parametrize(("kind", "scene"), [("image", 0), ("image", 5), ("ids", 3)])
def test_a_missing_picture_is_found_before_any_work(kind: str, scene: int, generated: Path, tmp_path: Path) -> None:
    shutil.copytree(generated, tmp_path / "d")
    copy = open_dataset(tmp_path / "d")
    there = stored_scenes(copy, BOTH)
    assert there.maps is not None
    file = copy.blobs.locate((there.pictures if kind == "image" else there.maps)[scene][1])
    file.unlink()
    with pytest.raises(DataError, match=f"{file.name}, row .*{scene}, {kind}: picture is missing"):
        source(copy)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_picture_is_named(workers: int, generated: Path, tmp_path: Path) -> None:
    """The batch before it comes as ever, here and from a worker process."""
    shutil.copytree(generated, tmp_path / "d")
    copy = open_dataset(tmp_path / "d")
    made = source(copy, batch=3)
    first, second = made.loader(0, 2)
    made.workers = workers
    file = copy.blobs.locate(made.stored.pictures[second.rows[0]][1])
    file.write_bytes(b"nothing")
    loaded = made.loader(0, 2)
    assert np.array_equal(next(loaded).views, first.views)
    with pytest.raises(DataError, match=f"{file.name}, image: picture cannot be read") as caught:
        next(loaded)
    assert "Traceback" not in str(caught.value)


def test_a_picture_of_another_size_is_named(data: Dataset) -> None:
    wide = changed(data, views=lambda f: f.with_columns(width=pl.lit(128, pl.Int32)))
    with pytest.raises(DataError, match=r"picture of another size .expected 128×64, found '96×64'"):
        list(source(wide).loader(0, 1))
