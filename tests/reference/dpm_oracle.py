"""Deformable part models by their formulas, slow and obvious: features, distance transform, placements."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

EPSILON = 1e-4
CLIP = 0.2


def hog(picture, cell):
    """Felzenszwalb's 31 features a cell: 18 directions, 9 orientations, 4 kinds of texture; float loops.

    The picture goes on beyond its edges as it is there: by one cell for the features of the outermost cells.
    """
    height, width = picture.shape[:2]
    rows, columns = max(1, math.floor(height / cell + 0.5)), max(1, math.floor(width / cell + 0.5))

    def pixel(y, x, channel):
        inside_y, inside_x = min(max(y, 0), rows * cell - 1), min(max(x, 0), columns * cell - 1)
        return float(picture[min(inside_y, height - 1), min(inside_x, width - 1), channel])

    directions = [(math.cos(math.pi * o / 9), math.sin(math.pi * o / 9)) for o in range(18)]
    rank = [1 - 1e-5 * (o % 9) for o in range(18)]  # the first where two are equally near
    histogram = np.zeros((rows + 2, columns + 2, 18))  # one cell more on each side
    for y, x in product(range(-cell, (rows + 1) * cell), range(-cell, (columns + 1) * cell)):
        slopes = [
            (pixel(y, x + 1, c) - pixel(y, x - 1, c), pixel(y + 1, x, c) - pixel(y - 1, x, c))
            for c in range(picture.shape[2])
        ]
        dx, dy = max(slopes, key=lambda slope: slope[0] ** 2 + slope[1] ** 2)
        best = max(range(18), key=lambda o: rank[o] * (dx * directions[o][0] + dy * directions[o][1]))
        for i, j in product(range(rows + 2), range(columns + 2)):
            away = [abs((at + 0.5) / cell - 0.5 - (index - 1)) for at, index in ((y, i), (x, j))]
            if max(away) < 1:
                histogram[i, j, best] += (1 - away[0]) * (1 - away[1]) * math.hypot(dx, dy)
    energy = ((histogram[..., :9] + histogram[..., 9:]) ** 2).sum(axis=-1)
    features = np.zeros((rows, columns, 31))
    for i, j in product(range(rows), range(columns)):
        here = histogram[i + 1, j + 1]
        scales = []
        for up, left in product((0, 1), (0, 1)):
            block = energy[i + up : i + up + 2, j + left : j + left + 2]
            scales.append(1 / math.sqrt(block.sum() + EPSILON))
        signed = [[min(h * n, CLIP) for h in here] for n in scales]
        unsigned = [[min((here[o] + here[o + 9]) * n, CLIP) for o in range(9)] for n in scales]
        features[i, j, :18] = 0.5 * np.sum(signed, axis=0)
        features[i, j, 18:27] = 0.5 * np.sum(unsigned, axis=0)
        features[i, j, 27:] = [0.2357 * sum(values) for values in signed]
    return features


def distance_transform(scores, deformation):
    """(H, W): for every place the best score of any place, less the cost of going there: dx, dy, dx², dy²."""
    height, width = scores.shape
    best = np.full((height, width), -np.inf)
    for (y, x), (v, u) in product(product(range(height), range(width)), repeat=2):
        dy, dx = v - y, u - x
        cost = np.dot(deformation, (dx, dy, dx * dx, dy * dy))
        best[y, x] = max(best[y, x], scores[v, u] - cost)
    return best


def window_score(features, window, y, x):
    """Sum of products of a filter (C, h, w) with features (C, H, W) at a place; outside they are 0."""
    total = 0.0
    for i, j in product(range(window.shape[1]), range(window.shape[2])):
        if 0 <= y + i < features.shape[1] and 0 <= x + j < features.shape[2]:
            total += float(np.dot(window[:, i, j], features[:, y + i, x + j]))
    return total


def placement_score(coarse, fine, component, y, x, reach):
    """Score of a root at (y, x) of the coarse features with each part at its best place of the fine ones.

    `component` has root, parts, anchors, deformations and bias; a part may lie anywhere in the fine features and
    `reach` cells around them.
    """
    total = window_score(coarse, component["root"], y, x) + component["bias"]
    for window, (down, across), deformation in zip(
        component["parts"], component["anchors"], component["deformations"], strict=True
    ):
        ideal = 2 * y + down, 2 * x + across
        best = -np.inf
        for v in range(-reach[0], fine.shape[1] + reach[0] - window.shape[1] + 1):
            for u in range(-reach[1], fine.shape[2] + reach[1] - window.shape[2] + 1):
                dy, dx = v - ideal[0], u - ideal[1]
                cost = np.dot(deformation, (dx, dy, dx * dx, dy * dy))
                best = max(best, window_score(fine, window, v, u) - cost)
        total += best
    return total
