"""A small picture to draw on with smooth edges: shapes three times as large, scaled down, then the words on top."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont

from sightline.report.contact.colours import DARK, INK, Rgb
from sightline.report.contact.outlines import Loop

FINE: Final = 3
_SPELLED: Final = str.maketrans({"×": "x", "–": "-", "—": "-", "−": "-", "’": "'", "‘": "'", "→": ">", "ß": "ss"})

Point = tuple[float, float]


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """Pillow's own letters, in pixels, so that a sheet looks the same everywhere."""
    made = ImageFont.load_default(size)
    assert isinstance(made, ImageFont.FreeTypeFont)  # Pillow is built with FreeType wherever wheels are
    return made


def spell(text: str) -> str:
    """The text in letters the font has: accents dropped, anything else a question mark.

    >>> spell("café – 3×4"), spell("猫")
    ('cafe - 3x4', '?')
    """
    plain = unicodedata.normalize("NFKD", text.translate(_SPELLED))
    return "".join(c if " " <= c <= "~" or c in "·…" else "?" for c in plain if not unicodedata.combining(c))


def width_of(text: str, size: int) -> float:
    """Pixels a line takes."""
    return font(size).getlength(spell(text))


def cut(text: str, size: int, room: float) -> str:
    """The line, ended by an ellipsis where it is wider than the room.

    >>> cut("a rather long name", 14, 60)
    'a rather…'
    """
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def write(
    draw: ImageDraw.ImageDraw, place: Point, text: str, size: int, ink: Rgb = INK, anchor: str = "ls"
) -> None:
    """A line of text; anchors are Pillow's: ``ls`` is the left end of the baseline, ``mm`` the middle."""
    draw.text(place, spell(text), fill=ink, font=font(size), anchor=anchor)


class Canvas:
    """Shapes and words over a base picture, in its pixels."""

    def __init__(self, base: Image.Image) -> None:
        self.size = base.size
        self._fine = base.resize((base.width * FINE, base.height * FINE), Image.Resampling.NEAREST)
        self._draw = ImageDraw.Draw(self._fine)
        self._words: list[tuple[Point, str, int, Rgb]] = []

    def finish(self) -> Image.Image:
        """The picture."""
        done = self._fine.reduce(FINE)
        draw = ImageDraw.Draw(done)
        for place, text, size, ink in self._words:
            write(draw, place, text, size, ink, "mm")
        return done

    def fill(self, loops: Sequence[Loop], colour: Rgb, opacity: float) -> None:
        """A wash over what the loops enclose."""
        frame = self._frame(loops)
        self._fine.paste(colour, frame, _region(loops, frame).point(lambda v: round(v * opacity)))

    def hatch(self, loops: Sequence[Loop], without: Sequence[Loop], colour: Rgb, *, gap: int = 7) -> None:
        """Slanting lines over what the loops enclose, less what the others do."""
        frame = self._frame(loops)
        region = ImageChops.subtract(_region(loops, frame), _region(without, frame))
        stripes = _stripes(self._fine.size, gap * FINE).crop(frame)
        self._fine.paste(colour, frame, ImageChops.multiply(region, stripes))

    def _frame(self, loops: Sequence[Loop]) -> tuple[int, int, int, int]:
        """Whole pixels around the loops, within the picture; never empty."""
        low, high = (f([f(loop, axis=0) for loop in loops], axis=0) * FINE for f in (np.min, np.max))
        x0, y0 = (min(max(0, math.floor(v)), side - 1) for v, side in zip(low, self._fine.size, strict=True))
        x1, y1 = (min(math.ceil(v) + 1, side) for v, side in zip(high, self._fine.size, strict=True))
        return x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)

    def line(self, points: Iterable[Point] | Loop, colour: Rgb, width: float, *, closed: bool = False) -> None:
        """A smooth line through the points."""
        drawn = _fine(points)
        self._draw.line(
            [*drawn, drawn[0]] if closed else drawn, fill=colour, width=round(width * FINE), joint="curve"
        )

    def dashes(self, loop: Loop, colour: Rgb, width: float, *, dash: float = 6.0, gap: float = 4.0) -> None:
        """A closed dashed line."""
        for part in dashed(loop, dash, gap):
            self.line(part, colour, width)

    def rectangle(
        self, box: tuple[float, float, float, float], colour: Rgb, width: float, *, rim: bool = True
    ) -> None:
        """An outlined box, on a thin dark rim so that it stands out from any picture."""
        for ink, wide in ((DARK, width + 1.0), (colour, width)) if rim else ((colour, width),):
            half = wide / 2
            edges = [v * FINE for v in (box[0] - half, box[1] - half, box[2] + half, box[3] + half)]
            self._draw.rectangle(edges, outline=ink, width=round(wide * FINE))

    def arrow(self, start: Point, end: Point, colour: Rgb, *, bend: float = 0.12) -> None:
        """A bent arrow on a dark rim; bent so that there and back do not lie on each other."""
        curve = bent(start, end, bend)
        if len(curve) < 2:
            return
        (x, y), tip = curve[-3], curve[-1]
        turn = math.atan2(tip[1] - y, tip[0] - x)
        for ink, wide, long in ((DARK, 5.0, 12.5), (colour, 2.6, 10.5)):
            back = [(tip[0] - long * math.cos(turn + s), tip[1] - long * math.sin(turn + s)) for s in (-0.45, 0.45)]
            self.line(curve[:-2], ink, wide)
            nose = (tip[0] + (wide / 4) * math.cos(turn), tip[1] + (wide / 4) * math.sin(turn))
            self._draw.polygon(_fine([*back, nose]), fill=ink)

    def dot(self, place: Point, text: str, colour: Rgb, *, size: int = 12) -> None:
        """A disc with a short text."""
        radius = max(9.0, width_of(text, size) / 2 + 4.5)
        for ink, r in ((DARK, radius + 1.25), (colour, radius)):
            x, y = place
            self._draw.ellipse([v * FINE for v in (x - r, y - r, x + r, y + r)], fill=ink)
        self._words.append((place, text, size, DARK))

    def chip(self, corner: Point, text: str, colour: Rgb, *, size: int = 12) -> None:
        """A filled label with its top left corner at a place."""
        x, y = corner
        wide, high = chip_size(text, size)
        self._draw.rounded_rectangle([v * FINE for v in (x, y, x + wide, y + high)], 3 * FINE, fill=colour)
        self._words.append(((x + wide / 2, y + high / 2), text, size, DARK))


