"""COCO instances: round trips against the file itself and pycocotools, and what bad files say."""

from __future__ import annotations

import copy
import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from pycocotools import mask as oracle

from sightline.errors import ConfigError, DataError, SightlineError
from sightline.geometry import masks
from sightline.scenes import validate
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import FORMATS, coco
from sightline.store.formats.coco_write import extent
from sightline.store.tables import Tables

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

VALID = {
    "info": {"year": 2017},
    "images": [
        {"id": 7, "width": 20, "height": 10, "file_name": "seven.jpg", "license": 3, "note": "\ud800"},
        {"id": 8, "width": 6, "height": 5, "file_name": "sub/eight.jpg"},
        {"id": 9, "width": 6, "height": 5},
    ],
    "categories": [
        {"id": 18, "name": "dog", "supercategory": "animal"},
        {"id": 1, "name": "person"},
        {"id": 3, "name": "unused"},
    ],
    "annotations": [
        {
            "id": 50,
            "image_id": 8,
            "category_id": 18,
            "bbox": [0.1, 0.2, 2.2, 3.3],
            "area": 7.26,
            "iscrowd": 0,
            "segmentation": [[0.1, 0.2, 2.3, 0.2, 2.3, 3.5, 0.1, 3.5], [3, 3, 5, 3, 5, 5]],
            "score": 0.5,
        },
        {
            "id": 3,
            "image_id": 7,
            "category_id": 1,
            "bbox": [0, 0, 20, 10],
            "area": 199,
            "iscrowd": 1,
            "segmentation": {"size": [10, 20], "counts": [1, 199]},
        },
        {"id": 4, "image_id": 7, "category_id": 18, "bbox": [5, 5, 2, 2.5]},
        {
            "id": 5,
            "image_id": 8,
            "category_id": 1,
            "bbox": [1, 1, 1, 1],
            "iscrowd": 0,
            "flags": ["group"],
            "segmentation": {"size": [5, 6], "counts": "61g0"},
            "area": 1,
        },
    ],
    "relations": [
        {
            "id": 1,
            "image_id": 7,
            "subject_id": 3,
            "object_id": 4,
            "aspect": "depth",
            "predicate": "closer",
            "votes": ["closer", "closer", "same"],
        },
        {
            "id": 2,
            "image_id": 7,
            "subject_id": 3,
            "object_id": 4,
            "aspect": "vrd",
            "predicate": "holds",
            "votes": [],
        },
        {
            "id": 3,
            "image_id": 7,
            "subject_id": 4,
            "object_id": 50,
            "object_image_id": 8,
            "aspect": "depth",
            "predicate": None,
            "votes": ["closer", "same"],
        },
    ],
}


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    return put(tmp_path / "in.json", VALID)


