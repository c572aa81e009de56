"""What generated scenes need of the store: amodal masks, relations of one view, recipes, counterfactuals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from made_scenes import plain_scenes

from sightline.errors import DataError
from sightline.geometry.masks import encode
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.store import Dataset, check_tables, fingerprint, tables_from_scenes, write_scenes
from sightline.store.manifest import MANIFEST, read_manifest

MASK = np.zeros((5, 7), dtype=bool)
MASK[1:4, 2:6] = True
SCENE = Scene(
    "s",
    "test",
    "made",
    (View("0", size=(7, 5), load_ids=lambda: MASK.astype(np.int32)), View("1", size=(7, 5)), View("2")),
    (Object("a", "cup"), Object("b", "mug"), Object("c", "can")),
    (
        Sighting("0", "b", (2, 1, 6, 4), amodal_mask=encode(MASK)),
        Sighting("0", "c", (0, 0, 7, 5), amodal_mask=encode(~MASK)),
        Sighting("1", "b", (2, 1, 6, 4)),
        Sighting("2", "b", (2, 1, 6, 4), amodal_mask=encode(MASK)),
    ),
    (
        Relation("a", "b", "depth", "closer", view="0"),
        Relation("a", "b", "depth", "farther", view="1"),
        Relation("a", "b", "spatial", "left"),
    ),
)


def test_amodal_masks_follow_the_objects(tmp_path: Path) -> None:
    stored = write_scenes([SCENE], tmp_path / "d").scene("s")
    amodal = stored.view("0").amodal()
    assert amodal.dtype == bool
    np.testing.assert_array_equal(amodal, [np.zeros_like(MASK), MASK, ~MASK])
    assert stored.view("0").without_truth().load_amodal is None
    for view in ("1", "2"):  # no masks; masks but no size to decode them to
        with pytest.raises(DataError, match="view has no amodal masks"):
            stored.view(view).amodal()


def test_a_rendered_view_in_which_nothing_is_seen_has_empty_masks(tmp_path: Path) -> None:
    scene = replace(SCENE, views=SCENE.views[:1], sightings=(), relations=())
    amodal = write_scenes([scene], tmp_path / "d").scene("s").view("0").amodal()
    assert amodal.shape == (3, 5, 7)
    assert not amodal.any()


def test_relations_keep_their_view(tmp_path: Path) -> None:
    stored = write_scenes([SCENE], tmp_path / "d")
    assert stored.scene("s").relations == SCENE.relations
    assert stored.scan("relations").collect()["view_id"].to_list() == ["0", "1", None]
    assert check_tables(stored.tables()) == []


@pytest.mark.parametrize(
    ("relation", "problem"),
    [
        (Relation("a", "b", "depth", "closer", view="9"), "relations.view_id: relation in an unknown view"),
        (Relation("b", "a", "depth", "closer", view="0"), "pair stands twice"),  # turned, in the same view
        (Relation("b", "a", "depth", "closer", view="2"), None),  # once more, in another view
    ],
)
def test_relations_of_a_view_are_checked(relation: Relation, problem: str | None) -> None:
    unpictured = replace(SCENE, views=tuple(View(v.id, size=v.size) for v in SCENE.views))
    found = check_tables(tables_from_scenes([replace(unpictured, relations=(*SCENE.relations, relation))]))
    assert len(found) == (problem is not None)
    assert problem is None or problem in str(found[0])


def _as_older(dataset: Dataset) -> Dataset:
    """The dataset with files as they were before relations had a view."""
    told = json.loads((dataset.path / MANIFEST).read_text())
    for shard in told["shards"]:
        file = dataset.path / "relations" / f"{shard['name']}.parquet"
        pl.read_parquet(file).drop("view_id").write_parquet(file)
        data = file.read_bytes()
        shard["files"]["relations"] = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    (dataset.path / MANIFEST).write_text(json.dumps(told))
    return Dataset.open(dataset.path)


def test_older_files_are_read_as_before(tmp_path: Path) -> None:
    made = plain_scenes(7)
    older = _as_older(write_scenes(made, tmp_path / "d", scenes_per_shard=3))
    assert list(older) == made
    assert older.scene("s0004") == made[4]
    assert older.scan("relations").collect()["view_id"].null_count() == 21
    assert older.verify() == []
    assert fingerprint(older.tables()) == older.fingerprint


OLDER = "a2c323274d398407a883a87a04d591564b6017e61f5dc10d5f792fc7f5cb5c44"
"""Of four plain scenes, as it was before relations had a view."""


def test_the_fingerprint_of_older_content_is_the_older_one() -> None:
    assert fingerprint(tables_from_scenes(plain_scenes(4))) == OLDER


def test_a_recipe_is_kept_and_is_no_content(tmp_path: Path) -> None:
    plain = write_scenes(plain_scenes(2), tmp_path / "d")
    assert plain.recipe is None
    manifest = replace(read_manifest(plain.path), recipe={"kind": "world", "seed": 3})
    (plain.path / MANIFEST).write_bytes(manifest.to_json())
    again = Dataset.open(plain.path)
    assert again.recipe == {"kind": "world", "seed": 3}
    assert again.verify() == []
    (plain.path / MANIFEST).write_bytes(replace(manifest, recipe=["no"]).to_json())  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"dataset\.json, recipe: not a mapping"):
        Dataset.open(plain.path)


def test_counterfactuals_are_the_openers(tmp_path: Path) -> None:
    folder = write_scenes(plain_scenes(3), tmp_path / "d").path

    def without(scene: Scene, gone: Sequence[str]) -> Scene:
        return replace(scene, objects=tuple(o for o in scene.objects if o.id not in gone))

    dataset = Dataset.open(folder).completed_by(lambda s: replace(s, load_without=partial(without, s)))
    for scene in (dataset.scene("s0001"), next(iter(dataset)), next(dataset.scenes("test"))):
        assert [o.id for o in scene.without("1").objects] == ["0", "2"]
        with pytest.raises(DataError, match=r"no such object \(expected 0, 1, 2, found '7'\)"):
            scene.without("7")
    assert list(dataset) == plain_scenes(3)  # the loader is no part of the scene
    with pytest.raises(DataError, match="this scene was not generated"):
        Dataset.open(folder).scene("s0001").without("1")


def test_stuff_maps_come_back_with_their_classes_and_no_model_sees_them(tmp_path: Path) -> None:
    stuff = np.arange(35, dtype=np.uint8).reshape(5, 7) % 3
    view = View("0", size=(7, 5), stuff_classes=("sky", "road"), load_stuff=lambda: stuff)
    stored = write_scenes([Scene("s", views=(view,))], tmp_path / "d").scene("s").view("0")
    assert stored.stuff().dtype == np.uint8
    np.testing.assert_array_equal(stored.stuff(), stuff)
    assert stored.stuff_classes == ("sky", "road")
    bare = stored.without_truth()
    assert (bare.stuff_classes, bare.load_stuff) == ((), None)
    with pytest.raises(DataError, match="view has no stuff map"):
        bare.stuff()


@pytest.mark.parametrize("classes", [None, [], ["sky", "sky"]])  # no names, none at all, one twice
def test_a_stuff_map_needs_the_names_of_its_classes(classes: list[str] | None) -> None:
    tables = tables_from_scenes([replace(SCENE, views=(View("0"),), sightings=(), relations=())])
    column = pl.Series("stuff_classes", [classes], dtype=pl.List(pl.String))
    views = tables.views.with_columns(pl.lit("map.png").alias("stuff"), column)
    [problem] = check_tables(replace(tables, views=views))
    assert "views.stuff_classes: stuff map without its classes" in str(problem)


def test_the_fingerprint_of_the_truth_does_not_see_pictures(tmp_path: Path) -> None:
    def written(name: str, **view: object) -> Dataset:
        scene = replace(SCENE, views=(replace(SCENE.views[0], **view), *SCENE.views[1:]))  # type: ignore[arg-type]
        return write_scenes([scene], tmp_path / name)

    plain, pictured = written("a"), written("b", image_ref="other.png")
    moved = written("c", load_ids=lambda: 2 * MASK.astype(np.int32))
    assert plain.truth_fingerprint == pictured.truth_fingerprint != moved.truth_fingerprint
    assert plain.fingerprint != pictured.fingerprint
    assert Dataset.from_tables(plain.tables()).truth_fingerprint == plain.truth_fingerprint
    manifest = json.loads((plain.path / MANIFEST).read_text())
    assert manifest["truth"] == plain.truth_fingerprint
    (plain.path / MANIFEST).write_text(json.dumps(manifest | {"truth": "0" * 64}))
    assert ["fingerprint does not fit" in str(p) for p in Dataset.open(plain.path).verify()] == [True]
