"""What became of a model's judgements in one scene, told in sentences: "1 left of 3, 4"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.scenes.labels import PREDICATES
from sightline.skills import UNKNOWN

Kind = Literal["false_positive", "false_negative", "unknown", "true_positive"]

KINDS: Final[dict[Kind, tuple[str, str]]] = {
    "false_positive": ("✗", "said, but not so"),
    "false_negative": ("○", "missed"),
    "unknown": ("?", "could not say"),
    "true_positive": ("✓", "rightly said"),
}
"""Kind → its mark and what it means, in the order shown: mistakes first. Rightly denied facts are not listed."""

PHRASES: Final[dict[str, str]] = {
    "left": "left of",
    "right": "right of",
    "front": "in front of",
    "behind": "behind",
    "contains": "contains",
    "supports": "supports",
    "can_contain": "can contain",
    "can_support": "can support",
}
"""Predicate → the words between subject and object."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """All judgements of one predicate in one scene.

    Attributes:
        predicate: As in `scenes.labels.PREDICATES`.
        pairs: Kind → (subject, object) numbers from 1, by subject and then object; every kind is there.
        asked: Judgements; `right` of them as the truth has it, rightly denied ones included.
    """

    predicate: str
    pairs: dict[Kind, tuple[tuple[int, int], ...]]
    asked: int
    right: int

    @property
    def wrong(self) -> int:
        """Judgements that are not right; "could not say" is one of them."""
        return self.asked - self.right

    def sentences(self, kind: Kind) -> tuple[str, ...]:
        """One sentence a subject.

        >>> Outcome("front", {"unknown": ((1, 2), (1, 4), (3, 1))}, 12, 9).sentences("unknown")
        ('1 in front of 2, 4', '3 in front of 1')
        """
        by_subject: dict[int, list[str]] = {}
        for subject, other in self.pairs[kind]:
            by_subject.setdefault(subject, []).append(str(other))
        return tuple(f"{s} {PHRASES[self.predicate]} {', '.join(others)}" for s, others in by_subject.items())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        listed: dict[str, Any] = {kind: [list(pair) for pair in found] for kind, found in self.pairs.items()}
        return {"asked": self.asked, "right": self.right, **listed}


def outcomes(truth: NDArray[np.bool_], answers: NDArray[np.int8]) -> tuple[Outcome, ...]:
    """Sort the judgements of one scene.

    Args:
        truth: (n, n, 8) whether [subject, object, predicate] holds.
        answers: (n, n, 8) a model's verdicts: 1, 0 or `UNKNOWN`. The diagonal is not looked at.

    Returns:
        One outcome a predicate, in their usual order.
    """
    return tuple(_outcomes(truth, answers))


def _outcomes(truth: NDArray[np.bool_], answers: NDArray[np.int8]) -> Iterator[Outcome]:
    n = len(truth)
    asked = ~np.eye(n, dtype=bool)
    for k, predicate in enumerate(PREDICATES):
        holds, said = truth[:, :, k], answers[:, :, k]
        found: dict[Kind, NDArray[np.bool_]] = {
            "false_positive": (said == 1) & ~holds,
            "false_negative": (said == 0) & holds,
            "unknown": said == UNKNOWN,
            "true_positive": (said == 1) & holds,
        }
        pairs = {kind: _pairs(mask & asked) for kind, mask in found.items()}
        yield Outcome(predicate, pairs, n * (n - 1), int(((said == holds) & asked).sum()))


def _pairs(mask: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    return tuple((int(i) + 1, int(j) + 1) for i, j in np.argwhere(mask))
