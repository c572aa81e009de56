"""A person who takes the Turing exam: sees what a model would, and answers in the terminal or in a browser.

Whoever told the truth about the images must not take the exam: he knows the answers. Every answer is kept in a file
at once, with its time, so that an interrupted exam goes on at the question where it stopped.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from PIL import Image

from sightline.documents import read_json_lines
from sightline.errors import ModelError
from sightline.exams.turing.conversation import RecordedReply
from sightline.exams.turing.drawing import save_picture
from sightline.exams.turing.people.form import RefusedError, WebForm
from sightline.exams.turing.people.terminal import Read, keeping, print_line, read_line
from sightline.files import atomic_write
from sightline.models.adapters.prompts import PromptStyle
from sightline.skills import ABSTAIN, Asked
from sightline.text import file_name

KEYS: Final = {"y": "yes", "n": "no", "a": ABSTAIN}
"""Key, or first letter typed → the reply it gives."""

_STYLE: Final = PromptStyle(template="{region}\n{labels}\n{question}")
_PROMPT: Final = "[y]es / [n]o / [a]bstain / [q]uit: "
_LONGEST: Final = 760
"""Pixels of the longer side of a small picture as it is shown."""


class ExamSitting:
    """One question before a person who is examined; see `people.form.Sitting`.

    Args:
        asked: The question.
        number: How many were asked about this image, this one included.
        past: Those before, as the page lists them.
    """

    def __init__(self, asked: Asked, number: int, past: list[dict[str, Any]]) -> None:
        self._asked, self._number, self._past = asked, number, past
        self.reply: str | None = None
        self.stopped = False

    @property
    def done(self) -> bool:
        """Whether it was answered, or the person stopped."""
        return self.stopped or self.reply is not None

    def state(self) -> dict[str, Any]:
        """The question, what its words stand for, and those before it."""
        return {
            "kind": "exam",
            "scene": "",
            "stream": 0,
            "number": self._number,
            "of": None,
            "text": self._asked.text,
            "notes": notes_of(self._asked),
            "region": None,
            "objects": [],
            "answers": [{"key": key, "word": word} for key, word in KEYS.items()],
            "undo": False,
            "mark": None,
            "conflicts": [],
            "history": self._past,
            "done": self.done,
        }

    def act(self, action: Mapping[str, Any]) -> None:
        """Answer or stop."""
        if action.get("stop") is True:
            self.stopped = True
            return
        if action.get("number") != self._number or self.done:
            raise RefusedError("another question is asked by now")
        if action.get("answer") not in KEYS.values():
            raise RefusedError(f"an answer is one of {', '.join(KEYS.values())}")
        self.reply = str(action["answer"])

    def picture(self) -> bytes:
        """The picture with the regions the question speaks of outlined, PNG."""
        file = io.BytesIO()
        _STYLE.prompt(self._asked).picture.save(file, "PNG", compress_level=1)
        return file.getvalue()


class Human:
    """A person as a model.

    Args:
        name: Who it is, for tables and for the file of answers, ``human-NAME.jsonl`` in the working folder.
        web: Ask in a browser instead of in the terminal.
        read: Asks for a line in the terminal.
    """

    def __init__(self, name: str = "", web: bool = False, *, read: Read = read_line) -> None:
        self.name = f"human {name}".strip()
        self.path = Path(f"human-{file_name(name)}.jsonl" if name else "human.jsonl")
        self._read = read
        self._form = WebForm(lambda url: print_line(f"open in a browser on this machine: {url}")) if web else None
        self._place: tuple[str, int, int] | None = None
        self._past: list[dict[str, Any]] = []
        self._kept: dict[str, tuple[str, float]] | None = None

    @property
    def fingerprint(self) -> str:
        """Nothing: a person is known by name alone."""
        return ""

    def seek(self, scene_id: str, stream: int, step: int) -> None:
        """Remember which question comes next; another stream begins another list of questions."""
        if self._place is None or self._place[:2] != (scene_id, stream):
            self._past = []
        self._place = (scene_id, stream, step)

    def answer(self, asked: Asked) -> str:
        """What the person says, or said before the exam was interrupted."""
        if self._place is None:
            raise ModelError(f"{self.name}: nobody told which stream and step the question is of")
        key = _key(self._place, asked)
        earlier = self._answers().get(key)
        if earlier is None:
            start = time.perf_counter()
            with keeping(self.path):
                reply = self._asked(asked)
            earlier = reply, round(time.perf_counter() - start, 3)
            self._keep(key, asked, *earlier)
        self._past.append({"number": len(self._past) + 1, "text": asked.text, "said": earlier[0], "answer": None})
        return RecordedReply(earlier[0], seconds=earlier[1], late=False)

    def on_truth(self, asked: Asked, truth: bool) -> None:  # noqa: ARG002 - the hook's form
        """Show the true answer with the question."""
        if self._past:
            self._past[-1]["answer"] = "yes" if truth else "no"

    def _asked(self, asked: Asked) -> str:
        """Put the question; KeyboardInterrupt where the person stops."""
        if self._form is None:
            return self._typed(asked)
        sitting = ExamSitting(asked, len(self._past) + 1, self._past)
        self._form.show(sitting)
        if sitting.reply is None:
            raise KeyboardInterrupt
        return sitting.reply

    def _typed(self, asked: Asked) -> str:
        if self._past and self._past[-1]["answer"] is not None:
            print_line(f"     (true: {self._past[-1]['answer']})")
        picture = self.path.with_suffix(".png")
        save_picture(_enlarged(_STYLE.prompt(asked).picture), picture)
        if not self._past:
            print_line(f"a new picture, drawn anew for every question: {picture}")
        for note in notes_of(asked):
            print_line(f"     {note}")
        print_line(f"{len(self._past) + 1:>3}. {asked.text}")
        while True:
            try:
                word = self._read(_PROMPT).strip().casefold()[:1]
            except EOFError:
                raise KeyboardInterrupt from None
            if word == "q":
                raise KeyboardInterrupt
            if word in KEYS:
                return KEYS[word]
            print_line(f"please type one of {', '.join([*KEYS, 'q'])}")

    def _answers(self) -> dict[str, tuple[str, float]]:
        """Answers of earlier sessions by place and question."""
        if self._kept is None:
            rows = [row for _, row in read_json_lines(self.path)] if self.path.exists() else []
            self._kept = {
                str(row.get("key")): (str(row["answer"]), float(row.get("seconds") or 0.0))
                for row in rows
                if row.get("answer") in KEYS.values()
            }
        return self._kept

    def _keep(self, key: str, asked: Asked, reply: str, seconds: float) -> None:
        assert self._place is not None
        self._answers()[key] = reply, seconds
        scene, stream, step = self._place
        row = {"scene_id": scene, "stream": stream, "step": step, "text": asked.text}
        row |= {"answer": reply, "seconds": seconds, "key": key}
        before = self.path.read_bytes() if self.path.exists() else b""
        atomic_write(self.path, before + (json.dumps(row, ensure_ascii=False) + "\n").encode())


def notes_of(asked: Asked) -> list[str]:
    """What the question's words stand for: where its region is, which objects its labels mean."""
    return [line for line in _STYLE.prompt(asked).text.splitlines() if line and line != asked.text]


def _key(place: tuple[str, int, int], asked: Asked) -> str:
    return json.dumps([*place, dict(asked.question)], sort_keys=True, ensure_ascii=False)


def _enlarged(picture: Image.Image) -> Image.Image:
    """A small picture enlarged, so that a viewer shows more than a stamp."""
    scale = max(1, round(_LONGEST / max(picture.size)))
    return picture if scale == 1 else picture.resize((picture.width * scale, picture.height * scale))
