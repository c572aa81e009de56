"""From aligned (truth, answer) codes to counts, and from counts to precision, recall and F1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.protocols import FN, FP, N_LABELS, TP, Aspect, Protocol, cells, pool, rules, slots
from sightline.skills import Setting

Counts = NDArray[np.int64]

_BLOCK = 1 << 20  # judgements at a time, so that tens of millions need no large temporaries


def tally(
    truth: NDArray[Any],
    answer: NDArray[Any],
    cluster: NDArray[Any],
    n_clusters: int,
    *,
    protocol: Protocol,
    aspect: Aspect,
    setting: Setting,
) -> Counts:
    """Count true positives, false positives and false negatives of each label in each cluster.

    On given boxes the caller lines up all ordered pairs (`PairTable.ordered`). The official protocol never looks
    at reversed rows across images: their answers must come here as `SILENT`.

    Args:
        truth: (n,) label codes; −1 no majority, `ABSENT` −2 where the answer has no truth pair.
        answer: (n,) label codes; `SILENT` −1 where nothing was said.
        cluster: (n,) index of the independent unit, in [0, n_clusters).
        n_clusters: How many clusters there are.
        protocol: The rules of counting.
        aspect: What was asked.
        setting: Within one image or across two; the paper pools other labels across.

    Returns:
        (n_clusters, 4, 3): tp, fp, fn of labels 0…3.

    >>> one = dict(protocol=Protocol.DEFAULT, aspect="depth", setting="within_image")
    >>> tally(np.array([1, 2, -1]), np.array([1, 1, 3]), np.zeros(3, int), 1, **one)[0].tolist()
    [[0, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    table = slots(protocol, aspect, setting)
    counts: Counts = np.zeros(n_clusters * N_LABELS * 3, dtype=np.int64)
    for start in range(0, len(truth), _BLOCK):
        rows = slice(start, start + _BLOCK)
        cell, place = cells(truth[rows], answer[rows]), cluster[rows].astype(np.int64) * (N_LABELS * 3)
        for slot in (table.answer[cell], table.truth[cell]):
            kept = slot >= 0
            np.add.at(counts, place[kept] + slot[kept], 1)
    return counts.reshape(n_clusters, N_LABELS, 3)


def rates(counts: NDArray[Any], *, protocol: Protocol, aspect: Aspect, setting: Setting) -> NDArray[np.float64]:
    """Precision, recall and F1 of each label and of all pooled labels together (micro).

    Undefined is NaN, except under the official protocol, which says 0. Precision is undefined without an answer,
    recall without a truth, F1 without both: where only one is missing nothing can be right and F1 is 0, so that
    a model gains nothing by never saying a label. Labels outside the protocol's pool are NaN.

    Args:
        counts: (..., 4, 3) tp, fp, fn per label, as `tally` gives them or sums of those.
        protocol: The rules of counting.
        aspect: What was asked.
        setting: Within one image or across two.

    Returns:
        (..., 5, 3): rows label 0…3 and "all"; columns precision, recall, F1, in [0, 1].

    >>> counts = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> rates(counts, protocol=Protocol.DEFAULT, aspect="depth", setting="within_image")[1:3].round(3)
    array([[0.5  , 1.   , 0.667],
           [  nan, 0.   , 0.   ]])
    """
    counted = pool(protocol, aspect, setting)
    given = np.asarray(counts, dtype=np.float64)
    both = np.concatenate([given, given[..., counted, :].sum(axis=-2, keepdims=True)], axis=-2)
    tp, fp, fn = both[..., TP], both[..., FP], both[..., FN]
    precision, recall = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
    f1 = _ratio(2.0 * precision * recall, precision + recall)
    scores: NDArray[np.float64] = np.stack([precision, recall, f1], axis=-1)
    if rules(protocol).zero_undefined:
        return scores
    scores[..., 0][tp + fp == 0] = np.nan
    scores[..., 1][tp + fn == 0] = np.nan
    scores[..., 2][tp + fp + fn == 0] = np.nan
    scores[..., [label for label in range(N_LABELS) if label not in counted], :] = np.nan
    return scores


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part over the whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
