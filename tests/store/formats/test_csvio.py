"""The checked CSV reader against bad files, and against Python's own reader."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.store.formats.csvio import (
    NUMBER,
    TEXT,
    code,
    code_list,
    csv_blocks,
    read_csv,
    refuse,
    refuse_boxes,
    write_csvs,
)

COLUMNS = {"id": TEXT, "x": NUMBER, "label": code({"0": 0, "-1": -1})}
VOTES = {"v": code_list({"0": "no", "1": "yes"})}


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b'label,note,x,id\r\n-1,free,"2.5",a b\r\n0,,1e-3,"c,d"')
    frame = read_csv(path, COLUMNS, ignored=["note"])
    assert frame.rows() == [("a b", 2.5, -1), ("c,d", 0.001, 0)]
    assert frame.schema == {"id": pl.String, "x": pl.Float64, "label": pl.Int8}


@pytest.mark.parametrize(
    ("content", "row", "field", "problem"),
    [
        (b"", 1, None, "empty"),  # nothing at all
        (b"id,x,label", 2, None, "no rows"),  # header without rows
        (b"id,x,label\n", 2, None, "no rows"),  # the same with a line end
        (b"\xef\xbb\xbfid,x,label\na,1,0\n", 1, None, "byte order mark"),  # BOM
        (b"id,x\na,1\n", 1, "label", "missing"),  # missing column
        (b"id,X,label\na,1,0\n", 1, "x", "missing"),  # a column by another case
        (b"id,x,label,y\na,1,0,2\n", 1, "y", "unexpected"),  # extra column
        (b"id,x,label,\na,1,0,\n", 1, "(no name)", "unexpected"),  # a trailing comma
        (b"id,x,x,label\na,1,1,0\n", 1, "x", "twice"),  # doubled column
        (b"\xff\xfe,x,label\na,1,0\n", 1, None, "UTF-8"),  # header not text
        (b"\na,1,0\n", 1, "id", "missing"),  # blank first line
        (b"id,x,label\na,1,0\nb,1\n", 3, None, "number of cells"),  # short row
        (
            b"id,x,label\na,1,0\nb,1,\nc,1\n",
            4,
            None,
            "number of cells",
        ),  # short row after one with an empty last cell
        (b"id,x,label\na,1,0\nb,1,0,0\n", 3, None, "number of cells"),  # long row
        (b"id,x,label\na,1,0\n\nb,1,0\n", 3, "id", "empty"),  # blank line
        (b"id,x,label\na,1,0\n\xff,1,0\n", 3, None, "UTF-8"),  # not UTF-8
        (b"id,x,label\na\0,1,0\n", 2, "id", "control"),  # NUL in text
        (b"id,x,label\na,1\0,0\n", 2, "x", "finite number"),  # NUL in a number
        (b'id,x,label\n"a\nb",1,0\n', 2, "id", "control"),  # line break in a cell
        (b'id,x,label\na,1,0\nb,1,"0', None, None, "quoted"),  # cut off inside a quoted cell
        (b'id,x,label\n"a,1,0\nb,1,0\n', None, None, "ends inside a quoted cell"),  # a quote never closed
        (b'id,x,label\na,1,0\nb"c,1,0\nd"e,1,0\n', None, None, "not a CSV file"),  # quotes inside a bare cell
        (b"id,x,label\n,1,0\n", 2, "id", "empty"),  # empty text
        (b"id,x,label\na,,0\n", 2, "x", "empty"),  # empty number
        (b"id,x,label\na,NaN,0\n", 2, "x", "finite number"),  # NaN
        (b"id,x,label\na,1,0\nb,-inf,0\n", 3, "x", "finite number"),  # infinite
        (b"id,x,label\na,1e999,0\n", 2, "x", "finite number"),  # infinite by overflow
        (b"id,x,label\na, 1,0\n", 2, "x", "finite number"),  # a blank before the number
        (b"id,x,label\na,one,0\n", 2, "x", "finite number"),  # a word
        (b"id,x,label\na,1,2\n", 2, "label", "range"),  # label out of range
        (b"id,x,label\na,1,0.0\n", 2, "label", "range"),  # label as a fraction
        (b"id,x,label\na,1,0\nb,oops,7\nc,1,7\n", 3, "x", "finite number"),  # the first wrong row, leftmost cell
        (b"id,x,label\ra,1,0\r", 1, None, "UTF-8"),  # old Mac line ends
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, row: int | None, field: str | None, problem: str) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=problem) as caught:
        read_csv(path, COLUMNS)
    assert (caught.value.file, caught.value.row, caught.value.field) == (path, row, field)


def test_a_trailing_column_that_is_not_looked_at_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b'id,x,label,note\na,1,0,\nb,2,-1,""\nc,3,0,"x, ""y"""\n')
    assert read_csv(path, COLUMNS, ignored=["note"])["id"].to_list() == ["a", "b", "c"]


def test_a_quoted_cell_is_not_cut_between_blocks(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"id,x,label,note\n" + b'a,1,0,"one\ntwo"\n' * 20)
    for block in (20, 31, 64):
        frames = [frame for _, frame in csv_blocks(path, COLUMNS, ignored=["note"], block=block)]
        assert pl.concat(frames).height == 20
    path.write_bytes(b'id,x,label\na,1,0\nb,"1,0\n' + b"c,1,0\n" * 40)
    with pytest.raises(DataError, match="runs on inside a quoted cell"):
        list(csv_blocks(path, COLUMNS, block=16))


