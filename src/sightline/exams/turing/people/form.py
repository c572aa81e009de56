"""The web form: one page that shows a picture and a question, and takes a person's answer.

What is on the page is a *sitting*: an object that says its state as JSON values, acts on what was pressed, and has
a picture. The page and the server know no more, so another server can show the same sittings.
"""

from __future__ import annotations

import atexit
import io
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from secrets import token_urlsafe
from typing import Any, Final, Protocol

from PIL import Image

from sightline.errors import ConfigError
from sightline.exams.turing.drawing import question_picture
from sightline.exams.turing.people.server import HttpReply, LoopbackServer, json_reply
from sightline.exams.turing.people.session import KEYS, Mark, TruthSession
from sightline.exams.turing.stream.steps import Stream, read_box
from sightline.exams.turing.transcript import Line
from sightline.exams.turing.vocabulary.questions import Box, Truth
from sightline.show.frame import ImageFrame

_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


_FAREWELL: Final = 0.4
_SOON: Final = 3.0
"""Seconds."""


class RefusedError(Exception):
    """An action that does not fit the question on show; the sitting is as it was."""


class Sitting(Protocol):
    """A person before the form."""

    @property
    def done(self) -> bool:
        """Whether there is nothing more to show."""

    def state(self) -> dict[str, Any]:
        """All the page shows, as JSON values."""

    def act(self, action: Mapping[str, Any]) -> None:
        """Do what was pressed; RefusedError where it does not fit the question on show."""

    def picture(self) -> bytes:
        """The picture, PNG."""


@dataclass
class TruthSitting:
    """An operator before the form: a session with what the page needs.

    Attributes:
        session: Questions and answers.
        stopped: The person ended it before the stream did.
    """

    session: TruthSession
    stopped: bool = False

    @property
    def done(self) -> bool:
        """Whether the stream is at its end, and no contradiction is left to be settled."""
        return self.stopped or (self.session.question is None and not self.session.conflicts)

    def state(self) -> dict[str, Any]:
        """The question, its region, the labelled objects, what was answered so far."""
        session = self.session
        transcript = session.transcript()
        done = self.done
        answered = transcript.lines if session.question is None else transcript.lines[:-1]
        line = None if session.question is None else transcript.lines[-1]
        hue = None if line is None else transcript.hue(line)
        region = None
        if line is not None and line.region is not None and hue is not None:
            region = {"box": list(line.region), "name": hue.letter, "colour": hue.css}
        marked = line is not None and session.marks(Truth.YES)
        return {
            "kind": "truth",
            "scene": session.engine.scene_id,
            "stream": session.engine.number,
            "number": len(answered) + 1,
            "of": None,
            "text": "" if line is None else transcript.said(line),
            "notes": session.reminders(),
            "region": region,
            "objects": [labelled_object(session.frame, old) for old in answered if old.label is not None],
            "answers": [] if line is None else [{"key": key, "word": truth.value} for key, truth in KEYS.items()],
            "undo": bool(answered),
            "mark": ("click" if session.by_click else "box") if marked else None,
            "conflicts": list(session.conflicts),
            "history": [
                {"number": old.number, "text": transcript.said(old), "answer": old.truth, "label": old.label}
                for old in answered
            ],
            "done": done,
        }

    def act(self, action: Mapping[str, Any]) -> None:
        """Answer, take back, let a contradiction stand, or stop."""
        session, number = self.session, action.get("number")
        if action.get("stop") is True:
            session.stop()
            self.stopped = True
            return
        if action.get("keep") is True:
            session.keep()
            return
        steps = session.engine.stream().steps
        if action.get("undo") is True:
            if number != len(steps) + 1:
                raise RefusedError("another question is asked by now")
            if session.undo() is None:
                raise RefusedError("nothing to take back")
            return
        truth = next((truth for truth in Truth if truth.value == action.get("answer")), None)
        if truth is None:
            raise RefusedError("an answer is yes, no or ambiguous")
        if isinstance(number, int) and 0 < number <= len(steps) and steps[number - 1].truth is truth:
            return  # sent again, since the response was lost
        if number != len(steps) + 1 or self.done:
            raise RefusedError("another question is asked by now")
        try:
            session.answer(truth, read_mark(action))
        except ConfigError as error:
            raise RefusedError(str(error)) from None

    def picture(self) -> bytes:
        """The picture without marks, which the page draws itself."""
        return picture_png(self.session.frame)


