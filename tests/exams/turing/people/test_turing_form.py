"""The web form and its server: what is refused, what the page does, a whole stream in a browser."""

from __future__ import annotations

import http.client
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from exams.turing.people.people_toy import annotated, photo, session
from sightline.errors import ConfigError
from sightline.exams.turing.people.form import TruthSitting, WebForm
from sightline.exams.turing.people.server import TOKEN, HttpReply, LoopbackServer, json_reply


def echo(method: str, path: str, body: Any) -> HttpReply:
    return json_reply({"method": method, "path": path, "body": dict(body)})


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    made = LoopbackServer(echo)
    yield made
    made.close()


def ask(server: LoopbackServer, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body or None, named)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text.startswith(b"{") else text, response.headers


JSON = {"Content_Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("GET", "/{t}/", b"", {}, 200),  # as it should be
        ("GET", "/{t}/x/../../etc/passwd", b"", {}, 200),  # a path is a word, handed on as it is
        ("POST", "/{t}/act", b"{}", JSON, 200),  # an action
        ("GET", "/", b"", {}, 403),  # no token
        ("GET", "/{t}", b"", {}, 403),  # nothing behind it
        ("GET", "/{t}x/", b"", {}, 403),  # another token
        ("GET", "/%C3%A4/", b"", {}, 403),  # no ASCII
        ("GET", "/{t}/", b"", {"Host": "evil.example"}, 421),  # DNS rebinding
        ("GET", "/{t}/", b"", {"Host": "127.0.0.1"}, 421),  # another port
        ("POST", "/{t}/act", b"{}", JSON | {"Origin": "http://evil.example"}, 403),  # another page
        ("POST", "/{t}/act", b"{}", JSON | {"Origin": "null"}, 403),  # a file's page
        ("POST", "/{t}/act", b"{}", {"Content_Type": "text/plain"}, 400),  # what a form could send
        ("POST", "/{t}/act", b"{", JSON, 400),  # no JSON
        ("POST", "/{t}/act", b"[]", JSON, 400),  # no object
        ("POST", "/{t}/act", b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}", JSON, 400),  # too deep
        ("POST", "/{t}/act", b"", JSON | {"Content_Length": "99999999"}, 400),  # too long
        ("POST", "/{t}/act", b"", JSON | {"Content_Length": "-1"}, 400),  # no length
        ("PUT", "/{t}/act", b"{}", JSON, 501),  # no such method
    ],
)
def test_requests_are_refused_before_anything_is_done(
    server: LoopbackServer, method: str, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    got, _, replied = ask(server, method, path.replace("{t}", server.token), body, **headers)
    assert got == status
    assert "Access-Control-Allow-Origin" not in replied
    if status < 500:
        assert replied["Cache-Control"] == "no-store"
        assert replied["Referrer-Policy"] == "no-referrer"
        assert replied["X-Frame-Options"] == "DENY"


def test_the_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "x" * 20)
    made = LoopbackServer(echo)
    assert made.url == f"http://127.0.0.1:{made.port}/{'x' * 20}/"
    with pytest.raises(ConfigError, match=f"port {made.port} cannot be listened at"):
        LoopbackServer(echo, made.port)
    made.close()
    monkeypatch.setenv(TOKEN, "short")
    with pytest.raises(ConfigError, match="16 letters"):
        LoopbackServer(echo)


def test_two_servers_have_two_tokens(server: LoopbackServer) -> None:
    other = LoopbackServer(echo)
    assert other.token != server.token
    assert len(other.token) >= 32
    other.close()


@pytest.fixture
def form(tmp_path: Path) -> WebForm:
    made = WebForm(lambda _: None)
    made._sitting = TruthSitting(session(tmp_path, annotated()))
    return made


def act(form: WebForm, **action: Any) -> tuple[int, Any]:
    reply = form.handle("POST", "act", action)
    return reply.status, json.loads(reply.body)


