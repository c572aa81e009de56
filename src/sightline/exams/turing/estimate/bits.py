"""Bits of 64-bit words in compiled kernels: how kernels are compiled, tests of bits, and transposition."""

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


STAMP: Final = stamp(Path(__file__).with_name(name) for name in ("bits.py", "counts.py", "bitplanes.py"))
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
