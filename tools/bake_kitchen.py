"""Bake the kitchen set into ``kitchen.npz``: ``python tools/bake_kitchen.py``. Needs manifold3d."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kitchen_models import DIMENSIONS, MODELS, Model
from sightline.worlds.shapes.baked import save_solids
from sightline.worlds.shapes.catalogue import KITCHEN_FILE, SCENE_SCALE
from sightline.worlds.shapes.surfaces import level, polygon, symmetry, unit
from sightline.worlds.solids import Cavity, Floats, Outline, Solid


def bake(name: str) -> Solid:
    """One of the nine in medium size, its bounding box exactly as the table says."""
    model = MODELS[name]()
    size = np.array(DIMENSIONS[name]) * SCENE_SCALE
    vertices, factor, shift = _fitted(model, size)
    made = Solid(
        f"{name}:medium",
        vertices.astype(np.float32),
        model.mesh.faces.astype(np.int32),
        unit(model.mesh.normals / factor).astype(np.float32),
        outline=region(vertices[:, :2]),
        base=region(vertices[level(vertices, 0.0), :2]),
        top=region(vertices[level(vertices, float(size[2])), :2]) if model.carries else None,
        height=float(size[2]),
        cavity=_cavity(model, factor, shift, float(size[2])),
    )
    return replace(made, symmetry=symmetry(made))


def _fitted(model: Model, size: Floats) -> tuple[Floats, Floats, Floats]:
    """Vertices in their place, with the factor and shift that brought them there."""
    low, high = model.mesh.vertices.min(axis=0), model.mesh.vertices.max(axis=0)
    factor = size / (high - low)
    shift = -factor * np.array((*(low + high)[:2] / 2.0, low[2]))
    return model.mesh.vertices * factor + shift, factor, shift


def _cavity(model: Model, factor: Floats, shift: Floats, height: float) -> Cavity | None:
    if model.hollow is None:
        return None
    loop, floor = model.hollow
    return Cavity(region(loop * factor[:2] + shift[:2]), float(height - (floor * factor[2] + shift[2])))


def region(points: Floats) -> Outline:
    """The convex hull of (n, 2) points: an ellipse if its corners, many of them, lie on one about the origin."""
    outline = polygon(points)
    corners = np.array(outline.points)
    off = np.abs(np.linalg.norm(corners / outline.half, axis=1) - 1.0).max()
    return Outline("ellipse", outline.half) if len(corners) >= 32 and off < 1e-4 else outline


if __name__ == "__main__":
    save_solids(KITCHEN_FILE, [bake(name) for name in MODELS])
