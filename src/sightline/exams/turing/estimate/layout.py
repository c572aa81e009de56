"""Annotated images laid out for counting: objects by type, pairs by their types, planes of one bit an image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.exams.turing.annotations.columns import Columns
from sightline.exams.turing.estimate.bits import (
    MOST,
    Ints,
    Longs,
    TypeObjects,
    Words,
    count_pairs,
    fill_pairs,
    fill_planes,
    object_planes,
)
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class SortedObjects:
    """All O objects of a corpus by type, and image by image within a type.

    Attributes:
        type_starts: (T + 1,) objects of type t are ``type_starts[t]:type_starts[t + 1]``.
        image_of: (O,) see `TypeObjects`. `records`: (O, 2 words + 2) likewise.
    """

    type_starts: Longs
    image_of: Ints
    records: Words

    def things(self, t: int) -> TypeObjects:
        """The objects of one type."""
        part = slice(int(self.type_starts[t]), int(self.type_starts[t + 1]))
        return TypeObjects(self.image_of[part], self.records[part])


@dataclass(frozen=True, eq=False)
class CorpusTables(SortedObjects):
    """The arrays of a corpus of N images with O objects; all are read-only.

    Attributes:
        facts: (O, words) for every object of a type with A attributes A bits, which of them it has; W bits, where
            it is seen; and bits for those it may have, of attributes that are unknown of some object.
        may_have: (T, most attributes) the bit of `facts` that says it may have the attribute; the one that says it
            has it where that is the same.
        sure: (predicates, W, `MOST`) rows of the planes of the objects that surely fit; row 0 is empty. Predicate
            ``first[t]`` is type t as such, the ones after it each of its attributes.
        possible: The same for objects that may fit; the same rows where nothing is unknown.
        first: (T,) see `sure`.
        object_starts: (T + 1,) words of type t are ``object_starts[t]:object_starts[t + 1]`` of `object_planes`.
        object_planes: (2, A, words) one bit an object of a type: has the attribute, has it not. No bit of a crowd
            is set, here and in the next.
        seen_planes: (W, words) likewise: is seen in the region.
        pair_starts: (T, T) first word of those types in `pair_planes`.
        pair_counts: (T, T) how many ordered pairs of those types there are.
        pair_things: (2, 64 × words) subject and object of each pair, −1 where there is none.
        pair_planes: (2, links, words) one bit an ordered pair: the relation holds, it fails.
    """

    facts: Words
    may_have: Ints
    sure: Ints
    possible: Ints
    first: Ints
    object_starts: Longs
    object_planes: Words
    seen_planes: Words
    pair_starts: Longs
    pair_counts: Longs
    pair_things: Ints
    pair_planes: Words

    @property
    def attribute_words(self) -> int:
        """Words of one bit an attribute."""
        return int(self.records.shape[1]) // 2 - 1


def fixed(values: NDArray[Any]) -> NDArray[Any]:
    """Read-only and of numpy's plain class, whether mapped or not, so that kernels are compiled once for both."""
    out = np.ascontiguousarray(values).view(np.ndarray)
    out.flags.writeable = False
    return out


class PlaneRows(NamedTuple):
    """Where the planes of each predicate lie; see `CorpusTables`."""

    sure: Ints
    possible: Ints
    first: Ints


def no_rows(vocabulary: Vocabulary) -> PlaneRows:
    """Before any plane is laid out."""
    sizes = [1 + len(kind.attributes) for kind in vocabulary.types]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    shape = int(first[-1]), len(vocabulary.regions), MOST
    return PlaneRows(np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32), first[:-1])


def by_type(columns: Columns, vocabulary: Vocabulary) -> SortedObjects:
    """Sort the objects."""
    order = np.argsort(columns.types, kind="stable").astype(np.int32)
    starts = np.searchsorted(columns.types[order], np.arange(len(vocabulary.types) + 1)).astype(np.int64)
    image_of = np.repeat(np.arange(len(columns), dtype=np.int32), np.diff(columns.starts))[order]
    records = np.column_stack([columns.yes, columns.no, columns.seen, columns.crowd.astype(np.uint64)])[order]
    return SortedObjects(starts, fixed(image_of), fixed(records))


