"""Names and colours for the designated regions of a stream, so that questions can say "in the blue region"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

Rgb = tuple[int, int, int]
Box = tuple[float, float, float, float]

COLOURS: Final[dict[str, tuple[Rgb, str]]] = {
    "blue": ((47, 128, 237), "dodger_blue1"),
    "yellow": ((242, 183, 5), "yellow3"),
    "red": ((226, 61, 54), "red1"),
    "green": ((31, 158, 90), "green3"),
    "purple": ((150, 84, 222), "medium_purple1"),
    "orange": ((240, 122, 26), "dark_orange"),
    "cyan": ((10, 171, 189), "dark_turquoise"),
    "pink": ((232, 84, 160), "hot_pink"),
}
"""Name → as drawn, and as a terminal calls it; far apart, and strong enough on a light or a dark photo."""

STYLES: Final[dict[str, tuple[float, ...]]] = {"": (), "dashed": (9.0, 5.0), "dotted": (2.0, 4.0)}
"""Name → lengths drawn and left out along the border; the second and third round of the colours."""


@dataclass(frozen=True, slots=True)
class Hue:
    """How one region is named and drawn.

    Attributes:
        name: ``blue``, ``dashed blue``, ``dotted blue``, then ``blue 4`` and so on.
        rgb: The colour.
        style: The colour as a terminal calls it.
        dash: Lengths drawn and left out along its border; empty for a full line.
    """

    name: str
    rgb: Rgb
    style: str
    dash: tuple[float, ...] = ()

    @property
    def css(self) -> str:
        """The colour as a style sheet writes it."""
        return "#{:02x}{:02x}{:02x}".format(*self.rgb)


def hue(number: int) -> Hue:
    """The look of the region that is met as number so much, from 0; no two have the same name.

    >>> [hue(i).name for i in (0, 1, 8, 16, 24)]
    ['blue', 'yellow', 'dashed blue', 'dotted blue', 'blue 4']
    """
    around, at = divmod(number, len(COLOURS))
    name, (rgb, style) = [*COLOURS.items()][at]
    names = [*STYLES]
    if around < len(names):
        return Hue(f"{names[around]} {name}".strip(), rgb, style, STYLES[names[around]])
    return Hue(f"{name} {around + 1}", rgb, style)


def hues(regions: Iterable[Box | None]) -> dict[Box, Hue]:
    """A look for every region, in the order they are met; the whole image (None) needs none.

    >>> [(box, look.name) for box, look in hues([None, (0, 0, 1, 0.5), (0, 0, 1, 0.5)]).items()]
    [((0, 0, 1, 0.5), 'blue')]
    """
    met = dict.fromkeys(box for box in regions if box is not None)
    return {box: hue(i) for i, box in enumerate(met)}
