"""Cameras: OpenCV (x right, y down, z forward), pixels with the origin at the top left corner of the image."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

SENSOR_MM = 32.0
"""Width of the sensor that focal lengths in millimetres refer to, as in Blender."""


def intrinsics(focal_mm: float, width: int, height: int) -> Floats:
    """K of a camera with square pixels and its axis through the middle of the image.

    >>> intrinsics(32.0, 480, 320)[0]
    array([480.,   0., 240.])
    """
    focal = focal_mm / SENSOR_MM * width
    return np.array([(focal, 0, width / 2), (0, focal, height / 2), (0, 0, 1)], dtype=np.float64)


def look_at(position: ArrayLike, target: ArrayLike, up: ArrayLike = (0.0, 0.0, 1.0)) -> Floats:
    """World→camera [R | t], 3×4, of a camera that looks at a point, `up` being up in the picture.

    >>> look_at((0, 0, 13), (0, 0, 0), up=(0, 1, 0)) @ (1.0, 2.0, 3.0, 1.0)
    array([ 1., -2., 10.])
    """
    # Plain floats: three times as fast as arrays of three, and summed in the same order on every machine.
    eye, there, above = (np.asarray(p, dtype=np.float64).tolist() for p in (position, target, up))
    forward = _unit([t - e for t, e in zip(there, eye, strict=True)])
    right = _unit(cross(forward, above))
    rows = (right, cross(forward, right), forward)
    return np.array([(x, y, z, -(x * eye[0] + y * eye[1] + z * eye[2])) for x, y, z in rows], dtype=np.float64)


def orbit(
    azimuth: float, elevation: float, distance: float, target: Sequence[float] = (0.0, 0.0, 0.0), roll: float = 0.0
) -> Floats:
    """World→camera [R | t], 3×4, of a camera that looks at a point from where it stands as seen from there.

    Args:
        azimuth: Degrees; 0 is the front (−y), 90 the right side (+x), as in PASCAL3D+.
        elevation: Degrees above the target.
        distance: Metres.
        target: The point, metres.
        roll: Degrees by which what is seen turns counter-clockwise in the picture: PASCAL3D+'s theta.

    >>> orbit(90, 0, 2) @ (0.0, 0.5, 1.0, 1.0)  # seen from the right side, +y is right and +z up
    array([ 0.5, -1. ,  2. ])
    """
    a, e, r = map(math.radians, (azimuth, elevation, roll))
    right = math.cos(a), math.sin(a), 0.0
    forward = -math.cos(e) * math.sin(a), math.cos(e) * math.cos(a), -math.sin(e)
    down, (c, s) = cross(forward, right), (math.cos(r), math.sin(r))
    across = [c * x + s * y for x, y in zip(right, down, strict=True)]
    along = [c * y - s * x for x, y in zip(right, down, strict=True)]
    eye = [t - distance * f for t, f in zip(target, forward, strict=True)]
    rows = (across, along, forward)
    pose = np.array([(x, y, z, -(x * eye[0] + y * eye[1] + z * eye[2])) for x, y, z in rows], dtype=np.float64)
    return np.round(pose, 12) + 0.0


def _unit(v: Sequence[float]) -> tuple[float, float, float]:
    length = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return v[0] / length, v[1] / length, v[2] / length


def cross(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """The cross product; NumPy's costs ten times as much for single vectors."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def centre(world_to_camera: ArrayLike) -> Floats:
    """Where a camera stands, in world coordinates.

    >>> centre(look_at((1, 2, 3), (0, 0, 0)))
    array([1., 2., 3.])
    """
    pose = np.asarray(world_to_camera, dtype=np.float64).reshape(3, 4)
    eye: Floats = -pose[:, :3].T @ pose[:, 3]
    return np.round(eye, 12)


def project(k: ArrayLike, world_to_camera: ArrayLike, points: ArrayLike) -> Floats:
    """Pixels and depth (x, y, planar z) of world points (n, 3); points at or behind the camera get NaN pixels.

    >>> project(intrinsics(32.0, 480, 320), look_at((0, 0, 13), (0, 0, 0), up=(0, 1, 0)), [(0, 0, 0)])
    array([[240., 160.,  13.]])
    """
    pose = np.asarray(world_to_camera, dtype=np.float64).reshape(3, 4)
    p = np.atleast_2d(np.asarray(points, dtype=np.float64)) @ pose[:, :3].T + pose[:, 3]
    image = p @ np.asarray(k, dtype=np.float64).reshape(3, 3).T
    z = np.where(p[:, 2] > 0, p[:, 2], np.nan)
    return np.column_stack((image[:, :2] / z[:, None], p[:, 2]))
