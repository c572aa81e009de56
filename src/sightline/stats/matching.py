"""Match detections to what is there, as COCO's evaluator or as PASCAL's does, and rank them.

COCO: each detection takes, in falling order of score, the best free object whose overlap reaches the threshold;
objects to be ignored (crowds, objects outside the size range) are taken last, their detections count as nothing.
PASCAL: each detection goes to the object it overlaps most, and is wrong where another went there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.geometry import boxes, masks
from sightline.geometry.masks import Counts
from sightline.stats.bootstrap import Floats
from sightline.stats.ranked import Ranking, rank

COCO_THRESHOLDS = np.linspace(0.5, 0.95, 10)
"""Overlaps at which COCO averages: 0.50, 0.55, … 0.95."""
COCO_AREAS = {"all": (0.0, 1e10), "small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, 1e10)}
"""Areas of objects, in square pixels, both ends included."""

_BELOW_ONE = 1 - 1e-10  # a threshold of 1 would miss overlaps rounded down


@dataclass(frozen=True)
class BoxSet:
    """Boxes of one class over many images, or masks.

    Attributes:
        image: (n,) index of the image, 0…C−1.
        box: (n, 4) xyxy, pixels.
        score: (n,) higher is surer; detections only.
        area: (n,) square pixels, where it is neither the box's nor the mask's.
        crowd: (n,) objects only: a region of many, which any number of detections may take.
        masks: n masks as counts of `geometry.masks`, of one size in an image; where both sides have them, they
            overlap instead of the boxes.
    """

    image: NDArray[np.int64]
    box: Floats
    score: Floats | None = None
    area: Floats | None = None
    crowd: NDArray[np.bool_] | None = None
    masks: Sequence[Counts] | None = None

    @property
    def areas(self) -> Floats:
        """(n,) square pixels."""
        if self.area is not None:
            return self.area
        if self.masks is not None:
            return np.array([masks.area(counts) for counts in self.masks], dtype=np.float64)
        return boxes.area(self.box)

    @property
    def crowds(self) -> NDArray[np.bool_]:
        """(n,) whether each is a crowd; none where not said."""
        return np.zeros(len(self.image), dtype=bool) if self.crowd is None else np.asarray(self.crowd, dtype=bool)


def overlap(detections: NDArray[Any], objects: NDArray[Any], crowd: NDArray[Any]) -> Floats:
    """Intersection over union of boxes (D, 4) and (G, 4), xyxy: (D, G); over the detection's area for a crowd.

    >>> overlap([[0, 0, 2, 2]], [[0, 0, 2, 4], [0, 0, 2, 4]], [False, True])
    array([[0.5, 1. ]])
    """
    one, other = np.asarray(detections, np.float64)[:, None], np.asarray(objects, np.float64)[None]
    shared = boxes.intersection(one, other)
    whole = np.where(crowd, boxes.area(one), boxes.area(one) + boxes.area(other) - shared)
    return np.divide(shared, whole, out=np.zeros_like(shared), where=shared > 0)


def _shared(detected: BoxSet, said: NDArray[Any], objects: BoxSet, truth: NDArray[Any]) -> Floats:
    """(D, G) overlaps of chosen detections and objects of one image."""
    crowds = objects.crowds[truth]
    if detected.masks is None or objects.masks is None:
        return overlap(detected.box[said], objects.box[truth], crowds)
    shared = [
        [masks.iou(detected.masks[d], objects.masks[g], crowd=bool(c)) for g, c in zip(truth, crowds, strict=True)]
        for d in said
    ]
    return np.nan_to_num(np.array(shared, dtype=np.float64).reshape(len(said), len(truth)))


def match(
    overlaps: NDArray[Any],
    thresholds: Sequence[float] | Floats,
    *,
    ignored: NDArray[Any] | None = None,
    crowd: NDArray[Any] | None = None,
) -> NDArray[np.int64]:
    """Match detections, in the order given, to objects: (T, D) index of the object taken, −1 for none.

    Args:
        overlaps: (D, G) of boxes or masks, in [0, 1].
        thresholds: T lowest overlaps of a match.
        ignored: (G,) objects taken only where no other can be.
        crowd: (G,) objects that stay free when taken.

    >>> match(np.array([[0.6, 0.9], [0.8, 0.7]]), [0.5, 0.75]).tolist()
    [[1, 0], [1, 0]]
    """
    given = np.asarray(overlaps, dtype=np.float64)
    count, size = given.shape
    last = np.zeros(size, bool) if ignored is None else np.asarray(ignored, bool)
    stays = np.zeros(size, bool) if crowd is None else np.asarray(crowd, bool)
    lowest = np.minimum(np.asarray(thresholds, dtype=np.float64), _BELOW_ONE)[:, None]
    free = np.ones((len(lowest), size), dtype=bool)
    taken = np.full((len(lowest), count), -1)
    rows = np.arange(len(lowest))
    for d in range(count if size else 0):
        possible = free & (given[d] >= lowest)
        # Objects that count before those that do not; then the best, the last of equally good ones.
        worth = np.where(possible, given[d] + 2.0 * ~last, -1.0)
        best = size - 1 - worth[:, ::-1].argmax(axis=1)
        matched = possible[rows, best]
        taken[matched, d] = best[matched]
        free[rows[matched], best[matched]] = stays[best[matched]]
    return taken


def match_best(
    detected: BoxSet, objects: BoxSet, *, threshold: float = 0.5, inclusive: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Match by PASCAL's rule: (N,) object of the same image that each box overlaps most, (N,) whether it is first.

    The object is −1 where no overlap reaches the threshold; of equally good ones it is the first. A detection is
    first where none before it, in the order given, went to the same object.

    Args:
        detected: N boxes.
        objects: What is there.
        threshold: Lowest overlap, reached by equality.
        inclusive: Boxes hold whole pixels, their last column and row included: sides are one pixel longer.

    >>> there = BoxSet(np.array([0]), np.array([[0.0, 0, 10, 10]]))
    >>> said = BoxSet(np.array([0, 0, 1]), np.array([[0.0, 0, 10, 5], [0, 0, 10, 9], [0, 0, 10, 10]]))
    >>> [found.tolist() for found in match_best(said, there)]
    [[0, 0, -1], [True, False, False]]
    """
    longer = np.array([0.0, 0.0, 1.0, 1.0]) * inclusive
    in_image = np.argsort(objects.image, kind="stable")
    begin, end = (np.searchsorted(objects.image[in_image], detected.image, side) for side in ("left", "right"))
    many = end - begin
    of = np.repeat(np.arange(len(many)), many)
    where = in_image[np.arange(len(of)) - np.repeat(np.cumsum(many) - many - begin, many)]
    one, other = detected.box[of] + longer, objects.box[where] + longer
    shared = boxes.intersection(one, other)
    whole = boxes.area(one) + boxes.area(other) - shared
    ratio = np.divide(shared, whole, out=np.zeros_like(shared), where=shared > 0)
    order = np.lexsort((-ratio, of))  # stable: of equally good objects the first
    top = order[np.unique(of[order], return_index=True)[1]]
    top = top[ratio[top] >= threshold]
    taken = np.full(len(many), -1)
    taken[of[top]] = where[top]
    first = np.zeros(len(many), dtype=bool)
    first[np.unique(taken, return_index=True)[1]] = True
    return taken, first & (taken >= 0)


