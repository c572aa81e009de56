"""Resampling whole clusters: scenes are independent, the pairs inside one are not.

Everything a score needs of a cluster (a scene, or an image pair) is a small array of sums: its *counts*. A
statistic is a function of their total over clusters, so a bootstrap never touches single judgements. Clusters of
different kinds, drawn apart from each other, form *strata*: scenes within images and image pairs across images,
say, whose scores are averaged. Tasks that share clusters are one stratum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError

Floats = NDArray[np.float64]
Counts = NDArray[Any]
Statistic = Callable[[Floats], NDArray[Any]]
"""Maps totals (B, *K) to values (B, M); trailing axes are flattened. NaN where undefined."""
StrataStatistic = Callable[[Sequence[Floats]], NDArray[Any]]
"""Maps one totals array (B, *K) a stratum to values (B, M)."""

_DRAWS_AT_ONCE = 2_000_000  # cluster draws held in memory, 16 MB each of three arrays
_STEP = 1e-3  # weight added to one cluster in the numeric derivative; relative error of order step²
_ROUNDING = 1e-12  # an influence below this is the noise of that derivative


def bootstrap(counts: Counts, statistic: Statistic, *, resamples: int = 2000, seed: int = 0) -> Floats:
    """Values of a statistic over resampled clusters.

    Args:
        counts: (C, *K) sufficient statistics, one row a cluster.
        statistic: Maps totals (B, *K) to (B, M).
        resamples: B, how many times C clusters are drawn with replacement.
        seed: Of the random generator; equal seeds give equal bits.

    Returns:
        (B, M); NaN where a resample leaves the statistic undefined.

    >>> hits_of = np.array([[3, 4], [1, 4], [2, 2]])
    >>> bootstrap(hits_of, lambda t: t[:, :1] / t[:, 1:], resamples=5).shape
    (5, 1)
    """
    return bootstrap_strata([counts], over_one(statistic), resamples=resamples, seed=seed)


def bootstrap_strata(
    strata: Sequence[Counts], statistic: StrataStatistic, *, resamples: int = 2000, seed: int = 0
) -> Floats:
    """Like `bootstrap`, each stratum's clusters drawn independently of the others'."""
    if resamples < 1:
        raise ConfigError(f"resamples must be at least 1, not {resamples}")
    rng = np.random.default_rng(seed)
    return evaluate(statistic, [resampled_totals(counts, resamples, rng) for counts in strata])


def over_one(statistic: Statistic) -> StrataStatistic:
    """A statistic of one stratum as a statistic of a list of strata."""
    return lambda totals: statistic(totals[0])


def resampled_totals(
    counts: Counts, resamples: int, rng: np.random.Generator, *, at_once: int = _DRAWS_AT_ONCE
) -> Floats:
    """Totals (B, *K) over C clusters drawn with replacement, by products of multiplicities and counts.

    Memory is bounded by `at_once` draws, whatever B and C are; the result does not depend on it.
    """
    n = len(counts)
    flat = _flat(counts)
    totals = np.zeros((resamples, flat.shape[1]))
    rows = max(1, at_once // max(n, 1))
    for start in range(0, resamples if n else 0, rows):
        stop = min(start + rows, resamples)
        drawn = rng.integers(0, n, size=(stop - start, n))
        drawn += np.arange(stop - start)[:, None] * n
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        totals[start:stop] = times.astype(np.float64) @ flat
    return totals.reshape(resamples, *counts.shape[1:])


def evaluate(statistic: StrataStatistic, totals: Sequence[Floats]) -> Floats:
    """Apply a statistic to (B, *K) totals; the result as (B, M). 0/0 is NaN without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(statistic(totals), dtype=np.float64)
    if values.ndim == 0 or len(values) != len(totals[0]):
        raise ConfigError(f"a statistic of {len(totals[0])} totals returned an array of shape {values.shape}")
    return values.reshape(len(values), int(np.prod(values.shape[1:])))


@dataclass(frozen=True)
class Linearised:
    """First-order behaviour of M statistics over S strata of clusters.

    Attributes:
        value: (M,) the statistics of all clusters together; NaN where undefined.
        variance: (M,) sampling variance by linearisation; NaN with fewer than two clusters in a stratum.
        clusters: (S, M) clusters that can say something about the statistic: it is defined when their stratum
            consists of them alone, or they move it.
        matters: (S, M) False where the statistic does not look at the stratum.
    """

    value: Floats
    variance: Floats
    clusters: NDArray[np.int64]
    matters: NDArray[np.bool_]

    @property
    def n(self) -> NDArray[np.int64]:
        """(M,) clusters behind each statistic, over all strata that matter to it."""
        return np.asarray((self.clusters * self.matters).sum(axis=0), dtype=np.int64)

    @property
    def fewest(self) -> NDArray[np.int64]:
        """(M,) clusters in the smallest stratum that matters."""
        most = np.iinfo(np.int64).max
        smallest = np.where(self.matters, self.clusters, most).min(axis=0)
        return np.where(self.matters.any(axis=0), smallest, 0)

    @property
    def freedom(self) -> NDArray[np.int64]:
        """(M,) degrees of freedom of the variance: clusters less strata."""
        return np.asarray(((self.clusters - 1) * self.matters).sum(axis=0), dtype=np.int64)


def linearise(strata: Sequence[Counts], statistic: StrataStatistic) -> Linearised:
    """Variance of a smooth statistic of totals, from the influence of each cluster.

    The influence I_c is the numeric derivative of the statistic by the weight of cluster c; in each stratum
    var = n/(n−1) Σ (I_c − mean I)². For a ratio of sums y/x that is the textbook ratio estimator,
    I_c = (y_c − p x_c)/x.
    """
    totals = [counts.sum(axis=0, dtype=np.float64)[None] for counts in strata]
    value = evaluate(statistic, totals)[0]
    variance = np.zeros(len(value))
    clusters = np.zeros((len(strata), len(value)), dtype=np.int64)
    matters = np.zeros((len(strata), len(value)), dtype=bool)
    for s, counts in enumerate(strata):

        def with_stratum(own: Floats, s: int = s) -> Floats:
            """The statistic with stratum s replaced by each row of `own`, the others as they are."""
            spread = [np.broadcast_to(t, (len(own), *t.shape[1:])) for t in totals]
            return evaluate(statistic, [own if i == s else t for i, t in enumerate(spread)])

        alone = with_stratum(counts.astype(np.float64))
        matters[s] = with_stratum(np.zeros_like(totals[s]))[0] != value
        step = _STEP * counts
        influence = (with_stratum(totals[s] + step) - with_stratum(totals[s] - step)) / (2 * _STEP)
        influence[np.abs(influence) < _ROUNDING] = 0.0
        clusters[s] = (np.isfinite(alone) | (np.abs(influence) > 0)).sum(axis=0)
        spread = ((influence - influence.sum(axis=0) / max(len(counts), 1)) ** 2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_stratum = np.where(clusters[s] > 1, spread * clusters[s] / (clusters[s] - 1), np.nan)
        variance += np.where(matters[s], of_stratum, 0.0)
    matters |= ~matters.any(axis=0)  # a statistic that is 0 where undefined may seem to look at none
    return Linearised(value, np.where(np.isfinite(value), variance, np.nan), clusters, matters)


def _flat(counts: Counts) -> Floats:
    return np.ascontiguousarray(counts, dtype=np.float64).reshape(len(counts), int(np.prod(counts.shape[1:])))
