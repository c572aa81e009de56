"""The search for viewpoints: compiled loops over problems, starts and landmarks.

Of a direction that an object is seen from, theta and distance follow in closed form if perspective is weak, and
what is left over needs sums over the landmarks only; so a hundred directions are compared at the price of one. The
best of them, coarse angles if there are any, and the tilt that looks alike from afar are refined one by one
by least squares, then the best by distances. The camera stays in front of all landmarks.

A pose is twelve numbers: CAD→camera rotation (9), distance in diagonals, principal point in pixels.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.geometry.viewpoints import Floats, rotations
from sightline.kernels import compiler, stamp

kernel = compiler(stamp([Path(__file__)]))

_ROWS, _COLUMNS = 6, 18
GRID: Final = rotations(
    np.arange(_COLUMNS)[None, :] * (360.0 / _COLUMNS), (np.arange(_ROWS)[:, None] * 30.0) - 75.0
).reshape(-1, 3, 3)
_SUBSETS: Final = 24  # halves of the landmarks that robust starts are taken from
_EXACT: Final = 1e-7  # pixels: mean distance below which nothing better is looked for
_ROUND: Final = 0.01  # pixels around a landmark in which distance is smoothed, for it has no slope there
_FARTHEST: Final = 1e5  # diagonals
_BEATEN: Final = 0.9  # share of the coarse start's cost that another must be below
_APART: Final = 1e-9  # diagonals by which landmarks differ that are not at one place


@kernel
def search(
    points: Floats,
    pixels: Floats,
    principals: Floats,
    seeds: Floats,
    seeded: NDArray[np.bool_],
    grid: Floats,
    scale: float,
    cap: float,
    squares: bool,
    starts: int,
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Poses (B, 12: rotation, distance, principal point), mean distances (B,) and landmarks used (B,).

    The distance is NaN where landmarks tell no pose: fewer than two, or all at one place of the object.
    """
    b, n = pixels.shape[:2]
    poses, errors, used = np.zeros((b, 12)), np.full(b, np.nan), np.zeros(b, np.int64)
    x, u = np.empty((n, 3)), np.empty((n, 2))
    for i in range(b):
        m, spread = 0, 0.0
        for j in range(n):
            for k in range(3):
                x[m, k] = points[i, j, k]
            u[m, 0], u[m, 1] = pixels[i, j, 0], pixels[i, j, 1]
            if math.isfinite(x[m, 0] + x[m, 1] + x[m, 2] + u[m, 0] + u[m, 1]):
                for k in range(3):
                    spread = max(spread, abs(x[m, k] - x[0, k]))
                m += 1
        used[i] = m
        poses[i, 0] = poses[i, 4] = poses[i, 8] = 1.0
        if spread >= _APART:
            _solve(x[:m], u[:m], principals[i], seeds[i], seeded[i], grid, scale, cap, squares, starts, poses[i])
            errors[i] = _total(x[:m], u[:m], poses[i], scale, math.inf, False) / m
    return poses, errors, used


@kernel
def _solve(
    x: Floats,
    u: Floats,
    principal: Floats,
    seed: Floats,
    seeded: bool,
    grid: Floats,
    scale: float,
    cap: float,
    squares: bool,
    starts: int,
    best: Floats,
) -> None:
    """Write the best pose of one problem: refine a start after the other, then the best of them."""
    n, free = len(x), math.isnan(principal[0])
    weights, sums, gains = np.ones(n), np.empty(17), np.empty(len(grid))
    state, work, turn = np.empty(12), np.empty((24, 12)), np.empty((3, 3))
    lowest, draw, subsets = math.inf, 12345, 0 if cap == math.inf else _SUBSETS
    first, last = -1 if seeded else 0, starts + subsets + 1
    for attempt in range(first, last + (1 if squares else 3)):
        rounds, smooth = 12, 0.0
        if attempt == last and not squares and cap == math.inf:
            continue  # distances need no more than a start
        if attempt >= last:  # the best to its end; then distances, smoothed less and less
            weights.fill(1.0)
            _copy(best, state)
            if attempt == last and cap == math.inf:
                rounds = 80
            elif attempt <= last + 1:
                rounds, smooth = 6, max(_ROUND, 0.2 * lowest / n)
            else:
                rounds, smooth = 12, max(_ROUND, 0.02 * lowest / n)
        else:
            mirrored = attempt == last - 1
            if attempt >= starts and not mirrored:
                draw = _half(weights, draw)
            if attempt == first or (attempt >= starts and not mirrored):
                _sums(x, u, weights, principal, free, sums)
                for g in range(len(grid)):
                    gains[g] = _gain(grid[g], sums)
            if attempt < 0:
                _copy(seed, turn)
            elif mirrored:
                _mirror(best, sums, turn)
            else:
                g = _peak(gains)
                if g < 0:
                    continue
                _copy(grid[g], turn)
            if not _start(turn, sums, free, scale, x, state):
                continue
        settled = 1e-3 if attempt < last else 1e-9
        if attempt >= last and not squares:  # each is a start for the next
            settled = 1e-7 if attempt == last + 2 else 1e-3
        _refine(x, u, weights, state, scale, free, smooth, cap, rounds, settled, work)
        cost = _total(x, u, state, scale, cap, squares)
        if attempt >= last:
            _copy(state, best)
        elif cost < lowest:
            lowest = cost if attempt >= 0 else _BEATEN * cost
            _copy(state, best)
        if cost < _EXACT * n:
            return


