"""Compiled kernels that lay out images, objects and pairs as planes of one bit each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.exams.turing.estimate.bits import (
    MOST,
    ONE,
    ZERO,
    Ints,
    Longs,
    TypeObjects,
    Words,
    is_crowd,
    is_set,
    kernel,
    places_of,
    transpose,
)


@kernel
def object_planes(things: TypeObjects, column: int, out: Words) -> None:
    """Transpose one word of each object of a type into planes of one bit an object, none set of crowds.

    Args:
        things: The objects.
        column: Which word of their records.
        out: (bits, objects / 64) to be filled.
    """
    lanes, n = np.zeros(64, np.uint64), len(things.image_of)
    for block in range(out.shape[1]):
        lanes[:] = ZERO
        for lane in range(min(64, n - 64 * block)):
            thing = 64 * block + lane
            lanes[lane] = ZERO if is_crowd(things.records, thing) else things.records[thing, column]
        transpose(lanes, len(out))
        for k in range(len(out)):
            out[k, block] = lanes[k]


@kernel
def find_pairs(first: Ints, second: Ints, step: int, a: Ints, b: Ints) -> Longs:
    """Where each pair (a, b) stands among the pairs (`first`, `second`), sorted by `first`; of every `step` one."""
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        low, high = 0, len(first) // step
        while low < high:
            middle = (low + high) // 2
            if first[middle * step] < a[i]:
                low = middle + 1
            else:
                high = middle
        while second[low * step] != b[i]:
            low += 1
        out[i] = low * step
    return out


@kernel
def fill_planes(things: TypeObjects, bit: int, flip: bool, out: Words) -> None:
    """Lay out one predicate in all regions: bit i of plane k where image i has more than k fitting objects.

    Args:
        things: Objects of one type.
        bit: An object fits if this bit of its record is set; −1: all fit.
        flip: An object fits if it is not set.
        out: (`MOST`, W, words), zeros, to be filled.
    """
    lanes, block = np.zeros((MOST, 64), np.uint64), -1
    for thing in range(len(things.image_of) + 1):
        image = things.image_of[thing] if thing < len(things.image_of) else -1
        if image >> 6 != block:
            for k in range(MOST if block >= 0 else 0):
                if lanes[k].any():
                    transpose(lanes[k], out.shape[1])
                    for w in range(out.shape[1]):
                        out[k, w, block] = lanes[k, w]
                    lanes[k] = ZERO
            block = image >> 6
        if image < 0 or (bit >= 0 and is_set(things.records[thing], bit) == flip):
            continue
        lane, places = image & 63, places_of(things.records, thing)
        for _ in range(2 if is_crowd(things.records, thing) else 1):
            for k in range(MOST - 1, 0, -1):
                lanes[k, lane] |= lanes[k - 1, lane] & places
            lanes[0, lane] |= places


@kernel
def count_pairs(starts: Longs, types: NDArray[np.int16], out: Longs) -> None:
    """Ordered pairs of distinct objects of one image, per (T, T) types; `out` is added to."""
    for image in range(len(starts) - 1):
        for a in range(starts[image], starts[image + 1]):
            for b in range(starts[image], starts[image + 1]):
                if a != b:
                    out[types[a], types[b]] += 1


@kernel
def fill_pairs(
    starts: Longs,
    types: NDArray[np.int16],
    ranks: Ints,
    pair_starts: Longs,
    holds: Words,
    fails: Words,
    cursor: Longs,
    ends: Ints,
    planes: Words,
) -> None:
    """Lay out the pairs by their types, so that pair (a, b) and pair (b, a) find each other.

    The pairs of types (s, t) and (t, s) stand in the same order; those of one type in twos, (a, b) and (b, a).

    Args:
        starts: As in `Columns`.
        types: As in `Columns`.
        ranks: (O,) where each object stands when they are sorted by type.
        pair_starts: As in `Columns`.
        holds: As in `Columns`.
        fails: As in `Columns`.
        cursor: (T, T) where the next pair of those types goes, −1 where none is wanted; moved on.
        ends: (2, pairs) subject and object, to be filled.
        planes: (2, links, pairs / 64), zeros: what holds and what fails.
    """
    for image in range(len(starts) - 1):
        first, last = starts[image], starts[image + 1]
        for a in range(first, last):
            for b in range(first, last):
                if a == b or types[a] > types[b] or (types[a] == types[b] and a > b):
                    continue
                for swapped in range(2):
                    s, t = (b, a) if swapped else (a, b)
                    at = cursor[types[s], types[t]]
                    if at < 0:
                        continue
                    cursor[types[s], types[t]] += 1
                    ends[0, at], ends[1, at] = ranks[s], ranks[t]
                    row = pair_starts[image] + (s - first) * (last - first) + (t - first)
                    bit = ONE << np.uint64(at & 63)
                    for link in range(planes.shape[1]):
                        if is_set(holds[row], link):
                            planes[0, link, at >> 6] |= bit
                        if is_set(fails[row], link):
                            planes[1, link, at >> 6] |= bit
