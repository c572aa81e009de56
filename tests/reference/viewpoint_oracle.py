"""The camera of PASCAL3D+ written out number by number, one point at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

Matrix = list[list[float]]


def product(a: Matrix, b: Matrix) -> Matrix:
    """The product of two matrices."""
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def official_rotation(azimuth: float, elevation: float) -> Matrix:
    """Rx(−(π/2 − e)) · Rz(−a), in the axes x right, y up, z towards the camera."""
    a, x = -math.radians(azimuth), -(math.pi / 2 - math.radians(elevation))
    about_z = [[math.cos(a), -math.sin(a), 0.0], [math.sin(a), math.cos(a), 0.0], [0.0, 0.0, 1.0]]
    about_x = [[1.0, 0.0, 0.0], [0.0, math.cos(x), -math.sin(x)], [0.0, math.sin(x), math.cos(x)]]
    return product(about_x, about_z)


def official_pixel(
    point: Sequence[float],
    azimuth: float,
    elevation: float,
    distance: float,
    theta: float,
    principal: tuple[float, float],
    focal: float = 1.0,
    viewport: float = 3000.0,
) -> tuple[float, float]:
    """Where the official projection sees a point of the CAD frame; degrees, pixels."""
    a, e, t = math.radians(azimuth), math.radians(elevation), math.radians(theta)
    centre = [distance * math.cos(e) * math.sin(a), -distance * math.cos(e) * math.cos(a), distance * math.sin(e)]
    rotation = official_rotation(azimuth, elevation)
    shift = [-sum(r * c for r, c in zip(row, centre, strict=True)) for row in rotation]
    pose = [[*row, s] for row, s in zip(rotation, shift, strict=True)]
    lens = [[viewport * focal, 0.0, 0.0], [0.0, viewport * focal, 0.0], [0.0, 0.0, -1.0]]
    (u,), (v,), (w,) = product(product(lens, pose), [[c] for c in (*point, 1.0)])
    u, v = u / w, v / w
    u, v = math.cos(t) * u - math.sin(t) * v, math.sin(t) * u + math.cos(t) * v
    return u + principal[0], -v + principal[1]


def official_bin(azimuth: float, views: int) -> int:
    """The section, from 0, whose middle is the closest multiple of 360 / views; the upper one at an edge."""
    middles = [k * 360.0 / views for k in range(views)]
    gaps = [abs((azimuth - middle + 180.0) % 360.0 - 180.0) for middle in middles]
    closest = [k for k, gap in enumerate(gaps) if gap <= min(gaps) + 1e-12]
    return closest[0] if len(closest) == 1 else (0 if closest == [0, views - 1] else closest[-1])
