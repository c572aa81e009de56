"""The answers of a person who tells the truth, kept in a file from the first one on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightline.documents import read_json_lines
from sightline.exams.turing.stream.operators import FromFile
from sightline.exams.turing.stream.steps import Step
from sightline.exams.turing.vocabulary.english import say
from sightline.exams.turing.vocabulary.questions import question_to_json
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.files import atomic_write


@dataclass(frozen=True)
class PersonAnswers:
    """What a person said in one stream, one JSON object a line, on disk before the next question is put.

    `FromFile` reads such a file. Lines of other scenes, seeds and streams are kept as they are.

    Attributes:
        path: The file; made with the first answer.
        scene_id: The image.
        vocabulary: What the questions speak of.
        seed: Of the stream.
        stream: Its number.
    """

    path: Path
    scene_id: str
    vocabulary: Vocabulary
    seed: int = 0
    stream: int = 0

    def rows(self) -> list[dict[str, Any]]:
        """All lines of the file, of every scene and stream."""
        return [row for _, row in read_json_lines(self.path)] if self.path.exists() else []

    def earlier(self) -> FromFile | None:
        """The answers of an interrupted session about this stream; None where there are none."""
        if not any(map(self._is_ours, self.rows())):
            return None
        return FromFile(
            self.path, self.scene_id, self.vocabulary, stream=self.stream, seed=self.seed, missing="stop"
        )

    def add(self, step: Step, labels: list[str]) -> None:
        """Write an answer behind the others; `labels` are those given before it."""
        row = {
            "scene_id": self.scene_id,
            "seed": self.seed,
            "stream": self.stream,
            "text": say(step.question, self.vocabulary),
            "question": question_to_json(step.question, self.vocabulary),
            "answer": step.truth.value if step.truth else None,
            "object_id": step.object_id,
            "box": None if step.box is None else list(step.box),
            "labels": labels,
        }
        self._write([*self.rows(), row])

    def drop(self) -> None:
        """Take back the last answer about this stream."""
        rows = self.rows()
        last = max(i for i, row in enumerate(rows) if self._is_ours(row))
        self._write([*rows[:last], *rows[last + 1 :]])

    def _is_ours(self, row: dict[str, Any]) -> bool:
        return (
            row.get("scene_id") == self.scene_id
            and row.get("seed") in (None, self.seed)
            and row.get("stream") in (None, self.stream)
        )

    def _write(self, rows: list[dict[str, Any]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(self.path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def answered_streams(path: Path) -> tuple[tuple[str, int], ...]:
    """(scene id, number) of every stream that a file has answers about, in the order they are met."""
    places: dict[tuple[str, int], None] = {}
    for _, row in read_json_lines(path):
        scene, number = row.get("scene_id"), row.get("stream")
        if isinstance(scene, str):
            places[scene, number if isinstance(number, int) else 0] = None
    return tuple(places)
