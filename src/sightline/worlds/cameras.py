"""Cameras as a world file says them: fixed ones, shaken a little, and ones drawn scene by scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple

import numpy as np

from sightline.geometry.cameras import Floats, centre, intrinsics, look_at, orbit
from sightline.scenes.types import Camera
from sightline.typed import Above, As, Least, Unfit
from sightline.worlds.layout import Point

InView = Literal["whole", "centre", "any"]

_LARGEST: Final = 1e9
_RANGE: Final = "a number, [low, high], or {values: [such…], weights: […]}"


@dataclass(frozen=True, slots=True)
class Distribution:
    """A number drawn scene by scene: one of several ranges by their weights, then evenly between its ends.

    Attributes:
        ranges: (low, high) each; a fixed value is a range without width.
        steps: Weights, summed up.
    """

    ranges: tuple[tuple[float, float], ...]
    steps: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest number that may be drawn."""
        return min(low for low, _ in self.ranges), max(high for _, high in self.ranges)

    def range_at(self, which: float) -> tuple[float, float]:
        """The range for a random number in [0, 1)."""
        return self.ranges[sum(step <= which * self.steps[-1] for step in self.steps[:-1])]

    def at(self, which: float, where: float) -> float:
        """The number for two random ones in [0, 1)."""
        low, high = self.range_at(which)
        return low + where * (high - low)


def _number(said: Any) -> float:
    if isinstance(said, bool) or not isinstance(said, int | float) or not -_LARGEST <= said <= _LARGEST:
        raise Unfit("neither a number nor a range", _RANGE)
    return float(said)


def _range(said: Any) -> tuple[float, float]:
    if not isinstance(said, list | tuple):
        return _number(said), _number(said)
    if len(said) != 2 or _number(said[0]) > _number(said[1]):
        raise Unfit("not a range", _RANGE)
    return _number(said[0]), _number(said[1])


def distribution(said: Any) -> Distribution:
    """The distribution that a value of a world file describes.

    >>> distribution({"values": [[-30, 30], 180], "weights": [3, 1]}).at(0.5, 0.5)
    0.0
    """
    if not isinstance(said, dict):
        return Distribution((_range(said),), (1.0,))
    values = said.get("values")
    if not isinstance(values, list | tuple) or not values or set(said) - {"values", "weights"}:
        raise Unfit("no list of values", _RANGE)
    weights = said.get("weights", [1.0] * len(values))
    if not isinstance(weights, list | tuple) or len(weights) != len(values):
        raise Unfit("not a weight for each value", _RANGE)
    if min(map(_number, weights)) < 0.0 or max(weights) == 0.0:
        raise Unfit("not weights of 0 or more, one of them above 0", _RANGE)
    ranges = zip(map(_range, values), weights, strict=True)
    drawn, above = zip(*(pair for pair in ranges if pair[1] > 0.0), strict=True)
    return Distribution(drawn, tuple(np.cumsum(above).tolist()))


def _within(least: float, most: float) -> Callable[[Distribution], Distribution]:
    def check(drawn: Distribution) -> Distribution:
        low, high = drawn.ends
        if low < least or high > most:
            raise Unfit("number out of range", f"{least:g} to {most:g}")
        return drawn

    return check


Drawn = Annotated[Distribution, As(Any), distribution]
Elevation = Annotated[Distribution, As(Any), distribution, _within(-90.0, 90.0)]
Distance = Annotated[Distribution, As(Any), distribution, _within(1e-3, 1e4)]
SceneShare = Annotated[Distribution, As(Any), distribution, _within(0.0, 1.0)]
FieldOfView = Annotated[Distribution, As(Any), distribution, _within(0.1, 170.0)]
_ZERO: Final = distribution(0.0)


class CameraStand(NamedTuple):
    """A camera of a scene: as it is held, as it would be held level, and where it stands."""

    held: Camera
    level: Camera
    eye: Point


