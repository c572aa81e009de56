"""Questions in structured form, and histories of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

from sightline.exams.turing.words.vocabulary import WHOLE

QuestionKind = Literal["exist", "unique", "attribute", "relation"]


class Label(NamedTuple):
    """A labelled object: numbered within its type, from 1, in the order of instantiation."""

    type: str
    number: int

    def __str__(self) -> str:
        return f"{self.type} {self.number}"


class Truth(Enum):
    """What an operator says of a question."""

    YES = "yes"
    NO = "no"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Question:
    """One yes–no question.

    ``exist`` and ``unique`` ask for objects of `type` with all `attributes`, partially visible in `region` and not
    labelled before; ``attribute`` asks whether labelled object `subject` has all `attributes`; ``relation`` whether
    `relation` holds of `subject` and `object`.

    Attributes:
        attributes: Names, in the vocabulary's order, each once.
    """

    kind: QuestionKind
    type: str = ""
    attributes: tuple[str, ...] = ()
    region: str = WHOLE
    subject: Label | None = None
    object: Label | None = None
    relation: str = ""

    @property
    def instantiates(self) -> bool:
        """Whether it searches for objects (rather than speaks of labelled ones)."""
        return self.kind in ("exist", "unique")


class Told(NamedTuple):
    """A question and its true answer."""

    question: Question
    answer: bool

    @property
    def labels(self) -> bool:
        """Whether it labelled an object: a uniqueness question answered yes."""
        return self.answer and self.question.kind == "unique"


History = tuple[Told, ...]


def labels_of(history: History) -> tuple[Label, ...]:
    """The labels given so far, in order.

    >>> one = Told(Question("unique", "person", region="left"), True)
    >>> [str(label) for label in labels_of((one, one))]
    ['person 1', 'person 2']
    """
    given: list[Label] = []
    for told in history:
        if told.labels:
            before = sum(label.type == told.question.type for label in given)
            given.append(Label(told.question.type, before + 1))
    return tuple(given)
