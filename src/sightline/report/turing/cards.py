"""What the Turing card holds: every figure of the page, computed, none of it drawn yet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sightline.exams.turing.monitor import Monitor
from sightline.exams.turing.scores import TuringScores
from sightline.plain import finite
from sightline.report.turing.exhibits import StreamExhibit
from sightline.report.turing.markdown import markdown
from sightline.stats import Interval


@dataclass(frozen=True)
class Sitting:
    """One run with everything computed from its records.

    Attributes:
        label: How the report calls it; unique in the card.
        name: How the run calls the model.
        spec: What the user asked for.
        blind: A built-in baseline that never looks at the picture.
        withheld: Whether true answers were kept from it.
        status: ``finished``, ``stopped``, ``running`` or ``failed``.
        done: Streams answered, of `items`.
        told: What the model says of itself.
        versions: Software it was made with.
        scores: Of what was answered; None where nothing was.
    """

    label: str
    name: str
    spec: str
    blind: bool
    withheld: bool
    status: str
    done: int
    items: int
    told: Mapping[str, Any]
    versions: Mapping[str, str]
    scores: TuringScores | None = None

    @property
    def finished(self) -> bool:
        """Whether every stream was answered."""
        return self.status == "finished"

    def accuracy(self, name: str = "all") -> Interval | None:
        """Share of right answers of a question type; None where nothing was answered."""
        return None if self.scores is None else self.scores.accuracy.get(name)

    @property
    def rank(self) -> tuple[bool, float]:
        """What puts one run before another: finished, then accuracy."""
        found = self.accuracy()
        return self.finished, found.value if found is not None and math.isfinite(found.value) else -math.inf

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {
            key: getattr(self, key)
            for key in ("label", "name", "spec", "blind", "withheld", "status", "done", "items")
        }
        plain |= {"model": dict(self.told), "versions": dict(self.versions)}
        plain["scores"] = None if self.scores is None else self.scores.to_dict()
        return plain


@dataclass(frozen=True)
class Gallery:
    """Streams shown for one reason, with the reason in words."""

    title: str
    words: str
    streams: tuple[StreamExhibit, ...]


@dataclass(frozen=True)
class TuringCard:
    """All runs side by side, one of them looked at closely.

    Attributes:
        made: When, ISO 8601 in UTC.
        resamples: Behind every interval; `seed` of the resampling.
        data: Name of the dataset's folder; `source` where it came from, `fingerprint` of its content.
        split: The split that was sat; empty for all of it.
        options: Of the exam: vocabulary, training data, ε, assumptions and so on, as the runs keep them.
        sittings: Every run, best first.
        focus: Label of the run whose streams are shown.
        monitor: Whether the answers could have been guessed.
        lengths: Questions of a stream → how many streams have so many.
        galleries: Streams with most mistakes, typical and perfect ones.
        warnings: What a reader must know before trusting the figures.
    """

    made: str
    resamples: int
    seed: int
    data: str
    source: str
    fingerprint: str
    split: str
    options: Mapping[str, Any]
    sittings: tuple[Sitting, ...]
    focus: str
    monitor: Monitor
    lengths: Mapping[int, int]
    galleries: tuple[Gallery, ...]
    warnings: tuple[str, ...]

    @property
    def focused(self) -> Sitting:
        """The run looked at closely."""
        return next(s for s in self.sittings if s.label == self.focus)

    @property
    def vocabulary(self) -> str:
        """Name of the words the questions are made of; empty where the runs do not tell."""
        return str(self.options.get("vocabulary") or "")

    @property
    def scored(self) -> tuple[Sitting, ...]:
        """Runs that answered something."""
        return tuple(s for s in self.sittings if s.scores is not None)

    @property
    def blind(self) -> tuple[Sitting, ...]:
        """Baselines that answered something."""
        return tuple(s for s in self.scored if s.blind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""
        plain: dict[str, Any] = {"exam": "turing"}
        plain |= {key: getattr(self, key) for key in ("made", "resamples", "seed", "focus", "warnings")}
        plain["data"] = {
            "name": self.data,
            "source": self.source,
            "fingerprint": self.fingerprint,
            "split": self.split or None,
        }
        plain |= {"options": dict(self.options), "runs": [sitting.to_dict() for sitting in self.sittings]}
        plain |= {"monitor": self.monitor.to_dict(), "lengths": {str(k): n for k, n in self.lengths.items()}}
        plain["streams"] = {g.title.lower(): [shown.to_dict() for shown in g.streams] for g in self.galleries}
        found: dict[str, Any] = finite(plain)
        return found

    def to_markdown(self) -> str:
        """Headline, tables and transcripts as Markdown."""
        return markdown(self)
