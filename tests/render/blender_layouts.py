"""A small layout that shows every trait: both materials, a cavity, smooth and flat faces, something half hidden."""

from __future__ import annotations

from sightline.geometry.cameras import intrinsics, look_at
from sightline.scenes.types import Camera
from sightline.worlds.layout import Layout, Light, Placed, Shot

SIZE = (120, 80)


def shot(
    name: str,
    position: tuple[float, float, float],
    *,
    focal: float = 35.0,
    size: tuple[int, int] = SIZE,
    shift: tuple[float, float] = (0.0, 0.0),
    aspect: float = 1.0,
) -> Shot:
    """A camera that looks at the middle of the table; `focal` in mm."""
    k = intrinsics(focal, *size)
    k[0, 2] += shift[0]
    k[1, 2] += shift[1]
    k[1, 1] *= aspect
    up = (0.0, 1.0, 0.0) if position[:2] == (0, 0) else (0.0, 0.0, 1.0)
    pose = look_at(position, (0.0, 0.0, 0.0), up)
    return Shot(name, Camera(tuple(k.ravel().tolist()), tuple(pose.ravel().tolist())), size)


def made_layout() -> Layout:
    """Five objects seen by two cameras."""
    objects = (
        Placed("cube:medium", "red", "rubber", (0.0, 0.0, 0.0), 0.3),
        Placed("cube_container:medium", "cyan", "metal", (2.0, 0.0, 0.0), 0.9),
        Placed("long_cylinder:small", "yellow", "metal", (-1.5, -0.5, 0.0), 2.0),
        Placed("rectangle_cylinder:small", "purple", "rubber", (0.5, 2.0, 0.0), 1.0),
        Placed("cylinder_rect_cont:medium", "gray", "metal", (0.0, -2.0, 0.0), 0.0),
    )
    lights = (
        Light("key", (5.86, -3.88, 3.29), 1.0, 300.0),
        Light("fill", (-5.36, -4.44, 3.93), 1.0, 120.0),
        Light("top", (0.0, 0.0, 16.0), 10.0, 800.0),
    )
    shots = (shot("original", (10.41, -9.79, 6.62), focal=58.5, shift=(3.0, -4.0)), shot("top", (0.0, 0.0, 13.0)))
    table, ambient = (0.5, 0.5, 0.5), (0.1, 0.1, 0.1)
    return Layout("made", 0, 0, "test", objects, shots, lights, table, ambient, (-0.7, -0.7), (-0.7, 0.7))
