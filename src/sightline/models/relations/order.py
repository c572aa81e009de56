"""Total preorders of objects by depth, from what a network thinks of their pairs.

Pairs judged one by one can contradict each other: a before b, b before c, c before a. Here every object gets one
score, by how far it leads the others, and the scores put the objects in a row. The row is cut into levels: objects
of one level are at the *same* depth, those of an earlier level are closer. Whatever the network thinks, answers
read off the levels cannot contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DepthOrder:
    """Objects from the closest to the farthest.

    Attributes:
        level: (n,) 0 for the closest; objects of one level are at the same depth.
        score: (n,) how far each leads the others; higher is closer.
    """

    level: NDArray[np.intp]
    score: Floats

    def between(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.int8]:
        """Depth codes of pairs: 1 the first is closer, 2 the second, 3 both at one level."""
        a, b = self.level[first], self.level[second]
        return np.where(a < b, 1, np.where(a > b, 2, 3)).astype(np.int8)


def order_within(chances: NDArray[Any]) -> DepthOrder:
    """Order the objects of one image.

    The row is cut where the expected number of right pairs is greatest, by dynamic programming.

    Args:
        chances: (n, n, 4) chances of the codes of `Depth` for each ordered pair; the diagonal is not looked at.

    >>> sure = np.zeros((3, 3, 4))
    >>> sure[0, 1, 3] = sure[1, 0, 3] = sure[0, 2, 1] = sure[1, 2, 1] = sure[2, 0, 2] = sure[2, 1, 2] = 1.0
    >>> order_within(sure).level.tolist()
    [0, 0, 1]
    """
    given = np.array(chances, dtype=np.float64)
    n = len(given)
    given[np.arange(n), np.arange(n)] = 0.0
    score = (given[..., 1] - given[..., 2]).sum(axis=1)
    row = np.argsort(-score, kind="stable")
    # What is gained if two objects of the row share a level instead of standing in the order of the row.
    gain = np.triu((given[..., 3] - given[..., 1])[np.ix_(row, row)], k=1)
    level = np.empty(n, dtype=np.intp)
    level[row] = levels(gain)
    return DepthOrder(level, score)


def levels(gain: Floats) -> NDArray[np.intp]:
    """Cut a row of n objects into levels so that the gains of pairs that share one are greatest: (n,) levels.

    Args:
        gain: (n, n) gain of each pair, only above the diagonal.
    """
    n = len(gain)
    column = np.cumsum(gain[::-1], axis=0)[::-1]  # [i, j] gains of object j with objects i, i + 1, … before it
    best, cut = np.zeros(n + 1), np.zeros(n + 1, dtype=np.intp)
    inside = np.zeros(n)  # gains within a level from object i to the one that was added last
    for end in range(1, n + 1):
        inside[:end] += column[:end, end - 1]
        total = best[:end] + inside[:end]
        cut[end] = end - 1 - int(np.argmax(total[::-1]))  # of equals the shortest level
        best[end] = total[cut[end]]
    starts = np.zeros(n, dtype=np.intp)
    end = n
    while end:
        end = int(cut[end])
        starts[end] = 1
    return np.cumsum(starts) - 1


def merged_levels(
    first: NDArray[np.intp], second: NDArray[np.intp], closer: NDArray[Any], farther: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Put the levels of two images in one row: the new levels of the first image's objects, and of the second's.

    Each image keeps its own order, so that answers across the two contradict none within either. No level of one
    image is joined with one of the other. Of all such rows it is the one with the greatest expected number of right
    pairs, by dynamic programming.

    Args:
        first: (n,) levels of the first image's objects, 0 for the closest and none left out.
        second: (m,) levels of the second's.
        closer: (n, m) chance that object i of the first is closer than object j of the second.
        farther: (n, m) chance that it is farther.

    >>> from numpy import array
    >>> ahead = array([[0.9, 0.9], [0.1, 0.8]])  # the first object is before both, the second between them
    >>> [row.tolist() for row in merged_levels(array([0, 1]), array([0, 1]), ahead, 1 - ahead)]
    [[0, 2], [1, 3]]
    """
    counts = int(first.max()) + 1, int(second.max()) + 1
    # What is won when a level is placed before all levels of the other image that are still to be placed.
    before = np.zeros((counts[0], counts[1] + 1))
    after = np.zeros((counts[0] + 1, counts[1]))
    np.add.at(before, (first[:, None], second[None]), closer)
    np.add.at(after, (first[:, None], second[None]), farther)
    before = before[:, ::-1].cumsum(axis=1)[:, ::-1]
    after = after[::-1].cumsum(axis=0)[::-1]
    best = np.zeros((counts[0] + 1, counts[1] + 1))
    from_first = np.zeros(best.shape, dtype=bool)
    best[0, 1:] = after[0].cumsum()
    for i in range(1, counts[0] + 1):
        along = np.concatenate(([0.0], after[i].cumsum()))
        above = best[i - 1] + before[i - 1]
        best[i] = along + np.maximum.accumulate(above - along)
        from_first[i, 1:] = above[1:] >= best[i, :-1] + after[i]
    from_first[1:, 0] = True
    places = np.zeros(counts[0], dtype=np.intp), np.zeros(counts[1], dtype=np.intp)
    i, j = counts
    while i + j:
        if from_first[i, j]:
            i -= 1
            places[0][i] = i + j
        else:
            j -= 1
            places[1][j] = i + j
    return places[0][first], places[1][second]
