"""``dataset.json``: what a dataset folder says about itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightline.errors import DataError
from sightline.store.schema import SCHEMA_VERSION, SCHEMAS

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
        recipe: How the scenes were made, where they were generated: plain values, no part of the fingerprint.
    """

    source: str
    created: str
    splits: tuple[str, ...]
    fingerprint: str
    shards: tuple[ShardInfo, ...]
    schema_version: int = SCHEMA_VERSION
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
    try:
        stored = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise DataError("not a dataset: there is no manifest", file=path) from None
    except (OSError, ValueError) as error:
        raise DataError(f"the manifest cannot be read: {error}", file=path) from error
    version = stored.get("schema_version") if isinstance(stored, dict) else None
    if version != SCHEMA_VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        problem = "written by a newer Sightline" if newer else "unknown schema version"
        raise DataError(problem, file=path, field="schema_version", expected=SCHEMA_VERSION, found=version)
    try:
        return Manifest(
            source=_text(stored, "source"),
            created=_text(stored, "created"),
            splits=tuple(str(s) for s in stored["splits"]),
            fingerprint=_text(stored, "fingerprint"),
            shards=tuple(shard_from_dict(s) for s in stored["shards"]),
            recipe=_recipe(stored.get("recipe")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"the manifest is damaged: {error!r}", file=path) from error


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


def shard_from_dict(stored: Mapping[str, Any]) -> ShardInfo:
    """A shard's entry from plain values; KeyError, TypeError or ValueError where they are none."""
    name = _text(stored, "name")
    if not _SHARD_NAME.fullmatch(name):
        raise ValueError(f"shard name {name!r}")  # it becomes a path: digits only
    files = {
        table: FileInfo(
            rows=int(stored["rows"][table]),
            bytes=int(stored["files"][table]["bytes"]),
            sha256=_text(stored["files"][table], "sha256"),
        )
        for table in SCHEMAS
    }
    return ShardInfo(
        name=name,
        scenes=int(stored["scenes"]),
        first=_text(stored, "first_scene"),
        last=_text(stored, "last_scene"),
        fingerprint=_text(stored, "fingerprint"),
        files=files,
    )


def _recipe(stored: object) -> Mapping[str, Any] | None:
    if stored is None or isinstance(stored, dict):
        return stored
    raise TypeError(f"recipe is {stored!r}")


def _text(stored: Mapping[str, Any], key: str) -> str:
    value = stored[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is {value!r}")
    return value
