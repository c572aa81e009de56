"""Files of answers as tables: how each field of a CSV or a JSONL is read, with errors that name row and field."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.documents import parse_json
from sightline.errors import DataError, ModelError
from sightline.files import read_bytes
from sightline.hints import did_you_mean
from sightline.scenes.labels import PREDICATES
from sightline.skills import UNKNOWN
from sightline.store.formats.csvio import FIRST_ROW, NUMBER, TEXT, Column, code, read_csv

ANGLES: Final = ("azimuth", "elevation", "theta")
_LONGEST_LINE: Final = 1 << 20
"""Bytes of a first line that is looked at to tell what a file is."""


@dataclass(frozen=True)
class AnswerField:
    """How one field of an answer is read.

    Attributes:
        cell: In a CSV.
        value: In a JSONL: what a JSON value means, None where it is not as expected.
        problem: What is wrong with such a JSON value, where that is not said as of a cell; `expected` likewise.
        words: Those it must be one of; a near miss is told.
    """

    cell: Column
    value: Callable[[Any], Any]
    problem: str = ""
    expected: str = ""
    words: tuple[str, ...] = ()


def _number(expected: str, problem: str, pattern: str, value: Callable[[Any], Any]) -> AnswerField:
    def parse(cell: pl.Expr) -> pl.Expr:
        return pl.when(cell.str.contains(f"^{pattern}$")).then(cell.cast(pl.Int64, strict=False))

    return AnswerField(Column(expected, parse, problem), value)


def _place(value: Any) -> int | None:
    """A place among objects: a whole number, or its digits."""
    is_place = isinstance(value, str | int) and not isinstance(value, bool) and _PLACE.fullmatch(str(value))
    return int(value) if is_place else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _degrees(value: Any) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if fits and np.isfinite(value) else None


def _only(kinds: Any) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kinds) else None


def _word(name: str, codes: Mapping[str, int], problem: str) -> AnswerField:
    return AnswerField(
        code(codes, problem=problem),
        lambda value: codes.get(value) if isinstance(value, str) else None,
        f"not a known {name}",
        words=tuple(codes),
    )


_PLACE: Final = re.compile(r"[0-9]{1,6}")
_OBJECT: Final = _number("the object's place in the scene, counted from 0", "not a place", _PLACE.pattern, _place)
PREDICATE_FIELDS: Final = {
    "scene_id": AnswerField(TEXT, _only(str), "not a scene", "text"),
    "subject": _OBJECT,
    "object": _OBJECT,
    "predicate": _word("predicate", {word: i for i, word in enumerate(PREDICATES)}, "not a predicate"),
    "answer": _word("answer", {"yes": 1, "no": 0, "unknown": UNKNOWN}, "not an answer"),
}
TURING_FIELDS: Final = {
    "scene_id": AnswerField(TEXT, _only(str), "not a valid scene_id", "text"),
    "stream": _number("a whole number, 0 or more", "not a stream", r"\d{1,9}", _count),
    "step": _number("a whole number, 0 or more", "not a step", r"\d{1,9}", _count),
    "answer": AnswerField(TEXT, _only(str | bool), "not a valid answer", "text, true or false"),
}


DEGREES: Final = AnswerField(NUMBER, _degrees, "not an angle", "degrees")
VIEWPOINT_FIELDS: Final = {
    "scene_id": AnswerField(TEXT, _only(str), "not a scene", "text"),
    "object": AnswerField(TEXT, _only(str), "not an object", "text"),
    **dict.fromkeys(ANGLES, DEGREES),
}


def require_file(path: Path) -> None:
    """ModelError where there is no such file."""
    if not path.is_file():
        raise ModelError(f"{path}: no such file")


def _is_jsonl(path: Path) -> bool:
    return path.suffix.lower() == ".jsonl"


def column_names(path: Path) -> Sequence[str]:
    """Columns of a CSV, or keys of the first line of a JSONL; none where it cannot be read."""
    with path.open("rb") as file:
        line = file.readline(_LONGEST_LINE)
    try:
        if not _is_jsonl(path):
            return next(csv.reader([line.decode("utf-8", "replace")]), [])
        first = parse_json(line, path, 1)
    except (DataError, csv.Error):
        return []
    return list(first) if isinstance(first, dict) else []


def read_answers(
    path: Path, fields: Mapping[str, AnswerField], types: Mapping[str, Any], *, others: bool = False
) -> tuple[int, pl.DataFrame]:
    """The number of the first row of answers, and all rows with these columns, each checked.

    Args:
        path: The file.
        fields: How each is read.
        types: Columns' types, where the file is a JSONL.
        others: Whether a line of a JSONL may have other keys too.
    """
    require_file(path)
    if not _is_jsonl(path):
        frame = read_csv(path, {name: field.cell for name, field in fields.items()}).select(*fields)
        return FIRST_ROW, frame.with_columns(pl.col(pl.Int8).cast(pl.Int64))
    lines = read_bytes(path).removesuffix(b"\n").split(b"\n")
    if lines == [b""]:
        raise DataError("file has no rows", file=path, row=1, expected="at least one row", found="")
    rows = [_parsed(line, fields, path, row, others) for row, line in enumerate(lines, start=1)]
    return 1, pl.DataFrame(rows, schema=types, orient="row")


def _parsed(line: bytes, fields: Mapping[str, AnswerField], path: Path, row: int, others: bool) -> list[Any]:
    """The values of one line; a blank line is none, so that rows are lines."""
    given = parse_json(line, path, row)
    keys = set(given) if isinstance(given, dict) else set()
    if not (keys >= set(fields) if others else keys == set(fields)):
        raise DataError("not an answer", file=path, row=row, expected=f"an object with {', '.join(fields)}")
    values = {name: field.value(given[name]) for name, field in fields.items()}
    for name, field in fields.items():
        if values[name] is None:
            problem = (field.problem or field.cell.problem) + did_you_mean(str(given[name]), field.words)
            expected = field.expected or field.cell.expected
            raise DataError(problem, file=path, row=row, field=name, expected=expected, found=given[name])
    return list(values.values())


def rows_by_key(keys: pl.DataFrame) -> dict[tuple[Any, ...], NDArray[np.intp]]:
    """Rows of each distinct key, in file order."""
    named = keys.columns
    grouped = keys.with_row_index("row").group_by(named, maintain_order=True).agg("row")
    return {tuple(key): np.asarray(rows, dtype=np.intp) for *key, rows in grouped.iter_rows()}