def planes_of(columns: Columns, vocabulary: Vocabulary, objects: SortedObjects, rows: PlaneRows) -> Iterator[Words]:
    """All planes that are not empty, in parts, an empty one first; which is which is written to `rows`."""
    words = max(1, -(-len(columns) // 64))
    yield np.zeros((1, words), dtype=np.uint64)
    used = 1
    for t, kind in enumerate(vocabulary.types):
        things = objects.things(t)
        for k in range(-1, len(kind.attributes)):
            predicate, unknown = rows.first[t] + 1 + k, _unknown(things, k)
            for flip in (False, True) if unknown else (False,):
                out = np.zeros((MOST, columns.n_regions, words), dtype=np.uint64)
                lacking = 64 * columns.yes.shape[1] if flip else 0  # what it has not comes after what it has
                fill_planes(things, k + lacking, flip, out)
                there = out.any(axis=2)
                (rows.possible if flip else rows.sure)[predicate].T[there] = used + np.arange(there.sum())
                used += int(there.sum())
                yield out[there]
            if not unknown:
                rows.possible[predicate] = rows.sure[predicate]


def _unknown(things: TypeObjects, k: int) -> bool:
    """Whether of some object nobody knows if it has the attribute."""
    if k < 0:
        return False
    words = things.records.shape[1] // 2 - 1
    known = things.records[:, k // 64] | things.records[:, words + k // 64]
    return not (known >> np.uint64(k % 64) & np.uint64(1)).all()


def tables_of(columns: Columns, vocabulary: Vocabulary, objects: SortedObjects, rows: PlaneRows) -> CorpusTables:
    """Everything but the planes."""
    arrays: dict[str, NDArray[Any]] = {**vars(objects), **rows._asdict()}
    arrays |= {**_objects(columns, vocabulary, objects), **_pairs(columns, vocabulary)}
    arrays |= _facts(columns, vocabulary, objects)
    return CorpusTables(**{name: fixed(values) for name, values in arrays.items()})


def _objects(columns: Columns, vocabulary: Vocabulary, objects: SortedObjects) -> dict[str, NDArray[Any]]:
    kinds = [objects.things(t) for t in range(len(vocabulary.types))]
    starts = np.concatenate([[0], np.cumsum([-(-len(things.image_of) // 64) for things in kinds])]).astype(np.int64)
    planes = np.zeros((2, columns.n_attributes, int(starts[-1])), dtype=np.uint64)
    seen, words = np.zeros((columns.n_regions, int(starts[-1])), dtype=np.uint64), columns.yes.shape[1]
    for t, things in enumerate(kinds):
        width, places = len(vocabulary.types[t].attributes), slice(int(starts[t]), int(starts[t + 1]))
        for side, column in product((0, 1), range(-(-width // 64))):
            rows = slice(64 * column, min(64 * column + 64, width))
            object_planes(things, side * words + column, planes[side, rows, places])
        object_planes(things, 2 * words, seen[:, places])
    return {"object_starts": starts, "object_planes": planes, "seen_planes": seen}


def _facts(columns: Columns, vocabulary: Vocabulary, objects: SortedObjects) -> dict[str, NDArray[Any]]:
    may_have = np.tile(np.arange(columns.n_attributes, dtype=np.int32), (len(vocabulary.types), 1))
    ends = []
    for t, kind in enumerate(vocabulary.types):
        open_ones = [k for k in range(len(kind.attributes)) if _unknown(objects.things(t), k)]
        ends.append(len(kind.attributes) + columns.n_regions + len(open_ones))
        may_have[t, open_ones] = np.arange(ends[-1] - len(open_ones), ends[-1])
    out = np.zeros((len(objects.records), -(-max(ends, default=0) // 64)), dtype=np.uint64)
    words = columns.yes.shape[1]
    for t, kind in enumerate(vocabulary.types):
        part, width = slice(*objects.type_starts[t : t + 2].tolist()), len(kind.attributes)
        records, facts = objects.records[part], out[part]
        for word in range(-(-width // 64)):
            _put(facts, 64 * word, records[:, word])
        _put(facts, width, records[:, 2 * words])
        for k in range(width):
            if may_have[t, k] != k:
                lacking = records[:, words + k // 64] >> np.uint64(k % 64)
                _put(facts, int(may_have[t, k]), ~lacking & np.uint64(1))
    return {"facts": out, "may_have": may_have}


def _put(out: Words, at: int, values: Words) -> None:
    """Set bits of (n, words) from bit `at` on."""
    word, shift = divmod(at, 64)
    out[:, word] |= values << np.uint64(shift)
    if shift and word + 1 < out.shape[1]:
        out[:, word + 1] |= values >> np.uint64(64 - shift)


def _pairs(columns: Columns, vocabulary: Vocabulary) -> dict[str, NDArray[Any]]:
    names = [kind.name for kind in vocabulary.types]
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    count_pairs(columns.starts, columns.types, counts)
    asked = np.array([[any(link.joins(a, b) for link in vocabulary.links) for b in names] for a in names])
    counts *= asked | asked.T  # a fact about (b, a) tells of (a, b) too
    ends = np.cumsum(-(-counts // 64)).reshape(counts.shape)
    starts, words = ends - -(-counts // 64), int(ends.max(initial=0))
    pairs = np.full((2, words * 64), -1, dtype=np.int32)
    planes = np.zeros((2, columns.n_links, words), dtype=np.uint64)
    cursor = np.where(counts > 0, starts * 64, -1)
    ranks = np.argsort(np.argsort(columns.types, kind="stable")).astype(np.int32)
    fill_pairs(
        columns.starts,
        columns.types,
        ranks,
        columns.pair_starts,
        columns.holds,
        columns.fails,
        cursor,
        pairs,
        planes,
    )
    return {"pair_starts": starts, "pair_counts": counts, "pair_things": pairs, "pair_planes": planes}
