"""Canonical views beside a dataset: one strip of small pictures for every distinct object of its scenes.

``canonical/cube-small-red-metal.png`` holds the views of that object side by side; `render.canonical` tells how
they are taken. They are no part of the fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.generate.making import maker_of
from sightline.render.canonical import SIZE, Identity, canonical_layouts, patch
from sightline.scenes import Object
from sightline.store import Dataset, atomic_write
from sightline.store.encodings import UNREADABLE, decode, encode
from sightline.store.manifest import CANONICAL, ShardInfo
from sightline.store.shards import DiskShard
from sightline.worlds.shapes import split_name


@dataclass(frozen=True, slots=True)
class Strip:
    """The canonical views of one object, to be made by the recipe (JSON) in the dataset's folder."""

    folder: Path
    recipe: str
    look: Identity


def draw(strip: Strip) -> None:
    """Make a strip; doing it again writes the same bytes."""
    maker = maker_of(strip.folder, strip.recipe)
    told = maker.recipe
    layouts = list(canonical_layouts(strip.look, maker.world, count=told.canonical, seed=told.seed))
    frames = maker.renderer.stream(layouts, [layouts[0].shots[0].name])
    pixels = np.concatenate([patch(frame) for [frame] in frames], axis=1)
    file = file_of(strip.folder, strip.look)
    file.parent.mkdir(exist_ok=True)
    atomic_write(file, encode("image", pixels, "png")[0])


def file_of(folder: Path, look: Identity) -> Path:
    """Where an object's views are. Own shapes may have any name, so it is quoted as in a web address.

    >>> file_of(Path("d"), ("cube", "red", "metal")).as_posix()
    'd/canonical/cube-medium-red-metal.png'
    """
    return folder / CANONICAL / f"{quote('-'.join((*split_name(look[0]), *look[1:])), safe='')}.png"


def missing_looks(folder: Path, shards: Iterable[ShardInfo], count: int) -> list[Identity]:
    """The distinct objects of those shards whose views are not all there, sorted."""
    looks = {look for shard in shards for look in _looks(DiskShard(folder, shard).frame("objects"))}
    return sorted(look for look in looks if _views_in(file_of(folder, look)) != count)


def _looks(objects: pl.DataFrame) -> set[Identity]:
    told = objects.select(
        "shape", *(pl.col("attributes").str.json_path_match(f"$.{key}").alias(key) for key in ("color", "material"))
    )
    return set(told.unique().rows())


def _views_in(file: Path) -> int:
    try:
        return len(_read(file))
    except (DataError, *UNREADABLE):
        return 0


def _read(file: Path) -> NDArray[np.uint8]:
    strip: NDArray[Any] = decode("image", file)
    height, width = strip.shape[:2]
    if height != SIZE or width % SIZE:
        raise DataError(
            "canonical views of another size",
            file=file,
            expected=f"{SIZE} pixels high, a multiple of {SIZE} wide",
            found=f"{width}×{height}",
        )
    return strip.reshape(SIZE, -1, SIZE, 3).swapaxes(0, 1)


def canonical_of(dataset: Dataset, thing: Object) -> NDArray[np.uint8]:
    """The canonical views of an object of a generated dataset, (count, 32, 32, 3) uint8 sRGB.

    Raises:
        DataError: The dataset has none, none of such an object, or views of another size.
    """
    if not (dataset.path / CANONICAL).is_dir():
        raise DataError(
            "the dataset has no canonical views: run the same sightline generate again with --canonical N",
            file=dataset.path,
        )
    look = (thing.shape or "", thing.attributes.get("color", ""), thing.attributes.get("material", ""))
    file = file_of(dataset.path, look)
    try:
        return _read(file)
    except UNREADABLE as error:
        there = isinstance(error, OSError) and not file.exists()
        problem = f"no canonical views of {' '.join(look)}" if there else f"canonical views cannot be read: {error}"
        raise DataError(problem, file=file) from error
