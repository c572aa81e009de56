"""Models behind a server: what is sent, what is read, and what becomes of failures."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.runner import run_exam
from sightline.exams.turing.exam import TuringExam
from sightline.exams.turing.measures import asked_rows
from sightline.models import candidate, load
from sightline.models.adapters.http import JsonClient, checked_url
from sightline.scenes import View
from sightline.skills import Asked
from sightline.store import Dataset

YES = {"answer": "yes"}
SECRET = "hush-hush-0123"


@dataclass
class Server:
    """Gives the planned replies one after the other, then the last one again and again.

    A reply is (status, body) or (status, body, headers), or a word: ``hang``, ``drop``, ``cut`` or ``drip``.
    """

    plan: list[Any] = field(default_factory=lambda: [(200, YES)])
    seen: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    port: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "/answer") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def reply(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.seen.append((request.path, dict(request.headers), body))
        planned = self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]
        if planned == "hang":
            self.over.wait(10)
        if planned in ("hang", "drop"):
            return
        status, told, headers = (200, YES, {}) if isinstance(planned, str) else (*planned, {})[:3]
        data = told if isinstance(told, bytes) else json.dumps(told).encode()
        request.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        for at in range(len(data)):
            if planned == "cut" and at > 3:
                return
            request.wfile.write(data[at : at + 1])
            if planned == "drip":
                request.wfile.flush()
                self.over.wait(0.05)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                made.reply(self)
            except (BrokenPipeError, ConnectionResetError):  # the client gave up waiting
                self.close_connection = True

        do_GET = do_POST  # noqa: N815 — where a redirection would lead

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        made.port = listening.server_address[1]
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.over.set()
        listening.shutdown()
        thread.join()


def model_at(server: Server, options: str = "", path: str = "/answer") -> Any:
    return load(f"http:url={server.url(path)},backoff=0{options}")


def picture(text: str) -> Any:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def test_all_is_sent(server: Server, asked: Any) -> None:
    question: Asked = asked(region=(0.0, 0.0, 0.5, 1.0))
    model = model_at(server)
    assert model.answer(question) == "yes"
    path, headers, body = server.seen[0]
    assert (path, headers["Content-Type"]) == ("/answer", "application/json")
    assert "Authorization" not in headers
    assert np.array_equal(picture(body.pop("image")), question.view.image())
    ((found, text, truth),) = question.history
    assert len(body["scene_id"]) == 16  # drawn, since an id may tell what is to be seen
    assert model.answer(question) == "yes"
    assert server.seen[1][2]["scene_id"] == body["scene_id"]
    model.answer(asked(scene_id="other"))
    assert server.seen[2][2]["scene_id"] not in ("other", body["scene_id"])
    assert body == {
        "scene_id": body["scene_id"],
        "question": question.question,
        "text": "Is there a ball?",
        "long_text": "Is there an instance of a ball?",
        "region": [0.0, 0.0, 0.5, 1.0],
        "labels": {"cube 1": [0.0, 0.0, 0.5, 1.0]},
        "history": [{"question": found, "text": text, "answer": truth}],
    }
    assert model.name == f"http:127.0.0.1:{server.port}/answer"
    assert model.facts() == {"url": server.url(), "kind": "answer"}


def test_each_question_has_its_own_picture(server: Server, asked: Any) -> None:
    model = model_at(server)
    for shade in (0, 0, 9):
        grey = np.full((2, 3, 3), shade, dtype=np.uint8)
        model.answer(asked(view=View("0", load_image=lambda grey=grey: grey)))
    assert [int(picture(body["image"]).max()) for _, _, body in server.seen] == [0, 0, 9]
    with pytest.raises(DataError, match="view has no image"):
        model.answer(asked(view=View("0")))


def test_a_chat(server: Server, asked: Any) -> None:
    server.plan = [(200, {"choices": [{"message": {"content": "No, it is not."}}]})]
    model = model_at(server, ",kind=chat,model=org/eye,region=crop,history=1,max_new_tokens=7", "/v1")
    question = asked(region=(0.0, 0.0, 0.5, 1.0), question={"type": "exist", "object_type": "ball"})
    assert model.answer(question) == "No, it is not."
    path, _, body = server.seen[0]
    assert path == "/v1/chat/completions"
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("org/eye", 7, 0)
    (message,) = body["messages"]
    shown, told = message["content"]
    kind, _, data = shown["image_url"]["url"].partition(",")
    assert kind == "data:image/png;base64"
    assert np.array_equal(picture(data), question.view.image()[:, :20])
    assert told["text"].startswith("The picture shows the designated region and nothing else.\nEarlier question: ")
    assert model.name == "http:org/eye,region=crop,history=1"
    assert model.facts()["model"] == "org/eye"


@pytest.mark.parametrize(
    ("path", "asked_at"),
    [
        ("/v1", "/v1/chat/completions"),  # the beginning
        ("/v1/", "/v1/chat/completions"),  # with a slash
        ("/v1/chat/completions", "/v1/chat/completions"),  # all of it
        ("/chat?version=2", "/chat?version=2"),  # another place
    ],
)
def test_where_a_chat_is(path: str, asked_at: str, server: Server, asked: Any) -> None:
    server.plan = [(200, {"choices": [{"message": {"content": None}}]})]
    assert model_at(server, ",kind=chat,model=m", path).answer(asked()) == ""  # it thought, and said nothing
    assert server.seen[0][0] == asked_at


@pytest.mark.parametrize("kind", ["", ",kind=chat,model=m"])
def test_the_whole_exam(
    kind: str, server: Server, pictured_exam: tuple[TuringExam, Dataset], tmp_path: Path
) -> None:
    exam, data = pictured_exam
    said = {"answer": False} if not kind else {"choices": [{"message": {"content": "No."}}]}
    server.plan = [(503, "busy"), (200, said)]
    sitting = candidate(f"http:url={server.url()},backoff=0{kind}")
    rows = asked_rows(run_exam(exam, sitting, data, tmp_path / "r", limit=2).records())
    assert rows["scene_id"].n_unique() == 2
    assert set(rows["answer"]) == {"no"}
    assert len(server.seen) == len(rows) + 1  # one more for the busy server


@pytest.mark.parametrize(
    "failure",
    [
        (500, "oops"),  # broke
        (503, "busy"),  # busy
        (429, "slowly"),  # too many
        "drop",  # hung up without a word
        "cut",  # hung up in the middle
        "hang",  # no answer in time
        "drip",  # an answer that takes for ever
    ],
)
def test_what_passes_is_tried_again(failure: Any, server: Server, asked: Any) -> None:
    server.plan = [failure, failure, (200, YES)]
    assert model_at(server, ",timeout=0.3,retries=2").answer(asked()) == "yes"
    assert len(server.seen) == 3
    server.plan = [failure]
    with pytest.raises(ModelError, match=r"/answer: no answer after 2 tries: "):
        model_at(server, ",timeout=0.3,retries=1").answer(asked())
    assert len(server.seen) == 5


def test_nobody_there(server: Server, asked: Any) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as gone:
        port = gone.server_address[1]
    model: Any = load(f"http:url=http://127.0.0.1:{port}/answer,retries=1,backoff=0")
    with pytest.raises(ModelError, match=r"no answer after 2 tries: .*refused"):
        model.answer(asked())


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ((400, {"error": "what?"}), 'status 400 Bad Request: {"error": "what?"}'),  # refused
        ((401, f"bad key {SECRET}"), 'status 401 Unauthorized: "bad key …"'),  # the key is not repeated
        ((404, b""), "/answer: status 404 Not Found"),  # no such place
        ((302, b"", {"Location": "/elsewhere"}), "redirections are not followed: give the final address"),  # moved
        ((200, b"yes"), "its answer is not JSON: yes"),  # bare text
        ((200, ["yes"]), 'expected {"answer": …} with a text, true or false, found ["yes"]'),  # a list
        ((200, {"reply": "yes"}), 'found {"reply": "yes"}'),  # another word
        ((200, {"answer": 1}), 'found {"answer": 1}'),  # a number
        ((200, b" " * 301), "its answer is longer than 300 bytes"),  # too much
    ],
)
def test_what_does_not_pass(
    reply: Any, says: str, server: Server, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EYE_KEY", SECRET)
    monkeypatch.setattr("sightline.models.adapters.http._MOST_BYTES", 300)
    server.plan = [reply]
    with pytest.raises(ModelError) as raised:
        model_at(server, ",key=EYE_KEY").answer(asked())
    assert says in str(raised.value)
    assert SECRET not in str(raised.value)
    assert len(server.seen) == 1


@pytest.mark.parametrize("told", [{}, {"choices": []}, {"choices": [{"text": "yes"}]}, "yes"])
def test_not_a_chat(told: Any, server: Server, asked: Any) -> None:
    server.plan = [(200, told)]
    with pytest.raises(ModelError, match="expected a chat completion, found"):
        model_at(server, ",kind=chat,model=m").answer(asked())


def test_the_key_is_sent_and_never_told(
    server: Server, asked: Any, tmp_path: Path, pictured_exam: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EYE_KEY", f"{SECRET}\n")
    exam, data = pictured_exam
    sitting = candidate(f"http:url={server.url()},key=EYE_KEY")
    model: Any = sitting.model
    run_exam(exam, sitting, data, tmp_path / "r", limit=1)
    assert server.seen[0][1]["Authorization"] == f"Bearer {SECRET}"
    written = b"".join(file.read_bytes() for file in (tmp_path / "r").rglob("*") if file.is_file())
    assert b"EYE_KEY" in written
    assert SECRET.encode() not in written
    assert SECRET not in f"{model.client!r} {model.facts()} {model.name}"


def test_what_follows_the_question_mark_is_not_told(server: Server) -> None:
    server.plan = [(400, "no")]
    client = JsonClient(server.url("/answer?token=private"))
    with pytest.raises(ModelError, match=r"/answer: status 400"):
        client.post({})
    assert server.seen[0][0] == "/answer?token=private"


@pytest.mark.parametrize(
    ("asks", "waits"),
    [
        ({}, [0.5, 1.0, 2.0]),  # doubled each time
        ({"Retry-After": "7"}, [7.0, 7.0, 7.0]),  # as the server asks
        ({"Retry-After": "1"}, [1.0, 1.0, 2.0]),  # at least as the server asks
        ({"Retry-After": "9999"}, [60.0, 60.0, 60.0]),  # no longer than a minute
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, [0.5, 1.0, 2.0]),  # a date is not read
    ],
)
def test_waiting(asks: dict[str, str], waits: list[float], server: Server) -> None:
    server.plan = [(429, "slowly", asks)] * 3 + [(200, YES)]
    slept: list[float] = []
    assert JsonClient(server.url(), backoff=0.5, sleep=slept.append).post({}) == YES
    assert slept == waits


def test_a_server_here_is_not_behind_a_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert JsonClient(server.url(), retries=0).post({}) == YES


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("", "http needs the option url"),  # no address
        (":url=file:///etc/hosts", "url must be like http://localhost:8000/answer"),  # not of the web
        (":url=localhost:8000", "url must be like"),  # no scheme
        (":url=http://", "url must be like"),  # no host
        (":url=http://h:99999/", "url must be like"),  # no such port
        (":url=http://h/a b", "url must be like"),  # blank
        (":url=http://me:pass@h/", "no name and password in the url"),  # a password
        (":url=http://h/,kind=talk", "expected answer or chat, found 'talk'"),  # no such kind
        (":url=http://h/,kind=chat", "kind=chat needs the option model"),  # which one?
        (":url=http://h/,kind=chat,model=m,max_new_tokens=0", "max_new_tokens must be at least 1"),  # no room
        (":url=http://h/,kind=chat,model=m,history=-1", "history must not be negative"),  # less than none
        (":url=http://h/,model=m", "the option model goes with kind=chat"),  # of the other kind
        (":url=http://h/,region=crop", "the option region goes with kind=chat"),  # likewise
        (":url=http://h/,history=0", "the option history goes with kind=chat"),  # likewise, at its default
        (":url=http://h/,timeout=0", "timeout must be positive"),  # no time
        (":url=http://h/,timeout=nan", "timeout must be positive"),  # no number
        (":url=http://h/,retries=-1", "retries must not be negative"),  # fewer than none
        (":url=http://h/,backoff=-1", "backoff must not be negative"),  # back in time
        (f":url=http://h/,key={SECRET}", "key=NAME names an environment variable"),  # the key itself
    ],
)
def test_bad_options(options: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(f"http{options}")
    assert says in str(raised.value)
    assert SECRET not in str(raised.value)
    assert "pass@" not in str(raised.value)


def test_an_address_that_breaks_the_parser() -> None:
    with pytest.raises(ConfigError, match="url must be like"):
        checked_url("http://[::1/answer")
