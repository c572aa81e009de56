"""Cameras: OpenCV (x right, y down, z forward), pixels with the origin at the top left corner of the image."""

from __future__ import annotations

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
    eye = np.asarray(position, dtype=np.float64)
    forward = np.asarray(target, dtype=np.float64) - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, np.asarray(up, dtype=np.float64))
    right /= np.linalg.norm(right)
    rotation = np.stack((right, np.cross(forward, right), forward))
    return np.column_stack((rotation, -rotation @ eye))


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
