"""Union, difference and hull through manifold3d, which only the baking script needs."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from sightline.errors import MissingExtraError
from sightline.worlds.shapes.lofts import Surface, unit
from sightline.worlds.shapes.prisms import Mesh
from sightline.worlds.shapes.surfaces import shaded
from sightline.worlds.solids import Floats


def combine(parts: Sequence[Surface], minus: Sequence[Surface] = ()) -> Mesh:
    """The union of `parts` without `minus`; every part keeps its own normals up to the seam."""
    m3d = _manifold3d()
    whole = m3d.Manifold.batch_boolean([_solid(m3d, part, 1.0) for part in parts], m3d.OpType.Add)
    for part in minus:
        whole = whole - _solid(m3d, part, -1.0)
    return _mesh(whole.to_mesh64())


def hull(points: Floats) -> Surface:
    """The convex hull of (n, 3) points."""
    mesh = _manifold3d().Manifold.hull_points(np.ascontiguousarray(points)).to_mesh64()
    return Surface(np.array(mesh.vert_properties)[:, :3], np.array(mesh.tri_verts).astype(np.int64))


def _solid(m3d: Any, surface: Surface, sign: float) -> Any:
    """The surface for manifold3d: one vertex a corner, with its normal, and which of them are the same point."""
    mesh = shaded(surface)
    corner = mesh.faces.ravel()
    _, first, which = np.unique(corner, return_index=True, return_inverse=True)
    rows = np.column_stack((mesh.vertices[corner], sign * mesh.normals.reshape(-1, 3)))
    own = np.arange(len(corner), dtype=np.uint64)
    twins = np.flatnonzero(first[which] != own)
    return m3d.Manifold(
        m3d.Mesh64(
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


def _manifold3d() -> Any:
    try:
        return importlib.import_module("manifold3d")
    except ImportError:
        raise MissingExtraError("manifold3d", extra="worlds") from None
