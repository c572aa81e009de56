"""What the two class names alone say about a pair: the blind class-pair prior.

Both label sets have the same shape: two labels that swap when the pair is read the other way round (codes 1 and 2:
closer/farther, occludes/occluded) and two that do not (0 and 3). So the prior has two parts. The *kind* of a pair
(label 0, ordered, label 3) is estimated for the unordered class pair, the *direction* of an ordered one for the
ordered class pair; each starts from what the two classes do in general and lets the pair's own counts take over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.exams.relations.pairs import PairTable

Floats = NDArray[np.float64]

UNSEEN = -1
"""Code of a class the prior was not fitted on."""

_KINDS = np.array([0, 1, 1, 2])  # label code → kind: label 0, ordered, label 3


@dataclass(frozen=True)
class ClassPrior:
    """Label probabilities of an ordered pair given its two classes.

    With k classes and u class pairs seen:

    Attributes:
        aspect: ``"depth"`` or ``"occlusion"``.
        categories: The k class names; a class's code is its place here.
        keys: (u,) sorted ``first · k + second``.
        counts: (u, 4) labels of each seen ordered class pair.
        rating: (k + 1,) log-odds that a class is the closer (occluding) one of an ordered pair; the last entry, 0,
            is that of an unseen class.
        kinds: (k + 1, 3) how often a class stands in a pair of each kind; the last row is the average class.
        pair_weight: How many pairs the class-level guess counts for.
    """

    aspect: str
    categories: tuple[str, ...]
    keys: NDArray[np.int64]
    counts: Floats
    rating: Floats
    kinds: Floats
    pair_weight: float

    @classmethod
    def fit(
        cls, table: PairTable, *, aspect: str = "depth", class_weight: float = 5.0, pair_weight: float = 20.0
    ) -> ClassPrior:
        """Count the labels of annotated pairs (not `ordered`: the reverses are added here).

        Args:
            table: Pairs with labels; those without a majority are left out.
            aspect: Which labels to learn.
            class_weight: α of a class's win rate ``(wins + α/2) / (n + α)``.
            pair_weight: m of a class pair's estimate ``(count + m · prior) / (n + m)``.
        """
        both = table.ordered()
        labels = getattr(both, aspect)
        known = labels >= 0
        first = both.category[both.first[known]].astype(np.int64)
        second = both.category[both.second[known]].astype(np.int64)
        k = len(table.categories)
        keys, place = np.unique(first * k + second, return_inverse=True)
        counts = _count(place, labels[known], len(keys), 4)
        by_class = _count(first, labels[known], k, 4)
        wins, losses = by_class[:, 1], by_class[:, 2]
        rate = (wins + class_weight / 2) / (wins + losses + class_weight)
        by_kind = by_class @ np.eye(3)[_KINDS]
        overall = (by_kind.sum(0) + 1.0) / (by_kind.sum() + 3.0)
        shares = (by_kind + class_weight * overall) / (by_kind.sum(1, keepdims=True) + class_weight)
        return cls(
            aspect=aspect,
            categories=table.categories,
            keys=keys,
            counts=counts,
            rating=np.append(np.log(rate / (1.0 - rate)), 0.0),
            kinds=np.vstack([shares, overall]),
            pair_weight=pair_weight,
        )

    def codes(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Class codes of class names, `UNSEEN` for those the prior does not know."""
        known = {name: code for code, name in enumerate(self.categories)}
        return np.fromiter((known.get(name, UNSEEN) for name in names), dtype=np.int64, count=len(names))

    def direction(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """(n,) probability that an ordered pair's label is 1 (closer, occludes) rather than 2; 0.5 is a tie.

        Args:
            first: (n,) class codes of the first objects (see `codes`).
            second: (n,) those of the second ones.
        """
        a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
        seen = self._seen(a, b)
        guess = 1.0 / (1.0 + np.exp(self.rating[b] - self.rating[a]))
        estimate: Floats = (seen[:, 1] + self.pair_weight * guess) / (seen[:, 1] + seen[:, 2] + self.pair_weight)
        return estimate

    def pair_habit(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """(n,) the same by the class pair's own counts alone, without a rating of classes; never seen is a tie."""
        seen = self._seen(np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64))
        ordered = seen[:, 1] + seen[:, 2]
        habit: Floats = np.where(ordered > 0, seen[:, 1] / np.maximum(ordered, 1.0), 0.5)
        return habit

    def probabilities(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """(n, 4) probability of each label code given the class codes of both objects; rows sum to 1."""
        a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
        seen = self._seen(a, b) @ np.eye(3)[_KINDS]
        guess = self.kinds[a] * self.kinds[b] / self.kinds[UNSEEN]
        guess /= guess.sum(1, keepdims=True)
        kind = (seen + self.pair_weight * guess) / (seen.sum(1, keepdims=True) + self.pair_weight)
        forward = self.direction(a, b)
        return np.column_stack([kind[:, 0], kind[:, 1] * forward, kind[:, 1] * (1.0 - forward), kind[:, 2]])

    def _seen(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Floats:
        """(n, 4) label counts of each class pair, zeros where it was never seen."""
        if not len(self.keys):
            return np.zeros((len(a), 4))
        wanted = np.where((a < 0) | (b < 0), -1, a * len(self.categories) + b)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        seen: Floats = self.counts[place] * (self.keys[place] == wanted)[:, None]
        return seen


def cluster_folds(table: PairTable, folds: int = 5, seed: int = 0) -> NDArray[np.int64]:
    """(n,) fold of each pair; all pairs of a cluster share one, folds hold equally many clusters within one."""
    order = np.random.default_rng(seed).permutation(len(table.clusters))
    return np.argsort(order)[table.cluster] % folds


def cross_fit(
    table: PairTable, *, aspect: str = "depth", folds: int = 5, seed: int = 0
) -> Iterator[tuple[NDArray[np.intp], ClassPrior]]:
    """(rows of a fold, prior fitted on all other folds), so that no cluster's own labels answer for it."""
    fold = cluster_folds(table, folds, seed)
    for k in range(folds):
        yield np.flatnonzero(fold == k), ClassPrior.fit(table.take(fold != k), aspect=aspect)


def _count(row: NDArray[np.int64], column: NDArray[np.int8], rows: int, columns: int) -> Floats:
    """(rows, columns) how often each (row, column) occurs."""
    flat = np.bincount(row * columns + column, minlength=rows * columns)
    return flat.reshape(rows, columns).astype(np.float64)
