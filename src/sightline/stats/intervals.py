"""Confidence intervals that respect clusters.

From 200 clusters on: percentile bootstrap. Below, or close to 0 and 1 where percentiles cover too little: Wilson's
score interval with the effective number of independent judgements and Student's quantile; at 0 and 1 themselves the
exact mid-p limit of as many judgements. Above 20,000 clusters bootstrap and Wilson agree to a few hundredths of the
width, and the bootstrap would only cost time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.stats.bootstrap import Counts, Linearised, Statistic, bootstrap, judgements_unmoved, linearise

PERCENTILE = "percentile bootstrap"
WILSON = "Wilson, effective n"
MID_P = "mid-p, effective n"
STUDENT = "linearised, t"
NONE = "none"

MANY = 200
"""Clusters from which on the bootstrap is used."""
PLENTY = 20_000
"""Clusters above which the bootstrap is not used any more."""
RARE = 50
"""Effective number of the rarer outcome below which percentiles cover too little (docs/results/coverage.md)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its confidence interval.

    Attributes:
        value: The statistic of all clusters together; NaN where undefined.
        low: Lower limit; NaN where none can be given (undefined value, fewer than two clusters).
        high: Upper limit; likewise.
        n: Clusters that can say something about the statistic.
        method: "percentile bootstrap", "Wilson, effective n", "mid-p, effective n", "linearised, t" or "none".

    >>> print(Interval(0.857, 0.85, 0.8641, 3000, "percentile bootstrap"))
    0.857 [0.850, 0.864]
    """

    value: float
    low: float
    high: float
    n: int
    method: str

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Interval:
        """Read an interval that `sightline.plain.plain` made plain."""
        value, low, high = (math.nan if values[k] is None else float(values[k]) for k in ("value", "low", "high"))
        return cls(value, low, high, values.get("n", 0), values.get("method", ""))

    def within(self, least: float, most: float) -> Interval:
        """The interval with its limits between what the value can be at least and at most.

        >>> print(Interval(0.57, 0.06, 1.07, 3, "linearised, t").within(0, 1))
        0.570 [0.060, 1.000]
        """
        return replace(self, low=max(self.low, least), high=min(self.high, most))

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "–"
        limits = "" if math.isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.value:.3f}{limits}"


def intervals(
    counts: Counts,
    statistic: Statistic,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    proportion: bool = True,
) -> list[Interval]:
    """Estimate M statistics of cluster totals, each with its confidence interval.

    Args:
        counts: (C, *K) sufficient statistics, one row a cluster.
        statistic: Maps totals (B, *K) to (B, M), smooth in the totals, NaN where undefined.
        level: Confidence level.
        resamples: Bootstrap resamples.
        seed: Of the bootstrap.
        proportion: Values lie in [0, 1] (accuracy, precision, recall, F1). False for the likes of κ: Student's t
            on the linearised standard error takes the place of Wilson.

    >>> hits_of = np.array([[3, 4], [1, 4], [2, 2]])
    >>> print(intervals(hits_of, lambda t: t[:, 0] / t[:, 1])[0])
    0.600 [0.085, 0.960]
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, not {level}")
    first_order = linearise(counts, statistic)
    if proportion:
        first_order, judgements = _effective(counts, statistic, first_order)
    else:
        judgements = np.full(len(first_order.value), np.nan)
    trusted = bootstrap_serves(first_order, proportion) & (len(counts) <= PLENTY)
    values = np.empty((0, len(trusted)))
    if trusted.any():
        values = bootstrap(counts, statistic, resamples=resamples, seed=seed)
    return limits(first_order, judgements, values, trusted, level, proportion)


def limits(
    first_order: Linearised,
    judgements: NDArray[np.float64],
    values: NDArray[np.float64],
    trusted: NDArray[np.bool_],
    level: float,
    proportion: bool,
) -> list[Interval]:
    """Put limits around M statistics: percentiles of resampled values (B, M) where trusted, else by formula."""
    m = len(first_order.value)
    low, high = np.full(m, np.nan), np.full(m, np.nan)
    method = np.full(m, NONE, dtype=object)
    if trusted.any():
        low[trusted], high[trusted] = percentile_limits(values[:, trusted], level)
        method[trusted] = PERCENTILE
    for i in np.flatnonzero(~trusted & np.isfinite(first_order.value) & (first_order.n > 1)):
        quantile = t_quantile((1 + level) / 2, int(first_order.n[i]) - 1)
        value = float(first_order.value[i])
        if proportion and value in (0, 1):
            nearest = mid_p_at_0(float(judgements[i]), level)
            low[i], high[i], method[i] = *((0.0, nearest) if value == 0 else (1 - nearest, 1.0)), MID_P
        elif proportion and 0 < value < 1:
            low[i], high[i], method[i] = *wilson(value, float(judgements[i]), quantile), WILSON
        else:
            half = quantile * math.sqrt(first_order.variance[i])
            low[i], high[i], method[i] = value - half, value + half, STUDENT
    return [
        Interval(float(v), float(lo), float(hi), int(n), str(how))
        for v, lo, hi, n, how in zip(first_order.value, low, high, first_order.n, method, strict=True)
    ]


