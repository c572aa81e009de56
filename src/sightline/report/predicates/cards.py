"""What the predicates card holds: every figure of the page, computed, none of it drawn yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sightline.exams.predicates.drawing import SceneExample
from sightline.exams.predicates.scores import PredicateScores
from sightline.exams.predicates.slices import Slices
from sightline.report.galleries import GalleryCard
from sightline.report.predicates.markdown import markdown
from sightline.report.seats import AccuracySeat
from sightline.stats import Interval


@dataclass(frozen=True, kw_only=True)
class Sitting(AccuracySeat[PredicateScores]):
    """One run with everything computed from its records; its items are scenes.

    Attributes:
        views: Names of the views it was shown.
        asked_views: The views the exam was told to show; None where the model chose.
        slices: Scores in parts; None where nothing was answered.
    """

    asked: ClassVar = ("views", "asked_views")

    views: tuple[str, ...]
    asked_views: tuple[str, ...] | None
    slices: Slices | None = None

    def accuracy(self, name: str = "all") -> Interval | None:
        """Scene accuracy of a group or predicate; None where nothing was answered."""
        return None if self.scores is None else self.scores.scene_accuracy[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return super().to_dict() | {"slices": None if self.slices is None else self.slices.to_dict()}


@dataclass(frozen=True, kw_only=True)
class PredicatesCard(GalleryCard[Sitting, SceneExample]):
    """All runs side by side, one of them looked at closely, scene by scene."""

    @property
    def attention(self) -> bool:
        """Whether the scenes show where the model looked."""
        return any(asked.heat for g in self.galleries for shown in g.exhibits for asked in shown.objects)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""
        return self.plain("predicates", "scenes")

    def to_markdown(self) -> str:
        """Headline and tables as Markdown."""
        return markdown(self)
