"""Does a flat convex body fit in another at some position and turn, alone or beside a third?

All rests on one quantity. For an outer region C, a body I turned by θ and a unit vector u, let T be all shifts
that keep I in C. The reach is the greatest u·t over t in T: how far I can be pushed along u. It has a closed form
where C is a box or both are ellipses; where C is a polygon, or an ellipse and I has corners, it is the best of
finitely many candidates. Nowhere is a curve replaced by a polygon.

Two bodies lie apart where a straight line separates them. For a line with normal u the best is to push one body all
the way along u and the other all the way along −u, so the turns of the two no longer concern each other: the widest
gap is the maximum over u of G₂(u) + G₁(−u), where G(u) = max over θ of reach(θ, u) − (extent of I along −u). G is
a pair's affair and is tabulated once; a triple costs one sweep over u and a local search.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.geometry.footprints import halfplanes, kernel, reach, sides

Floats = NDArray[np.float64]

BOX, ELLIPSE, POLYGON = 0, 1, 2

_STEPS = 360  # directions and turns of a full circle that are tabulated
_STEP = 2.0 * math.pi / _STEPS
_EPS = 1e-12
_STARTS = 4  # local maxima of a table that are refined
_MOVES = np.array([(i, j, k) for i in (0, 1, -1) for j in (0, 1, -1) for k in (0, 1, -1)][1:], dtype=np.float64)


class Footprint(NamedTuple):
    """A convex region around the origin, as the compiled code takes it.

    Attributes:
        kind: `BOX`, `ELLIPSE` (both axis-parallel) or `POLYGON`.
        a: Half extent along x.
        b: Half extent along y.
        points: Corners, counter-clockwise, (n, 2) float64, those of a box too; none for an ellipse.
    """

    kind: int
    a: float
    b: float
    points: Floats


class SideReach(NamedTuple):
    """How far one body can be kept to one side, by direction.

    Attributes:
        body: The body.
        grow: How far the walls move out for it, so that it fits at all.
        level: (360,) for the direction of i degrees, the highest possible place of the body's lowest point.
        turn: (360,) the turn, radians, at which that is reached.
    """

    body: Footprint
    grow: float
    level: Floats
    turn: Floats


@kernel
def _extent(body: Footprint, c: float, s: float, x: float, y: float) -> float:
    """Support function: the greatest x·p over points p of the body turned by (cos, sin) = (c, s)."""
    x, y = c * x + s * y, c * y - s * x
    if body.kind == BOX:
        return body.a * abs(x) + body.b * abs(y)
    if body.kind == ELLIPSE:
        return math.sqrt((body.a * x) ** 2 + (body.b * y) ** 2)
    return reach(body.points, len(body.points), x, y)


@kernel
def _reach(outer: Footprint, grow: float, body: Footprint, turn: float, units: Floats, out: Floats) -> None:
    """For each unit vector, the greatest u·t over shifts t that keep `body` in `outer`; −inf where none does.

    `grow` moves the walls of `outer` outwards: the half extents of a box or an ellipse, the edges of a polygon.
    """
    c, s = math.cos(turn), math.sin(turn)
    if outer.kind == BOX:
        _reach_in_box(outer, grow, body, c, s, units, out)
    elif outer.kind == POLYGON:
        _reach_in_polygon(outer, grow, body, c, s, units, out)
    elif outer.a + grow <= 0.0 or outer.b + grow <= 0.0:
        out[:] = -np.inf
    elif body.kind == ELLIPSE:
        _reach_of_ellipse(outer.a + grow, outer.b + grow, body, c, s, units, out)
    else:
        _reach_of_corners(outer.a + grow, outer.b + grow, body, c, s, units, out)


@kernel
def _reach_in_box(
    outer: Footprint, grow: float, body: Footprint, c: float, s: float, units: Floats, out: Floats
) -> None:
    left, right, lower, upper = _room_in_box(outer, grow, body, c, s)
    if right < left - _EPS or upper < lower - _EPS:
        out[:] = -np.inf
        return
    for i in range(len(units)):
        x, y = units[i]
        out[i] = (x * right if x > 0.0 else x * left) + (y * upper if y > 0.0 else y * lower)


@kernel
def _room_in_box(
    outer: Footprint, grow: float, body: Footprint, c: float, s: float
) -> tuple[float, float, float, float]:
    """The shifts that keep a body in a box: least x, most x, least y, most y."""
    return (
        -outer.a - grow + _extent(body, c, s, -1.0, 0.0),
        outer.a + grow - _extent(body, c, s, 1.0, 0.0),
        -outer.b - grow + _extent(body, c, s, 0.0, -1.0),
        outer.b + grow - _extent(body, c, s, 0.0, 1.0),
    )


@kernel
def _reach_along(outer: Footprint, grow: float, body: Footprint, c: float, s: float, x: float, y: float) -> float:
    """`_reach_in_box` for one unit vector."""
    left, right, lower, upper = _room_in_box(outer, grow, body, c, s)
    if right < left - _EPS or upper < lower - _EPS:
        return -np.inf
    return (x * right if x > 0.0 else x * left) + (y * upper if y > 0.0 else y * lower)


@kernel
def _reach_in_polygon(
    outer: Footprint, grow: float, body: Footprint, c: float, s: float, units: Floats, out: Floats
) -> None:
    limits = sides(outer.points)
    for i in range(len(limits)):
        limits[i, 2] += grow - _extent(body, c, s, limits[i, 0], limits[i, 1])
    shifts = halfplanes(limits)
    for i in range(len(units)):
        out[i] = reach(shifts, len(shifts), units[i, 0], units[i, 1])


@kernel
def _reach_of_ellipse(a: float, b: float, body: Footprint, c: float, s: float, units: Floats, out: Floats) -> None:
    """An ellipse in the ellipse (a, b). Seen with the outer one as the unit disc, the body has half axes p ≥ q.

    Its room T then has the support function 1 − √(p²x² + q²y²) in the body's own axes, save around the y axis where
    p² > q: there the outer disc curves more than the body, and T has a corner at (0, y₀).
    """
    m00, m01 = body.a * c / a, -body.b * s / a
    m10, m11 = body.a * s / b, body.b * c / b
    xx, xy, yy = m00 * m00 + m01 * m01, m00 * m10 + m01 * m11, m10 * m10 + m11 * m11
    half, spread = (xx + yy) / 2.0, math.hypot((xx - yy) / 2.0, xy)
    pp, qq = half + spread, max(0.0, half - spread)
    if pp > 1.0 + _EPS:
        out[:] = -np.inf
        return
    axis = 0.5 * math.atan2(2.0 * xy, xx - yy)
    ax, ay = math.cos(axis), math.sin(axis)
    p, q = math.sqrt(pp), math.sqrt(qq)
    height, tilt_x, tilt_y = 0.0, 0.0, 1.0  # the corner, and the normal at which it ends
    cornered = pp > q and spread > _EPS
    if cornered:
        height = math.sqrt(max(0.0, 1.0 - pp) * (pp - qq)) / p
        sine = min(1.0, height * q / (pp - qq))
        tilt_x, tilt_y = p * math.sqrt(1.0 - sine * sine), height + q * sine
    for i in range(len(units)):
        wx, wy = a * units[i, 0], b * units[i, 1]
        x, y = abs(ax * wx + ay * wy), abs(ax * wy - ay * wx)
        if cornered and x * tilt_y < y * tilt_x:
            out[i] = height * y
        else:
            out[i] = math.hypot(x, y) - math.sqrt(pp * x * x + qq * y * y)


@kernel
def _reach_of_corners(a: float, b: float, body: Footprint, c: float, s: float, units: Floats, out: Floats) -> None:
    """A polygon in the ellipse (a, b): with that as the unit disc, t must lie in one disc a corner."""
    n = len(body.points)
    q = np.empty((n, 2))
    for k in range(n):
        x, y = body.points[k]
        q[k, 0], q[k, 1] = (c * x - s * y) / a, (s * x + c * y) / b
    for i in range(len(units)):
        x, y = a * units[i, 0], b * units[i, 1]
        length = math.hypot(x, y)
        out[i] = length * _top_of_discs(q, x / length, y / length)


@kernel
def _top_of_discs(q: Floats, wx: float, wy: float) -> float:
    """Greatest w·t over t within 1 of every −q; −inf where there is none.

    The answer is the top of one disc or a crossing of two. Discs come in by how badly the present answer misses
    them; each time the best answer for the newcomer and the one or two held so far is among five candidates.
    """
    held = np.full(2, -1)
    top = -np.inf
    for k in range(len(q)):
        if q[k, 0] * wx + q[k, 1] * wy > top:
            top, held[0] = q[k, 0] * wx + q[k, 1] * wy, k
    x, y = wx - q[held[0], 0], wy - q[held[0], 1]
    tried = np.empty((5, 2))
    with_ = np.empty(5, dtype=np.int64)
    for _ in range(8 * len(q)):
        new, far = -1, 1.0 + _EPS
        for k in range(len(q)):
            distance = math.hypot(x + q[k, 0], y + q[k, 1])
            if distance > far:
                new, far = k, distance
        if new < 0:
            break
        tried[0, 0], tried[0, 1], with_[0] = wx - q[new, 0], wy - q[new, 1], -1
        count = 1
        for k in held:
            if k >= 0:
                count = _crossings(q, new, k, tried, with_, count)
        best, mate = -np.inf, -1
        for i in range(count):
            inside = True
            for k in held:
                if k >= 0 and math.hypot(tried[i, 0] + q[k, 0], tried[i, 1] + q[k, 1]) > 1.0 + _EPS:
                    inside = False
            if inside and wx * tried[i, 0] + wy * tried[i, 1] > best:
                best, mate = wx * tried[i, 0] + wy * tried[i, 1], with_[i]
                x, y = tried[i]
        if best == -np.inf:
            return -np.inf
        held[0], held[1] = new, mate
    return float(wx * x + wy * y)


@kernel
def _crossings(q: Floats, i: int, j: int, points: Floats, with_: NDArray[np.int64], count: int) -> int:
    """Append the points where the unit circles around −q[i] and −q[j] cross."""
    dx, dy = q[i, 0] - q[j, 0], q[i, 1] - q[j, 1]
    apart = math.hypot(dx, dy)
    if apart < _EPS or apart > 2.0 + 2.0 * _EPS:
        return count
    rise = math.sqrt(max(0.0, 1.0 - apart * apart / 4.0))
    for side in (-1.0, 1.0):
        points[count, 0] = -(q[i, 0] + q[j, 0]) / 2.0 - side * rise * dy / apart
        points[count, 1] = -(q[i, 1] + q[j, 1]) / 2.0 + side * rise * dx / apart
        with_[count] = j
        count += 1
    return count


@kernel
def _clearance(outer: Footprint, body: Footprint, turn: float) -> float:
    """How far the walls of `outer` could move in with `body` at that turn still in; negative: must move out."""
    if outer.kind == BOX:
        c, s = math.cos(turn), math.sin(turn)
        width = (_extent(body, c, s, 1.0, 0.0) + _extent(body, c, s, -1.0, 0.0)) / 2.0
        depth = (_extent(body, c, s, 0.0, 1.0) + _extent(body, c, s, 0.0, -1.0)) / 2.0
        return min(outer.a - width, outer.b - depth)
    unit, out = np.array([[1.0, 0.0]]), np.empty(1)
    low, high = -2.0 * math.hypot(body.a, body.b) - math.hypot(outer.a, outer.b), min(outer.a, outer.b)
    for _ in range(60):
        middle = (low + high) / 2.0
        _reach(outer, -middle, body, turn, unit, out)
        if out[0] > -np.inf:
            low = middle
        else:
            high = middle
    return low


def room(outer: Footprint, body: Footprint) -> tuple[float, float]:
    """The greatest clearance of `body` in `outer` over positions and turns, and the turn in radians.

    >>> square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> margin, turn = room(Footprint(BOX, 1.0, 1.0, square), Footprint(ELLIPSE, 0.9, 0.75, np.empty((0, 2))))
    >>> round(margin, 9), round(turn, 9)
    (0.171597924, 0.785398163)
    """
    mirrored = outer.kind != POLYGON and body.kind != POLYGON  # then the first quarter tells all
    values = _clearances(outer, body, _STEPS // 4 + 1 if mirrored else _STEPS)
    return max(_best_turn(outer, body, i * _STEP) for i in _peaks(values))


@kernel
def _clearances(outer: Footprint, body: Footprint, count: int) -> Floats:
    """The clearance at the first `count` turns of the ring, −inf at the others."""
    values = np.full(_STEPS, -np.inf)
    for i in range(count):
        values[i] = _clearance(outer, body, i * _STEP)
    return values


@kernel
def _best_turn(outer: Footprint, body: Footprint, turn: float) -> tuple[float, float]:
    """The local maximum of the clearance near `turn`: value and turn."""
    value, step = _clearance(outer, body, turn), _STEP / 2.0
    while step > 1e-10:
        less, more = _clearance(outer, body, turn - step), _clearance(outer, body, turn + step)
        if max(less, more) > value:
            value, turn = (more, turn + step) if more >= less else (less, turn - step)
        else:
            step /= 2.0
    return value, turn


def _peaks(values: Floats) -> list[int]:
    """Indices of the highest local maxima of a ring of values, a few; of a plateau its two ends."""
    around = np.maximum(np.roll(values, 1), np.roll(values, -1))
    after = np.minimum(np.roll(values, 1), np.roll(values, -1))
    peaks = np.flatnonzero((values >= around) & (values > after))
    if len(peaks) == 0:  # the same all around
        return [int(np.argmax(values))]
    return [int(i) for i in peaks[np.argsort(-values[peaks], kind="stable")][:_STARTS]]


@kernel
def table(outer: Footprint, grow: float, body: Footprint, best: float) -> SideReach:
    """The `SideReach` of a body that fits `outer` grown by `grow`; `best` is its roomiest turn."""
    units = _units()
    level, at = np.full(_STEPS, -np.inf), np.zeros(_STEPS)
    out = np.empty(_STEPS)
    full = _STEPS if body.kind == POLYGON else _STEPS // 2
    turns = np.empty(full + 4)
    turns[:full] = np.arange(full) * _STEP
    # A body that barely fits does so only near its best turn, and that turn's mirror images.
    turns[full:] = np.array([best, -best, math.pi / 2.0 - best, math.pi / 2.0 + best])
    for turn in turns:
        _reach(outer, grow, body, turn, units, out)
        if out[0] == -np.inf:
            continue
        c, s = math.cos(turn), math.sin(turn)
        for i in range(_STEPS):
            value = out[i] - _extent(body, c, s, -units[i, 0], -units[i, 1])
            if value > level[i]:
                level[i], at[i] = value, turn
    return SideReach(body, grow, level, at)


@kernel
def _units() -> Floats:
    units = np.empty((_STEPS, 2))
    for i in range(_STEPS):
        units[i, 0], units[i, 1] = math.cos(i * _STEP), math.sin(i * _STEP)
    return units


@kernel
def _level(outer: Footprint, kept: SideReach, turn: float, x: float, y: float) -> float:
    c, s = math.cos(turn), math.sin(turn)
    if outer.kind == BOX:
        reached = _reach_along(outer, kept.grow, kept.body, c, s, x, y)
    else:
        unit, out = np.array([[x, y]]), np.empty(1)
        _reach(outer, kept.grow, kept.body, turn, unit, out)
        reached = float(out[0])
    return reached - _extent(kept.body, c, s, -x, -y)


def widest_gap(outer: Footprint, one: SideReach, two: SideReach) -> float:
    """The widest gap that can be left between two bodies kept in `outer`; negative: the least overlap, in depth.

    Args:
        outer: Where both must lie.
        one: One body: its `table` in `outer`.
        two: The other body.
    """
    opposite = np.roll(one.level, -_STEPS // 2), np.roll(one.turn, -_STEPS // 2)
    sums = two.level + opposite[0]
    starts = [(i, np.array([i * _STEP, opposite[1][i], two.turn[i]])) for i in _peaks(sums)]
    return max(_climb(outer, one, two, at, sums[i]) for i, at in starts)


@kernel
def _climb(outer: Footprint, one: SideReach, two: SideReach, at: Floats, value: float) -> float:
    """Local search over the line's direction and both turns.

    The gap has ridges where a body stays flush with the line or with a wall; moves along each of them are among the
    26, so the climb does not stall on one.
    """
    step = _STEP / 2.0
    levels = np.empty((2, 3, 3))  # of either body, by the moves of the line and of its own turn
    while step > 1e-9:
        levels[:] = np.nan
        moved = False
        for move in _MOVES:
            there = at + step * move
            i, j, k = int(move[0]), int(move[1]), int(move[2])
            if math.isnan(levels[0, i, j]):
                levels[0, i, j] = _level(outer, one, there[1], -math.cos(there[0]), -math.sin(there[0]))
            if math.isnan(levels[1, i, k]):
                levels[1, i, k] = _level(outer, two, there[2], math.cos(there[0]), math.sin(there[0]))
            new = levels[0, i, j] + levels[1, i, k]
            if new > value + 1e-12:
                at, value, moved = there, new, True
                break
        if not moved:
            step /= 2.0
    return value
