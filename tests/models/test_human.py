"""A person who takes the exam: in the terminal or in a browser, gone on with where it stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exams.turing.people.people_toy import typed
from sightline.errors import ModelError
from sightline.exams.turing.conversation import RecordedReply
from sightline.exams.turing.people.form import RefusedError
from sightline.models import load
from sightline.models.adapters.human import ExamSitting, Human, notes_of
from sightline.scenes import View
from sightline.skills import Asked


def asked(text: str = "Is there a ball in the designated region?", **more: Any) -> Asked:
    values: dict[str, Any] = {
        "scene_id": "s",
        "view": View("0", load_image=lambda: np.zeros((40, 60, 3), np.uint8)),
        "question": {"type": "exist", "object_type": "ball", "text": text},
        "text": text,
        "long_text": text,
        "region": (0.0, 0.0, 0.5, 1.0),
        "labels": {},
        "history": (),
    }
    return Asked(**(values | more))


@pytest.fixture
def human(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Human]:
    monkeypatch.chdir(tmp_path)
    return lambda *lines: Human("anna", read=typed(*lines))


def test_a_person_answers_in_the_terminal(
    human: Callable[..., Human], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = human("y", "?", "n", "a", "q")
    replies = []
    for step, text in enumerate(("One?", "Two?", "Three?"), start=1):
        person.seek("s", 0, step)
        replies.append(person.answer(asked(text)))
        person.on_truth(asked(text), truth=True)
    assert replies == ["yes", "no", "abstain"]
    assert all(isinstance(reply, RecordedReply) and not reply.late for reply in replies)
    shown = capsys.readouterr().err
    assert "The designated region is outlined in red." in shown
    assert "(true: yes)" in shown
    assert "please type one of y, n, a, q" in shown
    assert (tmp_path / "human-anna.png").exists()
    rows = [json.loads(line) for line in (tmp_path / "human-anna.jsonl").read_text().splitlines()]
    assert [(row["step"], row["answer"]) for row in rows] == [(1, "yes"), (2, "no"), (3, "abstain")]
    person.seek("s", 0, 4)
    with pytest.raises(KeyboardInterrupt, match=r"kept in human-anna\.jsonl"):
        person.answer(asked("Four?"))


def test_what_was_answered_is_not_asked_again(human: Callable[..., Human]) -> None:
    first = human("y")
    first.seek("s", 0, 1)
    first.answer(asked("One?"))
    second = human("n")
    second.seek("s", 0, 1)
    assert second.answer(asked("One?")) == "yes"  # as before the interruption
    second.seek("s", 0, 1)
    assert second.answer(asked("Another?")) == "no"  # of another seed, say
    third = human()
    third.seek("s", 1, 1)
    with pytest.raises(KeyboardInterrupt):
        third.answer(asked("One?"))  # of another stream


def test_a_person_must_be_told_the_place(human: Callable[..., Human]) -> None:
    with pytest.raises(ModelError, match="nobody told"):
        human("y").answer(asked())


@pytest.mark.parametrize(
    ("action", "reply"),
    [
        ({"number": 3, "answer": "no"}, "no"),
        ({"number": 3, "answer": "abstain"}, "abstain"),
        ({"number": 3, "answer": "ambiguous"}, None),  # that is for operators
        ({"number": 2, "answer": "no"}, None),  # a page that shows an older question
        ({"number": 3, "undo": True}, None),  # an exam's answers stand
    ],
)
def test_the_sitting_of_an_exam(action: dict[str, Any], reply: str | None) -> None:
    sitting = ExamSitting(asked(), 3, [])
    assert sitting.state()["text"].startswith("Is there")
    assert sitting.picture()[:4] == b"\x89PNG"
    if reply is None:
        with pytest.raises(RefusedError):
            sitting.act(action)
    else:
        sitting.act(action)
    assert (sitting.reply, sitting.done) == (reply, reply is not None)


def test_a_person_in_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    person = load("human:name=bo,web=true")
    assert isinstance(person, Human)
    assert (person.name, person.path.name) == ("human bo", "human-bo.jsonl")
    assert person._form is not None
    replies: list[object] = []

    def take() -> None:
        person.seek("s", 0, 1)
        replies.append(person.answer(asked()))

    worker = threading.Thread(target=take)
    worker.start()
    while person._form._sitting is None or person._form._server is None:
        worker.join(0.01)
    person._form._ending = True  # there is no next question to wait for
    assert person._form.handle("POST", "act", {"number": 1, "answer": "yes"}).status == 200
    worker.join(5)
    person._form.close()
    assert replies == ["yes"]


def test_labels_are_explained() -> None:
    found = ({"type": "unique"}, "Is there a unique ball in the designated region?", True)
    question = {"type": "attribute", "subject": "ball 1"}
    labelled = asked(
        "Is ball 1 red?", question=question, region=None, labels={"ball 1": (0, 0, 0.5, 1)}, history=(found,)
    )
    assert notes_of(labelled)[0].startswith("Ball 1 is ")
    assert notes_of(labelled)[0].endswith("in the region outlined in red.")
