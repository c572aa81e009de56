"""A stream: the questions asked about one image, with their true answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sightline.exams.turing.words.questions import History, Label, Question, Told, Truth


@dataclass(frozen=True, slots=True)
class Step:
    """One question of a stream.

    Attributes:
        number: From 1, ambiguous ones counted too.
        question: The question.
        p_yes: Chance of a yes as estimated before asking.
        support: Training images, objects or pairs that estimate rests on.
        truth: What the operator said. Ambiguous ones stand in the stream, but not in the history, and no model is
            asked them.
        label: The label a positive uniqueness question gave.
        object_id: Which object of the scene that is, where the operator knows.
        story: Number of the story line it belongs to, from 1: a new one begins where the search for an object does.
        among: Unpredictable questions it was drawn from.
    """

    number: int
    question: Question
    p_yes: float
    support: int
    truth: Truth
    label: Label | None = None
    object_id: str | None = None
    story: int = 1
    among: int = 0


@dataclass(frozen=True, slots=True)
class Stream:
    """All questions about one image.

    Attributes:
        scene_id: The image.
        seed: Of the random choices.
        number: Which stream of that image, from 0.
        steps: In order.
        halted: Why it ended: ``exhausted`` (nothing unpredictable left), ``limit`` or ``operator``.
    """

    scene_id: str
    seed: int
    number: int
    steps: tuple[Step, ...]
    halted: str

    @property
    def history(self) -> History:
        """Questions and answers without the ambiguous ones."""
        return tuple(Told(s.question, s.truth is Truth.YES) for s in self.steps if s.truth is not Truth.AMBIGUOUS)


class Operator(Protocol):
    """Tells the truth about one image: answers a question, or rejects it as ambiguous."""

    def answer(self, question: Question, history: History) -> tuple[Truth, str | None]:
        """The truth, and for a positive uniqueness question the id of the object it is about, if known."""
