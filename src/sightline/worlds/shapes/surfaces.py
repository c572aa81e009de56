"""What a closed surface tells of itself: its normals, its open edges, and the regions it stands on and carries."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.geometry.footprints import hull
from sightline.worlds.shapes.prisms import Indices
from sightline.worlds.solids import Floats, Outline

CREASE: Final = 35.0
"""Degrees: faces that meet at a larger angle have an edge between them, others run smoothly into one another."""

LEVEL: Final = 1e-4
"""Vertices this close in height, relative to that of the whole, are level."""


class Surface(NamedTuple):
    """A closed surface: (V, 3) float64 vertices and (F, 3) int64 faces, counter-clockwise seen from outside."""

    vertices: Floats
    faces: Indices


def crease_normals(vertices: Floats, faces: Indices, crease: float = CREASE) -> Floats:
    """A unit normal per corner, (F, 3, 3): the mean over the faces around it that lie within the crease angle.

    A face counts by its area and its angle at the corner, so broad flat faces stay flat beside narrow round edges.
    """
    corners = vertices[faces]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = unit(face)
    weighted = (face[:, None] * _corner_angles(corners)[..., None]).reshape(-1, 3)
    mine, other = _around(faces.ravel())
    near = np.einsum("ij,ij->i", facing[mine // 3], facing[other // 3]) > np.cos(np.radians(crease))
    total = np.zeros_like(weighted)
    np.add.at(total, mine[near], weighted[other[near]])
    return unit(total).reshape(-1, 3, 3)


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
    """Edges without exactly one partner running the other way: none in a closed, consistently wound mesh.

    >>> open_edges(np.array([(0, 1, 2)]))
    3
    """
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    many = int(faces.max()) + 1
    edges, counts = np.unique(start * many + end, return_counts=True)
    once = edges[counts == 1]
    paired = np.isin(once, once % many * many + once // many)
    return len(edges) - int(paired.sum())


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
