"""A shape by itself from a viewpoint, with its landmarks marked: what Figure 5 of PASCAL3D+ shows of its models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from PIL import Image

from sightline.geometry.viewpoints import Viewpoint, project
from sightline.scenes.types import Camera
from sightline.show.raster import raster
from sightline.show.svg import element

if TYPE_CHECKING:  # worlds and renderers need numba; who only reads pictures does not
    from sightline.render.fast import FastRenderer
    from sightline.worlds.layout import Layout
    from sightline.worlds.solids import Solid

SIDES: Final = {"left": "#1668e3", "right": "#e8590c", "": "#2b8a3e"}
"""Colour of a landmark by the side in its name."""

DISTANCE: Final = 4.0
"""From the camera to the middle of the shape, in diagonals of its box."""

_MARGIN: Final = 0.1
_DEEP: Final = 0.015
"""What lies so far behind the surface, in diagonals, is hidden."""


def model_picture(
    name: str,
    azimuth: float = 35.0,
    elevation: float = 15.0,
    *,
    size: tuple[int, int] = (360, 270),
    color: str = "blue",
    material: str = "plastic",
    landmarks: bool = True,
    renderer: FastRenderer | None = None,
) -> Image.Image:
    """Draw a shape from azimuth and elevation, degrees, as large as fits: RGB of that (width, height).

    Landmarks are dots: left blue, right orange, others green; those behind the surface are hollow.

    Raises:
        ConfigError: No such shape, colour or material.
    """
    from sightline.render.fast import FastRenderer
    from sightline.worlds import solid

    shape = solid(name)
    viewpoint = _fitted(shape, Viewpoint(azimuth, elevation, DISTANCE * _diagonal(shape), 0.0, (0.0, 0.0)), size)
    layout = _alone(shape, viewpoint, size, color, material)
    frame = (renderer or FastRenderer()).frames(layout, ["original"])[0]
    assert frame.image is not None
    dots = _dots(shape, viewpoint, frame.depth) if landmarks else ""
    return raster(dots, size, [(Image.fromarray(frame.image), (0, 0))])


def _diagonal(shape: Solid) -> float:
    return float(np.linalg.norm(np.ptp(shape.vertices, axis=0)))


def _fitted(shape: Solid, viewpoint: Viewpoint, size: tuple[int, int]) -> Viewpoint:
    """The viewpoint whose lens makes the shape fill the picture."""
    seen = project(shape.vertices - np.array((0.0, 0.0, shape.height / 2.0)), viewpoint)
    low, high = seen.min(axis=0), seen.max(axis=0)
    factor = float(((1.0 - 2.0 * _MARGIN) * np.array(size) / (high - low)).min())
    x, y = (np.array(size) / 2.0 - factor * (low + high) / 2.0).tolist()
    angles = viewpoint.azimuth, viewpoint.elevation, viewpoint.distance, 0.0
    return Viewpoint(*angles, (x, y), viewport=factor * viewpoint.viewport)


def _alone(shape: Solid, viewpoint: Viewpoint, size: tuple[int, int], color: str, material: str) -> Layout:
    """The shape on the empty table of the kitchen, whose lights stand still."""
    from sightline.render.canonical import identity
    from sightline.worlds import load_world
    from sightline.worlds.layout import Layout, Light, Placed, Shot

    kitchen = load_world("kitchen")
    k, pose = viewpoint.camera()
    pose = np.column_stack((pose[:, :3], pose @ (0.0, 0.0, -shape.height / 2.0, 1.0)))
    camera = Camera(tuple(k.ravel().tolist()), tuple(pose.ravel().tolist()))
    lights = tuple(Light(at.name, at.position, at.size, at.power, at.target, at.color) for at in kitchen.lights)
    placed = Placed(*identity((shape.name, color, material)), (0.0, 0.0, 0.0), 0.0)
    ambient = (0.35, 0.35, 0.35)
    shot = Shot("original", camera, size)
    return Layout(
        kitchen.name, 0, 0, "", (placed,), (shot,), lights, kitchen.table, ambient, (-1.0, 0.0), (0.0, 1.0)
    )


def _dots(shape: Solid, viewpoint: Viewpoint, depth: np.ndarray) -> str:
    """SVG of the landmarks, the hidden ones first."""
    points = np.array(list(shape.landmarks.values())).reshape(-1, 3) - (0.0, 0.0, shape.height / 2.0)
    places = project(points, viewpoint)
    away = points @ viewpoint.camera()[1][2, :3] + viewpoint.distance
    high, wide = depth.shape
    rows, columns = places[:, 1].astype(int).clip(0, high - 1), places[:, 0].astype(int).clip(0, wide - 1)
    hidden = away > depth[rows, columns] + _DEEP * _diagonal(shape)
    size = 0.014 * min(wide, high)
    dots = []
    for i, name in sorted(enumerate(shape.landmarks), key=lambda pair: not hidden[pair[0]]):
        ink = SIDES[next((side for side in ("left", "right") if side in name), "")]
        looks = {"fill": "none", "stroke": ink} if hidden[i] else {"fill": ink, "stroke": "#ffffff"}
        x, y = places[i].tolist()
        dots.append(element("circle", cx=x, cy=y, r=float(size), stroke_width=float(size * 0.45), **looks))
    return "".join(dots)
