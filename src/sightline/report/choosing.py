"""Which scenes to show: the worst, some typical ones, some perfect ones; the same every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Chosen:
    """Ids of the scenes to show; no scene stands twice."""

    worst: tuple[str, ...]
    typical: tuple[str, ...]
    perfect: tuple[str, ...]


def choose(
    scenes: Sequence[str],
    asked: NDArray[np.int64],
    right: NDArray[np.int64],
    *,
    worst: int = 6,
    typical: int = 4,
    perfect: int = 3,
) -> Chosen:
    """Choose scenes by the share of right judgements.

    Worst are the lowest shares; typical those nearest to the middle of all scenes with a mistake; perfect those
    without one, the fullest first. Ties go by the scene's id.

    Args:
        scenes: Ids.
        asked: Judgements of each; scenes without any are never shown.
        right: Those that are right.
        worst: How many of the worst at most.
        typical: How many typical ones.
        perfect: How many perfect ones.

    >>> choose("abcd", np.array([10, 10, 10, 20]), np.array([9, 5, 8, 20]), worst=1, typical=1)
    Chosen(worst=('b',), typical=('c',), perfect=('d',))
    """
    share = right / np.maximum(asked, 1)
    wrong = [i for i in range(len(scenes)) if right[i] < asked[i]]
    low = sorted(wrong, key=lambda i: (share[i], scenes[i]))
    middle = float(np.median(share[wrong])) if wrong else 0.0
    rest = sorted(low[worst:], key=lambda i: (abs(share[i] - middle), scenes[i]))
    whole = [i for i in range(len(scenes)) if right[i] == asked[i] > 0]
    whole.sort(key=lambda i: (-asked[i], scenes[i]))
    picked = (low[:worst], rest[:typical], whole[:perfect])
    return Chosen(*(tuple(scenes[i] for i in own) for own in picked))
