"""Cameras: where they look, what is up, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sightline.geometry.cameras import centre, intrinsics, look_at, project

points = st.tuples(*[st.floats(-20.0, 20.0)] * 3)


@settings(deadline=None)
@given(points, points, points)
def test_a_camera_looks_at_its_target_with_up_up(
    eye: tuple[float, ...], target: tuple[float, ...], up: tuple[float, ...]
) -> None:
    forward = np.subtract(target, eye)
    assume(np.linalg.norm(np.cross(forward, up)) > 0.1)
    pose = look_at(eye, target, up)
    np.testing.assert_allclose(pose[:, :3] @ pose[:, :3].T, np.eye(3), atol=1e-9)
    assert np.linalg.det(pose[:, :3]) == pytest.approx(1.0)
    np.testing.assert_allclose(pose @ (*target, 1.0), (0.0, 0.0, np.linalg.norm(forward)), atol=1e-9)
    right, down, _ = pose[:, :3] @ up
    assert right == pytest.approx(0.0, abs=1e-9)
    assert down < 0.0  # y points down in the picture
    np.testing.assert_allclose(centre(pose), eye, atol=1e-9)


@pytest.mark.parametrize(
    ("point", "pixel"),
    [
        ((0.0, 0.0, 0.0), (240.0, 160.0)),  # the middle
        ((1.0, 0.0, 0.0), (288.0, 160.0)),  # x is right, 480 px to the unit at depth 10
        ((0.0, 1.0, 0.0), (240.0, 112.0)),  # y is up
        ((0.0, 0.0, 20.0), (np.nan, np.nan)),  # behind the camera
    ],
)
def test_project(point: tuple[float, ...], pixel: tuple[float, float]) -> None:
    found = project(intrinsics(32.0, 480, 320), look_at((0, 0, 10), (0, 0, 0), up=(0, 1, 0)), [point])
    np.testing.assert_allclose(found[0], (*pixel, 10.0 - point[2]))
