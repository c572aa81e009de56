"""Predicted pairs on predicted boxes against true pairs: who is matched with whom, and what kind of miss is left.

Truth is doubled: ordered truth i in [0, n) is row i as written, n + i the same row the other way round. The
reversed rows exist only as labels; their boxes are read through the original row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.boxed import (
    BoxedPairs,
    BoxWindow,
    ImageGroups,
    SortedRows,
    group_by_images,
    sort_rows,
)
from sightline.exams.relations.protocols import ABSENT, N_LABELS, Aspect, Counts, Protocol, rules, tally
from sightline.scenes import NO_MAJORITY, REVERSE
from sightline.skills import SILENT, Setting

Boxes = NDArray[np.float64]
Codes = NDArray[np.int8]
Ints = NDArray[np.int32]
States = NDArray[np.uint8]

UNMATCHED, UNSEEN = -1, -2
_FREE, _TAKEN, _OUTSIDE = 0, 1, 2
_SAME_LABEL, _NO_MAJORITY, _ANY_LABEL = 0, 1, 2
_KINDS = N_LABELS + 1  # truths of a group are sorted by label, no majority first
_REVERSE = np.array(REVERSE, dtype=np.int8)  # indexed by code; −1 is its last entry


class MatchOutcome(IntEnum):
    """How one judgement ended."""

    CORRECT = 0
    WRONG_PREDICATE = 1
    """Both objects were found, the label is another one."""
    MISSED_OBJECT = 2
    """No prediction is left whose two boxes fit the true pair."""
    SPURIOUS_PAIR = 3
    """No true pair is left that the predicted boxes fit: a false detection or a repeated one."""
    UNDECIDED = 4
    """The raters found no majority; what that costs is the protocol's affair."""


@dataclass(frozen=True)
class MatchedPairs:
    """k judgements: every prediction that was looked at, then every true pair that no prediction was paired with.

    Attributes:
        truth: (k,) label codes, −1 no majority, `ABSENT` where a prediction stands alone.
        answer: (k,) label codes, `SILENT` where a truth stands alone.
        cluster: (k,) index of the unordered image pair of the truth.
        outcome: (k,) codes of `MatchOutcome`.
        truth_row: (k,) ordered truth (n + i is row i reversed), −1 for none.
        prediction_row: (k,) row of the predictions, −1 for none.
        clusters: (c, 2) the clusters of the truth: index of the two images of each, into ``truth.images``.
        n_unseen: Predictions never looked at: on image pairs without truth, or outside the window.
    """

    truth: Codes
    answer: Codes
    cluster: Ints
    outcome: Codes
    truth_row: Ints
    prediction_row: Ints
    clusters: Ints
    n_unseen: int


def match_boxed(
    truth: BoxedPairs,
    predictions: BoxedPairs,
    protocol: Protocol,
    aspect: Aspect,
    *,
    threshold: float = 0.5,
    classes: bool = False,
    window: BoxWindow | None = None,
) -> MatchedPairs:
    """Match predictions with true pairs, greedily and in file order, as the protocol says.

    A prediction takes the first free truth of its group whose images are equal, whose boxes both have
    IoU > `threshold`, and whose label is the same. Classes are ignored unless asked for. What is left is then
    paired by boxes alone, to tell a wrong predicate from a missed object; counts do not depend on that.

    Args:
        truth: Annotated pairs, each once; the reversed ones are added here.
        predictions: Ordered pairs; both directions are expected. `SILENT` is no prediction.
        protocol: The rules.
        aspect: Which label to compare.
        threshold: IoU that both boxes must exceed.
        classes: Both classes must be the same too.
        window: Look only at ordered pairs inside it.
    """
    pairing = _pairing(truth, predictions, protocol, aspect, threshold, classes, window, explain=True)
    labels, answers, clusters = _aligned(pairing)
    seen = np.flatnonzero(pairing.partner != UNSEEN).astype(np.int32)
    alone = np.flatnonzero(pairing.state == _FREE).astype(np.int32)
    return MatchedPairs(
        truth=labels,
        answer=answers,
        cluster=clusters,
        outcome=_outcomes(labels, answers, len(seen)),
        truth_row=np.concatenate([pairing.partner[seen], alone]),
        prediction_row=np.concatenate([seen, np.full(len(alone), UNMATCHED, dtype=np.int32)]),
        clusters=pairing.groups.clusters,
        n_unseen=len(predictions) - len(seen),
    )


@dataclass(frozen=True)
class BoxedCounts:
    """What is left of matched pairs once they are counted.

    Attributes:
        counts: (clusters, 4, 3) tp, fp, fn of labels 0…3; the clusters are those of `MatchedPairs.clusters`.
        outcomes: How many judgements ended so; empty where that was not asked.
        n_unseen: Predictions never looked at.
        n_paired: Predictions that a true pair was found for, by its boxes if outcomes were asked for.
        setting: Within one image or across two.
    """

    counts: Counts
    outcomes: dict[MatchOutcome, int]
    n_unseen: int
    n_paired: int
    setting: Setting


