"""A toy car as a GLB file, in nine parts of paint, glass, rubber, metal and one texture: `toy_car(path)`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import PBRMaterial

CABIN = np.array([(x, y, 0.95) for x, y in ((-0.75, -0.9), (0.75, -0.9), (0.75, 1.1), (-0.75, 1.1))])
ROOF = np.array([(x, y, 1.5) for x, y in ((-0.6, -0.35), (0.6, -0.35), (0.6, 0.8), (-0.6, 0.8))])


def toy_car(path: Path) -> Path:
    """Write the car: front at −y, z up, metres at 1 : 1 of a car 4 m long."""
    corners = np.concatenate((CABIN, ROOF))
    windows = _quads(corners, [(0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)])
    parts = {
        "body": _painted(_box((1.7, 4.0, 0.6), (0.0, 0.0, 0.65)), "paint", (200, 30, 30)),
        "roof": _painted(_quads(corners, [(4, 5, 6, 7)]), "paint", (200, 30, 30)),
        "windows": _painted(windows, "glass", (190, 205, 215, 70), rough=0.05),
        "lamps": _painted(_pair((0.3, 0.06, 0.16), 0.55, -2.0), "lamp", (255, 250, 220), rough=0.2),
        "tails": _painted(_pair((0.3, 0.06, 0.16), 0.55, 2.0), "tail", (160, 5, 5), rough=0.2),
        "seats": _painted(_pair((0.5, 0.5, 0.35), 0.35, 0.1, 1.1), "seat", (40, 30, 25), rough=0.9),
        "tyres": _painted(_wheels(0.36, 0.25), "tyre", (8, 8, 8), rough=0.9),
        "hubs": _painted(_wheels(0.18, 0.27), "hub", (200, 200, 205), metal=1.0, rough=0.3),
        "plate": _plate(),
    }
    trimesh.Scene(parts).export(path)
    return path


def _box(size: tuple[float, float, float], middle: tuple[float, float, float]) -> trimesh.Trimesh:
    return trimesh.creation.box(size).apply_translation(middle)


def _pair(size: tuple[float, float, float], x: float, y: float, z: float = 0.75) -> trimesh.Trimesh:
    return trimesh.util.concatenate([_box(size, (side * x, y, z)) for side in (-1.0, 1.0)])


def _wheels(radius: float, width: float) -> trimesh.Trimesh:
    across = trimesh.transformations.rotation_matrix(np.pi / 2, (0, 1, 0))
    places = [(x, y, 0.36) for x in (-0.8, 0.8) for y in (-1.3, 1.3)]
    round_ones = [trimesh.creation.cylinder(radius, width, sections=32).apply_transform(across) for _ in places]
    return trimesh.util.concatenate([w.apply_translation(at) for w, at in zip(round_ones, places, strict=True)])


def _quads(corners: np.ndarray, quads: list[tuple[int, int, int, int]]) -> trimesh.Trimesh:
    return trimesh.Trimesh(corners, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], process=False)


def _painted(mesh: trimesh.Trimesh, name: str, color: tuple[int, ...], metal: float = 0.0, rough: float = 0.4):
    rgba = [*color, 255][:4]
    material = PBRMaterial(name=name, baseColorFactor=rgba, metallicFactor=metal, roughnessFactor=rough)
    mesh.visual = TextureVisuals(material=material)
    return mesh


def _plate() -> trimesh.Trimesh:
    """A number plate: a texture of 128 × 32 pixels."""
    picture = np.full((32, 128, 3), 240, np.uint8)
    picture[4:28, 8:28] = (30, 60, 200)
    for i, left in enumerate(range(36, 118, 18)):
        picture[6:26, left : left + 10] = 20
        picture[12:20, left + 3 : left + 7] = 240 if i % 2 else 20
    corners = np.array([(-0.4, -2.02, 0.42), (0.4, -2.02, 0.42), (0.4, -2.02, 0.62), (-0.4, -2.02, 0.62)])
    mesh = _quads(corners, [(0, 1, 2, 3)])
    material = PBRMaterial(
        name="plate", baseColorTexture=Image.fromarray(picture), metallicFactor=0.0, roughnessFactor=0.4
    )
    mesh.visual = TextureVisuals(uv=np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float), material=material)
    return mesh