def rank_boxes(
    detected: BoxSet,
    objects: BoxSet,
    n_images: int,
    *,
    thresholds: Sequence[float] | Floats = COCO_THRESHOLDS,
    area: tuple[float, float] = COCO_AREAS["all"],
    most: int = 100,
) -> Ranking:
    """Match detected boxes or masks of one class to its objects in each image, and rank them over all images.

    Objects outside the size range are ignored, and so are detections that match none and lie outside it. Equal
    scores stand in the order of images, then in the order given.

    Args:
        detected: With scores.
        objects: What is there.
        n_images: C.
        thresholds: T overlaps.
        area: Smallest and largest area of objects, square pixels.
        most: Detections an image that are looked at, the surest ones.

    >>> there = BoxSet(np.array([0]), np.array([[0.0, 0, 10, 10]]))
    >>> said = BoxSet(np.array([0, 0]), np.array([[0.0, 0, 10, 8], [0, 0, 9, 9]]), score=np.array([0.3, 0.6]))
    >>> rank_boxes(said, there, 1, thresholds=[0.5, 0.85]).hit.tolist()
    [[True, False], [False, False]]
    """
    if detected.score is None:
        raise ConfigError("detections need scores")
    low, high = area
    outside, left_out = (~((low <= s.areas) & (s.areas <= high)) for s in (detected, objects))
    crowds = objects.crowds
    left_out = left_out | crowds
    order = np.lexsort((np.arange(len(detected.image)), -detected.score, detected.image))
    of_image = np.split(order, np.searchsorted(detected.image[order], np.arange(1, n_images)))
    there = np.argsort(objects.image, kind="stable")
    in_image = np.split(there, np.searchsorted(objects.image[there], np.arange(1, n_images)))
    none = np.zeros((len(thresholds), 0), dtype=bool)
    chosen, hit, ignored = [order[:0]], [none], [none]
    for said, truth in zip((rows[:most] for rows in of_image), in_image, strict=True):
        if not len(said):
            continue
        shared = _shared(detected, said, objects, truth)
        taken = match(shared, thresholds, ignored=left_out[truth], crowd=crowds[truth])
        vain = np.append(left_out[truth], False)[taken]  # −1, none, looks up the last
        chosen.append(said)
        hit.append(taken >= 0)
        ignored.append(vain | ((taken < 0) & outside[said]))
    rows, hits, skipped = np.concatenate(chosen), np.concatenate(hit, axis=1), np.concatenate(ignored, axis=1)
    positives = np.bincount(objects.image[~left_out], minlength=n_images)
    return rank(detected.score[rows], detected.image[rows], hits, positives, ignored=skipped)