def put(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def read(path: Path, **options) -> Tables:
    return Tables.concat(coco.read(path, **options))


def test_what_becomes_of_a_file(valid: Path):
    scenes = {s.id: s for s in scenes_from_tables(read(valid, split="val"))}
    assert list(scenes) == ["val/7", "val/8", "val/9"]
    for scene in scenes.values():
        validate(scene)
    seven, eight, nine = scenes.values()
    assert (seven.split, seven.source, seven.view("0").size, seven.view("0").image_ref) == (
        "val",
        "coco",
        (20, 10),
        None,
    )
    assert not nine.objects
    person, dog = seven.objects
    assert (person.id, person.category) == ("3", "person")
    assert dog.attributes == {"coco_id": "4", "coco_category_id": "18", "supercategory": "animal"}
    assert json.loads(person.attributes["coco_image"]) == {"file_name": "seven.jpg", "license": 3, "note": "\ud800"}
    first, second = eight.sightings
    assert first.box == (0.1, 0.2, 0.1 + 2.2, 0.2 + 3.3)
    assert (first.flags, second.flags, seven.sightings[0].flags) == (frozenset(), {"group"}, {"crowd"})
    assert masks.decode(second.visible_mask, 5, 6).sum() == 1
    assert seven.sightings[1].visible_mask is None
    depth, holds, across = seven.relations
    assert (depth.predicate, depth.votes, depth.object_scene) == ("closer", ("closer", "closer", "same"), None)
    assert (holds.aspect, holds.predicate, holds.votes) == ("vrd", "holds", ())
    assert (across.predicate, across.object, across.object_scene) == (None, "50", "val/8")


def test_round_trip_keeps_every_entry(valid: Path, tmp_path: Path):
    tables = read(valid)
    coco.write(tables, tmp_path / "new" / "out.json")
    content = json.loads((tmp_path / "new" / "out.json").read_text())
    assert content["images"] == VALID["images"]
    assert content["categories"] == sorted(VALID["categories"][:2], key=lambda c: c["id"])
    assert content["relations"] == VALID["relations"]
    same_annotations(VALID, content)
    again = read(tmp_path / "new" / "out.json")
    for name, frame in tables.frames():
        if name != "objects":  # areas the file did not tell are told now
            assert_frame_equal(frame, again.frame(name))


def same_annotations(before: dict, after: dict) -> None:
    """Field by field; masks as pycocotools decodes them."""
    sizes = {i["id"]: (i["height"], i["width"]) for i in before["images"]}
    theirs = {a["id"]: a for a in before["annotations"]}
    ours = {a["id"]: a for a in after["annotations"]}
    assert theirs.keys() == ours.keys()
    for number, old in theirs.items():
        new = dict(ours[number])
        size, given = sizes[old["image_id"]], old.get("segmentation", [])
        assert new.pop("segmentation", []) == [] if not given else pixels(ours[number], size) == pixels(old, size)
        if "area" not in old:
            assert new.pop("area") == old["bbox"][2] * old["bbox"][3]
        expected = {"iscrowd": 0} | {k: v for k, v in old.items() if k != "segmentation"}
        assert {k: v for k, v in new.items() if k != "segmentation"} == expected


def pixels(annotation: dict, size: tuple[int, int]) -> bytes:
    given = annotation["segmentation"]
    if isinstance(given, dict):
        rle = oracle.frPyObjects(given, *size) if isinstance(given["counts"], list) else given
    else:
        rle = oracle.merge(oracle.frPyObjects(given, *size))
    return np.packbits(oracle.decode(rle)).tobytes()


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name",
    [
        "coco-tiny/annotations/instances_train2017.json",
        "coco-tiny/annotations/instances_val2017.json",
        "coco-metric/instances_val2014_100.json",
    ],
)
def test_real_files_come_back(real_data: Path, tmp_path: Path, name: str):
    before = json.loads((real_data / name).read_text())
    tables = read(real_data / name)
    coco.write(tables, tmp_path / "out.json")
    after = json.loads((tmp_path / "out.json").read_text())
    same_annotations(before, after)
    used = {a["image_id"] for a in before["annotations"]}
    assert [i for i in after["images"] if i["id"] in used] == [i for i in before["images"] if i["id"] in used]
    assert all(c in before["categories"] for c in after["categories"])
    again = read(tmp_path / "out.json")
    for table, frame in tables.frames():  # the photos lie beside the first file only
        assert_frame_equal(frame.drop("image", strict=False), again.frame(table).drop("image", strict=False))


@pytest.mark.long
@pytest.mark.realdata
def test_real_folders(real_data: Path):
    tiny = read(real_data / "coco-tiny", images=real_data / "coco-tiny")
    assert tiny.views.group_by("split").len().sort("split").rows() == [("train", 80), ("validation", 80)]
    assert all(Path(ref).is_file() for ref in tiny.views["image"])
    beside = read(real_data / "coco-tiny", split="val2017").views
    assert set(read(real_data / "coco-tiny", split="val").views["split"]) == {"validation"}
    assert beside.height == 80
    assert all(Path(ref).parent == (real_data / "coco-tiny/val2017").absolute() for ref in beside["image"])
    assert read(real_data / "coco-metric").sightings.height == 839  # beside two result files
    assert coco.detect(real_data / "coco-tiny")
    assert coco.detect(real_data / "coco-metric")
    assert not coco.detect(real_data / "2.5vrd")
    assert not coco.detect(real_data / "coco-metric" / "instances_val2014_fakebbox100_results.json")
    with pytest.raises(DataError, match=r"coco-tiny, split: no file .*expected one of train, validation"):
        read(real_data / "coco-tiny", split="test")
    panoptic = real_data / "coco-lightly/panoptic_segmentation/annotations/panoptic_val2017.json"
    with pytest.raises(DataError, match=r"annotations\[0\], id: key is missing \(found .*segments_info"):
        read(panoptic)


