"""Answers to the predicates exam made elsewhere, from a CSV or JSONL file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError, ModelError
from sightline.hints import did_you_mean
from sightline.scenes.labels import PREDICATES
from sightline.skills import UNKNOWN, Queries, QuerySpec, Verdicts
from sightline.store.formats.csvio import FIRST_ROW, TEXT, Column, code, read_csv

COLUMNS: Final = ("scene_id", "subject", "object", "predicate", "answer")
_ANSWERS: Final = {"yes": 1, "no": 0, "unknown": UNKNOWN}
_CODES: Final = {word: i for i, word in enumerate(PREDICATES)}
_DIGITS: Final = re.compile(r"[0-9]{1,6}")
_PLACE: Final = "the object's place in the scene, counted from 0"


def _place(cell: pl.Expr) -> pl.Expr:
    return pl.when(cell.str.contains(f"^{_DIGITS.pattern}$")).then(cell.cast(pl.Int64, strict=False))


_CSV: Final = {
    "scene_id": TEXT,
    "subject": Column(_PLACE, _place, "not a place"),
    "object": Column(_PLACE, _place, "not a place"),
    "predicate": code(_CODES, problem="not a predicate"),
    "answer": code(_ANSWERS, problem="not an answer"),
}


class PredicateAnswers:
    """Answers read from a file with scene_id, subject, object, predicate and answer, one row a judgement.

    Subject and object are places in the scene's stored order from 0, which in a generated dataset are the objects'
    ids. The answer is ``yes``, ``no`` or ``unknown``; what has no row is unknown.

    Args:
        path: A ``.csv`` with these columns in any order, or a ``.jsonl`` with one object of these keys a line.
    """

    views: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ModelError(f"{path}: no such file")
        self.path = path
        jsonl = path.suffix.lower() == ".jsonl"
        self._first = 1 if jsonl else FIRST_ROW
        frame = (_read_jsonl if jsonl else _read_csv)(path).with_row_index("line", offset=self._first)
        _refuse_doubles(frame, path)
        self._rows = {
            str(key): group.select("subject", "object", "predicate", "answer", "line").to_numpy()
            for (key,), group in frame.group_by("scene_id", maintain_order=True)
        }

    def check_predicates(self, spec: QuerySpec) -> None:
        """DataError for a row about a scene or an object that is not there."""
        sizes = spec.objects
        for scene, rows in self._rows.items():
            if scene not in sizes:
                raise DataError(
                    f"no such scene in the data{did_you_mean(scene, sizes)}",
                    file=self.path,
                    row=int(rows[0, -1]),
                    field="scene_id",
                    found=scene,
                )
            self._refuse_strangers(rows, sizes[scene])

    def predicates(self, queries: Queries) -> Verdicts:
        """What the file says about this scene."""
        n = len(queries)
        answers = np.full((n, n, len(PREDICATES)), UNKNOWN, dtype=np.int8)
        rows = self._rows.get(queries.scene_id)
        if rows is not None:
            self._refuse_strangers(rows, n)
            subject, other, predicate, answer, _ = rows.T
            answers[subject, other, predicate] = answer
        return Verdicts(answers)

    def _refuse_strangers(self, rows: NDArray[np.int64], n: int) -> None:
        for column, field in enumerate(("subject", "object")):
            beyond = rows[rows[:, column] >= n]
            if len(beyond):
                raise DataError(
                    "no such object in the scene",
                    file=self.path,
                    row=int(beyond[0, -1]),
                    field=field,
                    expected=f"0…{n - 1}" if n else "none, it is empty",
                    found=int(beyond[0, column]),
                )


def _read_csv(path: Path) -> pl.DataFrame:
    return read_csv(path, _CSV).with_columns(pl.col("predicate", "answer").cast(pl.Int64))


def _read_jsonl(path: Path) -> pl.DataFrame:
    """The rows of a JSONL file, each checked; blank lines are not allowed, so that rows are lines."""
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from error
    if lines == [""]:
        raise DataError("file has no rows", file=path, row=1, expected="at least one row", found="")
    rows = [_parsed(line, path, number) for number, line in enumerate(lines, start=1)]
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.Int64) | {"scene_id": pl.String}, orient="row")


def _parsed(line: str, path: Path, number: int) -> tuple[str, int, int, int, int]:
    try:
        told = json.loads(line)
    except ValueError as error:
        raise DataError(f"not JSON: {error}", file=path, row=number) from None
    if not isinstance(told, dict) or set(told) != set(COLUMNS):
        raise DataError("not an answer", file=path, row=number, expected=f"an object with {', '.join(COLUMNS)}")
    scene = told["scene_id"]
    if not isinstance(scene, str):
        raise DataError("not a scene", file=path, row=number, field="scene_id", expected="text", found=scene)
    subject, other = (_whole(told[end], path, number, end) for end in ("subject", "object"))
    coded = [
        _word(told[key], words, path, number, key) for key, words in (("predicate", _CODES), ("answer", _ANSWERS))
    ]
    return scene, subject, other, coded[0], coded[1]


def _whole(value: Any, path: Path, row: int, field: str) -> int:
    """A place: a whole number, or its digits."""
    if isinstance(value, str | int) and not isinstance(value, bool) and _DIGITS.fullmatch(str(value)):
        return int(value)
    raise DataError("not a place", file=path, row=row, field=field, expected=_PLACE, found=value)


def _word(value: Any, words: dict[str, int], path: Path, row: int, field: str) -> int:
    if isinstance(value, str) and value in words:
        return words[value]
    raise DataError(
        f"not a known {field}{did_you_mean(str(value), words)}",
        file=path,
        row=row,
        field=field,
        expected=f"one of {', '.join(words)}",
        found=value,
    )


def _refuse_doubles(frame: pl.DataFrame, path: Path) -> None:
    itself = frame.filter(pl.col("subject") == pl.col("object"))
    if itself.height:
        raise DataError(
            "subject and object are the same",
            file=path,
            row=int(itself["line"][0]),
            field="object",
            found=int(itself["object"][0]),
        )
    key = ["scene_id", "subject", "object", "predicate"]
    again = frame.filter(~pl.struct(key).is_first_distinct())
    if again.height:
        raise DataError(
            "answered twice",
            file=path,
            row=int(again["line"][0]),
            field="predicate",
            found=PREDICATES[again["predicate"][0]],
        )
