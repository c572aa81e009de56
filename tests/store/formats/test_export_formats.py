"""Formats that are written and not read: each is read here by other means, from the format's own description."""

from __future__ import annotations

import base64
import io
import json
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import sightline as sl
from reference import bop, label_studio
from sightline.errors import ConfigError, DataError
from sightline.geometry import masks
from sightline.scenes import Camera, Landmark, Object, Relation, Scene, Sighting, View
from sightline.store import Dataset, tables_from_scenes
from sightline.store.formats import EXPORTS, named, pick
from sightline.store.formats.parquet_write import ROWS
from sightline.store.writer import write_scenes

WIDTH, HEIGHT = 40, 30
K = (50.0, 0.0, 20.0, 0.0, 50.0, 15.0, 0.0, 0.0, 1.0)
TURNED = (0.0, 1.0, 0.0, 0.1, 0.0, 0.0, -1.0, 0.2, -1.0, 0.0, 0.0, 2.0)  # metres; looks along −x


def pixels(seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)


def depth(seed: int) -> np.ndarray[Any, Any]:
    far = np.random.default_rng(seed).uniform(1.0, 5.0, (HEIGHT, WIDTH)).astype(np.float32).round(3)
    far[0, 0] = np.nan
    return far


def mask(x0: int, y0: int, x1: int, y1: int) -> np.ndarray[Any, Any]:
    area = np.zeros((HEIGHT, WIDTH), dtype=bool)
    area[y0:y1, x0:x1] = True
    return area


VISIBLE, WHOLE = mask(4, 6, 10, 20), mask(4, 6, 16, 20)


def scene(number: int, scene_id: str = "", split: str = "val_default") -> Scene:
    def view(name: str, seed: int) -> View:
        camera = Camera(K, TURNED)
        how: dict[str, Any] = {"load_image": lambda: pixels(seed), "load_depth": lambda: depth(seed)}
        return View(name, None, (WIDTH, HEIGHT), camera=camera, load_ids=lambda: VISIBLE.astype(np.int32), **how)

    pose = (2.0, 0, 0, 0.3, 0, 2.0, 0, -0.2, 0, 0, 2.0, 0.1, 0, 0, 0, 1.0)  # scaled by two
    boxes = (4.0, 6.0, 10.0, 20.0), (20.0, 5.0, 30.0, 25.0)
    first = Sighting(
        "left", "0", boxes[0], masks.encode(VISIBLE), masks.encode(WHOLE), 0.5, frozenset({"occluded"})
    )
    second = Sighting(
        "left", "1", boxes[1], landmarks=(Landmark("tip", 25.0, 6.0), Landmark("foot", None, None, "occluded"))
    )
    return Scene(
        id=scene_id or f"made/{number}",
        split=split,
        source="made",
        views=(view("left", number), view("right", number + 100)),
        objects=(
            Object("0", "cup", {"height": "0.4", "colour": "grün"}, pose, "cup:small"),
            Object("1", "plate & <dish>", {}, pose),
            Object("2", "hidden", {}, pose),
        ),
        sightings=(first, second, Sighting("right", "0", boxes[0])),
        relations=(
            Relation("0", "1", "spatial", "left"),
            Relation("0", "1", "depth", "closer", ("closer", "same"), view="left"),
            Relation("1", "0", "depth", None, view="right"),  # seen together in the other view alone
            Relation("0", "2", "spatial", "behind"),  # nobody sees it
        ),
    )


def stored(folder: Path, scenes: list[Scene]) -> Dataset:
    return write_scenes(scenes, folder / "data")


def exported(name: str, folder: Path, scenes: list[Scene]) -> Path:
    data, out = stored(folder, scenes), folder / "out"
    write = named(name).write
    assert write is not None
    write(data.tables(), out, blobs=data.blobs)
    return out


