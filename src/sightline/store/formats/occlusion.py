"""Objects drawn with their hidden parts: the sighting of an outline, and who hides whom."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.geometry import masks
from sightline.scenes import Occlusion, Sighting

HIDES: Final = 0.01
"""Share of an outline that must lie under another object: neighbours drawn by hand overlap by a few pixels."""


@dataclass(frozen=True, slots=True)
class MaskOutline:
    """Run lengths of an object's mask, both of the image's size: what is seen of it, and the whole outline."""

    seen: masks.Counts
    whole: masks.Counts

    @property
    def is_hidden(self) -> bool:
        """Whether part of the outline is not seen."""
        return masks.area(self.seen) < masks.area(self.whole)


def outlined(
    view: str,
    object_id: str,
    outline: MaskOutline,
    height: int,
    flags: Collection[str] = (),
    *,
    is_whole: bool = True,
) -> Sighting:
    """Make the sighting of an outline: its box is that of the seen pixels, of the whole where none is seen.

    Args:
        view: Id of the view.
        object_id: Id of the object.
        outline: At least one pixel.
        height: Of the image, pixels.
        flags: Facts of the source; ``hidden`` is added where no pixel is seen.
        is_whole: Whether the outline is known to hold the hidden parts too; else amodal mask and hidden share stay
            unknown.
    """
    seen, whole = masks.area(outline.seen), masks.area(outline.whole)
    return Sighting(
        view,
        object_id,
        masks.box(outline.seen if seen else outline.whole, height),
        masks.compress(outline.seen),
        masks.compress(outline.whole) if is_whole else None,
        1.0 - seen / whole if is_whole else None,
        frozenset({*flags} if seen else {*flags, "hidden"}),
    )


def hiding(outlines: Sequence[MaskOutline]) -> Iterator[tuple[int, int, Occlusion]]:
    """Pairs of which one hides at least `HIDES` of the other's outline: the places of both, the earlier first.

    >>> cat, fence = MaskOutline(np.array([0, 2, 4]), np.array([0, 4, 2])), MaskOutline(*[np.array([2, 4])] * 2)
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
