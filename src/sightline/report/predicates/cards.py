"""What the predicates card holds: every figure of the page, computed, none of it drawn yet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sightline.exams.predicates.scores import PredicateScores
from sightline.exams.predicates.slices import Slices
from sightline.plain import finite
from sightline.report.predicates.exhibits import SceneExhibit
from sightline.report.predicates.markdown import markdown
from sightline.stats import Interval


@dataclass(frozen=True)
class Sitting:
    """One run with everything computed from its records.

    Attributes:
        label: How the report calls it; unique in the card.
        name: How the run calls the model.
        spec: What the user asked for.
        blind: A built-in baseline that never looks at a picture.
        views: Names of the views it was shown.
        asked_views: The views the exam was told to show; None where the model chose.
        status: ``finished``, ``stopped``, ``running`` or ``failed``.
        done: Scenes answered, of `items`.
        told: What the model says of itself.
        versions: Software it was made with.
        scores: Of what was answered; None where nothing was. `slices` likewise.
    """

    label: str
    name: str
    spec: str
    blind: bool
    views: tuple[str, ...]
    asked_views: tuple[str, ...] | None
    status: str
    done: int
    items: int
    told: Mapping[str, Any]
    versions: Mapping[str, str]
    scores: PredicateScores | None = None
    slices: Slices | None = None

    @property
    def finished(self) -> bool:
        """Whether every scene was answered."""
        return self.status == "finished"

    def accuracy(self, name: str = "all") -> Interval | None:
        """Scene accuracy of a group or predicate; None where nothing was answered."""
        return None if self.scores is None else self.scores.scene_accuracy[name]

    @property
    def rank(self) -> tuple[bool, float]:
        """What puts one run before another: finished, then scene accuracy."""
        found = self.accuracy()
        return self.finished, found.value if found is not None and math.isfinite(found.value) else -math.inf

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {
            key: getattr(self, key)
            for key in ("label", "name", "spec", "blind", "views", "asked_views", "status", "done", "items")
        }
        plain |= {"model": dict(self.told), "versions": dict(self.versions)}
        plain["scores"] = None if self.scores is None else self.scores.to_dict()
        plain["slices"] = None if self.slices is None else self.slices.to_dict()
        return plain


@dataclass(frozen=True)
class Gallery:
    """Scenes shown for one reason, with the reason in words."""

    title: str
    words: str
    scenes: tuple[SceneExhibit, ...]


@dataclass(frozen=True)
class PredicatesCard:
    """All runs side by side, one of them looked at closely.

    Attributes:
        made: When, ISO 8601 in UTC.
        resamples: Behind every interval; `seed` of the resampling.
        data: Name of the dataset's folder; `source` where it came from, `fingerprint` of its content.
        split: The split that was sat; empty for all of it.
        sittings: Every run, best first.
        focus: Label of the run whose scenes are shown.
        galleries: Its worst, typical and perfect scenes.
        warnings: What a reader must know before trusting the figures.
    """

    made: str
    resamples: int
    seed: int
    data: str
    source: str
    fingerprint: str
    split: str
    sittings: tuple[Sitting, ...]
    focus: str
    galleries: tuple[Gallery, ...]
    warnings: tuple[str, ...]

    @property
    def focused(self) -> Sitting:
        """The run looked at closely."""
        return next(s for s in self.sittings if s.label == self.focus)

    @property
    def scored(self) -> tuple[Sitting, ...]:
        """Runs that answered something."""
        return tuple(s for s in self.sittings if s.scores is not None)

    @property
    def attention(self) -> bool:
        """Whether the scenes show where the model looked."""
        return any(asked.heat for g in self.galleries for shown in g.scenes for asked in shown.objects)

    @property
    def blind(self) -> tuple[Sitting, ...]:
        """Baselines that answered something."""
        return tuple(s for s in self.scored if s.blind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""
        plain: dict[str, Any] = {"exam": "predicates"}
        plain |= {key: getattr(self, key) for key in ("made", "resamples", "seed", "focus", "warnings")}
        plain["data"] = {
            "name": self.data,
            "source": self.source,
            "fingerprint": self.fingerprint,
            "split": self.split or None,
        }
        plain["runs"] = [sitting.to_dict() for sitting in self.sittings]
        plain["scenes"] = {g.title.lower(): [shown.to_dict() for shown in g.scenes] for g in self.galleries}
        found: dict[str, Any] = finite(plain)
        return found

    def to_markdown(self) -> str:
        """Headline and tables as Markdown."""
        return markdown(self)
