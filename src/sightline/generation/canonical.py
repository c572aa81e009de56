"""Canonical views of a dataset's objects: a strip of small pictures each, stored beside it or drawn when asked for.

``canonical/cube-small-red-metal.png`` holds the views of that object side by side; `render.canonical` tells how
they are taken. They are no part of the fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.generation.open import is_generated
from sightline.render.canonical import SIZE, Identity, canonical_layouts, patch
from sightline.scenes import Object
from sightline.store import Dataset, atomic_write
from sightline.store.encodings import UNREADABLE, decode, encode
from sightline.store.manifest import CANONICAL, ShardInfo
from sightline.store.shards import DiskShard
from sightline.worlds.looks import split_name

if TYPE_CHECKING:
    from sightline.generation.scene import SceneMaker

DRAWN: Final = 4
"""Views drawn of an object where the dataset was generated without any."""


def render_strip(maker: SceneMaker, look: Identity, count: int) -> NDArray[np.uint8]:
    """Render the canonical views of one object side by side, (32, 32 · count, 3) uint8 sRGB."""
    layouts = list(canonical_layouts(look, maker.world, count=count, seed=maker.recipe.seed))
    frames = maker.frames(layouts, [layouts[0].shots[0].name])
    return np.concatenate([patch(frame) for [frame] in frames], axis=1)


def save(maker: SceneMaker, look: Identity) -> None:
    """Draw the views of an object into the dataset's folder; doing it again writes the same bytes."""
    file = file_of(maker.folder, look)
    file.parent.mkdir(exist_ok=True)
    atomic_write(file, encode("image", render_strip(maker, look, maker.recipe.canonical), "png")[0])


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
    looks = objects.select(
        "shape", *(pl.col("attributes").str.json_path_match(f"$.{key}").alias(key) for key in ("color", "material"))
    )
    return set(looks.unique().rows())


def _views_in(file: Path) -> int:
    try:
        return len(_read(file))
    except (DataError, *UNREADABLE):
        return 0


def _read(file: Path) -> NDArray[np.uint8]:
    strip: NDArray[Any] = decode("image", file)
    height, width = strip.shape[:2]
    if height != SIZE or width % SIZE:
        expected = f"{SIZE} pixels high, a multiple of {SIZE} wide"
        raise DataError("canonical views of another size", file=file, expected=expected, found=f"{width}×{height}")
    return _cut(strip)


def _cut(strip: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return strip.reshape(SIZE, -1, SIZE, 3).swapaxes(0, 1)


def has_canonical(dataset: Dataset) -> bool:
    """Whether objects of a dataset have canonical views, stored or to be drawn: imported photos have none."""
    return (dataset.path / CANONICAL).is_dir() or is_generated(dataset)


def canonical_of(dataset: Dataset, thing: Object, *, draw: int = DRAWN) -> NDArray[np.uint8]:
    """The canonical views of an object of a generated dataset, (count, 32, 32, 3) uint8 sRGB.

    They are read from the dataset. Where it was generated without any they are drawn when asked for: those that
    would have been stored, kept in memory; nothing is written.

    Args:
        dataset: Where the object is from.
        thing: The object.
        draw: How many to draw where the dataset has none; 0 makes that an error.

    Raises:
        DataError: The dataset has none and was not generated, none of such an object, or views of another size.
    """
    look = (thing.shape or "", thing.attributes.get("color", ""), thing.attributes.get("material", ""))
    if not (dataset.path / CANONICAL).is_dir():
        if draw and is_generated(dataset) and not (dataset.recipe or {}).get("canonical"):
            return _drawn(dataset.path, json.dumps(dataset.recipe), look, draw)
        problem = "the dataset has no canonical views: run the same sightline generate again with --canonical N"
        raise DataError(problem, file=dataset.path)
    file = file_of(dataset.path, look)
    dataset.blobs.check(file, CANONICAL)
    try:
        return _read(file)
    except UNREADABLE as error:
        missing = isinstance(error, OSError) and not file.exists()
        problem = _none_of(look) if missing else f"canonical views cannot be read: {error}"
        raise DataError(problem, file=file) from error


def _none_of(look: Identity) -> str:
    return f"no canonical views of {' '.join(look)}"


@lru_cache(maxsize=1 << 14)
def _drawn(folder: Path, recipe: str, look: Identity, count: int) -> NDArray[np.uint8]:
    from sightline.generation.scene import scene_maker  # here, so that reading views needs no renderer

    try:
        views = _cut(render_strip(scene_maker(folder, recipe), look, count))
    except ConfigError as error:
        raise DataError(f"{_none_of(look)}: {error}", file=folder) from error
    views.setflags(write=False)  # shared by all who ask
    return views
