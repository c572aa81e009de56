"""Drawn cameras: distributed as declared, above the ground, and with in their pictures what the world demands."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest, uniform

from sightline.errors import DataError
from sightline.geometry.cameras import orbit, project
from sightline.render.canonical import canonical_views
from sightline.worlds import Layout, World, arrange, load_world
from sightline.worlds.cameras import distribution
from sightline.worlds.shapes import solid

DRAWN = """
shapes: [cube, mug]
sizes: [small]
objects: [1, 1]
area: {x: [-0.5, 0.5], y: [-0.5, 0.5]}
raised: 4
cameras:
  original:
    azimuth: [-180, 180]
    elevation: {values: [[-40, 0], 30, [50, 80]], weights: [2, 1, 1]}
    distance: [4, 6]
    field_of_view: [40, 60]
    roll: [-20, 20]
    target: [0, 0, 4.5]
    offset: [[-0.1, 0.1], [-0.05, 0.2]]
"""


def written(folder: Path, text: str) -> World:
    file = folder / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return load_world(file)


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> list[Layout]:
    world = written(tmp_path_factory.mktemp("drawn"), DRAWN)
    return [arrange(world, 5, index) for index in range(600)]


def held(layout: Layout, shot: int = 0) -> dict[str, float]:
    """Recover from K and [R | t] how the camera is held, its target being (0, 0, 4.5)."""
    camera = layout.shots[shot].camera
    pose, k = np.reshape(camera.world_to_camera, (3, 4)), np.reshape(camera.k, (3, 3))
    eye = -np.linalg.inv(pose[:, :3]) @ pose[:, 3]
    x, y, z = eye - (0.0, 0.0, 4.5)
    distance = math.sqrt(x * x + y * y + z * z)
    np.testing.assert_allclose(pose @ (0.0, 0.0, 4.5, 1.0), (0.0, 0.0, distance), atol=1e-9)  # looks at it
    np.testing.assert_allclose(pose[:, :3] @ pose[:, :3].T, np.eye(3), atol=1e-9)
    assert np.linalg.det(pose[:, :3]) == pytest.approx(1.0)
    right, down = pose[0, 2], pose[1, 2]  # how far each rises
    return {
        "azimuth": math.degrees(math.atan2(x, -y)),
        "elevation": math.degrees(math.asin(z / distance)),
        "distance": distance,
        "field_of_view": 2 * math.degrees(math.atan(240 / k[0, 0])),
        "roll": math.degrees(math.atan2(-right, -down)),
        "right": k[0, 2] / 480 - 0.5,
        "down": k[1, 2] / 320 - 0.5,
        "height": eye[2],
    }


@pytest.mark.parametrize(
    ("what", "low", "high"),
    [
        ("azimuth", -180, 180),
        ("distance", 4, 6),
        ("field_of_view", 40, 60),
        ("roll", -20, 20),
        ("right", -0.1, 0.1),
        ("down", -0.05, 0.2),
    ],
)
def test_cameras_are_distributed_as_declared(what: str, low: float, high: float, layouts: list[Layout]) -> None:
    drawn = [held(layout)[what] for layout in layouts]
    assert kstest(drawn, uniform(low, high - low).cdf).pvalue > 0.001


def test_ranges_and_values_come_by_their_weights(layouts: list[Layout]) -> None:
    drawn = np.array([held(layout)["elevation"] for layout in layouts])
    below, at, above = drawn[drawn < 0], drawn[abs(drawn - 30) < 1e-6], drawn[drawn > 40]
    assert len(below) + len(at) + len(above) == len(drawn)
    for part, share in ((below, 0.5), (at, 0.25), (above, 0.25)):
        assert abs(len(part) / len(drawn) - share) < 4 * math.sqrt(share * (1 - share) / len(drawn))
    assert kstest(below, uniform(-40, 40).cdf).pvalue > 0.001
    assert kstest(above, uniform(50, 30).cdf).pvalue > 0.001


def test_what_has_no_weight_is_never_drawn() -> None:
    drawn = distribution({"values": [[-50, -40], 1, 2, [70, 80]], "weights": [0, 1, 1, 0]})
    assert drawn.ends == (1.0, 2.0)
    assert {drawn.at(u, 0.5) for u in (0.0, 0.25, 0.5, 0.75, 1.0 - 2.0**-53)} == {1.0, 2.0}


def test_drawn_numbers_do_not_hang_together(layouts: list[Layout]) -> None:
    table = np.array([list(held(layout).values())[:7] for layout in layouts])
    loose = np.corrcoef(table.T) - np.eye(7)
    assert abs(loose).max() < 4 / math.sqrt(len(layouts))


def test_no_camera_stands_under_the_ground_though_some_look_up(layouts: list[Layout]) -> None:
    told = [held(layout) for layout in layouts]
    assert min(t["height"] for t in told) > 0
    assert min(t["elevation"] for t in told) < -35
    assert {o.position[2] for layout in layouts for o in layout.objects} == {4.0}


CROWD = """
shapes: [cube, mug, can]
sizes: [small]
objects: [3, 5]
cameras:
  original: {azimuth: [0, 360], elevation: [20, 60], distance: [9, 12], field_of_view: 40}
  near: {azimuth: [0, 360], elevation: [5, 30], distance: [4, 8], field_of_view: [60, 70], roll: [-30, 30]}
  far: {azimuth: 45, elevation: 90, distance: 20, field_of_view: 20, in_view: centre}
  side_1: null
  side_2: null
