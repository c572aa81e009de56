"""A layout: one invented scene before anything is drawn. What stands where, seen by which cameras, lit by what.

World: metres, right-handed, z up, the table's surface is z = 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.geometry.cameras import cross
from sightline.scenes.types import Camera
from sightline.worlds.surroundings import PLAIN, Surroundings

MOST_OBJECTS = 62
"""Objects a layout may hold: the renderers keep sets of them in the bits of one integer."""

How = Literal["independent", "contained", "supported"]
Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Placed:
    """One object of a layout.

    Attributes:
        shape: Name of its solid, ``cube_container:medium``.
        color: A key of `looks.COLORS`.
        material: A key of `looks.MATERIALS`.
        position: Middle of its base.
        yaw: Turn about z, radians, counter-clockwise seen from above.
        how: How it was placed.
        parent: Index of the object it stands in or on; −1 for the table.
    """

    shape: str
    color: str
    material: str
    position: Point
    yaw: float
    how: How = "independent"
    parent: int = -1

    def pose(self) -> NDArray[np.float64]:
        """Object→world, 4×4."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        x, y, z = self.position
        return np.array([(c, -s, 0, x), (s, c, 0, y), (0, 0, 1, z), (0, 0, 0, 1)], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Light:
    """A square that shines towards `target` from one side, evenly (Lambertian).

    Attributes:
        size: Side, metres.
        power: Watts of radiant flux as Blender means them: radiance = power / (π · size²).
        color: Linear RGB.
    """

    name: str
    position: Point
    size: float
    power: float
    target: Point = (0.0, 0.0, 0.0)
    color: Point = (1.0, 1.0, 1.0)

    def axes(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Unit vectors along its two sides and the way it shines; one side is level unless it points straight down.

        >>> Light("top", (0.0, 0.0, 16.0), 8.0, 1100.0).axes()[2]
        array([ 0.,  0., -1.])
        """
        normal = np.array(self.target, np.float64) - np.array(self.position, np.float64)
        normal /= np.linalg.norm(normal)
        up = np.array((0.0, 1.0, 0.0)) if abs(normal[2]) > 0.99 else np.array((0.0, 0.0, 1.0))
        u = np.array(cross(normal.tolist(), up.tolist()))
        u /= np.linalg.norm(u)
        return u, np.array(cross(normal.tolist(), u.tolist())), normal


@dataclass(frozen=True, slots=True)
class Sensor:
    """How one view is taken; the defaults change nothing. `render.sensor` applies it.

    Attributes:
        exposure: Stops: each doubles the light.
        red: Gain of red against green; `blue` likewise.
        shot: Standard deviation of the noise at radiance 1; its variance grows with the light.
        read: Standard deviation of the noise of black, in the unit of radiance.
        defocus: Radius of the disc that a point becomes, pixels.
        motion: Length of the line that a point becomes, pixels; along `angle`, degrees counter-clockwise.
        distortion: A thing at the radius r, in half diagonals, is seen where without it one at r (1 + d r²) were:
            positive for a barrel, negative for a cushion.
        jpeg: Quality, 1 to 95; 0 keeps the picture as it is.
        seed: Of the noise.
    """

    exposure: float = 0.0
    red: float = 1.0
    blue: float = 1.0
    shot: float = 0.0
    read: float = 0.0
    defocus: float = 0.0
    motion: float = 0.0
    angle: float = 0.0
    distortion: float = 0.0
    jpeg: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Shot:
    """A view to be taken: its name, camera and size (width, height) in pixels, and a sensor if it is not ideal."""

    name: str
    camera: Camera
    size: tuple[int, int] = (480, 320)
    sensor: Sensor | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """One invented scene.

    Attributes:
        world: Name of the world it comes from; with `seed` and `index` it can be made again.
        split: Split it belongs to.
        table: Albedo of the table, linear RGB; it is flat and without end.
        ambient: Radiance of a uniform sky, linear RGB, the same in all directions.
        left: Unit vector on the table: the original camera's left; `behind` points away from that camera.
        category: Which of its world's kinds of scenes it is; empty where there is but one.
        containment: Whether its world knows containing; if not, no label says that a thing could be inside another.
        surroundings: Regions of the ground that lie on the table, walls and sky.
    """

    world: str
    seed: int
    index: int
    split: str
    objects: tuple[Placed, ...]
    shots: tuple[Shot, ...]
    lights: tuple[Light, ...]
    table: Point
    ambient: Point
    left: tuple[float, float]
    behind: tuple[float, float]
    containment: bool = True
    category: str = ""
    surroundings: Surroundings = PLAIN

    def check_indices(self, indices: Sequence[int]) -> None:
        """A DataError for an index that is not of an object."""
        n = len(self.objects)
        if wrong := [index for index in indices if not 0 <= index < n]:
            raise DataError("no such object to take away", expected=f"0 … {n - 1}", found=wrong[0])

    def without(self, *gone: int) -> Layout:
        """The layout with objects taken away, by index, and everything else left where it is.

        What stood on or in such an object stays where it was, in the air if need be: a counterfactual changes
        nothing else.
        """
        kept = [i for i in range(len(self.objects)) if i not in gone]
        places = {old: new for new, old in enumerate(kept)} | {-1: -1}
        return replace(self, objects=tuple(_reparent(self.objects[i], places) for i in kept))


def _reparent(placed: Placed, places: Mapping[int, int]) -> Placed:
    if placed.parent not in places:
        return replace(placed, parent=-1, how="independent")
    return replace(placed, parent=places[placed.parent])
