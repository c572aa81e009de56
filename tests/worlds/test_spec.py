"""World files: what they may say, what they inherit, and how a bad one is told."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from sightline.errors import ConfigError, DataError
from sightline.worlds import arrange, load_world, presets, world_from

SMALL = "shapes: [cube, cube_container]\n"


def written(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


BAD = [
    # text, field, words of the message
    ("shapes: [cube, cub]", "shapes[1]", "did you mean 'cube'"),  # misspelt shape
    ("shapes: []", "shapes", "at least one"),  # no shape
    ("shapes: [cube, cube]", "shapes", "every shape once"),  # one twice
    ("shapes: {cube: 0}", "shapes.cube", "a number > 0"),  # weight of nothing
    ("shapes: {cbue: 1}", "shapes.cbue", "did you mean 'cube'"),  # misspelt with a weight
    ("sizes: [tiny]", "sizes[0]", "small, medium, largish, large"),  # unknown size
    ("colors: [grey]", "colors[0]", "did you mean 'gray'"),  # British
    ("materials: metal", "materials", "a list"),  # a text for a list
    ("color: [gray]", "color", "did you mean 'colors'"),  # unknown field
    ("objects: [6, 3]", "objects", "fewest"),  # reversed
    ("objects: [0, 3]", "objects[0]", "≥ 1"),  # empty scene
    ("objects: 5", "objects", "2 values"),  # not a pair
    ("objects: [3, 6.5]", "objects[1]", "whole number"),  # half an object
    ("objects: [true, 3]", "objects[0]", "whole number"),  # a truth for a number
    ("objects: [3, 63]", "objects", "too many objects for one picture"),  # more than a picture can tell apart
    ("shapes: [cube]\ncolors: [red]\nobjects: [3, 60]", "objects", "distinct objects"),  # more than there are
    ("shapes: [cube]\nsizes: [small]\ncolors: [red]\nmaterials: [metal]\nobjects: [1, 2]", "objects", "only one"),
    ("meshes: {'a b': {file: a.obj}}", "meshes.a b", "letters, digits"),  # no name for a shape
    ("placement: {contained: 1, independent: 0}", "placement", "independent > 0"),  # nothing to begin with
    ("placement: {inside: 1}", "placement.inside", "independent, contained, supported"),  # unknown way
    ("area: {x: [3, -3]}", "area.x", "low < high"),  # reversed
    ("gap: -0.1", "gap", "≥ 0"),  # negative
    ("gap: wide", "gap", "a number"),  # no number
    ("gap: .nan", "gap", "a number"),  # not a number
    ("in_view: half", "in_view", "whole, centre, any"),  # unknown choice
    ("table: [1, 1]", "table", "3 values"),  # two channels
    ("table: [1, 1, -1]", "table[2]", "≥ 0"),  # darker than black
    ("resolution: [480, 0]", "resolution[1]", "≥ 1"),  # no rows
    ("distinct: 1", "distinct", "true or false"),  # a number for a truth
    ("containment: none", "containment", "true or false"),  # a text for a truth
    ("cameras: {original: null}", "cameras", "original"),  # nobody to say where left is
    ("cameras: {top: {up: [0, 0, 1]}}", "cameras.top", "up"),  # looks along its up vector
    (
        "cameras: {low: {position: [5, 5, 0.3], focal_mm: 35, jitter: 0.5}}",
        "cameras.low.position",
        "under the table",
    ),
    ("cameras: {new: {focal_mm: 35}}", "cameras.new.position", "3 values"),  # position missing
    ("cameras: {top: {fov: 40}}", "cameras.top.fov", "focal_mm"),  # unknown field of a camera
    ("lights: {key: {size: 0}}", "lights.key.size", "> 0"),  # a point
    ("lights: {key: [1, 2]}", "lights.key", "a mapping"),  # list for a mapping
    ("shapes: []", "shapes", " in all), found []"),  # not a list of all
    ("shapes: [kube]", "shapes[0]", "did you mean 'cube'? (expected one of cube, cylinder, "),  # the first of many
    ("cooccurrence: {together: [[cube, mug]], factor: 2}", "cooccurrence.together[0][1]", "unknown shape"),
    ("cooccurrence: {together: [[cube, cube_container]]}", "cooccurrence.factor", "a number"),  # how strong?
    ("cooccurrence: {pairs: {cube: {cub: 2}}}", "cooccurrence.pairs.cube.cub", "did you mean 'cube'"),
    ("meshes: {mine: {file: a.obj, scale: 1, height: 1}}", "meshes.mine", "exclude"),  # two sizes
    ("meshes: {mine: {path: a.obj}}", "meshes.mine.path", "file"),  # unknown field
    ("splits: [a, b]", "splits", "a mapping"),  # list for a mapping
    ("extends: [a]", "extends", "a text"),  # list for a name
]


@pytest.mark.parametrize(("text", "field", "words"), BAD, ids=[b[1] + " " + b[2][:12] for b in BAD])
def test_a_bad_field_is_named(tmp_path: Path, text: str, field: str, words: str) -> None:
    own = "" if text.startswith("shapes") else SMALL
    path = written(tmp_path, own + text)
    with pytest.raises(DataError) as caught:
        load_world(path)
    assert caught.value.field == field
    assert str(caught.value.file) == path
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML"),  # broken
        ("- cube", "not a world file"),  # a list
        ("", "not a world file"),  # empty
        ("colors: [gray]", "field is missing"),  # no shapes anywhere
        ("!!python/object/apply:os.system [true]", "not YAML"),  # code
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DataError, match=words) as caught:
        load_world(path)
    assert str(caught.value.file) == path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("geospa/trian", "did you mean 'train'"),  # misspelt split
        ("geopsa/train", "did you mean 'geospa/train'"),  # misspelt preset
        ("base", "unknown world"),  # no world, only a beginning
        ("no/such/file.yaml", "no world file"),  # missing file
        ("../../etc/passwd", "unknown world"),  # not a name
    ],
)
def test_unknown_names(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_world(name)


def test_what_a_file_extends_is_named_with_it(tmp_path: Path) -> None:
    path = written(tmp_path, "extends: geopsa/train\n")
    with pytest.raises(
        DataError, match="extends: unknown world 'geopsa/train', did you mean 'geospa/train'"
    ) as caught:
        load_world(path)
    assert str(caught.value.file) == str(path)


def test_a_file_says_only_what_differs(tmp_path: Path) -> None:
    world = load_world(
        written(tmp_path, "extends: geospa/val_size\ncolors: [red]\ncameras: {top: {focal_mm: 50}}\n")
    )
    parent = load_world("geospa/val_size")
    assert (world.name, world.split, world.colors) == ("mine", "mine", ("red",))
    assert (world.shapes, world.sizes) == (parent.shapes, parent.sizes)
    assert world.stream == "mine"  # never the parent's: it would share its cameras and lights
    top = {c.name: c for c in world.cameras}["top"]
    assert (top.focal_mm, top.up, top.jitter) == (50.0, (0.0, 1.0, 0.0), 0.5)


def test_splits_are_laid_over_the_file_and_the_first_is_the_default(tmp_path: Path) -> None:
    path = written(
        tmp_path, SMALL + "splits: {train: {sizes: [small]}, test: {sizes: [large], cameras: {top: null}}}\n"
    )
    assert load_world(path) == load_world(f"{path}/train")
    test = load_world(f"{path}/test")
    assert (test.name, test.split, test.sizes) == ("mine/test", "test", ("large",))
    assert "top" not in [camera.name for camera in test.cameras]
    with pytest.raises(ConfigError, match="no split 'tset', did you mean 'test'"):
        load_world(f"{path}/tset")


def test_a_fault_is_told_of_the_file_it_stands_in(tmp_path: Path) -> None:
    below = written(tmp_path, SMALL + "cameras: {side_1: {focal_mm: -1}}\n", "below.yaml")
    above = written(tmp_path, "extends: below.yaml\nsizes: [small]\n", "above.yaml")
    with pytest.raises(DataError) as caught:
        load_world(above)
    assert str(caught.value.file) == below


def test_worlds_that_extend_each_other(tmp_path: Path) -> None:
    written(tmp_path, "extends: b.yaml\n", "a.yaml")
    path = written(tmp_path, "extends: a.yaml\n", "b.yaml")
    with pytest.raises(DataError, match="in a circle"):
        load_world(path)


def test_containment_need_not_be_said(tmp_path: Path) -> None:
    """Datasets made before there was the field have settings without it."""
    assert load_world(written(tmp_path, SMALL)).containment
    assert not load_world(written(tmp_path, SMALL + "containment: false\n")).containment
    assert all("containment" not in load_world(name).settings for name in presets() if "plain" not in name)


@pytest.mark.parametrize("name", presets())
def test_a_world_survives_json_and_pickle(name: str) -> None:
    world = load_world(name)
    settings = json.loads(json.dumps(dict(world.settings)))
    assert world_from(world.name, settings) == world
    assert pickle.loads(pickle.dumps(world)) == world


def test_own_meshes_become_shapes(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh", reason="mesh files need trimesh")
    trimesh.creation.box((0.4, 0.3, 0.2)).export(tmp_path / "brick.stl")
    meshes = "meshes: {brick_of_mine: {file: brick.stl, height: 0.5}}\n"
    world = load_world(written(tmp_path, meshes + "shapes: [cube, brick_of_mine]\n"))
    assert "brick_of_mine:small" in world.solids()
    shapes = {o.shape for i in range(12) for o in arrange(world, 0, i).objects}
    assert "brick_of_mine:medium" in shapes


@pytest.mark.parametrize(
    ("name", "faces", "words"),
    [
        ("flat_thing", 1, r"thing\.off: the mesh is flat"),  # one triangle
        ("lost_thing", None, r"thing\.off: no such file"),
        ("cube", 12, r"shape 'cube' is built in"),  # a name that is taken
    ],
)
def test_a_mesh_that_cannot_be_is_told_of_the_world_file(
    tmp_path: Path, name: str, faces: int | None, words: str
) -> None:
    trimesh = pytest.importorskip("trimesh", reason="mesh files need trimesh")
    if faces is not None:
        box = trimesh.creation.box((0.4, 0.3, 0.2))
        trimesh.Trimesh(box.vertices, box.faces[:faces], process=False).export(tmp_path / "thing.off")
    path = written(tmp_path, f"meshes: {{{name}: {{file: thing.off}}}}\nshapes: [cube]\n")
    with pytest.raises(DataError, match=words) as caught:
        load_world(path)
    assert str(caught.value.file) == path
    assert caught.value.field == (f"meshes.{name}" if name == "cube" else f"meshes.{name}.file")
