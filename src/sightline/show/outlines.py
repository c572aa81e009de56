"""The outline of a mask as closed polygons."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import ArrayLike, NDArray

Loop = NDArray[np.float64]

_FEW = 40
"""Corners below which plain numbers are faster than arrays."""


def outlines(mask: ArrayLike, *, tolerance: float = 0.4) -> list[Loop]:
    """Trace a (H, W) mask: closed polygons (n, 2) of x, y in pixels; filled by the even-odd rule they are the mask.

    The polygon goes through the middles of the pixels' edges, which turns the stairs of a slanting edge into a
    line; corners within `tolerance` pixels of a straight line are left out. Holes are loops of their own.

    >>> [loop.tolist() for loop in outlines([[0, 1], [0, 0]])]
    [[[1.5, 0.0], [2.0, 0.5], [1.5, 1.0], [1.0, 0.5]]]
    """
    inside = np.asarray(mask, dtype=bool)
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    if not len(rows):
        return []
    part = inside[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]  # most masks are small in their picture
    corner = np.array((columns[0], rows[0]))
    return [simplified(np.array(loop) + corner, tolerance) for loop in _loops(part)]


def _loops(inside: NDArray[np.bool_]) -> list[list[tuple[float, float]]]:
    """Middles of the edges between inside and outside, walked with the inside on the right hand."""
    steps = _edges(inside)
    loops = []
    while steps:
        start = here = next(iter(steps))
        before = (0, 0)
        loop = []
        while True:
            after = _turn(steps[here], here, before)
            steps[here].remove(after)
            if not steps[here]:
                del steps[here]
            loop.append(((here[0] + after[0]) / 2, (here[1] + after[1]) / 2))
            before, here = (after[0] - here[0], after[1] - here[1]), after
            if here == start:
                break
        loops.append(loop)
    return loops


def _edges(inside: NDArray[np.bool_]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Corner → corners that an edge leads to from there."""
    padded = np.pad(inside, 1).astype(np.int8)
    steps: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    across = np.diff(padded, axis=0)[:, 1:-1]  # (H + 1, W): +1 where a column begins downwards
    for y, x in np.argwhere(across > 0).tolist():
        steps[x, y].append((x + 1, y))
    for y, x in np.argwhere(across < 0).tolist():
        steps[x + 1, y].append((x, y))
    along = np.diff(padded, axis=1)[1:-1]
    for y, x in np.argwhere(along < 0).tolist():
        steps[x, y].append((x, y + 1))
    for y, x in np.argwhere(along > 0).tolist():
        steps[x, y + 1].append((x, y))
    return steps


def _turn(ways: list[tuple[int, int]], here: tuple[int, int], before: tuple[int, int]) -> tuple[int, int]:
    """Where two pixels touch at a corner, stay with the pixel walked around so far: turn right."""
    if len(ways) == 1:
        return ways[0]
    right = (here[0] - before[1], here[1] + before[0])
    return right if right in ways else ways[0]


def simplified(loop: Loop, tolerance: float) -> Loop:
    """The loop without the corners that lie within `tolerance` of the line between those kept (Douglas–Peucker).

    >>> simplified(np.array([(0, 0), (2, 0.1), (4, 0), (4, 4), (0, 4)]), 0.2).tolist()
    [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]]
    """
    far = int(np.argmax(((loop - loop[0]) ** 2).sum(axis=1)))
    closed = np.vstack((loop, loop[:1]))
    keep = np.zeros(len(closed), dtype=bool)
    keep[[0, far]] = True
    parts = [(0, far), (far, len(closed) - 1)]
    points = closed.tolist()
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        worst, gap = _farthest(closed, points, first, last)
        if gap > tolerance:
            keep[worst] = True
            parts += [(first, worst), (worst, last)]
    return closed[:-1][keep[:-1]]


def _farthest(closed: Loop, points: list[list[float]], first: int, last: int) -> tuple[int, float]:
    """The corner between two others that is farthest from the line through them, and how far."""
    (ax, ay), (bx, by) = points[first], points[last]
    dx, dy = bx - ax, by - ay
    length = float(np.hypot(dx, dy))
    if last - first < _FEW:  # faster without arrays
        gaps = [
            abs((x - ax) * dy - (y - ay) * dx) / length if length else float(np.hypot(x - ax, y - ay))
            for x, y in points[first + 1 : last]
        ]
        gap = max(gaps)
        return first + 1 + gaps.index(gap), gap
    offset = closed[first + 1 : last] - closed[first]
    apart = np.abs(offset[:, 0] * dy - offset[:, 1] * dx) / length if length else np.hypot(*offset.T)
    worst = int(np.argmax(apart))
    return first + 1 + worst, float(apart[worst])
