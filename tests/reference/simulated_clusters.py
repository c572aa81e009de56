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


def rare(rng, shape, prevalence, recall, precision, mean_size=6, likeness=LIKENESS):
    """Counts (*shape, 3) tp, fp, fn where positives are rare and come in clusters, as do hits and false claims."""

    def propensity(mean):
        strength = (1 - likeness) / likeness
        return rng.beta(mean * strength, (1 - mean) * strength, shape)

    size = 1 + rng.geometric(1 / (mean_size - 1), shape)
    positive = rng.binomial(size, propensity(prevalence))
    tp = rng.binomial(positive, propensity(recall))
    claimed = prevalence * recall * (1 - precision) / precision / (1 - prevalence)
    fp = rng.binomial(size - positive, propensity(claimed))
    return np.stack([tp, fp, positive - tp], axis=-1)


def rare_statistics(totals):
    """Precision, recall and F1 (..., 3) of tp, fp, fn (..., 3); F1 undefined without a claim or a positive."""
    tp, fp, fn = np.moveaxis(totals, -1, 0)
    f1 = np.where((tp + fp > 0) & (tp + fn > 0), 2 * tp / (2 * tp + fp + fn), np.nan)
    return np.stack([tp / (tp + fp), tp / (tp + fn), f1], axis=-1)


def rare_truth(recall, precision):
    """What they would be over infinitely many clusters."""
    return np.array([precision, recall, 2 * precision * recall / (precision + recall)])


def detections(rng, n, found=0.6, skill=1.5):
    """Scores, clusters, hits and positives of a detector with false alarms; images are hard and easy."""
    objects, ease = rng.geometric(0.3, n), rng.normal(0, 0.7, n)
    hits = rng.binomial(objects, 1 / (1 + np.exp(-np.log(found / (1 - found)) - ease)))
    alarms = rng.poisson(1.5, n)
    cluster = np.repeat(np.arange(n), hits + alarms)
    first = np.cumsum(hits + alarms) - hits - alarms
    hit = np.arange(len(cluster)) - first[cluster] < hits[cluster]
    return rng.normal(skill * hit + 0.3 * ease[cluster]), cluster, hit, objects


def coverage(found, expected):
    """Share of intervals that hold the truth, one figure a statistic; found in the order (repeat, statistic).

    Samples without an interval, where the statistic is undefined or one cluster says all, are left out.
    """
    low, high = (np.array([getattr(i, side) for i in found]).reshape(-1, len(expected)) for side in ("low", "high"))
    given = np.isfinite(low)
    return ((low <= expected) & (expected <= high)).sum(axis=0) / given.sum(axis=0)


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
