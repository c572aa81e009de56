"""Canonical views: small pictures of single objects, by which a model is asked about them.

Each object stands alone on the table under its world's lights, turned at random, seen by the original camera from
a random side. The lens is chosen so that the object fills its share of the square.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.geometry.cameras import look_at
from sightline.render.frames import Frame
from sightline.render.tones import RADIANCES, encoded
from sightline.scenes.types import Camera
from sightline.worlds.cameras import DrawnCameraSpec
from sightline.worlds.layout import Layout, Light, Placed, Shot
from sightline.worlds.looks import COLORS, MATERIALS, split_name
from sightline.worlds.looks import Identity as Identity

if TYPE_CHECKING:  # worlds are only imported where views are drawn: they need numba, those who read views do not
    from sightline.worlds import World
    from sightline.worlds.solids import Floats
    from sightline.worlds.spec import LightSpec

FILLS: Final = {"small": 0.5, "medium": 0.65, "largish": 0.725, "large": 0.8}
"""Share of the square's side that an object takes up. It grows with the size, so that a small cube and a large one
of the same look, which may stand in one scene, can be told apart."""

SIZE: Final = 32
"""Side of a view, pixels."""

_FINER = 4  # rendered so many times larger, then averaged

_LOWEST, _HIGHEST = 10.0, 80.0
"""Elevations that a drawn camera is kept between, degrees."""


class Draws(Protocol):
    """What can draw one view: `FastRenderer`, `BlenderRenderer`."""

    def frame(self, layout: Layout, shot: Shot, *, shade: bool = True) -> Frame:
        """The view."""


def canonical_views(
    objects: Sequence[Identity | Placed],
    *,
    count: int,
    size: int = SIZE,
    seed: int = 0,
    renderer: Draws | None = None,
    world: str | World = "geospa/train",
) -> NDArray[np.uint8]:
    """Views of objects, (objects, count, size, size, 3) uint8 sRGB.

    View number i of an object depends on the seed, the world and the object's shape, colour and material alone: not
    on the other objects, nor on `count`.

    Args:
        objects: What to draw; of a placed object only its look counts.
        count: Views of each.
        size: Side, pixels.
        seed: Of turns, sides and jitter.
        renderer: Draws; the fast back end by default.
        world: Whose original camera, lights and table.

    >>> canonical_views([("mug", "red", "rubber"), ("cube:small", "cyan", "metal")], count=3).shape
    (2, 3, 32, 32, 3)
    """
    from sightline.render.fast import FastRenderer
    from sightline.worlds import load_world

    draws = renderer or FastRenderer()
    known = load_world(world) if isinstance(world, str) else world
    views = np.empty((len(objects), _positive("count", count), _positive("size", size), size, 3), np.uint8)
    for of, thing in zip(views, objects, strict=True):
        layouts = canonical_layouts(thing, known, count=count, size=size, seed=seed)
        for i, layout in enumerate(layouts):
            of[i] = patch(draws.frame(layout, layout.shots[0]))
    return views


def canonical_layouts(
    thing: Identity | Placed, world: World, *, count: int, size: int = SIZE, seed: int = 0
) -> Iterator[Layout]:
    """The object alone, `count` times; each layout has one shot, several times finer than `size`: see `patch`."""
    from sightline.worlds.arrangement import directions

    shape, color, material = identity(thing)
    for number in range(count):
        rng = _stream(seed, (shape, color, material), number)
        yaw, azimuth = 2.0 * math.pi * rng.random(2)
        (x, y), offset, up = _original(world, rng)
        placed = Placed(shape, color, material, (x, y, 0.0), yaw)
        turn = _turn(azimuth)
        camera = _aimed(placed, turn @ offset, turn @ up, size * _FINER)
        left, behind = directions(camera)
        lights = tuple(_light(light, world.jitter, rng) for light in world.lights)
        shot = Shot("canonical", camera, (size * _FINER, size * _FINER))
        yield Layout(
            world.name, seed, number, "", (placed,), (shot,), lights, world.table, world.ambient, left, behind
        )


def _original(world: World, rng: np.random.Generator) -> tuple[tuple[float, float], Floats, Floats]:
    """Where the original camera looks at the table, where it stands as seen from there, and what is up for it.

    One that is drawn is kept above the object, with the ground in its picture.
    """
    original = world.cameras[0]
    if isinstance(original, DrawnCameraSpec):
        distance, elevation = (d.at(*rng.random(2).tolist()) for d in (original.distance, original.elevation))
        e = math.radians(min(max(elevation, _LOWEST), _HIGHEST))
        return (0.0, 0.0), distance * np.array((0.0, -math.cos(e), math.sin(e))), np.array((0.0, 0.0, 1.0))
    x, y, _ = original.target
    offset = np.subtract(original.position, original.target) + _jitter(rng, original.jitter * world.jitter)
    return (x, y), offset, np.array(original.up)


def patch(frame: Frame) -> NDArray[np.uint8]:
    """The view of a canonical layout's frame: averaged down in radiance, the tone curve undone."""
    assert frame.image is not None
    return shrunk(frame.image)


