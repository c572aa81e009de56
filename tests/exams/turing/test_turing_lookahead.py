"""What later lines tell of earlier answers."""

from __future__ import annotations

import math

import pytest

from exams.turing.people.people_toy import WORDS, source
from exams.turing.turing_toy import toy_data
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.stream.lookahead import guess_from_later, reading_ahead
from sightline.exams.turing.stream.steps import Step
from sightline.exams.turing.vocabulary.questions import Label, Question, Truth

BALL = Label("ball", 1)


def step(question: Question, *, label: Label | None = None) -> Step:
    return Step(1, question, truth=Truth.NO, label=label)


EXIST, LEFT = Question("exist", "ball"), Question("exist", "ball", ("red",), "left")
CUBE, ONLY = Question("exist", "cube"), Question("unique", "ball")
RED, BLUE = (Question("attribute", attributes=(c,), subject=BALL) for c in ("red", "blue"))
ROUGH = Question("attribute", attributes=("rough",), subject=BALL)


@pytest.mark.parametrize(
    ("questions", "guess"),
    [
        ([step(EXIST)], None),  # the last line
        ([step(EXIST), step(LEFT)], True),  # the search stays there
        ([step(EXIST), step(CUBE)], False),  # it goes elsewhere
        ([step(LEFT), step(EXIST)], False),  # and beyond
        ([step(ONLY, label=BALL), step(RED)], True),  # it has a name
        ([step(ONLY), step(CUBE)], False),
        ([step(RED), step(BLUE)], False),  # one colour only
        ([step(RED), step(ROUGH)], True),  # no other colour is asked for
        ([step(RED), step(CUBE)], None),
    ],
)
def test_guesses(questions: list[Step], guess: bool | None) -> None:
    assert guess_from_later(questions, 0, WORDS) is guess


def test_reading_ahead_is_worth_something() -> None:
    columns = annotate(toy_data(60, seed=3, split="test"), WORDS)
    streams = [source().stream(columns.image(i)) for i in range(60)]
    worth = reading_ahead(streams, WORDS)
    assert worth.questions == sum(len(stream.history) for stream in streams)
    assert 0.55 < worth.accuracy < 1
    assert worth.accuracy == pytest.approx(worth.told * worth.accuracy_told + (1 - worth.told) / 2)
    assert worth.accuracy_told > 0.7
    assert math.isnan(reading_ahead([], WORDS).accuracy)
