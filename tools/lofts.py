"""Model surfaces for `bake_kitchen`: curves, lathes and sweeps with numpy, union and hull through manifold3d.

A profile is a polyline of (r, z), a path one of (x, z) in the plane y = 0; all in model units, z up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import manifold3d
import numpy as np
from numpy.typing import NDArray

from sightline.worlds.shapes.prisms import Mesh
from sightline.worlds.shapes.surfaces import Surface, crease_normals, unit, volume
from sightline.worlds.solids import Floats

Pair = tuple[float, float]


def bezier(start: Pair, leave: Pair, reach: Pair, end: Pair, steps: int) -> Floats:
    """A cubic curve, `steps` + 1 points.

    >>> bezier((0, 0), (0, 1), (1, 1), (1, 0), 2)
    array([[0. , 0. ], [0.5 , 0.75], [1. , 0. ]])
    """
    t = np.linspace(0.0, 1.0, steps + 1)[:, None]
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    curve: Floats = sum(
        w * np.array(p, dtype=float) for w, p in zip(weights, (start, leave, reach, end), strict=True)
    )
    return curve


def rounded(corners: Sequence[tuple[float, float, float]], steps: int = 4) -> Floats:
    """A polyline through (r, z, radius): corners with a radius become arcs of `steps` chords.

    >>> rounded([(0, 0, 0), (1, 0, 0.5), (1, 1, 0)], steps=1)
    array([[0. , 0. ], [0.5, 0. ], [1. , 0.5], [1. , 1. ]])
    """
    points = np.array(corners, dtype=float)[:, :2]
    arcs = [_arc(points[i - 1 : i + 2], corners[i][2], steps) for i in range(1, len(points) - 1)]
    return np.concatenate([points[:1], *arcs, points[-1:]])


def _arc(around: Floats, radius: float, steps: int) -> Floats:
    if radius == 0.0:
        return around[1:2]
    before, corner, after = around
    u, v = unit(before - corner), unit(after - corner)
    half = np.arccos(np.clip(u @ v, -1.0, 1.0)) / 2.0
    middle = corner + unit(u + v) * radius / np.sin(half)
    ends = corner + np.array((u, v)) * radius / np.tan(half) - middle
    t = np.linspace(0.0, 1.0, steps + 1)[:, None]
    turn = np.pi - 2.0 * half
    arc: Floats = middle + (np.sin((1 - t) * turn) * ends[0] + np.sin(t * turn) * ends[1]) / np.sin(turn)
    return arc


def lathe(
    profile: Floats, segments: int, ripple: Callable[[Floats, Floats], NDArray[Any]] | None = None
) -> Surface:
    """The profile turned about z; it begins and ends on the axis and runs with its inside on the left.

    Args:
        profile: (n, 2) points (r, z).
        segments: Corners of a circle; a multiple of four touches the bounding box.
        ripple: Factor on the radius by (angle, z), for ribs and flutes.
    """
    turn = 2.0 * np.pi * np.arange(segments) / segments
    r, z = (column[:, None] for column in profile[1:-1].T)
    r = r * (np.ones((1, segments)) if ripple is None else ripple(turn[None], z))
    rings = np.stack(np.broadcast_arrays(r * np.cos(turn), r * np.sin(turn), z), axis=2)
    ends = np.insert(profile[[0, -1]], 1, 0.0, axis=1)
    return loft(rings, (ends[0], ends[1]))


def sweep(path: Floats, across: Floats, segments: int) -> Surface:
    """An elliptic tube along a path in the plane y = 0, closed at both ends.

    Args:
        path: (k, 2) points (x, z).
        across: (k, 2) half widths of the tube, in the plane and along y.
        segments: Corners of a section.
    """
    along = unit(np.gradient(path, axis=0))
    turn = 2.0 * np.pi * np.arange(segments) / segments
    in_plane = (
        np.column_stack((-along[:, 1], along[:, 0]))[:, None] * across[:, :1, None] * np.cos(turn)[None, :, None]
    )
    y = across[:, 1:] * np.sin(turn)
    rings = np.stack((path[:, :1] + in_plane[..., 0], y, path[:, 1:] + in_plane[..., 1]), axis=2)
    return loft(rings, (rings[0].mean(axis=0), rings[-1].mean(axis=0)))


def loft(rings: Floats, ends: tuple[Floats, Floats] | None = None) -> Surface:
    """Skin over rings of equally many corners, (m, n, 3): closed at both ends by a fan, or bent back on itself."""
    m, n, _ = rings.shape
    ids = np.arange(m * n).reshape(m, n)
    low, high = (ids, np.roll(ids, -1, axis=0)) if ends is None else (ids[:-1], ids[1:])
    low_next, high_next = np.roll(low, -1, axis=1), np.roll(high, -1, axis=1)
    faces = [np.stack((low, low_next, high_next, low, high_next, high), axis=2).reshape(-1, 3)]
    vertices = [rings.reshape(-1, 3)]
    if ends is not None:
        first, last = np.full(n, m * n), np.full(n, m * n + 1)
        faces.append(np.column_stack((first, np.roll(ids[0], -1), ids[0])))
        faces.append(np.column_stack((last, ids[-1], np.roll(ids[-1], -1))))
        vertices.append(np.array(ends))
    return outward(Surface(np.concatenate(vertices), np.concatenate(faces)))


def outward(surface: Surface) -> Surface:
    """The surface with its faces turned outwards."""
    inside_out = volume(surface) < 0.0
    return Surface(surface.vertices, surface.faces[:, ::-1]) if inside_out else surface


def shaded(surface: Surface) -> Mesh:
    """The surface with its normals."""
    return Mesh(*surface, crease_normals(*surface))


def combine(parts: Sequence[Surface], minus: Sequence[Surface] = ()) -> Mesh:
    """The union of `parts` without `minus`; every part keeps its own normals up to the seam."""
    whole = manifold3d.Manifold.batch_boolean([_solid(part, 1.0) for part in parts], manifold3d.OpType.Add)
    for part in minus:
        whole = whole - _solid(part, -1.0)
    return _mesh(whole.to_mesh64())


def hull(points: Floats) -> Surface:
    """The convex hull of (n, 3) points."""
    mesh = manifold3d.Manifold.hull_points(np.ascontiguousarray(points)).to_mesh64()
    return Surface(np.array(mesh.vert_properties)[:, :3], np.array(mesh.tri_verts).astype(np.int64))


def _solid(surface: Surface, sign: float) -> Any:
    """The surface for manifold3d: one vertex a corner, with its normal, and which of them are the same point."""
    mesh = shaded(surface)
    corner = mesh.faces.ravel()
    _, first, which = np.unique(corner, return_index=True, return_inverse=True)
    rows = np.column_stack((mesh.vertices[corner], sign * mesh.normals.reshape(-1, 3)))
    own = np.arange(len(corner), dtype=np.uint64)
    twins = np.flatnonzero(first[which] != own)
    return manifold3d.Manifold(
        manifold3d.Mesh64(
            np.ascontiguousarray(rows),
            own.reshape(-1, 3),
            merge_from_vert=own[twins],
            merge_to_vert=first[which][twins].astype(np.uint64),
        )
    )


def _mesh(made: Any) -> Mesh:
    rows, faces = np.array(made.vert_properties), np.array(made.tri_verts).astype(np.int64)
    point = np.arange(len(rows))
    point[np.array(made.merge_from_vert, dtype=np.int64)] = np.array(made.merge_to_vert, dtype=np.int64)
    kept, ids = np.unique(point[faces], return_inverse=True)
    return Mesh(rows[kept, :3], ids.reshape(-1, 3), unit(rows[faces, 3:6]))