"""


def test_every_drawn_camera_sees_what_in_view_demands(tmp_path: Path) -> None:
    world = written(tmp_path, CROWD)
    for layout in (arrange(world, 0, index) for index in range(60)):
        for shot, thing in product(layout.shots[:3], layout.objects):
            k, pose = np.reshape(shot.camera.k, (3, 3)), np.reshape(shot.camera.world_to_camera, (3, 4))
            v = solid(thing.shape).vertices.astype(float)
            low, high = v.min(axis=0), v.max(axis=0)
            points = np.array(list(product(*zip(low, high, strict=True))))
            if shot.name == "far":
                points = np.array([(0, 0, high[2] / 2)])
            world_points = np.column_stack((points, np.ones(len(points)))) @ thing.pose().T
            seen = project(k, pose, world_points[:, :3])
            assert seen[:, 2].min() > 0
            assert (seen[:, :2] >= -1e-6).all()
            assert (seen[:, :2] <= np.array((480, 320)) + 1e-6).all()


def test_no_object_is_put_where_a_drawn_camera_stands(tmp_path: Path) -> None:
    """With a camera among cubes that hold each other; a fixed one there ends with an error."""
    world = written(
        tmp_path,
        "shapes: [cube]\nsizes: [medium]\nobjects: [4, 4]\narea: {x: [-1.2, 1.2], y: [-1.2, 1.2]}\nin_view: any\n"
        "cameras: {low: {azimuth: [0, 360], elevation: 0, distance: 0.5, field_of_view: 60, target: [0, 0, 1]}}\n",
    )
    for index in range(40):
        arrange(world, 0, index)


def test_a_drawn_camera_moves_no_fixed_one_and_no_light(tmp_path: Path) -> None:
    plain = written(tmp_path, "shapes: [cube]\nstream: x\n")
    more = written(
        tmp_path,
        "shapes: [cube]\nstream: x\n"
        "cameras: {new: {azimuth: [0, 9], elevation: 20, distance: 15, field_of_view: 60}}\n",
    )
    one, two = arrange(plain, 0, 0), arrange(more, 0, 0)
    assert (one.shots, one.lights) == (two.shots[:-1], two.lights)
    assert two.shots[-1].name == "new"


def test_left_is_that_of_the_camera_held_level(tmp_path: Path) -> None:
    rolled = "azimuth: 30, elevation: 20, distance: 12, field_of_view: 40, roll: 70"
    layout = arrange(written(tmp_path, f"shapes: [cube]\ncameras: {{original: {{{rolled}}}}}\n"), 0, 0)
    a = math.radians(30)
    assert layout.left == pytest.approx((-math.cos(a), -math.sin(a)))
    assert layout.behind == pytest.approx((-math.sin(a), math.cos(a)))


@pytest.mark.parametrize("elevation", [-90, -30, 0, 45, 90])
def test_orbit_is_pascals_camera(elevation: float) -> None:
    """C = (d cos e sin a, −d cos e cos a, d sin e), turned by Rz(−a) and Rx(−(π/2 − e)), theta in the picture."""
    azimuth, distance, theta = 250.0, 3.0, 25.0
    a, e, t = map(math.radians, (azimuth, elevation, theta))
    eye = distance * np.array((math.cos(e) * math.sin(a), -math.cos(e) * math.cos(a), math.sin(e)))
    ca, sa, tilt = math.cos(-a), math.sin(-a), -(math.pi / 2 - e)
    rz = np.array([(ca, -sa, 0), (sa, ca, 0), (0, 0, 1)])
    rx = np.array([(1, 0, 0), (0, math.cos(tilt), -math.sin(tilt)), (0, math.sin(tilt), math.cos(tilt))])
    for point in np.random.default_rng(0).uniform(-0.5, 0.5, (5, 3)):
        x, y, z = rx @ rz @ (point - eye)
        u, v = x / -z, y / -z
        expected = (math.cos(t) * u - math.sin(t) * v, -(math.sin(t) * u + math.cos(t) * v))
        p = orbit(azimuth, elevation, distance, roll=theta) @ (*point, 1.0)
        assert (p[0] / p[2], p[1] / p[2]) == pytest.approx(expected, abs=1e-9)


def test_canonical_views_have_a_drawn_camera_too(tmp_path: Path) -> None:
    world = written(tmp_path, DRAWN)
    views = canonical_views([("cube:small", "red", "rubber")], count=2, world=world)
    assert views.shape == (1, 2, 32, 32, 3)
    assert (views[0, 0] != views[0, 1]).any()


WHERE = "azimuth: 0, elevation: 10, distance: 5, field_of_view: 40"


@pytest.mark.parametrize(
    ("said", "field", "words"),
    [
        ("azimuth: 0, elevation: -10, distance: 5, field_of_view: 40", "", "under the ground, 0.868 m"),
        ("azimuth: 0, elevation: [0, 10], distance: 5, field_of_view: 40", "", "under the ground"),
        (f"{WHERE}, target: [0, 0, [-2, 3]]", "", "under the ground"),
        ("azimuth: 0, elevation: 95, distance: 5, field_of_view: 40", ".elevation", "-90 to 90"),
        (
            "azimuth: north, elevation: 5, distance: 5, field_of_view: 40",
            ".azimuth",
            "neither a number nor a range",
        ),
        ("azimuth: [0, .inf], elevation: 5, distance: 5, field_of_view: 40", ".azimuth", "neither a number"),
        (f"azimuth: {10**12}, elevation: 5, distance: 5, field_of_view: 40", ".azimuth", "neither a number"),
        ("azimuth: [9, 1], elevation: 5, distance: 5, field_of_view: 40", ".azimuth", "not a range"),
        ("azimuth: {values: []}, elevation: 5, distance: 5, field_of_view: 40", ".azimuth", "no list of values"),
        (
            "azimuth: {values: [1], weights: [0]}, elevation: 5, distance: 5, field_of_view: 40",
            ".azimuth",
            "weight",
        ),
        (
            "azimuth: {values: [1, 2], weights: [1]}, elevation: 5, distance: 5, field_of_view: 40",
            ".azimuth",
            "each",
        ),
        (
            "azimuth: {values: [1, 2], weights: [3, -1]}, elevation: 5, distance: 5, field_of_view: 40",
            ".azimuth",
            "0 or more",
        ),
        ("azimuth: 0, elevation: 5, distance: 0, field_of_view: 40", ".distance", "0.001"),
        ("azimuth: 0, elevation: 5, distance: 5", ".field_of_view", "missing"),
        (f"{WHERE}, up: [0, 0, 1]", ".up", "unknown field"),
        (f"{WHERE}, in_view: half", ".in_view", "whole, centre, any"),
        (f"{WHERE}, position: [5, 5, 5]", ".position", "unknown field"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, said: str, field: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        written(tmp_path, f"shapes: [cube]\ncameras: {{new: {{{said}}}}}\n")
    assert caught.value.field == f"cameras.new{field}"
