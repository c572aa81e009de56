"""The headline: precision, recall and F1 per label and sub-task, and the average of the sub-tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.answers import Answers
from sightline.exams.relations.counting import aspects_of, joint_counts, ratio
from sightline.exams.relations.official import sheets_by
from sightline.exams.relations.protocols import Aspect, Protocol, lenient, pool
from sightline.exams.relations.sheets import SUBTASKS, Sheet, Subtask
from sightline.exams.relations.tally import rates
from sightline.scenes import words
from sightline.skills import Setting
from sightline.stats import Interval, intervals, macro_intervals

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LabelScore:
    """Precision, recall and F1 of one label, or of all pooled labels."""

    precision: Interval
    recall: Interval
    f1: Interval

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: getattr(self, name).to_dict() for name in ("precision", "recall", "f1")}


@dataclass(frozen=True)
class SubtaskScores:
    """Scores of one sub-task.

    Attributes:
        setting: Within one image or across two.
        aspect: Depth or occlusion.
        pairs: Judgements: ordered pairs asked, and on detected boxes the predicted pairs that are not there.
        micro: Label word (or ``"all"``) → scores of all pairs together.
        macro: The same, the mean over clusters of each cluster's score; clusters where it is undefined are left
            out.
        clear: Accuracy on pairs with a clear depth order; `clear_macro` its mean over clusters. None for occlusion.
    """

    setting: Setting
    aspect: Aspect
    pairs: int
    micro: Mapping[str, LabelScore]
    macro: Mapping[str, LabelScore]
    clear: Interval | None = None
    clear_macro: Interval | None = None

    @property
    def name(self) -> str:
        """``<setting>/<aspect>``."""
        return f"{self.setting}/{self.aspect}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {"pairs": self.pairs}
        for kind in ("micro", "macro"):
            plain[kind] = {label: score.to_dict() for label, score in getattr(self, kind).items()}
        if self.clear is not None and self.clear_macro is not None:
            plain["clear_order"] = {"micro": self.clear.to_dict(), "macro": self.clear_macro.to_dict()}
        return plain


@dataclass(frozen=True)
class Scores:
    """All sub-tasks of one model under one protocol.

    Attributes:
        protocol: How answers were counted.
        subtasks: Those that were asked.
        average: Mean F1 over the three sub-tasks; None where one was not asked.
    """

    protocol: Protocol
    subtasks: tuple[SubtaskScores, ...]
    average: Interval | None

    def by_predicate(self) -> dict[str, dict[str, Interval]]:
        """F1 of every label the protocol counts, by sub-task (the paper's Table 7)."""
        return {
            task.name: {
                words(task.aspect)[code]: task.micro[words(task.aspect)[code]].f1
                for code in pool(self.protocol, task.aspect, task.setting)
            }
            for task in self.subtasks
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "protocol": self.protocol.value,
            "subtasks": {task.name: task.to_dict() for task in self.subtasks},
            "average": None if self.average is None else self.average.to_dict(),
        }


def scores(
    answers: Mapping[Setting, Answers],
    *,
    protocol: Protocol = Protocol.DEFAULT,
    resamples: int = 2000,
    seed: int = 0,
) -> Scores:
    """Score answers on given boxes, every figure with a 95 % interval by cluster.

    The average's interval resamples image pairs together with the questions within their images.

    Args:
        answers: All ordered pairs of each setting that was asked.
        protocol: How to count.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    return score_sheets(sheets_by(answers, Protocol(protocol)), protocol=protocol, resamples=resamples, seed=seed)


def score_sheets(
    sheets: Mapping[Subtask, Sheet], *, protocol: Protocol = Protocol.DEFAULT, resamples: int = 2000, seed: int = 0
) -> Scores:
    """Like `scores`, from marked judgements on given or detected boxes."""
    protocol = Protocol(protocol)
    settings = dict.fromkeys(setting for setting, _ in sheets)
    tasks = [task for s in settings for task in _setting_scores(s, sheets, protocol, resamples, seed)]
    return Scores(protocol, tuple(tasks), _average(sheets, protocol, resamples, seed))


def _setting_scores(
    setting: Setting, sheets: Mapping[Subtask, Sheet], protocol: Protocol, resamples: int, seed: int
) -> list[SubtaskScores]:
    """Both aspects from one resampling of the clusters."""
    aspects = [aspect for aspect in aspects_of(setting) if (setting, aspect) in sheets]
    own = [sheets[setting, aspect] for aspect in aspects]
    counts = np.stack([sheet.counts(protocol)[:, 0] for sheet in own], axis=1)
    clear = own[0].clear_counts()[:, 0]
    flat = np.hstack([counts.reshape(len(counts), -1), clear])

    def values(totals: Floats, counted_by: Protocol = protocol) -> Floats:
        split = totals[:, :-2].reshape(-1, len(aspects), 4, 3)
        per_aspect = [
            rates(split[:, i], protocol=counted_by, aspect=a, setting=setting).reshape(-1, 15)
            for i, a in enumerate(aspects)
        ]
        return np.hstack([*per_aspect, ratio(totals[:, -2:-1], totals[:, -1:])])

    micro = intervals(flat, values, resamples=resamples, seed=seed)
    # A scene that lacks a label says nothing about it; the official 0 would be an average of absences.
    macro = macro_intervals(values(flat.astype(np.float64), lenient(protocol)), resamples=resamples, seed=seed)
    return [
        SubtaskScores(
            setting=setting,
            aspect=aspect,
            pairs=own[i].judgements,
            micro=_by_label(micro[15 * i : 15 * (i + 1)], aspect),
            macro=_by_label(macro[15 * i : 15 * (i + 1)], aspect),
            clear=micro[-1] if aspect == "depth" else None,
            clear_macro=macro[-1] if aspect == "depth" else None,
        )
        for i, aspect in enumerate(aspects)
    ]


def _by_label(found: Sequence[Interval], aspect: Aspect) -> dict[str, LabelScore]:
    """Fifteen intervals, label by label, as scores by word."""
    names = (*words(aspect), "all")
    return {name: LabelScore(*found[3 * i : 3 * i + 3]) for i, name in enumerate(names)}


def _average(sheets: Mapping[Subtask, Sheet], protocol: Protocol, resamples: int, seed: int) -> Interval | None:
    joint = joint_counts(sheets, protocol)
    if joint.subtasks != SUBTASKS:
        return None
    mean = intervals(joint.counts, lambda t: joint.f1(t).mean(axis=1), resamples=resamples, seed=seed)
    return mean[0]
