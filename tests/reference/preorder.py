"""Slow and obvious versions of what orders objects by depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def partitions(n: int) -> Iterator[list[int]]:
    """Every way to cut a row of n objects into levels: the level of each object."""
    if n == 0:
        yield []
        return
    for cuts in range(2 ** (n - 1)):
        level, row = 0, [0]
        for place in range(n - 1):
            level += (cuts >> place) & 1
            row.append(level)
        yield row


def total_gain(gain: NDArray[np.float64], level: Sequence[int]) -> float:
    """Gains of all pairs that share a level."""
    n = len(level)
    return sum(float(gain[i, j]) for i in range(n) for j in range(i + 1, n) if level[i] == level[j])


def contradictions(depth: dict[tuple[int, int], int]) -> list[str]:
    """Every contradiction among depth codes of ordered pairs: 1 closer, 2 farther, 3 same, 0 unsure."""
    reverse = {0: 0, 1: 2, 2: 1, 3: 3}
    found = [f"{pair} turned" for pair, code in depth.items() if depth[pair[::-1]] != reverse[code]]
    objects = sorted({i for pair in depth for i in pair})
    for a in objects:
        for b in objects:
            for c in objects:
                if len({a, b, c}) < 3 or not {(a, b), (b, c), (a, c)} <= depth.keys():
                    continue
                not_farther = depth[a, b] in (1, 3) and depth[b, c] in (1, 3)
                if not_farther and depth[a, c] == 2:
                    found.append(f"{a} ≤ {b} ≤ {c}, yet {a} > {c}")
                if depth[a, b] == depth[b, c] == 3 and depth[a, c] in (1, 2):
                    found.append(f"{a} = {b} = {c}, yet {a} and {c} differ")
    return found


def merges(first: Sequence[int], second: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Every way to put the levels of two images in one row that keeps the order of each: their new levels."""
    counts = max(first) + 1, max(second) + 1
    for chosen in combinations(range(sum(counts)), counts[0]):
        others = [place for place in range(sum(counts)) if place not in chosen]
        yield [chosen[level] for level in first], [others[level] for level in second]


def right_pairs(
    first: Sequence[int], second: Sequence[int], closer: NDArray[np.float64], farther: NDArray[np.float64]
) -> float:
    """Expected number of right pairs across two images of given levels."""
    total = 0.0
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            total += float(closer[i, j] if a < b else farther[i, j])
    return total
