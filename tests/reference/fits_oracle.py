"""Fitting by trying: every position of a grid, every turn of a grid, corners checked one by one.

A curved body stands as a polygon on its curve and positions are coarse, so the answers are near the truth, not on
it: `GRAIN` bounds what a pose between two tried ones can gain, for regions of half extent at most 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sightline.worlds.solids import Outline

Floats = NDArray[np.float64]

TURNS, PLACES, LINES, CORNERS = 36, 25, 72, 48
GRAIN = 0.12


def inside(outer: Outline, points: Floats) -> NDArray[np.bool_]:
    """Which points lie in `outer`; equality does."""
    x, y = points[..., 0], points[..., 1]
    a, b = outer.half
    if outer.kind == "box":
        return (np.abs(x) <= a + 1e-9) & (np.abs(y) <= b + 1e-9)
    if outer.kind == "ellipse":
        return (x / a) ** 2 + (y / b) ** 2 <= 1.0 + 1e-9
    held = np.ones(x.shape, dtype=bool)
    corners = np.array(outer.points)
    for p, q in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        held &= (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]) >= -1e-9
    return held


def placements(outer: Outline, body: Outline) -> Iterator[tuple[Floats, Floats]]:
    """All tried poses of `body` that lie in `outer`: for every turn its corners, and the shifts that keep it in."""
    a, b = outer.half
    x, y = np.meshgrid(np.linspace(-a, a, PLACES), np.linspace(-b, b, PLACES))
    shifts = np.column_stack((x.ravel(), y.ravel()))
    corners = body.polygon(CORNERS)
    for turn in np.linspace(0.0, 2.0 * np.pi, TURNS, endpoint=False):
        c, s = np.cos(turn), np.sin(turn)
        turned = corners @ np.array([(c, s), (-s, c)])
        held = inside(outer, turned[None, :, :] + shifts[:, None, :]).all(axis=1)
        if held.any():
            yield turned, shifts[held]


def fits(outer: Outline, body: Outline) -> bool:
    """Whether one of the tried poses lies in `outer`."""
    return any(True for _ in placements(outer, body))


def widest_gap(outer: Outline, one: Outline, two: Outline) -> float:
    """The widest gap between two bodies in `outer`, over all tried poses and lines between them; −inf if none."""
    angles = np.linspace(0.0, 2.0 * np.pi, LINES, endpoint=False)
    first, second = list(placements(outer, one)), list(placements(outer, two))
    if not first or not second:
        return -np.inf
    best = -np.inf
    for u in np.column_stack((np.cos(angles), np.sin(angles))):
        below = min((corners @ u).max() + (shifts @ u).min() for corners, shifts in first)
        above = max((corners @ u).min() + (shifts @ u).max() for corners, shifts in second)
        best = max(best, float(above - below))
    return best


def box_in_box(outer: tuple[float, float], body: tuple[float, float]) -> bool:
    """The classical condition, for full sides in any order."""
    b, a = sorted(outer)
    q, p = sorted(body)
    if p <= a and q <= b:
        return True
    if p <= a or q > b:
        return False
    return b >= (2.0 * p * q * a + (p * p - q * q) * np.sqrt(p * p + q * q - a * a)) / (p * p + q * q)


def boxes_in_box(outer: tuple[float, float], one: tuple[float, float], two: tuple[float, float]) -> float:
    """The widest gap between two boxes (half sides) in a third, for turns and lines half a degree apart.

    A box may fit for less than half a degree, so the turns at which one touches two opposite walls are tried too.
    """
    lines = np.radians(np.arange(0.0, 180.0, 0.5))
    x, y = np.abs(np.cos(lines)), np.abs(np.sin(lines))
    total = np.zeros(len(lines))
    for a, b in (one, two):
        best = np.full(len(lines), -np.inf)
        for turn in (*lines, *_touching(outer, (a, b))):
            c, s = abs(np.cos(turn)), abs(np.sin(turn))
            right, up = outer[0] - a * c - b * s, outer[1] - a * s - b * c
            if right >= -1e-12 and up >= -1e-12:
                extent = a * np.abs(np.cos(lines - turn)) + b * np.abs(np.sin(lines - turn))
                best = np.maximum(best, right * x + up * y - extent)
        total += best
    return float(total.max())


def _touching(outer: tuple[float, float], body: tuple[float, float]) -> list[float]:
    """Turns at which a box is exactly as wide or as deep as another: where a·cos t + b·sin t is that half side."""
    a, b = body
    diagonal, lean = np.hypot(a, b), np.arctan2(b, a)
    ways = []
    for half in outer:
        if half <= diagonal:
            off = np.arccos(half / diagonal)
            # The width is a·|cos t| + b·|sin t|, the depth the same a quarter turn on.
            ways += [
                sign * (lean + side * off) + quarter
                for sign in (1, -1)
                for side in (1, -1)
                for quarter in (0.0, np.pi / 2)
            ]
    return ways
