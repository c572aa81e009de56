"""Pairs known by their boxes, as in prediction files: arrays, grouping by image pair, windows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

import numba
import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import geometry
from sightline.exams.relations.protocols import Aspect
from sightline.skills import Setting
from sightline.store.formats.bulk import TextNumbers, extend

Ints = NDArray[np.int32]
Attribute = Literal["vertical", "horizontal", "area"]

_BLOCK = 1 << 20  # rows at a time, so that millions of predictions need no large temporaries
_IMAGES = ("image_a", "image_b")
_CLASSES = {"class_a": "category_a", "class_b": "category_b"}
_BOXES = {f"boxes_{end}": tuple(f"{end}_{edge}" for edge in ("x0", "y0", "x1", "y1")) for end in "ab"}


@dataclass(frozen=True)
class BoxedPairs:
    """n pairs in file order.

    Attributes:
        images: Image ids; truth and predictions that are scored together share the same list.
        image_a: (n,) index into `images` of the first object's image; `image_b` of the second's.
        boxes_a: (n, 4) xyxy of the first objects, in fractions of the image; `boxes_b` of the second.
        depth: (n,) codes of `Depth`; −1 no majority in truth, no answer in predictions.
        occlusion: (n,) codes of `Occlusion`, likewise.
        class_a: (n,) number of the first object's class, the same in truth and predictions; (0,) where classes are
            not looked at. `class_b` of the second's.
        class_names: The classes by number.
    """

    images: NDArray[Any]
    image_a: Ints
    image_b: Ints
    boxes_a: NDArray[np.float64]
    boxes_b: NDArray[np.float64]
    depth: NDArray[np.int8]
    occlusion: NDArray[np.int8]
    class_a: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    class_b: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    class_names: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=object))

    def __len__(self) -> int:
        return len(self.image_a)

    @property
    def setting(self) -> Setting:
        """Across images as soon as one pair spans two."""
        return "across_images" if bool(np.any(self.image_a != self.image_b)) else "within_image"

    def labels(self, aspect: Aspect) -> NDArray[np.int8]:
        """(n,) codes of one aspect."""
        return self.depth if aspect == "depth" else self.occlusion

    def take(self, rows: NDArray[Any]) -> BoxedPairs:
        """The pairs picked by an index or boolean array; `images` stays."""
        whole = ("images", "class_names")
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in whole}
        return replace(self, **{name: a[rows] for name, a in arrays.items() if len(a) or name in _IMAGES})


def boxed_blocks(
    truth: Iterable[pl.DataFrame], predictions: Iterable[pl.DataFrame], *, classes: bool = False
) -> tuple[BoxedPairs, BoxedPairs]:
    """Truth and predictions as arrays over one list of images.

    Args:
        truth: Consecutive parts of what `store.formats.vrd25.read_scoring_truth` gives; none of them is kept.
        predictions: The same of `read_predictions` there.
        classes: Keep the columns category_a and category_b too.
    """
    images, kinds = TextNumbers(), TextNumbers() if classes else None
    true = _arrays(truth, images, kinds)
    # Numbered anew, so that the order of clusters, hence of a bootstrap's draws, does not depend on the blocks.
    order = _by_first_use(true["image_a"], true["image_b"], len(images))
    names = list(images)
    images = TextNumbers(names[i] for i in order)
    rank = np.argsort(order).astype(np.int32)
    for end in _IMAGES:
        true[end] = rank[true[end]]
    said = _arrays(predictions, images, kinds)
    shared = {"images": np.array(list(images), dtype=np.dtypes.StringDType())}
    shared["class_names"] = np.array(list(kinds or ()), dtype=object)
    return BoxedPairs(**shared, **true), BoxedPairs(**shared, **said)


def _by_first_use(first: Ints, second: Ints, size: int) -> NDArray[np.int64]:
    """The numbers below `size` in the order in which they appear: in all of `first`, then in `second`.

    >>> _by_first_use(np.array([2, 2, 0]), np.array([1, 2, 3]), 4).tolist()
    [2, 0, 1, 3]
    """
    place = np.empty(size, dtype=np.int64)
    for start, numbers in ((len(first), second), (0, first)):
        backwards = np.arange(start + len(numbers) - 1, start - 1, -1)
        place[numbers[::-1]] = backwards  # of several places the last written stays: the earliest
    return np.argsort(place)


def _arrays(blocks: Iterable[pl.DataFrame], images: TextNumbers, classes: TextNumbers | None) -> dict[str, Any]:
    """The fields of `BoxedPairs` but for images and classes; the numbers of either are those of the lists given."""
    arrays: dict[str, NDArray[Any]] = {
        **{end: np.empty(0, dtype=np.int32) for end in _IMAGES},
        **{end: np.empty((0, 4)) for end in _BOXES},
        **{aspect: np.empty(0, dtype=np.int8) for aspect in ("depth", "occlusion")},
        **{end: np.empty(0, dtype=np.int32) for end in _CLASSES if classes is not None},
    }
    for block in blocks:
        for name, array in arrays.items():
            if name in _BOXES:
                extend(array, block.select(_BOXES[name]).to_numpy())
            elif name in _CLASSES and classes is not None:
                extend(array, classes.numbers(block[_CLASSES[name]]))
            else:
                extend(array, images.numbers(block[name]) if name in _IMAGES else block[name].to_numpy())
    return arrays


class SortedRows(NamedTuple):
    """Rows by a key: those of key k are ``order[start[k]:start[k + 1]]``, in file order."""

    order: Ints
    start: NDArray[np.int64]


@numba.njit(cache=True)
def sort_rows(key: Ints, n_keys: int) -> SortedRows:
    """Rows by key; rows with key −1 are left out.

    >>> sort_rows(np.array([1, -1, 0, 1], dtype=np.int32), 2).order.tolist()
    [2, 0, 3]
    """
    count = np.zeros(n_keys + 1, dtype=np.int64)
    for row in range(len(key)):
        if key[row] >= 0:
            count[key[row] + 1] += 1
    start = np.cumsum(count)
    order = np.empty(start[-1], dtype=np.int32)
    place = start.copy()
    for row in range(len(key)):
        if key[row] >= 0:
            order[place[key[row]]] = row
            place[key[row]] += 1
    return SortedRows(order, start)


class ImageGroups(NamedTuple):
    """Rows of truth and predictions brought together by image pair.

    Attributes:
        clusters: (c, 2) the unordered image pairs of the truth, smaller index first.
        cluster: (g,) cluster of each group.
        truth: (n,) group of each truth row.
        prediction: (m,) group of each prediction, −1 where the truth has no such image pair.
    """

    clusters: Ints
    cluster: Ints
    truth: Ints
    prediction: Ints


def group_by_images(truth: BoxedPairs, predictions: BoxedPairs, *, directed: bool) -> ImageGroups:
    """Group by the image pair of the truth: as written (`directed`) or whichever image comes first."""
    size = len(truth.images)
    keys = _distinct(_keys(truth.image_a, truth.image_b, size, directed))
    low, high = np.divmod(keys, size)
    cluster_keys, cluster = np.unique(np.minimum(low, high) * size + np.maximum(low, high), return_inverse=True)
    return ImageGroups(
        clusters=np.stack(np.divmod(cluster_keys, size), axis=-1).astype(np.int32),
        cluster=cluster.astype(np.int32),
        truth=_groups_of(truth, keys, size, directed),
        prediction=_groups_of(predictions, keys, size, directed),
    )


def _keys(first: Ints, second: Ints, size: int, directed: bool) -> NDArray[np.int64]:
    """One number for each row's image pair."""
    if not directed:
        first, second = np.minimum(first, second), np.maximum(first, second)
    key: NDArray[np.int64] = first.astype(np.int64)
    key *= size
    key += second
    return key


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct keys, sorted in place, which needs less memory than `np.unique`."""
    keys.sort()
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys[new]


def _groups_of(pairs: BoxedPairs, keys: NDArray[np.int64], size: int, directed: bool) -> Ints:
    """Position of each row's image pair in the sorted keys, −1 where they have none."""
    group = np.full(len(pairs), -1, dtype=np.int32)
    if not len(keys):
        return group
    for start in range(0, len(pairs), _BLOCK):
        rows = slice(start, start + _BLOCK)
        wanted = _keys(pairs.image_a[rows], pairs.image_b[rows], size, directed)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        group[rows] = np.where(keys[place] == wanted, place, -1)
    return group


