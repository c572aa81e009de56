"""Masks as COCO run lengths: bool (H, W) arrays ↔ counts ↔ the compressed string, and sums on the runs themselves.

*Counts* are the lengths of alternating runs of 0 and 1 over the pixels read column by column (down, then right),
beginning with a run of 0 that may be empty; they sum to H·W. The *compressed string* is COCO's ASCII form of the
counts; it does not carry the size. Only `mask_from_counts` and `decode` spend memory on pixels: everything else
works on runs, so a huge image with a small mask is cheap.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import DataError

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

_LARGEST_COORDINATE = 1e8  # pixels; beyond it the fivefold grid of `polygon` would not fit COCO's 32-bit integers


def counts_from_mask(mask: ArrayLike) -> Counts:
    """Run lengths of a (H, W) mask.

    >>> counts_from_mask([[0, 1], [1, 1]])
    array([1, 3])
    """
    flat = np.asarray(mask, dtype=bool).ravel(order="F")
    return counts_from_toggles(np.flatnonzero(np.diff(flat, prepend=False)), flat.size)


def mask_from_counts(counts: ArrayLike, height: int, width: int) -> Mask:
    """The (H, W) mask of checked counts.

    >>> mask_from_counts([1, 3], 2, 2)
    array([[False,  True],
           [ True,  True]])
    """
    runs = check(counts, height, width)
    flat: Mask = np.repeat(np.arange(runs.size) % 2 == 1, runs)
    return flat.reshape((height, width), order="F")


def encode(mask: ArrayLike) -> bytes:
    """Compress a (H, W) mask, for those who bring scenes with masks of their own; `decode` reads it.

    >>> encode([[0, 1], [1, 1]])
    b'13'
    """
    return compress(counts_from_mask(mask))


def decode(rle: bytes, height: int, width: int, *, step: int = 1) -> Mask:
    """The (H, W) mask of a compressed string; every `step`-th pixel of it, without room for the others.

    >>> decode(b"13", 2, 2).sum(), decode(b"13", 2, 2, step=2).sum()
    (np.int64(3), np.int64(0))
    """
    if step == 1:
        return mask_from_counts(decompress(rle), height, width)
    ends = np.cumsum(check(decompress(rle), height, width))
    rows = np.arange(0, height, step)
    columns = [np.searchsorted(ends, x * height + rows, side="right") % 2 == 1 for x in range(0, width, step)]
    return np.column_stack(columns)


def check(counts: ArrayLike, height: int, width: int) -> Counts:
    """The counts as an int64 array, or a DataError where they cannot be a (H, W) mask."""
    try:
        runs = np.asarray(counts)
    except ValueError as error:
        raise DataError("run lengths are not a flat list", field="counts") from error
    if runs.ndim != 1 or (runs.size and runs.dtype.kind not in "iu"):
        raise DataError("run lengths are not integers", field="counts", expected="a flat list of integers")
    if runs.size and (runs.min() < 0 or runs.max() > height * width):
        raise DataError("run length is out of range", field="counts", expected=f"0 to {height * width}")
    total = int(runs.sum())
    if total != height * width:
        expected = f"a sum of {height}×{width} = {height * width}"
        raise DataError("run lengths do not fill the image", field="counts", expected=expected, found=total)
    return runs.astype(np.int64)


def compress(counts: ArrayLike) -> bytes:
    """COCO's string of some counts.

    From the fourth run on, the difference to the run two before is written. A number is cut into groups of five
    bits, lowest first, in two's complement; bit 5 of a character says that more follow; 48 makes it printable.

    >>> compress([6, 1, 40, 4, 5, 4, 5, 4, 21])
    b'61X13mN000`0'
    """
    runs = np.asarray(counts, dtype=np.int64)
    rest = runs.copy()
    rest[3:] -= runs[1:-2]
    characters = []
    while True:
        low = rest & 31
        rest = rest >> 5
        more = np.where(low & 16, rest != -1, rest != 0)
        characters.append(np.where(more, low | 32, low) + 48)
        if not more.any():
            break
    table = np.stack(characters, axis=1).astype(np.uint8)
    follows = (table - 48) & 32 != 0
    alive = np.ones(table.shape, dtype=bool)  # a character counts as long as all before it said "more"
    alive[:, 1:] = np.logical_and.accumulate(follows, axis=1)[:, :-1]
    return table[alive].tobytes()


def decompress(rle: bytes) -> Counts:
    """The counts of COCO's string; whether they fit an image is for `check` to say.

    >>> decompress(b"61X13mN000`0")
    array([ 6,  1, 40,  4,  5,  4,  5,  4, 21])
    """
    codes = np.frombuffer(rle, dtype=np.uint8).astype(np.int64) - 48
    if codes.size == 0:
        return np.zeros(0, dtype=np.int64)
    if codes.min() < 0 or codes.max() > 63:
        raise DataError("compressed run lengths hold a foreign character", field="counts", expected="'0' to 'o'")
    last = codes & 32 == 0
    if not last[-1]:
        raise DataError("compressed run lengths end in the middle of a number", field="counts")
    ends = np.flatnonzero(last)
    starts = np.concatenate(([0], ends[:-1] + 1))
    place = np.arange(codes.size) - np.repeat(starts, ends - starts + 1)
    if place.max() > 11:
        raise DataError("compressed run length is too long", field="counts", expected="at most 12 characters")
    runs: Counts = np.add.reduceat((codes & 31) << (5 * place), starts)
    negative = codes[ends] & 16 != 0
    runs[negative] -= np.int64(1) << (5 * (place[ends[negative]] + 1))
    runs[1::2] = np.cumsum(runs[1::2])
    runs[2::2] = np.cumsum(runs[2::2])
    return runs


def dilate(mask: ArrayLike, radius: int) -> Mask:
    """Grow a (H, W) mask by a square of 2·radius + 1 pixels a side; what would leave the image is cut off.

    >>> dilate([[0, 0, 0, 0], [0, 0, 0, 1]], 1).astype(int)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    grown: Mask = np.asarray(mask, dtype=bool)
    for axis in (0, 1):
        size = grown.shape[axis]
        sums = np.insert(np.cumsum(grown, axis=axis, dtype=np.int64), 0, 0, axis=axis)
        place = np.arange(size)
        above, below = np.minimum(place + radius + 1, size), np.maximum(place - radius, 0)
        grown = sums.take(above, axis=axis) > sums.take(below, axis=axis)
    return grown


