"""Solve a support vector machine over cached constraints in its dual, group by group.

Minimise ½ |w|² + C Σ over groups g of max(0, max over its constraints k of (margin_k − w · x_k)), some of the
weights being held above a bound. A latent SVM has one constraint a group (x is an example or minus one, its margin
1); a structured SVM has one group an object and one constraint for every answer that is nearly as good as the true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.kernels import compiler, stamp

_kernel = compiler(stamp([Path(__file__)]), fastmath={"reassoc", "contract", "arcp", "nsz"})
Vector = NDArray[np.float32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass
class Constraint:
    """w · x should be at least the margin.

    Attributes:
        group: Constraints of one group share one slack.
        margin: What is asked for.
        pieces: (first weight, values) each: where x is not zero; two at most, and they do not overlap.
        weight: Of its dual variable, in costs; where a solution stands that is gone on with.
        key: What it was made of, so that it is not kept twice.
    """

    group: tuple[object, ...]
    margin: float
    pieces: tuple[tuple[int, Vector], ...]
    key: tuple[object, ...] = ()
    weight: float = field(default=0.0)


def solve(
    constraints: Sequence[Constraint],
    size: int,
    cost: float,
    *,
    floors: NDArray[np.float32] | None = None,
    passes: int = 200,
    tolerance: float = 0.01,
) -> Vector:
    """Find the weights, and set the `weight` of every constraint.

    Args:
        constraints: Any number, of any order; those of a group need not stand together.
        size: How many weights there are.
        cost: C.
        floors: (size,): least value of each weight, −inf where it is free.
        passes: Over all groups, at most.
        tolerance: It ends where no constraint is violated by more than this.
    """
    numbers: dict[tuple[object, ...], int] = {}
    for one in constraints:
        numbers.setdefault(one.group, len(numbers))
    order = sorted(range(len(constraints)), key=lambda i: (numbers[constraints[i].group], i))
    chosen = [constraints[i] for i in order]
    starts = np.searchsorted([numbers[c.group] for c in chosen], np.arange(len(numbers) + 1))
    table = np.zeros((len(chosen), 2, 3), dtype=np.int64)  # first weight, first value, length
    place = 0
    for row, one in zip(table, chosen, strict=True):
        for slot, (first, values) in zip(row, one.pieces, strict=False):
            slot[:] = first, place, len(values)
            place += len(values)
    data = np.concatenate([values for one in chosen for _, values in one.pieces] or [np.zeros(0, np.float32)])
    margins = np.array([one.margin for one in chosen], dtype=np.float64)
    alphas = np.array([one.weight for one in chosen], dtype=np.float64) * cost
    low = np.full(size, -np.inf, dtype=np.float32) if floors is None else floors
    weights = _ascend(data, table, starts, margins, alphas, low, cost, passes, tolerance)
    for one, alpha in zip(chosen, alphas.tolist(), strict=True):
        one.weight = alpha / cost
    return weights


@_kernel
def _dot(weights: Vector, data: Vector, pieces: Integers) -> Any:
    total = np.float32(0.0)
    for s in range(2):
        first, place, length = pieces[s]
        part = np.float32(0.0)
        for i in range(length):
            part += weights[first + i] * data[place + i]
        total += part
    return total


@_kernel
def _add(sums: Vector, weights: Vector, floors: Vector, data: Vector, pieces: Integers, by: float) -> None:
    """Add a constraint's vector to the sums, and hold the weights above their floors."""
    step = np.float32(by)
    for s in range(2):
        first, place, length = pieces[s]
        for i in range(length):
            sums[first + i] += step * data[place + i]
        for i in range(length):
            weights[first + i] = max(sums[first + i], floors[first + i])


@_kernel
def _apart(data: Vector, a: Integers, b: Integers) -> float:
    """|x_a − x_b|² from the pieces of both, which may lie anywhere."""
    total = 0.0
    for s in range(2):
        place, length = a[s, 1], a[s, 2]
        for i in range(length):
            total += data[place + i] * data[place + i]
    for s in range(2):
        place, length = b[s, 1], b[s, 2]
        for i in range(length):
            total += data[place + i] * data[place + i]
    for s in range(2):
        for t in range(2):
            low, high = max(a[s, 0], b[t, 0]), min(a[s, 0] + a[s, 2], b[t, 0] + b[t, 2])
            part = 0.0
            for i in range(low, high):
                part += data[a[s, 1] + i - a[s, 0]] * data[b[t, 1] + i - b[t, 0]]
            total -= 2.0 * part
    return total


@_kernel
def _ascend(
    data: Vector,
    table: Integers,
    starts: Integers,
    margins: Floats,
    alphas: Floats,
    floors: Vector,
    cost: float,
    passes: int,
    tolerance: float,
) -> Vector:
    """Go up the dual by one group after the other; the dual variables are changed in place."""
    n, groups = len(table), len(starts) - 1
    sums = np.zeros(len(floors), np.float32)
    weights = np.maximum(sums, floors)
    squares = np.zeros(n)
    for k in range(n):
        for s in range(2):
            place, length = table[k, s, 1], table[k, s, 2]
            part = np.float32(0.0)
            for i in range(length):
                part += data[place + i] * data[place + i]
            squares[k] += part
        if alphas[k] > 0.0:
            _add(sums, weights, floors, data, table[k], alphas[k])
    idle = np.zeros(groups, np.int64)  # passes since a group last moved: quiet ones are looked at less often
    slacks = np.zeros(n)
    for turn in range(passes):
        worst, looked = 0.0, True
        for g in range(groups):
            if idle[g] > 2 and turn % min(idle[g], 8) != 0:
                looked = False
                continue
            begin, end = starts[g], starts[g + 1]
            used, first, last = 0.0, -1, -1
            for k in range(begin, end):
                slacks[k] = margins[k] - _dot(weights, data, table[k])
                used += alphas[k]
                if first < 0 or slacks[k] > slacks[first]:
                    first = k
                if alphas[k] > 0.0 and (last < 0 or slacks[k] < slacks[last]):
                    last = k
            moved = 0.0
            room = cost - used > 1e-9 * cost
            excess = -slacks[last] if last >= 0 else 0.0  # of one that is held up though it is fulfilled
            if room and slacks[first] > 0.0 and slacks[first] >= excess:
                moved = slacks[first]
                step = min(slacks[first] / max(squares[first], 1e-12), cost - used)
                alphas[first] += step
                _add(sums, weights, floors, data, table[first], step)
            elif not room and first != last and slacks[first] > max(0.0, slacks[last]):
                moved = slacks[first] - slacks[last]
                curve = max(_apart(data, table[first], table[last]), 1e-12)
                step = min(moved / curve, alphas[last])
                alphas[first] += step
                alphas[last] -= step
                _add(sums, weights, floors, data, table[first], step)
                _add(sums, weights, floors, data, table[last], -step)
            elif excess > 0.0:
                moved = excess
                step = max(slacks[last] / max(squares[last], 1e-12), -alphas[last])
                alphas[last] += step
                _add(sums, weights, floors, data, table[last], step)
            worst = max(worst, moved)
            idle[g] = 0 if moved > tolerance else idle[g] + 1
        if worst <= tolerance:
            if looked:
                break
            idle[:] = 0  # look at all of them before it ends
    return weights
