"""Kinds of scenes, zones of the ground, looks of single shapes, and scenes with many objects."""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from reference import placement_oracle as oracle
from sightline.errors import DataError
from sightline.generation import generate
from sightline.geometry.cameras import centre
from sightline.store import check_tables
from sightline.worlds import Layout, World, arrange, load_world, world_from
from sightline.worlds.labels import relations

STREET = """
shapes: {cube: 1, rectangle: 3, mug: 1, can: 2}
sizes: [small, medium]
colors: [gray, blue]
materials: [rubber]
objects: [4, 7]
attributes:
  rectangle: {sizes: [medium], colors: [red, yellow, wine], materials: [metal, plastic]}
  can: {materials: [metal]}
zones:
  road: {x: [-2.5, 2.5], y: [-1, 1], shapes: [rectangle], turn: {values: [0, [170, 190]], weights: [3, 1]}}
  left: {x: [-2.5, 2.5], y: [1.5, 2.5], shapes: [mug, can]}
  right: {x: [-2.5, 0], y: [-2.5, -1.5], shapes: [can]}
categories:
  traffic: {weight: 3, shapes: [rectangle, can]}
  market: {shapes: {mug: 2, cube: 1, can: 1}}
"""


def written(folder: Path, text: str) -> World:
    file = folder / "street.yaml"
    file.write_text(text, encoding="utf-8")
    return load_world(file)


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> list[Layout]:
    world = written(tmp_path_factory.mktemp("street"), STREET)
    return [arrange(world, 0, index) for index in range(200)]


def shape_of(name: str) -> str:
    return name.partition(":")[0]


def test_a_scene_holds_the_shapes_of_its_category(layouts: list[Layout]) -> None:
    held: dict[str, Counter[str]] = {"traffic": Counter(), "market": Counter()}
    for layout in layouts:
        held[layout.category].update(shape_of(o.shape) for o in layout.objects)
    assert set(held["traffic"]) == {"rectangle", "can"}
    assert set(held["market"]) == {"mug", "cube", "can"}
    share = sum(layout.category == "traffic" for layout in layouts) / len(layouts)
    assert abs(share - 0.75) < 4 * math.sqrt(0.75 * 0.25 / len(layouts))
    assert held["market"]["mug"] > 1.4 * held["market"]["can"]  # twice as likely each time


def test_shapes_stand_in_their_zones_and_nowhere_else(layouts: list[Layout]) -> None:
    ground = [o for layout in layouts for o in layout.objects if o.parent < 0]
    by = {shape: [o for o in ground if shape_of(o.shape) == shape] for shape in ("rectangle", "mug", "can", "cube")}
    assert all(abs(o.position[1]) <= 1 for o in by["rectangle"])
    assert all(1.5 <= o.position[1] <= 2.5 for o in by["mug"])
    right = [o for o in by["can"] if o.position[1] <= -1.5]
    assert all(o.position[1] >= 1.5 or o.position[0] <= 0 for o in by["can"])
    share = len(right) / len(by["can"])  # by area a third
    assert abs(share - 1 / 3) < 5 * math.sqrt(2 / 9 / len(by["can"]))
    assert {o.position[1] < 1.5 for o in by["cube"]} == {True, False}  # in no zone: anywhere


def test_zones_turn_what_stands_in_them(layouts: list[Layout]) -> None:
    turns = [
        math.degrees(o.yaw) for layout in layouts for o in layout.objects if o.parent < 0 and "rectangle" in o.shape
    ]
    straight = [turn for turn in turns if turn == 0]
    assert all(170 <= turn <= 190 for turn in turns if turn)
    assert abs(len(straight) / len(turns) - 0.75) < 4 * math.sqrt(0.75 * 0.25 / len(turns))


def test_shapes_have_their_own_looks(layouts: list[Layout], tmp_path: Path) -> None:
    looks = {(shape_of(o.shape), o.shape, o.color, o.material) for layout in layouts for o in layout.objects}
    assert {x[1:] for x in looks if x[0] == "rectangle"} == {
        ("rectangle:medium", color, material)
        for color in ("red", "yellow", "wine")
        for material in ("metal", "plastic")
    }
    assert {x[3] for x in looks if x[0] == "can"} == {"metal"}
    assert {x[2] for x in looks if x[0] == "can"} == {"gray", "blue"}
    identities = written(tmp_path, STREET).identities()
    assert {x[1:] for x in looks} == set(identities)
    assert len(identities) == 2 * 2 + 6 + 2 * 2 + 2 * 2


def test_the_category_is_recorded(tmp_path: Path) -> None:
    written(tmp_path, STREET)
    data = generate(tmp_path / "street.yaml", tmp_path / "d", scenes=6, image_format=None, size=(60, 40))
    layouts = [arrange(load_world(tmp_path / "street.yaml"), 0, i) for i in range(6)]
    assert [scene.category for scene in data] == [layout.category for layout in layouts]
    assert check_tables(data.tables()) == []
    assert next(iter(data)).without("0").category == layouts[0].category
    plain = generate("geospa/train", tmp_path / "p", scenes=1, image_format=None, size=(60, 40))
    assert next(iter(plain)).category == ""
    assert plain.tables().views["scene_category"].null_count() == 1