def area(counts: ArrayLike) -> int:
    """Pixels set.

    >>> area([1, 3])
    3
    """
    return int(np.asarray(counts, dtype=np.int64)[1::2].sum())


def box(counts: ArrayLike, height: int) -> tuple[float, float, float, float]:
    """Tight xyxy box, half-open, in pixels; four zeros for an empty mask.

    >>> box(counts_from_mask([[0, 0, 0], [0, 1, 1]]), height=2)
    (1.0, 1.0, 3.0, 2.0)
    """
    starts, ends = _runs(counts)
    if starts.size == 0:
        return 0.0, 0.0, 0.0, 0.0
    left, right = starts // height, (ends - 1) // height
    wraps = left < right  # a run that goes on in the next column touches both the last and the first row
    top = np.where(wraps, 0, starts % height).min()
    bottom = np.where(wraps, height, (ends - 1) % height + 1).max()
    return float(left[0]), float(top), float(right[-1] + 1), float(bottom)


def merge(masks: Iterable[ArrayLike], *, intersect: bool = False) -> Counts:
    """Union (or intersection) of masks of one size, as counts.

    >>> merge([[0, 2, 2], [1, 2, 1]]), merge([[0, 2, 2], [1, 2, 1]], intersect=True)
    (array([0, 3, 1]), array([1, 1, 2]))
    """
    all_counts = [np.asarray(m, dtype=np.int64) for m in masks]
    if not all_counts:
        raise ValueError("nothing to merge")
    totals = {int(c.sum()) for c in all_counts}
    if len(totals) > 1:
        raise DataError("masks to merge differ in size", field="counts", found=sorted(totals))
    runs = [_runs(c) for c in all_counts]
    places = np.concatenate([part for pair in runs for part in pair])
    steps = np.concatenate(
        [np.full(part.size, step) for pair in runs for part, step in zip(pair, (1, -1), strict=True)]
    )
    where, index = np.unique(places, return_inverse=True)
    depth = np.cumsum(np.bincount(index, weights=steps, minlength=where.size))
    inside = depth >= (len(all_counts) if intersect else 1)
    return counts_from_toggles(where[np.diff(inside, prepend=False)], totals.pop())


def iou(a: ArrayLike, b: ArrayLike, *, crowd: bool = False) -> float:
    """Intersection over union of two masks of one size, from their counts; NaN where both are empty.

    With `crowd`, `b` is a crowd region and the intersection is divided by the area of `a` alone, as COCO does.

    >>> iou([0, 2, 2], [1, 2, 1])
    0.3333333333333333
    """
    overlap = area(merge([a, b], intersect=True))
    whole = area(a) if crowd else area(a) + area(b) - overlap
    return overlap / whole if whole else float("nan")


