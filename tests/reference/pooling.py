"""Pooling over boxes, point by point."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def at(plane: Floats, x: float, y: float) -> float:
    """Value of a plane (H, W) at a place in fractions, bilinear between the centres of cells."""
    height, width = plane.shape
    column, row = min(max(x * width - 0.5, 0.0), width - 1.0), min(max(y * height - 0.5, 0.0), height - 1.0)
    left, top = math.floor(column), math.floor(row)
    right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
    across, down = column - left, row - top
    above = plane[top, left] * (1 - across) + plane[top, right] * across
    below = plane[bottom, left] * (1 - across) + plane[bottom, right] * across
    return float(above * (1 - down) + below * down)


def part_points(box: Floats, cells: int, y: int, x: int) -> list[tuple[float, float]]:
    """The 2 × 2 places at which part (y, x) of a box is read."""
    x0, y0, x1, y1 = box
    return [
        (x0 + (x + across) / cells * (x1 - x0), y0 + (y + down) / cells * (y1 - y0))
        for down in (0.25, 0.75)
        for across in (0.25, 0.75)
    ]


def part_values(plane: Floats, box: Floats, cells: int, y: int, x: int) -> list[float]:
    """Values of a plane in part (y, x) of a box."""
    return [at(plane, *place) for place in part_points(box, cells, y, x)]
