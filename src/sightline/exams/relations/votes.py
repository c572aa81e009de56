"""From raw votes to a label and a difficulty."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.exams.relations.pairs import PairTable
from sightline.scenes import NO_MAJORITY, Depth

NO_VOTES = -1
"""Difficulty code of a pair that nobody voted on."""


class Difficulty(IntEnum):
    """How well the raters of a pair agree on its depth order."""

    EASY = 0
    MODERATE = 1
    DIFFICULT = 2
    INFEASIBLE = 3
    AMBIGUOUS = 4

    @property
    def word(self) -> str:
        """Lower-case name, the form used in files.

        >>> Difficulty.EASY.word
        'easy'
        """
        return self.name.lower()


def majority(votes: ArrayLike) -> NDArray[np.int8]:
    """Label that more than half of the raters gave, else `NO_MAJORITY`.

    Args:
        votes: (n, 4) how many raters gave each label code.

    >>> majority([[0, 3, 2, 0], [0, 2, 2, 0], [0, 2, 1, 1]])
    array([ 1, -1, -1], dtype=int8)
    """
    v = np.asarray(votes, dtype=np.int64)
    label = np.where(2 * v.max(1, initial=0) > v.sum(1), v.argmax(1), NO_MAJORITY)
    return label.astype(np.int8)


def difficulty(votes: ArrayLike) -> NDArray[np.int8]:
    """Codes of `Difficulty` from the depth votes; `NO_VOTES` where there are none.

    A majority for *unsure* is infeasible whatever its margin, no majority is ambiguous. Else a unanimous pair is
    easy, one with at least 80 % for the winner moderate, any other difficult. With five votes these are the
    paper's scales (5, 4 and 3 of 5).

    Args:
        votes: (n, 4) how many raters gave each code of `Depth`.

    >>> five = [[0, 5, 0, 0], [1, 4, 0, 0], [2, 3, 0, 0], [5, 0, 0, 0], [1, 2, 2, 0]]
    >>> [Difficulty(code).word for code in difficulty(five)]
    ['easy', 'moderate', 'difficult', 'infeasible', 'ambiguous']
    """
    v = np.asarray(votes, dtype=np.int64)
    label, total, best = majority(v), v.sum(1), v.max(1, initial=0)
    scale = np.select(
        [total == 0, label == NO_MAJORITY, label == Depth.UNSURE, best == total, 5 * best >= 4 * total],
        [NO_VOTES, Difficulty.AMBIGUOUS, Difficulty.INFEASIBLE, Difficulty.EASY, Difficulty.MODERATE],
        Difficulty.DIFFICULT,
    )
    return scale.astype(np.int8)


def clear_order(table: PairTable) -> NDArray[np.bool_]:
    """(n,) True where the raters agreed that one of the two is closer."""
    clear: NDArray[np.bool_] = (table.depth == Depth.CLOSER) | (table.depth == Depth.FARTHER)
    return clear
