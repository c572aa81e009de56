"""The camera of PASCAL3D+: exact both ways, the same as the official formula and real rotations."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.viewpoint_oracle import official_bin, official_pixel, official_rotation
from sightline.errors import DataError
from sightline.geometry import Viewpoint, azimuth_bins, geodesic, project, rotations
from sightline.geometry.cameras import intrinsics, look_at, orbit
from sightline.geometry.cameras import project as camera_pixels
from sightline.geometry.viewpoints import angles, seen_from, unproject, wrapped

ANGLES = st.tuples(st.floats(0, 359.99), st.floats(-89.9, 89.9), st.floats(-179.9, 180))
POINTS = np.random.default_rng(0).uniform(-0.4, 0.4, (12, 3))


def full(a: float, e: float, t: float, distance: float = 4.0) -> Viewpoint:
    return Viewpoint(a, e, distance, t, (251.5, 160.25))


@given(ANGLES, st.floats(1, 40), st.floats(0.5, 2), st.floats(300, 4000))
def test_points_are_seen_where_the_official_formula_has_them(
    turn: tuple[float, float, float], distance: float, focal: float, viewport: float
) -> None:
    a, e, t = turn
    seen = project(POINTS, Viewpoint(a, e, distance, t, (251.5, 160.25), focal, viewport))
    expected = [official_pixel(p, a, e, distance, t, (251.5, 160.25), focal, viewport) for p in POINTS.tolist()]
    np.testing.assert_allclose(seen, expected, rtol=1e-11, atol=1e-8)


@given(ANGLES)
def test_angles_and_camera_come_back(turn: tuple[float, float, float]) -> None:
    np.testing.assert_allclose(angles(rotations(*turn)), turn, atol=1e-7)
    eye = full(*turn)
    again = Viewpoint.of_camera(*eye.camera())
    assert (again.azimuth, again.elevation, again.theta) == pytest.approx(turn, abs=1e-7)
    assert (again.distance, again.principal, again.viewport) == (4.0, eye.principal, 3000.0)


@given(ANGLES)
def test_the_drawn_cameras_of_worlds_are_the_same_camera(turn: tuple[float, float, float]) -> None:
    a, e, t = turn
    _, pose = full(*turn).camera()
    np.testing.assert_allclose(orbit(a, e, 4.0, roll=t), pose, atol=1e-11)


@given(ANGLES)
def test_pixels_and_depth_give_the_points_back(turn: tuple[float, float, float]) -> None:
    eye = full(*turn)
    _, pose = eye.camera()
    depth = POINTS @ pose[2, :3] + pose[2, 3]
    np.testing.assert_allclose(unproject(project(POINTS, eye), depth, eye), POINTS, atol=1e-12)


@pytest.mark.parametrize("elevation", [90.0, -90.0])
def test_from_straight_above_theta_is_part_of_the_azimuth(elevation: float) -> None:
    turn = rotations(70.0, elevation, 25.0)
    a, e, t = angles(turn).tolist()
    assert (e, t) == (elevation, 0.0)
    assert float(geodesic(rotations(a, e, t), turn)) < 1e-6


def test_a_point_behind_the_camera_is_nowhere() -> None:
    assert np.isnan(project([(0.0, -2.0, 0.0)], Viewpoint(0, 0, 1, 0, (0, 0)))).all()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: project(POINTS, Viewpoint(1, 2, 0, 0, (3, 4))), "no continuous pose"),  # distance 0
        (lambda: project(POINTS, Viewpoint(1, 2, 3, 0)), "no continuous pose"),  # no principal point
        (lambda: Viewpoint.of_camera(np.diag([2.0, 1.0, 1.0]), np.eye(3, 4)), "square pixels"),  # no such K
        (
            lambda: Viewpoint.of_camera(np.eye(3), look_at((0, -3, 0), (1, 0, 0))),
            "looks at the object's middle",
        ),  # it looks past the object
        (lambda: seen_from(np.eye(3), look_at((0, -3, 0), (0, -4, 0))), "in front of the camera"),  # behind it
    ],
)
def test_what_has_no_pose_is_told(act: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        act()


@given(st.floats(-720, 1080), st.sampled_from([1, 4, 8, 16, 24, 36]))
def test_azimuths_fall_into_the_section_whose_middle_is_closest(azimuth: float, views: int) -> None:
    edge = (azimuth + 180 / views) % (360 / views)
    if views > 1 and 1e-6 < edge < 360 / views - 1e-6:
        assert azimuth_bins(azimuth, views) == official_bin(azimuth, views)


@pytest.mark.parametrize("views", [4, 8, 16, 24])
def test_a_lower_edge_belongs_to_its_section(views: int) -> None:
    edges = (np.arange(views) - 0.5) * 360 / views
    assert azimuth_bins(edges, views).tolist() == list(range(views))
    assert azimuth_bins(edges % 360, views).tolist() == [official_bin(e % 360, views) for e in edges]
    assert azimuth_bins([np.nan], views).tolist() == [-1]


@given(ANGLES, ANGLES)
def test_the_turn_between_rotations_is_that_of_their_trace(
    a: tuple[float, float, float], b: tuple[float, float, float]
) -> None:
    one, two = rotations(*a), rotations(*b)
    trace = float(np.trace(one.T @ two))
    assert float(geodesic(one, two)) == pytest.approx(
        math.degrees(math.acos(max(-1, min(1, (trace - 1) / 2)))), abs=1e-5
    )
    assert float(geodesic(one, one)) == 0.0


def test_azimuths_are_wrapped() -> None:
    assert wrapped([-1e-20, 720.0, -30.0]).tolist() == [0.0, 0.0, 330.0]


BODY = np.diag([2.5, 2.5, 2.5, 1.0])
"""CAD→world of an object with a diagonal of 2.5 m."""


@given(ANGLES, st.floats(3, 30), st.floats(-20, 20), st.floats(-20, 20))
def test_the_truth_of_a_body_is_where_its_camera_stands(
    turn: tuple[float, float, float], distance: float, pan: float, tilt: float
) -> None:
    a, e, roll = turn
    body = BODY.copy()
    body[:3, 3] = (1.0, -2.0, 0.5)
    k = intrinsics(35.0, 640, 480)
    facing = orbit(a, e, distance * 2.5, (1.0, -2.0, 0.5), roll)
    # The camera looks past the body; turning it back the shortest way must give the same angles.
    x, y = math.radians(pan), math.radians(tilt)
    axis = np.array([y, x, 0.0])
    aside = _rodrigues(axis) @ facing
    truth = seen_from(k, aside @ body, POINTS)
    assert float(geodesic(truth.rotation(), rotations(a, e, roll))) < 1e-5
    centre = camera_pixels(k, aside, [(1.0, -2.0, 0.5)])[0]
    np.testing.assert_allclose(truth.principal, centre[:2], atol=1e-6)
    assert truth.distance * k[0, 0] / 3000.0 * 2.5 == pytest.approx(centre[2], rel=1e-9)
    corners = POINTS * 2.5 + np.array((1.0, -2.0, 0.5))
    gaps = np.linalg.norm(project(POINTS, truth) - camera_pixels(k, aside, corners)[:, :2], axis=1)
    assert truth.error == pytest.approx(gaps.mean(), abs=1e-6)


@given(ANGLES, st.floats(2, 30), st.floats(500, 5000))
def test_the_error_is_0_for_a_camera_that_looks_at_the_body_with_its_own_focal_length(
    turn: tuple[float, float, float], distance: float, focal: float
) -> None:
    a, e, roll = turn
    k = np.array([(focal, 0, 320), (0, focal, 240), (0, 0, 1)])
    truth = seen_from(k, orbit(a, e, distance * 2.5, roll=roll) @ BODY, POINTS, viewport=focal)
    assert truth.error == pytest.approx(0.0, abs=1e-6)
    assert truth.distance == pytest.approx(distance)


def test_the_error_is_that_of_a_weaker_perspective() -> None:
    """At 3000 px the object is as large in the middle, and its depth counts for less: second order in size."""
    k = intrinsics(35.0, 640, 480)
    errors = [seen_from(k, orbit(40, 20, d * 2.5) @ BODY, POINTS).error or 0.0 for d in (3, 6, 12, 24)]
    assert all(2.5 < near / far < 5.5 for near, far in pairwise(errors))
    assert errors[-1] < 0.2


def _rodrigues(axis: np.ndarray) -> np.ndarray:
    angle = float(np.linalg.norm(axis))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = axis / angle
    cross = np.array([(0, -z, y), (z, 0, -x), (-y, x, 0)])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


@pytest.mark.realdata
def test_real_rotations_are_ours(real_data: Path) -> None:
    io = pytest.importorskip("scipy.io")
    rows = io.loadmat(real_data / "pascal3d" / "aeroplanetrue.mat", squeeze_me=True, struct_as_record=False)
    real = rows["rotationData"]
    assert len(real) == 865
    theta, elevation, azimuth = np.degrees(np.array([row.euler for row in real])).T
    ours = rotations(azimuth, elevation, theta)
    official = np.array([row.rot for row in real]).transpose(0, 2, 1)  # stored camera→CAD; x right, y up, z back
    np.testing.assert_allclose(ours, np.diag([1.0, -1.0, -1.0]) @ official, atol=1e-12)
    one = official_rotation(float(azimuth[0]), float(elevation[0]))
    turn = math.radians(float(theta[0]))
    level = [[math.cos(turn), math.sin(turn), 0], [-math.sin(turn), math.cos(turn), 0], [0, 0, 1]]
    np.testing.assert_allclose(np.array(level) @ official[0], one, atol=1e-12)
