"""The fingerprint sees every cell and nothing but the cells."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scenes import altered, plain_scenes

from sightline.scenes import Camera, Landmark, Object, Relation, Scene, Sighting, View, Viewpoint
from sightline.store import SCHEMAS, Tables, fingerprint, tables_from_scenes, write

FULL = Scene(
    "s",
    "test",
    "made",
    (View("0", "a.png", (4, 3), camera=Camera((1.0,) * 9, (2.0,) * 12)), View("1")),
    (Object("1", "cup", {"colour": "red"}, (0.5,) * 16, "cylinder"), Object("2", "mug")),
    (
        Sighting("0", "1", (0.0, 0.0, 1.0, 1.0), b"v", b"a", 0.5, frozenset({"group"}), (Landmark("rim", 1, 2),)),
        Sighting("0", "2", (0.0, 0.0, 1.0, 1.0), viewpoint=Viewpoint(1, 2, 3)),
    ),
    (Relation("1", "2", "depth", "closer", ("closer", "same"), "t"), Relation("2", "1", "vrd", None)),
)
TABLES = tables_from_scenes([FULL])
CELLS = [(table, column, row) for table, schema in SCHEMAS.items() for column in schema for row in (0, 1)]


def _other(dtype: pl.DataType, value: object) -> object:
    """Another value of the same type, as near as can be."""
    if isinstance(dtype, pl.List):
        return [*value, "" if dtype.inner == pl.String else 0.0] if value is not None else []  # type: ignore[misc]
    empty = {pl.String: "", pl.Binary: b"", pl.Int32: 0, pl.Float64: 0.0}[type(dtype)]
    return empty if value is None else value + (empty if value == empty else value)  # type: ignore[operator]


@pytest.mark.parametrize(("table", "column", "row"), CELLS)
def test_every_cell_counts(table: str, column: str, row: int) -> None:
    frame = TABLES.frame(table)
    values = frame[column].to_list()
    dtype = SCHEMAS[table][column]
    values[row] = "x" if values[row] == "" else 0.25 if values[row] == 0.0 else _other(dtype, values[row])
    changed = altered(TABLES, table, column, pl.lit(pl.Series(column, values, dtype=dtype)))
    assert not changed.frame(table).equals(frame)
    assert fingerprint(changed) != fingerprint(TABLES)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (["ab", "c"], ["a", "bc"]),  # a border between texts
        ([None, "a"], ["a", None]),  # where the null is
        ([None], [""]),  # null is not empty
        (["a", "b"], ["b", "a"]),  # order
    ],
)
def test_neighbours_do_not_collide(a: list[str | None], b: list[str | None]) -> None:
    def of(values: list[str | None]) -> str:
        return fingerprint(Tables.build(objects=pl.DataFrame({"scene_id": values}, schema={"scene_id": pl.String})))

    assert of(a) != of(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([["a"], ["b"]], [["a", "b"], []]),  # a border between lists
        ([["a", "b"]], [["ab"]]),  # a border between items
        ([[None]], [[""]]),  # a null item
    ],
)
def test_lists_do_not_collide(a: list[list[str]], b: list[list[str]]) -> None:
    def of(votes: list[list[str]]) -> str:
        frame = pl.DataFrame({"votes": votes}, schema={"votes": pl.List(pl.String)})
        return fingerprint(Tables.build(relations=frame))

    assert of(a) != of(b)


def test_nan_is_one_value() -> None:
    import numpy as np

    quiet = np.array([0x7FF8000000000000, 0xFFF8000000000001], dtype=np.uint64).view(np.float64)
    marks = [fingerprint(Tables.build(sightings=pl.DataFrame({"x0": [q]}))) for q in quiet]
    assert marks[0] == marks[1]
    assert marks[0] != fingerprint(Tables.build(sightings=pl.DataFrame({"x0": [0.0]})))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=4))
def test_cutting_does_not_show(cuts: list[int]) -> None:
    from sightline.store.fingerprint import Fingerprint

    tables = tables_from_scenes(plain_scenes(4))
    running = Fingerprint()
    edges = [0, *sorted(cuts), 12]
    for start, stop in pairwise(edges):
        running.update(Tables(**{n: f.slice(start, stop - start) for n, f in tables.frames()}))
    assert running.hexdigest() == fingerprint(tables)


def test_storage_does_not_show(tmp_path: Path) -> None:
    tables = tables_from_scenes(plain_scenes(9))
    marks = set()
    sizes = set()
    for k, (compression, size) in enumerate([("zstd", 9), ("uncompressed", 9), ("lz4", 2), ("snappy", 100)]):
        dataset = write(tables, tmp_path / str(k), compression=compression, scenes_per_shard=size)
        marks.add(dataset.fingerprint)
        sizes.add(sum(f.bytes for s in dataset.shards for f in s.files.values()))
        assert dataset.verify() == []
    assert marks == {fingerprint(tables)}
    assert len(sizes) == 4


def test_it_is_the_same_on_every_machine() -> None:
    assert fingerprint(TABLES) == "894b0c60022c455fcdcdbeb4d9181e97d647c2a6034ab748073e7b06f2f09fa0"
