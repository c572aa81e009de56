"""A person as the operator: questions in the terminal, their regions drawn on the picture, every answer kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from sightline.atomic import atomic_write
from sightline.cli.console import out
from sightline.cli.turing_print import question as worded
from sightline.cli.turing_print import transcript_of
from sightline.errors import DataError
from sightline.exams.turing.asking.engine import Engine, Proposal
from sightline.exams.turing.asking.operators import FromFile, StoppedError, read_lines
from sightline.exams.turing.asking.stream_json import region_box
from sightline.exams.turing.asking.streams import Step, Stream
from sightline.exams.turing.drawing import question_picture, save_picture
from sightline.exams.turing.transcript import Line, Transcript
from sightline.exams.turing.words.questions import Truth
from sightline.exams.turing.words.structured import to_json
from sightline.exams.turing.words.vocabulary import Vocabulary
from sightline.show.frame import ImageFrame

Read = Callable[[str], str]

KEYS: Final = {"y": Truth.YES, "n": Truth.NO, "a": Truth.AMBIGUOUS}
"""First letter of an answer → what it says."""

PROMPT: Final = "[y]es / [n]o / [a]mbiguous / [u]ndo / [q]uit: "


@dataclass
class Answers:
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
        return [row for _, row in read_lines(self.path)] if self.path.exists() else []

    def said(self) -> FromFile | None:
        """Answers of an interrupted session about this scene; None where there are none."""
        if not any(row.get("scene_id") == self.scene_id for row in self.rows()):
            return None
        return FromFile(self.path, self.scene_id, self.vocabulary, missing="stop")

    def add(self, step: Step, labels: list[str]) -> None:
        """Write an answer behind the others."""
        row = {
            "scene_id": self.scene_id,
            "question": to_json(step.question, self.vocabulary),
            "answer": step.truth.value,
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
    answers: Answers
    frame: ImageFrame
    picture: Path
    read: Read = field(default=input)

    def run(self) -> Stream:
        """Ask until nothing is left to ask, or the person quits."""
        resumed = self._resume()
        if resumed:
            out.print(f"{resumed} answers of an earlier session taken from {self.answers.path}", style="dim")
        out.print(f"the picture, drawn anew for every question: {self.picture}", style="dim")
        while (proposal := self.engine.propose()) is not None:
            said = self._put(proposal)
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
        told = self.answers.said()
        while told is not None and (proposal := self.engine.propose()) is not None:
            try:
                self.engine.take(*told.answer(proposal.question, self.engine.history))
            except StoppedError:
                break
        taken = len(self.engine.stream().steps)
        if told is not None and not taken:
            raise DataError(
                "these answers belong to another stream: none is about its first question",
                file=self.answers.path,
                expected="the same data, training data, seed and vocabulary, or another file",
            )
        return taken

    def _put(self, proposal: Proposal) -> str | None:
        """The key of the answer, ``undo``, or None to stop; asks again until it understands."""
        line = self._line(proposal)
        before = transcript_of(self.engine.stream(), self.vocabulary)
        shown = Transcript.of(self.engine.scene_id, [*before.lines, line])  # a region keeps its colour
        save_picture(question_picture(self.frame, line.region, shown.hue(line), before.labelled), self.picture)
        out.print(Text.assemble((f"{proposal.number:>3}. ", "dim"), worded(shown, line)))
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

    def _line(self, proposal: Proposal) -> Line:
        from sightline.exams.turing.words.english import say

        asked, chance = proposal.question, proposal.chance
        box = region_box(asked, self.vocabulary)
        region = None if box is None else (box[0], box[1], box[2], box[3])
        said = say(asked, self.vocabulary)
        return Line(proposal.number, asked.kind, said, region, chance.p_yes, chance.support, "ambiguous")