def macro_intervals(
    per_cluster: NDArray[Any], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> list[Interval]:
    """Estimate the mean over clusters of values in [0, 1], one column a statistic; NaN clusters are left out.

    >>> print(macro_intervals(np.array([[7 / 10], [4 / 5], [np.nan]]))[0].value)
    0.75
    """
    known = np.isfinite(per_cluster)
    counts = np.stack([np.where(known, per_cluster, 0.0), known], axis=-1)
    return intervals(counts, lambda t: t[..., 0] / t[..., 1], level=level, resamples=resamples, seed=seed)


def percentile_limits(values: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """(2, M) central quantiles of resampled values (B, M); undefined resamples are left out."""
    tail = (1 - level) / 2
    return np.asarray(np.nanquantile(values, [tail, 1 - tail], axis=0))


def wilson(p: float, n: float, quantile: float) -> tuple[float, float]:
    """Wilson's score interval of a proportion p seen in n independent judgements (n need not be whole).

    >>> low, high = wilson(1.0, 10, 1.959964)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    squared = quantile**2
    centre = (p + squared / (2 * n)) / (1 + squared / n)
    half = quantile / (1 + squared / n) * math.sqrt(p * (1 - p) / n + squared / (4 * n * n))
    return (0.0 if p == 0 else max(0.0, centre - half)), (1.0 if p == 1 else min(1.0, centre + half))


def mid_p_at_0(n: float, level: float) -> float:
    """Upper mid-p limit of a proportion that is 0 in n independent judgements (n need not be whole).

    The largest p under which half the chance of no hit, (1 − p)ⁿ / 2, is the tail (1 − level) / 2. Jeffreys' and
    narrower limits cover too little, the Clopper–Pearson limit more than it says (docs/results/coverage.md).

    >>> round(mid_p_at_0(22, 0.95), 3)
    0.127
    """
    return float(-math.expm1(math.log(1 - level) / n)) if n > 0 else 1.0


@lru_cache(maxsize=256)
def t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t with that many degrees of freedom, to about 2e-5.

    With t = √ν tan θ the density is proportional to cos(θ)^(ν−1): smooth on a bounded range, so a fine grid and
    Simpson's rule suffice. Above 1,000 degrees the normal quantile with its first correction is as good.

    >>> round(t_quantile(0.975, 10), 4)
    2.2281
    """
    if freedom > 1000:
        z = NormalDist().inv_cdf(probability)
        return z + (z**3 + z) / (4 * freedom)
    theta = np.linspace(-np.pi / 2, np.pi / 2, 20_001)
    density = np.cos(theta) ** (freedom - 1)
    pieces = (density[:-2:2] + 4 * density[1:-1:2] + density[2::2]) / 6
    mass = np.concatenate([[0.0], np.cumsum(pieces)])
    return float(math.sqrt(freedom) * np.tan(np.interp(probability, mass / mass[-1], theta[::2])))


def bootstrap_serves(first_order: Linearised, proportion: bool) -> NDArray[np.bool_]:
    """Say (M,) where percentiles are to be trusted: many clusters, and not too near to 0 or 1."""
    value, variance = first_order.value, first_order.variance
    enough = np.isfinite(value) & (first_order.n >= MANY) & (variance > 0)
    if not proportion:
        return enough
    # n · min(p, 1 − p) with n = p (1 − p) / variance
    return enough & (value * (1 - value) * np.minimum(value, 1 - value) >= RARE * variance)


def _effective(
    counts: Counts, statistic: Statistic, first_order: Linearised
) -> tuple[Linearised, NDArray[np.float64]]:
    """Find the (M,) effective number of judgements behind proportions, and who says something where none varies."""
    value, variance, n = first_order.value, first_order.variance, first_order.n
    spread = value * (1 - value)
    unmoved = np.isfinite(value) & ~((spread > 0) & (variance > 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        judgements = spread / variance
    if unmoved.any():
        clusters, held = judgements_unmoved(counts, statistic)
        n = np.where(unmoved, np.maximum(n, clusters), n)
        variance = np.where(unmoved & (n > 1), 0.0, variance)
        # A statistic that is defined for a cluster alone, though it holds nothing of it, counts it as one.
        judgements = np.where(unmoved, n - clusters + held, judgements)
    return Linearised(value, variance, n), judgements
