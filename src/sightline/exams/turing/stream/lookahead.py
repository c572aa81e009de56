"""What the later lines of a written test tell of the answer to an earlier one.

A stream goes on by its answers, so whoever may look at the lines below needs no picture for some of those above.
`reading_ahead` measures how far a reader comes who applies a few obvious rules; a proctor, who hands out one
question at a time, leaves nothing to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightline.exams.turing.stream.steps import Step, Stream
from sightline.exams.turing.vocabulary.questions import Question, Truth
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True)
class LookaheadWorth:
    """How well answers are guessed from later lines alone.

    Attributes:
        questions: All there are.
        told: Share of them of which a later line tells something.
        accuracy: Expected share of right answers, with a coin where nothing is told.
        accuracy_told: Share of right answers among those of which something is told; NaN where there is none.
    """

    questions: int
    told: float
    accuracy: float
    accuracy_told: float


def reading_ahead(streams: Sequence[Stream], vocabulary: Vocabulary) -> LookaheadWorth:
    """Measure what reading ahead is worth in these streams: 0.5 is a coin."""
    told = right = total = 0
    for stream in streams:
        asked = [step for step in stream.steps if step.decided]
        total += len(asked)
        for i, step in enumerate(asked):
            guess = guess_from_later(asked, i, vocabulary)
            told += guess is not None
            right += guess is not None and guess is (step.truth is Truth.YES)
    nothing = float("nan")
    return LookaheadWorth(
        total,
        told / total if total else nothing,
        (right + 0.5 * (total - told)) / total if total else nothing,
        right / told if told else nothing,
    )


def guess_from_later(asked: Sequence[Step], i: int, vocabulary: Vocabulary) -> bool | None:
    """The answer to question i that later ones speak for; None where they tell nothing.

    Only questions are looked at, and the labels that lines name; no answer is.
    """
    question, later = asked[i].question, [step.question for step in asked[i + 1 :]]
    if not later:
        return None
    if question.kind == "unique":
        return _speaks_of_new_label(asked, i)
    if question.kind == "exist":
        follows = later[0]
        inside = follows.instantiates and vocabulary.region(follows.region).within(
            vocabulary.region(question.region)
        )
        return inside and follows.type == question.type
    if question.kind == "attribute":
        return _attribute(question, later, vocabulary)
    return None


def _speaks_of_new_label(asked: Sequence[Step], i: int) -> bool | None:
    """Whether the object was labelled: the next line about a label, or the labels it lists, say so."""
    # Lines list the labels given before them (`labels`); which question gave one is what is asked here, so that
    # only their number counts: one more on the next line than on this.
    return asked[i].label is not None if i + 1 < len(asked) else None


def _attribute(question: Question, later: Sequence[Question], vocabulary: Vocabulary) -> bool | None:
    """No where a later line asks for the attribute again, or for another of its exclusive group; else yes."""
    assert question.subject is not None
    about = [q for q in later if q.kind == "attribute" and q.subject == question.subject]
    if not about:
        return None
    kind = vocabulary.kind(question.subject.type)
    groups = {vocabulary.attribute(kind.name, name).group for name in question.attributes} & kind.exclusive
    for other in about:
        if set(question.attributes) <= set(other.attributes):
            return False
        if any(vocabulary.attribute(kind.name, name).group in groups for name in other.attributes):
            return False
    return True if groups else None
