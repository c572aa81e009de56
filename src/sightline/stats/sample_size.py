"""How many clusters a comparison needs: from the spread of paired differences between clusters at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from sightline.errors import ConfigError
from sightline.stats.intervals import t_quantile

POWER = 0.8
SIGNIFICANCE = 0.05
_MOST = 10**9
"""Clusters above which nobody plans."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """How many clusters show a difference.

    Attributes:
        clusters: Clusters needed; None where the models at hand never differ, which says nothing about it.
        low: The same were the spread at the lower end of its 80 % interval; `high` at the upper end. None where the
            clusters at hand are too few to say.
        power: With the clusters at hand.
    """

    clusters: int | None
    low: int | None
    high: int | None
    power: float


def plan_clusters(
    error: float, n: int, difference: float, *, power: float = POWER, significance: float = SIGNIFICANCE
) -> ClusterPlan:
    """Compute how many clusters are needed to see a difference, two-sided.

    The standard error falls with the root of the number of clusters: that of C clusters is s / √C with
    s = error · √n, the spread of a single cluster's influence. The smallest C is taken whose power (`power_at`) is
    enough; for many clusters that is (z₁ + z₂)² s² / d².

    Args:
        error: Standard error of the difference over the clusters at hand.
        n: Clusters at hand.
        difference: To be seen, in the unit of the error; above 0.
        power: Chance of seeing it, above `significance` and below 1.
        significance: Two-sided level of the test.

    >>> plan_clusters(0.02, 100, 0.02).clusters
    793
    """
    if not 0 < difference < math.inf:
        raise ConfigError(f"the difference to be seen must be above 0, found {difference:g}")
    if not significance < power < 1:
        raise ConfigError(f"the power must lie between {significance:g} and 1, found {power:g}")
    if n < 2 or not error > 0 or not math.isfinite(error):
        return ClusterPlan(None, None, None, math.nan)
    spread = error * math.sqrt(n)
    low, high = (_needed(spread * end / difference, power, significance) for end in _spread_limits(n))
    needed = _needed(spread / difference, power, significance)
    return ClusterPlan(needed, low, high, power_at(error, n, difference, significance=significance))


def power_at(error: float, n: int, difference: float, *, significance: float = SIGNIFICANCE) -> float:
    """Compute the chance to see a difference with a standard error over n clusters, two-sided; NaN without one.

    Of a sign-flip test: what it takes for chance is spread by the difference itself too, so that its critical value
    grows by √(1 + d² / (n · error²)).

    >>> round(power_at(0.02, 100, 0.056), 2)
    0.77
    """
    if n < 2 or not error > 0:
        return math.nan
    shift = difference / error
    critical = t_quantile(1 - significance / 2, n - 1) * math.sqrt(1 + shift**2 / n)
    normal = NormalDist()
    return normal.cdf(shift - critical) + normal.cdf(-shift - critical)


def _needed(ratio: float, power: float, significance: float) -> int:
    """The smallest number of clusters that has the power, for a spread that is so many times the difference."""

    def enough(clusters: int) -> bool:
        return power_at(ratio / math.sqrt(clusters), clusters, 1.0, significance=significance) >= power

    high = 2
    while high < _MOST and not enough(high):
        high *= 2
    low = high // 2 + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return min(high, _MOST)


def _spread_limits(n: int, tail: float = 0.1) -> tuple[float, float]:
    """By what factors the true spread may lie below and above that of n clusters, were their influences normal.

    The logarithm of a standard deviation of n normal values has a standard error of about 1/√(2(n − 1)).
    """
    width = NormalDist().inv_cdf(1 - tail) / math.sqrt(2 * (n - 1))
    return math.exp(-width), math.exp(width)
