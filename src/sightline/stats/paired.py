"""Two models on the same clusters: difference, interval, p-value, and what could have been detected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.stats.bootstrap import Counts, Floats, Statistic, evaluate, linearise
from sightline.stats.intervals import Interval, intervals

_SIGNS_AT_ONCE = 2_000_000
_TIE = 1e-12  # differences this close are equal: totals summed in another order round differently


@dataclass(frozen=True, slots=True)
class Comparison:
    """One statistic of two models on the same clusters.

    Attributes:
        name: Of the statistic.
        a: Its value for the first model; `b` for the second.
        difference: a − b.
        low: Lower limit of the paired interval of the difference; `high` the upper.
        p_value: Two-sided sign-flip test.
        p_holm: The same, corrected by Holm over the statistic's family.
        mde: Smallest true difference this data would detect with 80 % power at 5 % (two-sided); NaN where the
            models never differ, since then the data says nothing about it.
        n: Clusters that can say something about the difference.
    """

    name: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p_value: float
    p_holm: float
    mde: float
    n: int


class Comparisons(list[Comparison]):
    """All statistics of one comparison; prints as a table."""

    def __str__(self) -> str:
        width = max([len("statistic"), *(len(row.name) for row in self)])
        head = f"{'statistic':<{width}}  {'a':>6} {'b':>6} {'a − b':>7}  {'95 % interval':^17} "
        lines = [f"{head}{'p':>7} {'p Holm':>7} {'mde':>6} {'n':>6}"]
        for row in self:
            limits = f"[{_figure(row.low, '+.3f')}, {_figure(row.high, '+.3f')}]"
            lines.append(
                f"{row.name:<{width}}  {_figure(row.a, '.3f'):>6} {_figure(row.b, '.3f'):>6} "
                f"{_figure(row.difference, '+.3f'):>7}  {limits:^17} {_figure(row.p_value, '.4f'):>7} "
                f"{_figure(row.p_holm, '.4f'):>7} {_figure(row.mde, '.3f'):>6} {row.n:>6}"
            )
        return "\n".join(lines)


def compare(
    counts_a: Counts,
    counts_b: Counts,
    statistic: Statistic,
    names: Sequence[str],
    families: Sequence[str] | None = None,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Comparisons:
    """Compare two models on the same clusters, row by row.

    The interval is that of the difference under a bootstrap that draws a cluster for both models at once (below
    200 clusters: Student's t on the linearised paired standard error). The p-value swaps the two models within
    randomly chosen clusters: under "no difference" every swap is as likely as what was seen.

    Args:
        counts_a: (C, *K) sufficient statistics of the first model.
        counts_b: (C, *K) of the second.
        statistic: Maps totals (B, *K) to (B, M).
        names: M names.
        families: M labels; Holm corrects over the statistics of equal label (see `holm_by_family`). None: over all.
        level: Of the interval.
        resamples: Bootstrap resamples, and as many sign flips.
        seed: Of both.

    >>> a, b = np.array([[1, 1]] * 9 + [[0, 1]]), np.array([[1, 1]] * 2 + [[0, 1]] * 8)
    >>> print(compare(a, b, lambda t: t[:, :1] / t[:, 1:], ["accuracy"]))
    statistic       a      b   a − b    95 % interval         p  p Holm    mde      n
    accuracy    0.900  0.200  +0.700  [+0.354, +1.000]  0.0185  0.0185  0.428     10
    """
    if counts_a.shape != counts_b.shape:
        raise ConfigError("the two models must be compared on the same clusters")
    both = np.stack([counts_a, counts_b], axis=1)

    def difference(totals: Floats) -> Floats:
        return evaluate(statistic, totals[:, 0]) - evaluate(statistic, totals[:, 1])

    a, b = (evaluate(statistic, c.sum(axis=0, dtype=np.float64)[None])[0] for c in (counts_a, counts_b))
    if len(names) != len(a):
        raise ConfigError(f"{len(names)} names for {len(a)} statistics")
    limits = intervals(both, difference, level=level, resamples=resamples, seed=seed, proportion=False)
    p = sign_flip(both, difference, flips=resamples, seed=seed)
    return comparisons(names, a, b, limits, p, np.sqrt(linearise(both, difference).variance), families)


def comparisons(
    names: Sequence[str],
    a: Floats,
    b: Floats,
    limits: Sequence[Interval],
    p: Floats,
    error: Floats,
    families: Sequence[str] | None,
) -> Comparisons:
    """Put together M comparisons from values, intervals of the difference, p-values and standard errors."""
    if families is not None and len(families) != len(names):
        raise ConfigError(f"{len(families)} families for {len(names)} statistics")
    p_holm = holm(p) if families is None else holm_by_family(p, families)
    rows = zip(names, a, b, limits, p, p_holm, minimum_detectable(error), strict=True)
    return Comparisons(_comparison(*row) for row in rows)


def sign_flip(both: Counts, difference: Statistic, *, flips: int = 2000, seed: int = 0) -> Floats:
    """Compute (M,) two-sided p-values of a difference under random swaps of the two models within clusters.

    Args:
        both: (C, 2, *K) counts of the two models.
        difference: Maps (B, 2, *K) totals to (B, M); 0 means no difference.
        flips: R; p = (k + 1) / (R + 1) with k swaps whose difference is at least as large. A swap that leaves
            the difference undefined counts as large.
        seed: Of the swaps.
    """
    rng = np.random.default_rng([seed, 1])  # a stream of its own, apart from the bootstrap's
    observed = evaluate(difference, both.sum(axis=0, dtype=np.float64)[None])[0]
    return p_values(observed, evaluate(difference, _flipped_totals(both, flips, rng)))


def p_values(observed: Floats, flipped: Floats) -> Floats:
    """Compute (M,) two-sided p-values of differences (M,) among those of swapped models (R, M)."""
    extreme = ~(np.abs(flipped) < np.abs(observed) - _TIE)
    return np.where(np.isfinite(observed), (extreme.sum(axis=0) + 1) / (len(flipped) + 1), np.nan)


def holm(p: NDArray[Any] | Sequence[float]) -> Floats:
    """Holm's step-down correction; NaN entries stay NaN and do not count as tests.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p, dtype=np.float64)
    corrected = np.full(given.shape, np.nan)
    tested = np.flatnonzero(np.isfinite(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    steps = given[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def holm_by_family(p: NDArray[Any] | Sequence[float], families: Sequence[str]) -> Floats:
    """Holm's correction within each family of tests; the family "" is of tests asked beforehand, left as they are.

    >>> holm_by_family([0.01, 0.02, 0.03, 0.04], ["", "labels", "labels", "slices"]).tolist()
    [0.01, 0.04, 0.04, 0.04]
    """
    corrected = np.array(p, dtype=np.float64)
    labels = np.asarray(families, dtype=object)
    for family in {*families} - {""}:
        corrected[labels == family] = holm(corrected[labels == family])
    return corrected


def minimum_detectable(error: Floats, *, power: float = 0.8, significance: float = 0.05) -> Floats:
    """Smallest true difference found with that power, from a standard error; NaN where the error is 0."""
    normal = NormalDist()
    factor = normal.inv_cdf(1 - significance / 2) + normal.inv_cdf(power)
    return np.where(error > 0, factor * error, np.nan)


def swaps(n: int, flips: int, rng: np.random.Generator, *, at_once: int = _SIGNS_AT_ONCE) -> Iterator[Floats]:
    """Choose a random half of n clusters, R times, and yield (r, n) ones for the chosen, R rows in pieces."""
    rows = max(1, at_once // max(n, 1))
    for start in range(0, flips, rows):
        yield (rng.random((min(rows, flips - start), n)) < 0.5).astype(np.float64)


def _flipped_totals(both: Counts, flips: int, rng: np.random.Generator) -> Floats:
    """(R, 2, *K) totals with the two models swapped in a random half of the clusters."""
    n = len(both)
    a, b = (both[:, i].reshape(n, int(np.prod(both.shape[2:]))).astype(np.float64) for i in (0, 1))
    gain, base, total = a - b, b.sum(axis=0), a.sum(axis=0) + b.sum(axis=0)
    totals = np.empty((flips, 2, gain.shape[1]))
    totals[:, 0] = base + np.concatenate([kept @ gain for kept in swaps(n, flips, rng)])
    totals[:, 1] = total - totals[:, 0]
    return totals.reshape(flips, *both.shape[1:])


def _comparison(name: str, a: float, b: float, limits: Interval, p: float, p_holm: float, mde: float) -> Comparison:
    # A difference of two proportions lies in [−1, 1]; Student's interval does not know.
    low, high = limits.low, limits.high
    if 0 <= a <= 1 and 0 <= b <= 1:
        low, high = (float(x) for x in np.clip([low, high], -1.0, 1.0))
    return Comparison(
        name, float(a), float(b), limits.value, low, high, float(p), float(p_holm), float(mde), limits.n
    )


def _figure(x: float, form: str) -> str:
    return "–" if math.isnan(x) else format(x, form)