class WebForm:
    """The form as a server: shows one sitting after the other at one address.

    Args:
        announce: Called with the address when the first sitting begins.
        port: Where to listen; 0 takes a free one.
    """

    def __init__(self, announce: Callable[[str], None], port: int = 0) -> None:
        self._announce, self._port = announce, port
        self._server: LoopbackServer | None = None
        self._sitting: Sitting | None = None
        self._pictures = 0
        self._changed = threading.Event()
        self._ending = False

    def ask(self, session: TruthSession) -> Stream:
        """Let an operator answer a stream; returns when it is at its end."""
        session.resume()
        self.show(TruthSitting(session))
        return session.engine.stream()

    def show(self, sitting: Sitting, until: Callable[[], bool] | None = None) -> None:
        """Show a sitting until it is done, or as long as `until` says no; Ctrl-C ends the waiting at once."""
        if self._sitting is not sitting:
            self._sitting = sitting
            self._pictures += 1
        if self._server is None:
            self._server = LoopbackServer(self.handle, self._port)
            atexit.register(self.close)
            self._announce(self._server.url)
        while not (sitting.done if until is None else until() or sitting.done):
            self._changed.wait(0.2)
            self._changed.clear()

    def close(self) -> None:
        """Stop the server, once the page had a moment to hear that all is done."""
        if self._server is not None:
            self._ending = True
            time.sleep(_FAREWELL)
            self._server.close()
            self._server = None

    def handle(self, method: str, path: str, body: Mapping[str, Any]) -> HttpReply:
        """Answer a request of the page."""
        if (method, path) == ("GET", ""):
            return _page()
        sitting = self._sitting
        if sitting is None:
            return json_reply({"status": "unknown"}, 404)
        if (method, path) == ("GET", "state"):
            return json_reply(self._state(sitting))
        if (method, path) == ("GET", f"picture-{self._pictures}"):
            return HttpReply(200, sitting.picture(), "image/png")
        if (method, path) == ("POST", "act"):
            try:
                sitting.act(body)
            except RefusedError as error:
                return json_reply({**self._state(sitting), "error": str(error)}, 409)
            self._changed.set()
            return json_reply(self._state(self._next(sitting)))
        return json_reply({"status": "unknown"}, 404)

    def _next(self, sitting: Sitting) -> Sitting:
        """The sitting that follows one that is done, if it comes soon; else the same."""
        end = time.monotonic() + _SOON
        while sitting.done and self._sitting is sitting and not self._ending and time.monotonic() < end:
            time.sleep(0.02)
        return self._sitting or sitting

    def _state(self, sitting: Sitting) -> dict[str, Any]:
        return {**sitting.state(), "picture": f"picture-{self._pictures}"}


def read_mark(action: Mapping[str, Any]) -> Mark | None:
    """The mark of an action: ``point`` or ``box`` in fractions of the image; RefusedError where it is none."""
    point, box = action.get("point"), action.get("box")
    if box is not None:
        try:
            return Mark(box=read_box(box))
        except ValueError as error:
            raise RefusedError(str(error)) from None
    if point is None:
        return None
    usable = isinstance(point, list) and len(point) == 2
    if not usable or not all(isinstance(v, int | float) and 0 <= v <= 1 for v in point):
        raise RefusedError(f"not a point x, y in fractions of the image: {point!r}")
    return Mark(point=(float(point[0]), float(point[1])))


def labelled_object(frame: ImageFrame, line: Line) -> dict[str, Any]:
    """Label and box, in fractions of the image, of the object a question labelled; no box where nobody said."""
    box: Box | None = line.box
    known = frame.find(line.object_id)
    if box is None and known is not None and known.box is not None:
        x0, y0, x1, y1 = known.box
        box = x0 / frame.size[0], y0 / frame.size[1], x1 / frame.size[0], y1 / frame.size[1]
    return {"label": line.label, "box": None if box is None else list(box)}


def picture_png(frame: ImageFrame) -> bytes:
    """The picture as PNG; of data without pictures its boxes on a blank."""
    bare = question_picture(frame, None, None, ()) if frame.image is None else Image.fromarray(frame.image)
    file = io.BytesIO()
    bare.save(file, "PNG", compress_level=1)
    return file.getvalue()


def _page() -> HttpReply:
    nonce = token_urlsafe(12)
    text = resources.files(__package__).joinpath("form.html").read_text(encoding="utf-8").replace("NONCE", nonce)
    headers = {"Content-Security-Policy": _POLICY.format(nonce)}
    return HttpReply(200, text.encode(), "text/html; charset=utf-8", headers)