def shrunk(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture of a canonical layout at the size that was asked for."""
    side = len(image) // _FINER
    return encoded(RADIANCES[image].reshape(side, _FINER, side, _FINER, 3).mean(axis=(1, 3)))


def identity(thing: Identity | Placed) -> Identity:
    """Full name, colour and material of an object; a ConfigError for any that there is not.

    >>> identity(("mug", "red", "rubber"))
    ('mug:medium', 'red', 'rubber')
    """
    from sightline.worlds import solid

    shape, color, material = (thing.shape, thing.color, thing.material) if isinstance(thing, Placed) else thing
    for what, name, there in (("colour", color, COLORS), ("material", material, MATERIALS)):
        if name not in there:
            raise ConfigError(f"unknown {what} {name!r}; there are {', '.join(there)}")
    return solid(shape).name, color, material


def _positive(what: str, number: int) -> int:
    if number < 1:
        raise ConfigError(f"{what} of canonical views must be at least 1, not {number}")
    return number


def _stream(seed: int, look: Identity, number: int) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(look).encode()).digest()
    return np.random.default_rng([seed, number, *np.frombuffer(digest, "<u4").tolist()])


def _jitter(rng: np.random.Generator, reach: float) -> Floats:
    return np.asarray(reach * (2.0 * rng.random(3) - 1.0))


def _light(light: LightSpec, factor: float, rng: np.random.Generator) -> Light:
    x, y, z = (np.asarray(light.position) + _jitter(rng, light.jitter * factor)).tolist()
    return Light(light.name, (x, y, z), light.size, light.power, light.target, light.color)


def _turn(azimuth: float) -> Floats:
    c, s = math.cos(azimuth), math.sin(azimuth)
    return np.array([(c, -s, 0), (s, c, 0), (0, 0, 1)], np.float64)


def _aimed(placed: Placed, offset: Floats, up: Floats, side: int) -> Camera:
    """A camera `offset` from the object's middle, whose lens makes the object fill its share of the picture."""
    from sightline.worlds import solid

    built = solid(placed.shape)
    middle = np.add(placed.position, (0.0, 0.0, built.height / 2))
    pose = look_at(middle + offset, middle, up)
    corners: Floats = np.column_stack((built.vertices.astype(np.float64), np.ones(len(built.vertices))))
    seen = corners @ placed.pose().T @ pose.T
    if seen[:, 2].min() <= 0.0:
        raise DataError("the original camera is too close to see the object whole", found=placed.shape)
    rays = seen[:, :2] / seen[:, 2:]
    low, high = rays.min(axis=0), rays.max(axis=0)
    focal = FILLS[split_name(placed.shape)[1]] * side / float((high - low).max())
    cx, cy = (side / 2 - focal * (low + high) / 2).tolist()
    return Camera((focal, 0.0, cx, 0.0, focal, cy, 0.0, 0.0, 1.0), tuple(pose.ravel().tolist()))
