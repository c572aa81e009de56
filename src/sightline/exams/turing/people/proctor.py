"""A proctor: hands out a written test one question at a time, times the answers, and keeps a log to be scored.

The test is put stream by stream, step by step. Whoever takes it sees drawn ids, never numbers of streams and steps,
and the next question only once the one before is answered or late. Two files are kept: the log, a JSON line an
answer, and beside it (``LOG.state``) the secret of the ids and the question that is out. A proctor that was killed
goes on from them; the clock of the question that is out has gone on too.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from sightline.documents import parse_json, read_json_lines, read_json_object
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.conversation import LATE, REPLIES, check_deadline, quoted, read_reply
from sightline.exams.turing.people.server import HttpReply, json_reply
from sightline.exams.turing.stream.steps import Step, Stream
from sightline.exams.turing.stream.written import Place, WrittenTest, read_key, read_test
from sightline.exams.turing.vocabulary.english import say, say_long
from sightline.exams.turing.vocabulary.questions import Box, question_to_json, region_box
from sightline.files import atomic_write, open_locked, read_bytes, refuse_outside
from sightline.plain import plain
from sightline.skills import UNPARSED
from sightline.typed import typed

_STATUS: Final = {
    "accepted": 200,
    "late": 200,
    "repeated": 200,
    "malformed": 400,
    "unknown": 404,
    "answered": 409,
    "out_of_turn": 409,
}
"""What becomes of an answer → its HTTP status."""


_MOST_CHARACTERS: Final = 65_536


@dataclass(frozen=True)
class _Put:
    """A question of the test in the order they are put."""

    number: int
    stream: Stream
    step: Step
    labels: Mapping[str, Box | None]

    @property
    def place(self) -> Place:
        return self.stream.scene_id, self.stream.number, self.step.number


@dataclass
class _Progress:
    """What is kept beside the log."""

    test: str
    secret: str
    out: int = 0
    since: float = 0.0


class Proctor:
    """Puts a written test to one client; one that was begun in the same log goes on where it was.

    Args:
        test: Folder of the test.
        key: Its key.
        log: File of the answers, made if missing; held by this proctor until `close`.
        deadline: Seconds for an answer, in place of what the test says.
        clock: Seconds since the epoch.

    Raises:
        DataError: Test, key or log are damaged, or do not belong together.
        ConfigError: A deadline nobody could keep, or another proctor writes this log.
    """

    def __init__(
        self,
        test: str | Path,
        key: str | Path,
        log: str | Path,
        *,
        deadline: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.test, self.log, self._clock = read_test(test), Path(log), clock
        self._questions = [_Put(i, *put) for i, put in enumerate(_in_order(self.test, key), start=1)]
        said = self.test.about.get("deadline")
        self.deadline = float(said) if deadline is None and isinstance(said, int | float) else deadline
        check_deadline(self.deadline)
        self.tells = not self.test.about.get("withhold")
        if self.log.resolve().is_relative_to(self.test.folder.resolve()):
            raise ConfigError(f"the log {self.log} would lie inside the test's folder, and be handed out with it")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        # Two proctors of one log would put the same question to two clients.
        busy = f"{self.log}: another proctor writes this log"
        self._descriptor = open_locked(self.log, busy=busy, flags=os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            self._rows = list(self._read_log())
            self._state = self._read_state()
            self._keep()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the log."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def finished(self) -> bool:
        """Whether every question was answered or is late."""
        return len(self._rows) == len(self._questions)

    def info(self) -> dict[str, Any]:
        """The test, how many questions it has and how many are done, the deadline, and whether truth is told."""
        return {
            "test": self.test.id,
            "questions": len(self._questions),
            "answered": len(self._rows),
            "deadline": self.deadline,
            "tells_truth": self.tells,
        }

    def next(self) -> dict[str, Any]:
        """Hand out the question that is due: the same one until it is answered, or its deadline has passed.

        ``{"done": true}`` at the end.
        """
        if self._state.out and self._overdue():
            self._note("", LATE)
        if self.finished:
            return {"done": True, "questions": len(self._questions)}
        put = self._questions[len(self._rows)]
        if self._state.out != put.number:
            self._state.out, self._state.since = put.number, self._clock()
            self._keep()
        words, question = self.test.vocabulary, put.step.question
        picture = self.test.files.get(put.stream.scene_id)
        return {
            "done": False,
            "id": self._drawn("question", put.number),
            "number": put.number,
            "questions": len(self._questions),
            "image": None if picture is None else self._drawn("image", put.stream.scene_id),
            "conversation": self._drawn("stream", f"{put.stream.scene_id} {put.stream.number}"),
            "text": say(question, words),
            "long_text": say_long(question, words),
            "region": region_box(question, words),
            "labels": dict(put.labels),
            "question": question_to_json(question, words),
            "seconds_left": self._left(),
        }

    def answer(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Take the answer to the question that is out: ``{"id": …, "answer": …}``; what became of it.

        ``status`` is ``accepted`` or ``late`` (both count and cannot be taken back); ``repeated`` for the same
        answer sent again; ``answered`` for another one to a question that is done; ``out_of_turn`` for a question
        that is not out; ``unknown`` for no question of this test; ``malformed`` for no answer at all.
        """
        name, said = given.get("id"), given.get("answer")
        if not isinstance(name, str) or not isinstance(said, str | bool):
            return {"status": "malformed", "error": 'expected {"id": text, "answer": text, true or false}'}
        number = next((p.number for p in self._questions if self._is_drawn(name, "question", p.number)), None)
        if number is None:
            return {"status": "unknown", "error": "no question of this test has that id"}
        if number <= len(self._rows):
            row = self._rows[number - 1]
            same = row["answer"] == read_reply(said) or row["status"] == LATE
            return self._outcome("repeated" if same else "answered", number)
        if number != self._state.out:
            return {"status": "out_of_turn", "error": "ask for the next question first"}
        late = self._overdue()
        self._note(said, LATE if late else "accepted")
        return self._outcome("late" if late else "accepted", number)

    def picture(self, name: str) -> bytes | None:
        """The picture of a drawn id, PNG, if its question is out or was before; None for any other."""
        shown = [p for p in self._questions if p.number <= max(self._state.out, len(self._rows))]
        for scene in dict.fromkeys(p.stream.scene_id for p in reversed(shown)):
            file = self.test.files.get(scene)
            if file is not None and self._is_drawn(name, "image", scene):
                refuse_outside(self.test.folder / file, self.test.folder, field="picture")
                return read_bytes(self.test.folder / file)
        return None

    def handle(self, method: str, path: str, body: Mapping[str, Any]) -> HttpReply:
        """Answer a request: GET `` ``, ``next`` or ``picture/ID``, POST ``answer``."""
        if (method, path) == ("GET", ""):
            return json_reply(self.info())
        if (method, path) == ("GET", "next"):
            return json_reply(self.next())
        if (method, path) == ("POST", "answer"):
            outcome = self.answer(body)
            return json_reply(outcome, _STATUS[outcome["status"]])
        if method == "GET" and path.startswith("picture/"):
            data = self.picture(path.removeprefix("picture/"))
            if data is not None:
                return HttpReply(200, data, "image/png")
        return json_reply({"status": "unknown", "error": "GET /, GET next, GET picture/ID, POST answer"}, 404)

    def handle_line(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a line of JSON: ``{"get": "info" or "next" or "picture", "image": ID}``, or an answer."""
        wanted = request.get("get")
        if wanted == "info":
            return self.info()
        if wanted == "next":
            return self.next()
        if wanted == "picture":
            data = self.picture(str(request.get("image")))
            if data is None:
                return {"status": "unknown", "error": "no such picture, or not yet"}
            return {"image": request.get("image"), "png": base64.b64encode(data).decode()}
        if wanted is not None:
            return {"status": "malformed", "error": "get is info, next or picture"}
        return self.answer(request)

    def _outcome(self, status: str, number: int) -> dict[str, Any]:
        row = self._rows[number - 1]
        outcome: dict[str, Any] = {"status": status, "answer": row["answer"], "done": self.finished}
        truth = self._questions[number - 1].step.truth
        if self.tells and truth is not None:
            outcome["truth"] = truth.value
        return outcome

    def _note(self, said: str | bool, status: str) -> None:
        """Write the answer to the question that is out behind the others."""
        put, now = self._questions[len(self._rows)], self._clock()
        scene, stream, step = put.place
        word = LATE if status == LATE else read_reply(said)
        row = {
            "test": self.test.id,
            "number": put.number,
            "scene_id": scene,
            "stream": stream,
            "step": step,
            "answer": word,
            "status": status,
            "said": quoted(said) if word == UNPARSED or status == LATE else "",
            "seconds": round(max(0.0, now - self._state.since), 3),
            "time": round(now, 3),
        }
        os.write(self._descriptor, (json.dumps(row) + "\n").encode())
        os.fsync(self._descriptor)
        self._rows.append(row)

    def _left(self) -> float | None:
        return None if self.deadline is None else max(0.0, self._state.since + self.deadline - self._clock())

    def _overdue(self) -> bool:
        is_out = self._state.out == len(self._rows) + 1
        return is_out and self.deadline is not None and self._clock() - self._state.since > self.deadline

    def _drawn(self, kind: str, what: object) -> str:
        """An id that says nothing: a keyed hash, so that the same one comes back after a restart."""
        return hmac.new(self._state.secret.encode(), f"{kind} {what}".encode(), hashlib.sha256).hexdigest()[:24]

    def _is_drawn(self, name: str, kind: str, what: object) -> bool:
        return hmac.compare_digest(name.encode("utf-8", "replace"), self._drawn(kind, what).encode())

    def _keep(self) -> None:
        atomic_write(self._state_file, json.dumps(asdict(self._state)).encode())

    @property
    def _state_file(self) -> Path:
        return self.log.with_name(f"{self.log.name}.state")

    def _read_state(self) -> _Progress:
        """The secret and the question that is out, as an earlier proctor left them, or new ones."""
        if not self._state_file.exists():
            return _Progress(self.test.id, token_hex(16))
        state = typed(read_json_object(self._state_file), _Progress, str(self._state_file))
        if state.test != self.test.id:
            problem = "the log of another test"
            raise DataError(problem, file=self._state_file, field="test", expected=self.test.id, found=state.test)
        return state

    def _read_log(self) -> Iterator[dict[str, Any]]:
        """Rows of an earlier proctor; a last line that was cut short by a kill is taken out."""
        whole = read_bytes(self.log)
        if not whole.endswith(b"\n"):
            os.ftruncate(self._descriptor, whole.rfind(b"\n") + 1)
        for number, (row, put) in enumerate(zip_longest(read_json_lines(self.log), self._questions), start=1):
            if row is None:
                return
            line, told = row
            wrong = partial(DataError, file=self.log, row=line)
            if told.get("test") != self.test.id:
                raise wrong("the log of another test", field="test", expected=self.test.id, found=told.get("test"))
            place = None if put is None else put.place
            if (told.get("scene_id"), told.get("stream"), told.get("step")) != place or told.get(
                "number"
            ) != number:
                raise wrong("not the answer that is due here", field="step", found=told.get("step"))
            if told.get("answer") not in REPLIES or told.get("status") not in ("accepted", LATE):
                raise wrong("not an answer", field="answer", found=told.get("answer"))
            yield told


def _in_order(test: WrittenTest, key: str | Path) -> Iterator[tuple[Stream, Step, dict[str, Box | None]]]:
    """Every question that is asked, stream by stream, with the labels given before it."""
    for stream in read_key(key, test):
        labels: dict[str, Box | None] = {}
        for step in stream.steps:
            if step.decided:
                yield stream, step, dict(labels)
            if step.label is not None:
                labels[str(step.label)] = region_box(step.question, test.vocabulary)


def serve_lines(proctor: Proctor, lines: Iterable[str], write: Callable[[str], None]) -> None:
    """Put the test over lines of JSON, a request each, until it is done or no more come."""
    for line in lines:
        if not line.strip():
            continue
        try:
            request = parse_json(line[:_MOST_CHARACTERS], "standard input")
        except DataError:
            request = None
        if isinstance(request, dict):
            reply = proctor.handle_line(request)
        else:
            reply = {"status": "malformed", "error": "expected a JSON object a line"}
        write(json.dumps(plain(reply)) + "\n")
        if reply.get("done"):
            return
