"""Annotated images on disk as three small Parquet tables, for those who get a written test.

``images``: scene ids in order. ``objects``: scene, id, type, crowd, and as bits what is known, counted from 0 in
the vocabulary's order: ``seen`` (bit k: region k), ``yes_w`` and ``no_w`` (bit k of word w: attribute 64 w + k of
its type). ``pairs``: scene, positions of subject and object among the scene's objects, ``holds_w`` and ``fails_w``
likewise for relations; pairs of which nothing is known are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.turing.annotations.columns import Columns
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.files import sync_folder

TABLES: Final = ("images", "objects", "pairs")


def write_columns(columns: Columns, vocabulary: Vocabulary, folder: Path) -> None:
    """Write the tables into a folder that is there."""
    scene = np.repeat(columns.ids, np.diff(columns.starts))
    names = np.array([kind.name for kind in vocabulary.types], dtype=object)
    known = np.flatnonzero((columns.holds | columns.fails).any(axis=1))
    image = np.searchsorted(columns.pair_starts, known, side="right") - 1
    sizes = np.diff(columns.starts)[image]
    subject, other = np.divmod(known - columns.pair_starts[image], np.maximum(sizes, 1))
    frames = {
        "images": pl.DataFrame({"scene_id": _texts(columns.ids)}),
        "objects": pl.DataFrame(
            {
                "scene_id": _texts(scene),
                "object_id": _texts(columns.objects),
                "type": _texts(names[columns.types]),
                "crowd": columns.crowd,
                "seen": columns.seen,
                **_words("yes", columns.yes),
                **_words("no", columns.no),
            }
        ),
        "pairs": pl.DataFrame(
            {
                "scene_id": _texts(columns.ids[image]),
                "subject": subject,
                "object": other,
                **_words("holds", columns.holds[known]),
                **_words("fails", columns.fails[known]),
            }
        ),
    }
    for name, frame in frames.items():
        path = folder / f"{name}.parquet"
        frame.write_parquet(path, compression="zstd")
        sync_folder(path)


def read_columns(folder: Path, vocabulary: Vocabulary) -> Columns:
    """What `write_columns` wrote; a DataError where a table is damaged or of another vocabulary."""
    try:
        images, objects, pairs = (pl.read_parquet(folder / f"{name}.parquet") for name in TABLES)
        return _columns(images, objects, pairs, vocabulary)
    except (OSError, KeyError, ValueError, IndexError, pl.exceptions.PolarsError) as error:
        raise DataError(f"training annotations cannot be read: {error}", file=folder) from error


def _columns(images: pl.DataFrame, objects: pl.DataFrame, pairs: pl.DataFrame, vocabulary: Vocabulary) -> Columns:
    ids = images["scene_id"].to_numpy().astype(object)
    place = {scene: i for i, scene in enumerate(ids)}
    owner = np.array([place[scene] for scene in objects["scene_id"]], dtype=np.int64)
    sizes = np.bincount(owner, minlength=len(ids))
    pair_starts = np.concatenate([[0], np.cumsum(sizes * sizes)]).astype(np.int64)
    image = np.array([place[scene] for scene in pairs["scene_id"]], dtype=np.int64)
    at = pair_starts[image] + pairs["subject"].to_numpy() * sizes[image] + pairs["object"].to_numpy()
    relations = {}
    for name in ("holds", "fails"):
        words = _array(pairs, name)
        relations[name] = np.zeros((int(pair_starts[-1]), words.shape[1]), dtype=np.uint64)
        relations[name][at] = words
    return Columns(
        ids=ids,
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        objects=objects["object_id"].to_numpy().astype(object),
        types=np.array([vocabulary.type_index[name] for name in objects["type"]], dtype=np.int16),
        crowd=objects["crowd"].to_numpy().astype(bool),
        yes=_array(objects, "yes"),
        no=_array(objects, "no"),
        seen=objects["seen"].to_numpy().astype(np.uint64),
        pair_starts=pair_starts,
        holds=relations["holds"],
        fails=relations["fails"],
        n_attributes=max(len(kind.attributes) for kind in vocabulary.types),
        n_regions=len(vocabulary.regions),
        n_links=len(vocabulary.links),
    )


def _texts(values: NDArray[Any]) -> pl.Series:
    return pl.Series([str(value) for value in values], dtype=pl.String)


def _words(name: str, words: NDArray[np.uint64]) -> dict[str, NDArray[np.uint64]]:
    return {f"{name}_{w}": np.ascontiguousarray(words[:, w]) for w in range(words.shape[1])}


def _array(frame: pl.DataFrame, name: str) -> NDArray[np.uint64]:
    words = [column for column in frame.columns if column.startswith(f"{name}_")]
    return np.stack([frame[word].to_numpy() for word in words], axis=1).astype(np.uint64)
