"""What the cards of all exams do alike with the runs they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from sightline.errors import ConfigError


class Seat(Protocol):
    """One run on a card: who sat, and how far it got."""

    @property
    def label(self) -> str:
        """How the card calls it."""

    @property
    def name(self) -> str:
        """How its run calls the model."""

    @property
    def spec(self) -> str:
        """What the user wrote."""

    @property
    def blind(self) -> bool:
        """Whether it never looks at a picture."""

    @property
    def rank(self) -> Any:
        """What puts one run before another."""


SeatT = TypeVar("SeatT", bound=Seat)


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


def beside(sittings: Sequence[Seat], focus: str) -> str:
    """What other runs a card holds; empty where there are none."""
    others = [s for s in sittings if s.label != focus]
    blind = sum(s.blind for s in others)
    counts = [
        (len(others) - blind, "another model", "other models"),
        (blind, "a blind baseline", "blind baselines"),
    ]
    return " and ".join(f"{n} {many}" if n > 1 else one for n, one, many in counts if n)
