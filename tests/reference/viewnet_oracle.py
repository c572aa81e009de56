"""ViewNet's parts written straight from their definitions, one number at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sample(features: Floats, x: float, y: float) -> Floats:
    """(C,) value of (C, h, w) at a place in fractions: bilinear between the middles of cells, the edge goes on."""
    _, height, width = features.shape
    u, v = min(max(x * width - 0.5, 0.0), width - 1.0), min(max(y * height - 0.5, 0.0), height - 1.0)
    j, i = min(int(u), width - 1), min(int(v), height - 1)
    j1, i1 = min(j + 1, width - 1), min(i + 1, height - 1)
    a, b = u - j, v - i
    top = (1 - a) * features[:, i, j] + a * features[:, i, j1]
    low = (1 - a) * features[:, i1, j] + a * features[:, i1, j1]
    return (1 - b) * top + b * low


def roi_align(features: Floats, box: Floats, size: int) -> Floats:
    """(C, size, size): the mean of four samples in every cell of a box."""
    x0, y0, x1, y1 = box
    made = np.zeros((len(features), size, size))
    for row in range(size):
        for column in range(size):
            for down in (0.25, 0.75):
                for along in (0.25, 0.75):
                    x, y = x0 + (x1 - x0) * (column + along) / size, y0 + (y1 - y0) * (row + down) / size
                    made[:, row, column] += sample(features, x, y) / 4
    return made


def iou(a: Any, b: Any) -> float:
    """Intersection over union of two boxes."""
    shared = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def giou(a: Any, b: Any) -> float:
    """Generalised IoU of two boxes."""
    shared = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    whole = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    hull = (max(a[2], b[2]) - min(a[0], b[0])) * (max(a[3], b[3]) - min(a[1], b[1]))
    return shared / whole - (hull - whole) / hull


def nms(boxes: Floats, scores: Floats, classes: NDArray[np.int64], overlap: float) -> list[int]:
    """Boxes kept, likeliest first: each removes the less likely ones of its class that overlap it more."""
    left = sorted(range(len(boxes)), key=lambda i: -scores[i])
    kept = []
    while left:
        best, *left = left
        kept.append(best)
        left = [i for i in left if classes[i] != classes[best] or iou(boxes[i], boxes[best]) <= overlap]
    return kept


def azimuth_losses(bins: Floats, offsets: Floats, azimuth: float, symmetry: int) -> tuple[float, float]:
    """Negative logarithm of the chance of all bins that look right, and the mean smooth distance in those."""
    if symmetry == 0:
        return 0.0, 0.0
    chances = np.exp(bins) / np.exp(bins).sum()
    total, gaps = 0.0, []
    for k in range(symmetry):
        place = (azimuth + 360.0 * k / symmetry) % 360.0 * len(bins) / 360.0
        nearest = round(place)
        total += chances[nearest % len(bins)]
        gap = abs(offsets[nearest % len(bins)] - (place - nearest))
        gaps.append(gap * gap / 0.4 if gap < 0.2 else gap - 0.1)
    return -math.log(total), sum(gaps) / len(gaps)