def test_the_form_answers_and_takes_back(form: WebForm) -> None:
    status, state = act(form, number=1, answer="no")
    assert (status, state["number"], state["history"][0]["answer"]) == (200, 2, "no")
    assert act(form, number=1, answer="no")[0] == 200  # sent again, since the response was lost
    assert act(form, number=1, answer="no")[1]["number"] == 2
    assert act(form, number=1, answer="yes")[0] == 409  # from a page that shows an older question
    assert act(form, number=3, answer="yes")[0] == 409
    assert act(form, number=1, undo=True)[0] == 409
    status, state = act(form, number=2, undo=True)
    assert (status, state["number"], state["undo"]) == (200, 1, False)
    status, state = act(form, number=1, undo=True)
    assert (status, state["error"]) == (409, "nothing to take back")


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ({"answer": "maybe"}, "yes, no or ambiguous"),
        ({"answer": True}, "yes, no or ambiguous"),
        ({"answer": ["yes"]}, "yes, no or ambiguous"),
        ({}, "yes, no or ambiguous"),
        ({"answer": "no", "number": "1"}, "another question"),
        ({"answer": "no", "box": [0, 0, 9, 9]}, "not a box"),
        ({"answer": "no", "box": "all"}, "not a box"),
        ({"answer": "no", "point": [0.5]}, "not a point"),
        ({"answer": "no", "point": [2, 0.5]}, "not a point"),
        ({"answer": "no", "point": {"x": 1}}, "not a point"),
    ],
)
def test_the_form_refuses_what_does_not_fit(form: WebForm, action: dict[str, Any], told: str) -> None:
    status, state = act(form, **({"number": 1} | action))
    assert status == 409
    assert told in state["error"]
    assert state["number"] == 1


def test_the_form_has_a_picture_and_nothing_else(form: WebForm) -> None:
    state = json.loads(form.handle("GET", "state", {}).body)
    reply = form.handle("GET", state["picture"], {})
    with Image.open(io.BytesIO(reply.body)) as picture:
        assert (reply.kind, picture.format) == ("image/png", "PNG")
    for path in ("picture-9", "../state", "picture-0/../state", "form.html", "act"):
        assert form.handle("GET", path, {}).status == 404
    page = form.handle("GET", "", {})
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert b"NONCE" not in page.body
    assert b"innerHTML" not in page.body
    assert WebForm(lambda _: None).handle("GET", "state", {}).status == 404  # nothing to show yet


def test_a_sitting_ends_when_the_person_stops(form: WebForm) -> None:
    form._ending = True
    status, state = act(form, stop=True)
    assert (status, state["done"]) == (200, True)


def until(page: Any, condition: str) -> None:
    """Wait for a condition in the page, whose policy lets no string be run as a script."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {condition}")


@pytest.mark.browser
@pytest.mark.parametrize("which", ["photo", "annotated"])
def test_a_whole_stream_in_the_browser(browser: Any, tmp_path: Path, which: str) -> None:
    """Every question answered by key, objects marked by click or by dragging, one answer taken back."""
    scene = photo() if which == "photo" else annotated()
    asked = session(tmp_path, scene, questions=12)
    urls: list[str] = []
    form = WebForm(urls.append)
    worker = threading.Thread(target=form.ask, args=(asked,))
    worker.start()
    page = browser.new_page(viewport={"width": 1200, "height": 760})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    while not urls:
        worker.join(0.05)
    page.goto(urls[0])
    page.wait_for_selector("#answers button")
    page.keyboard.press("n")
    until(page, "state.number === 2")
    page.keyboard.press("u")
    until(page, "state.number === 1")
    for _ in range(60):
        state = page.evaluate("state")
        if state["done"]:
            break
        if state["mark"] is not None:
            page.keyboard.press("y")
            frame = page.locator("#marks").bounding_box()
            x0, y0, *_ = state["region"]["box"] if state["region"] else (0, 0, 1, 1)
            x, y = frame["x"] + frame["width"] * (x0 + 0.1), frame["y"] + frame["height"] * (y0 + 0.1)
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 60, y + 60, steps=3)
            page.mouse.up()
        else:
            page.keyboard.press("yna"[(state["number"] - 1) % 3])  # not by turns: a slow page may show one twice
        until(page, f"state.done || state.number !== {state['number']}")
        if page.evaluate("state.conflicts.length"):
            page.click("text=keep it")
            until(page, "state.done || !state.conflicts.length")
    worker.join(10)
    assert not worker.is_alive()
    page.wait_for_selector("text=Done")
    steps = asked.engine.stream().steps
    assert asked.question is None
    assert len(asked.engine.history) >= 3
    assert [row["answer"] for row in asked.answers.rows()] == [s.truth.value for s in steps if s.truth]
    assert any(s.box is not None for s in steps)
    assert not problems
    form.close()
    page.close()
