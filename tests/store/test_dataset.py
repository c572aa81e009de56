"""Datasets on disk and in memory: round trip, access, filters, versions, damage."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from made_scenes import SCENES, plain_scene, plain_scenes, same

from sightline.errors import ConfigError, DataError
from sightline.scenes import Scene
from sightline.store import (
    SCHEMA_VERSION,
    SCHEMAS,
    Dataset,
    Tables,
    shards,
    tables_from_scenes,
    write,
    write_scenes,
)


@pytest.fixture
def stored(tmp_path: Path) -> Dataset:
    """Ten scenes in four shards."""
    return write(tables_from_scenes(plain_scenes(10)), tmp_path / "d", source="made up", scenes_per_shard=3)


@settings(max_examples=12, deadline=None)
@given(SCENES)
def test_scenes_survive_the_disk(made: tuple[Scene, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dataset = write(tables_from_scenes(made), Path(folder) / "d", scenes_per_shard=2)
        expected = sorted(made, key=lambda s: s.id)
        assert list(dataset) == expected
        assert len(dataset) == len(made)
        assert [dataset.scene(s.id) for s in expected] == expected
        assert dataset.splits == tuple(sorted({s.split for s in made} - {""}))
        assert dataset.verify() == []
        assert dataset.fingerprint == Dataset.from_tables(tables_from_scenes(made)).fingerprint


def test_layout(stored: Dataset) -> None:
    told = json.loads((stored.path / "dataset.json").read_text())
    assert told["schema_version"] == SCHEMA_VERSION
    assert told["source"] == stored.source == "made up"
    assert told["splits"] == ["test", "validation"]
    assert [s["scenes"] for s in told["shards"]] == [3, 3, 3, 1]
    assert told["shards"][1] | {"fingerprint": 0, "files": 0} == {
        "name": "00001",
        "scenes": 3,
        "first_scene": "s0003",
        "last_scene": "s0005",
        "rows": {"views": 3, "objects": 9, "sightings": 9, "relations": 9},
        "fingerprint": 0,
        "files": 0,
    }
    assert sorted(p.name for p in stored.path.iterdir()) == sorted(["dataset.json", *SCHEMAS])
    assert [p.name for p in sorted((stored.path / "relations").iterdir())] == [f"0000{i}.parquet" for i in range(4)]


def test_memory_and_disk_say_the_same(stored: Dataset) -> None:
    memory = Dataset.from_tables(tables_from_scenes(plain_scenes(10)[::-1]), stored.path)
    assert list(memory) == list(stored)
    assert memory.fingerprint == stored.fingerprint
    assert memory.splits == stored.splits
    assert memory.scene("s0007") == stored.scene("s0007")
    assert [s.scenes for s in memory.shards] == [10]
    assert memory.verify() == []
    assert same(memory.tables("test"), stored.tables("test"))
    assert memory.scan("objects").collect().equals(stored.scan("objects").collect())


def test_splits(stored: Dataset) -> None:
    ids = [s.id for s in stored.scenes("validation")]
    assert ids == ["s0000", "s0003", "s0006", "s0009"]
    tables = stored.tables("validation")
    assert tables.relations["scene_id"].unique().sort().to_list() == ids
    assert tables.objects.height == 12
    assert same(stored.tables(), tables_from_scenes(plain_scenes(10)))
    with pytest.raises(ConfigError, match="no split 'tset': it has test, validation"):
        stored.tables("tset")


@pytest.mark.parametrize("missing", ["s0010", "a", "z", "s00035", ""])
def test_unknown_scene(stored: Dataset, missing: str) -> None:
    for dataset in (stored, Dataset.from_tables(stored.tables())):
        with pytest.raises(DataError, match="no such scene"):
            dataset.scene(missing)


def test_filters_reach_the_files(stored: Dataset) -> None:
    scan = stored.scan("relations").filter(pl.col("scene_id") == "s0004").select("predicate")
    assert scan.collect()["predicate"].to_list() == ["closer"] * 3
    plan = scan.explain()
    assert "SELECTION" in plan
    assert "FILTER" not in plan
    assert f"2/{len(SCHEMAS['relations'])} COLUMNS" in plan
    with pytest.raises(ConfigError, match="unknown table 'relation'"):
        stored.scan("relation")


def test_scenes_by_their_place(tmp_path: Path) -> None:
    dataset = write(tables_from_scenes(plain_scenes(7)), tmp_path / "d", scenes_per_shard=3)
    for data in (dataset, Dataset.from_tables(tables_from_scenes(plain_scenes(7)))):
        scenes = list(data)
        assert [data[i] for i in range(-7, 7)] == scenes + scenes
        assert data[1:6:2] == scenes[1:6:2]
        assert data[::-1] == scenes[::-1]
        assert data[9:] == []
        for outside in (7, -8):
            with pytest.raises(IndexError, match=f"no scene {outside}: .* has 7"):
                data[outside]


def test_one_scene_touches_one_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SCENES_PER_GROUP", 4)
    dataset = write(tables_from_scenes(plain_scenes(40)), tmp_path / "d")
    groups = pl.scan_parquet(tmp_path / "d/relations/00000.parquet").collect().height / 12
    import pyarrow.parquet as pq

    meta = pq.ParquetFile(tmp_path / "d/relations/00000.parquet").metadata
    assert meta.num_row_groups == groups == 10
    holding = [
        g
        for g in range(10)
        if meta.row_group(g).column(0).statistics.min <= "s0021" <= meta.row_group(g).column(0).statistics.max
    ]
    assert len(holding) == 1
    assert dataset.scene("s0021") == plain_scene(21, "validation")


def test_overlapping_shards_still_find_their_scenes(tmp_path: Path) -> None:
    made = plain_scenes(12)
    parts = [tables_from_scenes(made[k::3]) for k in range(3)]
    dataset = write(iter(parts), tmp_path / "d", scenes_per_shard=4)
    assert len(dataset.shards) == 3
    assert [dataset.scene(s.id) for s in made] == made
    assert sorted(dataset, key=lambda s: s.id) == made
    assert dataset.verify() == []


@pytest.mark.parametrize("part", [1, 2, 5, 20])
def test_parts_of_any_size_give_the_same_dataset(tmp_path: Path, part: int) -> None:
    made = plain_scenes(10)
    parts = (tables_from_scenes(made[i : i + part]) for i in range(0, 10, part))
    dataset = write(parts, tmp_path / "d", scenes_per_shard=3)
    whole = write(tables_from_scenes(made), tmp_path / "e", scenes_per_shard=3)
    assert [s.scenes for s in dataset.shards] == [3, 3, 3, 1]
    assert dataset.shards == whole.shards
    assert dataset.fingerprint == whole.fingerprint


def test_nothing_to_write(tmp_path: Path) -> None:
    dataset = write([], tmp_path / "d")
    assert (len(dataset), list(dataset), dataset.shards, dataset.splits) == (0, [], (), ())
    assert dataset.scan("views").collect().height == 0
    assert same(dataset.tables(), Tables.build())
    assert dataset.verify() == []


def test_scenes_are_written_in_batches(tmp_path: Path) -> None:
    dataset = write_scenes(iter(plain_scenes(7)), tmp_path / "d", scenes_per_shard=3)
    assert [s.scenes for s in dataset.shards] == [3, 3, 1]
    assert list(dataset) == plain_scenes(7)


@pytest.mark.parametrize(
    ("path", "version"),
    [
        (("schema_version",), SCHEMA_VERSION + 1),  # from the future
        (("schema_version",), "1"),  # a word
        (("schema_version",), True),  # equal to 1 in Python
        (("schema_version",), None),  # none told
    ],
)
def test_other_schema_versions(stored: Dataset, path: tuple[str, ...], version: object) -> None:
    manifest = stored.path / "dataset.json"
    told = json.loads(manifest.read_text())
    told[path[0]] = version
    manifest.write_text(json.dumps(told))
    problem = "newer Sightline" if version == SCHEMA_VERSION + 1 else "unknown schema version"
    with pytest.raises(DataError, match=f"dataset.json, schema_version: .*{problem}.*expected {SCHEMA_VERSION}"):
        Dataset.open(stored.path)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda told: told.pop("shards"), "shards: field is missing"),
        (lambda told: told["shards"][0].pop("rows"), r"shards\[0\]\.rows: field is missing"),
        (lambda told: told["shards"][0]["rows"].pop("views"), r"shards\[0\]\.rows: not one entry a table"),
        (lambda told: told["shards"][0]["rows"].update(views=-1), r"rows\.views: not a fitting whole number"),
        (lambda told: told["shards"][0]["files"]["views"].update(bytes="9"), r"views\.bytes: not a fitting whole"),
        (lambda told: told["shards"][0].update(name="../../x"), r"shards\[0\]\.name: not the name of a shard"),
        (lambda told: told["shards"][0].update(scenes=1.5), r"shards\[0\]\.scenes: not a fitting whole number"),
        (lambda told: told["shards"][0].update(scenes=10**400), "number of 401 digits"),
        (lambda told: told.update(fingerprint=7), "fingerprint: not a text"),
        (lambda told: told.update(splits=None), "splits: not a list"),
        (lambda told: told.update(splits=[1]), r"splits\[0\]: not a text"),
        (lambda told: told.update(recipe=[]), "recipe: not a mapping"),
        (lambda told: told["shards"].append("x"), r"shards\[2\]: not a mapping|shards\[\d\]: not a mapping"),
    ],
)
def test_a_damaged_manifest(stored: Dataset, spoil: Callable[[dict[str, object]], object], says: str) -> None:
    manifest = stored.path / "dataset.json"
    told = json.loads(manifest.read_text())
    spoil(told)
    manifest.write_text(json.dumps(told))
    with pytest.raises(DataError, match=rf"dataset\.json.*{says}"):
        Dataset.open(stored.path)


def test_not_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        Dataset.open(tmp_path)
    (tmp_path / "dataset.json").write_text("[]")
    with pytest.raises(DataError, match="not an object"):
        Dataset.open(tmp_path)
    for path in (tmp_path / "nowhere", tmp_path / "dataset.json"):
        with pytest.raises(DataError, match="not a dataset"):
            Dataset.open(path)


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 0x55
    file.write_bytes(data)


def _not_parquet(file: Path) -> None:
    file.write_bytes(b"x" * file.stat().st_size)


def _other_rows(file: Path) -> None:
    frame = pl.read_parquet(file)
    frame.head(1).write_parquet(file)


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES = [_truncate, _empty, _flip, _not_parquet, _other_rows, _a_folder, Path.unlink]


@pytest.mark.parametrize("table", ["views", "relations"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_shard_is_named_and_the_others_stay(
    stored: Dataset, damage: Callable[[Path], None], table: str
) -> None:
    file = stored.path / table / "00001.parquet"
    damage(file)
    dataset = Dataset.open(stored.path)
    sound = [s for s in plain_scenes(10) if s.id not in {"s0003", "s0004", "s0005"}]

    def reading() -> Iterator[Callable[[], object]]:
        yield lambda: list(dataset)
        yield lambda: dataset.scene("s0004")
        yield dataset.tables

    for read in reading():
        with pytest.raises(DataError, match=f"{table}/00001.parquet: shard"):
            read()
    told: list[DataError] = []
    assert list(dataset.scenes(on_error="skip")) == sound
    assert list(dataset.scenes(on_error=told.append)) == sound
    assert dataset.tables(on_error="skip").views.height == 7
    assert [dataset.scene(s.id) for s in sound] == sound
    assert [e.file for e in told] == [e.file for e in dataset.verify()] == [file]


@pytest.mark.parametrize("damage", [_truncate, _empty, _other_rows, Path.unlink])
def test_a_scan_names_the_damaged_shard(stored: Dataset, damage: Callable[[Path], None]) -> None:
    damage(stored.path / "objects" / "00002.parquet")
    with pytest.raises(DataError, match=r"objects/00002\.parquet"):
        stored.scan("objects")
    rest = stored.scan("objects", on_error="skip").collect()
    assert rest.height == 21
    assert stored.scan("views").collect().height == 10


def test_damage_after_a_first_look_is_seen(stored: Dataset) -> None:
    assert stored.scene("s0004").id == "s0004"
    _flip(stored.path / "objects" / "00001.parquet")
    with pytest.raises(DataError, match=r"objects/00001\.parquet: shard is damaged"):
        stored.scene("s0004")


def _retell(dataset: Dataset, change: Callable[[dict[str, object]], object]) -> Dataset:
    manifest = dataset.path / "dataset.json"
    told = json.loads(manifest.read_text())
    change(told)
    manifest.write_text(json.dumps(told))
    return Dataset.open(dataset.path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda t: t["shards"][1].update(fingerprint="0" * 64),
            "row 00001: fingerprint does not fit",
        ),  # of a shard
        (lambda t: t.update(fingerprint="0" * 64), "dataset.json: fingerprint does not fit"),  # of the whole
        (lambda t: t["shards"][1].update(last_scene="s0009"), "row 00001: shard holds other scenes"),  # range
        (lambda t: t["shards"][1].update(scenes=4), "row 00001: shard holds other scenes"),  # number
        (lambda t: t["shards"][1]["rows"].update(objects=8), "objects/00001.parquet: shard has the wrong number"),
        (lambda t: t["shards"].append(t["shards"][0]), "scene stands in two shards"),  # one shard twice
    ],
)
def test_verify_lists_what_the_manifest_gets_wrong(
    stored: Dataset, change: Callable[[dict[str, object]], object], problem: str
) -> None:
    found = [str(e) for e in _retell(stored, change).verify()]
    assert any(problem in text for text in found), found


def test_verify_lists_every_problem(stored: Dataset) -> None:
    _truncate(stored.path / "views" / "00000.parquet")
    _flip(stored.path / "objects" / "00000.parquet")
    (stored.path / "relations" / "00003.parquet").unlink()
    assert [e.file and Path(e.file).relative_to(stored.path).as_posix() for e in stored.verify()] == [
        "views/00000.parquet",
        "objects/00000.parquet",
        "relations/00003.parquet",
    ]


def test_other_columns_are_an_error_even_where_the_bytes_are_right(stored: Dataset) -> None:
    from hashlib import sha256

    file = stored.path / "objects" / "00001.parquet"
    pl.read_parquet(file).rename({"shape": "form"}).write_parquet(file)
    data = file.read_bytes()
    entry = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    dataset = _retell(stored, lambda told: told["shards"][1]["files"].update(objects=entry))  # type: ignore[index]
    with pytest.raises(DataError, match=r"objects/00001\.parquet, shape: shard has the wrong columns"):
        list(dataset)


def test_unsound_rows_are_told_where_they_break_what_is_made_of_them(stored: Dataset) -> None:
    """The tables are whole and the manifest fits them, but they contradict each other; found by make fuzz."""
    file = stored.path / "objects" / "00001.parquet"
    pl.read_parquet(file).with_columns(object_id=pl.lit("nobody")).write_parquet(file)

    def fit(told: dict[str, Any]) -> None:
        data = file.read_bytes()
        told["shards"][1]["files"]["objects"] = {"bytes": len(data), "sha256": sha256(data).hexdigest()}

    spoilt = _retell(stored, fit)

    def broken() -> object:
        raise IndexError("no such object")

    with pytest.raises(DataError, match="row 00001: fingerprint does not fit"):
        spoilt.memo("made", broken)
    sound = Dataset.from_tables(tables_from_scenes(plain_scenes(2)))
    with pytest.raises(IndexError, match="no such object"):  # then the fault is not the data's
        sound.memo("made", broken)
    with pytest.raises(DataError, match=re.escape(f"{stored.path}, row s1: wrong")):
        stored.memo("made", partial(_raise, DataError("wrong", row="s1")))


def _raise(error: Exception) -> None:
    raise error
