"""A proctor: one question at a time, the same until it is answered, timed, logged, gone on with after a kill."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from exams.turing.people.people_toy import WORDS, source
from exams.turing.turing_toy import toy_data
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.conversation import LATE, TimedModel, ask_model
from sightline.exams.turing.people.proctor import Proctor, serve_lines
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.stream.written import read_key, read_test, write_test
from sightline.exams.turing.vocabulary.questions import Truth
from sightline.models.adapters.answers import TuringAnswers
from sightline.scenes import View
from sightline.store import Dataset, Tables


class Clock:
    """Time that passes when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A test of two images with a picture each, in ``t``, its key beside it."""
    columns = annotate(toy_data(40, seed=2, split="test"), WORDS)
    chosen = [i for i in range(40) if len(columns.image(i).objects) >= 3][:2]
    streams = [replace(source(questions=6).stream(columns.image(i)), scene_id=f"s{i}") for i in chosen]
    for i in chosen:
        Image.new("RGB", (8, 6), (i, 9, 9)).save(tmp_path / f"{i}.png")
    rows = {"scene_id": [s.scene_id for s in streams], "view_id": ["0"] * 2, "image": [f"{i}.png" for i in chosen]}
    data = Dataset.from_tables(Tables.build(views=pl.DataFrame(rows)), tmp_path)
    about = {"deadline": 5.0, "withhold": False}
    key = tmp_path / "key.jsonl"
    write_test(tmp_path / "t", streams, data, WORDS, source().training, key=key, about=about)  # type: ignore[arg-type]
    return tmp_path


def proctor(folder: Path, clock: Clock | None = None, **how: Any) -> Proctor:
    return Proctor(folder / "t", folder / "key.jsonl", folder / "log.jsonl", clock=clock or Clock(), **how)


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_a_client_is_put_one_question_at_a_time(written: Path) -> None:
    put = proctor(written)
    assert put.info() == {"test": put.test.id, "questions": 12, "answered": 0, "deadline": 5.0, "tells_truth": True}
    steps = [step for stream in read_key(written / "key.jsonl", put.test) for step in stream.steps]
    truths, seen = [step.truth for step in steps if step.truth is not Truth.AMBIGUOUS], []  # those are not put
    for number, truth in enumerate(truths, start=1):
        asked = put.next()
        assert asked == put.next()  # asked twice: the same question
        assert (asked["number"], asked["done"]) == (number, False)
        seen.append(asked["id"])
        told = put.answer({"id": asked["id"], "answer": "Yes."})
        assert truth is not None
        assert told == {"status": "accepted", "answer": "yes", "truth": truth.value, "done": number == len(truths)}
    assert put.next() == {"done": True, "questions": 12}
    assert put.finished
    assert len(set(seen)) == 12
    said = json.dumps([asked, seen])
    assert not any(name in said for name in (put.test.id, 'stream":', 'step":'))
    assert [row["number"] for row in rows(written)] == [*range(1, 13)]
    put.close()


@pytest.mark.parametrize(
    ("body", "status", "http"),
    [
        ({"id": "{now}", "answer": "no"}, "accepted", 200),
        ({"id": "{now}", "answer": True}, "accepted", 200),  # a bool will do
        ({"id": "{now}", "answer": "well"}, "accepted", 200),  # counted as unparsed
        ({"id": "{old}", "answer": "yes"}, "repeated", 200),  # the response was lost
        ({"id": "{old}", "answer": "no"}, "answered", 409),  # changed its mind
        ({"id": "{later}", "answer": "no"}, "out_of_turn", 409),  # not handed out yet
        ({"id": "guess", "answer": "no"}, "unknown", 404),
        ({"id": "\u00e4", "answer": "no"}, "unknown", 404),
        ({"id": "{now}"}, "malformed", 400),
        ({"id": "{now}", "answer": 1}, "malformed", 400),
        ({"id": 7, "answer": "no"}, "malformed", 400),
        ({}, "malformed", 400),
    ],
)
def test_what_becomes_of_an_answer(written: Path, body: dict[str, Any], status: str, http: int) -> None:
    put = proctor(written)
    old = put.next()["id"]
    put.answer({"id": old, "answer": "yes"})
    names = {"{old}": old, "{now}": put.next()["id"], "{later}": put._drawn("question", 3)}
    reply = put.handle("POST", "answer", {k: names.get(v, v) if isinstance(v, str) else v for k, v in body.items()})
    assert (reply.status, json.loads(reply.body)["status"]) == (http, status)
    assert put.info()["answered"] == (2 if status == "accepted" else 1)
    put.close()


def test_late_answers_are_late(written: Path) -> None:
    clock = Clock()
    put = proctor(written, clock)
    first = put.next()
    assert first["seconds_left"] == 5.0
    clock.now += 4.9
    assert put.next()["seconds_left"] == pytest.approx(0.1)  # asking again does not stop the clock
    assert put.answer({"id": first["id"], "answer": "yes"})["status"] == "accepted"
    second = put.next()
    clock.now += 5.1
    assert put.answer({"id": second["id"], "answer": "yes"})["status"] == "late"
    third = put.next()
    clock.now += 60
    fourth = put.next()  # never answered: closed as late
    assert fourth["number"] == 4
    assert put.answer({"id": third["id"], "answer": "no"})["status"] == "repeated"
    assert [row["answer"] for row in rows(written)] == ["yes", LATE, LATE]
    assert [row["seconds"] for row in rows(written)] == [4.9, 5.1, 60.0]
    put.close()


def test_a_killed_proctor_goes_on(written: Path) -> None:
    clock = Clock()
    put = proctor(written, clock)
    for word in ("yes", "no"):
        put.answer({"id": put.next()["id"], "answer": word})
    out = put.next()
    with pytest.raises(ConfigError, match="another proctor writes this log"):
        proctor(written)
    put.close()  # what the system does to a process that is killed
    with (written / "log.jsonl").open("ab") as log:
        log.write(b'{"test": "cut sho')
    clock.now += 3
    again = proctor(written, clock)
    assert again.info()["answered"] == 2
    assert again.next() == out | {"seconds_left": 2.0}  # the clock went on
    assert again.answer({"id": out["id"], "answer": "no"})["status"] == "accepted"
    assert [row["number"] for row in rows(written)] == [1, 2, 3]
    again.close()


def test_pictures_are_of_questions_handed_out(written: Path) -> None:
    put = proctor(written)
    assert put.picture(put._drawn("image", put._questions[0].stream.scene_id)) is None  # nothing is out yet
    asked = put.next()
    reply = put.handle("GET", f"picture/{asked['image']}", {})
    assert (reply.status, reply.kind, reply.body[:4]) == (200, "image/png", b"\x89PNG")
    later = put._drawn("image", put._questions[-1].stream.scene_id)
    for name in (later, "../test.json", "000000.png", ""):
        assert put.handle("GET", f"picture/{name}", {}).status == 404
    put.close()


def test_truth_is_told_only_if_the_test_says_so(written: Path) -> None:
    marker = written / "t" / "test.json"
    marker.write_text(marker.read_text().replace('"withhold": false', '"withhold": true'))
    put = proctor(written)
    assert "truth" not in put.answer({"id": put.next()["id"], "answer": "yes"})
    put.close()


def test_lines_of_json_do_as_well(written: Path) -> None:
    put, told = proctor(written, deadline=9.0), list[str]()

    def client() -> Any:
        yield json.dumps({"get": "info"})
        yield "no JSON\n"
        yield "\n"
        yield json.dumps({"get": "lunch"})
        while True:
            yield json.dumps({"get": "next"})
            asked = json.loads(told[-1])
            if asked["done"]:
                return
            if asked["number"] == 1:
                yield json.dumps({"get": "picture", "image": asked["image"]})
                yield json.dumps({"get": "picture", "image": "other"})
            yield json.dumps({"id": asked["id"], "answer": "no"})

    serve_lines(put, client(), told.append)
    replies = [json.loads(line) for line in told]
    assert (replies[0]["deadline"], replies[1]["status"], replies[2]["status"]) == (9.0, "malformed", "malformed")
    assert base64.b64decode(replies[4]["png"])[:4] == b"\x89PNG"
    assert replies[5]["status"] == "unknown"
    assert replies[-1]["done"]
    assert put.finished
    put.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": "other"}, "row 1, test: the log of another test"),
        ({"step": 99}, "row 1, step: not the answer that is due here"),
        ({"number": 2}, "row 1, step: not the answer that is due here"),
        ({"answer": "perhaps"}, "row 1, answer: not an answer"),
    ],
)
def test_a_log_that_does_not_fit_is_refused(written: Path, change: dict[str, Any], message: str) -> None:
    put = proctor(written)
    put.answer({"id": put.next()["id"], "answer": "yes"})
    put.close()
    (written / "log.jsonl").write_text(json.dumps(rows(written)[0] | change) + "\n")
    with pytest.raises(DataError, match=message):
        proctor(written)
    (written / "log.jsonl").write_text("")
    state = written / "log.jsonl.state"
    state.write_text(state.read_text().replace('"test": "', '"test": "x'))
    with pytest.raises(DataError, match=r"log\.jsonl\.state, test: the log of another test"):
        proctor(written)
    state.write_text("{}")
    with pytest.raises(DataError, match="missing"):
        proctor(written)


@pytest.mark.parametrize(
    ("how", "message"),
    [({"deadline": -1.0}, "deadline must be positive"), ({"log": "t/log.jsonl"}, "inside the test's folder")],
)
def test_a_proctor_that_cannot_be(written: Path, how: dict[str, Any], message: str) -> None:
    log = written / how.pop("log", "log.jsonl")
    with pytest.raises(ConfigError, match=message):
        Proctor(written / "t", written / "key.jsonl", log, **how)


def test_the_log_is_scored_as_it_was_timed(written: Path) -> None:
    clock = Clock()
    put = proctor(written, clock)
    words = ["yes", "no", "what?", "late", *["abstain"] * 8]
    for word in words:
        asked = put.next()
        clock.now += 6 if word == "late" else 1.5
        put.answer({"id": asked["id"], "answer": word})
    put.close()
    model = TuringAnswers(written / "log.jsonl")
    view = View("0", load_image=lambda: np.zeros((6, 8, 3), np.uint8))
    marked: list[Stream] = [
        ask_model(stream, view, TimedModel(model), WORDS)
        for stream in read_key(written / "key.jsonl", read_test(written / "t"))
    ]
    steps = [step for stream in marked for step in stream.steps if step.truth is not Truth.AMBIGUOUS]
    assert [s.reply for s in steps] == ["yes", "no", "unparsed", LATE, *["abstain"] * 8]
    assert [s.seconds for s in steps] == [1.5, 1.5, 1.5, 6.0, *[1.5] * 8]
    first = read_key(written / "key.jsonl", read_test(written / "t"))[0]
    strict = ask_model(first, view, TimedModel(model, 1.0), WORDS)
    assert {s.reply for s in strict.steps if s.truth is not Truth.AMBIGUOUS} == {LATE}  # by its own deadline
