"""What surrounds the objects of a layout: regions of the ground, walls and sky, as plain values.

World: metres, z up, the ground is z = 0. Angles are radians here and degrees in files. Colours are linear RGB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Rgb3 = tuple[float, float, float]

PatternKind = Literal["plain", "tiles", "planks", "asphalt", "grass", "cloth", "noise"]
PATTERNS: Final = get_args(PatternKind)
"""Kinds of pattern; kernels know a kind by its place in this list."""

RegionShape = Literal["everything", "half-plane", "strip", "rectangle", "disc"]
SKY: Final = "sky"
TABLE: Final = "table"
"""Classes of what every world has: the sky, and the ground where no region lies."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The colours of a surface as a function of the position on it, metres.

    Attributes:
        color: Of tiles, planks, blades, threads one way; `second` of joints, grains and threads the other way.
        scale: Side of a tile, width of a plank, size of a grain or check, metres.
        joint: Width of the joints between tiles and planks, metres.
        contrast: How much tiles, planks or patches differ in brightness, 0 to 1.
        seed: Of what is random in it.
    """

    kind: PatternKind = "plain"
    color: Rgb3 = (0.55, 0.55, 0.55)
    second: Rgb3 = (0.3, 0.3, 0.3)
    scale: float = 0.5
    joint: float = 0.0
    contrast: float = 0.0
    seed: int = 0


PLANK: Final = 8.0
"""Length of a plank in widths."""


def mean_colour(pattern: Pattern) -> Rgb3:
    """The colour of a pattern seen from afar."""
    j = pattern.joint / pattern.scale
    shares = {
        "plain": 0.0,
        "tiles": 1.0 - (1.0 - j) ** 2,
        "planks": 1.0 - (1.0 - j) * (1.0 - j / PLANK),
        "asphalt": 1.0 / 3.0,
    }
    share = shares.get(pattern.kind, 0.5)
    r, g, b = ((1.0 - share) * a + share * z for a, z in zip(pattern.color, pattern.second, strict=True))
    return r, g, b


@dataclass(frozen=True, slots=True)
class GroundRegion:
    """A part of the ground with a class and a pattern of its own; it lies over the regions before it.

    Attributes:
        category: Its class (stuff).
        shape: A half-plane is x ≥ 0, a strip |x| ≤ extent[0], a rectangle also |y| ≤ extent[1], a disc has the
            radius extent[0]: all in the region's own axes, which stand at `position`, turned by `turn`.
    """

    category: str
    shape: RegionShape
    position: tuple[float, float]
    turn: float
    extent: tuple[float, float]
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Wall:
    """An upright plane without ends to the sides, which faces the origin.

    Attributes:
        category: Its class (stuff).
        azimuth: Where it stands, seen from the origin: 0 is +x, counter-clockwise.
        distance: From the origin, metres.
        height: Where it ends, metres; the sky begins above.
        pattern: Its first axis runs to the right as one looks at it from the origin, the second upwards.
    """

    category: str
    azimuth: float
    distance: float
    height: float
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Sky:
    """What is seen above the ground.

    Attributes:
        kind: `uniform` has the layout's ambient radiance everywhere; `gradient` goes from `horizon` to `zenith`;
            `backdrop` shows a photo behind everything, lit by the ambient radiance; `environment` is a picture of
            all directions that also lights the scene.
        zenith: Radiance straight up; `horizon` of the level directions and below.
        file: The photo or Radiance file.
        turn: Of the environment about z, counter-clockwise seen from above.
        strength: Factor on the photo or environment.
    """

    kind: Literal["uniform", "gradient", "backdrop", "environment"] = "uniform"
    zenith: Rgb3 = (0.0, 0.0, 0.0)
    horizon: Rgb3 = (0.0, 0.0, 0.0)
    file: str = ""
    turn: float = 0.0
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Ground, walls and sky of a layout.

    Attributes:
        classes: Names of all classes of its world: class i of a stuff map is ``classes[i - 1]``, 0 is an object.
    """

    ground: tuple[GroundRegion, ...] = ()
    walls: tuple[Wall, ...] = ()
    sky: Sky = Sky()
    classes: tuple[str, ...] = (SKY, TABLE)

    @property
    def is_plain(self) -> bool:
        """Whether there is only the table under a uniform sky."""
        return not self.ground and not self.walls and self.sky.kind == "uniform"

    def number_of(self, category: str) -> int:
        """The number of a class in stuff maps."""
        return self.classes.index(category) + 1


PLAIN: Final = Surroundings()
"""The bare table under a uniform sky."""
