"""One chart of values over x: marks with error bars, lines that join them, bands and reference lines.

Scores by part, shares against a band, calibration and learning curves are all drawn by `xy_chart`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sightline.show.svg import (
    ACCENT,
    BASELINE,
    FIRST,
    INK,
    MUTED,
    PAPER,
    SECOND,
    document,
    element,
    hover,
    line,
    nothing,
    number,
    rect,
    short_names,
    shorten,
    text_line,
    text_width,
    ticks,
)
from sightline.show.table import known
from sightline.stats import Interval
from sightline.text import counted

Kind = Literal["model", "rival", "baseline", "human"]
"""Who scored: the model looked at closely, another one, a blind baseline, a person."""
Scale = Callable[[float], float]

FEWEST: Final = 5
"""Units behind a mark of a band or calibration chart, at least; a share of fewer would hide the others."""
_SMALL: Final = 10.5
"""Size of ticks and names."""
_NAMES: Final = 0.3
"""Share of the width for names on the right, at most."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a series is drawn: colour, widths of line and error bar, radius of the dots, opacity of the strokes."""

    colour: str
    line: float
    bar: float
    dot: float
    opacity: float = 1.0


_STYLES: Final[Mapping[str, Style]] = {
    "model": Style(ACCENT, 2.0, 3.0, 3.8, 0.55),
    "rival": Style(INK, 1.0, 1.5, 2.6, 0.45),
    "human": Style(INK, 1.0, 1.5, 2.6, 0.45),
    "baseline": Style(BASELINE, 1.0, 1.5, 2.6, 0.45),
}


@dataclass(frozen=True, slots=True)
class Point:
    """One mark: where it stands, the share there with its interval, and in words what it is of."""

    x: float
    value: Interval
    words: str


