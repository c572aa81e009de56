"""Resampling whole clusters: scenes are independent, the pairs inside one are not.

Everything a score needs of a cluster (a scene, or an image pair) is a small array of sums: its *counts*. A
statistic is a function of their total over clusters, so a bootstrap never touches single judgements. Tasks that
share clusters are stacked along an axis of the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError

Floats = NDArray[np.float64]
Counts = NDArray[Any]
Statistic = Callable[[Floats], NDArray[Any]]
"""Maps totals (B, *K) to values (B, M); trailing axes are flattened. NaN where undefined."""

_DRAWS_AT_ONCE = 2_000_000  # cluster draws held in memory, 16 MB each of three arrays
_DRAWS_KEPT = 16_000_000  # cluster draws kept for the next statistic over as many clusters, 4 bytes each
_EXACT = 2**24  # below it single precision adds up whole numbers without rounding
_STEP = 1e-3  # weight added to one cluster in the numeric derivative; relative error of order step²
_CELL_STEP = 1e-5  # added to one cell in a derivative from one side, of order step
_JUMP = 1.5  # a change that twice the step does not make so many times as large is a jump, not a slope
_ROUNDING = 1e-12  # an influence below this is the noise of that derivative
_NEARLY_ONE = 0.99  # a cluster of one judgement, by a numeric derivative
_CELLS_AT_ONCE = 2_000_000  # totals held in memory while one cell after another is moved


def bootstrap(counts: Counts, statistic: Statistic, *, resamples: int = 2000, seed: int = 0) -> Floats:
    """Draw C clusters with replacement, B times, and evaluate a statistic of each draw.

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
    if resamples < 1:
        raise ConfigError(f"resamples must be at least 1, not {resamples}")
    n = len(counts)
    if not 0 < n * resamples <= _DRAWS_KEPT:
        return evaluate(statistic, resampled_totals(counts, resamples, np.random.default_rng(seed)))
    flat, drawn = _flat(counts), _drawn(n, resamples, seed)
    if np.abs(flat).max(initial=0.0) * n < _EXACT and (flat == np.rint(flat)).all():
        totals = (drawn @ flat.astype(np.float32)).astype(np.float64)
    else:
        rows = max(1, _DRAWS_AT_ONCE // n)
        pieces = [drawn[at : at + rows].astype(np.float64) @ flat for at in range(0, resamples, rows)]
        totals = np.concatenate(pieces)
    return evaluate(statistic, totals.reshape(resamples, *counts.shape[1:]))


@lru_cache(maxsize=4)
def _drawn(n: int, resamples: int, seed: int) -> NDArray[np.float32]:
    """(B, n) how often each cluster is drawn; kept, since many scores are resampled over the same clusters."""
    pieces = multiplicities(n, resamples, np.random.default_rng(seed))
    return np.concatenate([piece.astype(np.float32) for piece in pieces])


def multiplicities(
    n: int, resamples: int, rng: np.random.Generator, *, at_once: int = _DRAWS_AT_ONCE
) -> Iterator[Floats]:
    """Draw n clusters with replacement, B times, and yield (b, n) how often each was drawn, B rows in pieces.

    Memory is bounded by `at_once` draws, whatever B and n are; the rows do not depend on it.
    """
    rows = max(1, at_once // max(n, 1))
    for start in range(0, resamples if n else 0, rows):
        drawn = rng.integers(0, n, size=(min(rows, resamples - start), n))
        drawn += np.arange(len(drawn))[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)


def resampled_totals(
    counts: Counts, resamples: int, rng: np.random.Generator, *, at_once: int = _DRAWS_AT_ONCE
) -> Floats:
    """Draw C clusters with replacement and add up their counts, B times: (B, *K)."""
    flat = _flat(counts)
    pieces = [times @ flat for times in multiplicities(len(counts), resamples, rng, at_once=at_once)]
    totals = np.concatenate(pieces) if pieces else np.zeros((resamples, flat.shape[1]))
    return totals.reshape(resamples, *counts.shape[1:])


def evaluate(statistic: Statistic, totals: Floats) -> Floats:
    """Apply a statistic to (B, *K) totals; the result as (B, M). 0/0 is NaN without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(statistic(totals), dtype=np.float64)
    if values.ndim == 0 or len(values) != len(totals):
        raise ConfigError(f"a statistic of {len(totals)} totals returned an array of shape {values.shape}")
    return values.reshape(len(values), int(np.prod(values.shape[1:])))


@dataclass(frozen=True)
class Linearised:
    """First-order behaviour of M statistics over clusters.

    Attributes:
        value: (M,) the statistics of all clusters together; NaN where undefined.
        variance: (M,) sampling variance by linearisation; NaN with fewer than two clusters.
        n: (M,) clusters that can say something about the statistic: it is defined for them alone, or they move it.
    """

    value: Floats
    variance: Floats
    n: NDArray[np.int64]


def linearise(counts: Counts, statistic: Statistic) -> Linearised:
    """Estimate the variance of a smooth statistic of totals from the influence of each cluster.

    The influence I_c is the numeric derivative of the statistic by the weight of cluster c, and
    var = n/(n−1) Σ (I_c − mean I)². For a ratio of sums y/x that is the textbook ratio estimator,
    I_c = (y_c − p x_c)/x.
    """
    totals = counts.sum(axis=0, dtype=np.float64)[None]
    value = evaluate(statistic, totals)[0]
    alone = evaluate(statistic, counts.astype(np.float64))
    step = _STEP * counts
    influence = (evaluate(statistic, totals + step) - evaluate(statistic, totals - step)) / (2 * _STEP)
    influence[np.abs(influence) < _ROUNDING] = 0.0
    n = (np.isfinite(alone) | (np.abs(influence) > 0)).sum(axis=0)
    spread = ((influence - influence.sum(axis=0) / max(len(counts), 1)) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where((n > 1) & np.isfinite(value), spread * n / (n - 1), np.nan)
    return Linearised(value, variance, n)


def judgements_unmoved(
    counts: Counts, statistic: Statistic, *, at_once: int = _CELLS_AT_ONCE
) -> tuple[NDArray[np.int64], Floats]:
    """Count the clusters and the judgements behind a proportion that no cluster moves.

    At 0, at 1, or where all clusters are alike every influence is 0, and says neither which clusters were looked at
    nor how many judgements they stand for. Next to that point it does: there the influence of a cluster is
    proportional to its part of the denominator. The whole denominator is as many judgements as it takes unit steps
    of a cell to cross it: x for y/x; (fp + fn)/2 for F1 = 0, since one hit counts twice in 2tp/(2tp + fp + fn).
    Judgements of one cluster may all be the same one: each cluster counts as one, or as less where it holds less.

    Memory is bounded by `at_once` totals, apart from the counts.

    Returns:
        (M,) clusters that would move the statistic next to where it is; (M,) judgements, at most one each.

    >>> tp_fp_fn = np.array([[0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> f1 = lambda t: 2 * t[:, 0] / (2 * t[:, 0] + t[:, 1] + t[:, 2])
    >>> clusters, judgements = judgements_unmoved(tp_fp_fn, f1)
    >>> clusters.tolist(), judgements.round(2).tolist()
    ([3], [2.0])
    """
    totals = counts.sum(axis=0, dtype=np.float64)[None]
    cells = totals.size
    # Far enough to stand clear of rounding; unequal, so that hits and cases that are equal do not stay so.
    nearby = totals + max(1.0, totals.mean()) * (1 + np.arange(cells).reshape(totals.shape) / cells)
    influence = np.abs(evaluate(statistic, nearby + _STEP * counts) - evaluate(statistic, nearby)) / _STEP
    influence[~(influence > _ROUNDING)] = 0.0
    whole = influence.sum(axis=0) * _largest_step(totals, statistic, at_once)
    held = np.divide(influence, whole, out=np.zeros_like(influence), where=whole > 0)
    return (influence > 0).sum(axis=0), np.where(held > _NEARLY_ONE, 1.0, held).sum(axis=0)


def _largest_step(totals: Floats, statistic: Statistic, at_once: int) -> Floats:
    """(M,) by how much one unit more in a cell moves the statistic, in the cell that moves it most.

    A cell that is 0 may decide whether a part of the statistic is defined: a class without a case is left out of a
    mean over classes until its number of cases is stepped. Such a jump is the same for any step, so no slope, and
    no resample meets it.
    """
    value, flat = evaluate(statistic, totals), totals.ravel()
    largest = np.zeros(value.shape[1])
    rows = max(1, at_once // max(flat.size, 1))

    def changes(cells: NDArray[np.intp], step: float) -> Floats:
        moved = np.tile(flat, (len(cells), 1))
        moved[np.arange(len(cells)), cells] += step
        return np.abs(evaluate(statistic, moved.reshape(-1, *totals.shape[1:])) - value)

    for start in range(0, flat.size, rows):
        cells = np.arange(start, min(start + rows, flat.size))
        change, empty = changes(cells, _CELL_STEP), flat[cells] == 0
        if empty.any():
            further = changes(cells[empty], 2 * _CELL_STEP)
            change[empty] = np.where(further >= _JUMP * change[empty], change[empty], np.nan)
        change[np.isinf(change)] = np.nan
        largest = np.fmax(largest, np.fmax.reduce(change, axis=0) / _CELL_STEP)
    return largest


def _flat(counts: Counts) -> Floats:
    return np.ascontiguousarray(counts, dtype=np.float64).reshape(len(counts), int(np.prod(counts.shape[1:])))
