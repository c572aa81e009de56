"""Stacks: an outline drawn up through the heights of a profile, massive or hollowed from the top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from sightline.worlds.shapes.prisms import Mesh, cap, ring
from sightline.worlds.shapes.surfaces import crease_normals
from sightline.worlds.solids import Cavity, Floats, Outline

ROUND: Final = 48
"""Corners of an ellipse; a multiple of four touches the bounding box."""

Profile = Sequence[tuple[float, float]]
"""(height, factor on the outline) from the base up; heights never fall."""


def stack(outline: Outline, profile: Profile, cavity: Cavity | None = None) -> Mesh:
    """The closed surface, standing on z = 0; a cavity's walls are upright, and its opening lies in the top.

    >>> mesh = stack(Outline("box", (1.0, 1.0)), [(0.0, 1.0), (1.0, 0.5)])
    >>> mesh.vertices.shape, mesh.faces.shape
    ((8, 3), (12, 3))
    """
    loop = outline.polygon(segments=ROUND)
    n, levels = len(loop), len(profile)
    rings = [np.column_stack((factor * loop, np.full(n, height))) for height, factor in profile]
    ids = np.arange(levels * n).reshape(levels, n)
    low, high = ids[:-1], ids[1:]
    ahead, above = np.roll(low, -1, axis=1), np.roll(high, -1, axis=1)
    faces = [np.stack((low, ahead, above, low, above, high), axis=2).reshape(-1, 3), cap(ids[0])[:, ::-1]]
    if cavity is None:
        faces.append(cap(ids[-1]))
    else:
        top = profile[-1][0]
        hole = opening(cavity.outline)
        m, first = len(hole), levels * n
        rings += [np.column_stack((hole, np.full(m, z))) for z in (top - cavity.depth, top)]
        floor, rim = np.arange(first, first + m), np.arange(first + m, first + 2 * m)
        floor_next, rim_next = np.roll(floor, -1), np.roll(rim, -1)
        walls = np.stack((floor, rim_next, floor_next, floor, rim, rim_next), axis=1).reshape(-1, 3)
        faces += [walls, cap(floor), ring(rings[levels - 1][:, :2], hole, ids[-1], rim)]
    vertices, joined = np.concatenate(rings), np.concatenate(faces)
    return Mesh(vertices, joined, crease_normals(vertices, joined))


def opening(outline: Outline) -> Floats:
    """Corners of a cavity; they lie around an ellipse, not in it, so that whatever fits the ellipse is clear."""
    hole = outline.polygon(segments=ROUND)
    return hole / np.cos(np.pi / ROUND) if outline.kind == "ellipse" else hole