@dataclass(frozen=True, slots=True)
class Series:
    """Marks that belong together; values that are undefined are left out.

    Attributes:
        label: Named on the right, at the height of the last value; may be empty.
        points: In order of x.
        kind: Whose they are; decides the looks.
        style: The looks, if others.
    """

    label: str
    points: tuple[Point, ...]
    kind: Kind = "baseline"
    style: Style | None = None

    @property
    def values(self) -> tuple[Interval, ...]:
        """The values of all its marks."""
        return tuple(point.value for point in self.points)

    @property
    def looks(self) -> Style:
        """How it is drawn."""
        return self.style or _STYLES[self.kind]


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A straight reference line through the whole chart: its height at the left and the right end, and its name."""

    left: float
    right: float
    label: str = ""
    dashed: bool = False


def by_part(label: str, parts: Sequence[str], values: Sequence[Interval | None], kind: Kind = "baseline") -> Series:
    """Make a series of one value a part, for a chart with these `x_names`; None where there is no value."""
    named = zip(parts, values, strict=True)
    return Series(label, tuple(Point(i, v, part) for i, (part, v) in enumerate(named) if v is not None), kind)


def common_domain(values: Sequence[Interval | None]) -> tuple[float, float]:
    """Ends of a scale that holds all values and their intervals, from and to a round twentieth."""
    ends = [e for v in values if v is not None for e in (v.value, v.low, v.high) if math.isfinite(e)]
    if not ends:
        return 0.0, 1.0
    low, high = math.floor(20 * min(ends) - 1e-9) / 20, math.ceil(20 * max(ends) + 1e-9) / 20
    return max(0.0, low), min(1.0, high)


def xy_chart(
    series: Sequence[Series],
    *,
    title: str,
    y_domain: tuple[float, float] | None = None,
    y_ticks: Sequence[float] | None = None,
    y_unit: str = "",
    y_label: str = "",
    x_domain: tuple[float, float] | None = None,
    x_ticks: Sequence[tuple[float, str]] = (),
    x_names: Sequence[str] = (),
    x_label: str = "",
    joined: bool = True,
    spread: float = 6.0,
    band: tuple[float, float] | None = None,
    rules: Sequence[ReferenceLine] = (),
    unit: str = "scene",
    width: float = 440.0,
    height: float = 190.0,
) -> str:
    """Draw shares over x as SVG: a mark a value with its interval, on a vertical scale in per cent.

    Args:
        series: Drawn in this order, the last on top.
        title: What is shown, for readers that cannot see it.
        y_domain: Ends of the vertical scale, shares; by default `common_domain`. What lies outside is cut.
        y_ticks: Its figures; by default some round ones.
        y_unit: Put after each.
        y_label: What the shares are, above the chart.
        x_domain: Ends of the horizontal scale; by default the first and the last mark, or room for all `x_names`.
        x_ticks: (x, words) beneath it.
        x_names: Names of the parts 0, 1, …, instead of `x_domain` and `x_ticks`.
        x_label: What x is.
        joined: Whether x has an order, so that lines may join the marks.
        spread: How far apart marks of the same x stand at most, series by series.
        band: Shares between which the ground is tinted.
        rules: Reference lines.
        unit: What an interval counts, for the words on hover.
        width: Width of the drawing.
        height: Height of the plot within it.
    """
    points = [point for item in series for point in item.points if known(point.value)]
    if not points:
        return nothing(title, width)
    low, high = y_domain or common_domain([point.value for point in points])
    if x_names:
        x_domain, x_ticks = (-0.5, len(x_names) - 0.5), list(enumerate(x_names))
    first, last = x_domain or (min(p.x for p in points), max(p.x for p in points))
    marks = [(t, f"{100 * t:.0f}{y_unit}") for t in (ticks(low, high, 4) if y_ticks is None else y_ticks)]
    left = max(30.0, max((text_width(words, _SMALL) for _, words in marks), default=0.0) + 12)
    labels = [item.label for item in series] + [rule.label for rule in rules]
    named = [text_width(label, _SMALL, bold=True) for label in labels if label]
    right = width - (min(_NAMES * width, max(named) + 12) if named else 8.0)
    top = 28.0 if y_label else 12.0
    bottom = top + height

    def x(value: float) -> float:
        return left + (value - first) / ((last - first) or 1.0) * (right - left)

    def y(value: float) -> float:
        return bottom - (min(high, max(low, value)) - low) / ((high - low) or 1.0) * height

    body = [text_line(0, 11, shorten(y_label, width, 11), size=11, fill=MUTED)] if y_label else []
    if band is not None:
        top_edge, foot = y(band[1]), y(band[0])
        body.append(rect(left, top_edge, right - left, foot - top_edge, fill=SECOND, fill_opacity=0.14))
    room = (right - left) / len(x_names) if x_names else math.inf
    body += [tick_across(left, right, y(value), words) for value, words in marks]
    body += [tick_under(x(value), bottom + 15, shorten(words, room - 3, _SMALL)) for value, words in x_ticks]
    for rule in rules:
        colour, dashes = (MUTED, "3 3") if rule.dashed else (SECOND, None)
        body.append(line(left, y(rule.left), right, y(rule.right), stroke=colour, stroke_dasharray=dashes))
    apart = min(spread, room / (len(series) + 1))
    for i, item in enumerate(series):
        shift = apart * (i - (len(series) - 1) / 2)
        body.append(_series(item, lambda value, by=shift: x(value) + by, y, unit, joined=joined))  # type: ignore[misc]
    body += _end_names(series, rules, y, right + 8, bottom, width - right - 8)
    if x_label:
        name = shorten(x_label, right, _SMALL)
        body.append(text_line(right, bottom + 30, name, size=_SMALL, fill=MUTED, anchor="end"))
    return document(width, bottom + (36 if x_label else 22), title, _description(series, unit), *body)


def band_chart(
    points: Sequence[Point], *, epsilon: float, title: str, x_label: str = "step", width: float = 440.0
) -> str:
    """Draw shares, step by step, against the band 0.5 ± `epsilon`; marks whose interval misses it stand out."""
    shown = [p for p in points if known(p.value) and p.value.n >= FEWEST]
    last = max((p.x for p in shown), default=1.0)
    low, high = 0.5 - epsilon, 0.5 + epsilon
    outside = [math.isfinite(p.value.low) and (p.value.low > high or p.value.high < low) for p in shown]
    size = 2.4 if len(shown) > 30 else 3.4
    series = [
        Series("", tuple(p for p, out in zip(shown, outside, strict=True) if bool(out) == far), style=style)
        for far, style in ((False, Style(BASELINE, 0, 1.6, size, 0.5)), (True, Style(ACCENT, 0, 1.6, size, 0.5)))
    ]
    at = [(t, f"{t:.0f}") for t in ticks(1, max(last, 2), 7) if t == int(t) and 1 <= t <= last]
    return xy_chart(
        series,
        title=title,
        y_domain=(0.0, 1.0),
        y_ticks=(0.0, 0.25, 0.5, 0.75, 1.0),
        x_ticks=at,
        x_label=x_label,
        x_domain=(0.5, max(last, 1.0) + 0.5),
        band=(low, high),
        rules=[ReferenceLine(0.5, 0.5)],
        joined=False,
        spread=0.0,
        unit="image",
        width=width,
    )


def calibration_chart(
    points: Sequence[Point],
    *,
    title: str,
    x_label: str = "estimated, %",
    y_label: str = "",
    whole: bool = False,
    width: float = 440.0,
) -> str:
    """Draw shares against the chance estimated beforehand; a good estimate lies on the diagonal.

    Args:
        points: Estimate → share.
        title: Of the drawing.
        x_label: What the estimate is.
        y_label: What the share is, above the chart.
        whole: Both scales go from 0 to 100 %, as of charts that stand side by side.
        width: Of the drawing.
    """
    shown = [p for p in points if known(p.value) and p.value.n >= FEWEST]
    ends = [v for p in shown for v in (p.x, p.value.value)] or [0.5]
    low, high = max(0.0, math.floor(10 * min(ends) - 0.5) / 10), min(1.0, math.ceil(10 * max(ends) + 0.5) / 10)
    low, high = (0.0, 1.0) if whole else (low, high)
    at = [(t, f"{100 * t:.0f}") for t in ticks(low, high, 4)]
    series = Series("", tuple(shown), style=Style(ACCENT, 0, 1.6, 3.6, 0.5))
    return xy_chart(
        [series],
        title=title,
        y_domain=(low, high),
        x_domain=(low, high),
        x_ticks=at,
        x_label=x_label,
        y_label=y_label,
        rules=[ReferenceLine(low, high)],
        joined=False,
        unit="image",
        width=width,
    )


def learning_curve(curve: Mapping[str, Any]) -> str:
    """Draw scene accuracy with 95 % intervals after learning from more and more scenes.

    Scenes go along a logarithmic axis; the checkpoint as it was, 0 scenes, stands to the left of it. The dashed
    line is the commoner answer to each predicate.

    Args:
        curve: Of `sightline train curve`, as JSON has it.
    """
    points = sorted(curve["points"], key=lambda point: point["scenes"])
    at = _logarithms([point["scenes"] for point in points])
    looks = {"spatial": Style(FIRST, 1.5, 1.25, 3.4), "all": Style(INK, 2.5, 1.25, 3.4)}
    looks["geometric"] = Style(SECOND, 1.5, 1.25, 3.4)
    series = []
    for name, style in looks.items():
        scores = [(point["scenes"], Interval.from_dict(point["scene_accuracy"][name])) for point in points]
        series.append(Series(name, tuple(Point(at[n], v, counted(n, "scene")) for n, v in scores), style=style))
    blind = curve["majority"]["scene_accuracy"]["all"]["value"]
    lows = [v for item in series for p in item.points for v in (p.value.value, p.value.low) if math.isfinite(v)]
    low = max(0.0, math.floor(20 * min([blind, *lows]) - 0.2) / 20)
    pad = 0.05 * (max(at.values()) - min(at.values())) or 0.5
    return xy_chart(
        series,
        title="Scene accuracy on held-out scenes, 95 % intervals by scene",
        y_domain=(low, 1.0),
        y_ticks=ticks(low, 1.0),
        y_unit="%",
        y_label="scene accuracy on held-out scenes",
        x_domain=(min(at.values()) - pad, max(at.values()) + pad),
        x_ticks=[(at[n], f"{n:,}") for n in at],
        x_label="scenes learned from",
        rules=[ReferenceLine(blind, blind, "majority, all", dashed=True)],
        spread=3.0,
        height=220.0,
    )


def _logarithms(counts: Sequence[int]) -> dict[int, float]:
    """Where each number stands: by its logarithm, 0 one step to the left of the rest."""
    some = [math.log2(n) for n in counts if n]
    step = max((max(some) - min(some)) / max(1, len(some) - 1), 1.0) if some else 1.0
    return {n: math.log2(n) if n else (min(some) - step if some else 0.0) for n in counts}


def tick_across(left: float, right: float, y: float, words: str) -> str:
    """A rule across the chart with its figure on the left."""
    figure = text_line(left - 5, y + 3.5, words, size=_SMALL, fill=MUTED, anchor="end")
    return line(left, y, right, y, width=0.75) + figure


def tick_under(x: float, y: float, words: str) -> str:
    """A figure or a name beneath the chart."""
    return text_line(x, y, words, size=_SMALL, fill=MUTED, anchor="middle")


def _series(item: Series, x: Scale, y: Scale, unit: str, *, joined: bool) -> str:
    """A series' line, error bars and dots."""
    style, shown = item.looks, [p for p in item.points if known(p.value)]
    marks = []
    if joined and len(shown) > 1:
        path = "M" + " ".join(f"{number(x(p.x))} {number(y(p.value.value))}" for p in shown)
        stroke = {"stroke": style.colour, "stroke_width": style.line, "stroke_opacity": style.opacity}
        marks.append(element("path", d=path, fill="none", **stroke))
    for p in shown:
        at, low, high = x(p.x), p.value.low, p.value.high
        if math.isfinite(low + high):
            looks: dict[str, Any] = {"stroke_opacity": style.opacity, "stroke_linecap": "round"}
            marks.append(line(at, y(low), at, y(high), stroke=style.colour, width=style.bar, **looks))
        words = hover(f"{item.label + ', ' if item.label else ''}{p.words}: {_percent(p.value, unit)}")
        round_ = {"r": style.dot, "fill": style.colour, "stroke": PAPER, "stroke_width": 0.8}
        marks.append(element("circle", words, cx=at, cy=y(p.value.value), **round_))
    return element("g", *marks) if marks else ""


