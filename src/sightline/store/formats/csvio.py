"""Checked reading and all-or-nothing writing of the CSV files of outside formats.

Columns are found by name, in any order. Every cell is read as text and then parsed by its `Column`; the first
cell that does not parse is a DataError with its row (the header is row 1) and column. Files are read in blocks,
so the text of a big file is never in memory as a whole; `csv_blocks` hands them on one by one. Cells may be quoted
but hold no line break, hence row numbers are line numbers.
"""

from __future__ import annotations

import csv
import io
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

import polars as pl

from sightline.errors import DataError
from sightline.files import regular_size, sync_folder
from sightline.store.formats.bulk import give_back
from sightline.store.tables import POLARS_ERRORS

BLOCK: Final = 1 << 21
"""Bytes of text parsed at once."""
FIRST_ROW: Final = 2
"""Line of the first row below a header."""
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Column:
    """How to read the cells of one column.

    Attributes:
        expected: What a cell must be, in words, for the error.
        parse: From a text expression to the value, null where the cell is not as expected.
        problem: What is wrong with a cell that gives null.
    """

    expected: str
    parse: Callable[[pl.Expr], pl.Expr]
    problem: str


def _text(cell: pl.Expr) -> pl.Expr:
    return pl.when(cell.str.contains(r"^[^\x00-\x1f\x7f]+$")).then(cell)


def _number(cell: pl.Expr) -> pl.Expr:
    number = cell.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


TEXT: Final = Column("text on one line", _text, "empty, or holds a control character")
NUMBER: Final = Column("a finite number", _number, "not a finite number")


def code(codes: Mapping[str, int], *, problem: str = "label outside its range") -> Column:
    """A column of labels: exactly these spellings, becoming these codes (Int8).

    >>> pl.select(code({"0": 5}).parse(pl.lit("0"))).item()
    5
    """
    known = {spelling: int(value) for spelling, value in codes.items()}
    return Column(
        "one of " + ", ".join(known),
        lambda cell: cell.replace_strict(known, default=None, return_dtype=pl.Int8),
        problem,
    )


def code_list(words: Mapping[str, str], *, problem: str = "vote outside its range") -> Column:
    """A column of comma-separated lists of labels, becoming lists of words.

    >>> pl.select(code_list({"0": "none", "1": "occludes"}).parse(pl.lit("1,0"))).item().to_list()
    ['occludes', 'none']
    """

    def parse(cell: pl.Expr) -> pl.Expr:
        named = pl.element().replace_strict(words, default=None, return_dtype=pl.String)
        votes = cell.str.split(",").list.eval(named)
        return pl.when(~votes.list.eval(pl.element().is_null()).list.any()).then(votes)

    return Column("a comma-separated list of " + ", ".join(words), parse, problem)


def read_csv(
    path: Path,
    columns: Mapping[str, Column],
    *,
    ignored: Collection[str] = (),
    needs_rows: bool = True,
    header: bool = True,
) -> pl.DataFrame:
    """The named columns of a CSV file, parsed, in file order; arguments and errors are those of `csv_blocks`."""
    blocks = csv_blocks(path, columns, ignored=ignored, needs_rows=needs_rows, header=header)
    return pl.concat([frame for _, frame in blocks])


def csv_blocks(
    path: Path,
    columns: Mapping[str, Column],
    *,
    ignored: Collection[str] = (),
    needs_rows: bool = True,
    header: bool = True,
    block: int = BLOCK,
) -> Iterator[tuple[int, pl.DataFrame]]:
    """(line of the first row, parsed rows) of consecutive parts of a CSV file; one empty part if it has no rows.

    Args:
        path: The file: UTF-8 without a byte order mark, comma-separated.
        columns: Name and reading of every column that must be there.
        ignored: Names that may be there too and are not looked at; any other column is an error.
        needs_rows: Whether a file without rows is an error.
        header: False where the file has no header and its columns are those of `columns`, in that order.
        block: Bytes of text parsed at once; a row must fit.

    Raises:
        DataError: Naming file, row, column, what was expected and what stood there.
    """
    line = 0
    try:
        regular_size(path)
        names = _header(path, columns, ignored) if header else list(columns)
        for line, text in _blocks(path, names, header, block):
            yield line, _parsed(text, columns, path, line)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from None
    if line:
        return
    if needs_rows:
        raise DataError("file has no rows", file=path, row=FIRST_ROW, expected="at least one row", found="")
    yield FIRST_ROW, _parsed(pl.DataFrame(schema=dict.fromkeys(columns, pl.String)), columns, path, FIRST_ROW)


