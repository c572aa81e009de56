"""What a surface tells of itself: normals, open edges, the regions it stands on and carries, symmetry."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.geometry.footprints import hull
from sightline.worlds.shapes.prisms import Indices
from sightline.worlds.solids import CONTINUOUS, Floats, Outline, Solid

CREASE: Final = 35.0
"""Degrees: faces that meet at a larger angle have an edge between them, others run smoothly into one another."""

LEVEL: Final = 1e-4
"""Vertices this close in height, relative to that of the whole, are level."""

CELL: Final = 0.01
"""Side of the cells that turned surfaces are compared in, relative to the largest distance from the axis."""

MOST_POINTS: Final = 3_000_000
"""Points of a surface that are compared at most, some 350 MB; four a face where there are more faces."""

TALLEST: Final = 20.0
"""Height of a solid that is compared, in its largest distances from the axis; taller ones are made as low."""

MOST_TURNS: Final = 12
"""Steps of a turn that are told from a turn by any angle."""


class Surface(NamedTuple):
    """A closed surface: (V, 3) float64 vertices and (F, 3) int64 faces, counter-clockwise seen from outside."""

    vertices: Floats
    faces: Indices


def crease_normals(vertices: Floats, faces: Indices, crease: float | Floats = CREASE) -> Floats:
    """A unit normal per corner, (F, 3, 3): the mean over the faces around it within the crease angle, one or (F,).

    A face counts by its area and its angle at the corner, so broad flat faces stay flat beside narrow round edges.
    """
    corners = vertices[faces]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = unit(face)
    weighted = (face[:, None] * _corner_angles(corners)[..., None]).reshape(-1, 3)
    mine, other = _around(faces.ravel())
    limits = np.broadcast_to(np.cos(np.radians(crease)), len(faces))
    near = np.einsum("ij,ij->i", facing[mine // 3], facing[other // 3]) > limits[mine // 3]
    mine, other = mine[near], other[near]
    total = [np.bincount(mine, weighted[other, axis], len(weighted)) for axis in range(3)]
    return unit(np.column_stack(total)).reshape(-1, 3, 3)


def _around(vertex: Indices) -> tuple[Indices, Indices]:
    """All ordered pairs of corners at one vertex, each with itself too."""
    order = np.argsort(vertex, kind="stable")
    counts = np.bincount(vertex)
    first = np.cumsum(counts) - counts
    many = counts[vertex[order]]
    mine = np.repeat(order, many)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(many) - many, many)
    return mine, order[first[vertex[mine]] + within]


def _corner_angles(corners: Floats) -> Floats:
    u = unit(np.roll(corners, -1, axis=1) - corners)
    v = unit(np.roll(corners, 1, axis=1) - corners)
    angles: Floats = np.arccos(np.clip(np.einsum("fij,fij->fi", u, v), -1.0, 1.0))
    return angles


def open_edges(faces: Indices) -> int:
    """Count the edges that faces run along more often one way than the other: none in a closed mesh, wound alike.

    >>> open_edges(np.array([(0, 1, 2)]))
    3
    """
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    many = int(faces.max()) + 1
    _, edge = np.unique(np.minimum(start, end) * many + np.maximum(start, end), return_inverse=True)
    return int(np.count_nonzero(np.bincount(edge.ravel(), np.where(start < end, 1.0, -1.0))))


def polygon(points: Floats) -> Outline:
    """The convex hull of (n, 2) points."""
    # Rounding first: corners a rounding error apart, or off a straight edge by one, would stay corners.
    corners = hull(np.round(points, 7))
    a, b = np.ptp(corners, axis=0) / 2.0
    return Outline("polygon", (float(a), float(b)), tuple((float(x), float(y)) for x, y in corners))


def level(vertices: Floats, z: float, tolerance: float = LEVEL) -> NDArray[np.bool_]:
    """Which vertices lie at height `z`."""
    return np.abs(vertices[:, 2] - z) < tolerance * np.ptp(vertices[:, 2])


def flat_top(vertices: Floats, faces: Indices) -> float:
    """Area of the faces at full height."""
    high = level(vertices, vertices[:, 2].max())
    a, b, c = vertices[faces[high[faces].all(axis=1)], :2].transpose(1, 0, 2)
    u, v = b - a, c - a
    return float(np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum() / 2.0)


def volume(surface: Surface) -> float:
    """Signed volume: negative if the faces look inwards."""
    a, b, c = surface.vertices[surface.faces].astype(np.float64).transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def unit(v: Floats) -> Floats:
    """Vectors along the last axis at length one; zero stays zero."""
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    scaled: Floats = v / np.where(length > 0.0, length, 1.0)
    return scaled


def symmetry(solid: Solid) -> int:
    """Count the turns about z, painted parts included, that leave a solid the same: see `Solid.symmetry`.

    Turned points of the surface must come to lie within about 2 % of the solid's radius from a face of their slot;
    where that takes more than `MOST_POINTS`, within as little as they allow.
    """
    corners = solid.vertices[solid.faces].astype(np.float64)
    radius = float(np.hypot(*solid.vertices[:, :2].T).max()) or 1.0
    cell = CELL * radius
    # Turning leaves heights as they are, so a tall solid may as well be a lower one.
    corners[..., 2] *= min(1.0, TALLEST * radius / max(float(np.ptp(solid.vertices[:, 2])), 1e-30))
    while _grid(corners, cell)[1].astype(float).prod(axis=0).sum() > max(MOST_POINTS, 4 * len(corners)):
        cell *= 2.0
    points, face = _spread(corners, cell)
    slots = solid.paint[face].astype(np.int64)
    there = np.unique(_cells(points, slots, cell))
    few = np.random.default_rng(0).permutation(len(points))[:2048]

    around = np.array(list(np.ndindex(3, 3, 3))) - 1.0

    def same(angle: float) -> bool:
        c, s = np.cos(angle), np.sin(angle)
        turned = points[few] @ np.array([(c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)])
        keys = _cells((turned[:, None] + around * cell).reshape(-1, 3), np.repeat(slots[few], 27), cell)
        met = there[np.searchsorted(there, keys).clip(max=len(there) - 1)] == keys
        return bool(met.reshape(-1, 27).any(axis=1).all())

    if all(same(angle) for angle in (0.4, 1.0, 2.2)):
        return CONTINUOUS
    return max(n for n in range(1, MOST_TURNS + 1) if n == 1 or same(2.0 * np.pi / n))


def _spread(corners: Floats, step: float) -> tuple[Floats, Indices]:
    """Points over all triangles, at most `step` apart along two sides of each, and the triangle of each point."""
    (a, b, c), (rows, columns) = _grid(corners, step)
    face = np.repeat(np.arange(len(corners)), rows * columns)
    within = np.arange(len(face)) - np.repeat(np.cumsum(rows * columns) - rows * columns, rows * columns)
    u = within // columns[face] / np.maximum(rows[face] - 1, 1)
    v = within % columns[face] / np.maximum(columns[face] - 1, 1)
    v *= 1.0 - u
    return a[face] + u[:, None] * (b - a)[face] + v[:, None] * (c - a)[face], face


def _grid(corners: Floats, step: float) -> tuple[Floats, Indices]:
    """Corners (3, n, 3) from the end of each triangle's shortest side, and how many rows and columns of points."""
    lengths = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
    # From there a sliver gets one row of points.
    order = (lengths.argmin(axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(corners, order[..., None], axis=1).transpose(1, 0, 2)
    sides = np.linalg.norm(np.stack((b - a, c - a)), axis=2)
    rows, columns = np.minimum(np.ceil(sides / step), 2.0**40).astype(np.int64) + 1
    return np.stack((a, b, c)), np.stack((rows, columns))


def _cells(points: Floats, slots: Indices, cell: float) -> Indices:
    x, y, z = np.floor(points / cell).astype(np.int64).T
    keys: Indices = ((x * 4096 + y) * 65536 + z) * 8 + slots
    return keys
