"""Writing: whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from made_scenes import altered, plain_scene, plain_scenes
from PIL import Image

from sightline.errors import ConfigError, DataError
from sightline.store import Dataset, Tables, atomic_write, shards, tables_from_scenes, write

TABLES = tables_from_scenes(plain_scenes(6))


def _left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_atomic_write_replaces_and_leaves_no_temporary(tmp_path: Path) -> None:
    atomic_write(tmp_path / "f", b"one")
    atomic_write(tmp_path / "f", b"two")
    assert (tmp_path / "f").read_bytes() == b"two"
    assert _left(tmp_path) == ["f"]


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_atomic_write_that_fails_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    atomic_write(tmp_path / "f", b"one")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        with pytest.raises(OSError, match="disk full"):
            atomic_write(tmp_path / "f", b"two")
    assert (tmp_path / "f").read_bytes() == b"one"
    assert _left(tmp_path) == ["f"]


def _breaking_stream() -> Iterator[Tables]:
    yield tables_from_scenes(plain_scenes(4))
    raise RuntimeError("source broke")


@pytest.mark.parametrize("before", [False, True])  # an old dataset stands there
def test_a_failed_write_leaves_what_was_there(tmp_path: Path, before: bool) -> None:
    if before:
        write(tables_from_scenes([plain_scene(99)]), tmp_path / "d")
    with pytest.raises(RuntimeError, match="source broke"):
        write(_breaking_stream(), tmp_path / "d", scenes_per_shard=2, overwrite=True)
    assert _left(tmp_path) == (["d"] if before else [])
    if before:
        assert [s.id for s in Dataset.open(tmp_path / "d")] == ["s0099"]


def test_a_disk_that_fills_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def fills(path: Path, data: bytes) -> None:
        if len(written) == 6:
            raise OSError("disk full")
        written.append(path)
        atomic_write(path, data)

    monkeypatch.setattr(shards, "atomic_write", fills)
    with pytest.raises(OSError, match="disk full"):
        write(TABLES, tmp_path / "d", scenes_per_shard=2)
    assert len(written) == 6
    assert _left(tmp_path) == []


def test_the_name_is_free_until_all_is_written(tmp_path: Path) -> None:
    def parts() -> Iterator[Tables]:
        for scene in plain_scenes(4):
            assert not (tmp_path / "d").exists()
            assert not list(tmp_path.rglob("dataset.json"))
            yield tables_from_scenes([scene])

    assert len(write(parts(), tmp_path / "d", scenes_per_shard=1)) == 4


def test_overwriting(tmp_path: Path) -> None:
    old = write(TABLES, tmp_path / "d", scenes_per_shard=2)
    with pytest.raises(ConfigError, match="already holds dataset"):
        write(TABLES, tmp_path / "d")
    assert old.verify() == []
    new = write(
        (tables_from_scenes([s]) for s in old if s.id > "s0002"), tmp_path / "d", overwrite=True
    )  # reads the old
    assert [s.id for s in new] == ["s0003", "s0004", "s0005"]
    assert len(list((tmp_path / "d" / "views").iterdir())) == 1
    assert _left(tmp_path) == ["d"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_other_peoples_files_are_never_deleted(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "d").mkdir()
    note = tmp_path / "d" / "note.txt"
    note.write_text("mine")
    with pytest.raises(ConfigError, match=r"holds no dataset\.json"):
        write(TABLES, tmp_path / "d", overwrite=overwrite)
    with pytest.raises(ConfigError, match="is a file"):
        write(TABLES, note, overwrite=overwrite)
    note.unlink()
    write(TABLES, tmp_path / "d")  # an empty folder is welcome
    note.write_text("mine")
    with pytest.raises(ConfigError):
        write(TABLES, tmp_path / "d", overwrite=overwrite)
    assert note.read_text() == "mine"
    assert len(Dataset.open(tmp_path / "d")) == 6


def _stream(*numbers: int) -> list[Tables]:
    return [tables_from_scenes([plain_scene(n)]) for n in numbers]


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        (_stream(1, 2, 3, 4, 1), "scene stands in two shards.*s0001"),  # far apart
        (_stream(5, 1, 5, 2), "scene stands in two shards.*s0005"),  # ranges overlap
        (_stream(1, 1), "scene stands in two parts.*s0001"),  # in one shard
        (_stream(2, 3, 3), "s0003"),  # at a border
        (
            Tables(TABLES.views.head(2), TABLES.objects, TABLES.sightings, TABLES.relations),
            "objects.scene_id: rows of a scene that has no view.*s0002",
        ),  # a scene without views
        (
            altered(TABLES, "objects", "scene_id", pl.lit(None, dtype=pl.String)),
            "objects.scene_id: row without",
        ),  # null
        (altered(TABLES, "views", "width", pl.lit(1.5)), "views: table does not have the schema's columns"),  # type
    ],
)
def test_what_cannot_be_written(tmp_path: Path, tables: Tables | list[Tables], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        write(tables, tmp_path / "d", scenes_per_shard=2)
    assert _left(tmp_path) == []


@pytest.mark.parametrize("numbers", [(5, 1, 4, 2, 3), (2, 1), (1,), ()])
def test_ordered_parts_are_written_as_if_all_had_come_at_once(tmp_path: Path, numbers: tuple[int, ...]) -> None:
    parts = _stream(*numbers)
    whole = write(Tables.concat(parts), tmp_path / "whole", scenes_per_shard=2)
    streamed = write(parts, tmp_path / "streamed", scenes_per_shard=2, ordered=True)
    assert streamed.shards == whole.shards  # names, ranges and the sha256 of every file
    assert streamed.fingerprint == whole.fingerprint
    assert _left(tmp_path / "streamed") == _left(tmp_path / "whole")


def test_an_ordered_scene_that_comes_twice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"scene stands in two shards.*s0001"):
        write(_stream(1, 2, 3, 4, 1), tmp_path / "d", scenes_per_shard=2, ordered=True)
    assert _left(tmp_path) == []


def test_pictures_named_by_their_path_are_copied(tmp_path: Path) -> None:
    file = tmp_path / "x.png"
    Image.new("RGB", (4, 3)).save(file)
    pointing = altered(TABLES, "views", "image", pl.lit(str(file)))
    pointing = altered(pointing, "views", "width", pl.lit(None, pl.Int32))
    data = write(pointing, tmp_path / "d", copy=True)
    assert [path.read_bytes() for path in data.blobs.values()] == [file.read_bytes()]
    file.unlink()
    with pytest.raises(DataError, match="picture is missing"):
        write(pointing, tmp_path / "e", copy=True)
    assert _left(tmp_path) == ["d"]


def test_bad_shard_size(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="scenes_per_shard"):
        write(TABLES, tmp_path / "d", scenes_per_shard=0)


KILLED = """
import os, signal, sys
from made_scenes import plain_scenes
from sightline.store import tables_from_scenes, write

