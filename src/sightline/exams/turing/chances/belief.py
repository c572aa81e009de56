"""How likely a "yes" is, given what was asked and answered before: the engine's side of unpredictability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Protocol

from sightline.exams.turing.words.questions import Question


class Chance(NamedTuple):
    """The share of yes among the images, objects or pairs that fit the history, and how many those are.

    `p_yes` is NaN where nothing fits.
    """

    p_yes: float
    support: int


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The paper's invariance assumptions, each of which may be given up.

    Attributes:
        forget_facts: Whether an object exists, or is unique, does not depend on attribute and relation answers.
        forget_elsewhere: Nor on existence and uniqueness answers about regions that do not meet its own, except
            those that labelled an object.
        independent_groups: An attribute depends only on known attributes of its own group.
        relations_alone: A relation does not depend on the attributes of the two objects, but for what its `given`
            names.
        independent_relations: A relation depends only on known relations of its own group between the same two.
        objects_pooled: Attributes are estimated over all training objects and relations over all training pairs
            (equation 3); given up, over the images that fit the whole history (equation 2).
        negatives: Known negative answers about an object or pair condition too, where support allows.
    """

    forget_facts: bool = True
    forget_elsewhere: bool = True
    independent_groups: bool = True
    relations_alone: bool = True
    independent_relations: bool = True
    objects_pooled: bool = True
    negatives: bool = True

    def to_dict(self) -> dict[str, bool]:
        """As JSON values."""
        return asdict(self)


NONE_MADE = Assumptions(False, False, False, False, False, False, True)
"""No assumption: everything by equation 2 over the images that fit the whole history."""


class Belief(Protocol):
    """What the training images say, given a history that grows."""

    def chances(self, questions: Sequence[Question]) -> list[Chance]:
        """The chance of a yes for each, given the history so far."""

    def learn(self, question: Question, answer: bool) -> None:
        """Add an answered question to the history."""
