"""A world: the recipe that scenes are invented by, as plain values. docs/howto/worlds.md tells every field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sightline.worlds.cooccurrence import Cooccurrence

Point = tuple[float, float, float]
InView = Literal["whole", "centre", "any"]


@dataclass(frozen=True, slots=True)
class CameraSpec:
    """A camera before jitter: it looks from `position` at `target` with `up` up in the picture.

    Attributes:
        focal_mm: Focal length for a sensor 32 mm wide.
        jitter: Every coordinate of the position moves by up to this, metres.
    """

    name: str
    position: Point
    focal_mm: float
    target: Point
    up: Point
    jitter: float


@dataclass(frozen=True, slots=True)
class LightSpec:
    """A light before jitter; see `layout.Light`."""

    name: str
    position: Point
    size: float
    power: float
    target: Point
    color: Point
    jitter: float


@dataclass(frozen=True, slots=True)
class Odds:
    """Weights of the three ways to place an object, for those that are possible."""

    independent: float
    contained: float
    supported: float


@dataclass(frozen=True, slots=True)
class World:
    """A recipe for scenes.

    Attributes:
        name: ``geospa/train``; name, seed and index make a scene again.
        split: Split its scenes belong to.
        about: One line.
        scenes: How many scenes make the set; None where nobody said.
        shapes: Shapes with their weights.
        objects: Fewest and most objects in a scene.
        distinct: No two objects of a scene agree in shape, size, colour and material.
        children: How many objects one object may hold or carry.
        depth: How many objects may stand in or on each other, the lowest not counted.
        area: x and y ranges on the table for the middle of an object, metres.
        in_view: How much of an object the original camera must have in its picture.
        gap: Free space between two objects at the same height, metres.
        clearance: Free space between a contained object and the walls, metres.
        stability: How far inside the hull of the contact a centre of mass stays, in half widths of the base.
        tries: Poses tried for one object on the table.
        attempts: Times a scene is begun anew before it counts as impossible.
        stream: Worlds with different streams share no scene, even with the same seed; 0 adds nothing to the seed.
        jitter: Factor on the jitter of all cameras and lights.
        resolution: Width and height in pixels.
        depth_tolerance: Two objects whose depths differ by at most this share of the smaller one are equally far.
        containment: Whether things are put into others; if not, the labels know no containing either.
        settings: All of the above as plain values; `world_from` makes the world from it again.
    """

    name: str
    split: str
    about: str
    scenes: int | None
    shapes: tuple[tuple[str, float], ...]
    sizes: tuple[str, ...]
    colors: tuple[str, ...]
    materials: tuple[str, ...]
    objects: tuple[int, int]
    distinct: bool
    odds: Odds
    children: int
    depth: int
    area: tuple[tuple[float, float], tuple[float, float]]
    in_view: InView
    gap: float
    clearance: float
    stability: float
    tries: int
    attempts: int
    stream: int
    table: Point
    ambient: Point
    resolution: tuple[int, int]
    jitter: float
    cameras: tuple[CameraSpec, ...]
    lights: tuple[LightSpec, ...]
    cooccurrence: Cooccurrence | None
    depth_tolerance: float
    containment: bool
    settings: Mapping[str, Any] = field(repr=False, compare=False)

    def solids(self) -> tuple[str, ...]:
        """Names of all solids a scene may hold, shapes first, then sizes.

        >>> from sightline.worlds import load_world
        >>> load_world("geospa/train").solids()[:3]
        ('cube:small', 'cube:medium', 'cube_container:small')
        """
        return tuple(f"{shape}:{size}" for shape, _ in self.shapes for size in self.sizes)
