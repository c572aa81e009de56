"""From truth and answers to counts a scene: all a score needs.

Only NumPy is needed here, so that a network can be marked where it was trained.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.scenes.labels import PREDICATES

Counts = NDArray[np.int64]

CELLS: Final = ("tp", "fp", "tn", "fn", "unknown_true", "unknown_false")
"""What becomes of a judgement; the last two are those a model cannot say, where it holds and where it does not."""
TP, FP, TN, FN, UNKNOWN_TRUE, UNKNOWN_FALSE = range(len(CELLS))

_CELL = np.array([[UNKNOWN_FALSE, TN, FP], [UNKNOWN_TRUE, FN, TP]])
"""Cell of [truth, answer + 1]."""


def tally(truth: NDArray[Any], answers: NDArray[Any]) -> Counts:
    """Counts of one scene.

    Args:
        truth: (n, n, 8) bool, [subject, object, predicate].
        answers: (n, n, 8) 1 it holds, 0 it does not, −1 unknown. The diagonal is not looked at.

    Returns:
        (8, 6): one row a predicate, the columns are `CELLS`.

    >>> truth, answers = np.zeros((2, 2, 8), dtype=bool), np.zeros((2, 2, 8), dtype=np.int8)
    >>> truth[0, 1, 0], answers[0, 1, 0], answers[1, 0, 0] = True, 1, -1
    >>> tally(truth, answers)[:2].tolist()
    [[1, 0, 0, 0, 0, 1], [0, 0, 2, 0, 0, 0]]
    """
    counts: Counts = tally_many(truth[None], answers[None], np.ones((1, len(truth)), dtype=bool))[0]
    return counts


def tally_many(truth: NDArray[Any], answers: NDArray[Any], present: NDArray[Any]) -> Counts:
    """Counts (S, 8, 6) of many scenes, padded to the same number of places.

    Args:
        truth: (S, N, N, 8) bool.
        answers: (S, N, N, 8) as in `tally`; what stands at places without an object does not matter.
        present: (S, N) True where there is an object.
    """
    there = np.asarray(present, dtype=bool)
    asked = there[:, :, None] & there[:, None, :] & ~np.eye(there.shape[1], dtype=bool)
    scene, subject, other = np.nonzero(asked)
    n = len(PREDICATES)
    return tally_flat(
        np.repeat(scene, n),
        np.tile(np.arange(n), len(scene)),
        np.asarray(truth)[scene, subject, other].reshape(-1),
        np.asarray(answers)[scene, subject, other].reshape(-1),
        len(there),
    )


def tally_flat(
    scene: NDArray[Any], predicate: NDArray[Any], truth: NDArray[Any], answer: NDArray[Any], n_scenes: int
) -> Counts:
    """Counts (n_scenes, 8, 6) of single judgements, one entry each in all four arrays."""
    cell = _CELL[truth.astype(np.int64), answer.astype(np.int64) + 1]
    rows = scene.astype(np.int64) * len(PREDICATES) + predicate
    size = (n_scenes, len(PREDICATES), len(CELLS))
    return np.bincount(rows * len(CELLS) + cell, minlength=int(np.prod(size))).reshape(size)
