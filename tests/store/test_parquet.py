"""Lengths that a Parquet file states, against those pyarrow reads; and what polars must never be given."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scenes import plain_scenes

from sightline.errors import DataError
from sightline.store import Dataset, tables_from_scenes, write
from sightline.store.parquet import _Chunk, _chunks, _Reader, refuse_pages

HERE = Path("t.parquet")


def frame(rows: int) -> pl.DataFrame:
    """Numbers, words with gaps, lists, truth values and a column of nothing."""
    rng = np.random.default_rng(rows)
    return pl.DataFrame(
        {
            "number": rng.random(rows),
            "word": [None if i % 5 == 0 else f"w{i % 7}" for i in range(rows)],
            "list": [[float(j) for j in range(i % 4)] for i in range(rows)],
            "truth": rng.random(rows) > 0.5,
            "nothing": pl.Series([None] * rows, dtype=pl.Int64),
        },
        schema_overrides={"word": pl.String, "list": pl.List(pl.Float64)},
    )


def packed(rows: int, **options: Any) -> bytes:
    """A table as polars writes it."""
    buffer = io.BytesIO()
    frame(rows).write_parquet(buffer, statistics=True, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (0, {}),
        (1, {}),
        (40, {"row_group_size": 7}),
        (3000, {"data_page_size": 200}),
        (50, {"compression": "snappy"}),
    ],
)
def test_what_polars_writes_is_let_through_and_read_as_pyarrow_does(rows: int, options: dict[str, Any]) -> None:
    data = packed(rows, **options)
    refuse_pages(data, HERE)
    meta = pq.ParquetFile(io.BytesIO(data)).metadata
    theirs = []
    for group in range(meta.num_row_groups):
        for column in range(meta.num_columns):
            chunk = meta.row_group(group).column(column)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            theirs.append(_Chunk(start, start + chunk.total_compressed_size, chunk.num_values))
    assert _chunks(data) == theirs


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_what_pyarrow_writes_is_let_through(version: str) -> None:
    buffer = io.BytesIO()
    pq.write_table(frame(500).to_arrow(), buffer, data_page_version=version, row_group_size=90, data_page_size=300)
    refuse_pages(buffer.getvalue(), HERE)


def first_page(data: bytes) -> tuple[int, bytes]:
    """Where the number of values of the first page of values stands, and its bytes."""
    start = next(chunk.start for chunk in _chunks(data))
    reader = _Reader(data, start, len(data))
    head = reader.struct()
    while 5 not in head:  # a dictionary
        reader.at += head[3]
        start = reader.at
        head = reader.struct()
    count = 2 * head[5][1]
    encoded = b""
    while count > 127:
        encoded, count = encoded + bytes([count & 127 | 128]), count >> 7
    encoded += bytes([count])
    return data.index(b"\x15" + encoded, start + 6) + 1, encoded


def test_a_negative_number_of_values_is_refused_where_polars_ends_the_process(tmp_path: Path) -> None:
    data = packed(40)
    at, encoded = first_page(data)
    assert len(encoded) == 1
    spoilt = data[:at] + bytes([79]) + data[at + 1 :]  # 40 is written as 80, −40 as 79
    with pytest.raises(DataError, match=r"t\.parquet: table cannot be decoded: a page lies outside"):
        refuse_pages(spoilt, HERE)
    (tmp_path / "t.parquet").write_bytes(spoilt)
    code = "import polars, resource, sys; polars.read_parquet(sys.argv[1])"
    ended = subprocess.run([sys.executable, "-c", code, tmp_path / "t.parquet"], capture_output=True, check=False)
    assert ended.returncode != 0  # by an abort, as long as polars trusts the number


def test_a_stored_table_is_looked_at_before_it_is_decoded(tmp_path: Path) -> None:
    dataset = write(tables_from_scenes(plain_scenes(4)), tmp_path / "d", source="made up")
    file = tmp_path / "d" / "views" / "00000.parquet"
    data = bytearray(file.read_bytes())
    at, _ = first_page(bytes(data))
    data[at] ^= 1
    file.write_bytes(data)
    told = json.loads((dataset.path / "dataset.json").read_text())
    told["shards"][0]["files"]["views"]["sha256"] = hashlib.sha256(data).hexdigest()
    (dataset.path / "dataset.json").write_text(json.dumps(told))
    again = Dataset.open(dataset.path)
    for read in (lambda: list(again), lambda: again.scene("s0001"), lambda: again.scan("views"), again.tables):
        with pytest.raises(DataError, match=r"views/00000\.parquet: table cannot be decoded: a page"):
            read()
    assert [str(problem.file) for problem in again.verify()] == [str(file)]


def nested(depth: int) -> bytes:
    """A footer with structures within structures."""
    footer = b"\x1c" * depth + b"\0" * (depth + 1)
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no Parquet file"),
        (b"PAR1PAR1", "no Parquet file"),
        (b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1", "footer is longer than the file"),
        (nested(3), "lacks a field"),
        (nested(5000), "nested more than 16 levels"),
        (b"PAR1\x29\xfc" + b"\xff" * 9 + b"\x7f" + (12).to_bytes(4, "little") + b"PAR1", "longer than"),
        (b"PAR1\x28\x64" + (2).to_bytes(4, "little") + b"PAR1", "a text is longer than the file"),
    ],
)
def test_what_cannot_be_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        refuse_pages(data, HERE)


WHOLE = packed(60, row_group_size=25)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_however_spoilt_polars_and_the_process_live_on(changes: list[tuple[int, int]]) -> None:
    """An abort of polars would end this very process."""
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    try:
        refuse_pages(bytes(data), HERE)
        pl.read_parquet(io.BytesIO(bytes(data)))
    except (DataError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pass