def chip_size(text: str, size: int = 12) -> Point:
    """(width, height) of a chip, pixels."""
    return width_of(text, size) + 9, size + 5.0


def dashed(loop: Loop, dash: float, gap: float) -> list[Loop]:
    """Pieces of a closed line, `dash` long with `gap` between, stretched a little so that they come out even.

    >>> [part.round(3).tolist() for part in dashed(np.array([(0.0, 0), (4, 0), (4, 4), (0, 4)]), 4, 4)]
    [[[0.0, 0.0], [4.0, 0.0]], [[4.0, 4.0], [0.0, 4.0]]]
    """
    closed = np.vstack((loop, loop[:1]))
    way = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))))
    count = max(1, round(way[-1] / (dash + gap)))
    step = way[-1] / count
    parts = []
    for k in range(count):
        ends = np.array([k * step, k * step + step * dash / (dash + gap)])
        stops = np.concatenate((ends[:1], way[(way > ends[0]) & (way < ends[1])], ends[1:]))
        parts.append(np.column_stack([np.interp(stops, way, closed[:, axis]) for axis in (0, 1)]))
    return parts


def bent(start: Point, end: Point, bend: float, *, clear: float = 12.0) -> list[Point]:
    """Points of an arc from start to end that keeps `clear` pixels off both; empty where they are too close."""
    (x0, y0), (x1, y1) = start, end
    long = math.hypot(x1 - x0, y1 - y0)
    if long < 2 * clear + 6:
        return []
    middle = ((x0 + x1) / 2 - bend * (y1 - y0), (y0 + y1) / 2 + bend * (x1 - x0))
    shares = np.linspace(clear / long, 1 - clear / long, 24)
    return [
        (
            (1 - t) ** 2 * x0 + 2 * t * (1 - t) * middle[0] + t * t * x1,
            (1 - t) ** 2 * y0 + 2 * t * (1 - t) * middle[1] + t * t * y1,
        )
        for t in shares.tolist()
    ]


def _fine(points: Iterable[Point] | Loop) -> list[Point]:
    return [(float(x) * FINE, float(y) * FINE) for x, y in points]


def _region(loops: Sequence[Loop], frame: tuple[int, int, int, int]) -> Image.Image:
    """White where the loops enclose, by the even-odd rule, of a part of the picture."""
    size = (frame[2] - frame[0], frame[3] - frame[1])
    region = Image.new("1", size)
    for loop in loops:
        part = Image.new("1", size)
        ImageDraw.Draw(part).polygon([(x - frame[0], y - frame[1]) for x, y in _fine(loop)], fill=1)
        region = ImageChops.logical_xor(region, part)
    return region.convert("L")


@cache
def _stripes(size: tuple[int, int], gap: int) -> Image.Image:
    y, x = np.mgrid[: size[1], : size[0]]
    return Image.fromarray(np.where((x + y) % gap < gap * 0.34, 255, 0).astype(np.uint8))