def _end_names(
    series: Sequence[Series], rules: Sequence[ReferenceLine], y: Scale, x: float, bottom: float, room: float
) -> list[str]:
    """Names at the height of the last values, pushed apart downwards, then up from the foot."""
    named = [(y(rule.right), rule.label, MUTED, False) for rule in rules if rule.label]
    for item in series:
        values = [p.value.value for p in item.points if known(p.value)]
        if item.label and values:
            colour = MUTED if item.looks.colour == BASELINE else item.looks.colour
            named.append((y(values[-1]), item.label, colour, item.kind == "model"))
    named.sort(key=lambda name: name[0])
    places: list[float] = []
    for place, *_ in named:
        places.append(max(place, places[-1] + 12 if places else place))
    for i in reversed(range(len(places))):
        places[i] = min(places[i], places[i + 1] - 12 if i + 1 < len(places) else bottom)
    shown = short_names([label for _, label, _, _ in named], room, _SMALL, bold=True)
    return [
        element("g", hover(label), text_line(x, place + 3.5, short, size=_SMALL, bold=bold, fill=colour))
        for place, short, (_, label, colour, bold) in zip(places, shown, named, strict=True)
    ]


def _percent(value: Interval, unit: str) -> str:
    limits = f" ({100 * value.low:.1f}–{100 * value.high:.1f})" if math.isfinite(value.low + value.high) else ""
    return f"{100 * value.value:.1f} %{limits}" + (f", {counted(value.n, unit)}" if value.n else "")


def _description(series: Sequence[Series], unit: str) -> str:
    """All marks in words."""
    said = []
    for item in series:
        marks = ", ".join(f"{p.words} {_percent(p.value, unit)}" for p in item.points if known(p.value))
        if item.label or marks:
            said.append(f"{item.label}: {marks or 'nothing'}" if item.label else marks)
    return "; ".join(said)
