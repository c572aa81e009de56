"""Random scenes out and in again: boxes come back exactly where a format can, else as precisely as told."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from sightline.errors import ConfigError, DataError
from sightline.geometry import Viewpoint
from sightline.scenes import Landmark, Object, Relation, Scene, Sighting, View
from sightline.store import Dataset, tables_from_scenes
from sightline.store import write as write_dataset
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import named
from sightline.store.tables import Tables

WIDTH, HEIGHT = 640, 427
NAMES = st.sampled_from(["cat", "dog", "café", "traffic light", "猫", "a & <b>"])
STATES = st.sampled_from(["visible", "self_occluded", "occluded", "truncated", "unknown"])
MARKS = st.dictionaries(st.sampled_from(["nose", "tail", "kühler"]), STATES, max_size=3)
FLAGS = st.frozensets(st.sampled_from(["truncated", "difficult", "occluded"]))


@st.composite
def boxes(draw: st.DrawFn, whole: bool) -> tuple[float, float, float, float]:
    sides: list[list[float]] = []
    for most in (WIDTH, HEIGHT):
        if whole:
            pair = draw(st.lists(st.integers(0, most), min_size=2, max_size=2, unique=True))
            ends = sorted(map(float, pair))
        else:
            number = st.floats(0, most, allow_subnormal=False)
            ends = sorted(draw(st.tuples(number, number)))
            if ends[1] - ends[0] < 1e-6:
                ends = [0.0, float(most)]
        sides.append(ends)
    return sides[0][0], sides[1][0], sides[0][1], sides[1][1]


@st.composite
def viewpoints(draw: st.DrawFn) -> Viewpoint:
    number = st.floats(0.5, 50.0)
    angles = (draw(st.floats(0.0, 360.0, exclude_max=True)), draw(st.floats(-90.0, 90.0)))
    place = draw(st.none() | st.tuples(number, number))
    return Viewpoint(*angles, draw(number), draw(st.floats(-20.0, 20.0)), place, error=draw(st.none() | number))


@st.composite
def posed(draw: st.DrawFn, seen: Sighting) -> Sighting:
    """The sighting with a viewpoint and landmarks, or without."""
    states = draw(MARKS)
    places = st.floats(-10.0, 700.0)
    marks = tuple(
        Landmark(name, None, None, state)
        if state == "unknown"
        else Landmark(name, draw(places), draw(places), state)
        for name, state in states.items()
    )
    return replace(seen, landmarks=marks, viewpoint=draw(st.none() | viewpoints()))


@st.composite
def scenes(draw: st.DrawFn, whole: bool) -> list[Scene]:
    made = []
    splits = draw(st.sampled_from([[""], ["train", "validation", "test"]]))
    for i in range(draw(st.integers(1, 3))):
        split = draw(st.sampled_from(splits))
        n = draw(st.integers(0, 3))
        ids = [str(k) for k in range(n)]
        related = [
            Relation(a, b, "depth", draw(st.sampled_from(["closer", "farther", "same", "unsure"])))
            for a in ids
            for b in ids
            if a < b and draw(st.booleans())
        ]
        related += [Relation(a, a, "vrd", "near", view="0") for a in ids[:1]]
        made.append(
            Scene(
                id=f"{split}/{i}" if split else f"{i}",
                split=split,
                source="made",
                views=(View("0", None, (WIDTH, HEIGHT)),),
                objects=tuple(Object(k, draw(NAMES)) for k in ids),
                sightings=tuple(draw(posed(Sighting("0", k, draw(boxes(whole)), flags=draw(FLAGS)))) for k in ids),
                relations=tuple(related),
            )
        )
    return made


def there_and_back(made: list[Scene], name: str) -> list[Scene]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / ("out.json" if name == "coco" else "out")
        write = named(name).write
        assert write is not None
        write(tables_from_scenes(made), target)
        return sorted(scenes_from_tables(Tables.concat(named(name).read(target))), key=lambda s: s.id)


def pixels(scene: Scene) -> list[list[float]]:
    scale = np.array([WIDTH, HEIGHT] * 2) if scene.views[0].units == "normalised" else 1.0
    return [(np.array(seen.box) * scale).tolist() for seen in scene.sightings]


SLOW = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(scenes(whole=True))
def test_whole_pixels_come_back_from_voc_as_they_were(made: list[Scene]) -> None:
    for before, after in zip(sorted(made, key=lambda s: s.id), there_and_back(made, "voc"), strict=True):
        assert [s.box for s in after.sightings] == [s.box for s in before.sightings]
        assert [s.flags for s in after.sightings] == [s.flags for s in before.sightings]
        assert [o.category for o in after.objects] == [o.category for o in before.objects]


@SLOW
@given(scenes(whole=False), st.sampled_from(["voc", "yolo"]))
def test_other_boxes_come_back_to_a_billionth_of_a_pixel(made: list[Scene], name: str) -> None:
    for before, after in zip(sorted(made, key=lambda s: s.id), there_and_back(made, name), strict=True):
        assert (after.id, after.split) == (before.id, before.split)
        np.testing.assert_allclose(pixels(after), pixels(before), rtol=0, atol=1e-9)
        assert [o.category for o in after.objects] == [o.category for o in before.objects]


@SLOW
@given(scenes(whole=False))
def test_coco_keeps_boxes_and_relations_exactly(made: list[Scene]) -> None:
    for before, after in zip(sorted(made, key=lambda s: s.id), there_and_back(made, "coco"), strict=True):
        assert after.id == before.id
        assert after.relations == before.relations
        assert after.objects == before.objects
        np.testing.assert_allclose(pixels(after), pixels(before), rtol=0, atol=1e-12)
        for one, two in zip(after.sightings, before.sightings, strict=True):
            assert (one.flags, one.landmarks, one.viewpoint) == (two.flags, two.landmarks, two.viewpoint)


def test_coco_has_landmarks_as_keypoints(tmp_path: Path) -> None:
    def seen(name: str, *marks: Landmark) -> Sighting:
        return Sighting("0", name, (0.0, 0.0, 4.0, 4.0), landmarks=marks, viewpoint=Viewpoint(90.0, 0.0))

    tail = Landmark("tail", None, None, "occluded")
    away = Landmark("left", 9.0, 1.0, "truncated")
    scene = Scene(
        "s",
        source="made",
        views=(View("0", size=(8, 6)),),
        objects=(Object("0", "bus"), Object("1", "bus"), Object("2", "cat")),
        sightings=(
            seen("0", Landmark("nose", 1.5, 2.0), Landmark("door", 3.0, 2.5, "self_occluded")),
            seen("1", tail, Landmark("door", 2.0, 1.0, "occluded"), away),
            Sighting("0", "2", (0.0, 0.0, 4.0, 4.0)),
        ),
    )
    write = named("coco").write
    assert write is not None
    write(tables_from_scenes([scene]), tmp_path / "out.json")
    told = json.loads((tmp_path / "out.json").read_text())
    bus, cat = told["categories"]
    assert (bus["keypoints"], "keypoints" in cat) == (["nose", "door", "tail", "left"], False)
    first, second, third = told["annotations"]
    assert first["keypoints"] == [1.5, 2.0, 2, 3.0, 2.5, 1, *(0.0, 0.0, 0) * 2]
    assert second["keypoints"] == [0.0, 0.0, 0, 2.0, 1.0, 1, *(0.0, 0.0, 0) * 2]
    assert (first["num_keypoints"], second["num_keypoints"], "keypoints" in third) == (2, 1, False)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"viewpoint": {"azimuth": 4.0, "elevation": 0.0, "distance": -1}}, "viewpoint: distance is below 0"),
        ({"viewpoint": {"azimuth": 1.0, "elevation": 0.0, "roll": 1}}, "viewpoint: not a viewpoint"),
        ({"viewpoint": {"azimuth": 10**400, "elevation": 0.0}}, "viewpoint: not a viewpoint"),
        ({"landmarks": {"nose": [1, 2]}}, "landmarks: not a list of landmarks"),
        ({"landmarks": [{"name": "\ud800", "x": 1, "y": 2}]}, "landmarks: name of a landmark is not text"),
        ({"landmarks": [{"name": "a", "x": None, "y": 2}]}, "landmarks: visible landmark a has no place"),
    ],
)
def test_wrong_poses_in_a_coco_file_are_named(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    image = {"id": 1, "width": 8, "height": 6, "sightline": {"scene": "s", "view": "0", "source": "made"}}
    thing = {
        "id": 3,
        "image_id": 1,
        "category_id": 1,
        "bbox": [0, 0, 4, 4],
        "sightline": {"object": "0", **changes},
    }
    content = {"images": [image], "annotations": [thing], "categories": [{"id": 1, "name": "bus"}]}
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=f"c.json, row annotation 3, {says}"):
        list(named("coco").read(tmp_path / "c.json"))


def test_voc_has_the_side_of_a_viewpoint_as_pose() -> None:
    turns = (0.0, 44.9, 45.0, 134.0, 200.0, 300.0)
    ids = [str(i) for i in range(len(turns) + 2)]
    views = {k: Viewpoint(turn, 10.0) for k, turn in zip(ids, turns, strict=False)}
    views[ids[-1]] = Viewpoint(0.0, 0.0)
    scene = Scene(
        "s",
        views=(View("0", size=(8, 6)),),
        objects=tuple(Object(k, "bus", {"pose": "SideFaceLeft"} if k == ids[-1] else {}) for k in ids),
        sightings=tuple(Sighting("0", k, (0.0, 0.0, 4.0, 4.0), viewpoint=views.get(k)) for k in ids),
    )
    (again,) = there_and_back([scene], "voc")
    poses = [thing.attributes.get("pose") for thing in again.objects]
    assert poses == ["Frontal", "Frontal", "Left", "Left", "Rear", "Right", None, "SideFaceLeft"]


@pytest.mark.parametrize("name", ["yolo", "voc"])
def test_photos_and_names_go_along(tmp_path: Path, name: str) -> None:
    Image.new("RGB", (8, 6), (1, 2, 3)).save(tmp_path / "x.png")
    views = (View("0", str(tmp_path / "x.png"), (8, 6)), View("1", str(tmp_path / "x.png"), (8, 6)))
    made = [Scene(n, "validation", "m", views) for n in ("validation/a/b", "validation/a-b")]
    data = write_dataset(tables_from_scenes(made), tmp_path / "d", copy=True)
    write = named(name).write
    assert write is not None
    write(data.tables(), tmp_path / "out", blobs=data.blobs)
    again = Dataset.from_tables(Tables.concat(named(name).read(tmp_path / "out")))
    assert [scene.id for scene in again] == [f"validation/a-b-{k}" for k in ("0", "0-2", "1", "1-2")]
    for scene in again:
        assert scene.views[0].image()[0, 0].tolist() == [1, 2, 3]
    with pytest.raises(ConfigError, match="out"):
        write(data.tables(), tmp_path / "out", blobs=data.blobs)


@pytest.mark.parametrize(
    ("scene", "left", "coco"),
    [
        (Scene("s", views=(View("0"),)), [], []),
        (
            Scene(
                "s",
                source="made",
                views=(View("0", size=(8, 6)),),
                objects=(Object("0", "cat"),),
                sightings=(
                    Sighting(
                        "0",
                        "0",
                        (0, 0, 1, 1),
                        landmarks=(Landmark("nose", 1.0, 1.0),),
                        viewpoint=Viewpoint(1.0, 1.0),
                    ),
                ),
            ),
            ["1 viewpoint", "1 object with landmark"],
            [],
        ),
        (
            Scene(
                "s",
                views=(View("0", size=(8, 6)),),
                objects=(Object("0", "cat"),),
                sightings=(Sighting("0", "0", (0, 0, 1, 1), viewpoint=Viewpoint(1.0, 1.0)),),
            ),
            ["1 viewpoint"],
            ["1 viewpoint"],  # without a source only COCO's own keys are written
        ),
        (
            Scene(
                "s",
                views=(View("0", size=(8, 6)),),
                objects=(Object("0", "cat"), Object("1", "mat")),
                sightings=(Sighting("0", "0", (0, 0, 1, 1), "01"),),
                relations=(Relation("0", "1", "vrd", "on"),),
            ),
            ["1 boxless object", "1 mask", "1 relation"],
            ["1 boxless object"],
        ),
    ],
)
def test_what_boxes_cannot_tell_is_counted(scene: Scene, left: list[str], coco: list[str]) -> None:
    tables = tables_from_scenes([scene])
    assert [named(name).left_out(tables) for name in ("yolo", "voc", "coco")] == [left, left, coco]


@pytest.mark.parametrize("name", ["yolo", "voc"])
def test_objects_without_any_box_are_not_written_as_empty_photos(tmp_path: Path, name: str) -> None:
    bare = Scene("s", views=(View("0", size=(8, 6)),), objects=(Object("0", "cat"),))
    write = named(name).write
    assert write is not None
    with pytest.raises(DataError, match=r"no boxes: .*found '1 object'"):
        write(tables_from_scenes([bare]), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("splits", [("train", ""), ("mine",)])  # no key of data.yaml would find them again
def test_splits_that_yolo_has_not_are_refused(tmp_path: Path, splits: tuple[str, ...]) -> None:
    made = [Scene(f"s{i}", split, views=(View("0"),)) for i, split in enumerate(splits)]
    write = named("yolo").write
    assert write is not None
    with pytest.raises(DataError, match="split: YOLO has no such splits"):
        write(tables_from_scenes(made), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["yolo", "voc"])
def test_a_size_that_nobody_told_is_asked_for(tmp_path: Path, name: str) -> None:
    bare = Scene(
        "s", views=(View("0"),), objects=(Object("0", "cat"),), sightings=(Sighting("0", "0", (0, 0, 1, 1)),)
    )
    write = named(name).write
    assert write is not None
    with pytest.raises(DataError, match=r"row s, size: .*size, which the source never told"):
        write(tables_from_scenes([bare]), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
