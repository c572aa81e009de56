"""What is true of one end of all training pairs, as planes; kept, since it depends on no history."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.turing.chances.bits import Words
from sightline.exams.turing.chances.corpus import Corpus

_MOST_BYTES: Final = 256 << 20


class PairEnds:
    """Planes over the pairs of two types: whose one end has an attribute, lacks it, or is seen in a region.

    All streams over a corpus share them. The ones that were not asked for the longest are let go.

    Args:
        corpus: Training images.
        most_bytes: What the planes may take together.
    """

    def __init__(self, corpus: Corpus, most_bytes: int = _MOST_BYTES) -> None:
        self._corpus, self._most = corpus, most_bytes
        self._planes: OrderedDict[tuple[int, ...], Words] = OrderedDict()
        self._bytes = 0

    def having(self, types: tuple[int, int], end: int, attribute: int, *, lacking: bool = False) -> Words:
        """Pairs of those types whose first (0) or second (1) end surely has, or lacks, the attribute there."""
        words = (self._corpus.tables.records.shape[1] - 2) // 2
        return self._plane(types, end, attribute // 64 + (words if lacking else 0), attribute % 64)

    def seen(self, types: tuple[int, int], end: int, region: int) -> Words:
        """Pairs of those types whose end is seen in the region."""
        return self._plane(types, end, self._corpus.tables.records.shape[1] - 2, region)

    def _plane(self, types: tuple[int, int], end: int, column: int, bit: int) -> Words:
        key = (*types, end, column, bit)
        if key in self._planes:
            self._planes.move_to_end(key)
            return self._planes[key]
        tables = self._corpus.tables
        start, count = 64 * int(tables.pair_starts[types]), int(tables.pair_counts[types])
        things = tables.pair_things[end, start : start + count]
        made = packed_bits((tables.records[:, column] >> np.uint64(bit) & np.uint64(1)).astype(bool)[things])
        self._planes[key] = made
        self._bytes += made.nbytes
        while self._bytes > self._most and len(self._planes) > 1:
            self._bytes -= self._planes.popitem(last=False)[1].nbytes
        return made


def packed_bits(test: NDArray[np.bool_]) -> Words:
    """Bits in words, the last one filled up with zeros.

    >>> packed_bits(np.array([True, False, True]))
    array([5], dtype=uint64)
    """
    bits = np.zeros(-(-len(test) // 64) * 64, dtype=bool)
    bits[: len(test)] = test
    return np.packbits(bits, bitorder="little").view(np.uint64)
