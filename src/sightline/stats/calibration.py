"""How far confidences can be trusted: calibration error, Brier score, risk against coverage.

A confidence is the probability that a model gives its own answer; *right* says whether that answer is. Sums by
cluster are enough for the calibration error and the Brier score, so that `intervals` serves; risk against coverage
ranks all judgements, and is resampled by whole clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import ConfigError
from sightline.stats.bootstrap import Floats, multiplicities
from sightline.stats.intervals import NONE, PERCENTILE, Interval, intervals, percentile_limits

_AT_ONCE = 2_000_000  # judgements of resamples held in memory
_RANKED_ALONE = 20_000  # judgements up to which every one has a rank of its own in resamples
_FEWEST_GROUPS, _MOST_GROUPS = 50, 500

BINS = 10
"""Bins of equal width in [0, 1] over which the calibration error is counted."""


@dataclass(frozen=True)
class CalibrationScores:
    """How confidences and right answers go together.

    Attributes:
        ece: Expected calibration error: the gap between mean confidence and share of right answers, averaged over
            `BINS` bins with the number of judgements as weight; in [0, 1], 0 is best.
        brier: Mean of (confidence − right)², in [0, 1]; 0 is best.
        aurc: Mean share of wrong answers among the surest k, over k = 1 … n; 0 is best.
        accuracy: Share of right answers.
        bins: (`BINS`, 3) judgements, sum of confidences and right answers of each bin.
    """

    ece: Interval
    brier: Interval
    aurc: Interval
    accuracy: Interval
    bins: Floats


def calibration(
    confidence: ArrayLike, right: ArrayLike, cluster: ArrayLike, *, resamples: int = 2000, seed: int = 0
) -> CalibrationScores:
    """Compute calibration figures of n judgements with intervals by cluster.

    Args:
        confidence: (n,) in [0, 1].
        right: (n,) whether the answer is right.
        cluster: (n,) the independent unit of each, of any kind.
        resamples: Bootstrap resamples.
        seed: Of the resampling.

    >>> found = calibration([0.9, 0.9, 0.6, 0.6], [True, True, False, True], [0, 1, 2, 3])
    >>> round(found.ece.value, 3), round(found.brier.value, 3), round(found.aurc.value, 3)
    (0.1, 0.135, 0.125)
    """
    sure, hits, units = _checked(confidence, right, cluster)
    place = bin_of(sure)
    counts = np.zeros((int(units.max(initial=-1)) + 1, BINS + 1, 3))
    np.add.at(counts, (units, place), np.stack([np.ones_like(sure), sure, hits], axis=1))
    counts[:, BINS, 0] = np.bincount(units, (sure - hits) ** 2, len(counts))

    def statistic(totals: Floats) -> Floats:
        bins, n = totals[:, :BINS], totals[:, :BINS, 0].sum(axis=1)
        gaps = np.abs(bins[:, :, 1] - bins[:, :, 2]).sum(axis=1)
        return np.column_stack([gaps / n, totals[:, BINS, 0] / n, bins[:, :, 2].sum(axis=1) / n])

    ece, brier, accuracy = intervals(counts, statistic, resamples=resamples, seed=seed)
    aurc = aurc_interval(sure, hits > 0, units, resamples=resamples, seed=seed)
    return CalibrationScores(ece, brier, aurc, accuracy, counts[:, :BINS].sum(axis=0))


def bin_of(confidence: Floats) -> NDArray[np.int64]:
    """(n,) bin of each confidence: i for [i, i + 1) / `BINS`, the last one with its upper end.

    >>> bin_of(np.array([0.0, 0.05, 0.1, 1.0])).tolist()
    [0, 0, 1, 9]
    """
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)


def risk_coverage(confidence: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    """Compute coverage (n,) and risk (n,): the share of wrong answers among the surest k of n, k = 1 … n.

    Judgements of equal confidence are accepted together: each has the risk of all of them accepted.

    >>> coverage, risk = risk_coverage([0.9, 0.6, 0.8], [True, False, False])
    >>> coverage.round(2).tolist(), risk.round(2).tolist()
    ([0.33, 0.67, 1.0], [0.0, 0.5, 0.67])
    """
    sure, hits = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=bool)
    order = np.argsort(-sure, kind="stable")
    ends = _ends(sure[order])
    wrong = np.cumsum(~hits[order])
    number = np.arange(1, len(sure) + 1)
    return number / max(len(sure), 1), wrong[ends] / number[ends]


def aurc_interval(
    confidence: Floats,
    right: NDArray[np.bool_],
    cluster: NDArray[np.int64],
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Compute the mean risk over all coverages, with percentiles of resampled clusters.

    Above `_RANKED_ALONE` judgements the resamples are of groups of neighbours by confidence, accepted together, and
    what they deviate by is added to the exact value: else this would take longer than all other figures.
    """
    if not len(confidence):
        return Interval(np.nan, np.nan, np.nan, 0, NONE)
    order = np.argsort(-confidence, kind="stable")
    ends, wrong, units = _ends(confidence[order]), (~right[order]).astype(np.float64), cluster[order]

    def mean_risk(weights: Floats) -> Floats:
        """(b,) of judgements that count (b, n) times."""
        number, missed = np.cumsum(weights, axis=1)[:, ends], np.cumsum(weights * wrong, axis=1)[:, ends]
        with np.errstate(invalid="ignore", divide="ignore"):
            risks = np.where(number > 0, missed / number, 0.0)
        mean: Floats = (weights * risks).sum(axis=1) / weights.sum(axis=1)
        return mean

    value = float(mean_risk(np.ones((1, len(units))))[0])
    n = int(units.max()) + 1
    if n < 2:
        return Interval(value, np.nan, np.nan, n, NONE)
    rng = np.random.default_rng(seed)
    if len(units) > _RANKED_ALONE:
        values = value + _grouped_deviations(wrong, units, resamples, rng)
    else:
        drawn = multiplicities(n, resamples, rng, at_once=max(n, _AT_ONCE * n // len(units)))
        values = np.concatenate([mean_risk(times[:, units]) for times in drawn])
    low, high = percentile_limits(values[:, None], 0.95)[:, 0].tolist()
    return Interval(value, low, high, n, PERCENTILE)


def _grouped_deviations(
    wrong: Floats, units: NDArray[np.int64], resamples: int, rng: np.random.Generator
) -> Floats:
    """(B,) deviations of the mean risk of resampled clusters, over groups of about equal number in order."""
    n = int(units.max()) + 1
    size = max(_FEWEST_GROUPS, min(_MOST_GROUPS, _AT_ONCE // n))
    group = np.arange(len(units)) * size // len(units)
    place = units * size + group
    counts = [np.bincount(place, weights, n * size).reshape(n, size) for weights in (np.ones_like(wrong), wrong)]

    def mean_risk(number: Floats, missed: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            risks = np.cumsum(missed, axis=1) / np.cumsum(number, axis=1)
        mean: Floats = (number * np.nan_to_num(risks)).sum(axis=1) / number.sum(axis=1)
        return mean

    drawn = multiplicities(n, resamples, rng)
    values = np.concatenate([mean_risk(times @ counts[0], times @ counts[1]) for times in drawn])
    return values - mean_risk(counts[0].sum(axis=0)[None], counts[1].sum(axis=0)[None])


def _ends(ordered: Floats) -> NDArray[np.int64]:
    """(n,) the last place of the run of equal values that each stands in."""
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.zeros(0, np.int64)
    return last[np.searchsorted(last, np.arange(len(ordered)))]


def _checked(
    confidence: ArrayLike, right: ArrayLike, cluster: ArrayLike
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    sure, hits = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    _, units = np.unique(np.asarray(cluster), return_inverse=True)
    if not len(sure) == len(hits) == len(units):
        raise ConfigError("confidences, right answers and clusters must be of one length")
    if len(sure) and not (np.isfinite(sure).all() and sure.min() >= 0 and sure.max() <= 1):
        raise ConfigError("a confidence lies between 0 and 1")
    return sure, hits, units.astype(np.int64)


def chance_adjusted(accuracy: ArrayLike, chance: ArrayLike) -> Floats:
    """Rescale an accuracy so that chance is 0 and all right is 1: (accuracy − chance) / (1 − chance).

    >>> chance_adjusted(0.75, 0.5).item()
    0.5
    """
    a, c = np.asarray(accuracy, dtype=np.float64), np.asarray(chance, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(c < 1, (a - c) / (1 - c), np.nan)


def beyond_chance(table: Floats) -> tuple[Floats, ...]:
    """Compute accuracy, chance, accuracy beyond it, commonest, accuracy beyond that and Cohen's κ: (B,) each.

    Args:
        table: (B, G, k, k) judgements by kind of question, true answer and answer. Chance (each true answer that
            occurs as likely), the commonest true answer and what the margins agree on (κ) are taken within each
            kind of question, since kinds may have different options.

    >>> [v.round(2).item() for v in beyond_chance(np.array([[[[4.0, 1.0], [1.0, 4.0]]]]))]
    [0.8, 0.5, 0.6, 0.5, 0.6, 0.6]
    """
    by_truth, by_answer = table.sum(axis=3), table.sum(axis=2)
    n, every = by_truth.sum(axis=2), table.sum(axis=(1, 2, 3))
    with np.errstate(invalid="ignore", divide="ignore"):
        right = np.trace(table, axis1=2, axis2=3).sum(axis=1) / every
        chance = np.where(n > 0, n / (by_truth > 0).sum(axis=2), 0.0).sum(axis=1) / every
        commonest = by_truth.max(axis=2).sum(axis=1) / every
        alike = np.where(n > 0, (by_truth * by_answer).sum(axis=2) / n, 0.0).sum(axis=1) / every
    beyond = [chance_adjusted(right, given) for given in (chance, commonest, alike)]
    return right, chance, beyond[0], commonest, beyond[1], beyond[2]


@dataclass(frozen=True)
class SampleCounts:
    """What K answers drawn to each of n questions say; all arrays (n,).

    Attributes:
        single: Share of the K answers that are right.
        majority: 1 where the commonest answer is right; ties go to the one that was drawn first.
        worst: 1 where all K are right.
        best: 1 where one of the K is right.
        agreement: Share of pairs of the K answers that are equal; NaN with fewer than two.
    """

    single: Floats
    majority: Floats
    worst: Floats
    best: Floats
    agreement: Floats


def sample_counts(samples: Sequence[Sequence[object]], truth: Sequence[object]) -> SampleCounts:
    """Judge K answers drawn to each of n questions.

    >>> found = sample_counts([["a", "b", "a"]], ["a"])
    >>> found.single.round(3).tolist(), found.majority.tolist(), found.worst.tolist()
    ([0.667], [1.0], [0.0])
    """
    rows = []
    for drawn, true in zip(samples, truth, strict=True):
        k = len(drawn)
        times: dict[object, int] = {}
        for answer in drawn:
            times[answer] = times.get(answer, 0) + 1
        hits = times.get(true, 0)
        commonest = max(times, key=lambda answer: times[answer], default=None) if times else None
        equal = sum(n * (n - 1) for n in times.values()) / (k * (k - 1)) if k > 1 else np.nan
        majority = float(k > 0 and commonest == true)
        rows.append((hits / k if k else np.nan, majority, float(k > 0 and hits == k), float(hits > 0), equal))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    return SampleCounts(*columns)
