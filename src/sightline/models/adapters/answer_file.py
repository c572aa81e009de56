"""Answers to the Turing exam made elsewhere, from a CSV or JSONL file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from sightline.errors import DataError, ModelError
from sightline.models.adapters.predicate_file import PredicateAnswers
from sightline.skills import ABSTAIN, Asked, TuringSpec
from sightline.store.formats.csvio import FIRST_ROW, TEXT, Column, read_csv

COLUMNS: Final = ("scene_id", "stream", "step", "answer")
_COUNTED: Final = "a whole number, 0 or more"


def _whole(cell: pl.Expr) -> pl.Expr:
    return pl.when(cell.str.contains(r"^\d{1,9}$")).then(cell.cast(pl.Int64, strict=False))


_CSV: Final = {
    "scene_id": TEXT,
    "stream": Column(_COUNTED, _whole, "not a stream"),
    "step": Column(_COUNTED, _whole, "not a step"),
    "answer": TEXT,
}


class AnswerFile:
    """Answers read from a file with scene_id, stream, step and answer, one row a question.

    These are the names a written test gives its questions by, and those of a run made with the same seed. Answers
    are read as those of any model; a question without a row is met with an abstention.

    Args:
        path: A ``.csv`` with these columns in any order, or a ``.jsonl`` with one object a line, which may have
            other keys too: a test's own lines with an answer added will do.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ModelError(f"{path}: no such file")
        self.path = path
        self._answers: dict[tuple[str, int, int], str | bool] = {}
        self._place: tuple[str, int, int] | None = None
        jsonl = path.suffix.lower() == ".jsonl"
        rows = _read_jsonl(path) if jsonl else read_csv(path, _CSV).select(*COLUMNS).rows()
        for row, (scene, stream, step, answer) in enumerate(rows, start=1 if jsonl else FIRST_ROW):
            if (scene, stream, step) in self._answers:
                found = f"{scene}, stream {stream}, step {step}"
                raise DataError("answered twice", file=path, row=row, field="step", found=found)
            self._answers[scene, stream, step] = answer

    def check_turing(self, spec: TuringSpec) -> None:
        """ModelError unless some answer is about one of the exam's images."""
        about = {scene for scene, _, _ in self._answers}
        if about.isdisjoint(spec.images):
            there, here = min(about), min(spec.images)
            raise ModelError(
                f"{self.path}: none of its answers is about an image of this exam: they are about {there!r} …, the "
                f"exam about {here!r} …"
            )

    def seek(self, scene_id: str, stream: int, step: int) -> None:
        """The question that comes next."""
        self._place = (scene_id, stream, step)

    def answer(self, asked: Asked) -> str | bool:  # noqa: ARG002 — the skill's protocol
        """What the file says to the question it was turned to."""
        if self._place is None:
            raise ModelError(f"{self.path}: nobody told which stream and step the question is of")
        return self._answers.get(self._place, ABSTAIN)


def open_jsonl(path: Path, wanted: Sequence[str] = ()) -> AnswerFile | PredicateAnswers:
    """Answers to the Turing exam if the first line speaks of a step, to the predicates exam if of a predicate.

    Args:
        path: The file.
        wanted: Skills that are looked for; they tell what a line should have been that speaks of neither.
    """
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    with path.open(encoding="utf-8", errors="replace") as file:
        try:
            first = json.loads(file.readline())
        except ValueError:
            first = None
    keys = first if isinstance(first, dict) else {}
    turing = "step" in keys or ("predicate" not in keys and "answer" in wanted)
    return AnswerFile(path) if turing else PredicateAnswers(path)


def _read_jsonl(path: Path) -> list[tuple[str, int, int, str | bool]]:
    """The rows of a JSONL file, each checked; blank lines are not allowed, so that rows are lines."""
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from error
    if lines == [""]:
        raise DataError("file has no rows", file=path, row=1, expected="at least one row", found="")
    return [_parsed(line, path, number) for number, line in enumerate(lines, start=1)]


def _parsed(line: str, path: Path, row: int) -> tuple[str, int, int, str | bool]:
    try:
        told = json.loads(line)
    except ValueError as error:
        raise DataError(f"not JSON: {error}", file=path, row=row) from None
    if not isinstance(told, dict) or not set(COLUMNS) <= set(told):
        raise DataError("not an answer", file=path, row=row, expected=f"an object with {', '.join(COLUMNS)}")
    scene, answer = told["scene_id"], told["answer"]
    for name, value, kinds, expected in (
        ("scene_id", scene, str, "text"),
        ("answer", answer, str | bool, "text, true or false"),
    ):
        if not isinstance(value, kinds):
            raise DataError(f"not a valid {name}", file=path, row=row, field=name, expected=expected, found=value)
    return scene, _count(told, "stream", path, row), _count(told, "step", path, row), answer


def _count(told: dict[str, Any], name: str, path: Path, row: int) -> int:
    value = told[name]
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise DataError(f"not a {name}", file=path, row=row, field=name, expected=_COUNTED, found=value)
