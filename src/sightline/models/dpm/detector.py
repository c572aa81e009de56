"""Find objects by deformable part models: filter responses, distance transform, best placements, suppression."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
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
        high, wide = filters.roots.shape[2:]
        beyond = functional.pad(self.coarse, (0, wide - 1, 0, high - 1))  # every root fits
        self._maps = functional.conv2d(beyond[None], filters.roots)[0] + filters.biases[:, None, None]
        self._sizes = [
            (max(0, rows + 2 * down - c.shape.rows + 1), max(0, columns + 2 * across - c.shape.columns + 1))
            for c in filters.components
        ]
        self._add_parts()
        self.totals: list[Tensor] = [one[:h, :w] for one, (h, w) in zip(self._maps, self._sizes, strict=True)]

    def _add_parts(self) -> None:
        bank = self._bank
        if not bank.part_count or self.responses.numel() == 0:
            return
        best = distance_transform(self.responses, bank.deformations)
        if best.device.type == "cpu":
            sizes = np.array(self._sizes, dtype=np.int64)
            _add_parts(self._maps.numpy(), best.numpy(), bank.slots, np.concatenate(bank.spots), sizes)
        else:
            self._add_parts_by_tensors(best)

    def _add_parts_by_tensors(self, best: Tensor) -> None:
        """As `_add_parts`, by operations that every device has."""
        bank = self._bank
        rows, columns = (2 * torch.arange(n, device=best.device) for n in self._maps.shape[1:])
        for numbers, parts, anchors in bank.by_count:
            at = (anchors[..., 0, None] + rows).clamp(max=best.shape[1] - 1)  # beyond is no place of a root
            to = (anchors[..., 1, None] + columns).clamp(max=best.shape[2] - 1)
            step = max(1, _AT_ONCE // (max(1, parts.shape[1]) * self._maps[0].numel()))
            for i in range(0, len(numbers), step):
                some = slice(i, i + step)
                moved = best[parts[some, :, None, None], at[some, :, :, None], to[some, :, None, :]]
                self._maps[numbers[some]] += moved.sum(dim=1)

    @cached_property
    def arrays(self) -> list[NDArray[np.float32]]:
        """The totals as arrays, brought from the device at once."""
        whole = self._maps.cpu().numpy()
        return [one[:h, :w] for one, (h, w) in zip(whole, self._sizes, strict=True)]

    @cached_property
    def responses(self) -> Tensor:
        """(parts of all components, rows, columns) of the part filters on the fine features."""
        if min(self.fine.shape[1:]) < PART:
            return self.fine.new_zeros(0)
        return functional.conv2d(self.fine[None], self._bank.parts)[0]

    def part_places(self, place: RootPlace) -> NDArray[np.int64]:
        """(P, 2): row and column of each part's first cell, in cells of parts, where this place has them."""
        return self.places_of_parts([place])[0]

    def places_of_parts(self, places: Sequence[RootPlace]) -> list[NDArray[np.int64]]:
        """The same of many places at this level."""
        bank, (down, across) = self._bank, self.pad
        found = [np.zeros((0, 2), dtype=np.int64)] * len(places)
        if not bank.part_count or self.responses.numel() == 0:
            return found
        counts = np.array([len(bank.spots[place.component]) for place in places], dtype=np.int64)
        for count in np.unique(counts[counts > 0]).tolist():
            mine = np.flatnonzero(counts == count)
            step = max(1, _AT_ONCE // (count * self.responses[0].numel()))
            for some in np.split(mine, range(step, len(mine), step)):
                chosen = [places[i] for i in some.tolist()]
                parts = np.concatenate([bank.first_part[p.component] + np.arange(count) for p in chosen])
                roots = np.array([(p.row + down, p.column + across) for p in chosen]).repeat(count, axis=0)
                ideal = np.concatenate([bank.spots[p.component] for p in chosen]) + 2 * roots
                best = self._best_of(torch.from_numpy(parts), torch.from_numpy(ideal))
                best -= (2 * down, 2 * across)
                for i, one in zip(some.tolist(), np.split(best, len(chosen)), strict=True):
                    found[i] = one
        return found

    def _best_of(self, parts: Tensor, ideal: Tensor) -> NDArray[np.int64]:
        """(n, 2) best rows and columns of parts, by number, whose places without cost are given (n, 2)."""
        parts, ideal = parts.to(self.responses.device), ideal.to(self.responses.device)
        maps = self.responses[parts]
        dy = torch.arange(maps.shape[1], device=maps.device) - ideal[:, :1]
        dx = torch.arange(maps.shape[2], device=maps.device) - ideal[:, 1:]
        by_x, by_y, by_xx, by_yy = self._bank.deformations[parts][:, :, None].unbind(1)
        costs = (by_y * dy + by_yy * dy * dy)[:, :, None] + (by_x * dx + by_xx * dx * dx)[:, None, :]
        best = (maps - costs).flatten(1).argmax(dim=1).cpu().numpy()
        return np.stack([best // maps.shape[2], best % maps.shape[2]], axis=1)


class FilterBank:
    """The filters of components of a model, stacked so that a device convolves with all at once.

    Attributes:
        views: Sections of the azimuth.
        mixture: The components, all of the model's or those that were asked for.
        components: Filters of each, mirror images worked out.
        pad: Rows and columns of cells outside the picture that a root may reach into.
        roots: (components, 31, rows, columns), 0 beyond the rows and columns of each; biases: (components,).
        parts: (parts of all components, 31, 6, 6).
        deformations: (the same, 4).
        part_count: How many parts there are.
        first_part: Place of each component's first part among them.
        spots: (P, 2) anchors of each component; slots: (components, 2) first part and number of parts.
        by_count: For each number of parts: components (n,), their parts (n, P), anchors (n, P, 2), on the device.
    """

    def __init__(self, net: Dpm, device: Any = "cpu", *, only: Sequence[int] | None = None) -> None:
        numbers = range(len(net.config.components)) if only is None else only
        self.views = net.config.views
        self.mixture = [net.config.components[i] for i in numbers]
        self.components: list[ComponentFilters] = [deepcopy(net.of(one)).to(device) for one in self.mixture]
        shapes = np.array([(c.shape.rows, c.shape.columns) for c in self.components])
        high, wide = shapes.max(axis=0).tolist()
        self.pad = high // 3, wide // 3
        self.roots = torch.stack(
            [
                functional.pad(c.root.detach(), (0, wide - c.shape.columns, 0, high - c.shape.rows))
                for c in self.components
            ]
        )
        self.biases = torch.cat([c.bias for c in self.components]) * BIAS
        self.parts = torch.cat([c.parts for c in self.components]).contiguous(memory_format=torch.channels_last)
        self.deformations = torch.cat([c.deformations for c in self.components])
        self.spots = [np.array(c.shape.anchors, dtype=np.int64).reshape(-1, 2) for c in self.components]
        counts = np.array([len(spots) for spots in self.spots], dtype=np.int64)
        self.part_count, firsts = int(counts.sum()), np.cumsum([0, *counts])[:-1]
        self.first_part: list[int] = firsts.tolist()
        self.slots = np.stack([firsts, counts], axis=1)
        self.by_count: list[tuple[Tensor, Tensor, Tensor]] = []
        for count in np.unique(counts[counts > 0]).tolist():
            mine = np.flatnonzero(counts == count)
            parts = firsts[mine, None] + np.arange(count)
            anchors = np.stack([self.spots[i] for i in mine])
            self.by_count.append(tuple(torch.from_numpy(a).to(device) for a in (mine, parts, anchors)))  # type: ignore[arg-type]

    def scores(self, levels: Sequence[PyramidLevel]) -> Iterator[LevelScores]:
        """Score every level."""
        return (LevelScores(level, self) for level in levels)

    def window(self, place: RootPlace, scale: float) -> tuple[float, float, float, float]:
        """The root's window, xyxy in pixels of the picture."""
        left, top, right, bottom = self.windows([place], [scale])[0].tolist()
        return left, top, right, bottom

    def windows(self, places: Sequence[RootPlace], scales: Sequence[float]) -> Floats:
        """(n, 4): the root's window of each place, xyxy in pixels; `scales` are those of the places' levels."""
        shapes = [self.components[place.component].shape for place in places]
        step = CELL / np.array(scales, dtype=np.float64)
        low = np.array([(place.column, place.row) for place in places], dtype=np.float64).reshape(-1, 2)
        cells = np.array([(shape.columns, shape.rows) for shape in shapes], dtype=np.float64).reshape(-1, 2)
        return np.concatenate([low, low + cells], axis=1) * step[:, None]

    def box(self, place: RootPlace, scores: LevelScores) -> tuple[float, float, float, float]:
        """The object's box, xyxy in pixels: the root's window, moved as the places of the parts say."""
        left, top, right, bottom = self.boxes([place], {place.level: scores})[0].tolist()
        return left, top, right, bottom

    def boxes(self, places: Sequence[RootPlace], scores: Mapping[int, LevelScores]) -> Floats:
        """(n, 4): the same of many places, from the scores of each level by its number."""
        made = self.windows(places, [scores[place.level].level.scale for place in places])
        for level in {place.level for place in places}:
            mine = [i for i, place in enumerate(places) if place.level == level]
            parts = scores[level].places_of_parts([places[i] for i in mine])
            for i, of_parts in zip(mine, parts, strict=True):
                moved = part_moves(self.components[places[i].component], places[i], of_parts)
                off = self.edges[places[i].component] @ np.concatenate(([1.0], moved))
                wide, high = made[i, 2:] - made[i, :2]
                made[i] += off * (wide, high, wide, high)
        return made

    @cached_property
    def edges(self) -> list[Floats]:
        """`ComponentFilters.edges` of each component."""
        return [filters.edges.cpu().numpy().astype(np.float64) for filters in self.components]


def part_moves(filters: ComponentFilters, place: RootPlace, places: NDArray[np.int64]) -> Floats:
    """(2 P,): dx of each part from where it costs nothing, in widths of the root, then dy in heights."""
    shape = filters.shape
    if not shape.anchors:
        return np.zeros(0)
    moved = places - np.array(shape.anchors) - 2 * np.array((place.row, place.column))
    return np.concatenate([moved[:, 1] / (2.0 * shape.columns), moved[:, 0] / (2.0 * shape.rows)])


def best_places(
    scores: Sequence[LevelScores], *, least: float, most: int, components: Sequence[int] | None = None
) -> list[RootPlace]:
    """Take the best-scored places of all levels and some components: at most so many, above a score, best first."""
    held: list[tuple[NDArray[np.float32], NDArray[np.int64]]] = []
    for number, level in enumerate(scores):
        for component in range(len(level.arrays)) if components is None else components:
            total = level.arrays[component]
            rows, columns = np.nonzero(total > least)
            where = np.full((4, len(rows)), component, dtype=np.int64)
            where[1:] = np.full(len(rows), number), rows - level.pad[0], columns - level.pad[1]
            held.append((total[rows, columns], where))
    if not held:
        return []
    values, where = np.concatenate([v for v, _ in held]), np.concatenate([w for _, w in held], axis=1)
    if len(values) > most:  # those as good as the last one stay, to be told apart by where they are
        chosen = np.flatnonzero(values >= np.partition(values, -most)[-most])
        values, where = values[chosen], where[:, chosen]
    order = np.lexsort((*where[::-1], -values))[:most]
    return [RootPlace(float(values[i]), *where[:, i].tolist()) for i in order.tolist()]


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
    best = torch.empty_like(scores)
    step = max(1, _AT_ONCE // (rows * columns * columns))
    high = max(1, _AT_ONCE // (step * columns * columns))
    for chosen in (slice(start, start + step) for start in range(0, n, step)):
        cost = linear[chosen, None, None] * apart + square[chosen, None, None] * apart * apart
        for across in (slice(top, top + high) for top in range(0, rows, high)):
            best[chosen, across] = (scores[chosen, across, None, :] - cost[:, None]).amax(dim=-1)
    return best


@_kernel
def _add_parts(
    maps: NDArray[np.float32],
    best: NDArray[np.float32],
    slots: NDArray[np.int64],
    anchors: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Add to the maps (C, H, W) of roots, within their sizes, the best places of their parts."""
    for c in range(len(maps)):
        first, count = slots[c]
        for p in range(first, first + count):
            top, left = anchors[p]
            for y in range(sizes[c, 0]):
                for x in range(sizes[c, 1]):
                    maps[c, y, x] += best[p, 2 * y + top, 2 * x + left]


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
