"""ADE20K's instance masks: what is seen of an object, its whole outline, and who hides whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.geometry import masks
from sightline.scenes import Occlusion

_BEHIND: Final = 128
_SEEN: Final = 255

VALUES: Final = (0, _BEHIND, _SEEN)
"""What a mask's pixels may be: elsewhere, where the outline goes on behind others, where the object is seen."""

HIDES: Final = 0.01
"""Share of an outline that must lie under another object: neighbours drawn by hand overlap by a few pixels."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Run lengths of an object's mask, both of the image's size: what is seen of it, and the whole outline."""

    seen: masks.Counts
    whole: masks.Counts


def outline(pixels: NDArray[np.uint8], left: int, size: tuple[int, int]) -> Outline:
    """The outline in a mask of which only some columns are given; the others are 0.

    Args:
        pixels: Full height, some of the columns; each one of `VALUES`.
        left: Columns of the image before them.
        size: (width, height) of the image, pixels.

    >>> outline(np.array([[128], [255]], dtype=np.uint8), 1, (3, 2))
    Outline(seen=array([3, 1, 2]), whole=array([2, 2, 2]))
    """
    return Outline(_widened(pixels == _SEEN, left, size), _widened(pixels > 0, left, size))


def hiding(outlines: Sequence[Outline]) -> Iterator[tuple[int, int, Occlusion]]:
    """Pairs of which one hides at least `HIDES` of the other's outline: the places of both, the earlier first.

    >>> cat, fence = Outline(np.array([0, 2, 4]), np.array([0, 4, 2])), Outline(*[np.array([2, 4])] * 2)
    >>> [(i, j, label.word) for i, j, label in hiding([cat, fence])]
    [(0, 1, 'occluded')]
    """
    front = _front([o.seen for o in outlines])
    hides = np.zeros((len(outlines), len(outlines)), dtype=bool)
    for j, o in enumerate(outlines):
        whole = masks.area(o.whole)
        if whole > masks.area(o.seen):
            under = _inside(o.whole) & ~_inside(o.seen)
            pixels = np.bincount(front[under], minlength=len(outlines) + 1)[: len(outlines)]
            hides[:, j] = pixels >= HIDES * whole
    for i, j in np.argwhere(np.triu(hides | hides.T, 1)).tolist():
        yield i, j, Occlusion(int(hides[i, j]) * Occlusion.OCCLUDES + int(hides[j, i]) * Occlusion.OCCLUDED)


def _widened(mask: masks.Mask, left: int, size: tuple[int, int]) -> masks.Counts:
    """Run lengths, in the whole image, of a mask of some of its columns: far fewer pixels to look at."""
    height, right = size[1], size[0] - left - mask.shape[1]
    counts = masks.counts_from_mask(mask)
    if counts.size % 2 == 0:  # the last run is of 1
        counts = np.append(counts, 0)
    counts[0] += left * height
    counts[-1] += right * height
    return counts if counts[-1] else counts[:-1]


def _front(seen: Sequence[masks.Counts]) -> NDArray[np.int32]:
    """Which of the masks is seen at each pixel, column by column; their number where none is."""
    front = np.full(seen[0].sum() if seen else 0, len(seen), dtype=np.int32)
    for k, counts in enumerate(seen):
        front[_inside(counts)] = k
    return front


def _inside(counts: masks.Counts) -> NDArray[np.bool_]:
    """The mask's pixels, column by column."""
    flat: NDArray[np.bool_] = np.repeat(np.arange(counts.size) % 2 == 1, counts)
    return flat
