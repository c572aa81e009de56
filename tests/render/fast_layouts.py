"""Layouts, cameras and lamps for the tests of the fast back end: made by hand and by Hypothesis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from sightline.geometry.cameras import intrinsics, look_at
from sightline.scenes.types import Camera
from sightline.worlds.layout import Layout, Light, Placed, Point, Shot
from sightline.worlds.looks import COLORS, LINEAR, MATERIALS, Material
from sightline.worlds.shapes import SHAPES, SIZES, register, solid
from sightline.worlds.solids import Slot, Solid

SIZE = (60, 40)
OPAQUE = [name for name in MATERIALS if name != "glass"]
ORIGINAL = (10.41, -9.79, 6.62)
LIGHTS = (
    Light("key", (5.86, -3.88, 3.29), 1.0, 420.0),
    Light("fill", (-5.36, -4.44, 3.93), 2.0, 160.0),
    Light("top", (0.0, 0.0, 16.0), 8.0, 1100.0, color=(1.0, 0.9, 0.8)),
)


def painted(shape: str, name: str, *, kept: float = 1.0) -> Solid:
    """A shape in four slots, each as it lies around z, with the lowest share `kept` of its faces: open below 1."""
    made = solid(shape)
    middle = made.vertices[made.faces].mean(axis=1)
    low = np.argsort(middle[:, 2], kind="stable")[: round(kept * len(middle))]
    paint = ((np.arctan2(middle[low, 1], middle[low, 0]) / math.pi + 1.0) * 1.999).astype(np.uint8)
    slots = (
        Slot("body"),
        Slot("trim", (0.8, 0.7, 0.1), MATERIALS["metal"]),
        Slot("tyre", (0.02, 0.02, 0.02)),
        Slot("pane", (0.7, 0.8, 0.9), MATERIALS["glass"]),
    )
    faces, normals = made.faces[low], made.normals[low]
    return replace(
        made,
        name=f"{name}:medium",
        faces=faces,
        normals=normals,
        slots=slots,
        paint=paint,
        closed=kept == 1.0,
        symmetry=1,
        cavity=None,
    )


PAINTED = ("painted_cube", "painted_mug", "open_box", "open_mug", "sign")
"""Own shapes: two closed ones in four colours, two that are open at the top, and a cube with a texture."""

for _shape, _name, _kept in zip(("cube", "mug", "cube", "mug"), PAINTED[:4], (1.0, 1.0, 0.8, 0.7), strict=True):
    register(painted(_shape, _name, kept=_kept))


def sign(picture: np.ndarray, name: str = "sign") -> Solid:
    """A cube whose front and back show a picture, and whose other sides have the object's colour."""
    cube = solid("cube")
    corners = cube.vertices[cube.faces]
    faced = np.abs(cube.normals[:, 0, 1]) > 0.9
    uv = np.stack((corners[..., 0] / 0.9 + 0.5, 1.0 - corners[..., 2] / 0.9), axis=-1).astype(np.float32)
    mean = LINEAR[picture].reshape(-1, 3).mean(axis=0)
    slots = (Slot("body"), Slot("picture", tuple(mean.tolist()), Material(0.0, 1.0, 0.0), picture))
    return replace(cube, name=f"{name}:medium", slots=slots, paint=faced.astype(np.uint8), uv=uv, symmetry=1)


register(sign(np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)))


def shot(
    position: Point = ORIGINAL,
    target: Point = (0.0, 0.0, 0.0),
    *,
    name: str = "original",
    focal: float = 58.5,
    size: tuple[int, int] = SIZE,
    aspect: float = 1.0,
) -> Shot:
    """A camera at a point that looks at another; `focal` in mm, `aspect` how much taller its pixels are."""
    k = intrinsics(focal, *size)
    k[1, 1] *= aspect
    steep = math.dist(position[:2], target[:2]) < 1e-3
    pose = look_at(position, target, (0.0, 1.0, 0.0) if steep else (0.0, 0.0, 1.0))
    return Shot(name, Camera(tuple(k.ravel().tolist()), tuple(pose.ravel().tolist())), size)


def layout_of(
    objects: Sequence[Placed],
    *shots: Shot,
    lights: tuple[Light, ...] = LIGHTS,
    table: Point = (0.5, 0.5, 0.5),
    ambient: Point = (0.05, 0.06, 0.07),
) -> Layout:
    """A layout of these objects; one view of SIZE unless told."""
    return Layout(
        "made", 0, 0, "test", tuple(objects), shots or (shot(),), lights, table, ambient, (-0.7, -0.7), (-0.7, 0.7)
    )


def thing(
    shape: str, x: float, y: float, z: float = 0.0, *, yaw: float = 0.0, color: str = "red", metal: bool = False
) -> Placed:
    """An object by hand."""
    return Placed(shape, color, "metal" if metal else "rubber", (x, y, z), yaw)


def made_layout(size: tuple[int, int] = SIZE) -> Layout:
    """Six objects, both materials: one in another, one on another, one in front of another; two views."""
    objects = (
        thing("cube_container:large", 1.2, -0.4, yaw=0.3, color="blue"),
        thing("cylinder:small", 1.2, -0.4, 0.075, color="purple", metal=True),
        thing("cube:medium", -1.0, 1.6, yaw=0.2),
        thing("mug:small", -1.0, 1.6, 0.9, yaw=1.0, color="green"),
        thing("cylinder:medium", 1.8, 2.2, color="cyan", metal=True),
        thing("rectangle_cylinder:medium", -1.2, -1.6, yaw=0.7, color="yellow", metal=True),
    )
    top = shot((0.0, 0.0, 13.0), name="top", focal=35.0, size=size)
    return layout_of(objects, shot(size=size), top)


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Finite floats of a range."""
    return st.floats(low, high)


@st.composite
def things(draw: st.DrawFn, shapes: Sequence[str] = SHAPES) -> Placed:
    """Any object anywhere on the table or a little above it; it may stand in another."""
    shape = f"{draw(st.sampled_from(shapes))}:{draw(st.sampled_from(list(SIZES)))}"
    place = (draw(numbers(-2.5, 2.5)), draw(numbers(-2.5, 2.5)), draw(st.one_of(st.just(0.0), numbers(0.0, 1.5))))
    color, material = draw(st.sampled_from(list(COLORS))), draw(st.sampled_from(OPAQUE))
    return Placed(shape, color, material, place, draw(numbers(-math.pi, math.pi)))


@st.composite
def cameras(draw: st.DrawFn, size: tuple[int, int] = SIZE) -> Shot:
    """A camera outside the objects, above, beside or among them; the horizon may be in view."""
    turn, away = draw(numbers(-math.pi, math.pi)), draw(numbers(5.5, 14.0))
    position = (away * math.cos(turn), away * math.sin(turn), draw(numbers(0.1, 13.0)))
    target = (draw(numbers(-2.0, 2.0)), draw(numbers(-2.0, 2.0)), draw(numbers(0.0, 2.0)))
    focal, aspect = draw(numbers(20.0, 80.0)), draw(st.sampled_from([1.0, 1.25]))
    return shot(position, target, focal=focal, size=size, aspect=aspect)


def layouts(
    most: int = 5, size: tuple[int, int] = SIZE, shapes: Sequence[str] = SHAPES
) -> st.SearchStrategy[Layout]:
    """Up to `most` things and one camera."""
    return st.builds(layout_of, st.lists(things(shapes), max_size=most), cameras(size))
