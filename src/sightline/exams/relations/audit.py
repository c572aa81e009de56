"""How far blind rules get: the depth order guessed from boxes or class names, without looking at a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.pairs import PairTable, clear_order
from sightline.exams.relations.prior import cross_fit
from sightline.exams.relations.protocols import Floats, ratio
from sightline.geometry import area, centre
from sightline.scenes import Depth
from sightline.skills import Setting
from sightline.stats import Interval, intervals

REPEATS: Final = 5
"""How often the clusters are dealt into folds anew; one dealing alone moves the class prior by half a point."""


@dataclass(frozen=True)
class BlindRule:
    """Accuracy of one rule on the pairs with a clear depth order; a tie counts one half.

    Attributes:
        accuracy: With a 95 % interval by cluster.
        pairs: Pairs judged.
        se_ratio: Standard error that respects clusters over the one that takes pairs for independent; NaN where
            either is undefined or zero.
    """

    accuracy: Interval
    pairs: int
    se_ratio: float

    def to_dict(self) -> dict[str, Any]:
        """One flat row for JSON: accuracy, low, high, n, se_ratio."""
        limits = {"accuracy": self.accuracy.value, "low": self.accuracy.low, "high": self.accuracy.high}
        return {**limits, "n": self.pairs, "se_ratio": self.se_ratio}


Audit = dict[Setting, dict[str, BlindRule]]
"""Blind rules by setting and name."""


def audit(tables: Mapping[Setting, PairTable], *, folds: int = 5, seed: int = 0, resamples: int = 2000) -> Audit:
    """Let every blind rule guess the clear depth orders, in every setting that has depth relations.

    Args:
        tables: Annotated pairs (not `ordered`) by setting.
        folds: Parts of the clusters for the class prior, each answered by a prior fitted on the others; the mean
            over `REPEATS` dealings counts.
        seed: Seeds the dealing and the resampling.
        resamples: Bootstrap resamples of the clusters.
    """
    deep = {setting: table for setting, table in tables.items() if "depth" in table.aspects or not len(table)}
    return {setting: _audit_one(table, folds, seed, resamples) for setting, table in deep.items()}


def evidence(table: PairTable) -> dict[str, Floats]:
    """(n,) per rule: above 0 where it says the first object is closer, below where the second, 0 for a tie.

    ``bottom_edge``: the lower bottom edge is closer; ``location``: the lower centre; ``area``: the larger box;
    ``majority``: always the commoner order.
    """
    a, b = table.boxes_a, table.boxes_b
    closer, farther = np.sum(table.depth == Depth.CLOSER), np.sum(table.depth == Depth.FARTHER)
    return {
        "bottom_edge": a[:, 3] - b[:, 3],
        "location": centre(a)[:, 1] - centre(b)[:, 1],
        "area": area(a) - area(b),
        "majority": np.full(len(table), 1.0 if closer >= farther else -1.0),
    }


def credit(evidence: Floats, depth: NDArray[np.int8]) -> Floats:
    """1 where the sign of the evidence fits a clear depth order, 0 where not, one half for a tie.

    >>> credit(np.array([0.1, -0.1, 0.0]), np.array([1, 1, 2], dtype=np.int8))
    array([1. , 0. , 0.5])
    """
    return np.where(evidence == 0, 0.5, (evidence > 0) == (depth == Depth.CLOSER))


def se_ratio(scores: Floats, cluster: NDArray[np.int32], n_clusters: int) -> float:
    """Cluster-robust standard error of a mean over the naive one (NaN for fewer than two clusters)."""
    n = len(scores)
    if n < 2 or n_clusters < 2 or np.ptp(scores) == 0:
        return float("nan")
    off = np.bincount(cluster, weights=scores - scores.mean(), minlength=n_clusters)
    robust = np.sum(off**2) * n_clusters / (n_clusters - 1)
    return float(np.sqrt(robust / (n * np.var(scores, ddof=1))))


def _audit_one(table: PairTable, folds: int, seed: int, resamples: int) -> dict[str, BlindRule]:
    clear = table.take(clear_order(table))
    scores = {name: credit(said, clear.depth) for name, said in evidence(clear).items()}
    dealt = [class_evidence(clear, folds, seed + again) for again in range(REPEATS)]
    by_class = {name: np.mean([credit(of[name], clear.depth) for of in dealt], axis=0) for name in dealt[0]}
    scores |= {**by_class, "majority": scores.pop("majority")}
    c = len(table.clusters)
    columns = [*scores.values(), np.ones(len(clear))]
    counts = np.column_stack([np.bincount(clear.cluster, weights=w, minlength=c) for w in columns])
    accuracies = intervals(counts, lambda t: ratio(t[:, :-1], t[:, -1:]), resamples=resamples, seed=seed)
    return {
        name: BlindRule(interval, len(clear), se_ratio(score, clear.cluster, c))
        for (name, score), interval in zip(scores.items(), accuracies, strict=True)
    }


def class_evidence(table: PairTable, folds: int, seed: int) -> dict[str, Floats]:
    """(n,) per rule: the probability of *closer*, learned in the other folds, less one half.

    ``class_pair``: what this pair of classes did; ``class_prior``: that and a rating of each class, so that pairs
    of classes that never met are answered too.
    """
    said = {"class_pair": np.zeros(len(table)), "class_prior": np.zeros(len(table))}
    for rows, prior in cross_fit(table, folds=folds, seed=seed):
        a, b = table.category[table.first[rows]], table.category[table.second[rows]]
        said["class_pair"][rows] = prior.pair_habit(a, b) - 0.5
        said["class_prior"][rows] = prior.direction(a, b) - 0.5
    return said