@pytest.mark.parametrize(("world", "objects"), [("geospa/train", 30), ("kitchen", 25)])
def test_thirty_objects_find_their_places(world: str, objects: int, tmp_path: Path) -> None:
    wide = "area: {x: [-5, 5], y: [-5, 5]}\ncameras: {original: {position: [14, -13, 12]}}\n"
    many = written(tmp_path, f"extends: {world}\nobjects: [5, {objects}]\n{wide if world == 'kitchen' else ''}")
    arrange(many, 3, 0)
    before = time.process_time()
    layouts = [arrange(many, 3, index) for index in range(1, 21)]
    assert time.process_time() - before < 20 * 0.1  # 5 ms each where it was measured
    assert max(len(layout.objects) for layout in layouts) > objects - 5
    fullest = max(layouts, key=lambda layout: len(layout.objects))
    assert oracle.faults(fullest) == []
    assert relations(fullest)


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("attributes: {mug: {colors: [red]}}", "attributes.mug", "unknown shape"),
        ("attributes: {cube: {color: [red]}}", "attributes.cube.color", "did you mean 'colors'"),
        ("attributes: {cube: {sizes: []}}", "attributes.cube.sizes", "at least one"),
        ("zones: {a: {x: [0, 1], y: [0, 1], shapes: [mug]}}", "zones.a.shapes[0]", "unknown shape"),
        ("zones: {a: {x: [1, 0], y: [0, 1], shapes: [cube]}}", "zones.a.x", "low < high"),
        ("zones: {a: {x: [0, 1], shapes: [cube]}}", "zones.a.y", "missing"),
        ("zones: {a: {x: [0, 1], y: [0, 1], shapes: [cube], turn: up}}", "zones.a.turn", "neither a number"),
        ("zones: {a: 3}", "zones.a", "not a mapping"),
        ("categories: {a: {shapes: [mug]}}", "categories.a.shapes[0]", "unknown shape"),
        ("categories: {a: {shapes: [cube], weight: 0}}", "categories.a.weight", "> 0"),
        ("categories: {a: {weight: 1}}", "categories.a.shapes", "a list"),
        ("categories: {a: {shapes: [cube], odds: 1}}", "categories.a.odds", "unknown field"),
        ("categories: {a: {shapes: [cube]}}\nkinds: [2, 3]", "kinds", "only 1 different"),
        ("categories: {a: {shapes: [cube], raised: -1}}", "categories.a.raised", "≥ 0"),
        ("categories: {a: {shapes: [cube], cameras: {bird: {jitter: 0}}}}", "categories.a.cameras.bird", "unknown"),
        ("categories: {a: {shapes: [cube], cameras: {top: null}}}", "categories.a.cameras.top", "not a camera"),
        (
            "categories: {a: {shapes: [cube], cameras: {top: {focal_mm: 0}}}}",
            "categories.a.cameras.top.focal_mm",
            "> 0",
        ),
        (
            "categories: {a: {shapes: [cube], cameras: {top: {position: [0, 0, 0.1]}}}}",
            "categories.a.cameras.top.position",
            "under the table",
        ),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, field: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        written(tmp_path, f"shapes: [cube, can]\n{text}\n")
    assert caught.value.field == field


HEIGHTS = """
shapes: [cube, mug]
objects: [1, 2]
cameras:
  original: {azimuth: [0, 360], elevation: [20, 40], distance: 9, field_of_view: 40, target: [0, 0, 0.3]}
categories:
  ground: {shapes: [mug]}
  sky:
    shapes: [cube]
    raised: 8
    cameras:
      original: {elevation: [-40, -20], target: [0, 0, 8.3]}
      side_1: {azimuth: 0, elevation: 0, distance: 5, field_of_view: 50, target: [0, 0, 8]}
"""


def test_a_kind_of_scene_has_cameras_and_a_height_of_its_own(tmp_path: Path) -> None:
    world = written(tmp_path, HEIGHTS)
    ground, sky = (world.of_category(kind) for kind in world.categories)
    assert (ground.cameras, ground.raised) == (world.cameras, 0.0)
    assert [camera.name for camera in sky.cameras] == [camera.name for camera in world.cameras]
    assert sky.cameras[2:] == world.cameras[2:]  # what a kind does not name is the world's
    assert world_from(world.name, world.settings) == world
    seen = set()
    for layout in (arrange(world, 0, index) for index in range(20)):
        eye = centre(np.reshape(layout.shots[0].camera.world_to_camera, (3, 4)))
        high, least = (8.3, -40.0) if layout.category == "sky" else (0.3, 20.0)
        assert least <= math.degrees(math.asin((eye[2] - high) / 9.0)) <= least + 20.0
        assert {o.position[2] for o in layout.objects if o.parent < 0} == {8.0 if layout.category == "sky" else 0.0}
        seen.add(layout.category)
    assert seen == {"ground", "sky"}
