"""Open Images files: boxes, relationships, descriptions."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from format_cases import OPENIMAGES, lay

from sightline.errors import DataError
from sightline.store.formats import openimages
from sightline.store.tables import Tables

BOXES, RELATIONS, NAMES = OPENIMAGES


def read(folder: Path, **options: str | Path) -> Tables:
    return Tables.concat(openimages.read(folder, **options))  # type: ignore[arg-type]


def test_boxes_become_objects(tmp_path: Path) -> None:
    tables = read(lay(tmp_path, {BOXES: OPENIMAGES[BOXES]}))
    assert tables.views.select("scene_id", "split", "source", "view_id", "units", "width").rows() == [
        ("train/aa", "train", "openimages", "0", "normalised", None),
        ("train/bb", "train", "openimages", "0", "normalised", None),
    ]
    assert tables.objects.select("scene_id", "object_id", "category").rows() == [
        ("train/aa", "0", "/m/1"),
        ("train/aa", "1", "/m/2"),
        ("train/bb", "0", "/m/1"),
    ]
    assert tables.sightings.select("x0", "y0", "x1", "y1").row(0) == (0.005, 0.58, 0.033125, 0.627778)
    assert tables.sightings["flags"].to_list() == [
        ["truncated"],
        ["occluded_unknown", "group_unknown"],
        ["occluded", "group"],
    ]
    assert tables.relations.height == 0


def test_relationships_join_boxes_or_add_them(tmp_path: Path) -> None:
    tables = read(lay(tmp_path, OPENIMAGES))
    assert tables.relations.select("scene_id", "subject", "predicate", "object", "aspect").rows() == [
        ("train/aa", "0", "on", "1", "openimages"),  # both boxes known, though rounded otherwise
        ("train/bb", "1", "holds", "0", "openimages"),  # the holder is new
        ("train/cc", "0", "at", "0", "openimages"),  # an image without boxes; one new box, not two
    ]
    assert tables.objects.select("scene_id", "object_id", "category").rows()[2:] == [
        ("train/bb", "0", "/m/1"),
        ("train/bb", "1", "/m/3"),
        ("train/cc", "0", "/m/3"),
    ]
    assert tables.sightings.filter(scene_id="train/cc").select("x0", "y0", "x1", "y1").rows() == [
        (0.5, 0.5, 0.6, 0.7)
    ]


def test_attributes_hold_name_source_and_what_it_is(tmp_path: Path) -> None:
    attributes = [text and json.loads(text) for text in read(lay(tmp_path, OPENIMAGES)).objects["attributes"]]
    assert attributes == [
        {"name": "Tree", "source": "xclick", "is": "/m/9"},
        {"name": "Table, big", "source": "activemil", "confidence": "0.5"},
        {"name": "Tree", "source": "xclick"},
        None,
        None,
    ]


def test_the_same_class_elsewhere_is_another_object(tmp_path: Path) -> None:
    moved = OPENIMAGES[RELATIONS].replace("0.1,0.2,0.3,0.4,on", "0.1,0.2,0.3,0.41,on")
    tables = read(lay(tmp_path, OPENIMAGES | {RELATIONS: moved}))
    assert tables.relations.row(0, named=True)["object"] == "2"
    assert tables.objects.filter(scene_id="train/aa").height == 3


def test_a_boxes_file_by_itself(tmp_path: Path) -> None:
    folder = lay(tmp_path, OPENIMAGES)
    alone = read(folder / BOXES)
    assert alone.relations.height == 0
    assert alone.objects["attributes"].str.contains("name").any() is False
    assert alone.views["split"].unique().to_list() == ["train"]
    assert read(folder / BOXES, split="mine").views["scene_id"][0] == "mine/aa"
    full = read(folder / BOXES, relationships=folder / RELATIONS, descriptions=folder / NAMES)
    assert full.relations.equals(read(folder).relations)
    assert full.objects.equals(read(folder).objects)


def test_splits_are_told_by_names(tmp_path: Path) -> None:
    folder = lay(tmp_path, OPENIMAGES | {"oidv6-validation-annotations-bbox.csv": OPENIMAGES[BOXES]})
    assert read(folder).views["split"].unique(maintain_order=True).to_list() == ["train", "validation"]
    assert read(folder, split="validation").views["scene_id"].to_list() == ["validation/aa", "validation/bb"]
    with pytest.raises(DataError, match="of split test"):
        read(folder, split="test")
    lay(tmp_path, {"challenge-2018-train-annotations-bbox.csv": OPENIMAGES[BOXES]})
    with pytest.raises(DataError, match="two files"):
        read(folder)


def test_parts_hold_whole_scenes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lay(tmp_path, OPENIMAGES)
    whole = read(folder)
    monkeypatch.setattr(openimages, "_IMAGES_A_PART", 2)
    parts = list(openimages.read(folder))
    assert [part.views.height for part in parts] == [2, 1]
    assert all(frame.equals(whole.frame(name)) for name, frame in Tables.concat(parts).frames())


def test_photos_are_referred_to(tmp_path: Path) -> None:
    photos = lay(tmp_path / "photos", {"bb.jpg": b""})
    tables = read(lay(tmp_path / "data", OPENIMAGES), images=photos)
    assert tables.views["image"].to_list() == [None, str(photos / "bb.jpg"), None]


def test_later_versions_have_more_columns(tmp_path: Path) -> None:
    header, *rows = OPENIMAGES[BOXES].splitlines()
    clicks = ",XClick1X,XClick2X,XClick3X,XClick4X,XClick1Y,XClick2Y,XClick3Y,XClick4Y"
    later = "\n".join([header + clicks, *(row + ",0.1" * 8 for row in rows)])
    named = "LabelName,DisplayName\n" + OPENIMAGES[NAMES]
    tables = read(lay(tmp_path / "later", OPENIMAGES | {BOXES: later, NAMES: named}))
    assert tables.objects.equals(read(lay(tmp_path / "four", OPENIMAGES)).objects)


@pytest.mark.parametrize(
    ("file", "old", "new", "row", "field"),
    [
        (BOXES, "0.580000,0.627778", "0.627778,0.580000", 2, "YMin, YMax"),  # reversed box
        (BOXES, "0.1,0.2,0.3,0.4,-1", "0.1,1.2,0.3,0.4,-1", 3, "XMax"),  # out of range
        (BOXES, "0.1,0.2,0.3,0.4,-1", "0.1,nan,0.3,0.4,-1", 3, "XMax"),  # NaN
        (BOXES, "1,0,1,0,0\n", "1,0,2,0,0\n", 4, "IsGroupOf"),  # flag out of range
        (BOXES, "/m/2,0.5", "/m/2,1.5", 3, "Confidence"),  # confidence out of range
        (BOXES, "xclick,/m/1,1,0.1", "xclick,,1,0.1", 4, "LabelName"),  # no class
        (BOXES, ",IsInside", "", 1, "IsInside"),  # missing column
        (BOXES, ",IsInside", ",IsInside,IsOutside", 1, "IsOutside"),  # extra column
        (RELATIONS, ",0.3,0.4,on", ",0.3,0.2,on", 3, "YMin2, YMax2"),  # reversed box
        (RELATIONS, "0.3,0.4,holds", "0.3,0.4,", 4, "RelationshipLabel"),  # no predicate
        (RELATIONS, "RelationshipLabel", "Label", 1, "RelationshipLabel"),  # missing column
        (NAMES, "/m/2", "/m/1", 2, "LabelName"),  # class twice
        (NAMES, "/m/1,Tree", "/m/1", 1, None),  # a cell too few
        (NAMES, "/m/1,Tree", "/m/1,", 1, "DisplayName"),  # no name
    ],
)
def test_bad_rows(tmp_path: Path, file: str, old: str, new: str, row: int, field: str | None) -> None:
    assert old in OPENIMAGES[file]
    folder = lay(tmp_path, OPENIMAGES | {file: OPENIMAGES[file].replace(old, new, 1)})
    with pytest.raises(DataError) as caught:
        read(folder)
    assert (caught.value.file, caught.value.row, caught.value.field) == (folder / file, row, field)


def test_a_relationship_twice_is_an_error(tmp_path: Path) -> None:
    text = OPENIMAGES[RELATIONS]
    with pytest.raises(DataError, match="twice") as caught:
        read(lay(tmp_path, OPENIMAGES | {RELATIONS: text + text.splitlines()[2]}))
    assert caught.value.row == 6


def test_nothing_there(tmp_path: Path) -> None:
    assert not openimages.detect(tmp_path)
    with pytest.raises(DataError, match="no Open Images files"):
        read(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="boxes file"):
        read(tmp_path, relationships=tmp_path / RELATIONS)


def test_schema_is_the_stores(tmp_path: Path) -> None:
    tables = read(lay(tmp_path, OPENIMAGES))
    assert tables.sightings.schema["flags"] == pl.List(pl.String)
    assert all(frame["scene_id"].is_sorted() for _, frame in tables.frames())
