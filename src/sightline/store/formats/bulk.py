"""Millions of rows of text as arrays: texts as numbers, arrays that grow in place, objects found by their ids."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int32]


def extend(array: NDArray[Any], values: NDArray[Any]) -> None:
    """Append rows to an array that owns its memory and has no views.

    Large arrays grow where they stand or are moved by their pages: a list of parts, joined in the end, would need
    twice the memory.

    >>> numbers = np.arange(3)
    >>> extend(numbers, np.array([7, 8]))
    >>> numbers.tolist()
    [0, 1, 2, 7, 8]
    """
    n = len(array)
    array.resize((n + len(values), *array.shape[1:]), refcheck=False)
    array[n:] = values


def give_back() -> None:
    """Hand the C library's freed memory back to the system, where it can be asked to (glibc).

    It keeps freed blocks below 32 MB for itself; after a large file these are a tenth of the rows' memory.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class TextNumbers:
    """Distinct texts, numbered from 0 in order of first use.

    >>> seen = TextNumbers()
    >>> seen.numbers(pl.Series(["b", "b", "a"])).tolist(), seen.numbers(pl.Series(["a", "c"])).tolist()
    ([0, 0, 1], [1, 2])
    >>> list(seen)
    ['b', 'a', 'c']
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._number: defaultdict[str, int] = defaultdict(count().__next__)
        for text in texts:
            self._number[text]

    def __len__(self) -> int:
        return len(self._number)

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def numbers(self, texts: pl.Series) -> Ints:
        """The number of each text; texts not met before get the next ones."""
        if not len(texts):
            return np.empty(0, dtype=np.int32)
        run = texts.rle_id().to_numpy()  # files come sorted by image: look up one text a run, not one a row
        heads = texts.gather(np.flatnonzero(np.diff(run, prepend=-1)))
        known = map(self._number.__getitem__, heads.to_list())
        numbers = np.fromiter(known, dtype=np.int32, count=len(heads))
        return np.take(numbers, run)


class ObjectIndex:
    """Objects known by (image id, object id).

    Args:
        blocks: Consecutive rows of the objects file, with columns image_id and object_id.

    >>> index = ObjectIndex([pl.DataFrame({"image_id": ["p", "p"], "object_id": ["0", "7"]})])
    >>> index.rows(pl.Series(["p", "q"]), pl.Series(["7", "7"])).tolist(), index.name(1)
    ([1, -1], ('p', '7'))
    """

    def __init__(self, blocks: Iterable[pl.DataFrame]) -> None:
        self._images, self._ids = TextNumbers(), TextNumbers()
        keys = np.empty(0, dtype=np.int64)
        for block in blocks:
            extend(keys, self._keys(block["image_id"], block["object_id"]))
        self._order = np.argsort(keys, kind="stable").astype(np.int32)
        self._sorted = keys[self._order]

    def __len__(self) -> int:
        return len(self._order)

    def rows(self, images: pl.Series, ids: pl.Series) -> Ints:
        """Row of each object in the file, the first if it stands there twice; −1 where it is unknown."""
        wanted = self._keys(images, ids)
        if not len(self):
            return np.full(len(wanted), -1, dtype=np.int32)
        place = np.minimum(np.searchsorted(self._sorted, wanted), len(self) - 1)
        return np.where(self._sorted[place] == wanted, self._order[place], np.int32(-1))

    def first_repeat(self) -> int | None:
        """The first row whose object stands further up already."""
        again = self._order[1:][self._sorted[1:] == self._sorted[:-1]]
        return int(again.min()) if len(again) else None

    def name(self, row: int) -> tuple[str, str]:
        """Image and object id of a row; slow, for an error's sake."""
        key = int(self._sorted[np.flatnonzero(self._order == row)[0]])
        image, thing = key >> 32, key & 0xFFFFFFFF
        return next(islice(self._images, image, None)), next(islice(self._ids, thing, None))

    def _keys(self, images: pl.Series, ids: pl.Series) -> NDArray[np.int64]:
        """One number for each (image, object)."""
        key: NDArray[np.int64] = self._images.numbers(images).astype(np.int64)
        key <<= 32
        key |= self._ids.numbers(ids)
        return key
