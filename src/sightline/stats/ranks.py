"""Ranks with ranges: which places of a table a model may have, had other clusters been drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.stats.bootstrap import Floats


def rank_ranges(values: Floats, *, level: float = 0.95) -> NDArray[np.int64]:
    """Compute the range of ranks of R models, (R, 2) from best to worst, rank 1 the best.

    In every resample a model's rank lies between 1 + the number of better models and R − the number of worse ones,
    so that equal values share their ranks; the range holds the central part of what the resamples say.

    Args:
        values: (B, R) a figure of every model in B resamples of the same clusters, higher is better; NaN is worst.
        level: Share of the resamples.

    >>> rank_ranges(np.array([[0.9, 0.5, 0.5], [0.8, 0.6, 0.4]])).tolist()
    [[1, 1], [2, 3], [2, 3]]
    """
    known = np.where(np.isnan(values), -np.inf, values)
    better = (known[:, None, :] > known[:, :, None]).sum(axis=2)
    worse = (known[:, None, :] < known[:, :, None]).sum(axis=2)
    tail = (1 - level) / 2
    best = np.quantile(1 + better, tail, axis=0, method="lower")
    worst = np.quantile(values.shape[1] - worse, 1 - tail, axis=0, method="higher")
    return np.stack([best, worst], axis=1).astype(np.int64)