def count_boxed(
    truth: BoxedPairs,
    predictions: BoxedPairs,
    protocol: Protocol,
    aspect: Aspect,
    *,
    threshold: float = 0.5,
    classes: bool = False,
    window: BoxWindow | None = None,
    explain: bool = False,
) -> BoxedCounts:
    """Count predictions on predicted boxes: `match_boxed` without the rows, too many for ten million predictions.

    Args:
        truth: As for `match_boxed`; so are the others.
        predictions: Ordered pairs.
        protocol: The rules.
        aspect: Which label to compare.
        threshold: IoU that both boxes must exceed.
        classes: Both classes must be the same too.
        window: Look only at ordered pairs inside it.
        explain: Also count outcomes, which takes another pass.
    """
    pairing = _pairing(truth, predictions, protocol, aspect, threshold, classes, window, explain=explain)
    n_seen = int(np.count_nonzero(pairing.partner != UNSEEN))
    n_paired = int(np.count_nonzero(pairing.partner >= 0))
    n_clusters, codes, setting = len(pairing.groups.clusters), _aligned(pairing), truth.setting
    del pairing  # as large as the counting that follows
    outcomes = {}
    if explain:
        ended = _outcomes(*codes[:2], n_seen)
        outcomes = {outcome: int(np.count_nonzero(ended == outcome)) for outcome in MatchOutcome}
    counts = tally(*codes, n_clusters, protocol=protocol, aspect=aspect, setting=setting)
    return BoxedCounts(counts, outcomes, len(predictions) - n_seen, n_paired, setting)


def _outcomes(labels: Codes, answers: Codes, n_seen: int) -> Codes:
    """How each judgement ended; the first `n_seen` are predictions, the others truths left alone."""
    outcome = np.full(len(labels), MatchOutcome.WRONG_PREDICATE, dtype=np.int8)
    outcome[labels == answers] = MatchOutcome.CORRECT
    outcome[n_seen:] = MatchOutcome.MISSED_OBJECT
    outcome[labels == ABSENT] = MatchOutcome.SPURIOUS_PAIR
    outcome[labels == NO_MAJORITY] = MatchOutcome.UNDECIDED
    return outcome


class _Pairing(NamedTuple):
    """Who took whom: `state` of the 2n ordered truths, `partner` of the predictions."""

    labels: Codes
    answers: Codes
    state: States
    partner: Ints
    groups: ImageGroups


def _pairing(
    truth: BoxedPairs,
    predictions: BoxedPairs,
    protocol: Protocol,
    aspect: Aspect,
    threshold: float,
    classes: bool,
    window: BoxWindow | None,
    explain: bool,
) -> _Pairing:
    rule = rules(protocol)
    groups = group_by_images(truth, predictions, directed=rule.directed_groups)
    written, answers = truth.labels(aspect), predictions.labels(aspect)
    state = _initial_state(truth, window)
    partner = np.where(groups.prediction >= 0, np.int32(UNMATCHED), np.int32(UNSEEN))
    if window is not None:
        partner[~window.keeps(predictions.boxes_a, predictions.boxes_b)] = UNSEEN
    n_groups = len(groups.cluster)
    predicted = _side(predictions, sort_rows(groups.prediction, n_groups), classes)
    pair = _side(truth, _by_label(groups, written), classes)
    # No label is wanted in both of these passes, so whole passes equal one prediction at a time.
    _pair_up(_SAME_LABEL, threshold, predicted, answers, pair, state, partner)
    if rule.leaves_out:
        _pair_up(_NO_MAJORITY, threshold, predicted, answers, pair, state, partner)
    if explain:
        del pair  # there is room for one
        pair = _side(truth, sort_rows(groups.truth, n_groups), classes)
        _pair_up(_ANY_LABEL, threshold, predicted, answers, pair, state, partner)
    return _Pairing(np.concatenate([written, _REVERSE[written]]), answers, state, partner, groups)


def _by_label(groups: ImageGroups, written: Codes) -> SortedRows:
    """True pairs by group and label."""
    kinds = groups.truth * np.int32(_KINDS)
    kinds += written - np.int8(NO_MAJORITY)
    return sort_rows(kinds, len(groups.cluster) * _KINDS)


def _initial_state(truth: BoxedPairs, window: BoxWindow | None) -> States:
    """(2n,) whether an ordered truth is free or outside the window."""
    if window is None:
        return np.zeros(2 * len(truth), dtype=np.uint8)
    written = window.keeps(truth.boxes_a, truth.boxes_b)
    turned = window.keeps(truth.boxes_b, truth.boxes_a)
    return np.where(np.concatenate([written, turned]), np.uint8(_FREE), np.uint8(_OUTSIDE))


def _aligned(pairing: _Pairing) -> tuple[Codes, Codes, Ints]:
    """Truth, answer and cluster of every judgement: predictions that were looked at, then truths left alone."""
    k = np.count_nonzero(pairing.partner != UNSEEN) + np.count_nonzero(pairing.state == _FREE)
    aligned = np.empty(k, dtype=np.int8), np.empty(k, dtype=np.int8), np.empty(k, dtype=np.int32)
    _align(pairing, *aligned)
    return aligned


