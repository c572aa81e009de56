"""The rules of thumb for one pair at a time, written from the paper's sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Box = Sequence[float]  # x0, y0, x1, y1


def size(box: Box) -> float:
    x0, y0, x1, y1 = box
    return (x1 - x0) * (y1 - y0)


def location(box: Box) -> float:
    return (box[1] + box[3]) / 2


def bottom_edge(box: Box) -> float:
    return box[3]


MEASURES: dict[str, Callable[[Box], float]] = {"size": size, "location": location, "bottom_edge": bottom_edge}


def depth(rule: str, a: Box, b: Box, margin: float, setting: str) -> str:
    """Is a closer than b?"""
    ahead = MEASURES[rule](a) - MEASURES[rule](b)
    if setting == "across_images":
        if ahead == 0:
            return "unsure"
        return "closer" if ahead > 0 else "farther"
    if ahead > margin:
        return "closer"
    if ahead < -margin:
        return "farther"
    return "same"


def occlusion(order: str, a: Box, b: Box, threshold: float) -> str:
    """Does a hide b, given their order?"""
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    shared = wide * high if wide > 0 and high > 0 else 0.0
    if shared > threshold and order == "closer":
        return "occludes"
    if shared > threshold and order == "farther":
        return "occluded"
    return "none"


def paper_f1(truth: Sequence[int], answer: Sequence[int], aspect: str) -> float:
    """Pooled F1 within an image: depth over closer, farther and same; occlusion over all four labels."""
    pool = (1, 2, 3) if aspect == "depth" else (0, 1, 2, 3)
    right = sum(1 for t, a in zip(truth, answer, strict=True) if a in pool and t == a)
    said = sum(1 for a in answer if a in pool)
    there = sum(1 for t in truth if t in pool)
    return 2 * right / (said + there) if said + there else float("nan")


def mean_label_f1(truth: Sequence[int], answer: Sequence[int]) -> float:
    """Mean over the four occlusion labels of each one's F1; 0 for a label that is neither said nor there."""
    scores = []
    for label in range(4):
        right = sum(1 for t, a in zip(truth, answer, strict=True) if t == a == label)
        mentioned = sum(1 for t in truth if t == label) + sum(1 for a in answer if a == label)
        scores.append(2 * right / mentioned if mentioned else 0.0)
    return sum(scores) / 4


def mean_depth(grid: Sequence[Sequence[float]], box: Box) -> float:
    """Mean of the known pixels a box touches; a pixel (i, j) covers [j, j + 1) × [i, i + 1) of the map."""
    height, width = len(grid), len(grid[0])
    values = [
        grid[i][j]
        for i in range(height)
        for j in range(width)
        if j + 1 > box[0] * width and j < box[2] * width and i + 1 > box[1] * height and i < box[3] * height
        if grid[i][j] == grid[i][j]
    ]
    return sum(values) / len(values) if values else float("nan")