def refuse(
    frame: pl.DataFrame,
    bad: pl.Expr,
    problem: str,
    *,
    file: Path,
    field: str,
    expected: str | None = None,
    found: pl.Expr | None = None,
    line: int = FIRST_ROW,
) -> None:
    """Raise a DataError for the first row where `bad` holds; rows of `frame` are those of `file`, in order.

    Args:
        frame: All rows of a file with a header, or consecutive ones.
        bad: True where a row is wrong.
        problem: What is wrong with it.
        file: The file.
        field: The column or columns to look at.
        expected: What would have been right.
        found: What to show of the row; the values of `field` if not given.
        line: Line number of the frame's first row.
    """
    shown = pl.concat_str(pl.col(field.split(", ")), separator=", ") if found is None else found
    wrong = frame.select(bad.alias("bad"), shown.alias("found")).with_row_index().filter("bad")
    if wrong.height:
        index, _, value = wrong.row(0)
        raise DataError(problem, file=file, row=line + index, field=field, expected=expected, found=value)


def refuse_boxes(frame: pl.DataFrame, names: Sequence[str], *, file: Path, line: int = FIRST_ROW) -> None:
    """Raise a DataError for the first box that is not a real part of the image.

    Args:
        frame: All rows of a file with a header, or consecutive ones.
        names: Columns of least x, greatest x, least y, greatest y, in fractions of the image.
        file: The file.
        line: Line number of the frame's first row.
    """
    wrong = partial(refuse, frame, file=file, line=line)
    for name in names:
        outside = ~pl.col(name).is_between(0.0, 1.0)
        wrong(outside, "box leaves the image", field=name, expected="a number in [0, 1]")
    for low, high in (names[:2], names[2:]):
        turned = pl.col(low) >= pl.col(high)
        wrong(turned, "box is reversed or empty", field=f"{low}, {high}", expected=f"{low} < {high}")


def write_csvs(frames: Mapping[Path, pl.DataFrame]) -> None:
    """Write all the frames or none: each to a temporary file beside its place, then all renamed into place.

    Raises:
        DataError: Where a folder or file cannot be written.
    """
    made: dict[Path, Path] = {}
    try:
        for path, frame in frames.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            made[path] = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
            with made[path].open("xb") as file:
                frame.write_csv(file)
                file.flush()
                os.fsync(file.fileno())
        for path, temporary in made.items():
            temporary.replace(path)
            sync_folder(path.parent)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", file=path) from None
    finally:
        for temporary in made.values():
            temporary.unlink(missing_ok=True)


def _header(path: Path, columns: Mapping[str, Column], ignored: Collection[str]) -> list[str]:
    """The column names in the file's order, once they are what they must be."""
    with path.open("rb") as file:
        line = file.readline()
    if not line:
        raise DataError("file is empty", file=path, row=1, expected=f"a header with {', '.join(columns)}", found="")
    _refuse_bom(path, line)
    try:
        names = next(csv.reader([line.decode().rstrip("\r\n")]), [])
    except (UnicodeDecodeError, csv.Error):
        raise DataError(
            "header is not one line of UTF-8 text", file=path, row=1, expected=", ".join(columns)
        ) from None
    wrong = partial(DataError, file=path, row=1, expected=", ".join(columns), found=", ".join(names))
    for position, name in enumerate(names):
        if name in names[:position]:
            raise wrong("column stands twice", field=name, expected="it once")
    for name in columns:
        if name not in names:
            raise wrong("column is missing", field=name)
    for name in names:
        if name not in columns and name not in ignored:
            raise wrong("unexpected column", field=name or "(no name)")
    return names