class _Side(NamedTuple):
    """Truth or predictions as the kernel sees them, with their rows sorted by group, or by group and label."""

    image_a: Ints
    image_b: Ints
    boxes_a: Boxes
    boxes_b: Boxes
    class_a: Ints  # (0,) where classes are not looked at
    class_b: Ints
    rows: SortedRows


def _side(pairs: BoxedPairs, rows: SortedRows, classes: bool) -> _Side:
    if classes and len(pairs.class_a) != len(pairs):
        raise ConfigError("classes of the pairs are needed to compare them, and were not read")
    kinds = (pairs.class_a, pairs.class_b) if classes else (np.empty(0, dtype=np.int32),) * 2
    return _Side(pairs.image_a, pairs.image_b, pairs.boxes_a, pairs.boxes_b, *kinds, rows)


@numba.njit(cache=True, error_model="numpy")
def _overlap(boxes: Boxes, i: int, others: Boxes, j: int, threshold: float) -> bool:
    """IoU > threshold; the order of operations is the authors', so that rounding falls the same way."""
    width = min(boxes[i, 2], others[j, 2]) - max(boxes[i, 0], others[j, 0])
    height = min(boxes[i, 3], others[j, 3]) - max(boxes[i, 1], others[j, 1])
    overlap = max(0.0, width) * max(0.0, height)
    area_i = max(0.0, boxes[i, 2] - boxes[i, 0]) * max(0.0, boxes[i, 3] - boxes[i, 1])
    area_j = max(0.0, others[j, 2] - others[j, 0]) * max(0.0, others[j, 3] - others[j, 1])
    return bool(overlap / (area_i + area_j - overlap) > threshold)  # two empty boxes: NaN, no match


@numba.njit(cache=True)
def _first_fit(
    predicted: _Side, row: int, pair: _Side, kind: int, shift: int, state: States, threshold: float
) -> int:
    """The first free truth of that kind with the prediction's images and boxes; −1 if there is none.

    Truth i stands at ``i + shift`` in the state; for reversed truths `pair` comes with its ends swapped.
    """
    for k in range(pair.rows.start[kind], pair.rows.start[kind + 1]):
        i = pair.rows.order[k]
        if (
            state[i + shift] == _FREE
            and predicted.image_b[row] == pair.image_b[i]  # in a group that settles the first image too
            and (len(pair.class_a) == 0 or predicted.class_a[row] == pair.class_a[i])
            and (len(pair.class_b) == 0 or predicted.class_b[row] == pair.class_b[i])
            and _overlap(predicted.boxes_a, row, pair.boxes_a, i, threshold)
            and _overlap(predicted.boxes_b, row, pair.boxes_b, i, threshold)
        ):
            return int(i + shift)
    return UNMATCHED


@numba.njit(cache=True)
def _pair_up(
    wanted: int, threshold: float, predicted: _Side, answers: Codes, pair: _Side, state: States, partner: Ints
) -> None:
    """One greedy pass: each unmatched prediction takes the first free truth that fits; updates state and partner.

    `wanted` says which truths may be taken: those of the predicted label, those without a majority, or any.
    """
    n = len(pair.image_a)
    turned = _Side(pair.image_b, pair.image_a, pair.boxes_b, pair.boxes_a, pair.class_b, pair.class_a, pair.rows)
    order, start = predicted.rows
    for group in range(len(start) - 1):
        for k in range(start[group], start[group + 1]):
            row = order[k]
            if partner[row] != UNMATCHED or (answers[row] == SILENT and wanted != _ANY_LABEL):
                continue
            if wanted == _ANY_LABEL:
                kind = kind_turned = group
            else:
                label = int(answers[row]) if wanted == _SAME_LABEL else NO_MAJORITY
                kind = group * _KINDS + label - NO_MAJORITY
                kind_turned = group * _KINDS + int(_REVERSE[label]) - NO_MAJORITY
            taken = _first_fit(predicted, row, pair, kind, 0, state, threshold)
            if taken == UNMATCHED:
                taken = _first_fit(predicted, row, turned, kind_turned, n, state, threshold)
            if taken != UNMATCHED:
                state[taken] = _TAKEN
                partner[row] = taken


@numba.njit(cache=True)
def _align(pairing: _Pairing, truth: Codes, answer: Codes, cluster: Ints) -> None:
    """Fill the three arrays, see `_aligned`; a loop because ten million rows leave no room for temporaries."""
    labels, answers, state, partner, groups = pairing
    k = 0
    for row in range(len(partner)):
        if partner[row] != UNSEEN:
            truth[k] = labels[partner[row]] if partner[row] != UNMATCHED else ABSENT
            answer[k] = answers[row]
            cluster[k] = groups.cluster[groups.prediction[row]]
            k += 1
    n = len(groups.truth)
    for ordered in range(len(state)):
        if state[ordered] == _FREE:
            truth[k] = labels[ordered]
            answer[k] = SILENT
            cluster[k] = groups.cluster[groups.truth[ordered if ordered < n else ordered - n]]
            k += 1
