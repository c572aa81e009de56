"""PASCAL3D+'s annotations: every field, several objects, degenerate poses, bad input, and the real files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from pascal3d_cases import HEADER, NOTHING, annotation, lay, save, save_npz, structs, thing, turn, viewpoint

from sightline.errors import DataError
from sightline.geometry.viewpoints import geodesic, rotations
from sightline.scenes import Scene, validate
from sightline.store.check import check_tables
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import detect, named
from sightline.store.formats.pascal3d_records import SYMMETRIES, folded
from sightline.store.tables import Tables
from sightline.worlds.cad import SUBTYPES
from sightline.worlds.shapes import solid


def scenes(path: Path, name: str = "pascal3d", **options: Any) -> list[Scene]:
    tables = Tables.concat(named(name).read(path, **options))
    assert check_tables(tables) == []
    return [validate(scene) for scene in scenes_from_tables(tables)]


def test_every_field_of_an_object_is_kept(tmp_path: Path) -> None:
    (scene,) = scenes(save(tmp_path / "a.mat", thing()))
    (seen,), (car,) = scene.sightings, scene.objects
    assert (scene.id, scene.views[0].size, scene.source) == ("a", (500, 375), "pascal3d")
    assert (car.category, car.shape) == ("car", "pascal3d/car/2")
    assert car.attributes == {
        "subtype": "sedan",
        "pose": "Rear",
        "cad_index": "2",
        "num_anchor": "3",
        "interval_azimuth": "0.2",
        "interval_elevation": "0.1",
    }
    assert seen.box == (10.0, 20.0, 200.0, 150.0)  # counted from 0, half-open
    assert seen.flags == {"truncated", "difficult"}
    view = seen.viewpoint
    assert view is not None
    assert (view.azimuth, view.elevation, view.distance, view.theta) == (33.5, 7.25, 8.0, -2.0)
    assert (view.principal, view.focal, view.viewport) == ((250.0, 160.0), 1.0, 3000.0)
    assert (view.coarse, view.error) == ((30.0, 5.0), 4.5)
    states = [(m.name, m.x, m.y, m.state) for m in seen.landmarks]
    assert states == [
        ("left_front_wheel", 101.0, 51.0, "visible"),
        ("right_front_wheel", None, None, "self_occluded"),
        ("left_back_wheel", 119.5, 59.5, "occluded"),
        ("right_back_wheel", None, None, "truncated"),
        ("left_front_light", None, None, "unknown"),
    ]


def test_bottles_are_said_to_look_alike_from_all_sides(tmp_path: Path) -> None:
    """In all formats; of a class whose own models differ, or are all different from all sides, nothing is said."""
    things = [thing(**{"class": name}) for name in ("bottle", "car", "diningtable")]
    row = "Images\\{0}_pascal\\{0}.jpg,3,80,447,219,0,54,355,356"
    (tmp_path / "train.csv").write_text(HEADER + "\n".join(row.format(t["class"]) for t in things) + "\n")
    turned = {"rotationData": structs([turn(**{"class": "bottle"}), turn(objectInd=2.0)])}
    scipy.io.savemat(tmp_path / "turns.mat", turned)
    save_npz(tmp_path / "n" / "a.npz", *(annotation(**{"class": t["class"]}) for t in things))
    read = {
        "pascal3d": save(tmp_path / "a.mat", *things),
        "pascal3d-poses": tmp_path / "train.csv",
        "imagenet3d": tmp_path / "n",
    }
    for name, path in read.items():
        said = {o.category: o.attributes.get("symmetry") for s in scenes(path, name) for o in s.objects}
        assert said == {"bottle": "0", "car": None, "diningtable": None}, name
    (scene,) = scenes(tmp_path / "turns.mat", "pascal3d-poses")
    assert [o.attributes.get("symmetry") for o in scene.objects] == ["0", None]


def test_symmetries_of_classes_are_those_on_which_our_own_models_agree() -> None:
    declared = {
        name: {solid(f"cad/{name}/{subtype}:medium").symmetry for subtype in subtypes}
        for name, subtypes in SUBTYPES.items()
    }
    assert {name: min(of) for name, of in declared.items() if len(of) == 1 and of != {1}} == SYMMETRIES


def test_the_folders_of_all_classes_are_brought_together(tmp_path: Path) -> None:
    assert detect(lay(tmp_path)).name == "pascal3d"
    imagenet, pascal = scenes(tmp_path)
    assert [s.id for s in (imagenet, pascal)] == ["imagenet/n01_7", "pascal/2008_1"]
    assert [(s.source, s.split) for s in (imagenet, pascal)] == [("imagenet", "validation"), ("pascal", "train")]
    assert sorted(o.category for o in pascal.objects) == ["bus", "car", "person"]
    has = {pascal.object(s.object_id).category: s.viewpoint is not None for s in pascal.sightings}
    assert has == {"bus": True, "car": True, "person": False}
    assert [s.id for s in scenes(tmp_path, split="val")] == ["imagenet/n01_7"]
    assert [s.id for s in scenes(tmp_path / "Annotations" / "car_imagenet")] == ["imagenet/n01_7"]
    with pytest.raises(DataError, match="no such split"):
        scenes(tmp_path, split="test")


@pytest.mark.parametrize(
    ("changes", "angles", "continuous"),
    [
        ({"distance": 0.0}, (30.0, 5.0), False),  # no continuous pose: the coarse angles
        ({"distance": None}, (30.0, 5.0), False),  # the same, by silence
        ({"distance": 0.0, "azimuth_coarse": None, "elevation_coarse": None}, (33.5, 7.25), False),
        ({"azimuth_coarse": None, "elevation_coarse": None}, (33.5, 7.25), True),
        ({"azimuth": 360.0}, (0.0, 7.25), True),
        ({"azimuth": -10.0, "elevation": -90.0}, (350.0, -90.0), True),
        ({"elevation": 100.0}, (213.5, 80.0), True),  # over the top
        ({"viewport": 711.88, "focal": None}, (33.5, 7.25), True),
    ],
)
def test_degenerate_poses_are_what_they_are(
    tmp_path: Path, changes: dict[str, Any], angles: tuple[float, float], continuous: bool
) -> None:
    (scene,) = scenes(save(tmp_path / "a.mat", thing(viewpoint=viewpoint(**changes))))
    view = scene.sightings[0].viewpoint
    assert view is not None
    assert (view.azimuth, view.elevation) == pytest.approx(angles)
    assert view.continuous is continuous


@given(*[st.floats(-720.0, 720.0) for _ in range(3)])
def test_folded_angles_are_the_same_turn(azimuth: float, elevation: float, theta: float) -> None:
    a, e, t = folded(azimuth, elevation, theta)
    assert 0.0 <= a < 360.0
    assert -90.0 <= e <= 90.0
    assert -180.0 < t <= 180.0
    assert geodesic(rotations(a, e, t), rotations(azimuth, elevation, theta)) < 1e-5


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ({}, (500, 375)),
        ({"size": None}, None),
        ({"size": {"width": 500.0, "height": 0.0}}, None),
        ({"size": None, "imgsize": np.array([[640.0, 480.0, 3.0]])}, (640, 480)),
        ({"size": {"width": 500.5, "height": 375.0}}, "row size, width: .*a whole number of pixels"),
        ({"size": {"width": 500.0, "height": 2.0**53}}, "row size, height: .*a whole number of pixels"),
        ({"size": None, "imgsize": np.array([[-1.0, 480.0]])}, "row imgsize, width: .*a whole number of pixels"),
    ],
)
def test_the_size_of_a_photo(tmp_path: Path, changes: dict[str, Any], size: tuple[int, int] | str | None) -> None:
    file = save(tmp_path / "a.mat", thing(), **changes)
    if isinstance(size, str):
        with pytest.raises(DataError, match=size):
            scenes(file, "pascal3d")
    else:
        assert scenes(file, "pascal3d")[0].views[0].size == size


@pytest.mark.parametrize(
    ("changes", "landmarks", "flags"),
    [
        ({"anchors": NOTHING}, [], set()),  # no landmarks
        ({"anchors": None}, [], set()),
        ({"anchors": {"a": {"location": NOTHING, "status": 2.0}}}, [("a", "self_occluded")], set()),  # all hidden
        ({"anchors": {"a": {"location": NOTHING, "status": 1.0}}}, [("a", "unknown")], set()),  # visible nowhere
        ({"anchors": {"a": {"location": NOTHING}}}, [("a", "unknown")], set()),  # no state
        ({"bbox": np.array([[-20.0, 1.0, 600.0, 300.0]])}, None, {"outside"}),  # leaves the photo: kept
        ({"bbox": np.array([[0.0, 0.0, 1.0, 1.0]])}, None, set()),  # by a pixel: rounding
        ({"class": "spaceship", "cad_index": None}, None, set()),  # a class of nobody's
        ({"viewpoint": NOTHING}, None, set()),
        ({"subtype": np.zeros((1, 0)), "view": NOTHING}, None, set()),  # nothing of either shape
    ],
)
def test_what_is_missing_has_a_documented_meaning(
    tmp_path: Path, changes: dict[str, Any], landmarks: list[tuple[str, str]] | None, flags: set[str]
) -> None:
    (scene,) = scenes(save(tmp_path / "a.mat", thing(**changes)))
    seen = scene.sightings[0]
    assert seen.flags - {"truncated", "difficult"} == flags
    if landmarks is not None:
        assert [(m.name, m.state) for m in seen.landmarks] == landmarks


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"class": None}, r"a.mat, row objects\(2\), class: field is missing"),
        ({"subtype": np.array([1.0, 2.0])}, "subtype: .*expected a text"),
        ({"bbox": None}, r"objects\(2\), bbox: field is missing \(expected 4 numbers"),
        ({"bbox": np.array([[5.0, 1.0, 2.0, 3.0]])}, "box is reversed"),
        ({"bbox": np.array([[5.0, 1.0, np.nan, 3.0]])}, "finite"),
        ({"truncated": 3.0}, "truncated: .*expected 0 or 1"),
        ({"viewpoint": viewpoint(azimuth=None)}, r"objects\(2\).viewpoint, azimuth: field is missing"),
        ({"viewpoint": viewpoint(px=None)}, "viewpoint, px: field is missing"),
        ({"viewpoint": viewpoint(distance=-1.0)}, "distance: .*≥ 0"),
        ({"viewpoint": viewpoint(viewport=0.0)}, "viewport: .*> 0"),
        ({"viewpoint": viewpoint(theta="x")}, "theta: .*expected a number, found 'x'"),
        ({"anchors": {"a": {"location": np.array([[1.0]]), "status": 1.0}}}, "anchors.a, location: .*2 numbers"),
        ({"anchors": {"a": {"location": NOTHING, "status": 9.0}}}, "status: .*1 visible"),
        ({"anchors": {"a": 3.0}}, r"anchors, a: .*record"),
    ],
)
def test_what_is_wrong_is_named_by_file_object_and_field(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    whole = {key: value for key, value in {**thing(), **changes}.items() if value is not None}
    path = save(tmp_path / "a.mat", thing(bbox=np.array([[1.0, 1.0, 9.0, 9.0]])), whole)
    with pytest.raises(DataError, match=words):
        scenes(path)


def test_files_without_a_record_are_refused(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"other": 1.0})
    with pytest.raises(DataError, match="record: field is missing"):
        scenes(tmp_path / "a.mat")
    with pytest.raises(DataError, match="objects: field is missing"):
        scenes(save(tmp_path / "b.mat", objects=None))
    (tmp_path / "c.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(DataError, match="HDF5"):
        scenes(tmp_path / "c.mat")
    (tmp_path / "d.mat").write_bytes(b"\x89HDF\r\n\x1a\n")
    for name in "cd":  # recognised, so that an import without --format tells why
        assert detect(tmp_path / f"{name}.mat").name == "pascal3d"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\0" * 600, "2007_1.mat: not a MATLAB file of version 5 to 7"),  # zeros, as after a crash
        (b"", "2007_1.mat: not a MATLAB file"),  # empty
        (b"MATLAB 5.0 MAT-file".ljust(126) + b"IM" + b"\xff" * 64, "2007_1.mat: damaged MATLAB file"),
        (None, "2007_1.mat, record: field is missing"),
    ],
)
def test_the_first_file_of_a_folder_is_named_when_it_is_wrong(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    file = lay(tmp_path) / "Annotations" / "bus_pascal" / "2007_1.mat"
    if content is None:
        scipy.io.savemat(file, {"other": 1.0})
    else:
        file.write_bytes(content)
    for path in (tmp_path, file.parent):
        with pytest.raises(DataError, match=words):
            list(detect(path).read(path))


def test_a_photo_without_objects_is_a_scene(tmp_path: Path) -> None:
    (scene,) = scenes(save(tmp_path / "a.mat"))
    assert scene.objects == ()


@pytest.mark.realdata
def test_the_real_example_is_read_in_every_field(real_data: Path) -> None:
    (scene,) = scenes(real_data / "pascal3d" / "annotation_schema_example.mat")
    (seen,), (car,) = scene.sightings, scene.objects
    assert (car.category, car.attributes["subtype"], car.shape) == ("car", "race", "pascal3d/car/2")
    assert seen.box == (-1.0, -1.0, 1.0, 1.0)
    view = seen.viewpoint
    assert view is not None
    assert (view.azimuth, view.elevation, view.distance, view.theta) == (197.0, 8.0, 3.399, -10.112)
    assert view.viewport == pytest.approx(711.8875, abs=1e-4)
    assert view.principal == pytest.approx((301.0, 173.18))
    assert (view.coarse, view.error) == ((235.0, 2.5), 533.27)
    states = [m.state for m in seen.landmarks]
    assert (len(states), states.count("visible"), states.count("self_occluded")) == (12, 7, 5)
    assert math.isclose(seen.landmarks[0].x or 0.0, 1278.18727, abs_tol=1e-4)