def test_parquet_has_every_view_with_its_pictures(tmp_path: Path) -> None:
    made = [scene(1), scene(2, split="")]
    out = exported("parquet", tmp_path, made)
    names = {file.name for file in (out / "data").iterdir()}
    assert names == {"val_default-00000-of-00001.parquet", "train-00000-of-00001.parquet"}
    assert "split: val_default\n    path: data/val_default-*" in (out / "README.md").read_text()
    table = pq.read_table(out / "data" / "val_default-00000-of-00001.parquet")
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == table.column_names
    assert features["image"] == features["depth"] == {"_type": "Image"}
    assert features["objects"][0]["bbox"] == [{"dtype": "float64", "_type": "Value"}]
    left, right = table.to_pylist()
    assert [(row["scene_id"], row["view_id"]) for row in (left, right)] == [("made/1", "left"), ("made/1", "right")]
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(left["image"]["bytes"]))), pixels(1))
    millimetres = np.asarray(Image.open(io.BytesIO(left["depth"]["bytes"]))).astype(float)
    np.testing.assert_allclose(millimetres[1:] / 1000, depth(1)[1:], atol=6e-4)
    assert (millimetres[0, 0], left["stuff"]) == (0, None)
    cup, dish, unseen = left["objects"]
    assert (cup["category"], cup["bbox"], cup["flags"]) == ("cup", [4, 6, 10, 20], ["occluded"])
    assert json.loads(cup["attributes"]) == {"colour": "grün", "height": "0.4"}
    np.testing.assert_array_equal(masks.decode(cup["amodal_mask"].encode(), HEIGHT, WIDTH), WHOLE)
    assert [mark["name"] for mark in json.loads(dish["landmarks"])] == ["tip", "foot"]
    assert (unseen["bbox"], unseen["pose"][0]) == (None, 2.0)
    assert [r["predicate"] for r in left["relations"]] == ["left", "closer", "behind"]
    assert [r["predicate"] for r in right["relations"]] == ["left", None, "behind"]
    assert json.loads(left["camera"])["k"] == list(K)


