"""Which classes and class pairs there are, and which labels they get (the paper's Figures 5 and 8–10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.pairs import PairTable
from sightline.scenes import words

Classes = tuple[str, ...]
"""One class, or the classes (first, second) of a pair."""


@dataclass(frozen=True)
class Frequency:
    """How often each class or class pair occurs, commonest first.

    Attributes:
        names: (r,) classes, or unordered class pairs in alphabetical order.
        counts: (r,) occurrences.
        total: Occurrences of all names, also of those cut off.
        distinct: How many names there are in all.
    """

    names: tuple[Classes, ...]
    counts: NDArray[np.int64]
    total: int
    distinct: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = [{"classes": list(n), "count": int(c)} for n, c in zip(self.names, self.counts, strict=True)]
        return {"total": self.total, "distinct": self.distinct, "rows": rows}


@dataclass(frozen=True)
class LabelBar:
    """One row of a label chart: a class or class pair and how its pairs are labelled.

    Attributes:
        name: The class, or the classes of the first and the second object.
        shares: (5,) share of each label code 0–3, then of no majority.
        support: Ordered pairs behind the shares.
    """

    name: Classes
    shares: NDArray[np.float64]
    support: int


@dataclass(frozen=True)
class LabelDistribution:
    """Labels of all ordered pairs grouped by the class of the first object, or by both classes.

    Attributes:
        aspect: ``"depth"`` or ``"occlusion"``.
        names: (r,) what the rows stand for.
        counts: (r, 5) ordered pairs with label code 0–3, then without majority.
    """

    aspect: str
    names: tuple[Classes, ...]
    counts: NDArray[np.int64]

    @property
    def labels(self) -> tuple[str, ...]:
        """Words of the five columns."""
        return (*words(self.aspect), "no_majority")

    def top(self, label: str, k: int = 6, support: int = 50) -> tuple[LabelBar, ...]:
        """The k names with the highest share of a label; one of (a, b) and (b, a) where the label fits both alike.

        Args:
            label: A word of `labels`.
            k: How many to give.
            support: Names with fewer ordered pairs than this are left out: their shares are mostly chance.
        """
        column = self.labels.index(label)
        total = self.counts.sum(1)
        wanted = (total >= max(support, 1)) & (self.counts[:, column] > 0)
        if column not in (1, 2):
            wanted &= np.array([name[0] <= name[-1] for name in self.names], dtype=bool)
        rows = np.flatnonzero(wanted)
        share = self.counts[rows] / total[rows, None]
        order = np.lexsort((rows, -total[rows], -share[:, column]))[:k]
        return tuple(LabelBar(self.names[rows[i]], share[i], int(total[rows[i]])) for i in order)

    def to_dict(self, k: int = 6, support: int = 50) -> dict[str, Any]:
        """The top k of every label as plain values for JSON."""
        return {label: [self._row(bar) for bar in self.top(label, k, support)] for label in self.labels}

    def _row(self, bar: LabelBar) -> dict[str, Any]:
        shares = dict(zip(self.labels, bar.shares.tolist(), strict=True))
        return {"classes": list(bar.name), "support": bar.support, "shares": shares}


def class_frequency(table: PairTable, top: int = 100) -> Frequency:
    """Objects of each class, also objects in no pair."""
    counts = np.bincount(table.category, minlength=len(table.categories))
    return _frequency([(name,) for name in table.categories], counts, top)


def class_pair_frequency(table: PairTable, top: int = 100) -> Frequency:
    """Annotated pairs of each unordered class pair."""
    a, b = table.category[table.first], table.category[table.second]
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    keys, counts = np.unique(low * len(table.categories) + high, return_counts=True)
    return _frequency(_pair_names(keys, table.categories), counts, top)


def labels_by_class(table: PairTable, aspect: str = "depth") -> LabelDistribution:
    """Labels by the class of the first object; each annotated pair counts in both directions."""
    both = table.ordered()
    names = tuple((name,) for name in table.categories)
    return LabelDistribution(aspect, names, _count(both.category[both.first], getattr(both, aspect), len(names)))


def labels_by_class_pair(table: PairTable, aspect: str = "depth") -> LabelDistribution:
    """Labels by the classes of the first and second object; each annotated pair counts in both directions."""
    both = table.ordered()
    first, second = both.category[both.first].astype(np.int64), both.category[both.second]
    keys, row = np.unique(first * len(table.categories) + second, return_inverse=True)
    names = tuple(_pair_names(keys, table.categories))
    return LabelDistribution(aspect, names, _count(row, getattr(both, aspect), len(names)))


def _pair_names(keys: NDArray[np.int64], categories: tuple[str, ...]) -> list[Classes]:
    first, second = np.divmod(keys, max(len(categories), 1))
    return [(categories[a], categories[b]) for a, b in zip(first.tolist(), second.tolist(), strict=True)]


def _frequency(names: list[Classes], counts: NDArray[np.int64], top: int) -> Frequency:
    order = np.argsort(-counts, kind="stable")[:top]
    order = order[counts[order] > 0]
    shown = tuple(names[i] for i in order)
    return Frequency(shown, counts[order], total=int(counts.sum()), distinct=int(np.count_nonzero(counts)))


def _count(row: NDArray[Any], labels: NDArray[np.int8], rows: int) -> NDArray[np.int64]:
    """(rows, 5) label counts; code −1 falls into the last column."""
    flat = np.bincount(row.astype(np.int64) * 5 + labels.astype(np.int64) % 5, minlength=rows * 5)
    return flat.reshape(rows, 5)