@kernel
def _copy(source: Floats, target: Floats) -> None:
    """Copy an array; an assignment to a slice takes numba far longer to compile."""
    for i in range(source.size):
        target.flat[i] = source.flat[i]


@kernel
def _half(weights: Floats, draw: int) -> int:
    """Choose half of the landmarks, four at least, by chance: some halves hold no misplaced one."""
    n = len(weights)
    left = min(n, max(4, (n + 1) // 2))
    weights.fill(0.0)
    while left > 0:
        draw = (draw * 1103515245 + 12345) % 2147483648
        j = (draw >> 8) % n
        if weights[j] == 0.0:
            weights[j] = 1.0
            left -= 1
    return draw


@kernel
def _sums(x: Floats, u: Floats, weights: Floats, principal: Floats, free: bool, sums: Floats) -> None:
    """Write Σ x xᵀ (6), Σ q x for q right (3) and up (3), and the middles of x (3) and of the pixels (2)."""
    sums.fill(0.0)
    if free:
        total = 0.0
        for i in range(len(x)):
            total += weights[i]
        for i in range(len(x)):
            for k in range(3):
                sums[12 + k] += weights[i] * x[i, k] / total
            for k in range(2):
                sums[15 + k] += weights[i] * u[i, k] / total
    else:
        sums[15], sums[16] = principal[0], principal[1]
    for i in range(len(x)):
        a, b, c = x[i, 0] - sums[12], x[i, 1] - sums[13], x[i, 2] - sums[14]
        right, up, w = u[i, 0] - sums[15], sums[16] - u[i, 1], weights[i]
        sums[0] += w * a * a
        sums[1] += w * a * b
        sums[2] += w * a * c
        sums[3] += w * b * b
        sums[4] += w * b * c
        sums[5] += w * c * c
        sums[6] += w * right * a
        sums[7] += w * right * b
        sums[8] += w * right * c
        sums[9] += w * up * a
        sums[10] += w * up * b
        sums[11] += w * up * c


@kernel
def _spread_along(row: Floats, sums: Floats) -> float:
    a, b, c = row[0], row[1], row[2]
    square: float = sums[0] * a * a + sums[3] * b * b + sums[5] * c * c
    square += 2.0 * (sums[1] * a * b + sums[2] * a * c + sums[4] * b * c)
    return square


@kernel
def _alike(turn: Floats, sums: Floats) -> tuple[float, float, float]:
    """The turn and scale of the picture that fits best, as a complex number; and Σ |p|² before it is scaled."""
    right, down = turn[0], turn[1]
    re = im = 0.0
    for k in range(3):
        re += right[k] * sums[6 + k] - down[k] * sums[9 + k]
        im += right[k] * sums[9 + k] + down[k] * sums[6 + k]
    return re, im, _spread_along(right, sums) + _spread_along(down, sums)


@kernel
def _gain(turn: Floats, sums: Floats) -> float:
    """How much of Σ |q|² a direction explains, pixels²."""
    re, im, spread = _alike(turn, sums)
    return (re * re + im * im) / spread if spread > 1e-12 else 0.0


@kernel
def _peak(gains: Floats) -> int:
    """The best direction of the grid that no neighbour beats, −1 if there is none; struck out for the next call."""
    best = -1
    for g in range(len(gains)):
        row, column = g // _COLUMNS, g % _COLUMNS
        if gains[g] > 0.0 and (best < 0 or gains[g] > gains[best]):
            there = abs(gains[g])
            top = True
            for dr in range(-1, 2):
                for dc in range(-1, 2):
                    if 0 <= row + dr < _ROWS:
                        near = (row + dr) * _COLUMNS + (column + dc) % _COLUMNS
                        top = top and abs(gains[near]) <= there
            if top:
                best = g
    if best >= 0:
        gains[best] = -gains[best]
    return best


@kernel
def _mirror(state: Floats, sums: Floats, turn: Floats) -> None:
    """Write the turn that sees the plane closest to the landmarks as a pose does, but tilted the other way."""
    xx, xy, xz, yy, yz, zz = sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]
    a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    d, e, f = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    x, y, z = 0.48, 0.6, 0.64
    for _ in range(6):  # the inverse of the matrix of moments leads to the plane's normal
        x, y, z = a * x + b * y + c * z, b * x + d * y + e * z, c * x + e * y + f * z
        length = math.sqrt(x * x + y * y + z * z) + 1e-300
        x, y, z = x / length, y / length, z / length
    for k in range(3):
        sign = 1.0 if k < 2 else -1.0
        along = 2.0 * (state[3 * k] * x + state[3 * k + 1] * y + state[3 * k + 2] * z)
        turn[k, 0], turn[k, 1] = sign * (state[3 * k] - along * x), sign * (state[3 * k + 1] - along * y)
        turn[k, 2] = sign * (state[3 * k + 2] - along * z)


@kernel
def _start(turn: Floats, sums: Floats, free: bool, scale: float, x: Floats, state: Floats) -> bool:
    """Write the pose that sees the landmarks best from one direction, perspective being weak; False: none."""
    re, im, spread = _alike(turn, sums)
    size = math.hypot(re, im)
    if not (spread > 1e-12 and size > 1e-12):
        return False
    c, s, zoom = re / size, im / size, size / spread
    far = 0.0
    for i in range(len(x)):
        far = max(far, math.sqrt(x[i, 0] ** 2 + x[i, 1] ** 2 + x[i, 2] ** 2))
    for k in range(3):
        state[k] = c * turn[0, k] + s * turn[1, k]
        state[3 + k] = c * turn[1, k] - s * turn[0, k]
        state[6 + k] = turn[2, k]
    state[9] = min(max(scale / zoom, 1.2 * far), _FARTHEST)
    state[10], state[11] = sums[15], sums[16]
    if free:
        for k in range(3):
            state[10] -= zoom * state[k] * sums[12 + k]
            state[11] -= zoom * state[3 + k] * sums[12 + k]
    return True


@kernel
def _total(x: Floats, u: Floats, state: Floats, scale: float, cap: float, squares: bool) -> float:
    """Sum of the distances between landmarks and where a pose sees them; infinite with one behind the camera."""
    total = 0.0
    for i in range(len(x)):
        a = state[0] * x[i, 0] + state[1] * x[i, 1] + state[2] * x[i, 2]
        b = state[3] * x[i, 0] + state[4] * x[i, 1] + state[5] * x[i, 2]
        z = state[6] * x[i, 0] + state[7] * x[i, 1] + state[8] * x[i, 2] + state[9]
        if z <= 1e-6:
            return math.inf
        across, down = scale * a / z + state[10] - u[i, 0], scale * b / z + state[11] - u[i, 1]
        gap = math.sqrt(across * across + down * down)
        gap /= 1.0 + gap / cap
        total += gap * gap if squares else gap
    return total


@kernel
def _refine(
    x: Floats,
    u: Floats,
    weights: Floats,
    state: Floats,
    scale: float,
    free: bool,
    smooth: float,
    cap: float,
    rounds: int,
    settled: float,
    work: Floats,
) -> None:
    """Improve a pose by Levenberg and Marquardt's steps: least squares with `smooth` 0, else distances.

    Distances are √(r² + smooth²), whose second derivative along r is kept, so that steps are Newton's.
    """
    p = 6 if free else 4
    here, there, factor, trial = work[:7], work[7:14], work[14:21], work[21]
    _copy(state, trial)
    cost, damping = math.inf, 1e-5 if smooth == 0.0 else 1e-3
    for _ in range(rounds + 1):
        new = _system(x, u, weights, trial, scale, p, smooth, cap, there, work[22:])
        if new < cost:
            gain, cost = cost - new, new
            _copy(trial, state)
            here, there = there, here
            damping = max(0.1 * damping, 1e-12)
            if gain <= settled * cost:
                break
        else:
            damping = max(10.0 * damping, 1e-6)
            if damping > 1e6 or new <= cost * (1.0 + 1e-14):
                break
        for k in range(p):
            for j in range(k + 1):
                factor[k, j] = here[k, j]
            factor[k, k] += damping * here[k, k] + 1e-12
            factor[6, k] = -here[6, k]
        if not _cholesky(factor, p):
            break
        _move(state, factor[6], p, trial)


@kernel
def _system(
    x: Floats,
    u: Floats,
    weights: Floats,
    state: Floats,
    scale: float,
    p: int,
    smooth: float,
    cap: float,
    out: Floats,
    slopes: Floats,
) -> float:
    """Write the second derivatives (lower triangle) and, in row 6, the slope of the cost; return the cost.

    Parameters: a turn about the camera's three axes, the logarithm of the distance, the principal point.
    """
    out.fill(0.0)
    du, dv = slopes[0], slopes[1]
    du[4], du[5], dv[4], dv[5] = 1.0, 0.0, 0.0, 1.0
    cost, d = 0.0, state[9]
    for i in range(len(x)):
        w = weights[i]
        if w == 0.0:
            continue
        a = state[0] * x[i, 0] + state[1] * x[i, 1] + state[2] * x[i, 2]
        b = state[3] * x[i, 0] + state[4] * x[i, 1] + state[5] * x[i, 2]
        c = state[6] * x[i, 0] + state[7] * x[i, 1] + state[8] * x[i, 2]
        z = c + d
        if z <= 1e-6:
            return math.inf
        near, s, t = scale / z, a / z, b / z
        ru, rv = near * a + state[10] - u[i, 0], near * b + state[11] - u[i, 1]
        du[0], dv[0] = -near * s * b, -near * (c + t * b)
        du[1], dv[1] = near * (c + s * a), near * t * a
        du[2], dv[2] = -near * b, near * a
        du[3], dv[3] = -near * s * d, -near * t * d
        square = ru * ru + rv * rv
        if smooth == 0.0:
            cost += 0.5 * w * square
            uu, uv, vv, slope = w, 0.0, w, w
        else:
            gap = math.sqrt(square + smooth * smooth)
            fade = 1.0 / (1.0 + gap / cap)
            cost += w * gap * fade
            slope = w * fade * fade / gap
            bend = slope / (gap * gap)
            uu, uv, vv = slope - bend * ru * ru, -bend * ru * rv, slope - bend * rv * rv
        for k in range(p):
            ku, kv = uu * du[k] + uv * dv[k], uv * du[k] + vv * dv[k]
            for j in range(k + 1):
                out[k, j] += ku * du[j] + kv * dv[j]
            out[6, k] += slope * (ru * du[k] + rv * dv[k])
    return cost


@kernel
def _cholesky(m: Floats, p: int) -> bool:
    """Solve for row 6 in place; False where the matrix is not positive."""
    for k in range(p):
        for j in range(k + 1):
            total = m[k, j]
            for i in range(j):
                total -= m[k, i] * m[j, i]
            if j < k:
                m[k, j] = total / m[j, j]
            elif total <= 0.0:
                return False
            else:
                m[k, k] = math.sqrt(total)
    for k in range(p):
        for i in range(k):
            m[6, k] -= m[k, i] * m[6, i]
        m[6, k] /= m[k, k]
    for k in range(p - 1, -1, -1):
        for i in range(k + 1, p):
            m[6, k] -= m[i, k] * m[6, i]
        m[6, k] /= m[k, k]
    return True


@kernel
def _move(state: Floats, step: Floats, p: int, out: Floats) -> None:
    """Write the pose after a step."""
    x, y, z = step[0], step[1], step[2]
    angle = math.sqrt(x * x + y * y + z * z)
    a = math.sin(angle) / angle if angle > 1e-8 else 1.0
    b = (1.0 - math.cos(angle)) / (angle * angle) if angle > 1e-4 else 0.5
    for k in range(3):
        p0, p1, p2 = state[k], state[3 + k], state[6 + k]
        c0, c1, c2 = y * p2 - z * p1, z * p0 - x * p2, x * p1 - y * p0
        out[k] = p0 + a * c0 + b * (y * c2 - z * c1)
        out[3 + k] = p1 + a * c1 + b * (z * c0 - x * c2)
        out[6 + k] = p2 + a * c2 + b * (x * c1 - y * c0)
    out[9] = min(state[9] * math.exp(min(max(step[3], -1.0), 1.0)), _FARTHEST)
    out[10] = state[10] + (step[4] if p == 6 else 0.0)
    out[11] = state[11] + (step[5] if p == 6 else 0.0)
