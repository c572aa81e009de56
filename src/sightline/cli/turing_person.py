"""A person as the operator: questions in the terminal, their regions drawn on the picture, every answer kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from sightline.cli.console import out
from sightline.cli.turing_print import question
from sightline.documents import read_json_lines
from sightline.errors import DataError
from sightline.exams.turing.drawing import question_picture, save_picture
from sightline.exams.turing.stream.engine import Engine
from sightline.exams.turing.stream.operators import FromFile, StoppedError
from sightline.exams.turing.stream.steps import Step, Stream
from sightline.exams.turing.transcript import transcript_of
from sightline.exams.turing.vocabulary.questions import Truth, question_to_json
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.files import atomic_write
from sightline.show.frame import ImageFrame
from sightline.text import counted

Read = Callable[[str], str]

KEYS: Final = {"y": Truth.YES, "n": Truth.NO, "a": Truth.AMBIGUOUS}
"""First letter of an answer → what it says."""

PROMPT: Final = "[y]es / [n]o / [a]mbiguous / [u]ndo / [q]uit: "


@dataclass
class PersonAnswers:
    """What a person said, one JSON object a line, on disk before the next question is put; `FromFile` reads it.

    Attributes:
        path: The file; made with the first answer. Lines about other scenes are kept as they are.
        scene_id: The image.
        vocabulary: What the questions speak of.
    """

    path: Path
    scene_id: str
    vocabulary: Vocabulary

    def rows(self) -> list[dict[str, Any]]:
        """All lines, of every scene."""
        return [row for _, row in read_json_lines(self.path)] if self.path.exists() else []

    def said(self) -> FromFile | None:
        """Answers of an interrupted session about this scene; None where there are none."""
        if not any(row.get("scene_id") == self.scene_id for row in self.rows()):
            return None
        return FromFile(self.path, self.scene_id, self.vocabulary, missing="stop")

    def add(self, step: Step, labels: list[str]) -> None:
        """Write an answer behind the others."""
        row = {
            "scene_id": self.scene_id,
            "question": question_to_json(step.question, self.vocabulary),
            "answer": step.truth.value if step.truth else None,
            "object_id": step.object_id,
            "labels": labels,
        }
        self._write([*self.rows(), row])

    def drop(self) -> None:
        """Take back the last answer about this scene."""
        rows = self.rows()
        last = max(i for i, row in enumerate(rows) if row.get("scene_id") == self.scene_id)
        self._write([*rows[:last], *rows[last + 1 :]])

    def _write(self, rows: list[dict[str, Any]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(self.path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


@dataclass
class Session:
    """One image put to a person.

    Attributes:
        engine: Chooses the questions.
        vocabulary: Their words.
        answers: Where the answers are kept; those of an earlier session are taken up first.
        frame: The picture.
        picture: The PNG that is drawn anew for every question.
        read: Asks for a line; `input` by default.
    """

    engine: Engine
    vocabulary: Vocabulary
    answers: PersonAnswers
    frame: ImageFrame
    picture: Path
    read: Read = field(default=input)

    def run(self) -> Stream:
        """Ask until nothing is left to ask, or the person quits."""
        resumed = self._resume()
        if resumed:
            out.print(
                f"{counted(resumed, 'answer')} of an earlier session taken from {self.answers.path}", style="dim"
            )
        out.print(f"the picture, drawn anew for every question: {self.picture}", style="dim")
        while (step := self.engine.propose()) is not None:
            said = self._put(step)
            if said is None:
                self.engine.stop()
            elif said == "undo":
                self._undo()
            else:
                labels = [str(label) for label in self.engine.labels]
                step = self.engine.take(KEYS[said])
                self.answers.add(step, labels)
                if step.label is not None:
                    out.print(f"   (Label this {step.label})", style="italic")
        return self.engine.stream()

    def _resume(self) -> int:
        """Take up the answers of an earlier session; how many there were."""
        earlier = self.answers.said()
        while earlier is not None and (step := self.engine.propose()) is not None:
            try:
                self.engine.take(*earlier.answer(step.question, self.engine.history))
            except StoppedError:
                break
        taken = len(self.engine.stream().steps)
        if earlier is not None and not taken:
            raise DataError(
                "these answers belong to another stream: none is about its first question",
                file=self.answers.path,
                expected="the same data, training data, seed and vocabulary, or another file",
            )
        return taken

    def _put(self, step: Step) -> str | None:
        """The key of the answer, ``undo``, or None to stop; asks again until it understands."""
        stream = self.engine.stream()
        shown = transcript_of(replace(stream, steps=(*stream.steps, step)), self.vocabulary)
        line = shown.lines[-1]
        hue = shown.hue(line)  # one for the region in the whole stream
        save_picture(question_picture(self.frame, line.region, hue, shown.labelled), self.picture)
        out.print(Text.assemble((f"{step.number:>3}. ", "dim"), question(step, self.vocabulary, hue)))
        while True:
            try:
                word = self.read(PROMPT).strip().casefold()
            except EOFError:
                return None
            if word[:1] in KEYS:
                return word[:1]
            if word[:1] == "u":
                return "undo"
            if word[:1] == "q":
                return None
            out.print("please type y, n, a, u or q", style="dim")

    def _undo(self) -> None:
        if self.engine.undo() is None:
            out.print("nothing to take back", style="dim")
        else:
            self.answers.drop()
