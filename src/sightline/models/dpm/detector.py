"""Find objects by deformable part models: filter responses, distance transform, best placements, suppression."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sightline.geometry.boxes import iou
from sightline.kernels import compiler, stamp
from sightline.models.dpm.filters import BIAS, PART, ComponentFilters, Dpm
from sightline.models.dpm.hog import CELL, PyramidLevel

_kernel = compiler(stamp([Path(__file__)]))
Floats = NDArray[np.float64]

_AT_ONCE: Final = 2**27
"""Numbers a device other than the CPU compares at once."""


@dataclass(frozen=True)
class RootPlace:
    """Where a component's root may lie.

    Attributes:
        score: Higher is surer.
        component: Its number.
        level: Number of the pyramid's level.
        row: Of the root's first cell, from the picture's first one; `column` likewise.
    """

    score: float
    component: int
    level: int
    row: int
    column: int


class LevelScores:
    """Scores of all components at one level.

    Attributes:
        level: The features.
        pad: Rows and columns of cells around the picture that a root may reach into.
        coarse: The features with these around them, 0 there; `fine` likewise.
        totals: For each component (rows, columns): the score of a root there, the best place of every part counted
            in; the first is `pad` cells outside.
    """

    def __init__(self, level: PyramidLevel, filters: FilterBank) -> None:
        self.level, self.pad, self._bank = level, filters.pad, filters
        (down, across), (rows, columns) = self.pad, level.coarse.shape[1:]
        self.coarse = functional.pad(level.coarse, (across, across, down, down))
        self.fine = functional.pad(level.fine, (2 * across, 2 * across, 2 * down, 2 * down))
        wide = self.coarse[None]
        self.totals: list[Tensor] = [wide.new_zeros(0)] * len(filters.components)
        for numbers, windows in filters.roots:
            if rows + 2 * down < windows.shape[2] or columns + 2 * across < windows.shape[3]:
                scores = wide.new_full((len(numbers), 0, 0), 0.0)
            else:
                scores = functional.conv2d(wide, windows)[0]
            for number, score in zip(numbers, scores, strict=True):
                self.totals[number] = score + filters.components[number].bias * BIAS
        self._add_parts()

    def _add_parts(self) -> None:
        bank = self._bank
        if not bank.part_count or self.responses.numel() == 0:
            return
        best = distance_transform(self.responses, bank.deformations)
        for number in range(len(bank.components)):
            total, anchors = self.totals[number], bank.anchors[number]
            parts = torch.arange(len(anchors), device=best.device)[:, None, None] + bank.first_part[number]
            rows = 2 * torch.arange(total.shape[0], device=best.device)[None, :, None] + anchors[:, :1, None]
            columns = 2 * torch.arange(total.shape[1], device=best.device)[None, None] + anchors[:, 1:, None]
            self.totals[number] = total + best[parts, rows, columns].sum(dim=0)

    @cached_property
    def arrays(self) -> list[NDArray[np.float32]]:
        """The totals as arrays, brought from the device at once."""
        flat = torch.cat([total.reshape(-1) for total in self.totals]).cpu().numpy()
        ends = np.cumsum([total.numel() for total in self.totals])
        parts = np.split(flat, ends[:-1])
        return [part.reshape(tuple(total.shape)) for part, total in zip(parts, self.totals, strict=True)]

    @cached_property
    def responses(self) -> Tensor:
        """(parts of all components, rows, columns) of the part filters on the fine features."""
        if min(self.fine.shape[1:]) < PART:
            return self.fine.new_zeros(0)
        return functional.conv2d(self.fine[None], self._bank.parts)[0]

    def part_places(self, place: RootPlace) -> NDArray[np.int64]:
        """(P, 2): row and column of each part's first cell, in cells of parts, where this place has them."""
        filters, first = self._bank.components[place.component], self._bank.first_part[place.component]
        anchors, (down, across) = filters.shape.anchors, self.pad
        if not anchors:
            return np.zeros((0, 2), dtype=np.int64)
        maps = self.responses[first : first + len(anchors)]
        ideal = self._bank.anchors[place.component] + torch.tensor(
            (2 * (place.row + down), 2 * (place.column + across)), device=maps.device
        )
        dy = torch.arange(maps.shape[1], device=maps.device) - ideal[:, :1]
        dx = torch.arange(maps.shape[2], device=maps.device) - ideal[:, 1:]
        by_x, by_y, by_xx, by_yy = filters.deformations[:, :, None].unbind(1)
        costs = (by_y * dy + by_yy * dy * dy)[:, :, None] + (by_x * dx + by_xx * dx * dx)[:, None, :]
        best = (maps - costs).flatten(1).argmax(dim=1).cpu().numpy()
        return np.stack([best // maps.shape[2] - 2 * down, best % maps.shape[2] - 2 * across], axis=1)


class FilterBank:
    """The filters of all components of a model, stacked so that a device convolves with many at once.

    Attributes:
        components: Filters of each component, of one class or of all, mirror images worked out.
        numbers: Of these components in the model.
        pad: Rows and columns of cells outside the picture that a root may reach into.
        roots: Numbers of the components whose roots have one size, and those roots (n, 31, rows, columns).
        parts: (parts of all components, 31, 6, 6).
        deformations: (the same, 4).
        first_part: Place of each component's first part among them.
        anchors: (P, 2) of each component.
    """

    def __init__(self, net: Dpm, device: Any = "cpu", *, category: str | None = None) -> None:
        self.config = net.config
        self.numbers = [
            i for i, one in enumerate(net.config.components) if category is None or one.category == category
        ]
        self.components: list[ComponentFilters] = [
            deepcopy(net.of(net.config.components[i])).to(device) for i in self.numbers
        ]
        shapes = [(c.shape.rows, c.shape.columns) for c in self.components]
        self.pad = max(rows for rows, _ in shapes) // 3, max(columns for _, columns in shapes) // 3
        ordered = sorted(range(len(shapes)), key=lambda i: (shapes[i], i))
        self.roots: list[tuple[list[int], Tensor]] = []
        for _, group in groupby(ordered, key=lambda i: shapes[i]):
            numbers = list(group)
            self.roots.append((numbers, torch.stack([self.components[i].root for i in numbers]).detach()))
        self.parts = torch.cat([c.parts for c in self.components]).contiguous(memory_format=torch.channels_last)
        self.deformations = torch.cat([c.deformations for c in self.components])
        counts = [len(c.shape.anchors) for c in self.components]
        self.anchors = [torch.tensor(c.shape.anchors, device=device).reshape(-1, 2) for c in self.components]
        self.part_count, self.first_part = sum(counts), np.cumsum([0, *counts])[:-1].tolist()

    def scores(self, levels: Sequence[PyramidLevel]) -> Iterator[LevelScores]:
        """Score every level."""
        return (LevelScores(level, self) for level in levels)

    def window(self, place: RootPlace, scale: float) -> tuple[float, float, float, float]:
        """The root's window, xyxy in pixels of the picture."""
        shape, step = self.components[place.component].shape, CELL / scale
        left, top = place.column * step, place.row * step
        return left, top, left + shape.columns * step, top + shape.rows * step

    def box(self, place: RootPlace, scores: LevelScores) -> tuple[float, float, float, float]:
        """The object's box, xyxy in pixels: the root's window, moved as the places of the parts say."""
        window = self.window(place, scores.level.scale)
        filters, (left, top, right, bottom) = self.components[place.component], window
        moved = part_moves(filters, place, scores.part_places(place))
        off = filters.edges.cpu().numpy().astype(np.float64) @ np.concatenate(([1.0], moved))
        wide, high = right - left, bottom - top
        return (
            left + float(off[0]) * wide,
            top + float(off[1]) * high,
            right + float(off[2]) * wide,
            bottom + float(off[3]) * high,
        )


def part_moves(filters: ComponentFilters, place: RootPlace, places: NDArray[np.int64]) -> Floats:
    """(2 P,): dx of each part from where it costs nothing, in widths of the root, then dy in heights."""
    shape = filters.shape
    if not shape.anchors:
        return np.zeros(0)
    moved = places - np.array(shape.anchors) - 2 * np.array((place.row, place.column))
    return np.concatenate([moved[:, 1] / (2.0 * shape.columns), moved[:, 0] / (2.0 * shape.rows)])


def best_places(scores: Sequence[LevelScores], *, least: float, most: int) -> list[RootPlace]:
    """Take the best-scored places of all components and levels: at most so many, above a score, best first."""
    held: list[tuple[NDArray[np.float32], NDArray[np.int64]]] = []
    for number, level in enumerate(scores):
        flat = torch.cat([total.reshape(-1) for total in level.totals])
        values, places = flat.topk(min(most, flat.numel()), sorted=False)
        kept = values > least
        at = places[kept].cpu().numpy()
        ends = np.cumsum([total.numel() for total in level.totals])
        component = np.searchsorted(ends, at, side="right")
        at -= np.concatenate(([0], ends))[component]
        widths = np.array([max(1, total.shape[-1]) for total in level.totals])[component]
        rows, columns = at // widths - level.pad[0], at % widths - level.pad[1]
        held.append((values[kept].cpu().numpy(), np.stack([component, np.full(len(at), number), rows, columns])))
    if not held:
        return []
    found, where = np.concatenate([v for v, _ in held]), np.concatenate([w for _, w in held], axis=1)
    order = np.lexsort((*where[::-1], -found))[:most]
    return [RootPlace(float(found[i]), *(int(n) for n in where[:, i])) for i in order]


def suppressed(boxes: Floats, scores: Floats, overlap: float = 0.5, most: int | None = None) -> NDArray[np.int64]:
    """Non-maximum suppression: rows of the boxes that overlap no better one by more than this, best first.

    Args:
        boxes: (n, 4) xyxy.
        scores: (n,) higher is better.
        overlap: Largest IoU of two that are kept.
        most: Rows to give, at most.
    """
    left = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    while len(left) and (most is None or len(kept) < most):
        kept.append(int(left[0]))
        left = left[1:][iou(boxes[left[0]], boxes[left[1:]]) <= overlap]
    return np.array(kept, dtype=np.int64)


def distance_transform(scores: Tensor, deformations: Tensor) -> Tensor:
    """Compute for every place the best score around it, less what it costs to go there: (n, H, W).

    Args:
        scores: (n, H, W).
        deformations: (n, 4): cost of dx, dy, dx² and dy²; the last two above 0.
    """
    if scores.device.type == "cpu":
        return torch.from_numpy(_transform(scores.contiguous().numpy(), deformations.contiguous().numpy()))
    across = _best_along(scores, deformations[:, 0], deformations[:, 2])
    return _best_along(across.transpose(1, 2), deformations[:, 1], deformations[:, 3]).transpose(1, 2)


def _best_along(scores: Tensor, linear: Tensor, square: Tensor) -> Tensor:
    """Along the last axis, by comparing every place with every other."""
    n, rows, columns = scores.shape
    places = torch.arange(columns, device=scores.device)
    apart = (places[None, :] - places[:, None]).to(scores.dtype)  # [from, to]
    cost = linear[:, None, None] * apart + square[:, None, None] * apart * apart
    best = torch.empty_like(scores)
    step = max(1, _AT_ONCE // (rows * columns * columns))
    for start in range(0, n, step):
        chosen = slice(start, start + step)
        best[chosen] = (scores[chosen, :, None, :] - cost[chosen, None]).amax(dim=-1)
    return best


@_kernel
def _transform(scores: NDArray[np.float32], deformations: NDArray[np.float32]) -> NDArray[np.float32]:
    n, height, width = scores.shape
    out = np.empty_like(scores)
    longest = max(height, width)
    values, result = np.empty(longest), np.empty(longest)
    starts, peaks, heights = np.empty(longest + 1), np.empty(longest, np.int64), np.empty(longest)
    for k in range(n):
        for y in range(height):
            for x in range(width):
                values[x] = scores[k, y, x]
            _envelope(values, width, deformations[k, 0], deformations[k, 2], result, starts, peaks, heights)
            for x in range(width):
                out[k, y, x] = result[x]
        for x in range(width):
            for y in range(height):
                values[y] = out[k, y, x]
            _envelope(values, height, deformations[k, 1], deformations[k, 3], result, starts, peaks, heights)
            for y in range(height):
                out[k, y, x] = result[y]
    return out


@_kernel
def _envelope(
    values: Floats,
    n: int,
    linear: float,
    square: float,
    result: Floats,
    starts: Floats,
    peaks: NDArray[np.int64],
    heights: Floats,
) -> None:
    """Upper envelope of n parabolas (Felzenszwalb and Huttenlocher): result[p] = max over q of v[q] − cost(q − p).

    The parabola of q, as a function of p, is v[q] − square (q − p)² − linear (q − p).
    """
    top = 0
    peaks[0], starts[0] = 0, -math.inf
    heights[0] = values[0]
    for q in range(1, n):
        height = values[q] - square * q * q - linear * q
        at = (heights[top] - height) / (2.0 * square * (q - peaks[top]))
        while at <= starts[top]:  # never at the first, which starts at minus infinity
            top -= 1
            at = (heights[top] - height) / (2.0 * square * (q - peaks[top]))
        top += 1
        peaks[top], starts[top], heights[top] = q, at, height
    starts[top + 1] = math.inf
    k = 0
    for p in range(n):
        while starts[k + 1] < p:
            k += 1
        away = peaks[k] - p
        result[p] = values[peaks[k]] - square * away * away - linear * away
