"""How much of an object a camera misses: what other objects hide, and what lies outside its picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.kernels import compiler, stamp
from sightline.scenes.types import Camera
from sightline.worlds.layout import Placed
from sightline.worlds.shapes import solid
from sightline.worlds.solids import Floats

CELLS: Final = 96
"""Cells along the longer side of the object as it appears: the share is good to about one in a hundred."""

_NEAR: Final = 1e-2
"""Faces that come closer to the camera's plane hide nothing, metres."""

_kernel = compiler(stamp([Path(__file__)]))


def hidden_share(objects: Sequence[Placed], camera: Camera, size: tuple[int, int]) -> float:
    """Share of the first object's appearance that the picture lacks, 0 … 1, however large the picture were.

    Args:
        objects: What stands there.
        camera: A straight one, with the object before it.
        size: Width and height of its picture, pixels.
    """
    lens = np.array(camera.k).reshape(3, 3) @ np.array(camera.world_to_camera).reshape(3, 4)
    meshes = [(_projected(placed, lens), solid(placed.shape).faces) for placed in objects]
    seen = meshes[0][0]
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    cell = float((high - low).max()) / CELLS
    columns, rows = (max(1, math.ceil(side / cell)) for side in high - low)
    layers = np.zeros((2, rows, columns))
    for i, (points, faces) in enumerate(meshes):
        _draw(layers[min(i, 1)], (points[:, :2] - low) / cell, points[:, 2], faces)
    x, y = low[0] + cell * (np.arange(columns) + 0.5), low[1] + cell * (np.arange(rows) + 0.5)
    inside = ((x >= 0.0) & (x < size[0])) & ((y >= 0.0) & (y < size[1]))[:, None]
    covered = layers[0] > 0.0
    missed = covered & (~inside | (layers[1] > layers[0]))
    return float(missed.sum() / max(covered.sum(), 1))


def _projected(placed: Placed, lens: Floats) -> Floats:
    """Vertices in the picture: x and y in pixels, and inverse depth, 0 where they are behind the camera."""
    matrix = lens @ placed.pose()
    u, v, depth = (solid(placed.shape).vertices.astype(np.float64) @ matrix[:, :3].T + matrix[:, 3]).T
    ahead = depth > _NEAR
    depth = np.where(ahead, depth, 1.0)
    return np.column_stack((u / depth, v / depth, ahead / depth))


@_kernel
def _draw(nearest: Floats, points: Floats, inverse: Floats, faces: NDArray[np.int32]) -> None:
    """Keep the largest inverse depth of the faces over the middle of each cell."""
    rows, columns = nearest.shape
    for f in range(len(faces)):
        a, b, c = faces[f]
        if inverse[a] <= 0.0 or inverse[b] <= 0.0 or inverse[c] <= 0.0:
            continue
        ax, ay = points[a]
        ux, uy = points[b, 0] - ax, points[b, 1] - ay
        vx, vy = points[c, 0] - ax, points[c, 1] - ay
        area = ux * vy - uy * vx
        if area == 0.0:
            continue
        left, right = ax + min(0.0, ux, vx) - 0.5, ax + max(0.0, ux, vx) - 0.5
        top, bottom = ay + min(0.0, uy, vy) - 0.5, ay + max(0.0, uy, vy) - 0.5
        if right < 0.0 or bottom < 0.0 or left > columns or top > rows:
            continue
        for i in range(max(0, math.ceil(top)), min(rows, math.floor(bottom) + 1)):
            for j in range(max(0, math.ceil(left)), min(columns, math.floor(right) + 1)):
                px, py = j + 0.5 - ax, i + 0.5 - ay
                s = (px * vy - py * vx) / area
                t = (ux * py - uy * px) / area
                if s >= 0.0 and t >= 0.0 and s + t <= 1.0:
                    depth = (1.0 - s - t) * inverse[a] + s * inverse[b] + t * inverse[c]
                    nearest[i, j] = max(nearest[i, j], depth)