def test_registered():
    assert FORMATS["coco"].detect(Path("nowhere.json")) is False
    assert FORMATS["coco"].write is not None


def test_folders(tmp_path: Path):
    put(tmp_path / "results.json", [1])
    with pytest.raises(DataError, match="folder is not COCO"):
        read(tmp_path)
    put(tmp_path / "one.json", VALID)
    assert read(tmp_path).views["scene_id"].to_list() == ["7", "8", "9"]
    put(tmp_path / "two.json", VALID)
    with pytest.raises(DataError, match="found '2 instances files'"):
        read(tmp_path)
    years = tmp_path / "years"
    (years / "annotations").mkdir(parents=True)
    put(years / "annotations" / "instances_train2014.json", VALID)
    put(years / "annotations" / "instances_train2017.json", VALID)
    assert set(read(years).views["split"]) == {"train2014", "train2017"}  # else the scenes would collide


def test_pictures(valid: Path, tmp_path: Path):
    for content in (VALID["images"][0]["file_name"], VALID["images"][1]["file_name"]):
        (tmp_path / "photos" / content).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / content).touch()
    content = copy.deepcopy(VALID)
    del content["images"][2]
    tables = read(put(valid, content), images=tmp_path / "photos")
    assert tables.views["image"].to_list() == [
        str(tmp_path / "photos" / "seven.jpg"),
        str(tmp_path / "photos" / "sub" / "eight.jpg"),
    ]
    for name in ("missing.jpg", "../in.json", str(valid), "x" * 400, "", "a\\b"):
        content["images"][0]["file_name"] = name
        with pytest.raises(DataError, match="image 7, file_name: picture"):
            read(put(valid, content), images=tmp_path / "photos")


def test_parts_cover_all_images_once(valid: Path, monkeypatch: pytest.MonkeyPatch):
    whole = read(valid)
    monkeypatch.setattr(coco, "_IMAGES_A_PART", 2)
    parts = list(coco.read(valid))
    assert [p.views.height for p in parts] == [2, 1]
    for name, frame in whole.frames():
        assert_frame_equal(frame, Tables.concat(parts).frame(name))


def test_empty_boxes_may_be_left_out(valid: Path):
    content = copy.deepcopy(VALID)
    content["annotations"][0]["bbox"] = [1, 1, 0, 2]
    with pytest.raises(DataError, match="annotation 50, bbox: box is empty"):
        read(put(valid, content))
    with pytest.raises(DataError, match="relation 3, object_id: unknown id"):  # it was related to
        read(valid, empty_boxes="skip")
    content["relations"].pop()
    assert read(put(valid, content), empty_boxes="skip").objects["object_id"].to_list() == ["3", "4", "5"]
    with pytest.raises(ConfigError, match="'error' or 'skip'"):
        read(valid, empty_boxes="maybe")


