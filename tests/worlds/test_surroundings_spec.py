"""Ground, walls and sky of world files: read, refused, drawn scene by scene."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sightline.errors import DataError
from sightline.worlds import World, arrange, load_world, world_from
from sightline.worlds.surroundings import PLAIN

STREET = """
shapes: [cube, mug]
objects: [3, 3]
ground:
  - {category: grass, pattern: {kind: grass, color: [0.1, 0.3, 0.1], second: 0.2, scale: 0.1}}
  - {category: road, shape: strip, position: [[-1, 1], 2], turn: [0, 90], width: [2, 4],
     pattern: {kind: asphalt, color: [0.1, 0.2], contrast: [0, 1]}}
  - {category: grass, shape: disc, width: 2}
walls:
  - {category: brick, azimuth: 90, distance: [6, 8], height: 3, pattern: {kind: tiles, joint: 0.03}}
sky: {kind: gradient, zenith: [0.2, 0.4, 0.9], horizon: 0.8}
"""


def _world(folder: Path, text: str) -> World:
    file = folder / "own.yaml"
    file.write_text(text)
    return load_world(file)


def test_regions_walls_and_sky_are_drawn_within_their_ranges(tmp_path: Path) -> None:
    world = _world(tmp_path, STREET)
    drawn = [arrange(world, 3, index).surroundings for index in range(40)]
    roads = [around.ground[1] for around in drawn]
    for values, low, high in (
        ([road.position[0] for road in roads], -1.0, 1.0),
        ([2 * road.extent[0] for road in roads], 2.0, 4.0),
        ([math.degrees(road.turn) for road in roads], 0.0, 90.0),
        ([road.pattern.color[1] for road in roads], 0.1, 0.2),
        ([road.pattern.contrast for road in roads], 0.0, 1.0),
        ([around.walls[0].distance for around in drawn], 6.0, 8.0),
    ):
        assert low <= min(values) < low + 0.2 * (high - low)
        assert high - 0.2 * (high - low) < max(values) <= high
    assert {road.position[1] for road in roads} == {2.0}
    assert all(len(set(road.pattern.color)) == 1 for road in roads)  # a range of greys stays grey
    assert len({road.pattern.seed for road in roads}) == 40
    assert drawn[0].classes == ("sky", "grass", "road", "brick")  # no table: the first region is everything
    assert drawn[0].sky.zenith == (0.2, 0.4, 0.9)
    assert drawn == [arrange(world, 3, index).surroundings for index in range(40)]
    assert world_from(world.name, world.settings) == world


def test_ground_and_sky_move_no_object_camera_or_light(tmp_path: Path) -> None:
    plain = "\n".join(STREET.splitlines()[:3])
    with_ground, without = (arrange(_world(tmp_path, text), 5, 7) for text in (STREET, plain))
    assert without.surroundings == PLAIN
    assert with_ground.objects == without.objects
    assert (with_ground.shots, with_ground.lights) == (without.shots, without.lights)


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        ("ground: {category: road}", "ground", "not a list"),  # a mapping
        ("ground: [{shape: strip}]", "ground[0].category", "field is missing"),
        ("ground: [{category: sky}]", "ground[0].category", "not the name of a class"),  # what the sky is called
        ("ground: [{category: road, shape: stripe}]", "ground[0].shape", "did you mean 'strip'"),
        ("ground: [{category: road, width: 0}]", "ground[0].width", "number out of range"),
        ("ground: [{category: road, turn: [90, 0]}]", "ground[0].turn", "range is empty"),
        ("ground: [{category: road, position: [1]}]", "ground[0].position", "not a list of 2"),
        ("ground: [{category: road, pattern: {kind: tile}}]", "ground[0].pattern.kind", "did you mean 'tiles'"),
        ("ground: [{category: road, pattern: {color: 1.5}}]", "ground[0].pattern.color", "not a colour"),
        ("ground: [{category: road, pattern: {color: [0, 0, 0, 0]}}]", "ground[0].pattern.color", "not a colour"),
        ("walls: [{category: wall, azimuth: 0}]", "walls[0].distance", "field is missing"),
        ("walls: [{category: wall, azimuth: 0, distance: -1}]", "walls[0].distance", "number out of range"),
        ("sky: {kind: gradient, zenith: 1}", "sky.horizon", "field is missing"),
        ("sky: {kind: blue}", "sky.kind", "unknown choice 'blue'"),
        ("sky: {kind: backdrop, file: nowhere}", "sky.file", "no picture of the backdrop"),
        ("sky: {kind: environment, file: photo.jpg}", "sky.file", "no picture of the environment"),
    ],
)
def test_what_cannot_be_is_refused_with_file_and_field(tmp_path: Path, text: str, field: str, problem: str) -> None:
    with pytest.raises(DataError) as refused:
        _world(tmp_path, f"shapes: [cube]\n{text}\n")
    assert f"own.yaml, {field}: " in str(refused.value)
    assert problem in str(refused.value)


def test_every_scene_takes_one_photo_of_the_folder_beside_the_world(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for name in ("a.jpg", "b.png", "notes.txt"):
        (tmp_path / "photos" / name).write_bytes(b"")
    world = _world(tmp_path, "shapes: [cube]\nobjects: [1, 1]\nsky: {kind: backdrop, file: photos}\n")
    taken = {Path(arrange(world, 0, index).surroundings.sky.file).name for index in range(12)}
    assert taken == {"a.jpg", "b.png"}
