"""What a report card holds: every figure of the page, computed, none of it drawn yet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sightline.exams.relations.analyses import ByDifficulty, CounterHeuristic, Silence
from sightline.exams.relations.audit import Audit
from sightline.exams.relations.consistency import Consistency
from sightline.exams.relations.description import Description
from sightline.exams.relations.distributions import Frequency, LabelDistribution
from sightline.exams.relations.grids import Grid
from sightline.exams.relations.protocols import Protocol
from sightline.exams.relations.scores import Scores, SubtaskScores
from sightline.plain import plain
from sightline.report.failures import Failure
from sightline.report.listings import SUBTASK_TITLES
from sightline.report.markdown import markdown
from sightline.report.seats import Card, Seat
from sightline.skills import Setting
from sightline.stats import Interval


@dataclass(frozen=True, kw_only=True)
class Sitting(Seat):
    """One run with everything computed from its records.

    Attributes:
        boxes: ``truth``, ``detected`` or ``perfect``.
        study: What it learned from: ``same``, ``within_image``, ``across_images`` or ``joint``.
        train_split: The split it was told to learn from, None for the usual one.
        scores: Of what was answered; without sub-tasks where nothing was.
        difficulty: None on detected boxes or where nothing was answered.
        heuristics: By setting; empty on detected boxes. `consistency` and `silence` likewise.
        outcomes: Sub-task → outcome → judgements; on detected boxes only.
    """

    asked: ClassVar = ("boxes", "study")

    boxes: str
    study: str
    train_split: str | None
    scores: Scores
    difficulty: ByDifficulty | None = None
    heuristics: Mapping[Setting, CounterHeuristic] = field(default_factory=dict)
    consistency: Mapping[Setting, Consistency] = field(default_factory=dict)
    silence: Mapping[Setting, Silence] = field(default_factory=dict)
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def standard(self) -> bool:
        """Whether it belongs in the main tables: given boxes, each setting learned from its own pairs."""
        return self.boxes == "truth" and self.study == "same"

    def subtask(self, name: str) -> SubtaskScores | None:
        """Scores of ``<setting>/<aspect>``, None where it was not asked."""
        return next((task for task in self.scores.subtasks if task.name == name), None)

    def f1(self, name: str) -> Interval | None:
        """Micro F1 of a sub-task, or of the ``average``."""
        if name == "average":
            return self.scores.average
        task = self.subtask(name)
        return None if task is None else task.micro["all"].f1

    @property
    def rank(self) -> tuple[float, ...]:
        """What puts one run before another: finished, more sub-tasks with a score, then their mean F1."""
        values = [task.micro["all"].f1.value for task in self.scores.subtasks]
        known = [v for v in values if math.isfinite(v)]
        return self.finished, len(known), sum(known) / len(known) if known else -math.inf

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = super().to_dict() | {"scores": self.scores.to_dict()}
        plain["difficulty"] = None if self.difficulty is None else self.difficulty.to_dict()
        for part in ("heuristics", "consistency", "silence"):
            plain[part] = {setting: found.to_dict() for setting, found in getattr(self, part).items()}
        return plain | {"outcomes": {task: dict(row) for task, row in self.outcomes.items()}}


@dataclass(frozen=True)
class DataFacts:
    """The data behind the card.

    Attributes:
        name: Name of the dataset's folder; `source` where it came from.
        fingerprint: Of its content.
        split: The split that was sat.
        description: Tables 1 and 2 of the paper, agreement of the raters.
        audit: Blind rules on pairs with a clear order.
        consistency: Setting → transitivity of the labels themselves.
        classes: Setting → how often each class occurs; `class_pairs` likewise.
        by_class: ``<setting>/<aspect>`` → labels by the class of the first object; `by_class_pair` by both.
        human: Sub-task → F1 of one rater against the others, counted as a model's; empty where not comparable.
    """

    name: str
    source: str
    fingerprint: str
    split: str
    description: Description
    audit: Audit
    consistency: Mapping[Setting, Consistency]
    classes: Mapping[Setting, Frequency]
    class_pairs: Mapping[Setting, Frequency]
    by_class: Mapping[str, LabelDistribution]
    by_class_pair: Mapping[str, LabelDistribution]
    human: Mapping[str, Interval]

    def human_value(self, name: str) -> float:
        """F1 of one rater in a sub-task, or the mean of all three for the ``average``; NaN where unknown."""
        if name != "average":
            return self.human[name].value if name in self.human else math.nan
        known = [self.human[task].value for task in SUBTASK_TITLES if task in self.human]
        return sum(known) / len(known) if len(known) == len(SUBTASK_TITLES) else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {key: getattr(self, key) for key in ("name", "source", "fingerprint", "split")}
        plain |= {"description": self.description.to_dict(), "audit": self.audit.to_dict()}
        for part in ("consistency", "classes", "class_pairs", "by_class", "by_class_pair", "human"):
            plain[part] = {key: found.to_dict() for key, found in getattr(self, part).items()}
        return plain


@dataclass(frozen=True, kw_only=True)
class ReportCard(Card[Sitting]):
    """All runs side by side, one of them looked at closely.

    Attributes:
        protocol: How answers were counted.
        data: What the runs were made on.
        grids: Setting → score of *closer* by size and place, for the focus.
        failures: Its worst scenes, within depth, occlusion and across, worst first in each.
    """

    protocol: Protocol
    data: DataFacts
    grids: Mapping[Setting, Sequence[Grid]]
    failures: tuple[Failure, ...]

    @property
    def main(self) -> tuple[Sitting, ...]:
        """Runs on given boxes that learned each setting from its own pairs."""
        return tuple(s for s in self.sittings if s.standard)

    @property
    def detected(self) -> tuple[Sitting, ...]:
        """Runs on boxes the models found."""
        return tuple(s for s in self.sittings if s.boxes != "truth")

    @property
    def subtasks(self) -> tuple[str, ...]:
        """Names of the sub-tasks that some run answered, in the order of every table."""
        return tuple(n for n in SUBTASK_TITLES if any(s.subtask(n) for s in self.sittings))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""
        values = {
            "made": self.made,
            "protocol": self.protocol.value,
            "resamples": self.resamples,
            "seed": self.seed,
            "focus": self.focus,
            "warnings": list(self.warnings),
            "data": self.data.to_dict(),
            "runs": [sitting.to_dict() for sitting in self.sittings],
            "grids": {setting: [grid.to_dict() for grid in own] for setting, own in self.grids.items()},
            "failures": [failure.to_dict() for failure in self.failures],
        }
        document: dict[str, Any] = plain(values)
        return document

    def to_markdown(self) -> str:
        """Headline and tables as Markdown."""
        return markdown(self)
