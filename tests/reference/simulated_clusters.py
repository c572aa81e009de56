"""Judgements with a known truth: clusters of varying size whose judgements resemble each other.

A simulation of R repeats is one array (C, R, *K), so that all repeats are judged by one call.
"""

from __future__ import annotations

import numpy as np

ACCURACY = 0.85
POSITIVE = 0.4  # share of positives among the truths
LIKENESS = 0.2  # correlation of two judgements of one kind in one cluster
STATISTICS = ("accuracy", "F1")


def statistics(totals):
    """Accuracy and F1 (..., 2) of totals tp, fp, fn, tn (..., 4)."""
    tp, fp, fn, tn = np.moveaxis(totals, -1, 0)
    return np.stack([(tp + tn) / (tp + fp + fn + tn), 2 * tp / (2 * tp + fp + fn)], axis=-1)


def truth(accuracy=ACCURACY):
    """What the statistics would be over infinitely many clusters."""
    right, wrong = accuracy, 1 - accuracy
    return statistics(
        np.array([POSITIVE * right, (1 - POSITIVE) * wrong, POSITIVE * wrong, (1 - POSITIVE) * right])
    )


def clusters(rng, shape, accuracy=ACCURACY, mean_size=6):
    """Counts (*shape, 4) tp, fp, fn, tn: beta-binomial labels, recall and specificity; size 2 or more."""

    def propensity(mean):
        strength = (1 - LIKENESS) / LIKENESS
        return rng.beta(mean * strength, (1 - mean) * strength, shape)

    size = 1 + rng.geometric(1 / (mean_size - 1), shape)
    positive = rng.binomial(size, propensity(POSITIVE))
    tp = rng.binomial(positive, propensity(accuracy))
    tn = rng.binomial(size - positive, propensity(accuracy))
    return np.stack([tp, size - positive - tn, positive - tp, tn], axis=-1)


def coverage(found, expected):
    """Share of intervals that hold the truth, one figure a statistic; found in the order (repeat, statistic)."""
    low, high = (np.array([getattr(i, side) for i in found]).reshape(-1, len(expected)) for side in ("low", "high"))
    return ((low <= expected) & (expected <= high)).mean(axis=0)


def by_judgement(counts):
    """Each judgement as a cluster of its own: rows (N, 4) with a single 1. What a naive analysis does."""
    return np.repeat(np.eye(4), counts.sum(axis=0), axis=0)


def two_models(rng, shape, advantage=0.0, mean_size=6):
    """Counts hits and cases (*shape, 2) of each of two models.

    Which is better varies much by cluster; on the whole the first is better by `advantage`.
    """
    size = 1 + rng.geometric(1 / (mean_size - 1), shape)
    tilt = rng.uniform(-0.25, 0.25, shape)
    return [np.stack([rng.binomial(size, 0.6 + sign * (tilt + advantage / 2)), size], axis=-1) for sign in (1, -1)]


def judgements_of_two(a, b):
    """Each judgement a cluster of its own (N, 2) for both models, hits put first within the cluster."""
    rows = []
    for (hits_a, size), (hits_b, _) in zip(a, b, strict=True):
        place, ones = np.arange(size), np.ones(size)
        rows.append([np.column_stack([place < hits, ones]) for hits in (hits_a, hits_b)])
    return tuple(np.concatenate([row[i] for row in rows]) for i in (0, 1))
