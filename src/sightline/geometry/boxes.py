"""Axis-aligned boxes: xyxy, float64, half-open, origin top left, y down."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def area(boxes: ArrayLike) -> Floats:
    """Area of each box, in squared box units; a reversed box has area 0.

    >>> area([[0.0, 0.0, 0.5, 0.4], [1.0, 0.0, 0.0, 1.0]])
    array([0.2, 0. ])
    """
    b = np.asarray(boxes, dtype=np.float64)
    extent: Floats = np.maximum(0.0, b[..., 2:] - b[..., :2])
    return extent[..., 0] * extent[..., 1]


def centre(boxes: ArrayLike) -> Floats:
    """Centre (x, y) of each box, shape (..., 2).

    >>> centre([[0.0, 0.0, 0.5, 1.0]])
    array([[0.25, 0.5 ]])
    """
    b = np.asarray(boxes, dtype=np.float64)
    middle: Floats = (b[..., :2] + b[..., 2:]) / 2.0
    return middle


def intersection(a: ArrayLike, b: ArrayLike) -> Floats:
    """Overlap area of corresponding boxes; broadcasts over leading axes.

    >>> intersection([0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 3.0])
    np.float64(1.0)
    """
    p, q = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    width = np.minimum(p[..., 2], q[..., 2]) - np.maximum(p[..., 0], q[..., 0])
    height = np.minimum(p[..., 3], q[..., 3]) - np.maximum(p[..., 1], q[..., 1])
    overlap: Floats = np.maximum(0.0, width) * np.maximum(0.0, height)
    return overlap


def iou(a: ArrayLike, b: ArrayLike) -> Floats:
    """Intersection over union of corresponding boxes; NaN where both are empty.

    >>> iou([0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.5])
    np.float64(0.5)
    """
    overlap = intersection(a, b)
    union = area(a) + area(b) - overlap
    with np.errstate(invalid="ignore"):
        ratio: Floats = overlap / union
    return ratio


def iou_matrix(a: ArrayLike, b: ArrayLike) -> Floats:
    """All pairs: (n, 4) and (m, 4) give (n, m).

    >>> iou_matrix([[0, 0, 1, 1]], [[0, 0, 1, 1], [2, 2, 3, 3]])
    array([[1., 0.]])
    """
    return iou(np.asarray(a, dtype=np.float64)[:, None, :], np.asarray(b, dtype=np.float64)[None, :, :])
