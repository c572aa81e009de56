"""Count 2.5D answers by one of three protocols: the authors' evaluator, the published tables, and ours.

A protocol is a few rules; everything that scores reads them from here: `tally` counts (truth, answer) codes by
label and cluster, `rates` makes precision, recall and F1 of the counts. docs/reference/protocols.md gives the
reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.scenes import NO_MAJORITY, Depth
from sightline.skills import SILENT, Setting

Aspect = Literal["depth", "occlusion"]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

ABSENT: Final = -2
"""Truth code of a prediction that has no truth pair; an answer there can only be a false positive."""

N_LABELS: Final = 4
TRUTH_CODES: Final = range(ABSENT, N_LABELS)
ANSWER_CODES: Final = range(SILENT, N_LABELS)
TP, FP, FN = 0, 1, 2

_BLOCK = 1 << 20  # judgements at a time, so that tens of millions need no large temporaries


class Protocol(StrEnum):
    """How pairs become true positives, false positives and false negatives."""

    OFFICIAL = "official"
    PAPER = "paper"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class ProtocolRules:
    """What sets one protocol apart.

    Attributes:
        directed_groups: Rows are grouped by (first image, second image) as written. Otherwise by the unordered
            image pair.
        leaves_out: Pairs without a majority are neither missed nor wrongly answered.
        undecided_as: Label whose false negative an unanswered pair without a majority is; None: of no label.
        zero_undefined: 0 / 0 is 0. Otherwise NaN.
    """

    directed_groups: bool = False
    leaves_out: bool = False
    undecided_as: int | None = None
    zero_undefined: bool = False


_RULES: Final = {
    # The authors' evaluator indexes an array of four labels with −1, so no majority lands on the last one.
    Protocol.OFFICIAL: ProtocolRules(directed_groups=True, undecided_as=N_LABELS - 1, zero_undefined=True),
    Protocol.PAPER: ProtocolRules(),
    Protocol.DEFAULT: ProtocolRules(leaves_out=True),
}


def rules(protocol: Protocol) -> ProtocolRules:
    """The rules of a protocol.

    >>> rules(Protocol.OFFICIAL).undecided_as
    3
    """
    return _RULES[Protocol(protocol)]


def lenient(protocol: Protocol) -> Protocol:
    """The protocol to count single clusters by: under the official one a label they lack would score 0.

    >>> lenient(Protocol.OFFICIAL).value
    'default'
    """
    return Protocol.DEFAULT if rules(protocol).zero_undefined else protocol


def pool(protocol: Protocol, aspect: Aspect, setting: Setting) -> tuple[int, ...]:
    """Label codes that count, alone and in the "all" row; rows of other labels are undefined.

    >>> pool(Protocol.PAPER, "depth", "across_images")
    (1, 2)
    >>> pool(Protocol.DEFAULT, "depth", "across_images")
    (0, 1, 2, 3)
    """
    if Protocol(protocol) is not Protocol.PAPER or aspect == "occlusion":
        return tuple(range(N_LABELS))
    ordered = (int(Depth.CLOSER), int(Depth.FARTHER))
    return ordered if setting == "across_images" else (*ordered, int(Depth.SAME))


@dataclass(frozen=True, slots=True)
class CountSlots:
    """Where one judgement is counted, by cell ``5 * (truth + 2) + (answer + 1)`` (see `cells`).

    Attributes:
        answer: (30,) slot ``3 * label + k`` that the answer adds to (k: tp or fp), −1 for none.
        truth: (30,) slot that the truth adds to when it was not met (k: fn), −1 for none.
    """

    answer: NDArray[np.int8]
    truth: NDArray[np.int8]


@cache
def slots(protocol: Protocol, aspect: Aspect, setting: Setting) -> CountSlots:
    """The protocol as a table over every (truth, answer).

    >>> table = slots(Protocol.DEFAULT, "depth", "within_image")
    >>> wrong = int(cells(np.int8([1]), np.int8([2]))[0])
    >>> divmod(int(table.answer[wrong]), 3), divmod(int(table.truth[wrong]), 3)  # fp of label 2, fn of label 1
    ((2, 1), (1, 2))
    """
    answers = np.full(len(TRUTH_CODES) * len(ANSWER_CODES), -1, dtype=np.int8)
    truths = answers.copy()
    counted, rule = pool(protocol, aspect, setting), rules(protocol)
    for cell, (truth, answer) in enumerate(product(TRUTH_CODES, ANSWER_CODES)):
        if truth == NO_MAJORITY and rule.leaves_out:
            continue
        met = truth == answer and truth != NO_MAJORITY
        wanted = rule.undecided_as if truth == NO_MAJORITY else truth
        if answer in counted:
            answers[cell] = 3 * answer + (TP if met else FP)
        if wanted in counted and not met:
            truths[cell] = 3 * wanted + FN
    answers.flags.writeable = truths.flags.writeable = False
    return CountSlots(answers, truths)


def cells(truth: NDArray[Any], answer: NDArray[Any]) -> NDArray[np.int8]:
    """Index into the tables of `CountSlots` of every judgement.

    >>> cells(np.int8([ABSENT, 3]), np.int8([SILENT, 3])).tolist()
    [0, 29]
    """
    cell: NDArray[np.int8] = (truth - ABSENT).astype(np.int8)
    cell *= len(ANSWER_CODES)
    cell += (answer - SILENT).astype(np.int8)
    return cell


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
            counted = slot >= 0
            np.add.at(counts, place[counted] + slot[counted], 1)
    return counts.reshape(n_clusters, N_LABELS, 3)


def rates(counts: NDArray[Any], *, protocol: Protocol, aspect: Aspect, setting: Setting) -> Floats:
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
    precision, recall = _ratio_or_zero(tp, tp + fp), _ratio_or_zero(tp, tp + fn)
    f1 = _ratio_or_zero(2.0 * precision * recall, precision + recall)
    scores: Floats = np.stack([precision, recall, f1], axis=-1)
    if rules(protocol).zero_undefined:
        return scores
    scores[..., 0][tp + fp == 0] = np.nan
    scores[..., 1][tp + fn == 0] = np.nan
    scores[..., 2][tp + fp + fn == 0] = np.nan
    scores[..., [label for label in range(N_LABELS) if label not in counted], :] = np.nan
    return scores


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Part / whole, NaN where the whole is 0.

    >>> ratio(np.array([1, 0]), np.array([2, 0]))
    array([0.5, nan])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = np.true_divide(part, whole)
    return share


def _ratio_or_zero(part: Floats, whole: Floats) -> Floats:
    """The part over the whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