@dataclass(frozen=True, slots=True)
class CameraSpec:
    """A camera before jitter: it looks from `position` at `target` with `up` up in the picture.

    Attributes:
        focal_mm: Focal length for a sensor 32 mm wide.
        jitter: Every coordinate of the position moves by up to this, metres.
    """

    name: str
    position: Point
    focal_mm: Annotated[float, Above(0.0)]
    target: Point = (0.0, 0.0, 0.0)
    up: Point = (0.0, 0.0, 1.0)
    jitter: Annotated[float, Least(0.0)] = 0.0

    def stand(self, factor: float, size: tuple[int, int], rng: np.random.Generator) -> CameraStand:
        """The camera of one scene, its jitter times `factor`."""
        eye = moved(self.position, self.jitter * factor, rng)
        camera = Camera(_k(self.focal_mm, size), _row(look_at(eye, self.target, self.up)))
        return CameraStand(camera, camera, eye)


@dataclass(frozen=True, slots=True)
class DrawnCameraSpec:
    """A camera drawn scene by scene: where it stands as seen from its target, and how it is held.

    Attributes:
        azimuth: Degrees; 0 is the front (−y), 90 the right side (+x).
        elevation: Degrees above the target, −90 to 90.
        distance: From the target, metres.
        field_of_view: Across the width of the picture, degrees.
        roll: Degrees by which what is seen turns counter-clockwise in the picture.
        target: x, y, z of the point it looks at, metres.
        offset: Of the principal point from the middle of the picture, in widths and heights.
        in_view: How much of an object it must have in its picture; None: as the world says.
    """

    name: str
    azimuth: Drawn
    elevation: Elevation
    distance: Distance
    field_of_view: FieldOfView
    roll: Drawn = _ZERO
    target: tuple[Drawn, Drawn, Drawn] = (_ZERO, _ZERO, _ZERO)
    offset: tuple[Drawn, Drawn] = (_ZERO, _ZERO)
    in_view: InView | None = None

    def lowest(self) -> float:
        """Height above the ground that it may get down to, metres."""
        return self.target[2].ends[0] + min(
            d * math.sin(math.radians(e)) for d in self.distance.ends for e in self.elevation.ends
        )

    def stand(self, _: float, size: tuple[int, int], rng: np.random.Generator) -> CameraStand:
        """The camera of one scene."""
        where = (self.azimuth, self.elevation, self.distance, self.field_of_view, self.roll)
        asked: Sequence[Distribution] = (*where, *self.target, *self.offset)
        draws = rng.random((len(asked), 2)).tolist()
        a, e, distance, fov, roll, x, y, z, right, down = (d.at(*u) for d, u in zip(asked, draws, strict=True))
        width, height = size
        focal = width / 2 / math.tan(math.radians(fov) / 2)
        k = (focal, 0.0, width * (0.5 + right), 0.0, focal, height * (0.5 + down), 0.0, 0.0, 1.0)
        held, level = (orbit(a, e, distance, (x, y, z), turn) for turn in (roll, 0.0))
        ex, ey, ez = centre(level).tolist()
        return CameraStand(Camera(k, _row(held)), Camera(k, _row(level)), (ex, ey, ez))


def _row(pose: Floats) -> tuple[float, ...]:
    return tuple(pose.ravel().tolist())


def moved(position: Point, jitter: float, rng: np.random.Generator) -> Point:
    """The position with every coordinate shaken by up to the jitter.

    Numbers are drawn even without jitter, so that one camera's does not move the next.
    """
    x, y, z = (p + jitter * (2.0 * u - 1.0) for p, u in zip(position, rng.random(3).tolist(), strict=True))
    return x, y, z


@lru_cache(maxsize=256)
def _k(focal_mm: float, size: tuple[int, int]) -> tuple[float, ...]:
    return tuple(intrinsics(focal_mm, *size).ravel().tolist())
