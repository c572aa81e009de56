"""A shape library on disk: written, read, used by worlds, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sightline.cli import app
from sightline.errors import DataError, SightlineError
from sightline.worlds import load_world
from sightline.worlds.shapes import solid
from sightline.worlds.shapes.library import INDEX, read_library, shape_file, write_library
from sightline.worlds.shapes.meshes import load_mesh
from worlds.cad_cases import model, saved


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two buses and a car, from .mat files of ours."""
    folder = tmp_path_factory.mktemp("library")
    cad = folder / "cad"
    cad.mkdir()
    saved(cad / "bus.mat", model(), model(tail=np.array([[0.0, 0.4, 0.0]])))
    saved(cad / "car.mat", model())
    printed = CliRunner().invoke(app, ["import", str(cad), "--out", str(folder / "lib")])
    assert printed.exit_code == 0, printed.output
    assert printed.output.startswith("3 models")
    return folder


@pytest.fixture
def library(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lib"


def world(library: Path, text: str) -> Path:
    file = library.parent / "w.yaml"
    file.write_text(f"meshes:\n  own: {{file: lib, scale: 2}}\n{text}\n", encoding="utf-8")
    return file


def test_a_library_tells_what_is_in_it(library: Path) -> None:
    shapes = read_library(library)
    assert list(shapes) == ["bus/1", "bus/2", "car/1"]
    assert shapes["bus/2"].landmarks == ("nose", "left", "tail")
    assert (shapes["car/1"].category, shapes["car/1"].source, shapes["car/1"].faces) == ("car", "car.mat", 12)
    assert shapes["car/1"].symmetry == 2
    assert shapes["car/1"].closed


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("shapes: [own/bus, cube]", {"own/bus/1": 1, "own/bus/2": 1, "cube": 1}),  # a category
        ("shapes: {own/bus: 4, own/car/1: 1}", {"own/bus/1": 2, "own/bus/2": 2, "own/car/1": 1}),  # shared weight
        ("shapes: [own]\nzones: {lane: {shapes: [own/bus], x: [0, 1], y: [0, 1]}}", None),  # all of it
    ],
)
def test_worlds_name_shapes_categories_and_libraries(library: Path, text: str, shapes: dict[str, float]) -> None:
    read = load_world(world(library, text))
    assert dict(read.shapes) == (shapes or {"own/bus/1": 1, "own/bus/2": 1, "own/car/1": 1})
    assert [z.shapes for z in read.zones] == ([] if shapes else [("own/bus/1", "own/bus/2")])
    first = next(name for name, _ in read.shapes)
    assert solid(first).height == pytest.approx(0.4)  # twice its own
    assert solid(first).landmarks["nose"] == pytest.approx((0.0, -0.8, 0.2))
    assert set(read.settings["meshes"]) == {name for name, _ in read.shapes if name != "cube"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("shapes: [own/buss]", "no shape 'own/buss', did you mean 'own/bus"),
        ("shapes: [own/bus/7]", "no shape 'own/bus/7'"),
        ("shapes: [own]\nmeshes: {own: {file: lib, front: x}}", "unknown field 'front'"),
        ("shapes: [own]\nmeshes: {own: {file: .}}", "not a shape library"),
        ("shapes: [cad/bus]\nmeshes: {cad: {file: lib}}", "no name for a library: 'cad'"),
    ],
)
def test_worlds_refuse_what_a_library_has_not(library: Path, text: str, words: str) -> None:
    file = world(library, text)
    if "meshes" in text:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=words):
        load_world(file)


def test_objects_have_the_category_of_their_shape(library: Path, tmp_path: Path) -> None:
    file = world(library, "shapes: [own/bus]\nobjects: [1, 2]\ndistinct: false")
    command = ["generate", str(file), "--scenes", "2", "--format", "none", "--out", str(tmp_path / "d")]
    made = CliRunner().invoke(app, command)
    assert made.exit_code == 0, made.output
    from sightline.store import open_dataset

    scenes = list(open_dataset(tmp_path / "d").scenes())
    assert {o.category for s in scenes for o in s.objects} == {"bus"}
    assert {(o.shape or "").split(":")[0] for s in scenes for o in s.objects} <= {"own/bus/1", "own/bus/2"}


@pytest.mark.realdata
def test_official_models_become_a_library(real_data: Path, tmp_path: Path) -> None:
    path = real_data / "pascal3d" / "cad" / "tvmonitor.mat"
    printed = CliRunner().invoke(app, ["import", str(path), "--out", str(tmp_path / "lib")])
    assert printed.output.startswith("4 models"), printed.output
    shapes = read_library(tmp_path / "lib")
    assert [(s.name, s.closed, len(s.landmarks)) for s in shapes.values()] == [
        ("tvmonitor/1", False, 4),
        ("tvmonitor/2", False, 8),
        ("tvmonitor/3", False, 8),
        ("tvmonitor/4", True, 4),
    ]


def test_shapes_have_no_options_of_datasets(library: Path, tmp_path: Path) -> None:
    command = ["import", str(tmp_path / "cad"), "--out", str(tmp_path / "o"), "--split", "train"]
    refused = CliRunner().invoke(app, command)
    assert "no import option" in str(refused.exception)
    assert not (tmp_path / "o").exists()


def test_a_saved_shape_is_sized(library: Path) -> None:
    file = shape_file(library, "bus/1")
    assert load_mesh(file, name="x/bus/1", height=1.0).height == pytest.approx(1.0)
    assert load_mesh(file, name="bus/1").height == pytest.approx(0.2)
    with pytest.raises(DataError, match="no such solid"):
        load_mesh(file, name="bus/2")


def test_an_import_never_leaves_half_a_library(library: Path, tmp_path: Path) -> None:
    car = replace(solid("cube"), name="car/1:medium")
    with pytest.raises(SightlineError, match="overwrite"):
        write_library(library, [(car, "x")], overwrite=False)
    with pytest.raises(DataError, match="stands twice"):
        write_library(library, [(car, "x"), (car, "y")], overwrite=True)
    assert len(read_library(library)) == 3
    write_library(library, [(car, "x")], overwrite=True)
    assert list(read_library(library)) == ["car/1"]
    with pytest.raises(DataError, match="no name"):
        write_library(tmp_path / "other", [(replace(car, name="../1:medium"), "x")], overwrite=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "else"}, "not a shape library of this version"),
        ({"version": 2}, "not a shape library of this version"),
        ({"shapes": [{"name": "../../x", "category": ".."}]}, "field is missing"),
        ({"shapes": 3}, "not a list"),
        ({"more": 1}, "unknown field"),
    ],
)
def test_a_damaged_index_is_told(library: Path, change: dict[str, object], words: str) -> None:
    index = json.loads((library / INDEX).read_text())
    (library / INDEX).write_text(json.dumps(index | change))
    with pytest.raises(DataError, match=words):
        read_library(library)


def test_a_name_cannot_lead_out_of_the_folder(library: Path) -> None:
    index = json.loads((library / INDEX).read_text())
    index["shapes"][0] |= {"name": "../x", "category": ".."}
    (library / INDEX).write_text(json.dumps(index))
    with pytest.raises(DataError, match="no name for a shape"):
        read_library(library)


def test_a_library_of_nothing_names_what_was_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="models: there is no model to write"):
        write_library(tmp_path / "library", [], overwrite=False, read=tmp_path / "models")
    assert not (tmp_path / "library").exists()
