"""One shard: four Parquet files on disk, or four frames in memory, read the same way."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from sightline.errors import DataError
from sightline.files import atomic_write, refuse_outside
from sightline.store.convert import scene_count
from sightline.store.fingerprint import fingerprint
from sightline.store.manifest import FileInfo, ShardInfo
from sightline.store.parquet import refuse_pages
from sightline.store.schema import LATER, SCHEMAS
from sightline.store.tables import POLARS_ERRORS, Tables

_UNDECODABLE = (*POLARS_ERRORS, OSError, ValueError)

SCENES_PER_GROUP = 2_000
"""Scenes in a Parquet row group: opening one scene decodes one group of each table."""


def read_shard(shard: DiskShard | MemoryShard, split: str | None = None) -> Tables:
    """All tables of a shard, or those rows of them that belong to one split."""
    views = shard.frame("views")
    if split is None:
        return Tables(views, *(shard.frame(name) for name in list(SCHEMAS)[1:]))
    views = views.filter(pl.col("split") == split)
    if views.is_empty():
        return Tables.build()
    rest = {
        n: shard.frame(n).filter(pl.col("scene_id").is_in(views["scene_id"].implode())) for n in list(SCHEMAS)[1:]
    }
    return Tables(views=views, **rest)


def write_shard(folder: Path, name: str, tables: Tables, *, compression: str = "zstd") -> ShardInfo:
    """Write non-empty tables, sorted by scene, as ``<folder>/<table>/<name>.parquet``."""
    files = {n: _write_table(table_file(folder, n, name), f, tables, compression) for n, f in tables.frames()}
    return describe(name, tables, files)


def describe(name: str, tables: Tables, files: dict[str, FileInfo]) -> ShardInfo:
    """The manifest entry of sorted tables."""
    ids = tables.views["scene_id"]
    first, last = (ids[0], ids[-1]) if len(ids) else ("", "")
    return ShardInfo(name, scene_count(tables), first, last, fingerprint(tables), files)


def table_file(folder: Path, table: str, name: str) -> Path:
    """Where a shard keeps a table."""
    return folder / table / f"{name}.parquet"


def _write_table(path: Path, frame: pl.DataFrame, tables: Tables, compression: str) -> FileInfo:
    groups = -(-scene_count(tables) // SCENES_PER_GROUP)
    buffer = io.BytesIO()
    frame.write_parquet(
        buffer,
        compression=compression,  # type: ignore[arg-type]  # a literal type of polars; it checks the word itself
        row_group_size=max(1, -(-frame.height // groups)),
        statistics=True,
    )
    data = buffer.getvalue()
    path.parent.mkdir(exist_ok=True)
    atomic_write(path, data)
    return FileInfo(frame.height, len(data), hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class DiskShard:
    """A shard in a dataset folder. Bytes are compared with the manifest's sha256 before they are decoded."""

    folder: Path
    info: ShardInfo
    allow_outside: bool = False
    _sound: dict[str, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def scenes(self) -> int:
        """How many scenes, as the manifest tells."""
        return self.info.scenes

    def may_hold(self, scene_id: str) -> bool:
        """Whether the id lies in the manifest's range."""
        return self.info.first <= scene_id <= self.info.last

    def frame(self, table: str) -> pl.DataFrame:
        """One whole table, checked."""
        path = table_file(self.folder, table, self.info.name)
        frame = _decoded(path, table, pl.scan_parquet(io.BytesIO(self._bytes(table))))
        if frame.height != self.info.files[table].rows:
            expected = self.info.files[table].rows
            raise DataError("shard has the wrong number of rows", file=path, expected=expected, found=frame.height)
        _refuse_columns(path, table, frame.schema)
        return frame

    def scannable(self, table: str) -> Path:
        """The table's file, whose size, bytes and columns are right; they are looked at once, until it changes."""
        path = self._file(table)
        stat = path.stat()
        if self._sound.get(table) != (stat.st_size, stat.st_mtime_ns):
            _refuse_columns(path, table, _schema(path, self._bytes(table)))
            self._sound[table] = (stat.st_size, stat.st_mtime_ns)
        return path

    def rows_of(self, scene_id: str) -> Tables:
        """The rows of one scene, decoding one row group of each table."""
        frames = {}
        for table in SCHEMAS:
            path = self.scannable(table)
            frames[table] = _decoded(path, table, pl.scan_parquet(path).filter(pl.col("scene_id") == scene_id))
        return Tables(**frames)

    def _file(self, table: str) -> Path:
        """The table's file, which is there and has the right size."""
        path = table_file(self.folder, table, self.info.name)
        _check_size(path, self.info.files[table].bytes)
        refuse_outside(path, self.folder, field=table, allowed=self.allow_outside)
        return path

    def _bytes(self, table: str) -> bytes:
        path = self._file(table)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DataError(f"shard cannot be read: {error.strerror}", file=path) from error
        if hashlib.sha256(data).hexdigest() != self.info.files[table].sha256:
            raise DataError("shard is damaged: its bytes are not those that were written", file=path)
        refuse_pages(data, path)
        return data


def _schema(path: Path, data: bytes) -> pl.Schema:
    try:
        return pl.Schema(pl.read_parquet_schema(io.BytesIO(data)))
    except _UNDECODABLE as error:
        raise DataError(f"shard cannot be decoded: {error}", file=path) from error


def _refuse_columns(path: Path, table: str, found: pl.Schema) -> None:
    """Refuse other columns and types than the schema's; those that older files lack are not missed."""
    late = LATER.get(table, frozenset())
    for name in [*SCHEMAS[table], *found]:
        wanted, given = SCHEMAS[table].get(name), found.get(name)
        if wanted != given and not (name in late and given is None):
            words = ["no such column" if kind is None else str(kind) for kind in (wanted, given)]
            raise DataError("shard has the wrong columns", file=path, field=name, expected=words[0], found=words[1])


def _check_size(path: Path, expected: int) -> None:
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise DataError("shard is missing", file=path) from None
    except OSError as error:
        raise DataError(f"shard cannot be read: {error.strerror}", file=path) from error
    if found != expected:
        raise DataError(
            "shard is damaged or half-written", file=path, expected=f"{expected} bytes", found=f"{found} bytes"
        )


def _decoded(path: Path, table: str, scan: pl.LazyFrame) -> pl.DataFrame:
    try:
        frame = scan.collect()
    except _UNDECODABLE as error:
        raise DataError(f"shard cannot be decoded: {error}", file=path) from error
    missing = [c for c in SCHEMAS[table] if c in LATER.get(table, ()) and c not in frame.columns]
    return frame.with_columns(pl.lit(None, SCHEMAS[table][c]).alias(c) for c in missing) if missing else frame


@dataclass(frozen=True)
class MemoryShard:
    """Sorted tables as a shard."""

    tables: Tables

    @cached_property
    def info(self) -> ShardInfo:
        """Made when first asked for: it needs the fingerprint."""
        return describe("memory", self.tables, {n: FileInfo(f.height, 0, "") for n, f in self.tables.frames()})

    @cached_property
    def scenes(self) -> int:
        """How many scenes."""
        return scene_count(self.tables)

    def may_hold(self, scene_id: str) -> bool:  # noqa: ARG002
        """Always: looking is as cheap as asking."""
        return True

    def frame(self, table: str) -> pl.DataFrame:
        """One table."""
        return self.tables.frame(table)

    scannable = frame

    def rows_of(self, scene_id: str) -> Tables:
        """The rows of one scene, by binary search."""
        return Tables(**{name: _run(frame, scene_id) for name, frame in self.tables.frames()})


def _run(frame: pl.DataFrame, scene_id: str) -> pl.DataFrame:
    ids = frame["scene_id"]
    start, stop = int(ids.search_sorted(scene_id, side="left")), int(ids.search_sorted(scene_id, side="right"))
    return frame.slice(start, stop - start)
