"""What the cards of all exams hold alike, and do alike with the runs on them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from sightline.errors import ConfigError
from sightline.exams.run import Run
from sightline.models import is_blind
from sightline.stats import Interval


class Plain(Protocol):
    """Something that tells itself in plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""


@dataclass(frozen=True, kw_only=True)
class Seat(ABC):
    """One run with everything computed from its records; each exam adds its own.

    Attributes:
        label: How the report calls it; unique in the card.
        name: How the run calls the model.
        spec: What the user asked for.
        blind: A built-in rule or prior that never looks at a picture.
        status: ``finished``, ``stopped``, ``running`` or ``failed``.
        done: Items answered, of `items`.
        told: What the model says of itself.
        versions: Software it was made with.
    """

    asked: ClassVar[tuple[str, ...]] = ()
    """Fields of an exam's own that say how it was sat; JSON has them after `blind`."""

    label: str
    name: str
    spec: str
    blind: bool
    status: str
    done: int
    items: int
    told: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def finished(self) -> bool:
        """Whether every item was answered."""
        return self.status == "finished"

    @property
    @abstractmethod
    def rank(self) -> tuple[float, ...]:
        """What puts one run before another."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        keys = ("label", "name", "spec", "blind", *self.asked, "status", "done", "items")
        plain = {key: getattr(self, key) for key in keys}
        return plain | {"model": dict(self.told), "versions": dict(self.versions)}


ScoresT = TypeVar("ScoresT", bound=Plain)


@dataclass(frozen=True, kw_only=True)
class AccuracySeat(Seat, Generic[ScoresT]):
    """A run that is judged by how much of it is right.

    Attributes:
        scores: Of what was answered; None where nothing was.
    """

    scores: ScoresT | None = None

    @abstractmethod
    def accuracy(self, name: str = "all") -> Interval | None:
        """What share is right, of all or of a part; None where nothing was answered."""

    @property
    def rank(self) -> tuple[float, ...]:
        """What puts one run before another: finished, then accuracy."""
        found = self.accuracy()
        return self.finished, found.value if found is not None and math.isfinite(found.value) else -math.inf

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return super().to_dict() | {"scores": None if self.scores is None else self.scores.to_dict()}


SeatT = TypeVar("SeatT", bound=Seat)


@dataclass(frozen=True, kw_only=True)
class Card(ABC, Generic[SeatT]):
    """All runs side by side, one of them looked at closely.

    Attributes:
        made: When, ISO 8601 in UTC.
        resamples: Behind every interval; `seed` of the resampling.
        sittings: Every run, best first.
        focus: Label of the run looked at closely.
        warnings: What a reader must know before trusting the figures.
    """

    made: str
    resamples: int
    seed: int
    sittings: tuple[SeatT, ...]
    focus: str
    warnings: tuple[str, ...]

    @property
    def focused(self) -> SeatT:
        """The run looked at closely."""
        return next(s for s in self.sittings if s.label == self.focus)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""

    @abstractmethod
    def to_markdown(self) -> str:
        """Headline and tables as Markdown."""


def seated(run: Run, label: str) -> dict[str, Any]:
    """The fields of a `Seat` that a run's manifest tells: all but `done`."""
    manifest, spec = run.manifest, str(run.manifest["identity"]["model"])
    return {
        "label": label,
        "name": run.name,
        "spec": spec,
        "blind": is_blind(spec),
        "status": run.status,
        "items": int(manifest.get("items", 0)),
        "told": dict(manifest.get("model", {})),
        "versions": dict(manifest.get("versions", {})),
    }


def focused(made: Sequence[SeatT], wanted: str | None, usable: Callable[[SeatT], bool]) -> SeatT:
    """The run to look at closely: the one wanted, else the best that is not blind, else the best.

    Args:
        made: All runs.
        wanted: Label, name or spec; None for whichever is best.
        usable: Whether there is something to look at; others come last.

    Raises:
        ConfigError: No run is called that.
    """
    if wanted is None:
        return max(made, key=lambda s: (usable(s), not s.blind, s.rank))
    called = [s for s in made if wanted in (s.label, s.name, s.spec)]
    if not called:
        raise ConfigError(f"no run of {wanted!r} to look at closely; there are {', '.join(s.label for s in made)}")
    return max(called, key=lambda s: (usable(s), s.rank))


def beside(card: Card[Any]) -> str:
    """What other runs a card holds; empty where there are none."""
    others = [s for s in card.sittings if s.label != card.focus]
    blind = sum(s.blind for s in others)
    counts = [
        (len(others) - blind, "another model", "other models"),
        (blind, "a blind baseline", "blind baselines"),
    ]
    return " and ".join(f"{n} {many}" if n > 1 else one for n, one, many in counts if n)
