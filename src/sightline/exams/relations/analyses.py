"""Where a model is right and where it is not: by difficulty, against the heuristics, silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.answers import Answers
from sightline.exams.relations.counting import joint_counts, ratio
from sightline.exams.relations.protocols import Protocol
from sightline.exams.relations.sheets import SUBTASKS, sheet_of, sheets_of
from sightline.exams.relations.votes import Difficulty, difficulty
from sightline.geometry import area
from sightline.scenes import Depth
from sightline.skills import SILENT, Setting
from sightline.stats import Interval, intervals

Floats = NDArray[np.float64]

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        f1 = {task: {scale: i.to_dict() for scale, i in row.items()} for task, row in self.f1.items()}
        average = {scale: i.to_dict() for scale, i in self.average.items()}
        return {"f1": f1, "average": average, "pairs": {s: dict(row) for s, row in self.pairs.items()}}


@dataclass(frozen=True)
class Slice:
    """Accuracy on some of the pairs with a clear depth order.

    Attributes:
        accuracy: Share of ordered pairs told right, silence being wrong.
        pairs: Ordered pairs in the slice.
    """

    accuracy: Interval
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"accuracy": self.accuracy.to_dict(), "pairs": self.pairs}


@dataclass(frozen=True)
class CounterHeuristic:
    """Accuracy where the usual cues mislead.

    Attributes:
        slices: ``all``; ``lower_is_farther``: the object with the lower bottom edge is not the closer one;
            ``larger_is_farther``; ``both``: it is so for both cues; ``neither``: both cues tell the truth. A cue on
            which the objects tie neither misleads nor tells the truth.
    """

    slices: Mapping[str, Slice]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: part.to_dict() for name, part in self.slices.items()}


@dataclass(frozen=True)
class Silence:
    """How often a model does not commit itself.

    Attributes:
        unanswered: Aspect → share of ordered pairs without an answer.
        unsure: Share of ordered pairs whose depth the model calls unsure.
    """

    unanswered: Mapping[str, Interval]
    unsure: Interval

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        unanswered = {aspect: share.to_dict() for aspect, share in self.unanswered.items()}
        return {"unanswered": unanswered, "unsure": self.unsure.to_dict()}


def by_difficulty(
    answers: Mapping[Setting, Answers],
    *,
    protocol: Protocol = Protocol.DEFAULT,
    resamples: int = 2000,
    seed: int = 0,
) -> ByDifficulty:
    """F1 of every sub-task on easy, moderate and difficult pairs; intervals by units that share no image."""

    def scale_of(own: Answers) -> NDArray[np.int64]:
        code = difficulty(own.table.depth_votes).astype(np.int64)
        return np.where(code < len(SCALES), code, -1)

    scales = {setting: scale_of(own) for setting, own in answers.items()}
    joint = joint_counts(sheets_of(answers), protocol, part=scales, parts=len(SCALES))

    def values(totals: Floats) -> Floats:
        f1 = joint.f1(totals)
        return np.concatenate([f1, f1.mean(axis=1, keepdims=True)], axis=1)

    found = intervals(joint.counts, values, resamples=resamples, seed=seed)
    rows = [
        {scale.word: found[i * len(SCALES) + k] for k, scale in enumerate(SCALES)}
        for i in range(len(joint.subtasks) + 1)
    ]
    names = [f"{setting}/{aspect}" for setting, aspect in joint.subtasks]
    pairs = {
        setting: {scale.word: int((codes == scale).sum()) for scale in SCALES} for setting, codes in scales.items()
    }
    average = rows[-1] if joint.subtasks == SUBTASKS else {}
    return ByDifficulty(dict(zip(names, rows[:-1], strict=True)), average, pairs)


def counter_heuristic(answers: Answers, *, resamples: int = 2000, seed: int = 0) -> CounterHeuristic:
    """Accuracy on clear-order pairs where lower in the image, or larger, is not closer; intervals by cluster."""
    part = cue_part(answers)
    counts = sheet_of(answers, "depth").clear_counts(part=part, parts=5)
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

    found = intervals(counts, values, resamples=resamples, seed=seed)
    sizes = members.T @ counts.sum(axis=0)[:, 1]
    return CounterHeuristic({name: Slice(i, int(n)) for name, i, n in zip(slices, found, sizes, strict=True)})


def cue_part(answers: Answers) -> NDArray[np.int64]:
    """(2n,) which of the two cues, lower bottom edge and larger area, point the wrong way; ties are undecided.

    Meaningful for pairs with a clear order only.
    """
    table = answers.table
    a, b = table.boxes_a, table.boxes_b
    sense = np.where(table.depth == Depth.CLOSER, 1.0, -1.0)
    lower = np.sign(a[:, 3] - b[:, 3]) * sense
    larger = np.sign(area(a) - area(b)) * sense
    return np.select(
        [(lower < 0) & (larger < 0), lower < 0, larger < 0, (lower > 0) & (larger > 0)],
        [AGAINST_BOTH, AGAINST_LOWER, AGAINST_LARGER, AGREES],
        UNDECIDED,
    )


def silence(answers: Answers, *, resamples: int = 2000, seed: int = 0) -> Silence:
    """Shares of unanswered and of unsure over all ordered pairs; intervals by cluster."""
    table = answers.table
    aspects = table.aspects
    events = [getattr(answers, aspect) == SILENT for aspect in aspects]
    events += [answers.depth == Depth.UNSURE, np.ones(len(table), dtype=bool)]
    c = len(table.clusters)
    counts = np.column_stack([np.bincount(table.cluster[e], minlength=c) for e in events])
    found = intervals(counts, lambda t: ratio(t[:, :-1], t[:, -1:]), resamples=resamples, seed=seed)
    return Silence(dict(zip(aspects, found, strict=False)), found[-1])