@dataclass(frozen=True, slots=True)
class BoxRange:
    """A range [low, high) of one attribute of a box.

    Attributes:
        attribute: ``vertical`` or ``horizontal`` centre of the box, or its ``area``, in fractions of the image.
        low: Smallest value inside; `high` is outside.
    """

    attribute: Attribute
    low: float
    high: float

    def values(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The attribute of n boxes."""
        if self.attribute == "area":
            return geometry.area(boxes)
        return geometry.centre(boxes)[..., 1 if self.attribute == "vertical" else 0]

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of n boxes lie in the range.

        >>> BoxRange("vertical", 0, 0.5).holds(np.array([[0, 0, 1, 0.8], [0, 0, 1, 1.0]]))
        array([ True, False])
        """
        value = self.values(boxes)
        inside: NDArray[np.bool_] = (value >= self.low) & (value < self.high)
        return inside


@dataclass(frozen=True, slots=True)
class BoxWindow:
    """Which ordered pairs to look at: a range for the first box and one for the second; None for any box."""

    first: BoxRange | None = None
    second: BoxRange | None = None

    def keeps(self, boxes_a: NDArray[np.float64], boxes_b: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of n ordered pairs lie in the window."""
        inside = np.ones(len(boxes_a), dtype=bool)
        for span, boxes in ((self.first, boxes_a), (self.second, boxes_b)):
            if span is not None:
                inside &= span.holds(boxes)
        return inside

    def nothing_left(self, truth: BoxedPairs) -> str:
        """What to say where no pair of the truth lies in the window, either way round; else nothing."""
        ends = (truth.boxes_a, truth.boxes_b)
        if not len(truth) or (self.keeps(*ends) | self.keeps(*ends[::-1])).any():
            return ""
        asked = []
        for number, span in zip(("first", "second"), (self.first, self.second), strict=True):
            if span is not None:
                values = np.concatenate([span.values(boxes) for boxes in ends])
                there = f"there is {values.min():.3g} to {values.max():.3g}"
                asked.append(f"{number} box: {span.attribute} {span.low:g} to {span.high:g}, {there}")
        return f"the window leaves no pair to score ({'; '.join(asked)})"