def parts():
    for number, scene in enumerate(plain_scenes(9)):
        if number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        yield tables_from_scenes([scene])

write(parts(), sys.argv[1], scenes_per_shard=2, overwrite=True)
"""


@pytest.mark.parametrize("before", [False, True])  # an old dataset stands there
def test_a_killed_write_leaves_what_was_there(tmp_path: Path, before: bool) -> None:
    if before:
        write(TABLES, tmp_path / "d")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "d")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "d").exists() == before
    assert [p.name for p in tmp_path.rglob("dataset.json")] == ["dataset.json"] * before  # the rest is none
    if before:
        assert Dataset.open(tmp_path / "d").verify() == []
    assert any(name.endswith(".partial") for name in _left(tmp_path))
    assert len(write(TABLES, tmp_path / "d", overwrite=True)) == 6
    assert _left(tmp_path) == ["d"]  # nor is anything of the killed one left


def test_a_write_leaves_another_that_is_still_going_alone(tmp_path: Path) -> None:
    def parts() -> Iterator[Tables]:
        yield TABLES
        write(TABLES, tmp_path / "d")
        assert len(_left(tmp_path)) == 2

    with pytest.raises(ConfigError, match="already holds"):
        write(parts(), tmp_path / "d")
    assert _left(tmp_path) == ["d"]


def test_a_write_killed_amid_the_swap_loses_nothing(tmp_path: Path) -> None:
    write(TABLES, tmp_path / "d")
    (tmp_path / "d").rename(tmp_path / ".d.0123456789ab.old")
    with pytest.raises(DataError):
        write(iter([TABLES, TABLES]), tmp_path / "d", overwrite=True)
    assert Dataset.open(tmp_path / "d").verify() == []
    assert _left(tmp_path) == ["d"]
