"""The three ways to count a 2.5D answer: the authors' evaluator, the published tables, and ours.

A protocol is a few rules; everything that scores reads them from here. docs/reference/protocols.md gives the
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

ABSENT: Final = -2
"""Truth code of a prediction that has no truth pair; an answer there can only be a false positive."""

N_LABELS: Final = 4
TRUTH_CODES: Final = range(ABSENT, N_LABELS)
ANSWER_CODES: Final = range(SILENT, N_LABELS)
TP, FP, FN = 0, 1, 2


class Protocol(StrEnum):
    """How pairs become true positives, false positives and false negatives."""

    OFFICIAL = "official"
    PAPER = "paper"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Rules:
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
    Protocol.OFFICIAL: Rules(directed_groups=True, undecided_as=N_LABELS - 1, zero_undefined=True),
    Protocol.PAPER: Rules(),
    Protocol.DEFAULT: Rules(leaves_out=True),
}


def rules(protocol: Protocol) -> Rules:
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
class Slots:
    """Where one judgement is counted, by cell ``5 * (truth + 2) + (answer + 1)`` (see `cells`).

    Attributes:
        answer: (30,) slot ``3 * label + k`` that the answer adds to (k: tp or fp), −1 for none.
        truth: (30,) slot that the truth adds to when it was not met (k: fn), −1 for none.
    """

    answer: NDArray[np.int8]
    truth: NDArray[np.int8]


@cache
def slots(protocol: Protocol, aspect: Aspect, setting: Setting) -> Slots:
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
    return Slots(answers, truths)


def cells(truth: NDArray[Any], answer: NDArray[Any]) -> NDArray[np.int8]:
    """Index into the tables of `Slots` of every judgement.

    >>> cells(np.int8([ABSENT, 3]), np.int8([SILENT, 3])).tolist()
    [0, 29]
    """
    cell: NDArray[np.int8] = (truth - ABSENT).astype(np.int8)
    cell *= len(ANSWER_CODES)
    cell += (answer - SILENT).astype(np.int8)
    return cell
