"""Upright prisms over boxes and ellipses, massive or hollowed from the top: watertight by construction."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.worlds.solids import SEGMENTS, Cavity, Floats, Outline, Solid

Indices = NDArray[np.int64]


class Mesh(NamedTuple):
    """Triangles with a normal per corner.

    Attributes:
        vertices: (V, 3) float64.
        faces: (F, 3) int64, counter-clockwise seen from outside.
        normals: (F, 3, 3) float64, unit.
    """

    vertices: Floats
    faces: Indices
    normals: Floats

    def solid(self, name: str, **facts: Any) -> Solid:
        """The solid with this surface; `facts` are its other fields.

        Without a word on its symmetry it has that of its outline and its cavity.
        """
        regions = [facts["outline"], *([facts["cavity"].outline] if facts.get("cavity") else [])]
        facts.setdefault("symmetry", math.gcd(*(region.turns for region in regions)))
        arrays = {"vertices": np.float32, "faces": np.int32, "normals": np.float32}
        return Solid(name, **{key: getattr(self, key).astype(kind) for key, kind in arrays.items()}, **facts)


def prism(outline: Outline, height: float) -> Mesh:
    """The massive prism standing on z = 0.

    >>> mesh = prism(Outline("box", (1.0, 1.0)), 2.0)
    >>> mesh.vertices.shape, mesh.faces.shape
    ((8, 3), (12, 3))
    """
    loop = outline.polygon()
    n = len(loop)
    vertices = np.concatenate((_at(loop, 0.0), _at(loop, height)))
    lower, upper = np.arange(n), np.arange(n, 2 * n)
    return _join(
        vertices,
        _wall(lower, upper, _edge_normals(outline, loop)),
        _flat(cap(lower)[:, ::-1], -1.0),
        _flat(cap(upper), 1.0),
    )


def container(outline: Outline, height: float, cavity: Cavity) -> Mesh:
    """The prism with its cavity taken out.

    An elliptic cavity is cut along the polygon around its ellipse, not the one in it: whatever fits the ellipse
    then clears the mesh.
    """
    loop, hole = outline.polygon(), cavity.outline.polygon()
    if cavity.outline.kind == "ellipse":
        hole = hole / np.cos(np.pi / SEGMENTS)
    n, m, floor = len(loop), len(hole), height - cavity.depth
    vertices = np.concatenate((_at(loop, 0.0), _at(loop, height), _at(hole, floor), _at(hole, height)))
    lower, upper = np.arange(n), np.arange(n, 2 * n)
    bottom, rim = np.arange(2 * n, 2 * n + m), np.arange(2 * n + m, 2 * (n + m))
    inner_faces, inner_normals = _wall(bottom, rim, _edge_normals(cavity.outline, hole))
    return _join(
        vertices,
        _wall(lower, upper, _edge_normals(outline, loop)),
        (inner_faces[:, ::-1], -inner_normals[:, ::-1]),
        _flat(cap(lower)[:, ::-1], -1.0),
        _flat(cap(bottom), 1.0),
        _flat(ring(loop, hole, upper, rim), 1.0),
    )


def _at(loop: Floats, z: float) -> Floats:
    return np.column_stack((loop, np.full(len(loop), z)))


def _join(vertices: Floats, *parts: tuple[Indices, Floats]) -> Mesh:
    return Mesh(vertices, np.concatenate([f for f, _ in parts]), np.concatenate([n for _, n in parts]))


def _flat(faces: Indices, z: float) -> tuple[Indices, Floats]:
    return faces, np.broadcast_to((0.0, 0.0, z), (len(faces), 3, 3))


def cap(loop: Indices) -> Indices:
    """The convex face inside a loop in a strip from side to side, facing up: bounding boxes hardly overlap."""
    back = np.roll(loop[::-1], 1)
    strip = np.stack((back, np.roll(loop, -1)), axis=1).ravel()[: len(loop)]
    faces = np.column_stack((strip[:-2], strip[1:-1], strip[2:]))
    faces[1::2] = faces[1::2, ::-1]
    return faces


def _edge_normals(outline: Outline, loop: Floats) -> Floats:
    """Outward normals at both ends of every edge, (n, 2, 2): those of the curve where there is one."""
    if outline.kind == "ellipse":
        a, b = outline.half
        at_corner = loop / (a * a, b * b)
        normals = np.stack((at_corner, np.roll(at_corner, -1, axis=0)), axis=1)
    else:
        normals = np.repeat(_outward(loop)[:, None], 2, axis=1)
    unit: Floats = normals / np.linalg.norm(normals, axis=2, keepdims=True)
    return unit


def _outward(loop: Floats) -> Floats:
    """Normal of every edge, as long as the edge."""
    along = np.roll(loop, -1, axis=0) - loop
    return np.column_stack((along[:, 1], -along[:, 0]))


def _wall(lower: Indices, upper: Indices, normals: Floats) -> tuple[Indices, Floats]:
    """The upright band between two equal loops, facing out."""
    lower_next, upper_next = np.roll(lower, -1), np.roll(upper, -1)
    faces = np.stack((lower, lower_next, upper_next, lower, upper_next, upper), axis=1).reshape(-1, 3)
    start, end = np.pad(normals, ((0, 0), (0, 0), (0, 1))).transpose(1, 0, 2)
    return faces, np.stack((start, end, end, start, end, start), axis=1).reshape(-1, 3, 3)


def ring(outer: Floats, inner: Floats, outer_ids: Indices, inner_ids: Indices) -> Indices:
    """The flat band between two convex loops, one inside the other, facing up.

    An edge of one loop is joined to the corner of the other that lies farthest along the edge's normal, so no
    triangle can reach into the hole.
    """
    a, b = _angles(outer), _angles(inner)
    a_order, b_order = np.argsort(a), np.argsort(b)
    to_inner = b_order[np.searchsorted(b[b_order], a, side="left") % len(b)]
    to_outer = a_order[np.searchsorted(a[a_order], b, side="right") % len(a)]
    return np.concatenate(
        (
            np.column_stack((outer_ids, np.roll(outer_ids, -1), inner_ids[to_inner])),
            np.column_stack((np.roll(inner_ids, -1), inner_ids, outer_ids[to_outer])),
        )
    )


def _angles(loop: Floats) -> Floats:
    normal = _outward(loop)
    return np.arctan2(normal[:, 1], normal[:, 0]) % (2.0 * np.pi)
