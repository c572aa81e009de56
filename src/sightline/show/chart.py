"""Charts, each a self-contained SVG string: no script, no network, no dependencies.

All are drawn 440 units wide, so that 12-unit text still reads on a phone. Text is always escaped. A value that
is not a number is left out of the drawing and said in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.show.svg import (
    ACCENT,
    BASELINE,
    GROUND,
    INK,
    MUTED,
    PAPER,
    RULE,
    document,
    element,
    hover,
    line,
    nothing,
    number,
    on_shade,
    rect,
    shade,
    short_names,
    shorten,
    text_line,
    text_width,
    ticks,
)
from sightline.show.xy import Kind as Kind
from sightline.show.xy import Scale, tick_across, tick_under
from sightline.text import counted as number_of

WIDTH = 440.0
SMALL = 350.0
"""Width of a drawing of which three stand in a row, so that its text is no smaller than that of the others."""
CATEGORY_COLOURS = ("#23476e", "#c98a4b", "#a9bdb7", "#dfe3e6", "#8c5a7a", "#4f6b4a")
"""The first four grow ever lighter, so that the usual four labels stay apart in grey print."""
_ON_CATEGORY = ("#ffffff", "#0f141a", "#0f141a", "#0f141a", "#ffffff", "#ffffff")
_ABOVE = 11.5
"""Size of a name above its bar: of 60 letters about as wide as the drawing."""
_HALO: dict[str, Any] = {"stroke": PAPER, "stroke_width": 3, "paint_order": "stroke", "stroke_linejoin": "round"}
"""Keeps text that stands on a line readable."""
_GAP = 1.5
"""Between cells of a grid."""
_SLANTED = 44.0
"""Width of a column below which a name that is wider stands aslant."""


@dataclass(frozen=True, slots=True)
class DotRow:
    """One line of a dot-and-interval chart.

    Attributes:
        label: Who scored.
        value: The score; NaN where undefined (then `note` should say why).
        low: Lower end of the interval; NaN draws the dot alone. `high` likewise.
        kind: ``model`` is highlighted, ``rival`` is another model, ``baseline`` is grey, ``human`` hollow.
        note: A few words under the label.
    """

    label: str
    value: float
    low: float = math.nan
    high: float = math.nan
    kind: Kind = "baseline"
    note: str = ""


def dot_intervals(
    rows: Sequence[DotRow],
    *,
    domain: tuple[float, float] | None = None,
    reference_lines: Sequence[tuple[float, str]] = (),
    title: str = "Scores with 95 % intervals",
    digits: int = 3,
    width: float = WIDTH,
) -> str:
    """Draw scores as dots on one scale with their intervals as bars, the figures beside them.

    Args:
        rows: In the order drawn, top to bottom.
        domain: Ends of the scale; by default a little wider than everything drawn. What lies outside is cut
            at the edge and marked with an arrow.
        reference_lines: (value, short label), e.g. chance.
        title: What is shown, for readers that cannot see it.
        digits: Decimals of the figures.
        width: Width of the drawing.
    """
    if not rows:
        return nothing(title, width)
    low, high = domain or dot_domain(rows, reference_lines)
    widest = max(max(text_width(r.label, 12.5, bold=r.kind == "model"), text_width(r.note, 10)) for r in rows) + 6
    above = widest > 0.4 * width
    label_room = width if above else widest
    figure_room = max(text_width(_span(r, digits) or "undefined", 10) for r in rows) + 2
    left, right = 8.0 if above else label_room + 8, width - figure_room - 10
    step = 50.0 if above else 32.0
    top = 24.0 if reference_lines else 8.0
    bottom = top + step * len(rows)

    def x(value: float) -> float:
        return left + (min(high, max(low, value)) - low) / (high - low) * (right - left)

    at = ticks(low, high, 5)
    decimals = max((len(f"{t:.10f}".rstrip("0").split(".")[1]) for t in at), default=0)
    body = [_scale([(x(t), f"{t:.{decimals}f}") for t in at], top, bottom, bottom + 15)]
    for value, given in reference_lines:
        if low <= value <= high:
            body.append(line(x(value), top - 6, x(value), bottom, stroke=MUTED, stroke_dasharray="2 3"))
            name, side = shorten(given, (right - left) / 2, 10.5), _anchor(x(value), left, right)
            body.append(text_line(x(value), top - 11, name, size=10.5, fill=MUTED, anchor=side))
    names = short_names([row.label for row in rows], label_room, _ABOVE if above else 12.5)
    for i, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = top + step * (i + 0.5) + (10 if above else 0)
        body.append(_dot_label(row, name, y, label_room, above=above))
        body.append(_dot_row(row, y, x, (low, high), right + 10, digits))
    said = "; ".join(f"{r.label} {_figures(r, digits)}" for r in rows)
    return document(width, bottom + 22, title, said, *body)


def stacked_bars(
    rows: Mapping[str, Mapping[str, float]],
    *,
    categories: Sequence[str] | None = None,
    counts: Mapping[str, int] | None = None,
    title: str = "Label distribution",
    width: float = WIDTH,
) -> str:
    """Draw how each row's answers divide among categories: one bar a row, scaled to the row's own total.

    Args:
        rows: Label → category → share or count. What is not a number counts as nothing.
        categories: Their order, left to right; by default as met. At most six.
        counts: Label → how many cases stand behind the row, printed at the end of the bar.
        title: What is shown.
        width: Width of the drawing.
    """
    names = list(categories or dict.fromkeys(c for shares in rows.values() for c in shares))
    if len(names) > len(CATEGORY_COLOURS):
        raise ValueError(f"stacked_bars tells at most {len(CATEGORY_COLOURS)} categories apart, got {len(names)}")
    if not rows or not names:
        return nothing(title, width)
    label_room = min(0.4 * width, max(text_width(label, 12) for label in rows) + 6)
    count_room = max((text_width(f"{n:,}", 10.5) + 8 for n in (counts or {}).values()), default=0.0)
    left, right = label_room + 8, width - count_room
    legend, top = _legend(names, left if left < 0.3 * width else 0.0, width)
    body, said = [legend], []
    if counts:
        body.append(text_line(width, top - 6, "n", size=10.5, fill=MUTED, anchor="end", font_style="italic"))
    for i, (label, shares) in enumerate(rows.items()):
        y = top + 24 * i
        parts = [share if math.isfinite(share) else 0.0 for share in (shares.get(name, 0.0) for name in names)]
        total = sum(parts)
        body.append(text_line(label_room, y + 13.5, shorten(label, label_room, 12), anchor="end"))
        if total > 0:
            body.append(_segments(names, [p / total for p in parts], left, right, y, label))
        else:
            body.append(text_line(left, y + 13.5, "no data", size=11, fill=MUTED, font_style="italic"))
        if counts and label in counts:
            body.append(text_line(width, y + 13.5, f"{counts[label]:,}", size=10.5, fill=MUTED, anchor="end"))
        shown = [f"{n} {p / total:.0%}" for n, p in zip(names, parts, strict=True)] if total > 0 else ["no data"]
        said.append(f"{label}: {', '.join(shown)}")
    return document(width, top + 24 * len(rows), title, "; ".join(said), *body)


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    *,
    log: bool = False,
    title: str = "Frequencies",
    width: float = WIDTH,
) -> str:
    """Draw frequencies as horizontal bars with the figure at each end.

    Args:
        labels: One a bar, in the order drawn.
        values: Counts or other amounts ≥ 0; what is not a number is said so.
        log: Bar lengths by the logarithm, from 1 (or the power of ten below the smallest value above 0).
        title: What is shown.
        width: Width of the drawing.
    """
    if not labels:
        return nothing(title, width)
    drawn = [v for v in values if math.isfinite(v) and v > 0]
    top_value = max(drawn, default=1.0)
    floor = min(1.0, 10.0 ** math.floor(math.log10(min(drawn, default=1.0)))) if log else 0.0
    top_value = max(top_value, floor * 10) if log else top_value
    label_room = min(0.4 * width, max(text_width(label, 11.5) for label in labels) + 4)
    figure_room = max(text_width(_amount(v), 11) for v in values) + 8
    left, right = label_room + 8, width - figure_room

    def x(value: float) -> float:
        share = math.log(value / floor) / math.log(top_value / floor) if log else value / top_value
        return left + share * (right - left)

    bottom = 4 + 19.0 * len(labels)
    powers = [floor * 10.0**i for i in range(round(math.log10(top_value / floor) // 1) + 1)] if log else []
    body = [_scale([(x(t), _amount(t)) for t in powers], 2, bottom, bottom + 14)]
    for i, (label, value) in enumerate(zip(labels, values, strict=True)):
        y = 4 + 19.0 * i
        end, words = x(value) if math.isfinite(value) and value > 0 else left, hover(f"{label}: {_amount(value)}")
        body += [
            text_line(label_room, y + 12.5, shorten(label, label_room, 11.5), size=11.5, anchor="end"),
            rect(left, y + 2, max(0.0, end - left), 13, words, fill=CATEGORY_COLOURS[0]),
            text_line(end + 5, y + 12.5, _amount(value), size=11, fill=MUTED, **_HALO),
        ]
    body.append(line(left, 2, left, bottom, stroke=MUTED))
    said = "; ".join(f"{label} {_amount(v)}" for label, v in zip(labels, values, strict=True))
    return document(width, bottom + (20 if log else 2), title, said, *body)


def heat_grid(
    values: ArrayLike,
    counts: ArrayLike,
    row_labels: Sequence[str],
    col_labels: Sequence[str],
    title: str,
    *,
    row_name: str = "",
    col_name: str = "",
    domain: tuple[float, float] = (0.0, 1.0),
    digits: int = 2,
    width: float = WIDTH,
) -> str:
    """Draw a score in every cell of two binned properties, with the number of cases behind it.

    Args:
        values: (r, c) scores; NaN where undefined.
        counts: (r, c) cases behind each score; a cell with none is hatched, whatever its value.
        row_labels: r names, drawn top to bottom.
        col_labels: c names, drawn left to right.
        title: What is shown.
        row_name: What the rows are.
        col_name: What the columns are.
        domain: Values of the palest and the darkest cell.
        digits: Decimals printed.
        width: Width of the drawing.
    """
    score, n = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.int64)
    _check_shape(score, row_labels, col_labels)
    _check_shape(n, row_labels, col_labels)
    if not row_labels or not col_labels:
        return nothing(title, width)
    side = 18.0 if row_name else 0.0
    label_room = min(0.3 * width, max(text_width(label, 11) for label in row_labels))
    left = side + label_room + 8
    wide = min(84.0, (width - left) / len(col_labels))
    high = min(44.0, max(26.0, 0.72 * wide))
    widest = max(text_width(label, 11) for label in col_labels)
    slanted = widest > wide - 2 and wide < _SLANTED  # names that do not fit stand aslant
    head = min(84.0, 0.71 * widest + 6) if slanted else 12.0
    top = (18.0 if col_name else 0.0) + 6 + head
    middle: dict[str, Any] = {"size": 11, "anchor": "middle"}
    body, said = [], []
    if col_name:
        name = shorten(col_name, len(col_labels) * wide, 11)
        body.append(text_line(left + len(col_labels) * wide / 2, 12, name, fill=MUTED, **middle))
    if row_name:
        y, name = top + len(row_labels) * high / 2, shorten(row_name, len(row_labels) * high, 11)
        body.append(text_line(11, y, name, fill=MUTED, transform=f"rotate(-90 11 {number(y)})", **middle))
    for j, label in enumerate(col_labels):
        x = left + (j + 0.5) * wide
        if slanted:
            turn = f"rotate(-45 {number(x)} {number(top - 6)})"
            body.append(text_line(x, top - 6, shorten(label, 110.0, 11), size=11, transform=turn))
        else:
            body.append(text_line(x, top - 6, shorten(label, wide - 2, 11), **middle))
    for i, row in enumerate(row_labels):
        y = top + i * high
        body.append(text_line(left - 8, y + high / 2 + 4, shorten(row, label_room, 11), size=11, anchor="end"))
        for j, column in enumerate(col_labels):
            value, cases = float(score[i, j]), int(n[i, j])
            figure = _score(value, digits)
            said.append(f"{row}, {column}: {figure if cases else 'no cases'} (n = {cases:,})")
            share = (value - domain[0]) / (domain[1] - domain[0]) if cases > 0 else math.nan
            place = (left + j * wide, y, wide - _GAP, high - _GAP)
            body.append(_grid_cell(place, share, figure, f"{cases:,}", said[-1]))
    return document(width, top + len(row_labels) * high, title, "; ".join(said), *body)


def histogram(
    counts: Mapping[int, int],
    *,
    title: str,
    x_label: str,
    counted: str,
    width: float = WIDTH,
    height: float = 190.0,
) -> str:
    """Draw how often each whole number occurs, a bar a number or a few neighbours together, and the mean.

    Args:
        counts: Number → how often.
        title: What is shown.
        x_label: What the numbers count, e.g. ``questions``.
        counted: What has such a number, e.g. ``stream``.
        width: Width of the drawing.
        height: Height of the tallest bar.
    """
    if not counts:
        return nothing(title, width)
    bins = _bins(counts)
    left, right, top, tallest = 36.0, width - 8, 22.0, max(n for _, _, n in bins)
    bottom, step = top + height, (right - left) / len(bins)
    whole = [tick for tick in ticks(0, tallest, 4) if tick == int(tick)]
    body = [tick_across(left, right, bottom - tick / tallest * height, f"{tick:,.0f}") for tick in whole]
    every = max(1, math.ceil(len(bins) * 34 / (right - left)))
    for i, (first, last, n) in enumerate(bins):
        x, tall = left + step * i, n / tallest * height
        span = f"{first}" if first == last else f"{first}–{last}"
        words = hover(f"{span} {x_label}: {number_of(n, counted)}")
        wide = min(max(step - 1.6, 0.8), 40.0)
        body.append(rect(x + (step - wide) / 2, bottom - tall, wide, tall, words, fill=BASELINE))
        if i % every == 0:
            body.append(tick_under(x + step / 2, bottom + 15, str(first)))
    mean = sum(k * n for k, n in counts.items()) / sum(counts.values())
    at = left + (mean - bins[0][0] + 0.5) / (bins[-1][1] - bins[0][0] + 1) * (right - left)
    side, off = ("end", -5) if at > width * 0.7 else ("start", 5)
    body.append(line(at, top - 14, at, bottom, stroke=ACCENT, width=1.5))
    body.append(text_line(at + off, top - 6, f"mean {mean:.1f}", size=11, fill=ACCENT, anchor=side))
    body.append(text_line(right, bottom + 30, shorten(x_label, right, 10.5), size=10.5, fill=MUTED, anchor="end"))
    said = (
        f"mean {mean:.1f} {x_label} in {number_of(sum(counts.values()), counted)}, {min(counts)} to {max(counts)}"
    )
    return document(width, bottom + 36, title, said, *body)


def _dot_label(row: DotRow, name: str, y: float, room: float, *, above: bool) -> str:
    """Who scored, to the left of the scale, or above it where names are long; and a note."""
    strong = row.kind == "model"
    if above:  # set in colour, not in bold, which would need more room
        label = shorten(f"{name} ({row.note})" if row.note else name, room, _ABOVE, tail=0.4)
        return text_line(0, y - 18, label, size=_ABOVE, fill=ACCENT if strong else INK, **_HALO)
    label = text_line(room, y - 2 if row.note else y + 4, name, size=12.5, anchor="end", bold=strong)
    note = shorten(row.note, room, 10)
    return label + (text_line(room, y + 10.5, note, size=10, fill=MUTED, anchor="end") if note else "")


def _dot_row(row: DotRow, y: float, x: Scale, domain: tuple[float, float], figures_at: float, digits: int) -> str:
    colour = {"model": ACCENT, "rival": INK, "human": INK}.get(row.kind, BASELINE)
    strong = row.kind == "model"
    parts = [hover(f"{row.label}: {_figures(row, digits)}" + (f" ({row.note})" if row.note else ""))]
    if math.isfinite(row.value):
        parts += [_whisker(row, y, x, domain, colour), _mark(row, y, x, domain, colour)]
        span = _span(row, digits)
        parts.append(text_line(figures_at, y - 2 if span else y + 4, f"{row.value:.{digits}f}", bold=strong))
        parts.append(text_line(figures_at, y + 10.5, span, size=10, fill=MUTED) if span else "")
    else:
        parts.append(text_line(figures_at, y + 4, "undefined", size=10.5, fill=MUTED, font_style="italic"))
    return element("g", *parts)


def _whisker(row: DotRow, y: float, x: Scale, domain: tuple[float, float], colour: str) -> str:
    if not (math.isfinite(row.low) and math.isfinite(row.high)) or row.high < domain[0] or row.low > domain[1]:
        return ""
    # A band taller than the dot: an interval narrower than the dot still shows.
    left, right = x(row.low), x(row.high)
    bar = rect(left, y - 5.5, max(1.0, right - left), 11, rx=2, fill=colour, fill_opacity=0.3)
    for end, outside, way in ((row.low, row.low < domain[0], -1), (row.high, row.high > domain[1], 1)):
        bar += _arrow(x(end), y, way, colour) if outside else ""
    return bar


def _mark(row: DotRow, y: float, x: Scale, domain: tuple[float, float], colour: str) -> str:
    if not domain[0] <= row.value <= domain[1]:
        return _arrow(x(row.value), y, 1 if row.value > domain[1] else -1, colour)
    hollow = {"fill": PAPER, "stroke": colour, "stroke_width": 1.5} if row.kind == "human" else {"fill": colour}
    return element("circle", cx=x(row.value), cy=y, r=4.0 if row.kind == "model" else 3.2, **hollow)


def _arrow(x: float, y: float, way: int, colour: str) -> str:
    """A head at the edge of the scale: it goes on outside."""
    return element("path", d=f"M{number(x + 5 * way)} {number(y)}l{-6 * way} -4v8z", fill=colour)


def dot_domain(rows: Sequence[DotRow], reference_lines: Sequence[tuple[float, str]] = ()) -> tuple[float, float]:
    """Ends of a scale a little wider than all values, intervals and reference lines."""
    seen = [v for r in rows for v in (r.value, r.low, r.high)] + [v for v, _ in reference_lines]
    seen = [v for v in seen if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(seen), max(seen)
    pad = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    # A score cannot leave [0, 1]: do not draw room that means nothing.
    return (max(0.0, low - pad) if low >= 0 else low - pad, min(1.0, high + pad) if high <= 1 else high + pad)


def _scale(at: Sequence[tuple[float, str]], top: float, bottom: float, baseline: float) -> str:
    """Rules at these places, and what they stand for beneath them."""
    marks = [line(x, top, x, bottom, width=0.75) for x, _ in at]
    return "".join(marks + [tick_under(x, baseline, words) for x, words in at])


def _anchor(x: float, left: float, right: float) -> str:
    return "start" if x < left + 20 else "end" if x > right - 20 else "middle"


def _figures(row: DotRow, digits: int) -> str:
    if not math.isfinite(row.value):
        return "undefined"
    interval = f", {row.low:.{digits}f} to {row.high:.{digits}f}" if math.isfinite(row.low + row.high) else ""
    return f"{row.value:.{digits}f}{interval}"


def _span(row: DotRow, digits: int) -> str:
    """The interval as printed; empty where there is none."""
    return f"{row.low:.{digits}f}–{row.high:.{digits}f}" if math.isfinite(row.low + row.high) else ""


def _legend(names: Sequence[str], left: float, width: float) -> tuple[str, float]:
    """Colour keys in the bars' order, wrapped; and where the bars may start."""
    parts, x, y = [], left, 11.0
    for i, name in enumerate(names):
        room = text_width(name, 11.5) + 30
        if x > left and x + room > width:
            x, y = left, y + 18
        parts.append(rect(x, y - 9, 11, 11, fill=CATEGORY_COLOURS[i]))
        parts.append(text_line(x + 16, y + 1, shorten(name, width - left - 16, 11.5), size=11.5))
        x += room
    return "".join(parts), y + 12


