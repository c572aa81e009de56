"""Mesh files with landmarks and furniture catalogues as shape libraries."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml

from sightline.errors import DataError
from sightline.worlds.shapes.baked import load_solids
from sightline.worlds.shapes.library import read_library, shape_file, write_library
from sightline.worlds.shapes.sources import SOURCES, plain_name, source_of
from sightline.worlds.solids import Solid
from worlds.cad_cases import CORNERS, FACES, OBJ, catalogue, glb, lay_meshes, piece

pytest.importorskip("trimesh", reason="mesh files need trimesh")


def imported(path: Path, out: Path) -> tuple[dict[str, Solid], list[str]]:
    source = source_of(path)
    assert source is not None
    skipped: list[DataError] = []
    write_library(out, source.read(path, skipped.append), overwrite=False)
    solids = {name: load_solids(shape_file(out, name))[f"{name}:medium"] for name in read_library(out)}
    return solids, [str(fault) for fault in skipped]


def test_meshes_take_category_axes_and_landmarks_from_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "bus").mkdir(parents=True)
    for name in ("a.obj", "bus/b.obj", "lamp.obj"):
        (folder / name).write_text(OBJ.replace("mtllib box.mtl\nusemtl red\n", ""))
    said = {
        "a.obj": {"category": "car", "model": "sedan", "front": "x", "landmarks": {"nose": [0.2, 0.0, 0.0]}},
        "bus/b.obj": {"category": "bus", "up": "y"},
    }
    (folder / "landmarks.yaml").write_text(yaml.safe_dump(said))
    solids, skipped = imported(folder, tmp_path / "lib")
    assert (sorted(solids), skipped) == (["bus/b", "car/sedan", "lamp/1"], [])
    for one in solids.values():
        assert np.linalg.norm(np.ptp(one.vertices, axis=0)) == pytest.approx(1.0, abs=1e-5)
    diagonal = float(np.linalg.norm(np.ptp(CORNERS, axis=0)))
    assert solids["car/sedan"].landmarks["nose"] == pytest.approx((0.0, -0.2 / diagonal, 0.1 / diagonal), abs=1e-6)
    assert solids["bus/b"].height == pytest.approx(0.8 / diagonal)  # its y is up


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ({"x.obj": {"category": "car"}}, "no such mesh .*x.obj"),
        ({"a.obj": {"categry": "car"}}, "unknown field 'categry', did you mean 'category'"),
        ({"a.obj": {"category": "car", "landmarks": {"nose": [1, 2]}}}, "landmarks.nose: not a list of 3"),
        ({"a.obj": {"category": "car", "front": "z"}}, "unknown axis 'z'"),
    ],
)
def test_a_wrong_landmark_file_is_told(tmp_path: Path, notes: dict[str, object], words: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.obj").write_text(OBJ)
    (folder / "landmarks.json").write_text(yaml.safe_dump(notes))
    with pytest.raises(DataError, match=words):
        imported(folder, tmp_path / "lib")
    assert not (tmp_path / "lib").exists()


def test_meshes_of_all_kinds_are_one_library(tmp_path: Path) -> None:
    solids, _ = imported(lay_meshes(tmp_path / "in"), tmp_path / "lib")
    assert {name: tuple(one.landmarks) for name, one in solids.items()} == {
        "bus/long": ("tail",),
        "car/sedan": ("nose",),
        "lamp/1": (),
    }
    assert all(len(one.faces) == 12 and one.closed for one in solids.values())


def test_what_is_no_source_of_shapes(tmp_path: Path) -> None:
    assert source_of(tmp_path) is None
    (tmp_path / "a.obj").write_text(OBJ)
    assert source_of(tmp_path) is source_of(tmp_path / "a.obj") is SOURCES["meshes"]
    (tmp_path / "data.json").write_text("{}")
    assert source_of(tmp_path) is None
    assert source_of(tmp_path, "meshes") is SOURCES["meshes"]
    assert plain_name("///") == "unnamed"


def test_a_catalogue_of_furniture_is_read(tmp_path: Path) -> None:
    turned = "0 0 1 0 1 0 -1 0 0"  # a quarter turn about y
    pieces = [piece(), piece(), piece(id="Us#x", name="Hat stand", modelRotation=turned)]
    solids, skipped = imported(catalogue(tmp_path / "a.sh3f", pieces), tmp_path / "lib")
    assert (sorted(solids), skipped) == (["chair/arm-chair", "chair/arm-chair-2", "hat-stand/x"], [])
    one = solids["chair/arm-chair"]
    assert np.ptp(one.vertices, axis=0) == pytest.approx(np.array([40, 30, 120]) / 130.0, abs=1e-5)
    assert one.slots[0].color == pytest.approx((1.0, 0.0, 0.0))
    assert one.slots[0].texture is None  # a texture from elsewhere is not followed
    assert one.landmarks == {}


@pytest.mark.parametrize(
    ("name", "tags", "group", "category"),
    [
        ("Garden chair with cushion", "", "", "chair"),
        ("Sofa 2 seats", "Couch", "", "sofa"),
        ("Bar stool", "Chair, Seat", "Kitchen", "bar-stool"),
        ("Table", "", "Living room", "diningtable"),
        ("Table", "", "Office", "table"),
        ("Coffee table", "", "", "coffee-table"),
        ("Table tennis", "", "", "table-tennis"),
        ("Ford Focus", "Blend Swap, Car", "Vehicles", "car"),
        ("Truck", "Car", "Vehicles", "truck"),
        ("Motorbike", "Game, Child", "Exterior", "other-motorbike"),
        ("Scooter", "", "Vehicles", "motorbike"),
        ("Scooter", "Bicycle, Bike", "Vehicles", "scooter"),  # without a motor
        ("Ch\\u00e2ise", "", "", "chaise"),
        ("\\u20ac", "", "", "unnamed"),
    ],
)
def test_categories_are_those_of_voc(tmp_path: Path, name: str, tags: str, group: str, category: str) -> None:
    one = piece(name=name, tags=tags, category=group)
    assert list(imported(catalogue(tmp_path / "a.sh3f", [one]), tmp_path / "lib")[0]) == [f"{category}/arm-chair"]


def test_pieces_that_cannot_be_shapes_are_left_out_and_told(tmp_path: Path) -> None:
    flat = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    pieces = [
        piece(id="Us#ok"),
        piece(model="/m/box.dae"),
        piece(model="/m/none.obj"),
        piece(model="/m/../../box.obj"),
        piece(width="wide"),
        piece(modelRotation="1 2 3"),
        piece(model="/f/flat.obj"),
    ]
    path = catalogue(tmp_path / "a.sh3f", pieces, **{"f/flat.obj": flat})
    solids, skipped = imported(path, tmp_path / "lib")
    assert list(solids) == ["chair/ok"]
    reasons = ["not an OBJ", "missing or too large", "missing or too large", "width", "modelRotation", "flat"]
    assert all(reason in told for reason, told in zip(reasons, skipped, strict=True))
    assert all("a.sh3f" in told for told in skipped)


def test_other_zips_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sh3f").write_bytes(b"no zip")
    with pytest.raises(DataError, match="not a furniture catalogue"):
        imported(tmp_path / "a.sh3f", tmp_path / "lib")
    with zipfile.ZipFile(tmp_path / "b.sh3f", "w") as archive:
        archive.writestr("x", "")
    with pytest.raises(DataError, match="PluginFurnitureCatalog"):
        imported(tmp_path / "b.sh3f", tmp_path / "lib")
    with pytest.raises(DataError, match="lists no piece"):
        imported(catalogue(tmp_path / "c.sh3f", []), tmp_path / "lib")
    with pytest.raises(DataError, match=r"d\.sh3f: no piece can be a shape .*piece 1 is left out: width"):
        imported(catalogue(tmp_path / "d.sh3f", [piece(width="wide")]), tmp_path / "lib")
    assert not (tmp_path / "lib").exists()


def test_faces_beyond_the_vertices_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.glb").write_bytes(glb(np.where(FACES == 7, 61, FACES)))
    with pytest.raises(DataError, match=r"a\.glb: holds no usable triangles"):
        imported(tmp_path / "a.glb", tmp_path / "lib")
