"""Who tells the truth: an annotation, or a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exams.turing.turing_cases import ask, random_case
from reference.turing_oracle import picture_of, truth, walked
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.estimate.estimator import Chance
from sightline.exams.turing.stream.operators import FromFile, GroundTruth, StoppedError
from sightline.exams.turing.stream.steps import steps_to_json
from sightline.exams.turing.vocabulary.english import say
from sightline.exams.turing.vocabulary.questions import Label, Question, Truth, question_to_json
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)

YES, NO, OPEN = Truth.YES, Truth.NO, Truth.AMBIGUOUS
WORDS = Vocabulary(
    "street",
    (ObjectType("person", ("person",), (Attribute("tall", "size", "tall", AttributeSource("flag")),)),),
    (RelationType("near", "near", ordered=False),),
    (Region("image", (0, 0, 1, 1)), Region("left", (0, 0, 0.5, 1))),
)
ANYBODY, LEFT = Question("exist", "person"), Question("exist", "person", region="left")
ONLY = Question("unique", "person")
TALL = Question("attribute", attributes=("tall",), subject=Label("person", 1))
FOUND = (ONLY, True)


@pytest.mark.parametrize("seed", range(40))
def test_the_annotation_answers_as_the_oracle(seed: int) -> None:
    case = random_case(seed, steps=6)
    image = next(
        (
            case.columns.image(i)
            for i in range(len(case.columns))
            if walked(picture_of(case.columns.image(i), case.vocabulary), case.history) is not None
        ),
        None,
    )
    if image is None:
        return
    operator, picture = GroundTruth(image, case.vocabulary), picture_of(image, case.vocabulary)
    for k, (question, said) in enumerate(case.history):
        labelled = walked(picture, case.history[:k])
        assert labelled is not None
        told, thing = operator.answer(question, case.history[:k])
        expected = truth(picture, question, labelled)
        assert (told is YES) is expected is said
        assert (thing in image.objects) is question.labels_if(said)


def test_the_annotation_refuses_a_history_of_another_image() -> None:
    case = random_case(1)
    empty = case.columns.image(int(np.argmin(np.diff(case.columns.starts))))
    assert len(empty.objects) == 0
    name = case.vocabulary.types[0].name
    with pytest.raises(DataError, match="does not bear out"):
        GroundTruth(empty, case.vocabulary).answer(Question("exist", name), ((Question("unique", name), True),))


def written(folder: Path, *rows: dict[str, Any] | str) -> Path:
    path = folder / "answers.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def row(question: Question | str, answer: object = "yes", **more: Any) -> dict[str, Any]:
    told = question if isinstance(question, str) else question_to_json(question, WORDS)
    return {"scene_id": "s", "question": told, "answer": answer, **more}


@pytest.mark.parametrize(
    ("rows", "question", "history", "expected"),
    [
        ([row(ANYBODY)], ANYBODY, (), (YES, None)),  # structured
        ([row(ANYBODY, " No")], ANYBODY, (), (NO, None)),  # spelled with care for nothing
        ([row(ANYBODY, "ambiguous")], ANYBODY, (), (OPEN, None)),  # rejected
        ([row(say(ANYBODY, WORDS))], ANYBODY, (), (YES, None)),  # in English
        ([row(say(LEFT, WORDS), region="left")], LEFT, (), (YES, None)),  # the region by name
        ([row(say(LEFT, WORDS), region=[0, 0, 0.5, 1])], LEFT, (), (YES, None)),  # the region by its box
        ([row(ONLY, object_id="p7")], ONLY, (), (YES, "p7")),  # the object is known
        ([row(TALL, "no")], TALL, (FOUND,), (NO, None)),  # of a labelled object
        ([row(ANYBODY)], ANYBODY, (FOUND,), (YES, None)),  # labels not told: whatever they are
        ([row(ANYBODY, labels=[]), row(ANYBODY, "no", labels=["person 1"])], ANYBODY, (), (YES, None)),
        ([row(ANYBODY, labels=[]), row(ANYBODY, "no", labels=["person 1"])], ANYBODY, (FOUND,), (NO, None)),
        ([row(ANYBODY), row(ANYBODY)], ANYBODY, (), (YES, None)),  # said twice
        (["", row(ANYBODY), {**row(ANYBODY, "no"), "scene_id": "t"}], ANYBODY, (), (YES, None)),  # other scenes
        ([row(ANYBODY, stream=0), row(ANYBODY, "no", stream=1)], ANYBODY, (), (YES, None)),  # another stream
        (
            [json.dumps(row(ANYBODY, note="\u2028"), ensure_ascii=False)],
            ANYBODY,
            (),
            (YES, None),
        ),  # no end of a line
    ],
)
def test_the_file_answers(
    tmp_path: Path,
    rows: list[Any],
    question: Question,
    history: tuple[tuple[Question, bool], ...],
    expected: tuple[Truth, str | None],
) -> None:
    assert FromFile(written(tmp_path, *rows), "s", WORDS, stream=0).answer(question, history) == expected


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(ANYBODY), "{"], r"answers\.jsonl, row 2: not JSON"),
        (["[]"], r"row 1: not an object"),
        ([{"question": 1}], r"row 1, scene_id: missing or no text"),
        ([row(ANYBODY, "maybe")], r"row 1, answer: not an answer .*expected yes, no or ambiguous, found 'maybe'"),
        ([row(ANYBODY, True)], r"row 1, answer: missing or no text"),
        ([row(ANYBODY), row(ANYBODY, "no")], r"row 2, answer: answered otherwise in row 1"),
        ([{"scene_id": "s", "answer": "yes"}], r"row 1, question: no question"),
        ([row("What is that?")], r"row 1, question: "),
        ([{**row(ANYBODY), "question": {"kind": 1}}], r"row 1, question: "),
        ([row(say(LEFT, WORDS), region="lefd")], r"row 1, question: unknown region 'lefd', did you mean 'left'"),
        ([row(say(LEFT, WORDS), region=[0, 0, 1])], r"row 1, question: not a designated region"),
        ([row(say(LEFT, WORDS))], r"row 1, question: .*region"),  # which?
        ([row(ANYBODY, labels="person 1")], r"row 1, labels: not labels"),
        ([row(ANYBODY, object_id=3)], r"row 1, object_id: missing or no text"),
        ([{**row(ANYBODY), "scene_id": "t"}], r"scene_id: no line about this scene \(expected s\)"),
    ],
)
def test_the_file_is_refused_with_the_place(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        FromFile(written(tmp_path, *rows), "s", WORDS)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        FromFile(tmp_path / "none.jsonl", "s", WORDS)


def test_a_question_the_file_lacks_raises_or_stops(tmp_path: Path) -> None:
    path = written(tmp_path, row(ANYBODY))
    with pytest.raises(DataError, match=r"no answer about scene s to 'Is there .*region\?'"):
        FromFile(path, "s", WORDS).answer(LEFT, ())
    with pytest.raises(StoppedError):
        FromFile(path, "s", WORDS, missing="stop").answer(LEFT, ())
    with pytest.raises(ConfigError, match="raise or stop"):
        FromFile(path, "s", WORDS, missing="ignore")  # type: ignore[arg-type]


class Open:
    """A estimator to which everything is open."""

    def chances(self, questions: list[Question]) -> list[Chance]:
        return [Chance(0.5, 100) for _ in questions]

    def learn(self, question: Question, answer: bool) -> None:
        pass


def test_a_stream_answered_once_can_be_made_again_from_its_file(tmp_path: Path) -> None:
    class Coin:
        def answer(
            self, question: Question, history: tuple[tuple[Question, bool], ...]
        ) -> tuple[Truth, str | None]:
            said = (YES, NO, OPEN, YES)[len(history) % 4 if question.kind != "exist" else 1]
            return said, "p" if said is YES and question.kind == "unique" else None

    first = ask(Open(), WORDS, Coin(), scene_id="s", seed=2)  # type: ignore[arg-type]
    assert any(step.label for step in first.steps)
    path = written(tmp_path, *({"scene_id": "s", **step} for step in steps_to_json(first, WORDS)))
    again = ask(Open(), WORDS, FromFile(path, "s", WORDS), scene_id="s", seed=2)  # type: ignore[arg-type]
    assert again == first
    short = written(tmp_path, *({"scene_id": "s", **step} for step in steps_to_json(first, WORDS)[:1]))
    cut = ask(Open(), WORDS, FromFile(short, "s", WORDS, missing="stop"), scene_id="s", seed=2)  # type: ignore[arg-type]
    assert (cut.halted, cut.steps) == ("operator", first.steps[:1])
