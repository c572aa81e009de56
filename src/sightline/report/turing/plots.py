"""Charts of the Turing card that no other card has: the yes rate against its band, calibration, stream lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sightline.show.svg import (
    ACCENT,
    BASELINE,
    MUTED,
    PAPER,
    SECOND,
    document,
    element,
    hover,
    line,
    nothing,
    text_line,
    ticks,
)
from sightline.show.table import known
from sightline.stats import Interval

WIDTH: Final = 440.0
_LEFT: Final = 36.0
_TOP: Final = 12.0
_HEIGHT: Final = 190.0
FEWEST: Final = 5
"""Images behind a mark, at least; a share of fewer says nothing and would hide those that do."""

Placing = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Point:
    """One mark: where it stands, what was found there, and in words what it is of."""

    x: float
    found: Interval
    words: str


def band_chart(points: Sequence[Point], *, epsilon: float, title: str, width: float = WIDTH) -> str:
    """Shares of yes, mark by mark, against the band 0.5 ± `epsilon`; marks whose interval misses it stand out."""
    shown = [p for p in points if known(p.found) and p.found.n >= FEWEST]
    if not shown:
        return nothing(title, width)
    last = max(p.x for p in shown)
    right, bottom = width - 8, _TOP + _HEIGHT

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + (x - 0.5) / max(last, 1.0) * (right - _LEFT), bottom - y * _HEIGHT

    low, high = 0.5 - epsilon, 0.5 + epsilon
    top = place(0.5, high)[1]
    band = element(
        "rect", x=_LEFT, y=top, width=right - _LEFT, height=2 * epsilon * _HEIGHT, fill=SECOND, fill_opacity=0.14
    )
    body = [
        band,
        *_shares(right),
        line(_LEFT, bottom - 0.5 * _HEIGHT, right, bottom - 0.5 * _HEIGHT, stroke=SECOND),
    ]
    for tick in ticks(1, max(last, 2), 7):
        if tick == int(tick) and 1 <= tick <= last:
            x, _ = place(tick, 0)
            body.append(text_line(x, bottom + 15, f"{tick:.0f}", size=10.5, fill=MUTED, anchor="middle"))
    small = 2.4 if len(shown) > 30 else 3.4
    for p in shown:
        out = math.isfinite(p.found.low) and (p.found.low > high or p.found.high < low)
        body.append(_mark(p, place, ACCENT if out else BASELINE, small))
    body.append(text_line(right, bottom + 30, "step", size=10.5, fill=MUTED, anchor="end"))
    said = "; ".join(f"{p.words} {_told(p.found)}" for p in shown)
    return document(width, bottom + 36, title, said, *body)


def calibration_chart(points: Sequence[Point], *, title: str, width: float = WIDTH) -> str:
    """Shares of yes against the chance estimated beforehand; a good estimate lies on the diagonal."""
    shown = [p for p in points if known(p.found) and p.found.n >= FEWEST]
    if not shown:
        return nothing(title, width)
    low, high = _span(shown)
    right, bottom = width - 8, _TOP + _HEIGHT

    def place(x: float, y: float) -> tuple[float, float]:
        share = (min(max(y, low), high) - low) / (high - low)
        return _LEFT + (x - low) / (high - low) * (right - _LEFT), bottom - share * _HEIGHT

    body = []
    for tick in ticks(low, high, 4):
        (x, _), (_, y) = place(tick, low), place(low, tick)
        body.append(line(_LEFT, y, right, y, width=0.75))
        body.append(text_line(_LEFT - 5, y + 3.5, f"{100 * tick:.0f}", size=10.5, fill=MUTED, anchor="end"))
        body.append(text_line(x, bottom + 15, f"{100 * tick:.0f}", size=10.5, fill=MUTED, anchor="middle"))
    body.append(line(*place(low, low), *place(high, high), stroke=SECOND, width=1.2))
    body += [_mark(p, place, ACCENT, 3.6) for p in shown]
    body.append(text_line(right, bottom + 30, "estimated, %", size=10.5, fill=MUTED, anchor="end"))
    said = "; ".join(f"{p.words} {_told(p.found)}" for p in shown)
    return document(width, bottom + 36, title, said, *body)


def length_chart(counts: Mapping[int, int], *, title: str, width: float = WIDTH) -> str:
    """How many streams have how many questions: a bar for so many questions, or for a few lengths together."""
    if not counts:
        return nothing(title, width)
    bins = _bins(counts)
    right, top, tallest = width - 8, _TOP + 10, max(n for _, _, n in bins)
    bottom = top + _HEIGHT
    step = (right - _LEFT) / len(bins)
    body = []
    for tick in ticks(0, tallest, 4):
        if tick == int(tick):
            y = bottom - tick / tallest * _HEIGHT
            body.append(line(_LEFT, y, right, y, width=0.75))
            body.append(text_line(_LEFT - 5, y + 3.5, f"{tick:,.0f}", size=10.5, fill=MUTED, anchor="end"))
    every = max(1, math.ceil(len(bins) * 34 / (right - _LEFT)))
    for i, (first, last, n) in enumerate(bins):
        x, tall = _LEFT + step * i, n / tallest * _HEIGHT
        span = f"{first}" if first == last else f"{first}–{last}"
        told = hover(f"{span} questions: {n:,} stream{'s' if n != 1 else ''}")
        body.append(
            element(
                "rect", told, x=x + 0.8, y=bottom - tall, width=max(step - 1.6, 0.8), height=tall, fill=BASELINE
            )
        )
        if i % every == 0:
            body.append(text_line(x + step / 2, bottom + 15, first, size=10.5, fill=MUTED, anchor="middle"))
    mean = sum(k * n for k, n in counts.items()) / sum(counts.values())
    at = _LEFT + (mean - bins[0][0] + 0.5) / (bins[-1][1] - bins[0][0] + 1) * (right - _LEFT)
    side, off = ("end", -5) if at > width * 0.7 else ("start", 5)
    body.append(line(at, top - 14, at, bottom, stroke=ACCENT, width=1.5))
    body.append(text_line(at + off, top - 6, f"mean {mean:.1f}", size=11, fill=ACCENT, anchor=side))
    body.append(text_line(right, bottom + 30, "questions", size=10.5, fill=MUTED, anchor="end"))
    said = f"mean {mean:.1f} questions in {sum(counts.values()):,} streams, {min(counts)} to {max(counts)}"
    return document(width, bottom + 36, title, said, *body)


def _bins(counts: Mapping[int, int], most: int = 48) -> list[tuple[int, int, int]]:
    """(first, last, how many) of neighbouring lengths.

    >>> _bins({1: 2, 3: 1}), _bins({0: 1, 99: 1}, most=2)
    ([(1, 1, 2), (2, 2, 0), (3, 3, 1)], [(0, 49, 1), (50, 99, 1)])
    """
    first, last = min(counts), max(counts)
    size = math.ceil((last - first + 1) / most)
    starts = range(first, last + 1, size)
    return [(a, a + size - 1, sum(n for k, n in counts.items() if a <= k < a + size)) for a in starts]


def _shares(right: float) -> list[str]:
    """Rules and figures of a scale from 0 to 100 per cent."""
    found = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _TOP + (1 - share) * _HEIGHT
        found.append(line(_LEFT, y, right, y, width=0.75))
        found.append(text_line(_LEFT - 5, y + 3.5, f"{100 * share:.0f}", size=10.5, fill=MUTED, anchor="end"))
    return found


def _mark(p: Point, place: Placing, colour: str, size: float) -> str:
    x, y = place(p.x, p.found.value)
    bar = ""
    if math.isfinite(p.found.low + p.found.high):
        ends = place(p.x, p.found.low)[1], place(p.x, p.found.high)[1]
        bar = line(x, ends[0], x, ends[1], stroke=colour, width=1.6, stroke_opacity=0.5)
    told = hover(f"{p.words}: {_told(p.found)}")
    return bar + element("circle", told, cx=x, cy=y, r=size, fill=colour, stroke=PAPER, stroke_width=0.8)


def _span(points: Sequence[Point]) -> tuple[float, float]:
    """A scale from and to a round tenth that holds all estimates and what was found."""
    ends = [v for p in points for v in (p.x, p.found.value)]
    return max(0.0, math.floor(10 * min(ends) - 0.5) / 10), min(1.0, math.ceil(10 * max(ends) + 0.5) / 10)


def _told(found: Interval) -> str:
    limits = f" ({100 * found.low:.0f}–{100 * found.high:.0f})" if math.isfinite(found.low + found.high) else ""
    return f"{100 * found.value:.1f} %{limits}, {found.n:,} images"