def polygon(xy: ArrayLike, height: int, width: int) -> Counts:
    """Counts of a polygon, rasterised as COCO does.

    The vertices are rounded to a grid five times finer than the pixels and joined by lines drawn in steps of one
    along their longer side. Where a line crosses the middle of a pixel column, the pixel below the crossing flips
    inside and outside for the rest of the column. Parts outside the image are cut off.

    Args:
        xy: x, y, x, y…, pixels, at least three vertices; the last is joined to the first.
        height: Image height, pixels.
        width: Image width, pixels.

    >>> mask_from_counts(polygon([0, 0, 3, 0, 3, 2, 0, 2], 3, 4), 3, 4).astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 0],
           [0, 0, 0, 0]])
    """
    points = _vertices(xy)
    grid = (5.0 * points + 0.5).astype(np.int64)  # towards zero, as a C cast does
    column, row = _crossings(grid, np.roll(grid, -1, axis=0), width)
    y = np.ceil(np.clip((row + 0.5) / 5.0 - 0.5, 0.0, height)).astype(np.int64)
    where, times = np.unique(column * height + y, return_counts=True)
    return counts_from_toggles(where[times % 2 == 1], height * width)


def polygons(rings: Iterable[ArrayLike], height: int, width: int) -> Counts:
    """Counts of the union of several polygons (COCO's segmentation list)."""
    return merge([polygon(ring, height, width) for ring in rings])


def _vertices(xy: ArrayLike) -> NDArray[np.float64]:
    flat = np.asarray(xy, dtype=np.float64)
    if flat.ndim != 1 or flat.size % 2 or flat.size < 6:
        problem, expected = (
            "polygon is not a list of at least three points",
            "an even number of coordinates, 6 or more",
        )
        raise DataError(problem, field="segmentation", expected=expected, found=flat.size)
    if not (np.abs(flat) <= _LARGEST_COORDINATE).all():  # False for NaN too
        raise DataError("polygon coordinate is not finite or far off", field="segmentation")
    return flat.reshape(-1, 2)


def _crossings(start: Counts, end: Counts, width: int) -> tuple[Counts, Counts]:
    """Where lines on the fine grid cross a pixel column's middle: (column, fine row) of each crossing.

    The middle of column c lies between the fine columns 5c + 2 and 5c + 3; the row is the upper one of the two
    neighbouring line points.
    """
    shallow = np.abs(end - start)[:, 0] >= np.abs(end - start)[:, 1]
    along = np.where(shallow, 0, 1)
    edge = np.arange(len(start))
    backwards = (start[edge, along] > end[edge, along])[:, None]  # lines are drawn in the rising sense
    low, high = np.where(backwards, end, start), np.where(backwards, start, end)
    left, right = np.minimum(low[:, 0], high[:, 0]), np.maximum(low[:, 0], high[:, 0])
    first = np.maximum((left + 2) // 5, 0)  # smallest c with 5c + 2 >= left
    number = np.maximum(np.minimum((right + 2) // 5, width) - first, 0)
    edge = np.repeat(edge, number)
    column = np.arange(edge.size) - np.repeat(np.cumsum(number) - number, number) + first[edge]
    row = np.where(
        shallow[edge],
        _row_on_shallow(low[edge], high[edge], 5 * column + 2),
        _row_on_steep(low[edge], high[edge], 5 * column + 2),
    )
    return column, row


def _row_on_shallow(low: Counts, high: Counts, fine: Counts) -> Counts:
    """Upper row of the line's points at the fine columns `fine` and `fine` + 1; x grows from low to high."""
    slope = (high - low)[:, 1] / np.maximum((high - low)[:, 0], 1)
    step = fine - low[:, 0]
    here, there = (np.trunc(low[:, 1] + slope * t + 0.5).astype(np.int64) for t in (step, step + 1))
    upper: Counts = np.minimum(here, there)
    return upper


def _row_on_steep(low: Counts, high: Counts, fine: Counts) -> Counts:
    """Upper row of the line's step between the fine columns `fine` and `fine` + 1; y grows from low to high."""
    slope = (high - low)[:, 0] / np.maximum((high - low)[:, 1], 1)  # never 0: the line crosses a column
    rightwards = slope > 0
    guess = np.ceil((fine + 0.5 - low[:, 0]) / slope).astype(np.int64)
    # The guess may be one off where the line meets the border exactly; the drawn points decide.
    steps = guess[:, None] + np.arange(1, -3, -1)
    x = np.trunc(low[:, :1] + slope[:, None] * steps + 0.5).astype(np.int64)
    before = np.where(rightwards[:, None], x <= fine[:, None], x > fine[:, None])
    step = steps[np.arange(len(steps)), np.argmax(before, axis=1)]
    upper: Counts = low[:, 1] + step
    return upper


def _runs(counts: ArrayLike) -> tuple[Counts, Counts]:
    """Starts and ends (half-open) of the runs of 1 that are not empty."""
    ends = np.cumsum(np.asarray(counts, dtype=np.int64))
    starts, stops = ends[:-1][::2], ends[1::2]
    filled = stops > starts
    return starts[filled], stops[filled]


def counts_from_toggles(toggles: NDArray[np.intp] | Counts, size: int) -> Counts:
    """Counts from the sorted places where the value changes; a change at the very end is none."""
    inner = toggles[toggles < size].astype(np.int64)
    return np.diff(inner, prepend=0, append=size)
