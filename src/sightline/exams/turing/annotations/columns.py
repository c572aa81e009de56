"""Annotated images as flat columns: what the questions of a vocabulary need to know of each, and no more.

On disk they are three small Parquet tables, for those who get a written test. ``images``: scene ids in order.
``objects``: scene, id, type, crowd, and as bits what is known, counted from 0 in the vocabulary's order: ``seen``
(bit k: region k), ``yes_w`` and ``no_w`` (bit k of word w: attribute 64 w + k of its type). ``pairs``: scene,
positions of subject and object among the scene's objects, ``holds_w`` and ``fails_w`` likewise for relations; pairs
of which nothing is known are left out.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.files import sync_folder
from sightline.store.parquet import refuse_pages
from sightline.store.tables import POLARS_ERRORS

TABLES: Final = ("images", "objects", "pairs")

OF_OBJECTS: Final = ("objects", "types", "crowd", "yes", "no", "seen")
"""Fields of `Columns` with an entry an object."""

OF_PAIRS: Final = ("holds", "fails")
"""Fields of `Columns` with an entry a pair."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One image.

    Attributes:
        id: Scene id.
        objects: Ids of its n objects that have a type of the vocabulary and are at least partly visible.
        types: (n,) positions in `Vocabulary.types`.
        crowd: (n,) True where an entry stands for a group: it counts as two, so it is never unique.
        yes: (n, A) bool: has the attribute at that position of its type. `no`: has it not. Neither: nobody knows.
        seen: (n, W) bool: partly visible in the region.
        holds: (n, n, R) bool, [subject, object, relation]. `fails`: it does not hold. Neither: nobody knows.
        glimpsed: (n, W) bool: so little of it is seen in the region that nobody need notice; None for nowhere.
    """

    id: str
    objects: tuple[str, ...]
    types: NDArray[np.int16]
    crowd: NDArray[np.bool_]
    yes: NDArray[np.bool_]
    no: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    holds: NDArray[np.bool_]
    fails: NDArray[np.bool_]
    glimpsed: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Columns:
    """Many images; objects lie image by image, pairs image by image in row-major order [subject, object].

    Attributes:
        ids: (N,) scene ids, object array of str.
        starts: (N + 1,) int64: objects of image i are ``starts[i]:starts[i + 1]``.
        objects: (O,) object ids, object array of str.
        types: (O,) int16.
        crowd: (O,) bool.
        yes: (O, words) uint64, bit k of word k // 64 for the attribute at position k; `no` likewise.
        seen: (O,) uint64, bit k for region k.
        pair_starts: (N + 1,) int64: pair (a, b) of image i with n objects stands at ``pair_starts[i] + a * n + b``.
        holds: (P, words) uint64, bit k for relation k; `fails` likewise. Nothing is set on the diagonal.
        n_attributes: Most attributes of any type; `n_regions` and `n_links` likewise: how many bits are meant.
        glimpsed: (O,) uint64, bit k for region k, see `Annotation`; None for nowhere. It makes answers ambiguous
            about the images that are asked about; where images are learned from it counts as not seen.
    """

    ids: NDArray[np.object_]
    starts: NDArray[np.int64]
    objects: NDArray[np.object_]
    types: NDArray[np.int16]
    crowd: NDArray[np.bool_]
    yes: NDArray[np.uint64]
    no: NDArray[np.uint64]
    seen: NDArray[np.uint64]
    pair_starts: NDArray[np.int64]
    holds: NDArray[np.uint64]
    fails: NDArray[np.uint64]
    n_attributes: int
    n_regions: int
    n_links: int
    glimpsed: NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def word_counts(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Objects a type, and of how many each attribute and relation is yes, no and unknown, as JSON values."""
        yes, no = (unpacked(words, self.n_attributes) for words in (self.yes, self.no))
        types = []
        for t, kind in enumerate(vocabulary.types):
            of_type = self.types == t
            sides = {a.name: _sides(yes[of_type, k], no[of_type, k]) for k, a in enumerate(kind.attributes)}
            types.append({"type": kind.name, "objects": int(of_type.sum()), "attributes": sides})
        sizes = np.diff(self.starts)
        pairs = int((sizes * (sizes - 1)).sum())
        holds, fails = (unpacked(words, self.n_links).sum(axis=0) for words in (self.holds, self.fails))
        links = {
            link.name: {"yes": int(holds[k]), "no": int(fails[k]), "unknown": pairs - int(holds[k]) - int(fails[k])}
            for k, link in enumerate(vocabulary.links)
        }
        return {"pairs": pairs, "types": types, "relations": links}

    def image(self, i: int) -> Annotation:
        """One image's facts, unpacked."""
        a, b = int(self.starts[i]), int(self.starts[i + 1])
        n, pairs = b - a, slice(int(self.pair_starts[i]), int(self.pair_starts[i + 1]))

        def relations(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
            return unpacked(words[pairs], self.n_links).reshape(n, n, self.n_links)

        return Annotation(
            id=str(self.ids[i]),
            objects=tuple(self.objects[a:b]),
            types=self.types[a:b],
            crowd=self.crowd[a:b],
            yes=unpacked(self.yes[a:b], self.n_attributes),
            no=unpacked(self.no[a:b], self.n_attributes),
            seen=unpacked(self.seen[a:b, None], self.n_regions),
            holds=relations(self.holds),
            fails=relations(self.fails),
            glimpsed=None if self.glimpsed is None else unpacked(self.glimpsed[a:b, None], self.n_regions),
        )


def widths(vocabulary: Vocabulary) -> dict[str, Any]:
    """How many bits of `Columns` a vocabulary gives a meaning."""
    most = max((len(kind.attributes) for kind in vocabulary.types), default=0)
    return {"n_attributes": most, "n_regions": len(vocabulary.regions), "n_links": len(vocabulary.links)}


def _sides(yes: NDArray[np.bool_], no: NDArray[np.bool_]) -> dict[str, int]:
    return {"yes": int(yes.sum()), "no": int(no.sum()), "unknown": int((~yes & ~no).sum())}


def unpacked(words: NDArray[np.uint64], bits: int) -> NDArray[np.bool_]:
    """(n, words) uint64 → (n, bits) bool, bit 0 of word 0 first.

    >>> unpacked(np.array([[5]], dtype=np.uint64), 3)
    array([[ True, False,  True]])
    """
    columns = np.arange(bits)
    return (words[:, columns // 64] >> (columns % 64).astype(np.uint64) & np.uint64(1)).astype(bool)


def packed(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """(n, bits) bool → (n, words) uint64; the opposite of `unpacked`, one word at least.

    >>> packed(np.array([[True, False, True]]))
    array([[5]], dtype=uint64)
    """
    n, width = bits.shape
    words = max(1, -(-width // 64))
    padded = np.zeros((n, words * 64), dtype=bool)
    padded[:, :width] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64).reshape(n, words)


def subset(columns: Columns, rows: NDArray[np.int64]) -> Columns:
    """Some of the images, in the order of `rows`."""
    objects, starts = _gathered(columns.starts, rows)
    pairs, pair_starts = _gathered(columns.pair_starts, rows)
    parts: dict[str, Any] = {"ids": columns.ids[rows], "starts": starts, "pair_starts": pair_starts}
    parts |= {name: getattr(columns, name)[objects] for name in OF_OBJECTS}
    parts |= {name: getattr(columns, name)[pairs] for name in OF_PAIRS}
    parts["glimpsed"] = None if columns.glimpsed is None else columns.glimpsed[objects]
    return replace(columns, **parts)


def _gathered(starts: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of what belongs to some rows, one after the other, and where each begins among them.

    >>> [part.tolist() for part in _gathered(np.array([0, 2, 3, 6]), np.array([2, 0]))]
    [[3, 4, 5, 0, 1], [0, 3, 5]]
    """
    lengths = starts[rows + 1] - starts[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths) + np.repeat(starts[rows], lengths)
    return places, ends


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
        images, objects, pairs = (_table(folder / f"{name}.parquet") for name in TABLES)
        return _columns(images, objects, pairs, vocabulary)
    except (OSError, LookupError, ValueError, TypeError, OverflowError, *POLARS_ERRORS) as error:
        raise DataError(f"training annotations cannot be read: {error}", file=folder) from error


def _table(path: Path) -> pl.DataFrame:
    data = path.read_bytes()
    refuse_pages(data, path)
    return pl.read_parquet(io.BytesIO(data))


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
        **widths(vocabulary),
    )


def _texts(values: NDArray[Any]) -> pl.Series:
    return pl.Series([str(value) for value in values], dtype=pl.String)


def _words(name: str, words: NDArray[np.uint64]) -> dict[str, NDArray[np.uint64]]:
    return {f"{name}_{w}": np.ascontiguousarray(words[:, w]) for w in range(words.shape[1])}


def _array(frame: pl.DataFrame, name: str) -> NDArray[np.uint64]:
    words = [column for column in frame.columns if column.startswith(f"{name}_")]
    return np.stack([frame[word].to_numpy() for word in words], axis=1).astype(np.uint64)
