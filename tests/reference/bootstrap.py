"""Slow, obvious versions of the cluster statistics, written from their definitions."""

from __future__ import annotations

import itertools

import numpy as np


def resampled_totals(counts, resamples, rng):
    """Draw C clusters with replacement and add them up, one at a time."""
    totals = []
    for _ in range(resamples):
        total = np.zeros(counts.shape[1:])
        for cluster in rng.integers(0, len(counts), size=len(counts)):
            total = total + counts[cluster]
        totals.append(total)
    return np.array(totals)


def ratio_variance(y, x):
    """Textbook variance of a ratio of cluster sums, clusters with x > 0 only."""
    rows = [(float(b), float(a)) for b, a in zip(y, x, strict=True) if a > 0]
    n = len(rows)
    p = sum(b for b, _ in rows) / sum(a for _, a in rows)
    mean_size = sum(a for _, a in rows) / n
    return sum((b - p * a) ** 2 for b, a in rows) / (n * (n - 1) * mean_size**2)


def judgements_of_f1(tp, fp, fn):
    """Judgements behind an F1 of 0 or 1, one a cluster at most; a hit stands twice in 2tp + fp + fn."""
    rows = [(2 * a, b + c) for a, b, c in zip(tp, fp, fn, strict=True)]
    if any(hits for hits, _ in rows):  # 1: nothing was wrong, and one error stands once
        return sum(min(1, hits) for hits, _ in rows)
    return sum(min(1, errors / 2) for _, errors in rows)


def holm(p):
    """Holm (1979): the i-th smallest of m is multiplied by m − i + 1, kept monotone, capped at 1."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    corrected = [0.0] * len(p)
    for rank, i in enumerate(order):
        corrected[i] = max(min(1.0, (len(p) - r) * p[order[r]]) for r in range(rank + 1))
    return corrected


def all_swaps_p(a, b, statistic):
    """Share of all 2^C swaps of two models whose difference is at least as large as that seen."""
    seen = abs(statistic(a.sum(0)) - statistic(b.sum(0)))
    large = 0
    for swaps in itertools.product([False, True], repeat=len(a)):
        ours = sum(b[i] if swap else a[i] for i, swap in enumerate(swaps))
        theirs = sum(a[i] if swap else b[i] for i, swap in enumerate(swaps))
        large += abs(statistic(ours) - statistic(theirs)) >= seen - 1e-12
    return large / 2 ** len(a)
