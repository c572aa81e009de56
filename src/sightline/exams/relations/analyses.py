"""Where a model is right and where it is not: by difficulty, against the heuristics, silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.marks import SUBTASKS, MarkedPairs, Marks, Subtask, joint_counts
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Aspect, Floats, Protocol, ratio
from sightline.exams.relations.votes import Difficulty, difficulty
from sightline.geometry import area
from sightline.scenes import Depth
from sightline.skills import SILENT, Setting
from sightline.stats import Interval, intervals

SCALES: Final = (Difficulty.EASY, Difficulty.MODERATE, Difficulty.DIFFICULT)
"""The scales with a depth label to be right about."""

AGREES, AGAINST_LOWER, AGAINST_LARGER, AGAINST_BOTH, UNDECIDED = range(5)


@dataclass(frozen=True)
class ByDifficulty:
    """F1 by how well the raters agreed on the depth order (the paper's Table 9).

    Attributes:
        f1: Sub-task ``<setting>/<aspect>`` → scale → F1 over all labels; occlusion too by the depth scale.
        average: Scale → mean over the three sub-tasks; empty where one was not asked.
        pairs: Setting → scale → ordered pairs.
    """

    f1: Mapping[str, Mapping[str, Interval]]
    average: Mapping[str, Interval]
    pairs: Mapping[Setting, Mapping[str, int]]


@dataclass(frozen=True)
class AccuracySlice:
    """Accuracy on some of the pairs with a clear depth order.

    Attributes:
        accuracy: Share of ordered pairs answered right, silence being wrong.
        pairs: Ordered pairs in the slice.
    """

    accuracy: Interval
    pairs: int


@dataclass(frozen=True)
class Silence:
    """How often a model does not commit itself.

    Attributes:
        unanswered: Aspect → share of ordered pairs without an answer.
        unsure: Share of ordered pairs whose depth the model calls unsure.
    """

    unanswered: Mapping[str, Interval]
    unsure: Interval


def by_difficulty(
    marks: Marks, *, protocol: Protocol = Protocol.DEFAULT, resamples: int = 2000, seed: int = 0
) -> ByDifficulty:
    """F1 of every sub-task on easy, moderate and difficult pairs; intervals by units that share no image."""

    def scale_of(marked: MarkedPairs) -> NDArray[np.int64]:
        code = difficulty(marked.pairs.depth_votes).astype(np.int64)
        return np.where(code < len(SCALES), code, -1)

    scales: dict[Subtask, NDArray[np.int64]] = {task: scale_of(marked) for task, marked in marks.items()}
    joint = joint_counts(marks, protocol, part=scales, parts=len(SCALES))

    def values(totals: Floats) -> Floats:
        f1 = joint.f1(totals)
        return np.concatenate([f1, f1.mean(axis=1, keepdims=True)], axis=1)

    f1_intervals = intervals(joint.counts, values, resamples=resamples, seed=seed)
    rows = [
        {scale.word: f1_intervals[i * len(SCALES) + k] for k, scale in enumerate(SCALES)}
        for i in range(len(joint.subtasks) + 1)
    ]
    names = [f"{setting}/{aspect}" for setting, aspect in joint.subtasks]
    pairs = {
        setting: {scale.word: int((codes == scale).sum()) for scale in SCALES}
        for (setting, _), codes in scales.items()
    }
    average = rows[-1] if joint.subtasks == SUBTASKS else {}
    return ByDifficulty(dict(zip(names, rows[:-1], strict=True)), average, pairs)


def counter_heuristic(depth: MarkedPairs, *, resamples: int = 2000, seed: int = 0) -> dict[str, AccuracySlice]:
    """Accuracy on clear-order pairs where the usual cues mislead; intervals by cluster.

    Slices: ``all``; ``lower_is_farther``: the object with the lower bottom edge is not the closer one;
    ``larger_is_farther``; ``both``: it is so for both cues; ``neither``: both cues tell the truth. A cue on which
    the objects tie neither misleads nor tells the truth.

    Args:
        depth: Depth judgements of one setting.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    counts = depth.clear_counts(part=cue_part(depth.pairs), parts=5)
    slices = {
        "all": [AGREES, AGAINST_LOWER, AGAINST_LARGER, AGAINST_BOTH, UNDECIDED],
        "lower_is_farther": [AGAINST_LOWER, AGAINST_BOTH],
        "larger_is_farther": [AGAINST_LARGER, AGAINST_BOTH],
        "both": [AGAINST_BOTH],
        "neither": [AGREES],
    }
    members = np.zeros((5, len(slices)))
    for column, parts in enumerate(slices.values()):
        members[parts, column] = 1.0

    def values(totals: Floats) -> Floats:
        merged = np.einsum("bpk,ps->bsk", totals, members)
        return ratio(merged[..., 0], merged[..., 1])

    accuracies = intervals(counts, values, resamples=resamples, seed=seed)
    sizes = members.T @ counts.sum(axis=0)[:, 1]
    return {name: AccuracySlice(i, int(n)) for name, i, n in zip(slices, accuracies, sizes, strict=True)}


def cue_part(table: PairTable) -> NDArray[np.int64]:
    """(n,) which of the two cues, lower bottom edge and larger area, point the wrong way; ties are undecided.

    Meaningful for pairs with a clear order only.
    """
    a, b = table.boxes_a, table.boxes_b
    sense = np.where(table.depth == Depth.CLOSER, 1.0, -1.0)
    lower = np.sign(a[:, 3] - b[:, 3]) * sense
    larger = np.sign(area(a) - area(b)) * sense
    return np.select(
        [(lower < 0) & (larger < 0), lower < 0, larger < 0, (lower > 0) & (larger > 0)],
        [AGAINST_BOTH, AGAINST_LOWER, AGAINST_LARGER, AGREES],
        UNDECIDED,
    )


def silence(marks: Mapping[Aspect, MarkedPairs], *, resamples: int = 2000, seed: int = 0) -> Silence:
    """Shares of unanswered and of unsure over all ordered pairs of one setting; intervals by cluster.

    Args:
        marks: The setting's judgements by aspect, depth among them.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    depth = marks["depth"]
    events = [(marked.cluster, marked.answer == SILENT) for marked in marks.values()]
    events += [(depth.cluster, depth.answer == Depth.UNSURE), (depth.cluster, np.ones(len(depth.cluster), bool))]
    c = len(depth.clusters)
    counts = np.column_stack([np.bincount(cluster[event], minlength=c) for cluster, event in events])
    shares = intervals(counts, lambda t: ratio(t[:, :-1], t[:, -1:]), resamples=resamples, seed=seed)
    return Silence(dict(zip(marks, shares, strict=False)), shares[-1])