def _refuse_bom(path: Path, start: bytes) -> None:
    if start.startswith(_BOM):
        raise DataError(
            "file begins with a byte order mark (BOM)", file=path, row=1, expected="plain UTF-8", found="\ufeff"
        )


def _blocks(path: Path, names: Sequence[str], header: bool, block: int) -> Iterator[tuple[int, pl.DataFrame]]:
    """(line number of the first row, all rows as text) of consecutive parts of the file."""
    line = FIRST_ROW if header else 1
    schema = dict.fromkeys(names, pl.String)
    with path.open("rb") as file:
        _refuse_bom(path, file.read(len(_BOM)))
        file.seek(0)
        if header:
            file.readline()
        try:
            while data := _whole_rows(file, path, block):
                frame = pl.read_csv(
                    data, has_header=False, schema=schema, empty_string_is_null=False, extra_columns="raise"
                )
                if (frame[names[-1]] == "").any():  # an empty cell, or one that is not there
                    _refuse_short_rows(data, len(names), path, line)
                yield line, frame
                line += frame.height
        except POLARS_ERRORS as error:
            raise _broken_line(path, len(names)) or DataError(f"not a CSV file: {error}", file=path) from None
        finally:
            give_back()


def _whole_rows(file: IO[bytes], path: Path, block: int) -> bytes:
    """About a block of bytes up to the end of a line, where no quoted cell is open."""
    parts = [file.read(block), file.readline(block)]
    quotes = parts[0].count(b'"') + parts[1].count(b'"')
    while quotes % 2:
        parts.append(file.readline(block))
        quotes += parts[-1].count(b'"')
        if not parts[-1] or sum(map(len, parts)) > 4 * block:
            where = "runs on" if parts[-1] else "ends"
            found = b"".join(parts[-2:]).rstrip(b"\r\n")[-60:]
            raise DataError(f"file {where} inside a quoted cell", file=path, expected='a closing "', found=found)
    return b"".join(parts)


def _refuse_short_rows(data: bytes, width: int, path: Path, line: int) -> None:
    """Raise a DataError for the first row of a part with too few cells: polars fills them up."""
    row = line
    try:
        for row, cells in enumerate(csv.reader(io.StringIO(data.decode(), newline="")), start=line):
            if cells and len(cells) != width:
                raise _wrong_width(path, row, width, len(cells))
    except csv.Error as error:
        raise DataError(f"not a CSV row: {error}", file=path, row=row) from None


def _wrong_width(path: Path, row: int, expected: int, found: int) -> DataError:
    return DataError("row has the wrong number of cells", file=path, row=row, expected=expected, found=found)


def _broken_line(path: Path, width: int) -> DataError | None:
    """The first line that is not UTF-8 or has not `width` cells, as an error; None if all are well.

    Slow, and only called when the fast parser has given up: its own report of a bad row fails on undecodable text.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                cells = len(next(csv.reader([line.decode().rstrip("\r\n")]), []))
            except UnicodeDecodeError as error:
                wrong = line[error.start : error.end]
                return DataError("not UTF-8", file=path, row=number, expected="UTF-8 text", found=wrong)
            except csv.Error as error:
                return DataError(f"not a CSV row: {error}", file=path, row=number)
            if cells != width:
                return _wrong_width(path, number, width, cells)
    return None


def _parsed(block: pl.DataFrame, columns: Mapping[str, Column], path: Path, line: int) -> pl.DataFrame:
    """The block's named columns, parsed; `line` is the line number of its first row."""
    parsed = block.select(column.parse(pl.col(name)).alias(name) for name, column in columns.items())
    wrong = [(series.is_null().arg_true()[0], name) for name, series in _with_nulls(parsed)]
    if wrong:
        index, name = min(wrong, key=lambda place: int(place[0]))
        column, found = columns[name], block[name][index]
        problem = column.problem if found else "cell is empty"
        raise DataError(problem, file=path, row=line + index, field=name, expected=column.expected, found=found)
    return parsed


def _with_nulls(frame: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
    return ((name, frame[name]) for name in frame.columns if frame[name].null_count())
