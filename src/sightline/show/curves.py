"""Curves and points in the unit square, and roses of directions, each a self-contained SVG string."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.show.chart import SMALL
from sightline.show.svg import (
    INK,
    MUTED,
    RULE,
    document,
    element,
    hover,
    line,
    nothing,
    shade,
    shorten,
    text_line,
    text_width,
)
from sightline.show.xy import tick_across, tick_under

ROSE: Final = 210.0
"""Width of a rose."""
COLOURS: Final = ("#23476e", "#c98a4b", "#4f6b4a", "#8c5a7a", "#b3392b", "#1f6f9f")
"""Of curves, by number."""
_MOST_POINTS: Final = 400
"""Points of a curve that are drawn; a screen shows no more."""


@dataclass(frozen=True)
class DrawnCurve:
    """A line in the unit square.

    Attributes:
        label: In the legend.
        x: (n,) rising, in [0, 1].
        y: (n,) in [0, 1].
        dashed: Drawn so.
        colour: Of `COLOURS`, by number.
    """

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    dashed: bool = False
    colour: int = 0


def curve_chart(
    curves: Sequence[DrawnCurve],
    *,
    title: str,
    x_label: str = "recall",
    y_label: str = "precision",
    width: float = SMALL,
) -> str:
    """Draw curves in the unit square, in per cent, with a legend under them."""
    drawn = [curve for curve in curves if len(curve.x)]
    if not drawn:
        return nothing(title, width)
    left, top, side = 36.0, 22.0, width - 48.0
    tall = 0.72 * side
    bottom = top + tall
    body = [text_line(0, 12, y_label, size=10.5, fill=MUTED)]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        body.append(tick_across(left, left + side, bottom - tick * tall, f"{100 * tick:.0f}"))
        body.append(tick_under(left + tick * side, bottom + 15, f"{100 * tick:.0f}"))
    body.append(text_line(left + side, bottom + 30, x_label, size=10.5, fill=MUTED, anchor="end"))
    for i, curve in enumerate(drawn):
        chosen = np.unique(np.linspace(0, len(curve.x) - 1, _MOST_POINTS).astype(int))
        spots = " ".join(
            f"{left + x * side:.1f},{bottom - y * tall:.1f}"
            for x, y in zip(curve.x[chosen], curve.y[chosen], strict=True)
        )
        colour = COLOURS[curve.colour % len(COLOURS)]
        looks = {"fill": "none", "stroke": colour, "stroke_width": 1.8, "stroke_linejoin": "round"}
        dash = {"stroke_dasharray": "5 3" if curve.dashed else None}
        body.append(element("polyline", hover(curve.label), points=spots, **looks, **dash))
        y = bottom + 46 + 16 * i
        body.append(line(left, y - 4, left + 22, y - 4, stroke=colour, width=2, **dash))
        body.append(text_line(left + 28, y, shorten(curve.label, side - 28, 11), size=11))
    said = "; ".join(f"{c.label}: {c.y[-1]:.2f} at {x_label} {c.x[-1]:.2f}" for c in drawn)
    return document(width, bottom + 40 + 16 * len(drawn), title, said, *body)


@dataclass(frozen=True)
class DrawnPoint:
    """A named point in the unit square; its colour goes from pale to dark with `share`, NaN for none."""

    label: str
    x: float
    y: float
    share: float = math.nan


def point_chart(
    points: Sequence[DrawnPoint],
    *,
    title: str,
    x_label: str,
    y_label: str,
    diagonal: bool = False,
    width: float = SMALL,
) -> str:
    """Draw named points in the unit square, in per cent; a name that would lie on another waits for the pointer.

    Args:
        points: Those with a place that is a number are drawn.
        title: What is shown.
        x_label: Of the horizontal axis.
        y_label: Of the vertical axis.
        diagonal: Also draw where both are equal.
        width: Of the drawing.
    """
    drawn = [point for point in points if math.isfinite(point.x) and math.isfinite(point.y)]
    if not drawn:
        return nothing(title, width)
    left, top, side = 36.0, 22.0, width - 48.0
    bottom = top + 0.8 * side
    body = [text_line(0, 12, shorten(y_label, width, 10.5), size=10.5, fill=MUTED)]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        body.append(tick_across(left, left + side, bottom - tick * 0.8 * side, f"{100 * tick:.0f}"))
        body.append(tick_under(left + tick * side, bottom + 15, f"{100 * tick:.0f}"))
    name = shorten(x_label, side, 10.5)
    body.append(text_line(left + side, bottom + 30, name, size=10.5, fill=MUTED, anchor="end"))
    if diagonal:
        body.append(line(left, bottom, left + side, top, stroke=MUTED, stroke_dasharray="3 3"))
    spots = [(left + point.x * side, bottom - point.y * 0.8 * side) for point in drawn]
    taken = [(x - 5, x + 5, y) for x, y in spots]
    for point, (x, y) in zip(drawn, spots, strict=True):
        words = f"{point.label}: {x_label} {100 * point.x:.0f}, {y_label} {100 * point.y:.0f}"
        colour = shade(point.share) if math.isfinite(point.share) else COLOURS[0]
        looks = {"fill": colour, "stroke": INK, "stroke_width": 0.7}
        body.append(element("circle", hover(words), cx=x, cy=y, r=4.2, **looks))
        room = text_width(point.label, 10) + 4
        start = x + 7 if x + 7 + room < width else x - 7 - room
        if not any(abs(y - v) < 10.5 and start < to and at < start + room for at, to, v in taken):
            taken.append((start, start + room, y))
            body.append(text_line(start, y + 3.5, point.label, size=10))
    said = "; ".join(f"{point.label} {100 * point.x:.0f}, {100 * point.y:.0f}" for point in drawn)
    return document(width, bottom + 36, title, f"{x_label}, {y_label}: {said}", *body)


def rose(counts: ArrayLike, *, title: str, counted: str = "objects", width: float = ROSE) -> str:
    """Draw how many things are seen from each of n directions: wedges round a circle, areas as the counts are.

    Direction 0, the front, is below, as the camera stands in front of the object; directions go counter-clockwise,
    so that 90° is on the right, where an object seen from above has its right-hand side (+x).

    Args:
        counts: (n,) by direction, the first centred on 0°.
        title: What is shown.
        counted: What is counted.
        width: Width of the drawing.
    """
    many = np.asarray(counts, dtype=np.float64)
    if not many.sum():
        return nothing(title, width)
    radius = width / 2 - 26
    cx, cy, n = width / 2, radius + 24, len(many)
    top = math.sqrt(many.max())
    body = []
    for share in (0.5, 1.0):
        ring = {"cx": cx, "cy": cy, "r": radius * math.sqrt(share), "fill": "none", "stroke": RULE}
        body.append(element("circle", **ring))
    for i, amount in enumerate(many.tolist()):
        first, last = (math.radians((i + side) * 360 / n) for side in (-0.5, 0.5))
        r = radius * math.sqrt(amount) / top
        (x0, y0), (x1, y1) = ((cx + r * math.sin(a), cy + r * math.cos(a)) for a in (first, last))
        wedge = f"M{cx:.1f} {cy:.1f}L{x0:.1f} {y0:.1f}A{r:.1f} {r:.1f} 0 0 0 {x1:.1f} {y1:.1f}Z"
        words = hover(f"{i * 360 / n:.0f}°: {amount:,.0f} of {many.sum():,.0f} {counted}")
        if amount:
            body.append(element("path", words, d=wedge, fill=COLOURS[0], fill_opacity=0.85, stroke="none"))
    for degrees in (0, 90, 180, 270):
        a = math.radians(degrees)
        x, y = cx + (radius + 13) * math.sin(a), cy + (radius + 13) * math.cos(a)
        body.append(text_line(x, y + 4, f"{degrees}°", size=10.5, fill=MUTED, anchor="middle"))
    share = many.max() / many.sum()
    note = f"{many.sum():,.0f} {counted}; fullest {100 * share:.0f} %"
    body.append(text_line(cx, cy + radius + 36, note, size=10.5, fill=INK, anchor="middle"))
    said = ", ".join(f"{i * 360 / n:.0f}° {amount:,.0f}" for i, amount in enumerate(many.tolist()))
    return document(width, cy + radius + 44, title, said, *body)
