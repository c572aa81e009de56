"""Designated regions in which objects are partly visible: by the visible mask, else by the box.

An answer of yes rests on at least `ENOUGH` pixels of a mask, or on a box that reaches by more than a margin into
the region; less than that, and it is ambiguous whether the object is seen there.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENOUGH: Final = 30
"""Pixels of a visible mask that can be noticed."""

PIXELS: Final = 2.0
"""Pixels by which a box must reach into a region, in width and height, for its object to be seen there."""

SHARE: Final = 0.004
"""The same for boxes in fractions of an image whose size was never told."""

_DIGITS = 9  # a third of 480 pixels is 160, whatever the last bit says


def edges(boxes: Floats, extents: Floats) -> Floats:
    """Regions in the units of some images.

    Args:
        boxes: (R, 4) xyxy, fractions of the image.
        extents: (n, 2) width and height of the image of each object.

    Returns:
        (n, R, 4) xyxy.
    """
    scaled: Floats = np.round(boxes[None] * np.tile(extents, 2)[:, None], _DIGITS)
    return scaled


def boxes_in(boxes: Floats, regions: Floats, margins: Floats | None = None) -> NDArray[np.bool_]:
    """(n, R) whether box and region share an area, wider and higher than a margin or as wide and high as the box.

    Args:
        boxes: (n, 4) xyxy.
        regions: (n, R, 4) from `edges`.
        margins: (n,) in the units of the boxes; None for 0.

    >>> halves = edges(np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]]), np.array([[10.0, 10.0]]))
    >>> boxes_in(np.array([[5.0, 0.0, 9.0, 9.0]]), halves)
    array([[False,  True]])
    """
    low = np.maximum(boxes[:, None, :2], regions[:, :, :2])
    high = np.minimum(boxes[:, None, 2:], regions[:, :, 2:])
    shared = high - low
    inside: NDArray[np.bool_] = np.all(shared > 0, axis=-1)
    if margins is not None:
        whole = (boxes[:, 2:] - boxes[:, :2])[:, None]
        inside &= np.asarray(shared >= np.minimum(margins[:, None, None], whole)).all(axis=-1)
    return inside


def pixels_in(masks: list[bytes], sizes: Ints, regions: Floats) -> tuple[Ints, int | None]:
    """(n, R) pixels of the mask that lie in the region, in part at least; and the first mask that is no mask.

    Runs are decoded and looked at in one compiled pass. `geometry.masks.decompress`, which takes one mask at a
    time, would be fifteen times slower, and an annotated image has ten of them.

    Args:
        masks: COCO compressed run lengths.
        sizes: (n, 2) width and height, pixels.
        regions: (n, R, 4) from `edges`, pixels.

    >>> halves = edges(np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]]), np.array([[2.0, 2.0]]))
    >>> pixels_in([b"22"], np.array([[2, 2]]), halves)
    (array([[0, 2]]), None)
    """
    pixels = np.empty(regions.shape, dtype=np.int64)
    pixels[..., :2], pixels[..., 2:] = np.floor(regions[..., :2]), np.ceil(regions[..., 2:])
    ends = np.cumsum([len(mask) for mask in masks], dtype=np.int64)
    seen = np.zeros(regions.shape[:2], dtype=np.int64)
    data = np.frombuffer(b"".join(masks), dtype=np.uint8)
    bad = int(_decode(data, ends, sizes.astype(np.int64), pixels, seen))
    return seen, None if bad < 0 else bad


@njit(cache=True)
def _decode(data: NDArray[np.uint8], ends: Ints, sizes: Ints, regions: Ints, seen: Ints) -> int:
    """Add to `seen` the pixels of each mask; the number of the first broken mask, −1 if there is none."""
    p = 0
    for m in range(len(ends)):
        height, total = sizes[m, 1], sizes[m, 0] * sizes[m, 1]
        place, run, last, older = 0, 0, 0, 0
        while p < ends[m]:
            count, shift, more = 0, 0, True
            while more:
                if p >= ends[m] or shift > 55 or data[p] < 48 or data[p] > 111:
                    return m
                code = int(data[p]) - 48
                p += 1
                count |= (code & 31) << shift
                shift += 5
                more = code & 32 != 0
                if not more and code & 16 != 0:
                    count -= 1 << shift
            if run > 2:  # from the fourth run on the difference to the run two before is written
                count += older
            if count < 0 or place + count > total:
                return m
            if run % 2 == 1 and count > 0:
                _mark(place, place + count, height, regions[m], seen[m])
            place += count
            older, last = last, count
            run += 1
        if place != total:
            return m
    return -1


@njit(cache=True)
def _mark(start: int, stop: int, height: int, regions: Ints, seen: Ints) -> None:
    """A run goes down its columns: from its start to the foot of the first, from the top of the last to its end."""
    first, last = start // height, (stop - 1) // height
    for r in range(len(regions)):
        x0, y0, x1, y1 = regions[r]
        for column in range(max(first, x0), min(last + 1, x1)):
            top = start - column * height if column == first else 0
            bottom = stop - column * height if column == last else height
            seen[r] += max(0, min(bottom, y1) - max(top, y0))