def _segments(
    names: Sequence[str], shares: Sequence[float], left: float, right: float, y: float, label: str
) -> str:
    parts, x = [], left
    for i, (name, share) in enumerate(zip(names, shares, strict=True)):
        wide = share * (right - left)
        if wide > 0:
            words = hover(f"{label}: {name} {share:.1%}")
            parts.append(rect(x, y, max(0.0, wide - 0.75), 19, words, fill=CATEGORY_COLOURS[i]))
        if wide > 26:
            looks: dict[str, Any] = {"fill": _ON_CATEGORY[i], "anchor": "middle", "pointer_events": "none"}
            parts.append(text_line(x + wide / 2, y + 13.5, f"{100 * share:.0f}", size=10.5, **looks))
        x += wide
    return "".join(parts)


def _amount(value: float) -> str:
    """A count with thousands marked, another amount to three figures."""
    if not math.isfinite(value):
        return "no data"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def _grid_cell(place: tuple[float, float, float, float], share: float, figure: str, under: str, words: str) -> str:
    x, y, wide, high = place
    if not math.isfinite(share):
        hatch = element("path", d=_hatch(x, y, wide, high), stroke=RULE, stroke_width=1, fill="none")
        return element("g", hover(words), rect(*place, fill=GROUND), hatch)
    ink = on_shade(share)
    roomy = high >= 30 and wide >= text_width(under, 8.5) + 4
    size = 12.0 if wide >= 34 else 10.0
    parts = [
        hover(words),
        rect(*place, fill=shade(share)),
        text_line(x + wide / 2, y + high / 2 + (0.5 if roomy else 4), figure, size=size, fill=ink, anchor="middle"),
    ]
    if roomy:
        size, y = 8.5, y + high / 2 + 11
        parts.append(text_line(x + wide / 2, y, under, size=size, fill=ink, anchor="middle", opacity=0.85))
    return element("g", *parts)