def change(*path, to=None, drop=False):
    """A copy of VALID with one place changed."""

    def changed():
        content = copy.deepcopy(VALID)
        place = content
        for step in path[:-1]:
            place = place[step]
        if drop:
            del place[path[-1]]
        else:
            place[path[-1]] = to
        return content

    return changed


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (list, "not COCO instances .*found 'list'"),  # a results file
        (change("annotations", drop=True), "annotations: key is missing"),  # no section
        (change("images", to={}), "images: not a list .*found 'dict'"),  # wrong section
        (change("relations", to=3), "relations: not a list"),  # wrong extension
        (change("annotations", 1, to=5), r"annotations\[1\], annotations: entry is not an object .*found 5"),
        (change("annotations", 1, "id", to=50), r"annotations\[1\], id: id stands twice .*found 50"),
        (change("annotations", 1, "id", to=True), r"annotations\[1\], id: not a whole number"),  # bool as int
        (change("annotations", 1, "id", to=2**63), r"annotations\[1\], id: not a whole number"),  # beyond int64
        (change("annotations", 1, "id", drop=True), r"annotations\[1\], id: key is missing"),
        (change("images", 0, "id", to=8), r"images\[1\], id: id stands twice"),
        (change("images", 0, "width", to=0), "image 7, width: not a whole number"),
        (change("images", 0, "width", to=20.0), "image 7, width: not a whole number"),
        (change("images", 0, "height", drop=True), "image 7, height: key is missing"),
        (lambda: {**VALID, "images": [{"id": 7, "width": 2**31 - 1, "height": 3}]}, "image 7, .*too large"),
        (change("images", 0, "license", to=float("nan")), "image 7, .*cannot be kept"),
        (change("images", 0, "file_name", to=4), "image 7, file_name: not text"),
        (change("categories", 0, "name", to=None), "category 18, name: not text"),
        (change("categories", 0, "name", to="\ud800"), "category 18, name: not text"),  # lone surrogate
        (change("annotations", 0, "image_id", to=77), "annotation 50, image_id: unknown id .*found 77"),
        (change("annotations", 0, "category_id", to=2), "annotation 50, category_id: unknown id .*found 2"),
        (change("annotations", 0, "bbox", drop=True), "annotation 50, bbox: key is missing"),
        (change("annotations", 0, "bbox", to=[1, 1, -1, 2]), "annotation 50, bbox: not a box"),  # negative
        (change("annotations", 0, "bbox", to=[1, 1, 1]), "annotation 50, bbox: not a box"),  # three
        (change("annotations", 0, "bbox", to=[1, 1, 0, 1]), "annotation 50, bbox: box is empty"),
        (change("annotations", 0, "bbox", to=[1, float("nan"), 1, 1]), "annotation 50, bbox: not a finite"),
        (change("annotations", 0, "bbox", to=[1, True, 1, 1]), "annotation 50, bbox: not a finite"),
        (change("annotations", 0, "bbox", to=[1, 10**400, 1, 1]), "annotation 50, bbox: not a finite"),
        (change("annotations", 0, "bbox", to=[-1.1, 0, 2, 2]), "annotation 50, bbox: box leaves .*6×5"),
        (change("annotations", 0, "bbox", to=[5, 0, 2.1, 2]), "annotation 50, bbox: box leaves"),
        (change("annotations", 0, "area", to=-1), "annotation 50, area: area is negative"),
        (change("annotations", 0, "area", to="7"), "annotation 50, area: not a finite"),
        (change("annotations", 0, "iscrowd", to=2), "annotation 50, iscrowd: not a whole number"),
        (change("annotations", 0, "flags", to="group"), "annotation 50, flags: not a list"),
        (change("annotations", 0, "segmentation", to=[[1, 1, 2, 2, 3]]), "annotation 50, segmentation: polygon"),
        (change("annotations", 0, "segmentation", to=[1, 1, 2, 2, 3, 1]), "50, segmentation: not a list"),
        (change("annotations", 0, "segmentation", to=[[1, 1, 2, "2", 3, 1]]), "segmentation: not a finite number"),
        (change("annotations", 0, "segmentation", to="x"), "segmentation: not polygons or run lengths"),
        (change("annotations", 1, "segmentation", "counts", to=[1, 198]), "annotation 3, .*sum of 10×20 = 200"),
        (change("annotations", 1, "segmentation", "counts", to=[True, 199]), "annotation 3, .*not integers"),
        (change("annotations", 1, "segmentation", "size", to=[20, 10]), "annotation 3, .*another size"),
        (change("annotations", 3, "segmentation", "counts", to="é"), "annotation 5, segmentation: .*sum"),
        (change("annotations", 3, "segmentation", "counts", to="6 1"), "annotation 5, .*foreign character"),
        (change("relations", 0, "image_id", to=1), "relation 1, image_id: unknown id"),
        (change("relations", 0, "subject_id", to=1), "relation 1, subject_id: unknown id"),
        (change("relations", 0, "object_id", to=50), "relation 1, object_id: annotation is of another image"),
        (change("relations", 0, "object_id", to=3), "relation 1, object_id: object related to itself"),
        (change("relations", 0, "predicate", to="nearer"), "relation 1, predicate: label outside its range"),
        (change("relations", 0, "predicate", to="same"), "relation 1, predicate: label is not the majority"),
        (change("relations", 0, "votes", 0, to="holds"), "relation 1, votes: label outside its range"),
        (change("relations", 1, "aspect", to="depth"), "relation 2, .*relation stands twice"),
        (change("relations", 2, "predicate", drop=True), "relation 3, predicate: key is missing"),
    ],
)
def test_bad_files_say_where_and_what(tmp_path: Path, content, says: str):
    path = put(tmp_path / "bad.json", content())
    with pytest.raises(DataError, match=says) as caught:
        read(path)
    assert caught.value.file == path


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),  # empty
        (b"{", "row 1: not JSON"),  # cut off
        (b"\xef\xbb\xbf{}", "not JSON: Unexpected UTF-8 BOM"),  # byte order mark
        (b'{"a": "\xff"}', "not JSON: not UTF-8"),  # other encoding
        (b"[" * 100_000, "nested more than 64 levels"),  # a bomb
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON: .*digits"),  # an endless number
    ],
)
def test_files_that_are_no_json(tmp_path: Path, data: bytes, says: str):
    (tmp_path / "bad.json").write_bytes(data)
    with pytest.raises(DataError, match=says):
        read(tmp_path / "bad.json")
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "none.json")


