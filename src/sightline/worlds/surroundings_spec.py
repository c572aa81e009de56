"""Ground, walls and sky as a world file says them, and how they are drawn scene by scene.

Wherever a number stands, ``[low, high]`` may stand: then every scene draws one between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np

from sightline.errors import DataError
from sightline.typed import As, OneOf, Unfit, Value
from sightline.worlds.surroundings import (
    PATTERNS,
    SKY,
    TABLE,
    GroundRegion,
    Pattern,
    PatternKind,
    RegionShape,
    Rgb3,
    Sky,
    Surroundings,
    Wall,
)

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]*")
_MOST_CLASSES: Final = 255
_MOST_REGIONS: Final = 32
_MOST_WALLS: Final = 7
_FAR: Final = 1000.0
PHOTOS: Final = (".jpg", ".jpeg", ".png", ".webp")
ENVIRONMENTS: Final = (".hdr",)

Span = tuple[float, float]
Rgbs = tuple[Rgb3, Rgb3]
_GREY: Final = (0.55, 0.55, 0.55)
_DARK: Final = (0.3, 0.3, 0.3)
_BLACK: Final = (0.0, 0.0, 0.0)


def _span(said: Any) -> Span:
    low, high = said if isinstance(said, tuple) else (said, said)
    if low > high:
        raise Unfit("range is empty", "a number, or [low, high] with low ≤ high")
    return low, high


def _within(least: float, most: float) -> Callable[[Span], Span]:
    def check(span: Span) -> Span:
        if not least <= span[0] <= span[1] <= most:
            raise Unfit("number out of range", f"{least:g} to {most:g}, or [low, high] within")
        return span

    return check


def _positive(span: Span) -> Span:
    if not 0.0 < span[0] <= span[1] <= _FAR:
        raise Unfit("number out of range", f"above 0 and at most {_FAR:g}, or [low, high] within")
    return span


def _colors(most: float) -> Callable[[Any], Rgbs]:
    def read(said: Any) -> Rgbs:
        ends = said if isinstance(said, list | tuple) and len(said) == 2 else (said, said)
        return _rgb(ends[0], most), _rgb(ends[1], most)

    return read


def _rgb(said: Any, most: float) -> Rgb3:
    parts = said if isinstance(said, list | tuple) else (said,) * 3
    plain = all(isinstance(p, int | float) and not isinstance(p, bool) and 0.0 <= p <= most for p in parts)
    if len(parts) != 3 or not plain:
        expected = f"[red, green, blue], each 0 to {most:g}, one number for grey, or [low, high] of such"
        raise Unfit("not a colour", expected)
    r, g, b = map(float, parts)
    return r, g, b


def _named(text: str) -> str:
    if not _NAME.fullmatch(text) or text == SKY:
        raise Unfit("not the name of a class", "letters, digits, spaces, - and _; not sky")
    return text


_Said = As(float | tuple[float, float])
Category = Annotated[str, _named]
Position = Annotated[Span, _Said, _span, _within(-_FAR, _FAR)]
Positive = Annotated[Span, _Said, _span, _positive]
Joint = Annotated[Span, _Said, _span, _within(0.0, 10.0)]
Share = Annotated[Span, _Said, _span, _within(0.0, 1.0)]
Angle = Annotated[Span, _Said, _span, _within(-360.0, 360.0)]
Albedo = Annotated[Rgbs, As(Any), _colors(1.0)]
Radiance = Annotated[Rgbs, As(Any), _colors(1e4)]
"""Linear RGB, one number for grey, or [low, high] of such."""


@dataclass(frozen=True, slots=True)
class PatternSpec:
    """A pattern before it is drawn; see `surroundings.Pattern`."""

    kind: Annotated[PatternKind, OneOf(PATTERNS, "pattern")] = "plain"
    color: Albedo = (_GREY, _GREY)
    second: Albedo = (_DARK, _DARK)
    scale: Positive = (0.5, 0.5)
    joint: Joint = (0.02, 0.02)
    contrast: Share = (0.2, 0.2)

    def draw(self, rng: np.random.Generator) -> Pattern:
        """Draw one pattern."""
        color, second = _mixed(self.color, rng), _mixed(self.second, rng)
        scale, joint, contrast = (_drawn(span, rng) for span in (self.scale, self.joint, self.contrast))
        return Pattern(self.kind, color, second, scale, min(joint, scale), contrast, int(rng.integers(1 << 20)))


@dataclass(frozen=True, slots=True)
class RegionSpec:
    """A region of the ground before it is drawn: `width` of a strip, rectangle or disc, `length` of a rectangle."""

    category: Category
    shape: RegionShape = "everything"
    position: tuple[Position, Position] = ((0.0, 0.0), (0.0, 0.0))
    turn: Angle = (0.0, 0.0)
    width: Positive = (1.0, 1.0)
    length: Positive = (1.0, 1.0)
    pattern: PatternSpec = PatternSpec()

    def draw(self, rng: np.random.Generator) -> GroundRegion:
        """Draw one region."""
        x, y = (_drawn(span, rng) for span in self.position)
        turn, width, length = (_drawn(span, rng) for span in (self.turn, self.width, self.length))
        extent = (width / 2, length / 2)
        return GroundRegion(self.category, self.shape, (x, y), math.radians(turn), extent, self.pattern.draw(rng))


@dataclass(frozen=True, slots=True)
class WallSpec:
    """A wall before it is drawn; see `surroundings.Wall`. Degrees and metres."""

    category: Category
    azimuth: Angle
    distance: Positive
    height: Positive = (_FAR, _FAR)
    pattern: PatternSpec = PatternSpec()

    def draw(self, rng: np.random.Generator) -> Wall:
        """Draw one wall."""
        azimuth, distance, height = (_drawn(span, rng) for span in (self.azimuth, self.distance, self.height))
        return Wall(self.category, math.radians(azimuth), distance, height, self.pattern.draw(rng))


@dataclass(frozen=True, slots=True)
class SkySpec:
    """A sky before it is drawn; `file` is a photo or Radiance file, or a folder of which every scene takes one."""

    kind: Literal["uniform", "gradient", "backdrop", "environment"]
    zenith: Radiance | None = None
    horizon: Radiance | None = None
    file: str | None = None
    turn: Angle = (0.0, 0.0)
    strength: Positive = (1.0, 1.0)

    def draw(self, rng: np.random.Generator) -> Sky:
        """Draw one sky."""
        zenith, horizon = (_mixed(c or (_BLACK, _BLACK), rng) for c in (self.zenith, self.horizon))
        turn, strength = _drawn(self.turn, rng), _drawn(self.strength, rng)
        files = pictures_of(self.file, self.kind) if self.file else ("",)
        return Sky(self.kind, zenith, horizon, files[int(rng.integers(len(files)))], math.radians(turn), strength)


@lru_cache(maxsize=64)
def pictures_of(place: str, kind: str) -> tuple[str, ...]:
    """The picture of a backdrop or environment, or all of a folder by name; a DataError where there is none."""
    suffixes = PHOTOS if kind == "backdrop" else ENVIRONMENTS
    path = Path(place)
    found = sorted(path.iterdir()) if path.is_dir() else [path]
    files = tuple(str(file) for file in found if file.suffix.lower() in suffixes and file.is_file())
    if not files:
        expected = f"a file or folder of {', '.join(suffixes)}"
        raise DataError(f"no picture of the {kind}", file=place, expected=expected)
    return files


@dataclass(frozen=True, slots=True)
class SurroundingsSpec:
    """Ground, walls and sky of a world."""

    ground: tuple[RegionSpec, ...] = ()
    walls: tuple[WallSpec, ...] = ()
    sky: SkySpec | None = None
    classes: tuple[str, ...] = (SKY, TABLE)

    def draw(self, rng: np.random.Generator) -> Surroundings:
        """Draw those of one scene."""
        ground = tuple(region.draw(rng) for region in self.ground)
        walls = tuple(wall.draw(rng) for wall in self.walls)
        return Surroundings(ground, walls, Sky() if self.sky is None else self.sky.draw(rng), self.classes)


NOTHING_AROUND: Final = SurroundingsSpec()


def read_surroundings(ground: Value, walls: Value, sky: Value) -> SurroundingsSpec:
    """Read the fields of a world file; a DataError that names file and field for what cannot be."""
    regions = _several(ground, RegionSpec, _MOST_REGIONS)
    planes = _several(walls, WallSpec, _MOST_WALLS)
    said = None if sky.value is None else _sky(sky)
    base = () if regions and regions[0].shape == "everything" else (TABLE,)
    names = tuple(dict.fromkeys((SKY, *base, *(part.category for part in (*regions, *planes)))))
    if len(names) > _MOST_CLASSES:
        ground.fail("too many classes", f"at most {_MOST_CLASSES}")
    return SurroundingsSpec(regions, planes, said, names)


def _several(value: Value, kind: Any, most: int) -> tuple[Any, ...]:
    if value.value is None:
        return ()
    parts = value.parts()
    if len(parts) > most:
        value.fail("too many parts", f"at most {most}")
    return tuple(part.read(kind) for part in parts)


def _sky(value: Value) -> SkySpec:
    read: SkySpec = value.read(SkySpec)
    needed = {"gradient": ("zenith", "horizon"), "backdrop": ("file",), "environment": ("file",)}
    for name in needed.get(read.kind, ()):
        if getattr(read, name) is None:
            raise DataError("field is missing", file=value.file, field=f"{value.path}.{name}")
    if read.file is not None:
        try:
            pictures_of(read.file, read.kind)
        except (DataError, OSError) as error:
            raise DataError(str(error), file=value.file, field=f"{value.path}.file") from error
    return read


def _drawn(span: Span, rng: np.random.Generator) -> float:
    """Draw a number even where there is no choice, so that one field's range does not move the next field's."""
    return span[0] + (span[1] - span[0]) * float(rng.random())


def _mixed(ends: Sequence[Rgb3], rng: np.random.Generator) -> Rgb3:
    share, (low, high) = float(rng.random()), ends
    r, g, b = (a + share * (z - a) for a, z in zip(low, high, strict=True))
    return r, g, b