def _hatch(x: float, y: float, wide: float, high: float, step: float = 6.0) -> str:
    """Diagonals over a rectangle, cut at its edges by arithmetic: clip paths would need ids unique to the page."""
    strokes = []
    offset = step / 2
    while offset < wide + high:
        x0, y0 = (x + offset, y) if offset <= wide else (x + wide, y + offset - wide)
        x1, y1 = (x, y + offset) if offset <= high else (x + offset - high, y + high)
        strokes.append(f"M{number(x0)} {number(y0)}L{number(x1)} {number(y1)}")
        offset += step
    return "".join(strokes)


def _score(value: float, digits: int) -> str:
    """Without the leading zero, which every cell would repeat; 'undefined' where there is no score."""
    if not math.isfinite(value):
        return "undefined"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _check_shape(grid: NDArray[Any], rows: Sequence[str], columns: Sequence[str]) -> None:
    if grid.size and grid.shape != (len(rows), len(columns)):
        raise ValueError(f"grid of shape {grid.shape} for {len(rows)} row and {len(columns)} column labels")


def _bins(counts: Mapping[int, int], most: int = 48) -> list[tuple[int, int, int]]:
    """(first, last, how many) of neighbouring numbers.

    >>> _bins({1: 2, 3: 1}), _bins({0: 1, 99: 1}, most=2)
    ([(1, 1, 2), (2, 2, 0), (3, 3, 1)], [(0, 49, 1), (50, 99, 1)])
    """
    first, last = min(counts), max(counts)
    size = math.ceil((last - first + 1) / most)
    starts = range(first, last + 1, size)
    return [(a, a + size - 1, sum(n for k, n in counts.items() if a <= k < a + size)) for a in starts]