def test_writing_what_never_was_coco(tmp_path: Path):
    """Ids are counted, normalised boxes scaled, the size is needed, and a failure leaves the old file."""
    views = {"scene_id": ["a", "b"], "view_id": ["0", "0"], "width": [10, 10], "height": [20, 20]}
    views |= {"units": ["normalised", "pixels"], "image": ["blob:1f.jpg", None]}
    objects = {"scene_id": ["a", "b"], "object_id": ["x", "x"], "category": ["/m/1", "/m/0"]}
    sightings = {"scene_id": ["a", "b"], "view_id": ["0", "0"], "object_id": ["x", "x"], "x0": [0.5, 5.0]}
    sightings |= {"y0": [0.25, 5.0], "x1": [1.0, 6.0], "y1": [0.75, 7.0]}
    relations = {"scene_id": ["a"], "subject": ["x"], "object": ["x"], "object_scene": ["b"], "aspect": ["depth"]}
    parts = {"views": views, "objects": objects, "sightings": sightings, "relations": relations}
    tables = Tables.build(**{name: pl.DataFrame(columns) for name, columns in parts.items()})
    coco.write(iter([tables]), tmp_path / "out.json")
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["images"][0] == {"id": 1, "width": 10, "height": 20, "file_name": "1f/1f.jpg"}
    assert [a["bbox"] for a in content["annotations"]] == [[5, 5, 5, 10], [5, 5, 1, 2]]
    assert [a["category_id"] for a in content["annotations"]] == [2, 1]
    assert content["relations"][0]["object_image_id"] == 2
    before = (tmp_path / "out.json").read_bytes()
    lost = replace(tables, views=tables.views.with_columns(width=None))
    with pytest.raises(DataError, match="row a, size: COCO needs the image size"):
        coco.write(lost, tmp_path / "out.json")
    assert (tmp_path / "out.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]
    with pytest.raises(DataError, match="cannot be written"):
        coco.write(tables, tmp_path / "out.json" / "below")


@given(st.floats(-1, 5000), st.floats(1e-3, 5000))
def test_an_extent_leads_back_to_the_same_corner(low: float, size: float):
    assert low + extent(low, low + size) == low + size
    low, size = round(low, 2), round(size, 2)
    assert extent(low, low + size) == size or size == 0


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 60)
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["\ud800", "\x00", 10**400, 2**63, -1, 0.5]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "size", "counts"]), inner),
    max_leaves=6,
)


def places(content, at=()):
    """Paths of all places in a JSON value."""
    steps = (
        content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    )
    for step, inner in steps:
        yield (*at, step)
        yield from places(inner, (*at, step))


PLACES = sorted(places(VALID), key=str)


@settings(max_examples=250, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), json_values, st.booleans()), min_size=1, max_size=3))
def test_mutated_files_are_read_or_refused(changes):
    content = copy.deepcopy(VALID)
    for path, value, drop in changes:
        place = content
        try:
            for step in path[:-1]:
                place = place[step]
            if drop:
                del place[path[-1]]
            else:
                place[path[-1]] = value
        except (TypeError, KeyError, IndexError):
            continue  # an earlier change took the place away
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / "in.json", content)
        try:
            tables = read(path)
        except SightlineError:
            return
        for scene in scenes_from_tables(tables):
            validate(scene)
        coco.write(tables, Path(folder) / "out.json")
        assert read(Path(folder) / "out.json").sightings.equals(tables.sightings)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2000), st.binary(max_size=3), st.integers(0, 3))
def test_mutated_bytes_are_read_or_refused(at: int, put_in: bytes, taken: int):
    data = json.dumps(VALID).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.json"
        path.write_bytes(data[:at] + put_in + data[at + taken :])
        with suppress(SightlineError):
            assert read(path).views.height > 0
