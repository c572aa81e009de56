"""Cards that show what was asked: some of the worst, some typical, some perfect, or those asked for by id."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sightline.plain import plain
from sightline.report.choosing import Chosen
from sightline.report.seats import AccuracySeat, Card, Plain

SeatT = TypeVar("SeatT", bound=AccuracySeat[Any])
ShownT = TypeVar("ShownT", bound=Plain)

NAMED: Final = "Chosen"
"""Title of what is shown because it was asked for by id."""


@dataclass(frozen=True)
class Gallery(Generic[ShownT]):
    """What is shown for one reason, with the reason in words."""

    title: str
    words: str
    exhibits: tuple[ShownT, ...]


def hung(
    chosen: Chosen, reasons: Mapping[str, str], exhibit: Callable[[str], ShownT]
) -> tuple[Gallery[ShownT], ...]:
    """A gallery for each reason that something was chosen for.

    Args:
        chosen: Ids of what to show.
        reasons: Titles of the worst, the typical, the perfect and those asked for by id → the reason in words.
        exhibit: Id → what is shown.

    >>> reasons = {"W": "", "T": "", "P": "", "N": ""}
    >>> [g.title for g in hung(Chosen(("a",), (), ("b",)), reasons, lambda name: None)]
    ['W', 'P']
    """
    picked = (chosen.worst, chosen.typical, chosen.perfect, chosen.named)
    return tuple(
        Gallery(title, words, tuple(map(exhibit, ids)))
        for (title, words), ids in zip(reasons.items(), picked, strict=True)
        if ids
    )


@dataclass(frozen=True, kw_only=True)
class GalleryCard(Card[SeatT], ABC, Generic[SeatT, ShownT]):
    """All runs side by side, and some of what the one in focus was asked.

    Attributes:
        data: Name of the dataset's folder; `source` where it came from, `fingerprint` of its content.
        split: The split that was sat; empty for all of it.
        galleries: The worst, typical and perfect of the run in focus, or what was asked for by id.
    """

    data: str
    source: str
    fingerprint: str
    split: str
    galleries: tuple[Gallery[ShownT], ...]

    @property
    def scored(self) -> tuple[SeatT, ...]:
        """Runs that answered something."""
        return tuple(s for s in self.sittings if s.scores is not None)

    @property
    def blind(self) -> tuple[SeatT, ...]:
        """Baselines that answered something."""
        return tuple(s for s in self.scored if s.blind)

    @property
    def named(self) -> tuple[ShownT, ...]:
        """What is shown because it was asked for by id."""
        return next((gallery.exhibits for gallery in self.galleries if gallery.title == NAMED), ())

    def plain(
        self, exam: str, shown: str, *, how: Mapping[str, Any] | None = None, found: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null.

        Args:
            exam: Its name.
            shown: What the galleries show, as the document calls it.
            how: What the card tells of the exam, before the runs.
            found: What it tells beside the runs, after them.
        """
        values: dict[str, Any] = {"exam": exam}
        values |= {key: getattr(self, key) for key in ("made", "resamples", "seed", "focus", "warnings")}
        values["data"] = {
            "name": self.data,
            "source": self.source,
            "fingerprint": self.fingerprint,
            "split": self.split or None,
        }
        values |= {**(how or {}), "runs": [sitting.to_dict() for sitting in self.sittings], **(found or {})}
        values[shown] = {g.title.lower(): [one.to_dict() for one in g.exhibits] for g in self.galleries}
        document: dict[str, Any] = plain(values)
        return document
