"""What a run's folder must hold: the fields of its manifest and the columns of its records, checked on reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import polars as pl

from sightline.documents import read_json_object, refuse_deep_lines
from sightline.errors import DataError
from sightline.store.tables import POLARS_ERRORS
from sightline.typed import Value

UNDECODABLE: Final = (*POLARS_ERRORS, ValueError, OverflowError)
"""What polars raises for JSON that is none, or fits no table."""


_MAY_BE_NULL: Final = frozenset({"data", "data_absolute"})


class RecordColumn(NamedTuple):
    """A column of an exam's records.

    Attributes:
        kind: Its type, of polars.
        empty: A judgement may have none (null).
        always: It is there in every run of the exam.
        words: The texts it may hold; none for any.
    """

    kind: Any
    empty: bool = False
    always: bool = True
    words: tuple[str, ...] = ()


SAMPLES: Final = "samples"
"""Column of runs with several answers to each question: all of them in order, the first is the ``answer``."""

IDS: Final = {name: RecordColumn(pl.String) for name in ("item", "scene_id", "cluster_id")}
"""Columns of every exam."""


@dataclass(frozen=True)
class _ManifestFields:
    """What is read of a manifest, beside its identity and the exam's own facts."""

    status: Literal["running", "stopped", "finished", "failed"]
    data: str | None = None
    data_absolute: str | None = None
    started: str = ""
    ended: str = ""
    answered: str = ""
    error: str = ""
    items: int = 0
    items_done: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    seeds: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    budget: str = ""
    broken: Mapping[str, str] = field(default_factory=dict)
    checked: tuple[str, ...] = ()
    not_asked: Mapping[str, str] = field(default_factory=dict)
    resumed: tuple[Mapping[str, Any], ...] = ()


def read_manifest(path: Path, identity: type) -> dict[str, Any]:
    """Read a run's manifest and check its fields.

    Args:
        path: The file.
        identity: The dataclass of the field ``identity``.
    """
    if not path.is_file():
        raise DataError("no run here", file=path, expected="a folder written by `sightline exam`")
    stored = read_json_object(path)
    at, known = Value(stored, str(path)), {f.name for f in fields(_ManifestFields)}
    at["identity"].read(identity)
    Value({name: value for name, value in stored.items() if name in known}, str(path)).read(_ManifestFields)
    if "data" not in stored:
        raise DataError("field is missing", file=path, field="data", expected="the path of the dataset, or null")
    return {name: value for name, value in stored.items() if value is not None or name not in known - _MAY_BE_NULL}


def parse_records(
    lines: bytes, path: Path, columns: Mapping[str, RecordColumn]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Parse the whole lines of a records file: a row a judgement, and a row an item.

    Args:
        lines: At least one, each with its line break.
        path: The file, as errors call it.
        columns: Those of the exam, which are checked beside `IDS`.
    """
    refuse_deep_lines(lines, path)
    try:
        frame = pl.read_ndjson(lines, infer_schema_length=None)
        nested = frame.schema.get("records")
        if not isinstance(nested, pl.Struct):
            raise DataError("damaged records", file=path, field="records", expected="an object of columns")
        for name, dtype in nested.to_schema().items():
            if not isinstance(dtype, pl.List):
                raise DataError("damaged records", file=path, field=f"records.{name}", expected="a list")
        inner = frame.unnest("records")
        _refuse_missing_lists(inner, list(nested.to_schema()), path)
        names = list(nested.to_schema())
        rows = inner.explode(names, empty_as_null=False) if names else inner.clear()
    except UNDECODABLE as cause:
        raise DataError(f"damaged records: {_first_line(cause)}", file=path) from cause
    items = checked_columns(frame.drop("records"), IDS, path, row=True)
    twice = items["item"].filter(items["item"].is_duplicated())
    if len(twice):
        raise DataError("damaged records: item stands twice", file=path, field="item", found=twice[0])
    if SAMPLES in rows.columns and not isinstance(rows.schema[SAMPLES], pl.List):
        found = str(rows.schema[SAMPLES])
        raise DataError("damaged records: wrong type", file=path, field=SAMPLES, expected="lists", found=found)
    return checked_columns(rows, {**IDS, **columns} if rows.height else IDS, path), items


def _refuse_missing_lists(inner: pl.DataFrame, names: list[str], path: Path) -> None:
    for name in names:
        lost = inner[name].is_null().arg_true()
        if len(lost):
            raise DataError("damaged records: a column is missing", file=path, row=int(lost[0]) + 1, field=name)


def checked_columns(
    frame: pl.DataFrame, columns: Mapping[str, RecordColumn], path: Path, *, row: bool = False
) -> pl.DataFrame:
    """The frame with its columns' types; DataError for one that is missing, of another type, empty or unknown."""
    return frame.with_columns(_columns(frame, columns, path, row))


def _columns(
    frame: pl.DataFrame, columns: Mapping[str, RecordColumn], path: Path, row: bool
) -> Iterator[pl.Series]:
    for name, column in columns.items():
        if name not in frame.columns:
            if column.always:
                raise DataError("damaged records: column is missing", file=path, field=name)
            continue
        series, wanted = frame[name], str(column.kind)
        alike = series.dtype == column.kind or series.dtype == pl.Null
        if not alike and not (series.dtype.is_numeric() and column.kind in (pl.Int64, pl.Float64)):
            raise DataError(
                "damaged records: wrong type", file=path, field=name, expected=wanted, found=str(series.dtype)
            )
        try:
            values = series.cast(column.kind)
        except UNDECODABLE:
            raise DataError("damaged records: wrong type", file=path, field=name, expected=wanted) from None
        lost = pl.Series([], dtype=pl.UInt32) if column.empty else values.is_null().arg_true()
        if len(lost):
            place = int(lost[0]) + 1 if row else _place(frame, int(lost[0]))
            raise DataError("damaged records: value is missing", file=path, row=place, field=name, expected=wanted)
        if column.words:
            strange = (~values.is_in(column.words)).fill_null(value=False).arg_true()
            if len(strange):
                found, expected = values[int(strange[0])], " or ".join(map(repr, column.words))
                place = _place(frame, int(strange[0]))
                raise DataError(
                    f"not a known {name}", file=path, row=place, field=name, expected=expected, found=found
                )
        yield values


def _place(frame: pl.DataFrame, index: int) -> str:
    return f"of item {frame['item'][index]}" if "item" in frame.columns else str(index + 1)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:200]
