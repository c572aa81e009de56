"""``dataset.json``: what a dataset folder says about itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from sightline.documents import read_json_object
from sightline.errors import DataError
from sightline.store.schema import SCHEMA_VERSION, SCHEMAS
from sightline.typed import Least, Unfit, Value, typed

MANIFEST = "dataset.json"
IMAGES = "images"
PARTIAL = "partial"
SHAPES = "shapes"
CANONICAL = "canonical"
OWNED = (MANIFEST, IMAGES, PARTIAL, SHAPES, CANONICAL, *SCHEMAS)
"""The names a dataset folder may hold."""

_SHARD_NAME = re.compile(r"\d{5,}")


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One Parquet file of a shard: its rows, its size in bytes and the sha256 of those bytes."""

    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """One shard: the same run of scenes in all four tables.

    Attributes:
        name: ``00000``, ``00001``…; its files are ``<table>/<name>.parquet``.
        scenes: How many scenes.
        first: Smallest scene id; `last` the largest. Ids compare by code point.
        fingerprint: Of the shard's values alone.
        files: By table.
    """

    name: str
    scenes: int
    first: str
    last: str
    fingerprint: str
    files: Mapping[str, FileInfo]

    @property
    def rows(self) -> dict[str, int]:
        """Rows by table."""
        return {table: file.rows for table, file in self.files.items()}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A dataset at a glance.

    Attributes:
        source: Where the data comes from.
        created: ISO 8601 in UTC.
        splits: Names of the splits, sorted.
        fingerprint: Of all values.
        shards: In the order of their scenes.
        truth: Fingerprint of all values but the pictures; empty in folders written before there was one.
        recipe: How the scenes were made, where they were generated: plain values, no part of the fingerprint.
    """

    source: str
    created: str
    splits: tuple[str, ...]
    fingerprint: str
    shards: tuple[ShardInfo, ...]
    schema_version: int = SCHEMA_VERSION
    truth: str = ""
    recipe: Mapping[str, Any] | None = None

    def to_json(self) -> bytes:
        """The file's bytes."""
        return json.dumps(
            {
                "schema_version": self.schema_version,
                "source": self.source,
                "created": self.created,
                "splits": self.splits,
                "fingerprint": self.fingerprint,
                **({"truth": self.truth} if self.truth else {}),
                **({} if self.recipe is None else {"recipe": self.recipe}),
                "shards": [shard_to_dict(s) for s in self.shards],
            },
            indent=1,
            ensure_ascii=False,
        ).encode()


def is_dataset(path: str | Path) -> bool:
    """Whether a folder holds a Sightline dataset."""
    return (Path(path) / MANIFEST).exists()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a dataset folder, or a DataError that says why it is none."""
    path = folder / MANIFEST
    if not path.exists():
        raise DataError("not a dataset: there is no manifest", file=path)
    stored = read_json_object(path)
    version = stored.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        problem = "written by a newer Sightline" if newer else "unknown schema version"
        raise DataError(problem, file=path, field="schema_version", expected=SCHEMA_VERSION, found=version)
    known = {f.name for f in fields(_StoredManifest)}
    at = Value({name: value for name, value in stored.items() if name in known}, str(path))
    given: _StoredManifest = at.read(_StoredManifest)
    shards = tuple(shard.described() for shard in given.shards)
    said = (given.source, given.created, given.splits, given.fingerprint)
    return Manifest(*said, shards, truth=given.truth, recipe=given.recipe)


def shard_to_dict(shard: ShardInfo) -> dict[str, Any]:
    """A shard's entry as plain values."""
    return {
        "name": shard.name,
        "scenes": shard.scenes,
        "first_scene": shard.first,
        "last_scene": shard.last,
        "rows": shard.rows,
        "fingerprint": shard.fingerprint,
        "files": {table: {"bytes": f.bytes, "sha256": f.sha256} for table, f in shard.files.items()},
    }


def read_shard_note(path: Path) -> ShardInfo:
    """A shard's entry from a file of its own, as `shard_to_dict` gives it."""
    return typed(read_json_object(path), _StoredShard, str(path)).described()


def _digits(name: str) -> str:
    if not _SHARD_NAME.fullmatch(name):
        raise Unfit("not the name of a shard", "five digits or more")  # it becomes a path
    return name


def _all_tables(values: dict[str, Any]) -> dict[str, Any]:
    if set(values) != set(SCHEMAS):
        raise Unfit("not one entry a table", ", ".join(SCHEMAS))
    return values


@dataclass(frozen=True, slots=True)
class _StoredFile:
    bytes: Annotated[int, Least(0)]
    sha256: str


@dataclass(frozen=True, slots=True)
class _StoredShard:
    """A shard's entry as it stands in the file."""

    name: Annotated[str, _digits]
    scenes: Annotated[int, Least(0)]
    first_scene: str
    last_scene: str
    rows: Annotated[Mapping[str, Annotated[int, Least(0)]], _all_tables]
    fingerprint: str
    files: Annotated[Mapping[str, _StoredFile], _all_tables]

    def described(self) -> ShardInfo:
        files = {t: FileInfo(self.rows[t], self.files[t].bytes, self.files[t].sha256) for t in SCHEMAS}
        return ShardInfo(self.name, self.scenes, self.first_scene, self.last_scene, self.fingerprint, files)


@dataclass(frozen=True, slots=True)
class _StoredManifest:
    """The manifest as it stands in the file; keys beside these are passed over."""

    source: str
    created: str
    splits: tuple[str, ...]
    fingerprint: str
    shards: tuple[_StoredShard, ...]
    truth: str = ""
    recipe: Mapping[str, Any] | None = None
