"""A person who tells the truth: answers kept, taken back, taken up again; marks; contradictions."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from exams.turing.people.people_toy import WORDS, annotated, photo, session, source, typed
from sightline.errors import ConfigError, DataError, PictureError
from sightline.exams.turing.people.answers import PersonAnswers, answered_streams
from sightline.exams.turing.people.consistency import contradictions
from sightline.exams.turing.people.operator import PersonOperator, operator_choice
from sightline.exams.turing.people.session import Mark, frame_for_person
from sightline.exams.turing.people.terminal import ask_in_terminal, pixel_mark
from sightline.exams.turing.stream.operators import FromFile
from sightline.exams.turing.stream.steps import Step
from sightline.exams.turing.vocabulary.questions import Box, Label, Question, Truth
from sightline.scenes import View

YES, NO, OPEN = Truth.YES, Truth.NO, Truth.AMBIGUOUS


def test_answers_are_kept_and_taken_back(tmp_path: Path) -> None:
    asked = session(tmp_path)
    assert asked.undo() is None
    for truth in (NO, OPEN, NO):
        asked.answer(truth)
    assert [row["answer"] for row in asked.answers.rows()] == ["no", "ambiguous", "no"]
    taken = asked.undo()
    assert taken is not None
    assert asked.question is not None
    assert (taken.truth, asked.question.question) == (NO, taken.question)
    assert [row["answer"] for row in asked.answers.rows()] == ["no", "ambiguous"]
    again = session(tmp_path)
    assert again.resume() == 2
    assert again.question == asked.question


def test_a_session_that_was_interrupted_goes_on_with_its_marks(tmp_path: Path) -> None:
    first = session(tmp_path)
    box = (0.1, 0.2, 0.3, 0.4)
    while not any(step.label for step in first.engine.stream().steps):
        first.answer(YES, Mark(box=box))
    second = session(tmp_path)
    second.resume()
    assert second.engine.stream() == first.engine.stream()
    assert [step.box for step in second.engine.stream().steps if step.label] == [box]


def test_seeds_and_streams_are_kept_apart_in_one_file(tmp_path: Path) -> None:
    for seed, stream, truth in ((0, 0, YES), (0, 1, NO), (3, 0, OPEN)):
        session(tmp_path, seed=seed, stream=stream).answer(truth)
    for seed, stream, truth in ((0, 0, YES), (0, 1, NO), (3, 0, OPEN)):
        again = session(tmp_path, seed=seed, stream=stream)
        assert again.resume() == 1
        assert again.engine.stream().steps[0].truth is truth
    assert session(tmp_path, seed=4).resume() == 0
    assert answered_streams(tmp_path / "a.jsonl") == (("p", 0), ("p", 1))
    with pytest.raises(DataError, match="no line about this scene, stream 7, seed 9"):
        FromFile(tmp_path / "a.jsonl", "p", WORDS, stream=7, seed=9)


def test_undo_leaves_lines_about_others_alone(tmp_path: Path) -> None:
    other = {"scene_id": "q", "question": {}, "answer": "yes"}
    (tmp_path / "a.jsonl").write_text(json.dumps(other) + "\n")
    asked = session(tmp_path)
    asked.answer(NO)
    session(tmp_path, seed=1).answer(NO)
    asked.undo()
    assert [(row["scene_id"], row.get("seed")) for row in asked.answers.rows()] == [("q", None), ("p", 1)]


def test_answers_of_another_stream_are_refused(tmp_path: Path) -> None:
    asked = session(tmp_path)
    asked.answer(NO)
    asked.answer(NO)
    rows = asked.answers.rows()[1:]
    asked.answers.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="another stream"):
        session(tmp_path).resume()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"box": [0, 0, 2, 1]}, "row 1, box: not a box"),  # outside the picture
        ({"box": "here"}, "row 1, box: not a box"),  # no numbers
        ({"box": [0.5, 0, 0.5, 1]}, "row 1, box: not a box"),  # empty
        ({"answer": "perhaps"}, "row 1, answer: not an answer"),  # no answer
    ],
)
def test_a_damaged_file_of_answers_is_refused(tmp_path: Path, row: dict[str, object], message: str) -> None:
    session(tmp_path).answer(YES)
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(json.loads(file.read_text()) | row) + "\n")
    with pytest.raises(DataError, match=message):
        session(tmp_path).resume()


def middle(box: Box, size: tuple[float, float]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2 / size[0], (box[1] + box[3]) / 2 / size[1]


def test_a_click_means_the_smallest_object_of_the_type_there(tmp_path: Path) -> None:
    asked = session(tmp_path, annotated())
    assert asked.by_click
    for o in asked.frame.objects:
        assert o.box is not None
        question = Question("unique", o.category)
        name, _ = asked.locate(question, Mark(point=middle(o.box, asked.frame.size)))
        meant = asked.frame.find(name)
        assert meant is not None
        assert meant.box is not None
        assert (meant.category, meant.box[2] - meant.box[0] <= o.box[2] - o.box[0] + 1e-9) == (o.category, True)
        whole = tuple(v / s for v, s in zip(o.box, asked.frame.size * 2, strict=True))
        assert asked.locate(question, Mark(box=whole))[0] == o.id  # type: ignore[arg-type]
    assert asked.locate(Question("unique", "ball"), Mark(box=(0.97, 0.97, 0.99, 0.99)))[0] is None
    with pytest.raises(ConfigError, match="no annotated ball there: draw a box"):
        asked.locate(Question("unique", "ball"), Mark(point=(0.999, 0.999)))
    with pytest.raises(ConfigError, match="a point on the object or a box"):
        asked.locate(Question("unique", "ball"), Mark())
    bare = session(tmp_path)
    assert not bare.by_click
    with pytest.raises(ConfigError, match="nothing is annotated"):
        bare.locate(Question("unique", "ball"), Mark(point=(0.5, 0.5)))


def step(number: int, question: Question, truth: Truth, box: Box | None = None, thing: str | None = None) -> Step:
    label = Label(question.type, 1) if question.labels_if(truth is YES) else None
    return Step(number, question, truth=truth, label=label, box=box, object_id=thing)


BALL, LEFT, RIGHT = (Question("exist", "ball", region=r) for r in ("image", "left", "right"))
ONLY, ONLY_LEFT = Question("unique", "ball"), Question("unique", "ball", region="left")
RED = Question("exist", "ball", ("red",))
IS_RED, IS_BLUE = (Question("attribute", attributes=(c,), subject=Label("ball", 1)) for c in ("red", "blue"))


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], ""),  # nothing said
        ([step(1, BALL, YES), step(2, LEFT, NO)], ""),  # it is on the right
        ([step(1, BALL, YES), step(2, LEFT, NO), step(3, RIGHT, NO)], "answer 1 says one is there, answers 2, 3"),
        ([step(1, LEFT, NO), step(2, RIGHT, NO), step(3, BALL, YES)], "answer 3 says one is there"),  # turned round
        ([step(1, RED, YES), step(2, LEFT, NO), step(3, RIGHT, NO)], "answer 1 says"),  # a red one is one
        ([step(1, BALL, YES), step(2, LEFT, NO), step(3, RIGHT, OPEN)], ""),  # not decided
        ([step(1, BALL, NO), step(2, LEFT, YES)], "answer 1 that there is none"),  # none at all, but one there
        (
            [step(1, ONLY, YES), step(2, IS_RED, YES), step(3, IS_BLUE, YES)],
            "no to question 2 follows from the other",
        ),
        ([step(1, ONLY, YES), step(2, IS_RED, YES), step(3, IS_BLUE, NO)], ""),  # one colour
        ([step(1, ONLY_LEFT, YES, (0.6, 0, 0.9, 1))], "outside the region that question 1 asks about"),
        ([step(1, ONLY_LEFT, YES, (0.4, 0, 0.9, 1))], ""),  # reaches into it
        ([step(1, LEFT, NO), step(2, ONLY, YES, (0.1, 0, 0.4, 1))], "where answer 1 says there is none"),
        ([step(1, LEFT, NO), step(2, ONLY, YES, (0.4, 0, 0.9, 1))], ""),  # may be seen on the right alone
        ([step(1, RED, NO), step(2, ONLY, YES, (0.1, 0, 0.4, 1))], ""),  # it is not red
    ],
)
def test_contradictions_are_told(steps: list[Step], told: str) -> None:
    reasons = contradictions(steps, WORDS)
    assert told in "; ".join(reasons)
    assert bool(reasons) is bool(told)


def test_an_object_has_one_label(tmp_path: Path) -> None:
    first = step(1, ONLY, YES, (0, 0, 0.5, 1), "7")
    again = replace(step(2, ONLY_LEFT, YES, (0, 0, 0.5, 1), "7"), label=Label("ball", 2))
    assert "labelled ball 1" in contradictions([first, again], WORDS)[0]


def test_a_contradiction_is_told_once(tmp_path: Path) -> None:
    steps = [step(1, BALL, NO), step(2, LEFT, YES), step(3, Question("exist", "cube"), YES)]
    assert contradictions(steps[:2], WORDS)
    assert not contradictions(steps, WORDS)


def test_a_search_leaves_labelled_objects_out(tmp_path: Path) -> None:
    told = []
    for seed in range(12):
        asked = session(tmp_path, seed=seed)
        while asked.question is not None:
            told.append((asked.question.question.kind, " ".join(asked.reminders())))
            asked.answer(YES if asked.marks(YES) or len(told) % 2 else NO)
    assert told[0][1] == "What is only partly visible there counts."
    assert any(" 1 does not count: it has a label." in note for _, note in told)
    assert not any(note for kind, note in told if kind in ("attribute", "relation"))


def test_a_person_in_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = session(tmp_path, annotated())
    picture = tmp_path / "a.png"
    stream = ask_in_terminal(asked, picture, typed("n", "?", "a", "u", "n", "q"))
    assert [s.truth for s in stream.steps] == [NO, NO]
    assert stream.halted == "operator"
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "please type one of y, n, a, u, q" in shown.err
    assert str(picture) in shown.err
    assert picture.exists()
    ask_in_terminal(session(tmp_path, annotated()), picture, typed())  # the terminal was closed
    assert "2 answers of an earlier session" in capsys.readouterr().err
    ask_in_terminal(session(tmp_path, annotated(), seed=9), picture, typed("u", "q"))
    assert "nothing to take back" in capsys.readouterr().err


def test_the_terminal_asks_where_a_labelled_object_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = session(tmp_path)
    found: list[tuple[str, ...]] = [("y", "bad", "1 2", "900 900 1000 1000", "10 10 5 5", "0 0 200 200", "q"), ()]
    while asked.question is not None and not asked.marks(YES):
        asked.answer(YES)
    stream = ask_in_terminal(session(tmp_path), tmp_path / "a.png", typed(*found[0]))
    labelled = [s for s in stream.steps if s.label]
    assert len(labelled) == 1
    assert labelled[0].box is not None
    assert labelled[0].box[:2] == (0, 0)
    shown = capsys.readouterr().err
    for reason in ("two or four numbers", "nothing is annotated", "outside the picture", "upper left one"):
        assert reason in shown


def test_the_terminal_tells_a_contradiction_and_offers_undo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(20):  # until a question is met that labels something in one half
        asked = session(tmp_path, seed=seed)
        while asked.question is not None and not (asked.marks(YES) and asked.question.question.region != "image"):
            asked.answer(NO if asked.marks(YES) else YES)
        if asked.question is not None:
            break
    assert asked.question is not None
    region = WORDS.region(asked.question.question.region).box
    away = "700 0 750 400" if region[0] == 0 else "5 0 60 400"
    again = session(tmp_path, seed=seed)
    stream = ask_in_terminal(again, tmp_path / "a.png", typed("y", away, "u", "n", "q"))
    shown = capsys.readouterr().err
    assert "this contradicts what you said before" in shown
    assert stream.steps[asked.question.number - 1].truth is NO
    assert not any(s.label for s in stream.steps)


@pytest.mark.parametrize(
    ("numbers", "size", "mark"),
    [
        ([50, 20], (100, 80), Mark(point=(0.5, 0.25))),  # a point
        ([0, 0, 100, 80], (100, 80), Mark(box=(0, 0, 1, 1))),  # a box
        ([1], (100, 80), "two or four numbers"),
        ([101, 1], (100, 80), "outside the picture"),
        ([float("nan"), 1], (100, 80), "outside the picture"),
        ([9, 1, 3, 4], (100, 80), "upper left one"),
    ],
)
def test_marks_are_typed_in_pixels(numbers: list[float], size: tuple[int, int], mark: Mark | str) -> None:
    if isinstance(mark, Mark):
        assert pixel_mark(numbers, size) == mark
    else:
        with pytest.raises(ValueError, match=mark):
            pixel_mark(numbers, size)


def test_a_picture_nobody_can_see_is_told() -> None:
    def broken() -> None:
        raise PictureError("cut short", file="x.png")

    spoilt = replace(photo(), views=(View("0", load_image=broken),))  # type: ignore[arg-type]
    with pytest.raises(PictureError, match="cut short"):
        frame_for_person(spoilt, None)
    with pytest.raises(PictureError, match="neither a picture nor annotated objects"):
        frame_for_person(replace(photo(), views=(View("0", size=(4, 4)),)), None)
    assert frame_for_person(annotated(), None).image is None  # boxes will do


@pytest.mark.parametrize(
    ("text", "kind", "file"),
    [
        ("truth", "truth", None),
        ("terminal", "terminal", None),
        ("person", "terminal", None),  # what it was called before
        ("web", "web", None),
        ("file:a.jsonl", "file", "a.jsonl"),
        ("a.jsonl", "file", "a.jsonl"),  # as before
        ("file:web", "file", "web"),  # a file of any name
    ],
)
def test_operators_by_name(text: str, kind: str, file: str | None) -> None:
    choice = operator_choice(text)
    assert (choice.kind, None if choice.file is None else str(choice.file)) == (kind, file)


def test_a_person_operator_asks_whole_streams(tmp_path: Path) -> None:
    person = PersonOperator("terminal", tmp_path / "a.jsonl", read=typed("n", "n", "q"))
    stream = person(source().engine("p"), photo(), WORDS)
    assert [s.truth for s in stream.steps] == [NO, NO]
    kept = PersonAnswers(tmp_path / "a.jsonl", "p", WORDS)
    assert len(kept.rows()) == 2


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_said_is_taken_up_again(tmp_path: Path, seed: int) -> None:
    """Also by somebody who says anything, marks anywhere, and keeps what contradicts itself."""
    rng = random.Random(seed)
    asked = session(tmp_path, photo(f"p{seed}"), seed=seed)
    for _ in range(25):
        if asked.question is None:
            break
        x, y = rng.uniform(0, 0.8), rng.uniform(0, 0.8)
        asked.answer(rng.choice((YES, NO, OPEN)), Mark(box=(x, y, x + 0.15, y + 0.15)))
        if rng.random() < 0.15:
            asked.undo()
    again = session(tmp_path, photo(f"p{seed}"), seed=seed)
    assert again.resume() == len(asked.engine.stream().steps)
    assert again.engine.stream() == asked.engine.stream()
    assert again.question == asked.question
