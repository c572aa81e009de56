"""Charts that are grids: a score by two binned properties, and a confusion matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.show.svg import (
    GROUND,
    MUTED,
    RULE,
    document,
    element,
    hover,
    nothing,
    number,
    on_shade,
    shade,
    shorten,
    text_line,
    text_width,
)

_GAP = 1.5


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
    width: float = 440.0,
) -> str:
    """A score in every cell of two binned properties, with the number of cases behind it.

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
    shares = np.where((n > 0) & np.isfinite(score), (score - domain[0]) / (domain[1] - domain[0]), np.nan)
    figures = [[_score(v, digits) for v in row] for row in score]
    beneath = [[f"{c:,}" for c in row] for row in n]
    told = [
        f"{row_labels[i]}, {col_labels[j]}: {figures[i][j] if n[i, j] else 'no cases'} (n = {n[i, j]:,})"
        for i in range(len(row_labels))
        for j in range(len(col_labels))
    ]
    return _grid(shares, figures, beneath, told, row_labels, col_labels, title, row_name, col_name, width)


def confusion(
    matrix: ArrayLike,
    row_labels: Sequence[str],
    col_labels: Sequence[str],
    *,
    title: str = "Truth against answer",
    row_name: str = "truth",
    col_name: str = "answer",
    width: float = 440.0,
) -> str:
    """How often each truth (row) got each answer (column): the row's share in percent, the count beneath.

    Cells are shaded by share; a truth that never came up is hatched.
    """
    n = np.asarray(matrix, dtype=np.int64)
    _check_shape(n, row_labels, col_labels)
    totals = n.sum(axis=1, keepdims=True) if n.size else np.zeros((len(row_labels), 1))
    shares = np.divide(n, totals, out=np.full(n.shape, np.nan), where=totals > 0)
    figures = [[f"{100 * s:.0f} %" if math.isfinite(s) else "" for s in row] for row in shares]
    beneath = [[f"{c:,}" for c in row] for row in n]
    told = [
        f"{row_name} {row_labels[i]}, {col_name} {col_labels[j]}: {n[i, j]:,} of {int(totals[i, 0]):,}"
        for i in range(len(row_labels))
        for j in range(len(col_labels))
    ]
    return _grid(shares, figures, beneath, told, row_labels, col_labels, title, row_name, col_name, width)


def _grid(
    shares: NDArray[np.float64],
    figures: Sequence[Sequence[str]],
    beneath: Sequence[Sequence[str]],
    told: Sequence[str],
    row_labels: Sequence[str],
    col_labels: Sequence[str],
    title: str,
    row_name: str,
    col_name: str,
    width: float,
) -> str:
    rows, columns = len(row_labels), len(col_labels)
    if not rows or not columns:
        return nothing(title, width)
    side = 18.0 if row_name else 0.0
    label_room = min(0.3 * width, max(text_width(label, 11) for label in row_labels))
    left = side + label_room + 8
    wide = min(84.0, (width - left) / columns)
    high = min(44.0, max(26.0, 0.72 * wide))
    top = (18.0 if col_name else 0.0) + 18
    body = []
    if col_name:
        body.append(
            text_line(
                left + columns * wide / 2,
                12,
                shorten(col_name, columns * wide, 11),
                size=11,
                fill=MUTED,
                anchor="middle",
            )
        )
    if row_name:
        y = top + rows * high / 2
        turn = f"rotate(-90 11 {number(y)})"
        body.append(
            text_line(
                11, y, shorten(row_name, rows * high, 11), size=11, fill=MUTED, anchor="middle", transform=turn
            )
        )
    for j, label in enumerate(col_labels):
        name = shorten(label, wide - 2, 11)
        body.append(text_line(left + (j + 0.5) * wide, top - 6, name, size=11, anchor="middle"))
    for i, label in enumerate(row_labels):
        y = top + i * high
        name = shorten(label, label_room, 11)
        body.append(text_line(left - 8, y + high / 2 + 4, name, size=11, anchor="end"))
        for j in range(columns):
            place = (left + j * wide, y, wide - _GAP, high - _GAP)
            body.append(_cell(place, float(shares[i, j]), figures[i][j], beneath[i][j], told[i * columns + j]))
    return document(width, top + rows * high, title, "; ".join(told), *body)


def _cell(place: tuple[float, float, float, float], share: float, figure: str, beneath: str, told: str) -> str:
    x, y, wide, high = place
    if not math.isfinite(share):
        ground = element("rect", x=x, y=y, width=wide, height=high, fill=GROUND)
        hatch = element("path", d=_hatch(x, y, wide, high), stroke=RULE, stroke_width=1, fill="none")
        return element("g", hover(told), ground, hatch)
    ink = on_shade(share)
    roomy = high >= 30 and wide >= text_width(beneath, 8.5) + 4
    size = 12.0 if wide >= 34 else 10.0
    parts = [
        hover(told),
        element("rect", x=x, y=y, width=wide, height=high, fill=shade(share)),
        text_line(x + wide / 2, y + high / 2 + (0.5 if roomy else 4), figure, size=size, fill=ink, anchor="middle"),
    ]
    if roomy:
        small = text_line(
            x + wide / 2, y + high / 2 + 11, beneath, size=8.5, fill=ink, anchor="middle", opacity=0.85
        )
        parts.append(small)
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


def _check_shape(
    grid: NDArray[np.float64] | NDArray[np.int64], rows: Sequence[str], columns: Sequence[str]
) -> None:
    if grid.size and grid.shape != (len(rows), len(columns)):
        raise ValueError(f"grid of shape {grid.shape} for {len(rows)} row and {len(columns)} column labels")
