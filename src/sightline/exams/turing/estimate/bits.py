"""Bits of 64-bit words in compiled kernels: how kernels are compiled, tests of bits, and transposition.

The last kernels lay out images, objects and pairs as planes of one bit each.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numba.extending import intrinsic
from numpy.typing import NDArray

from sightline.kernels import compiler, stamp

Words = NDArray[np.uint64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

MOST: Final = 4
"""Planes of a predicate: with them two objects of a type may be labelled before its objects are counted singly."""

ABREAST: Final = 8
"""Blocks of 64 words that `transpose_abreast` transposes together: as many as the widest vectors take."""

ZERO, ONE = np.uint64(0), np.uint64(1)
_HALVES = tuple(np.uint64(((1 << 64) - 1) // ((1 << j) + 1)) for j in (32, 16, 8, 4, 2, 1))

F = TypeVar("F", bound=Callable[..., Any])


class TypeObjects(NamedTuple):
    """Objects of one type, image by image.

    Attributes:
        image_of: (n,) image of each, ascending.
        records: (n, 2 words + 2) attributes it has, attributes it has not, regions it is seen in, 1 for a crowd.
    """

    image_of: Ints
    records: Words


STAMP: Final = stamp(Path(__file__).with_name(name) for name in ("bits.py", "counts.py"))
"""Digest of the files with kernels: all are compiled anew when any of them changes."""

kernel = compiler(STAMP, nogil=True)
"""Compile, with a cache on disk; other threads may run meanwhile."""


def inlined(function: F) -> F:
    """Compile as a part of the kernels that call it."""
    compiled: Any = njit(nogil=True, error_model="numpy", forceinline=True)(function)
    return compiled  # type: ignore[no-any-return]


def _ones(_: Any, word: Any) -> Any:
    return word(word), lambda _context, builder, _signature, args: builder.ctpop(args[0])


ones: Any = intrinsic(_ones)
"""Bits set in a word: one instruction, which loops over words make a vector of."""


@inlined
def is_crowd(records: Words, thing: int) -> bool:
    """Whether it stands for several."""
    return bool(records[thing, records.shape[1] - 1] != ZERO)


@inlined
def places_of(records: Words, thing: int) -> Any:
    """The regions it is seen in."""
    return records[thing, records.shape[1] - 2]


@inlined
def is_set(words: Words, i: int) -> bool:
    """Whether bit i is."""
    return bool(words[i >> 6] >> np.uint64(i & 63) & ONE)


@inlined
def lowest(word: np.uint64) -> Any:
    """The position of a word's lowest bit that is set."""
    return ones((word & (~word + ONE)) - ONE)


@inlined
def _swap(block: Words, size: int, width: int, half: np.uint64) -> None:
    shift = np.uint64(width)
    for base in range(0, size, 2 * width):
        for k in range(base, base + width):
            swap = ((block[k] >> shift) ^ block[k + width]) & half
            block[k + width] ^= swap
            block[k] ^= swap << shift


@inlined
def transpose(block: Words, bits: int) -> None:
    """Transpose 64 words in place: bit c of word r becomes bit r of word c, for the first `bits` of each.

    No other bit may be set. Words of at most 32 bits are laid side by side first, which halves the work.
    """
    size = 64
    if bits > 32:
        _swap(block, 64, 32, _HALVES[0])
    else:
        size = 32
        for k in range(32):
            block[k] |= block[k + 32] << np.uint64(32)
    _swap(block, size, 16, _HALVES[1])
    _swap(block, size, 8, _HALVES[2])
    _swap(block, size, 4, _HALVES[3])
    _swap(block, size, 2, _HALVES[4])
    _swap(block, size, 1, _HALVES[5])


@inlined
def _swap_abreast(blocks: Words, size: int, width: int, half: np.uint64) -> None:
    shift = np.uint64(width)
    for base in range(0, size, 2 * width):
        for k in range(base, base + width):
            upper, lower = blocks[k], blocks[k + width]
            for b in range(ABREAST):
                swap = ((upper[b] >> shift) ^ lower[b]) & half
                lower[b] ^= swap
                upper[b] ^= swap << shift


@inlined
def transpose_abreast(blocks: Words, bits: int) -> None:
    """`transpose` every column of (64, `ABREAST`) words: each swap is one of whole vectors, which is far faster."""
    size = 64
    if bits > 32:
        _swap_abreast(blocks, 64, 32, _HALVES[0])
    else:
        size = 32
        for k in range(32):
            for b in range(ABREAST):
                blocks[k, b] |= blocks[k + 32, b] << np.uint64(32)
    _swap_abreast(blocks, size, 16, _HALVES[1])
    _swap_abreast(blocks, size, 8, _HALVES[2])
    _swap_abreast(blocks, size, 4, _HALVES[3])
    _swap_abreast(blocks, size, 2, _HALVES[4])
    _swap_abreast(blocks, size, 1, _HALVES[5])


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
