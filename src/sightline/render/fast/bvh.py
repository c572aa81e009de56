"""A bounding-volume hierarchy per solid, built once and kept.

Nodes lie in depth-first order with a skip link each, so a ray walks them with one integer of state: into the next
node where it hits a box, along the link where it misses. That needs no stack and runs the same on CPU and CUDA.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast.jit import kernel

LEAF = 4
"""Triangles in a leaf at most."""

BINS = 16
"""Places considered for a cut along each axis."""

DEEP = 96
"""Nodes that wait on the way down; from then on triangles are halved, whatever it costs."""

SLACK = 1e-3
"""What juts out of a face's plane by so little, relative to the whole, counts as lying behind it."""


class Tree(NamedTuple):
    """Nodes and the order of triangles.

    Attributes:
        bounds: (N, 6) float32: low x, y, z, high x, y, z.
        links: (N, 3) int32: node to go on with where the box is missed, first triangle, triangles (0: inner node).
        order: (F,) int32: triangles in leaf order.
    """

    bounds: NDArray[np.float32]
    links: NDArray[np.int32]
    order: NDArray[np.int32]


def build(vertices: NDArray[np.float32], faces: NDArray[np.int32]) -> Tree:
    """The hierarchy of a mesh: split by the surface area heuristic.

    >>> import numpy as np
    >>> tree = build(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], dtype=np.int32))
    >>> tree.links.tolist(), tree.bounds[0].tolist()
    ([[1, 0, 1]], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    """
    corners = vertices[faces].astype(np.float32)
    bounds, links, order, count = _build(corners.min(axis=1), corners.max(axis=1), corners.mean(axis=1))
    return Tree(bounds[:count].copy(), links[:count].copy(), order)


def all_behind(tree: Tree, corners: NDArray[np.float32]) -> NDArray[np.bool_]:
    """For every triangle, whether all of them lie behind it; `corners` is (F, 3, 3), in leaf order."""
    corner = corners.astype(np.float64)
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = normal / np.where(length > 0, length, 1.0)
    limit = (normal * corner[:, 0]).sum(axis=1) + SLACK * np.abs(corner).max()
    behind = np.ones(len(corners), np.bool_)
    _all_behind(tree.bounds, tree.links, corner, normal, limit, behind)
    return behind


@kernel
def _all_behind(bounds, links, corner, normal, limit, behind):
    """Walk down to the boxes that reach across a face's plane, until a corner is found there."""
    for f in range(corner.shape[0]):
        nx, ny, nz = normal[f, 0], normal[f, 1], normal[f, 2]
        a, b, c = 3 if nx > 0.0 else 0, 4 if ny > 0.0 else 1, 5 if nz > 0.0 else 2
        node = 0
        while node < bounds.shape[0]:
            if nx * bounds[node, a] + ny * bounds[node, b] + nz * bounds[node, c] <= limit[f]:
                node = links[node, 0]
                continue
            first = links[node, 1]
            for t in range(first, first + links[node, 2]):
                for i in range(3):
                    if nx * corner[t, i, 0] + ny * corner[t, i, 1] + nz * corner[t, i, 2] > limit[f]:
                        behind[f] = False
            node = node + 1 if behind[f] else bounds.shape[0]


@kernel
def _build(low, high, middle):
    n = low.shape[0]
    order = np.arange(n).astype(np.int32)
    bounds = np.empty((2 * n, 6), np.float32)
    links = np.zeros((2 * n, 3), np.int32)
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    depth, count = 1, 0
    end = np.empty(2 * n, np.int64)
    begins = np.full(n + 1, -1, np.int64)
    while depth:
        depth -= 1
        first, last = stack[depth, 0], stack[depth, 1]
        node = count
        count += 1
        end[node] = last
        if begins[first] < 0:
            begins[first] = node
        for axis in range(3):
            lo, hi = low[order[first], axis], high[order[first], axis]
            for i in range(first + 1, last):
                lo = min(lo, low[order[i], axis])
                hi = max(hi, high[order[i], axis])
            bounds[node, axis], bounds[node, axis + 3] = lo, hi
        if last - first <= LEAF:
            links[node, 1], links[node, 2] = first, last - first
            continue
        split = (first + last) // 2
        if depth < DEEP:
            split = _split(order, low, high, middle, first, last)
        stack[depth, 0], stack[depth, 1] = split, last
        stack[depth + 1, 0], stack[depth + 1, 1] = first, split
        depth += 2
    begins[n] = count
    for node in range(count):
        # Depth-first: after a node's subtree comes the first node whose triangles begin where its own end.
        links[node, 0] = begins[end[node]]
    return bounds, links, order, count


@kernel
def _split(order, low, high, middle, first, last):
    """Cut where the boxes of the two sides promise the fewest hits (surface area heuristic over equal bins)."""
    best, best_axis, best_edge = np.float32(np.inf), -1, np.float32(0.0)
    count = np.empty(BINS, np.int64)
    box = np.empty((BINS, 6), np.float32)
    right = np.empty(BINS, np.float32)
    for axis in range(3):
        lo = hi = middle[order[first], axis]
        for i in range(first + 1, last):
            lo, hi = min(lo, middle[order[i], axis]), max(hi, middle[order[i], axis])
        if hi <= lo:
            continue
        count[:] = 0
        scale = np.float32(BINS) / (hi - lo)
        for i in range(first, last):
            t = order[i]
            bin_ = min(BINS - 1, int((middle[t, axis] - lo) * scale))
            for c in range(3):
                if count[bin_] == 0:
                    box[bin_, c], box[bin_, c + 3] = low[t, c], high[t, c]
                else:
                    box[bin_, c] = min(box[bin_, c], low[t, c])
                    box[bin_, c + 3] = max(box[bin_, c + 3], high[t, c])
            count[bin_] += 1
        _sweep(box, count, right)
        edge, cost = _cheapest(box, count, right)
        if cost < best:
            best, best_axis, best_edge = cost, axis, lo + np.float32(edge) / scale
    split = first
    if best_axis >= 0:
        for i in range(first, last):
            if middle[order[i], best_axis] < best_edge:
                order[i], order[split] = order[split], order[i]
                split += 1
    if split in (first, last):
        split = (first + last) // 2
    return split


@kernel
def _sweep(box, count, right):
    """Cost of everything from each bin to the last."""
    low, high = np.full(3, np.inf, np.float32), np.full(3, -np.inf, np.float32)
    total = 0
    for b in range(BINS - 1, -1, -1):
        if count[b]:
            total += count[b]
            for c in range(3):
                low[c], high[c] = min(low[c], box[b, c]), max(high[c], box[b, c + 3])
        right[b] = total * _area(low, high) if total else 0.0


@kernel
def _cheapest(box, count, right):
    """The bin to cut before, and the cost of that."""
    low, high = np.full(3, np.inf, np.float32), np.full(3, -np.inf, np.float32)
    total, best, edge = 0, np.float32(np.inf), 0
    for b in range(BINS - 1):
        if count[b]:
            total += count[b]
            for c in range(3):
                low[c], high[c] = min(low[c], box[b, c]), max(high[c], box[b, c + 3])
        if total:
            cost = np.float32(total * _area(low, high) + right[b + 1])
            if right[b + 1] > 0 and cost < best:
                best, edge = cost, b + 1
    return edge, best


@kernel
def _area(low, high):
    x, y, z = high[0] - low[0], high[1] - low[1], high[2] - low[2]
    return x * y + y * z + z * x