def test_parquet_files_have_a_bounded_number_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ROWS >= 100
    monkeypatch.setattr("sightline.store.formats.parquet_write.ROWS", 3)
    out = exported("parquet", tmp_path, [scene(1), scene(2)])
    files = sorted((out / "data").iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == [3, 1]
    assert files[1].name == "val_default-00001-of-00002.parquet"


def test_fiftyone_has_boxes_masks_and_relations(tmp_path: Path) -> None:
    out = exported("fiftyone", tmp_path, [scene(1)])
    left, right = json.loads((out / "samples.json").read_text())["samples"]
    np.testing.assert_array_equal(np.asarray(Image.open(out / left["filepath"])), pixels(1))
    assert (left["tags"], left["scene_id"], right["view_id"]) == (["val_default"], "made/1", "right")
    cup, dish = left["ground_truth"]["detections"]
    assert cup["bounding_box"] == pytest.approx([4 / WIDTH, 6 / HEIGHT, 6 / WIDTH, 14 / HEIGHT])
    packed = base64.b64decode(cup["mask"]["$binary"]["base64"])
    np.testing.assert_array_equal(np.load(io.BytesIO(zlib.decompress(packed))), VISIBLE[6:20, 4:10])
    assert (cup["label"], cup["occluded_fraction"], "mask" in dish) == ("cup", 0.5, False)
    assert [(r["subject"], r["object"], r["predicate"]) for r in left["relations"]] == [
        ("0", "1", "left"),
        ("0", "1", "closer"),
    ]
    assert right["relations"] == []
    (tip,) = left["keypoints"]["keypoints"]
    assert tip["points"] == [[25 / WIDTH, 6 / HEIGHT]]
    ids = [
        entry["_id"]["$oid"]
        for sample in (left, right)
        for entry in (sample, *sample["ground_truth"]["detections"])
    ]
    assert len(set(ids)) == len(ids) == 5
    assert all(len(oid) == 24 for oid in ids)
    fields = {field["name"]: field for field in json.loads((out / "metadata.json").read_text())["sample_fields"]}
    assert set(left) <= {field["db_field"] for field in fields.values()}
    inner = fields["ground_truth"]["fields"][0]["fields"]
    assert set(cup) - {"_cls"} <= {field["db_field"] for field in inner}


def test_fiftyone_needs_photos(tmp_path: Path) -> None:
    bare = Scene("s", views=(View("0", size=(4, 4)),))
    write = named("fiftyone").write
    assert write is not None
    with pytest.raises(DataError, match="row s, image: FiftyOne needs every view's photo"):
        write(tables_from_scenes([bare]), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_label_studio_has_boxes_in_per_cent_and_relations_between_them(tmp_path: Path) -> None:
    found = Scene(
        "found",
        source="detector",
        views=(View("0", size=(WIDTH, HEIGHT)),),
        objects=(Object("0", "cup", {"score": "0.75"}), Object("1", "cup", {"score": "high"})),
        sightings=(Sighting("0", "0", (0, 0, 8, 3)), Sighting("0", "1", (0, 0, 8, 3))),
    )
    out = exported("label-studio", tmp_path, [scene(1), found])
    detected, left, _ = json.loads((out / "tasks.json").read_text())
    (place,) = parse_qs(urlsplit(left["data"]["image"]).query)["d"]
    np.testing.assert_array_equal(np.asarray(Image.open(out / place)), pixels(1))
    cup, dish, *links = left["annotations"][0]["result"]
    assert cup["value"].pop("rectanglelabels") == ["cup"]
    assert cup["value"] == pytest.approx({"x": 10.0, "y": 20.0, "width": 15.0, "height": 140 / 3, "rotation": 0})
    assert [(link["from_id"], link["to_id"], link["labels"]) for link in links] == [
        (cup["id"], dish["id"], ["left"]),
        (cup["id"], dish["id"], ["closer"]),
    ]
    assert "image" not in detected["data"]
    (prediction,) = detected["predictions"]
    assert ([r.get("score") for r in prediction["result"]], prediction["model_version"]) == (
        [0.75, None],
        "detector",
    )
    interface = ElementTree.parse(out / "interface.xml").getroot()
    labels = interface.find("RectangleLabels")
    image = interface.find("Image")
    assert labels is not None
    assert image is not None
    assert [label.get("value") for label in labels] == ["cup", "hidden", "plate & <dish>"]
    assert (labels.get("toName"), cup["to_name"], cup["from_name"]) == (image.get("name"),) * 2 + (
        labels.get("name"),
    )
    assert {r.get("value") for r in interface.iter("Relation")} == {"left", "closer", "behind", "undecided"}


def test_bop_has_poses_cameras_depth_and_masks_in_millimetres(tmp_path: Path) -> None:
    out = exported("bop", tmp_path, [scene(1)])
    folder = out / "val_default" / "000001"
    camera = json.loads((folder / "scene_camera.json").read_text())["0"]
    cup, _ = json.loads((folder / "scene_gt.json").read_text())["0"]
    facts, bare = json.loads((folder / "scene_gt_info.json").read_text())["0"]
    kinds = json.loads((out / "sightline.json").read_text())["objects"]
    assert kinds[str(cup["obj_id"])] == "cup:small"
    turn, shift = np.reshape(cup["cam_R_m2c"], (3, 3)), np.array(cup["cam_t_m2c"])
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    world = np.array([0.3, -0.2, 0.1 + 2.0 * 0.4 / 2])  # the middle of its height, along its scaled axis
    seen = np.reshape(TURNED, (3, 4)) @ [*world, 1.0]
    np.testing.assert_allclose(shift, 1000 * seen)
    again = np.reshape(camera["cam_R_w2c"], (3, 3)) @ (1000 * world) + camera["cam_t_w2c"]
    np.testing.assert_allclose(again, shift)
    assert camera["cam_K"] == list(K)
    steps = np.asarray(Image.open(folder / "depth" / "000000.png")).astype(float) * camera["depth_scale"]
    np.testing.assert_allclose(steps[1:], 1000 * depth(1)[1:], atol=0.06)
    np.testing.assert_array_equal(np.asarray(Image.open(folder / "rgb" / "000000.png")), pixels(1))
    for place, expected in (("mask_visib", VISIBLE), ("mask", WHOLE)):
        np.testing.assert_array_equal(np.asarray(Image.open(folder / place / "000000_000000.png")) == 255, expected)
    assert (facts["bbox_obj"], facts["bbox_visib"]) == ([4, 6, 12, 14], [4, 6, 6, 14])
    assert (facts["px_count_all"], facts["px_count_visib"], facts["visib_fract"]) == (168, 84, 0.5)
    assert facts["px_count_valid"] == 168
    assert bare == {"bbox_obj": [-1] * 4, "bbox_visib": [-1] * 4}  # no mask was told
    assert (folder / "rgb" / "000001.png").is_file()


def test_bop_keeps_far_depth_in_whole_millimetres(tmp_path: Path) -> None:
    far = np.full((HEIGHT, WIDTH), 20.0, dtype=np.float32)
    far[0, 0], far[0, 1] = 70.0, np.inf
    view = View("0", None, (WIDTH, HEIGHT), camera=Camera(K, TURNED), load_depth=lambda: far)
    out = exported("bop", tmp_path, [Scene("s", views=(view,))])
    folder = out / "test" / "000001"
    assert json.loads((folder / "scene_camera.json").read_text())["0"]["depth_scale"] == 1.0
    steps = np.asarray(Image.open(folder / "depth" / "000000.png"))
    assert (steps[0, 0], steps[0, 1], steps[1, 1]) == (0, 0, 20000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"camera": None}, "row s, view 0, camera: BOP needs every view's camera"),
        ({"size": None}, "row s, view 0, size: BOP needs every view's size"),
        ({}, "row s, pose: BOP needs every seen object's pose"),  # a photo's object
    ],
)
def test_what_bop_cannot_do_without(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    view = View("0", **{"size": (WIDTH, HEIGHT), "camera": Camera(K, TURNED)} | changes)
    thing = Scene("s", views=(view,), objects=(Object("0", "cup"),), sightings=(Sighting("0", "0", (0, 0, 1, 1)),))
    write = named("bop").write
    assert write is not None
    with pytest.raises(DataError, match=message):
        write(tables_from_scenes([thing]), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


LEFT_OUT = {
    "parquet": ["parts of a millimetre in 2 depth maps"],
    "fiftyone": [
        "1 boxless object",
        "1 amodal mask",
        "2 relations",
        "3 poses",
        "2 cameras",
        "2 depth maps",
        "2 id maps",
    ],
    "label-studio": [
        *("1 boxless object", "2 masks", "2 relations", "1 object with landmark"),
        *("3 poses", "2 cameras", "2 depth maps"),
    ],
    "bop": ["1 unseen object", "4 relations", "1 object with landmark"],
}


def test_what_has_no_place_is_counted(tmp_path: Path) -> None:
    tables = stored(tmp_path, [scene(1)]).tables()
    assert {name: form.left_out(tables) for name, form in EXPORTS.items()} == LEFT_OUT


@pytest.mark.parametrize("name", EXPORTS)
def test_ids_are_no_paths(tmp_path: Path, name: str) -> None:
    """Ids and splits that lead elsewhere, or differ in what a file system does not see, stay inside and apart."""
    (tmp_path / "in").mkdir()
    ids = ["../../evil", "/etc/evil", "..", "a/../../b", "A", "a", "x" * 300]
    made = [scene(n, name_, "../up" if n % 2 else "") for n, name_ in enumerate(ids)]
    exported(name, tmp_path / "in", made)
    assert {p.name for p in tmp_path.iterdir()} == {"in"}
    assert {p.name for p in (tmp_path / "in").iterdir()} == {"data", "out"}
    assert all(len(p.name) < 200 for p in (tmp_path / "in" / "out").rglob("*"))
    photos = [p for p in (tmp_path / "in" / "out").rglob("*.png") if p.parent.name in ("data", "images", "rgb")]
    if name == "parquet":
        rows = [
            pq.read_table(file, columns=["image"]).to_pylist()
            for file in (tmp_path / "in" / "out").rglob("*.parquet")
        ]
        assert len({row["image"]["path"] for part in rows for row in part}) == 2 * len(ids)
    else:
        assert len(photos) == 2 * len(ids)


@pytest.mark.parametrize("name", EXPORTS)
def test_they_are_written_and_not_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} can be written but not read"):
        pick(tmp_path, name)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    write = named(name).write
    assert write is not None
    with pytest.raises(ConfigError):
        write(tables_from_scenes([]), tmp_path / "out")


def test_label_studios_converter_would_find_every_box_to_the_pixel(tmp_path: Path) -> None:
    data = sl.generate("geospa/val_default", tmp_path / "scenes", scenes=3, size=(96, 64))
    write = named("label-studio").write
    assert write is not None
    write(data.tables(), tmp_path / "out", blobs=data.blobs)
    found = label_studio.read(tmp_path / "out")
    assert len(found) == 3
    for scene, (size, boxes, told) in zip(data, found.values(), strict=True):
        (view,) = scene.views
        seen = scene.seen_in(view.id)
        assert size == view.size
        corners = [tuple(map(int, one.box)) for one in seen]
        assert boxes == [
            (scene.object(one.object_id).category, x0, y0, x1 - x0, y1 - y0)
            for one, (x0, y0, x1, y1) in zip(seen, corners, strict=True)
        ]
        place = {one.object_id: i for i, one in enumerate(seen)}
        both = [r for r in scene.relations if {r.subject, r.object} <= set(place)]
        assert told == [(place[r.subject], r.predicate, place[r.object]) for r in both]


def test_bop_is_read_by_its_own_rules(tmp_path: Path) -> None:
    """Of generated scenes each object is where its pose says: seen there, and as far as its depth says."""
    data = sl.generate("geospa/val_default", tmp_path / "scenes", scenes=3, size=(96, 64))
    write = named("bop").write
    assert write is not None
    write(data.tables(), tmp_path / "out", blobs=data.blobs)
    found = bop.read(tmp_path / "out")
    key = json.loads((tmp_path / "out" / "sightline.json").read_text())
    shapes = [scene.object(one.object_id).shape for scene in data for one in scene.seen_in(scene.views[0].id)]
    assert [key["objects"][str(one["kind"])] for one in found] == shapes
    for one in found:
        (x, y), (left, top, width, height) = one["at"], one["box"]
        assert left - 1 <= x <= left + width + 1
        assert top - 1 <= y <= top + height + 1
        if len(one["depth"]):  # in millimetres
            assert abs(np.median(one["depth"]) - one["far"]) < one["size"]
