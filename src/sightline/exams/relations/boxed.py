"""Pairs that are told by their boxes, as in prediction files: arrays, grouping by image pair, windows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numba
import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import geometry
from sightline.exams.relations.protocols import Aspect
from sightline.skills import Setting

Ints = NDArray[np.int32]
Attribute = Literal["vertical", "horizontal", "area"]

_BLOCK = 1 << 20  # rows at a time, so that millions of predictions need no large temporaries
_BOX_A = ("a_x0", "a_y0", "a_x1", "a_y1")
_BOX_B = ("b_x0", "b_y0", "b_x1", "b_y1")


@dataclass(frozen=True)
class BoxedPairs:
    """n pairs in file order.

    Attributes:
        images: Image ids; truth and predictions that are scored together share the same list.
        image_a: (n,) index into `images` of the first object's image; `image_b` of the second's.
        boxes_a: (n, 4) xyxy of the first objects, in fractions of the image; `boxes_b` of the second.
        depth: (n,) codes of `Depth`; −1 no majority in truth, no answer in predictions.
        occlusion: (n,) codes of `Occlusion`, likewise.
    """

    images: NDArray[np.object_]
    image_a: Ints
    image_b: Ints
    boxes_a: NDArray[np.float64]
    boxes_b: NDArray[np.float64]
    depth: NDArray[np.int8]
    occlusion: NDArray[np.int8]

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
        picked = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "images"}
        return replace(self, **picked)


def boxed_pairs(truth: pl.DataFrame, predictions: pl.DataFrame) -> tuple[BoxedPairs, BoxedPairs]:
    """Truth and predictions as arrays over one list of images.

    Args:
        truth: As `store.formats.vrd25.read_scoring_truth` gives it.
        predictions: As `read_predictions` there gives it.
    """
    ids = pl.concat([frame[end] for frame in (truth, predictions) for end in ("image_a", "image_b")])
    images, codes = _numbered(ids)
    n, m = truth.height, predictions.height
    a, b, c, d = np.split(codes, [n, 2 * n, 2 * n + m])
    return _arrays(truth, images, a, b), _arrays(predictions, images, c, d)


def _numbered(ids: pl.Series) -> tuple[NDArray[np.object_], Ints]:
    """The distinct ids in order of appearance, and the position of each id among them."""
    run = ids.rle_id().to_numpy()  # files come sorted by image: look up one id a run, not one a row
    firsts = np.flatnonzero(np.diff(run, prepend=-1))
    heads = ids.gather(firsts).alias("id")
    images = heads.unique(maintain_order=True)
    numbered = images.to_frame().with_row_index("code")
    codes = heads.to_frame().join(numbered, on="id", how="left", maintain_order="left")["code"]
    return images.to_numpy().astype(object), codes.to_numpy().astype(np.int32)[run]


def _arrays(frame: pl.DataFrame, images: NDArray[np.object_], image_a: Ints, image_b: Ints) -> BoxedPairs:
    return BoxedPairs(
        images=images,
        image_a=image_a,
        image_b=image_b,
        boxes_a=_columns(frame, _BOX_A),
        boxes_b=_columns(frame, _BOX_B),
        depth=frame["depth"].to_numpy().astype(np.int8),
        occlusion=frame["occlusion"].to_numpy().astype(np.int8),
    )


def _columns(frame: pl.DataFrame, names: tuple[str, ...]) -> NDArray[np.float64]:
    """The columns side by side, each row contiguous."""
    out = np.empty((frame.height, len(names)), dtype=np.float64)
    for j, name in enumerate(names):
        out[:, j] = frame[name].to_numpy()
    return out


@dataclass(frozen=True)
class Sorted:
    """Rows by a key: those of key k are ``order[start[k]:start[k + 1]]``, in file order."""

    order: Ints
    start: NDArray[np.int64]


def sort_rows(key: Ints, n_keys: int) -> Sorted:
    """Rows by key; rows with key −1 are left out.

    >>> sort_rows(np.array([1, -1, 0, 1], dtype=np.int32), 2).order.tolist()
    [2, 0, 3]
    """
    start = np.zeros(n_keys + 1, dtype=np.int64)
    np.cumsum(np.bincount(key + 1, minlength=n_keys + 1)[1:], out=start[1:])
    order = np.empty(start[-1], dtype=np.int32)
    _fill_order(key, start[:-1].copy(), order)
    return Sorted(order, start)


@numba.njit(cache=True)
def _fill_order(key: Ints, place: NDArray[np.int64], order: Ints) -> None:
    for row in range(len(key)):
        if key[row] >= 0:
            order[place[key[row]]] = row
            place[key[row]] += 1


@dataclass(frozen=True)
class Groups:
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


def group_by_images(truth: BoxedPairs, predictions: BoxedPairs, *, directed: bool) -> Groups:
    """Group by the image pair of the truth: as written (`directed`) or whichever image comes first."""
    size = len(truth.images)
    keys, group = np.unique(_keys(truth.image_a, truth.image_b, size, directed), return_inverse=True)
    low, high = np.divmod(keys, size)
    cluster_keys, cluster = np.unique(np.minimum(low, high) * size + np.maximum(low, high), return_inverse=True)
    return Groups(
        clusters=np.stack(np.divmod(cluster_keys, size), axis=-1).astype(np.int32),
        cluster=cluster.astype(np.int32),
        truth=group.astype(np.int32),
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


def _groups_of(pairs: BoxedPairs, keys: NDArray[np.int64], size: int, directed: bool) -> Ints:
    """Position of each row's image pair in the sorted keys, −1 where it is not there."""
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
class Window:
    """Which ordered pairs to look at: a range [low, high) of one attribute for each of the two boxes.

    Attributes:
        attribute: ``vertical`` or ``horizontal`` centre of the box, or its ``area``, in fractions of the image.
        first: Range for the first box of the pair; `second` for the second.
    """

    attribute: Attribute
    first: tuple[float, float]
    second: tuple[float, float]

    def keeps(self, boxes_a: NDArray[np.float64], boxes_b: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of n ordered pairs lie in the window.

        >>> Window("vertical", (0, 0.5), (0, 0.5)).keeps(np.array([[0, 0, 1, 0.8]]), np.array([[0, 0, 1, 1.0]]))
        array([False])
        """
        kept: NDArray[np.bool_] = self._in(boxes_a, self.first) & self._in(boxes_b, self.second)
        return kept

    def _in(self, boxes: NDArray[np.float64], span: tuple[float, float]) -> NDArray[np.bool_]:
        if self.attribute == "area":
            value = geometry.area(boxes)
        else:
            value = geometry.centre(boxes)[..., 1 if self.attribute == "vertical" else 0]
        inside: NDArray[np.bool_] = (value >= span[0]) & (value < span[1])
        return inside
