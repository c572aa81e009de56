"""Convex polygons seen from above, in compiled loops: turning, parting, cutting, fitting one into another.

A polygon is (n, 2) float64, counter-clockwise, without a repeated corner; lengths are in the units of the corners.
Functions for the innermost loops write into arrays that the caller keeps, give back the number of corners written,
and take a polygon with room to spare together with its number of corners.

The *sides* of a polygon are (n, 3), a row per edge: outward unit normal, and the greatest n·p over the polygon.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.kernels import compiler, stamp

Floats = NDArray[np.float64]

kernel = compiler(stamp(sorted(Path(__file__).parent.glob("*.py"))), error_model="python")
"""Compile for the CPU; the code is stale when any file of this folder changes."""

_NOISE = 1e-9
"""Rounding of coordinates of a few metres, metres."""

_BOX_CORNERS: int = np.int64(4)  # type: ignore[assignment]  # of a literal 4 numba would make callers' second versions


def area(polygon: ArrayLike) -> float:
    """Area enclosed; negative where the corners run clockwise.

    >>> area([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    2.0
    """
    p = np.asarray(polygon, dtype=np.float64)
    if len(p) == 0:
        return 0.0
    q = np.roll(p, -1, axis=0)
    return float(np.sum(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]) / 2.0)


def hull(points: ArrayLike) -> Floats:
    """The smallest convex polygon around the points; corners on a straight edge are left out.

    >>> hull([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    p = np.unique(np.asarray(points, dtype=np.float64).reshape(-1, 2), axis=0)
    if len(p) < 3:
        return p
    return np.array(_chain(p)[:-1] + _chain(p[::-1])[:-1], dtype=np.float64)


def _chain(points: Floats) -> list[Floats]:
    """The side of the hull to the right of the way from the first point to the last; points sorted along x."""
    kept: list[Floats] = []
    for p in points:
        while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= 0.0:
            kept.pop()
        kept.append(p)
    return kept


def _turn(a: Floats, b: Floats, c: Floats) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


@kernel
def turned(points: Floats, yaw: float, x: float, y: float, out: Floats) -> int:
    """Write the polygon turned about the origin by `yaw` radians, then shifted.

    >>> out = np.empty((1, 2))
    >>> turned(np.array([[1.0, 0.0]]), np.pi / 2, 2.0, 0.0, out), out.round(6).tolist()
    (1, [[2.0, 1.0]])
    """
    c, s = math.cos(yaw), math.sin(yaw)
    for i in range(len(points)):
        px, py = points[i, 0], points[i, 1]
        out[i, 0] = c * px - s * py + x
        out[i, 1] = s * px + c * py + y
    return len(points)


@kernel
def reach(points: Floats, n: int, nx: float, ny: float) -> float:
    """How far the polygon goes along a direction.

    >>> float(reach(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), 3, 0.0, 1.0))
    1.0
    """
    far = -np.inf
    for i in range(n):
        along = nx * points[i, 0] + ny * points[i, 1]
        if along > far:  # max() would watch for NaN and cost twice the time
            far = along
    return far


@kernel
def _side(p: Floats, n: int, i: int) -> tuple[float, float, float]:
    """Row i of the sides."""
    j = i + 1 if i + 1 < n else 0
    ex, ey = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1]
    length = math.hypot(ex, ey)
    nx, ny = ey / length, -ex / length
    return nx, ny, nx * p[i, 0] + ny * p[i, 1]


@kernel
def sides(polygon: Floats) -> Floats:
    """Outward unit normal of every edge, and how far the polygon goes along it, (n, 3).

    >>> sides(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).round(3) + 0.0
    array([[ 0. , -1. , 0. ], [ 0.707, 0.707, 0.707], [-1. , 0. , 0. ]])
    """
    out = np.empty((len(polygon), 3))
    for i in range(len(polygon)):
        out[i, 0], out[i, 1], out[i, 2] = _side(polygon, len(polygon), i)
    return out


@kernel
def clear(a: Floats, na: int, b: Floats, nb: int, gap: float) -> bool:
    """Whether the two polygons are at least `gap` apart; those that touch are not apart.

    >>> square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> clear(square, 4, square + 3.0, 4, 1.4), clear(square, 4, square + 3.0, 4, 1.5)
    (True, False)
    """
    widest = _widest_gap(a, na, b, nb)
    if widest < gap:
        widest = max(widest, _widest_gap(b, nb, a, na))
    if widest >= gap and widest > 0.0:
        return True
    if widest <= 0.0:
        return False
    # Nearest at two corners: an edge's distance is then less than theirs.
    return bool(min(_nearest(a, na, b, nb), _nearest(b, nb, a, na)) >= gap)


@kernel
def _widest_gap(a: Floats, na: int, b: Floats, nb: int) -> float:
    """The largest signed distance from an edge of a to b; positive only if that edge parts the two."""
    best = -np.inf
    for i in range(na):
        nx, ny, most = _side(a, na, i)
        best = max(best, -reach(b, nb, -nx, -ny) - most)
    return best


@kernel
def _nearest(a: Floats, na: int, b: Floats, nb: int) -> float:
    """Smallest distance from a corner of a to an edge of b."""
    best = np.inf
    for i in range(na):
        for j in range(nb):
            k = j + 1 if j + 1 < nb else 0
            ex, ey = b[k, 0] - b[j, 0], b[k, 1] - b[j, 1]
            px, py = a[i, 0] - b[j, 0], a[i, 1] - b[j, 1]
            t = min(1.0, max(0.0, (px * ex + py * ey) / (ex * ex + ey * ey)))
            best = min(best, math.hypot(px - t * ex, py - t * ey))
    return best


@kernel
def within(a: Floats, na: int, b: Floats, nb: int, clearance: float) -> bool:
    """Whether a lies in b, at least `clearance` from its edges.

    >>> square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> within(square, 4, 2.0 * square, 4, 1.0), within(square, 4, 2.0 * square, 4, 1.1)
    (True, False)
    """
    for i in range(nb):
        nx, ny, most = _side(b, nb, i)
        if reach(a, na, nx, ny) - most > _NOISE - clearance:
            return False
    return True


@kernel
def holds(polygon: Floats, n: int, x: float, y: float, margin: float) -> bool:
    """Whether a point lies in the polygon, at least `margin` from its edges; two corners hold nothing.

    >>> square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> holds(square, 4, 0.5, 0.0, 0.5), holds(square, 4, 0.6, 0.0, 0.5)
    (True, False)
    """
    if n < 3:
        return False
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        ex, ey = polygon[j, 0] - polygon[i, 0], polygon[j, 1] - polygon[i, 1]
        length = math.hypot(ex, ey)
        if length > _NOISE and ex * (y - polygon[i, 1]) - ey * (x - polygon[i, 0]) < (margin - _NOISE) * length:
            return False
    return True


@kernel
def _disc(p: Floats, n: int) -> tuple[float, float, float]:
    """A disc around the polygon: x, y, radius. It tells most sides that they are out of reach at once."""
    x = 0.5 * (reach(p, n, 1.0, 0.0) - reach(p, n, -1.0, 0.0))
    y = 0.5 * (reach(p, n, 0.0, 1.0) - reach(p, n, 0.0, -1.0))
    most = 0.0
    for i in range(n):
        dx, dy = p[i, 0] - x, p[i, 1] - y
        most = max(most, dx * dx + dy * dy)
    return x, y, math.sqrt(most)


@kernel
def _trimmed(out: Floats, n: int, by: Floats, noise: float, spare: Floats) -> int:
    """Cut the polygon in `out` to n·p ≤ most for every row of sides; each adds a corner at the most."""
    x, y, radius = _disc(out, n)
    for i in range(len(by)):
        nx, ny, most = by[i, 0], by[i, 1], by[i, 2]
        if nx * x + ny * y + radius > most and reach(out, n, nx, ny) > most + noise:
            n = _cut(out, n, nx, ny, most, noise, spare)
            for k in range(n):  # a slice would be checked for overlap each time
                out[k, 0], out[k, 1] = spare[k, 0], spare[k, 1]
    return n


@kernel
def _cut(polygon: Floats, n: int, nx: float, ny: float, most: float, noise: float, out: Floats) -> int:
    """Write the part of the polygon with n·p ≤ most."""
    m = 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        here = nx * polygon[i, 0] + ny * polygon[i, 1] - most
        there = nx * polygon[j, 0] + ny * polygon[j, 1] - most
        if here <= noise:
            out[m, 0], out[m, 1] = polygon[i, 0], polygon[i, 1]
            m += 1
        if (here <= noise) != (there <= noise):
            t = min(1.0, max(0.0, here / (here - there)))
            out[m, 0] = polygon[i, 0] + t * (polygon[j, 0] - polygon[i, 0])
            out[m, 1] = polygon[i, 1] + t * (polygon[j, 1] - polygon[i, 1])
            m += 1
    return m


@kernel
def _box(x0: float, x1: float, y0: float, y1: float, out: Floats) -> int:
    """Write the corners of a box."""
    out[0, 0], out[0, 1] = x0, y0
    out[1, 0], out[1, 1] = x1, y0
    out[2, 0], out[2, 1] = x1, y1
    out[3, 0], out[3, 1] = x0, y1
    return _BOX_CORNERS


@kernel
def halfplanes(limits: Floats) -> Floats:
    """The polygon of all t with n·t ≤ d for every row (n, d); the normals must turn once around.

    A corner may come out twice; there are none where the half planes have nothing in common.

    >>> halfplanes(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [0.0, -1.0, -2.0]]))
    array([], shape=(0, 2), dtype=float64)
    """
    n = len(limits)
    far = 4.0 * np.abs(limits[:, 2]).max() + 1.0
    # A corner of two edges that are nearly parallel lies far out; the start must reach beyond it.
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        sine = abs(limits[i, 0] * limits[j, 1] - limits[i, 1] * limits[j, 0])
        if sine > 1e-9:
            far = max(far, 4.0 * (abs(limits[i, 2]) + abs(limits[j, 2])) / sine)
    out, spare = np.empty((n + 4, 2)), np.empty((n + 4, 2))
    corners = _trimmed(out, _box(-far, far, -far, far, out), limits, 0.0, spare)
    return out[:corners].copy()


@kernel
def overlap(a: Floats, na: int, by: Floats, out: Floats, spare: Floats) -> int:
    """Write what two polygons share, the second given by its sides; both arrays need a row for every edge of both.

    >>> square, out = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]), np.empty((8, 2))
    >>> n = overlap(square, 4, sides(square + 1.5), out, np.empty((8, 2)))
    >>> area(out[:n])
    0.25
    """
    for i in range(na):
        out[i, 0], out[i, 1] = a[i, 0], a[i, 1]
    return _trimmed(out, na, by, _NOISE, spare)


@kernel
def shifts(
    item: Floats, ni: int, hole: Floats, hole_sides: Floats, clearance: float, out: Floats, spare: Floats
) -> int:
    """Write the shifts that bring the item into the hole, `clearance` from its edges; 0 corners: it does not fit.

    Both arrays need four rows more than the hole has corners.

    >>> square, out = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]), np.empty((8, 2))
    >>> n = shifts(square, 4, 2.0 * square, sides(2.0 * square), 0.5, out, np.empty((8, 2)))
    >>> out[:n].tolist()
    [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]
    """
    nh = len(hole)
    low_x, high_x = -reach(hole, nh, -1.0, 0.0), reach(hole, nh, 1.0, 0.0)
    low_y, high_y = -reach(hole, nh, 0.0, -1.0), reach(hole, nh, 0.0, 1.0)
    low_x += reach(item, ni, -1.0, 0.0) + clearance
    high_x -= reach(item, ni, 1.0, 0.0) + clearance
    low_y += reach(item, ni, 0.0, -1.0) + clearance
    high_y -= reach(item, ni, 0.0, 1.0) + clearance
    if low_x > high_x + _NOISE or low_y > high_y + _NOISE:
        return 0
    limits = hole_sides.copy()
    for i in range(nh):
        limits[i, 2] = hole_sides[i, 2] - reach(item, ni, hole_sides[i, 0], hole_sides[i, 1]) - clearance
    return _trimmed(out, _box(low_x, high_x, low_y, high_y, out), limits, _NOISE, spare)


@kernel
def rim(p: Floats, n: int, hole: Floats, grown: float, out: Floats) -> int:
    """Write the hull of p without the hole, given by its sides; `grown` widens it first. Needs 3 n rows.

    The hull's corners lie on the edge of p: its corners outside the hole and the points where its edges cross the
    hole's. In the order of that edge they are convex already.

    >>> bar, out = np.array([[-3.0, -1.0], [3.0, -1.0], [3.0, 1.0], [-3.0, 1.0]]), np.empty((12, 2))
    >>> rim(bar, 4, sides(2.0 * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])), 0.0, out)
    8
    """
    hole = _within_reach(hole, grown, *_disc(p, n))
    inside = np.empty(n, np.bool_)
    for i in range(n):
        inside[i] = True
        for a in range(len(hole)):
            if hole[a, 0] * p[i, 0] + hole[a, 1] * p[i, 1] > hole[a, 2] + grown + _NOISE:
                inside[i] = False
                break
    k = 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        if inside[i] and inside[j]:
            continue
        if not inside[i]:
            out[k, 0], out[k, 1] = p[i, 0], p[i, 1]
            k += 1
        ex, ey = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1]
        enter, leave = _stretch(p[i, 0], p[i, 1], ex, ey, hole, grown)
        if not inside[i] and (inside[j] or enter < leave):
            t = min(1.0, enter)
            out[k, 0], out[k, 1] = p[i, 0] + t * ex, p[i, 1] + t * ey
            k += 1
        if not inside[j] and (inside[i] or enter < leave):
            t = max(0.0, leave)
            out[k, 0], out[k, 1] = p[i, 0] + t * ex, p[i, 1] + t * ey
            k += 1
    return k


@kernel
def _within_reach(by: Floats, grown: float, x: float, y: float, radius: float) -> Floats:
    """The sides that a disc does not stay behind."""
    out = np.empty_like(by)
    n = 0
    for i in range(len(by)):
        if by[i, 0] * x + by[i, 1] * y + radius > by[i, 2] + grown:
            out[n, 0], out[n, 1], out[n, 2] = by[i, 0], by[i, 1], by[i, 2]
            n += 1
    return out[:n]


@kernel
def _stretch(x: float, y: float, ex: float, ey: float, hole: Floats, grown: float) -> tuple[float, float]:
    """Where an edge from (x, y) along (ex, ey) is in the grown hole, as shares of it; enter ≥ leave: nowhere."""
    enter, leave = 0.0, 1.0
    for a in range(len(hole)):
        start = hole[a, 0] * x + hole[a, 1] * y - hole[a, 2] - grown
        slope = hole[a, 0] * ex + hole[a, 1] * ey
        if abs(slope) <= 1e-12:
            if start > _NOISE:
                return 1.0, 0.0
        elif slope > 0.0:
            leave = min(leave, -start / slope)
        else:
            enter = max(enter, -start / slope)
    return enter, leave


@kernel
def somewhere(polygon: Floats, n: int, u: float, v: float, w: float) -> tuple[float, float]:
    """A point of the polygon, uniform if u, v and w are uniform in [0, 1).

    >>> somewhere(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 3, 0.0, 0.25, 0.5)
    (0.25, 0.5)
    """
    total = 0.0
    for i in range(1, n - 1):
        total += _twice_area(polygon, i)
    left, pick = u * total, 1
    for i in range(1, n - 1):
        pick = i
        left -= _twice_area(polygon, i)
        if left < 0.0:
            break
    if v + w > 1.0:
        v, w = 1.0 - v, 1.0 - w
    b, c = min(pick, n - 1), min(pick + 1, n - 1)
    x = polygon[0, 0] + v * (polygon[b, 0] - polygon[0, 0]) + w * (polygon[c, 0] - polygon[0, 0])
    y = polygon[0, 1] + v * (polygon[b, 1] - polygon[0, 1]) + w * (polygon[c, 1] - polygon[0, 1])
    return x, y


@kernel
def _twice_area(polygon: Floats, i: int) -> float:
    """Twice the area of the triangle of corners 0, i and i + 1."""
    ax, ay = polygon[i, 0] - polygon[0, 0], polygon[i, 1] - polygon[0, 1]
    bx, by = polygon[i + 1, 0] - polygon[0, 0], polygon[i + 1, 1] - polygon[0, 1]
    return float(abs(ax * by - ay * bx))
