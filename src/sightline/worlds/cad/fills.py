"""Closed surfaces from loops of points: loops filled with triangles, places that coincide made one."""

from __future__ import annotations

from typing import Final

import numpy as np

from sightline.worlds.shapes.prisms import Indices, cap
from sightline.worlds.shapes.surfaces import Surface, volume
from sightline.worlds.solids import Floats

WELD: Final = 1e-6
"""Points this close, relative to the part, are one."""


def area(loop: Floats) -> float:
    """Area of a polygon, below 0 where it runs clockwise."""
    x, y = loop.T
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2.0)


def welded(vertices: Floats, faces: Indices) -> Surface:
    """Give a closed surface one vertex a place, no face that has shrunk to a line, and faces that look out."""
    low = vertices.min(axis=0)
    cells = np.round((vertices - low) / (WELD * float((vertices - low).max()))).astype(np.int64)
    keys = (cells[:, 0] << 42) | (cells[:, 1] << 21) | cells[:, 2]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    faces = which[faces]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    if volume(Surface(vertices[first], faces)) < 0.0:
        faces = faces[:, ::-1]
    return Surface(vertices[first], faces)


def filled(loop: Floats) -> Indices:
    """Triangles inside a loop in space, by numbers of its points; none where it has shrunk to a point."""
    apart = np.linalg.norm(loop - np.roll(loop, 1, axis=0), axis=1)
    size = float(np.ptp(loop, axis=0).max())
    kept = np.flatnonzero(apart > WELD * size) if size > 0.0 else np.zeros(0, np.int64)
    if len(kept) < 3:
        return np.zeros((0, 3), np.int64)
    corners = loop[kept]
    normal = np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
    u, v = np.delete(np.arange(3), np.argmax(np.abs(normal)))
    flat = corners[:, [u, v]]
    flat = flat if area(flat) > 0.0 else flat * (-1.0, 1.0)
    edge = np.roll(flat, -1, axis=0) - flat
    before = np.roll(edge, 1, axis=0)
    bend = before[:, 0] * edge[:, 1] - before[:, 1] * edge[:, 0]
    return kept[cap(np.arange(len(flat))) if (bend >= -1e-12 * size * size).all() else _ears(flat)]


def _ears(loop: Floats) -> Indices:
    """Triangles of a simple polygon, counter-clockwise: cut off the best-formed ear again and again."""
    left = list(range(len(loop)))
    faces = []
    while len(left) > 3:
        ids = np.array(left)
        a, b, c = loop[np.roll(ids, 1)], loop[ids], loop[np.roll(ids, -1)]
        size = _crossed(b - a, c - a)
        quality = size / (((b - a) ** 2).sum(1) + ((c - b) ** 2).sum(1) + ((a - c) ** 2).sum(1))
        for i in np.argsort(-quality, kind="stable"):
            others = np.delete(loop[ids], [i - 1, i, (i + 1) % len(ids)], axis=0)
            sides = ((a[i], b[i]), (b[i], c[i]), (c[i], a[i]))
            if not np.all([_crossed(q - p, others - p) >= 0.0 for p, q in sides], axis=0).any():
                break
        faces.append((left[i - 1], left[i], left[(i + 1) % len(left)]))
        del left[i]
    return np.array([*faces, left])


def _crossed(u: Floats, v: Floats) -> Floats:
    turn: Floats = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    return turn
