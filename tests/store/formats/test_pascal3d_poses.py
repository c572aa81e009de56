"""Poses alone: CSV files and rotations, made and real."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from pascal3d_cases import HEADER, lay_poses, save, structs, thing, turn
from test_pascal3d import scenes

from sightline.errors import DataError
from sightline.store.formats import detect, named
from sightline.store.formats.pascal3d_poses import notes
from sightline.store.tables import Tables
from sightline.store.viewpoint_contents import viewpoint_contents

COMMONEST = {
    "bottle": 99,
    "train": 74,
    "tvmonitor": 71,
    "sofa": 66,
    "bus": 45,
    "chair": 36,
    "diningtable": 36,
    "car": 24,
    "motorbike": 21,
    "bicycle": 19,
    "aeroplane": 19,
    "boat": 17,
}
BELOW = {
    "aeroplane": 61,
    "train": 49,
    "bus": 47,
    "boat": 36,
    "bottle": 30,
    "motorbike": 26,
    "bicycle": 24,
    "tvmonitor": 22,
    "sofa": 16,
    "car": 14,
    "chair": 4,
    "diningtable": 0,
}


def test_rows_become_photos_with_one_object(tmp_path: Path) -> None:
    assert detect(lay_poses(tmp_path)).name == "pascal3d-poses"
    found = {s.id: s for s in scenes(tmp_path, "pascal3d-poses")}
    assert list(found) == ["imagenet/b", "imagenet/c", "pascal/a"]
    first = found["pascal/a"].sightings[0]
    assert (first.box, first.flags) == ((3.0, 80.0, 448.0, 220.0), frozenset())
    assert first.viewpoint is not None
    assert (first.viewpoint.azimuth, first.viewpoint.elevation, first.viewpoint.theta) == (54.0, -5.0, -4.0)
    assert not first.viewpoint.continuous
    assert found["imagenet/b"].sightings[0].flags == {"outside"}
    assert [s.split for s in found.values()] == ["train", "validation", "train"]
    assert notes(tmp_path) == ["1 box with negative coordinates kept, flagged outside"]
    assert [s.id for s in scenes(tmp_path, "pascal3d-poses", split="val")] == ["imagenet/c"]


def test_what_else_lies_in_the_folder_is_named(tmp_path: Path) -> None:
    """With how to import what can be; photos, and those that are taken along, are no matter."""
    lay_poses(tmp_path)
    save(tmp_path / "example.mat", thing())
    scipy.io.savemat(tmp_path / "turns.mat", {"rotationData": structs([turn()])})
    for folder, value in (("cad", {"vertices": np.zeros((3, 3)), "faces": np.ones((1, 3))}), ("boxes", np.ones(4))):
        (tmp_path / folder).mkdir()
        scipy.io.savemat(tmp_path / folder / "car.mat", {"car": value})
    (tmp_path / "list.txt").write_text("a\n")
    (tmp_path / "broken.mat").write_bytes(b"MATLAB 5")
    (tmp_path / "a.jpg").touch()
    (tmp_path / "Images").mkdir()
    (tmp_path / "mine").mkdir()
    _, others, unread = notes(tmp_path, images=tmp_path / "mine")
    assert others == (
        "only CSV files are read here: cad, example.mat, turns.mat left out; import each by itself, as "
        f"`sightline import {tmp_path / 'cad'} --out ANOTHER`"
    )
    assert unread == "of no format that is imported, so not read: Images, boxes, broken.mat, list.txt"
    assert notes(tmp_path)[2] == "of no format that is imported, so not read: boxes, broken.mat, list.txt, mine"
    assert len(notes(tmp_path / "train.csv")) == 1  # a file by itself


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("Images\\car_pascal\\a.jpg,1,2,3", "row 2: wrong number of fields .*9 fields"),
        ("Images\\car_pascal\\a.jpg,1,2,3,x,0,1,2,3", "row 2, y2: not a number"),
        ("Images\\car_pascal\\a.jpg,1,2,3,4,0,nan,2,3", "row 2, azimuth: not a number"),
        ("Images\\car_pascal\\a.jpg,9,2,3,4,0,1,2,3", "row 2, box: box is reversed"),
        ("Images\\car\\a.jpg,1,2,3,4,0,1,2,3", "imgPath: photo of an unknown class"),
        ("a_pascal/a.jpg,1,2,3,4,0,1,2,3\nb_pascal/a.jpg,1,2,3,4,0,1,2,3", "row 3, imgPath: photo stands twice"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: str, words: str) -> None:
    (tmp_path / "train.csv").write_text(f"{HEADER}{row}\n")
    with pytest.raises(DataError, match=words):
        scenes(tmp_path / "train.csv", "pascal3d-poses")


def test_rotations_fix_the_angles(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "t.mat", {"rotationData": structs([turn(), turn(objectInd=3.0)])})
    assert detect(tmp_path / "t.mat").name == "pascal3d-poses"
    (scene,) = scenes(tmp_path / "t.mat", "pascal3d-poses")
    assert [o.id for o in scene.objects] == ["1", "3"]
    seen = scene.sightings[0]
    assert seen.flags == {"occluded"}
    assert seen.viewpoint is not None
    found = (seen.viewpoint.azimuth, seen.viewpoint.elevation, seen.viewpoint.theta)
    assert found == pytest.approx(np.degrees((3.0, -0.2, 0.1)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rot": np.ones((3, 3))}, "rot: .*rotation matrix"),
        ({"rot": np.diag((1.0, 1.0, -1.0))}, "rot: .*rotation matrix"),  # a mirror
        ({"objectInd": 1.0}, "objectInd: .*once"),
        ({"euler": np.array([[0.1], [-0.2], [1.0]])}, "euler: .*same turn as rot"),
    ],
)
def test_turns_that_cannot_be_are_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    scipy.io.savemat(tmp_path / "t.mat", {"rotationData": structs([turn(), turn(**{"objectInd": 2.0, **changes})])})
    with pytest.raises(DataError, match=rf"rotationData\(2\), {words}"):
        scenes(tmp_path / "t.mat", "pascal3d-poses")


@pytest.mark.realdata
def test_the_real_rotations_are_read(real_data: Path) -> None:
    found = list(named("pascal3d-poses").read(real_data / "pascal3d" / "aeroplanetrue.mat"))
    assert sum(part.sightings.height for part in found) == 865  # each with rot and euler of one turn
    assert sum(part.views.height for part in found) == 670


@pytest.mark.realdata
def test_the_real_folder_has_more_than_poses(real_data: Path) -> None:
    away, others, unread = notes(real_data / "pascal3d")
    assert away.startswith("675 boxes")
    assert "aeroplanetrue.mat, annotation_schema_example.mat, cad left out" in others
    assert unread.endswith("not read: rcnn, voc2012_val_boxes.txt")


@pytest.mark.realdata
def test_the_real_poses_have_the_facts_of_the_paper(real_data: Path) -> None:
    parts = list(named("pascal3d-poses").read(real_data / "pascal3d"))
    flags = sum(part.sightings["flags"].list.contains("outside").sum() for part in parts)
    sources = Counter(s for part in parts for s in part.views.select("source", "split").iter_rows())
    assert flags == 675
    assert sources == {("imagenet", "train"): 10646, ("pascal", "train"): 2089, ("imagenet", "validation"): 10488}
    found = viewpoint_contents(Tables.concat(parts))
    assert found is not None
    assert (found.objects, found.azimuths, found.against_paper()) == (23223, 360, [])  # not the full set
    assert {name: round(100 * of.commonest) for name, of in found.classes.items()} == COMMONEST
    assert {name: round(100 * of.below) for name, of in found.classes.items()} == BELOW
