"""Repair of mesh files where it is safe: doubled places and faces, turned faces, small holes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.worlds.shapes.prisms import Indices
from sightline.worlds.shapes.surfaces import Surface, open_edges
from sightline.worlds.solids import Floats

SMALL_HOLE: Final = 0.05
"""A hole whose rim is at most so long across, relative to the whole, is filled, and so is one of three edges."""

BLOCK: Final = 64
"""Pieces that are compared with others at once; a tree has a hundred thousand leaves."""


def merged(vertices: Floats, faces: Indices) -> tuple[Surface, Indices]:
    """One vertex a place, to a millionth of the whole, and every triangle once; those left, by their old numbers.

    Triangles that shrink to a line by it, or have no area, are dropped.
    """
    grid = np.ptp(vertices, axis=0).max() * 1e-6 or 1.0
    _, first, which = np.unique(np.round(vertices / grid), axis=0, return_index=True, return_inverse=True)
    joined = which.reshape(-1)[faces]
    corners = vertices[first[joined]]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    _, once = np.unique(np.sort(joined, axis=1), axis=0, return_index=True)
    kept = np.sort(once)
    kept = kept[((joined != np.roll(joined, 1, axis=1)).all(axis=1) & (area > 0.0))[kept]]
    used, ids = np.unique(joined[kept], return_inverse=True)
    return Surface(vertices[first[used]], ids.reshape(-1, 3)), kept


def repaired(surface: Surface) -> tuple[Surface, bool]:
    """The surface with its faces turned alike and outwards and its small holes filled, and whether it is closed.

    New faces come last.
    """
    faces = _wound(*surface)
    vertices = surface.vertices
    if open_edges(faces):
        vertices, faces = _filled(vertices, faces)
    return Surface(vertices, faces), not open_edges(faces)


def _wound(vertices: Floats, faces: Indices) -> Indices:
    """Faces turned so that neighbours across an edge of two run alike; each piece so that it looks outwards.

    A piece within another may be the wall of a hollow: it stays as it is.
    """
    piece, turned = _spread_turns(len(faces), *_neighbours(faces))
    faces = np.where(turned[:, None], faces[:, ::-1], faces)
    corners = vertices[faces]
    count = int(piece.max()) + 1
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, piece, corners.min(axis=1))
    np.maximum.at(high, piece, corners.max(axis=1))
    a, b, c = (corners - ((low + high) / 2.0)[piece][:, None]).transpose(1, 0, 2)
    inward = np.bincount(piece, np.einsum("ij,ij->i", a, np.cross(b, c))) < 0.0
    turns = np.flatnonzero(inward)
    for block in np.array_split(turns[np.argsort(low[turns, 0])], len(turns) // BLOCK + 1):
        inward[block] = ~_within(low, high, block)
    return np.where(inward[piece][:, None], faces[:, ::-1], faces)


def _within(low: Floats, high: Floats, block: Indices) -> NDArray[np.bool_]:
    """Whether the boxes of a block of pieces lie within that of another; few others reach where a block is."""
    if not len(block):
        return np.zeros(0, np.bool_)
    near = (low[:, 0] < low[block, 0].max()) & (high[:, 0] > high[block, 0].min())
    inside = (low[near] < low[block][:, None]) & (high[near] > high[block][:, None])
    found: NDArray[np.bool_] = inside.all(axis=2).any(axis=1)
    return found


def _neighbours(faces: Indices) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Pairs of faces at edges that just two have, and whether both run along it the same way (one is turned)."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    many = int(faces.max()) + 1
    key = np.minimum(start, end) * many + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    two = begins[np.diff(begins, append=len(key)) == 2]
    first, second = order[two], order[two + 1]
    return first // 3, second // 3, start[first] == start[second]


def _spread_turns(
    count: int, first: Indices, second: Indices, alike: NDArray[np.bool_]
) -> tuple[Indices, NDArray[np.bool_]]:
    """Walk from face to face: the number of each one's piece, and whether it is turned against its first."""
    ends = np.concatenate((first, second))
    order = np.argsort(ends, kind="stable")
    to, against = np.concatenate((second, first))[order].tolist(), np.concatenate((alike, alike))[order].tolist()
    begin = np.searchsorted(ends[order], np.arange(count + 1)).tolist()
    piece, turned, pieces = [-1] * count, [False] * count, 0
    for seed in range(count):
        if piece[seed] >= 0:
            continue
        piece[seed], waiting = pieces, [seed]
        while waiting:
            face = waiting.pop()
            for i in range(begin[face], begin[face + 1]):
                other = to[i]
                if piece[other] < 0:
                    piece[other], turned[other] = pieces, turned[face] != against[i]
                    waiting.append(other)
        pieces += 1
    return np.array(piece), np.array(turned)


def _filled(vertices: Floats, faces: Indices) -> tuple[Floats, Indices]:
    """Close every small hole by a fan about the middle of its rim, and holes of three edges by a face."""
    size = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    more_vertices, more_faces = [vertices], [faces]
    count = len(vertices)
    for rim in _rims(faces):
        loop = np.array(rim)
        after = np.roll(loop, -1)
        if len(rim) == 3:
            more_faces.append(loop[None, ::-1])
        elif np.linalg.norm(np.ptp(vertices[loop], axis=0)) <= SMALL_HOLE * size:
            more_vertices.append(vertices[loop].mean(axis=0)[None])
            more_faces.append(np.column_stack((after, loop, np.full(len(loop), count))))
            count += 1
    return np.concatenate(more_vertices), np.concatenate(more_faces)


def _rims(faces: Indices) -> list[list[int]]:
    """Loops of edges that one face alone has, along that face; none through a vertex where two rims meet."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    many = int(faces.max()) + 1
    key = np.minimum(start, end) * many + np.maximum(start, end)
    _, where, counts = np.unique(key, return_index=True, return_counts=True)
    alone = where[counts == 1]
    starts, times = np.unique(start[alone], return_counts=True)
    follows = dict(zip(start[alone].tolist(), end[alone].tolist(), strict=True))
    for crossing in starts[times > 1].tolist():
        del follows[crossing]
    rims = []
    while follows:
        begin, at = follows.popitem()
        rim = [begin]
        while at in follows:
            rim.append(at)
            at = follows.pop(at)
        if at == begin:
            rims.append(rim)
    return rims