def test_missing_file_and_folder_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.csv", tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            read_csv(path, COLUMNS)


@pytest.mark.parametrize(
    ("cell", "votes"),
    [
        ('"0,1,1"', ["no", "yes", "yes"]),  # several
        ("1", ["yes"]),  # one
        ('"0,2"', None),  # out of range
        ('"0,,1"', None),  # an empty vote
        ('"0, 1"', None),  # a blank
        ('""', None),  # none
    ],
)
def test_vote_lists(tmp_path: Path, cell: str, votes: list[str] | None) -> None:
    path = tmp_path / "f.csv"
    path.write_text(f"v\n{cell}\n")
    if votes is None:
        with pytest.raises(DataError) as caught:
            read_csv(path, VOTES)
        assert (caught.value.row, caught.value.field) == (2, "v")
    else:
        assert read_csv(path, VOTES)["v"].to_list() == [votes]


@pytest.mark.long
@pytest.mark.parametrize("block", [24, 64, 1000, 1 << 20])
def test_rows_are_counted_across_blocks(tmp_path: Path, block: int) -> None:
    def parts() -> list[tuple[int, pl.DataFrame]]:
        return list(csv_blocks(path, COLUMNS, block=block))

    path = tmp_path / "f.csv"
    rows = [f"n{i},{i},0" for i in range(500)]
    path.write_text("\n".join(["id,x,label", *rows]))
    assert pl.concat([part for _, part in parts()]).equals(read_csv(path, COLUMNS))
    assert [line for line, _ in parts()] == [2 + int(part["x"][0]) for _, part in parts()]
    assert (len(parts()) > 1) is (block < 1 << 20)
    for spoiled in ("n,nan,0", "n,0"):  # a cell, a whole row
        rows[321] = spoiled
        path.write_text("\n".join(["id,x,label", *rows]))
        with pytest.raises(DataError) as caught:
            parts()
        assert caught.value.row == 323


def test_file_without_header(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("a,1,0\nb,x,0")
    with pytest.raises(DataError) as caught:
        read_csv(path, COLUMNS, header=False)
    assert (caught.value.row, caught.value.field) == (2, "x")
    path.write_text("a,1,0")
    assert read_csv(path, COLUMNS, header=False).rows() == [("a", 1.0, 0)]


def test_no_rows_where_none_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("id,x,label\n")
    frame = read_csv(path, COLUMNS, needs_rows=False)
    assert frame.height == 0
    assert frame.schema == {"id": pl.String, "x": pl.Float64, "label": pl.Int8}


TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs"), max_codepoint=0x2FFF), min_size=1, max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(TEXTS, NUMBERS, st.sampled_from(["0", "-1"])), min_size=1, max_size=6))
def test_agrees_with_pythons_reader(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float, str]]
) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["id", "x", "label"], *rows])
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    path.write_bytes(text.getvalue().encode())
    assert read_csv(path, COLUMNS).rows() == [(name, x, int(label)) for name, x, label in rows]


@given(st.lists(st.tuples(TEXTS, NUMBERS), min_size=1, max_size=6))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float]]) -> None:
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    frame = pl.DataFrame(rows, schema={"id": pl.String, "x": pl.Float64}, orient="row")
    write_csvs({path: frame})
    assert read_csv(path, {"id": TEXT, "x": NUMBER}).equals(frame)


def test_refuse_names_the_first_bad_row(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 2]})
    with pytest.raises(DataError) as caught:
        refuse(frame, pl.col("a") == 2, "two", file=tmp_path, field="a", expected="not 2")
    assert (caught.value.row, caught.value.found, caught.value.expected) == (3, "2", "not 2")
    refuse(frame, pl.col("a") == 9, "nine", file=tmp_path, field="a")


@pytest.mark.parametrize(
    ("box", "field"),
    [
        ((0.0, 1.0, 0.0, 1.0), None),  # the whole image
        ((-0.1, 1.0, 0.0, 1.0), "l"),  # leaves on the left
        ((0.0, 1.0, 0.0, 1.01), "b"),  # leaves below
        ((0.5, 0.4, 0.0, 1.0), "l, r"),  # reversed in x
        ((0.0, 1.0, 0.5, 0.5), "t, b"),  # empty in y
    ],
)
def test_refuse_boxes(tmp_path: Path, box: tuple[float, ...], field: str | None) -> None:
    frame = pl.DataFrame([(0.1, 0.2, 0.1, 0.2), box], schema=["l", "r", "t", "b"], orient="row")
    if field is None:
        refuse_boxes(frame, ("l", "r", "t", "b"), file=tmp_path)
        return
    with pytest.raises(DataError) as caught:
        refuse_boxes(frame, ("l", "r", "t", "b"), file=tmp_path)
    assert (caught.value.row, caught.value.field) == (3, field)


def test_writing_several_files_is_all_or_nothing(tmp_path: Path) -> None:
    good, blocked = tmp_path / "a.csv", tmp_path / "b.csv"
    good.write_text("old")
    blocked.mkdir()
    (blocked / "x").touch()
    frame = pl.DataFrame({"a": [1]})
    with pytest.raises(DataError, match="cannot be written"):
        write_csvs({blocked: frame, good: frame})
    assert good.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "b.csv"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no device files")
def test_a_device_is_not_read(tmp_path: Path) -> None:
    """It would never end; found by `make fuzz`."""
    (tmp_path / "f.csv").symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"f\.csv: cannot be read: a pipe or device, not a file"):
        read_csv(tmp_path / "f.csv", COLUMNS)
