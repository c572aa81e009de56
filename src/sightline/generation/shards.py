"""Shards of a dataset being generated: consecutive scenes, made whole or not at all, and notes of finished ones.

While a dataset is being made its folder holds ``partial/``: ``recipe.json``, and one ``<shard>.json`` for every
finished shard. A shard is named after the index of its first scene, so its name and its number of scenes tell which
scenes it holds, however they were dealt out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sightline.errors import DataError
from sightline.generation.scene import SceneMaker
from sightline.scenes import Scene, validate
from sightline.store import Blobs, atomic_write, tables_from_scenes
from sightline.store.manifest import PARTIAL, ShardInfo, shard_from_dict, shard_to_dict
from sightline.store.schema import SCHEMAS
from sightline.store.shards import DiskShard, write_shard

RECIPE = "recipe.json"


@dataclass(frozen=True, slots=True)
class ShardSpan:
    """The scenes `start` … `stop` − 1 of a dataset."""

    start: int
    stop: int

    @property
    def name(self) -> str:
        """Name of its shard."""
        return f"{self.start:08d}"

    def __len__(self) -> int:
        return self.stop - self.start


def make_shard(maker: SceneMaker, span: ShardSpan, on_scene: Callable[[int], None] | None = None) -> ShardInfo:
    """Make, render and store the scenes of a shard in the maker's folder; doing it again writes the same bytes.

    Args:
        maker: Makes the scenes.
        span: Which.
        on_scene: Called with 1 after every scene.
    """
    blobs = Blobs(maker.folder, lazy=True)
    tables = tables_from_scenes(_counted(maker.scenes(span.start, span.stop, blobs), on_scene))
    blobs.sync({ref for column in ("image", "depth", "ids") for ref in tables.views[column].drop_nulls()})
    info = write_shard(maker.folder, span.name, tables)
    atomic_write(maker.folder / PARTIAL / f"{span.name}.json", json.dumps(shard_to_dict(info)).encode())
    return info


def _counted(scenes: Iterator[Scene], on_scene: Callable[[int], None] | None) -> Iterator[Scene]:
    for scene in scenes:
        yield validate(scene)
        if on_scene is not None:
            on_scene(1)


def finished(folder: Path, known: Sequence[ShardInfo] = ()) -> list[ShardInfo]:
    """List the finished shards of a folder, by index: `known` ones and noted ones whose files are all there."""
    notes = sorted((folder / PARTIAL).glob("[0-9]*.json"))
    shards = {info.name: info for info in [*(_noted(note) for note in notes), *known]}
    whole = sorted((s for s in shards.values() if _is_whole(folder, s)), key=first_index)
    for a, b in pairwise(whole):
        if first_index(a) + a.scenes > first_index(b):
            raise DataError("two shards hold the same scenes", file=folder, found=f"{a.name}, {b.name}")
    return whole


def _noted(note: Path) -> ShardInfo:
    try:
        return shard_from_dict(json.loads(note.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the note of a shard is damaged: {error!r}", file=note) from error


def _is_whole(folder: Path, shard: ShardInfo) -> bool:
    """Whether its tables are there in full; their bytes are checked when they are read."""
    try:
        for table in SCHEMAS:
            DiskShard(folder, shard).scannable(table)
    except DataError:
        return False
    return True


def first_index(shard: ShardInfo) -> int:
    """Index of a shard's first scene."""
    return int(shard.name)


def missing(done: Sequence[ShardInfo], start: int, stop: int, size: int) -> list[ShardSpan]:
    """The shards that are not there yet: gaps between finished ones, cut at multiples of `size`.

    >>> [(s.start, s.stop) for s in missing([], 3, 12, 5)]
    [(3, 5), (5, 10), (10, 12)]
    """
    edges = [start, *(e for s in done for e in (first_index(s), first_index(s) + s.scenes)), stop]
    gaps = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
    return [ShardSpan(max(a, cut), min(b, cut + size)) for a, b in gaps for cut in range(a - a % size, b, size)]
