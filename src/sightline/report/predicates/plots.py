"""A small chart of scores by part: one column a part, one mark a model, intervals as thin bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sightline.report.charts import Kind, Scale
from sightline.show.svg import (
    ACCENT,
    BASELINE,
    INK,
    MUTED,
    PAPER,
    document,
    element,
    hover,
    line,
    nothing,
    number,
    shorten,
    text_line,
    ticks,
)
from sightline.show.table import known
from sightline.stats import Interval

_COLOURS: Final = {"model": ACCENT, "rival": INK}
_HEIGHT: Final = 150.0
_TOP: Final = 10.0
_LEFT: Final = 30.0
_NAMES: Final = 106.0
"""Room for the series' names on the right."""


@dataclass(frozen=True, slots=True)
class Series:
    """One model's scores, part by part; None or an undefined value where it has none."""

    label: str
    values: tuple[Interval | None, ...]
    kind: Kind = "baseline"


def part_chart(
    parts: Sequence[str],
    series: Sequence[Series],
    *,
    domain: tuple[float, float],
    title: str,
    joined: bool = True,
    width: float = 340.0,
) -> str:
    """Scores by part.

    Args:
        parts: Names of the columns.
        series: Drawn in this order, the last on top.
        domain: Ends of the scale, shares; all values must lie within.
        title: What is shown, for readers that cannot see it.
        joined: Whether the parts have an order, so that a line may join them.
        width: Width of the drawing.
    """
    if not parts or not any(known(v) for s in series for v in s.values):
        return nothing(title, width)
    low, high = domain
    right, bottom = width - _NAMES, _TOP + _HEIGHT
    step = (right - _LEFT) / len(parts)
    columns = [_LEFT + step * (i + 0.5) for i in range(len(parts))]

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * _HEIGHT

    body = []
    for tick in ticks(low, high, 4):
        body.append(line(_LEFT, y(tick), right, y(tick), width=0.75))
        body.append(text_line(_LEFT - 5, y(tick) + 3.5, f"{100 * tick:.0f}", size=10.5, fill=MUTED, anchor="end"))
    for x, part in zip(columns, parts, strict=True):
        name = shorten(part, step - 3, 10.5)
        body.append(text_line(x, bottom + 15, name, size=10.5, fill=MUTED, anchor="middle"))
    apart = min(6.0, step / (len(series) + 1))
    for i, own in enumerate(series):
        shift = apart * (i - (len(series) - 1) / 2)
        points = [
            (x + shift, part, v)
            for x, part, v in zip(columns, parts, own.values, strict=True)
            if v is not None and known(v)
        ]
        body.append(_drawn(own, points, y, joined=joined))
    body += _end_names(series, y, right + 8)
    said = "; ".join(f"{s.label}: {_said(parts, s)}" for s in series)
    return document(width, bottom + 22, title, said, *body)


def common_domain(series: Sequence[Series]) -> tuple[float, float]:
    """A scale that holds all values and their intervals, from and to a round twentieth."""
    ends = [
        e for s in series for v in s.values if v is not None for e in (v.value, v.low, v.high) if math.isfinite(e)
    ]
    if not ends:
        return 0.0, 1.0
    low, high = math.floor(20 * min(ends) - 1e-9) / 20, math.ceil(20 * max(ends) + 1e-9) / 20
    return max(0.0, low), min(1.0, high)


def _drawn(own: Series, points: Sequence[tuple[float, str, Interval]], y: Scale, *, joined: bool) -> str:
    colour, strong = _COLOURS.get(own.kind, BASELINE), own.kind == "model"
    marks = []
    if joined and len(points) > 1:
        path = "M" + " ".join(f"{number(x)} {number(y(v.value))}" for x, _, v in points)
        thick = 2.0 if strong else 1.0
        marks.append(element("path", d=path, fill="none", stroke=colour, stroke_width=thick, stroke_opacity=0.55))
    for x, part, v in points:
        if math.isfinite(v.low + v.high):
            bar: dict[str, Any] = {
                "stroke": colour,
                "stroke_opacity": 0.55 if strong else 0.4,
                "stroke_linecap": "round",
            }
            marks.append(line(x, y(v.low), x, y(v.high), width=3.0 if strong else 1.5, **bar))
        told = hover(f"{own.label}, {part}: {_percent(v)}")
        size = 3.8 if strong else 2.6
        marks.append(
            element("circle", told, cx=x, cy=y(v.value), r=size, fill=colour, stroke=PAPER, stroke_width=0.8)
        )
    return element("g", *marks) if marks else ""


def _end_names(series: Sequence[Series], y: Scale, x: float) -> list[str]:
    """The names at the height of their last values, pushed apart downwards, then up from the foot."""
    ends = [([v.value for v in s.values if v is not None and known(v)], s) for s in series]
    last = sorted(((y(values[-1]), s) for values, s in ends if values), key=lambda found: found[0])
    places: list[float] = []
    for place, _ in last:
        places.append(max(place, places[-1] + 12 if places else place))
    floor = _TOP + _HEIGHT
    for i in reversed(range(len(places))):
        places[i] = min(places[i], floor)
        floor = places[i] - 12
    return [
        text_line(
            x,
            place + 3.5,
            shorten(s.label, _NAMES - 8, 10.5),
            size=10.5,
            bold=s.kind == "model",
            fill={"model": ACCENT, "rival": INK}.get(s.kind, MUTED),
        )
        for place, (_, s) in zip(places, last, strict=True)
    ]


def _percent(value: Interval) -> str:
    limits = f" ({100 * value.low:.1f}–{100 * value.high:.1f})" if math.isfinite(value.low + value.high) else ""
    return f"{100 * value.value:.1f} %{limits}, {value.n:,} scenes"


def _said(parts: Sequence[str], series: Series) -> str:
    told = zip(parts, series.values, strict=True)
    return ", ".join(f"{part} {_percent(v)}" for part, v in told if v is not None and known(v)) or "nothing"
