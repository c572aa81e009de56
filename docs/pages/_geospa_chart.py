"""Scores by split as grouped bars: majority, one view, two views, and in red what GeoSpa's text says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from sightline.show.svg import document, element, hover, line, text_line
from sightline.stats import Interval

COLOURS = ("#b9c0c8", "#c98a4b", "#23476e")
INK, MUTED, RULE, PAPER, SEED = "#1c232b", "#67707c", "#d9dde2", "#ffffff", "#b3392b"
WIDTH, HEIGHT, LEFT, TOP = 900.0, 170.0, 40.0, 34.0

Bars = Mapping[str, Sequence[Interval]]
"""Split → one score a series."""
Theirs = Mapping[str, tuple[float, float]]
"""Split → the figure of GeoSpa's text, from and to; shares."""


def chart(panels: Mapping[str, Bars], series: Sequence[str], theirs: Mapping[str, Theirs]) -> str:
    """A lone SVG on white paper, one panel below the other.

    Args:
        panels: Title → bars; all shares.
        series: Names of the bars of a split, in order.
        theirs: Title → what GeoSpa's text says.
    """
    body = [legend(series)]
    for i, (title, bars) in enumerate(panels.items()):
        body += panel(title, bars, series, theirs.get(title, {}), TOP + i * (HEIGHT + 62))
    height = TOP + len(panels) * (HEIGHT + 62)
    paper = element("rect", x=0.0, y=0.0, width=WIDTH, height=height, fill=PAPER)
    said = "; ".join(
        f"{title}, {split}: " + ", ".join(f"{n} {v.value:.3f}" for n, v in zip(series, values, strict=True))
        for title, bars in panels.items()
        for split, values in bars.items()
    )
    made = document(WIDTH, height, "Scores by split", said, paper, *body)
    return re.sub(r"\bcurrentColor\b", INK, made)


def legend(series: Sequence[str]) -> str:
    parts, x = [], LEFT
    for name, colour in zip(series, COLOURS, strict=True):
        parts.append(element("rect", x=x, y=8.0, width=12.0, height=12.0, fill=colour))
        parts.append(text_line(x + 17, 18.5, name, size=12.5, fill=INK))
        x += 40 + 7.2 * len(name)
    parts.append(element("rect", x=x, y=8.0, width=16.0, height=12.0, fill=SEED, fill_opacity=0.45))
    parts.append(text_line(x + 21, 18.5, "GeoSpa's text, 1 view: a figure, or from and to", size=12.5, fill=INK))
    return "".join(parts)


def panel(title: str, bars: Bars, series: Sequence[str], theirs: Theirs, top: float) -> list[str]:
    foot, step = top + 24 + HEIGHT, (WIDTH - LEFT - 8) / max(1, len(bars))

    def y(share: float) -> float:
        return foot - share * HEIGHT

    made = [text_line(LEFT, top + 10, title, size=13, fill=INK, bold=True)]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        made.append(line(LEFT, y(tick), WIDTH - 8, y(tick), stroke=RULE, width=0.75))
        made.append(text_line(LEFT - 6, y(tick) + 4, f"{100 * tick:.0f}", size=11, fill=MUTED, anchor="end"))
    wide = 0.8 * step / len(series)
    for i, (split, values) in enumerate(bars.items()):
        begin = LEFT + step * i + 0.1 * step
        for k, (name, value) in enumerate(zip(series, values, strict=True)):
            last = k == len(series) - 1
            made.append(bar(begin + k * wide, wide, value, y, COLOURS[k], f"{split}, {name}", last=last))
        if split in theirs:
            low, high = (y(end) for end in theirs[split])
            tall = max(2.5, low - high)
            made.append(
                element(
                    "rect",
                    x=begin + wide,
                    y=high - (1.25 if low == high else 0),
                    width=2 * wide,
                    height=tall,
                    fill=SEED,
                    fill_opacity=1 if low == high else 0.45,
                )
            )
        made.append(text_line(begin + 0.4 * step, foot + 17, split, size=11, fill=INK, anchor="middle"))
    return made


def bar(
    x: float, wide: float, value: Interval, y: Callable[[float], float], colour: str, words: str, *, last: bool
) -> str:
    if not math.isfinite(value.value):
        return ""
    told = hover(f"{words}: {100 * value.value:.1f} % ({100 * value.low:.1f}–{100 * value.high:.1f})")
    middle, top = x + wide / 2, y(value.value)
    parts = [
        element("rect", told, x=x, y=top, width=wide - 1, height=max(0.0, y(0.0) - top), fill=colour),
        line(middle, y(value.low), middle, y(value.high), stroke=INK, width=1.5),
    ]
    if last:
        figure = f"{100 * value.value:.1f}"
        parts.append(text_line(middle, y(value.high) - 4, figure, size=10.5, fill=INK, anchor="middle"))
    return element("g", *parts)
