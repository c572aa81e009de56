"""`sightline.ask`: one image asked about from Python."""

from __future__ import annotations

from typing import Any

import pytest

import sightline
from exams.turing.turing_toy import toy_data, toy_vocabulary
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.ask import AskedImage, ask
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.exam import TuringExam
from sightline.exams.turing.stream.engine import Engine
from sightline.exams.turing.stream.operators import StoppedError
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.vocabulary.questions import History, Question, Truth
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.scenes import Scene

VOCABULARY = toy_vocabulary()
TRAIN, TEST = toy_data(150, seed=1), toy_data(6, seed=2)
IMAGE = next(iter(TEST)).id


def asked(**options: Any) -> AskedImage:
    return ask(TEST, IMAGE, **{"train": TRAIN, "vocabulary": VOCABULARY, "min_support": 10} | options)


def test_it_asks_what_the_exam_asks() -> None:
    """One assembly for both: the same stream, question by question."""
    exam = TuringExam(train=TRAIN, vocabulary=VOCABULARY, min_support=10, streams=2, seed=5)
    for number in (0, 1):
        assert asked(seed=5, stream=number).stream == exam.source(TEST).stream(IMAGE, number)
    assert sightline.ask is ask


def test_it_prints_itself() -> None:
    found = asked(questions=4)
    lines = str(found).splitlines()
    assert lines[0].startswith(f"{IMAGE}: vocabulary")
    assert "learned from 150 images" in lines[0]
    assert lines[-1] == "4 questions; ended: as many questions as were wanted"
    assert "designated" not in str(found)  # regions go by their names
    for row in found.rows():
        assert f"{row['step']}." in str(found)
        assert row["answer"] in ("yes", "no", "ambiguous")
    assert "<table" in found._repr_html_()


def test_without_training_data_the_others_teach() -> None:
    found = ask(TRAIN, next(iter(TRAIN)).id, vocabulary=VOCABULARY, min_support=10, questions=3)
    assert found.learned == len(TRAIN) - 1


def test_a_corpus_will_do() -> None:
    corpus = Corpus.build(annotate(TRAIN, VOCABULARY), VOCABULARY)
    found = ask(TEST, IMAGE, corpus=corpus, min_support=10)
    assert found.stream == asked().stream
    with pytest.raises(ConfigError, match="brings its training images and vocabulary"):
        asked(corpus=corpus)


def test_operators_of_ones_own() -> None:
    class Curt:
        def answer(self, question: Question, history: History) -> tuple[Truth, str | None]:
            if len(history) == 1:
                raise StoppedError("enough")
            return Truth.YES, None

    notes: list[str] = []
    curt = asked(operator=Curt(), on_note=notes.append)
    assert ([step.truth for step in curt.stream.steps], curt.stream.halted) == ([Truth.YES], "operator")
    assert notes == ["enough"]

    def interview(engine: Engine, scene: Scene, vocabulary: Vocabulary) -> Stream:
        assert (scene.id, vocabulary) == (IMAGE, VOCABULARY)
        engine.take(Truth.NO)
        engine.undo()
        engine.take(Truth.YES)
        return engine.stream()

    assert [step.truth for step in asked(operator=interview).stream.steps] == [Truth.YES]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"epsilon": 0.7}, ConfigError, "epsilon must lie in"),
        ({"min_support": 0}, ConfigError, "min_support must be at least 1"),
        ({"train_split": "winter"}, ConfigError, "no split 'winter'"),
        ({"operator": "gone.jsonl"}, DataError, "gone.jsonl"),
        ({"vocabulary": "urbn"}, ConfigError, "did you mean 'urban'"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        asked(**options)
    with pytest.raises(DataError, match="no such image"):
        ask(TEST, "nowhere", train=TRAIN)
