"""Examples of a class: windows around its objects, features of placements, places that fit, hard negatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.geometry import azimuth_bins
from sightline.models.dpm.detector import FilterBank, LevelScores, RootPlace, best_places, suppressed
from sightline.models.dpm.filters import BIAS, PART
from sightline.models.dpm.hog import CELL, PyramidLevel, hog, mirrored, pyramid, resized, scales_for
from sightline.training.dpm.plan import DpmPlan, TrainingPicture

Floats = NDArray[np.float64]
Vector = NDArray[np.float32]

_KEPT_BYTES: Final = 1_500_000_000


@dataclass(frozen=True)
class Positive:
    """One object to learn from.

    Attributes:
        picture: Where it is seen.
        number: Its place among the picture's objects.
        box: xyxy, pixels.
        angles: Azimuth, elevation, theta, degrees.
        section: Of the azimuth; −1 where the model has none.
        others: (m, 4) boxes of further objects of the class in the picture.
    """

    picture: TrainingPicture
    number: int
    box: Floats
    angles: Floats
    section: int
    others: Floats

    @property
    def aspect(self) -> float:
        """Height over width."""
        return float((self.box[3] - self.box[1]) / (self.box[2] - self.box[0]))

    def around(self, share: float) -> tuple[NDArray[np.uint8], Floats]:
        """The part of the picture that reaches so many sides beyond the box, and its first pixel (x, y)."""
        pixels = self.picture.load()
        height, width = pixels.shape[:2]
        more = share * np.array((self.box[2] - self.box[0], self.box[3] - self.box[1]))
        low = np.clip(np.floor(self.box[:2] - more), 0, (width - 1, height - 1)).astype(int)
        high = np.clip(np.ceil(self.box[2:] + more), low + 1, (width, height)).astype(int)
        return pixels[low[1] : high[1], low[0] : high[0]], low.astype(np.float64)


def positives_of(plan: DpmPlan, pictures: Sequence[TrainingPicture]) -> list[Positive]:
    """Objects of the plan's class that are seen whole, in the order of the pictures."""
    found: list[Positive] = []
    for picture in pictures:
        mine = [i for i, name in enumerate(picture.categories) if name == plan.category]
        for i in mine:
            if not picture.whole[i] or not np.isfinite(picture.angles[i, 0]):
                continue
            section = int(azimuth_bins(picture.angles[i, 0], plan.views)) if plan.views else -1
            others = picture.boxes[[j for j in mine if j != i]]
            found.append(Positive(picture, i, picture.boxes[i], picture.angles[i], section, others))
    return found[: plan.positives]


def negatives_of(plan: DpmPlan, pictures: Sequence[TrainingPicture]) -> list[TrainingPicture]:
    """Pictures without the plan's class, the first ones."""
    return [picture for picture in pictures if plan.category not in picture.categories][: plan.negatives]


class FeatureStore:
    """Pyramids of whole pictures; on a CPU the first ones are kept, in half precision, for the next search."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = torch.device(device)
        self._kept: dict[tuple[str, int], tuple[PyramidLevel, ...]] = {}
        self._bytes = 0

    def levels(self, picture: TrainingPicture, interval: int) -> tuple[PyramidLevel, ...]:
        """The pyramid of a picture."""
        key = picture.name, interval
        if key in self._kept:
            return tuple(PyramidLevel(at.scale, at.coarse.float(), at.fine.float()) for at in self._kept[key])
        pixels = picture.load()
        scales = scales_for((pixels.shape[1], pixels.shape[0]), interval)
        levels = pyramid(pixels, scales, device=self.device)
        size = 2 * sum(at.coarse.numel() + at.fine.numel() for at in levels)
        if self.device.type == "cpu" and self._bytes + size <= _KEPT_BYTES:
            kept = tuple(PyramidLevel(at.scale, at.coarse.half(), at.fine.half()) for at in levels)
            self._kept[key], self._bytes = kept, self._bytes + size
            return tuple(PyramidLevel(at.scale, at.coarse.float(), at.fine.float()) for at in kept)
        return levels


def warped(pixels: NDArray[np.uint8], box: Floats, rows: int, columns: int, device: Any = "cpu") -> Tensor:
    """Features (31, rows, columns) of a box stretched to a root's size, one cell more around it left away."""
    whole = torch.tensor(np.asarray(pixels), device=device).permute(2, 0, 1).float()
    height, width = whole.shape[1:]
    cell = (box[2] - box[0]) / columns, (box[3] - box[1]) / rows
    edges = np.round((box[0] - cell[0], box[1] - cell[1], box[2] + cell[0], box[3] + cell[1])).astype(int)
    x = torch.arange(edges[0], max(edges[2], edges[0] + 1), device=whole.device).clamp(0, width - 1)
    y = torch.arange(edges[1], max(edges[3], edges[1] + 1), device=whole.device).clamp(0, height - 1)
    cut = whole[:, y][:, :, x]
    return hog(resized(cut, [(rows + 2) * CELL, (columns + 2) * CELL]))[:, 1:-1, 1:-1]


class Neighbourhood:
    """An object and what is around it, at the scales at which a root has about its size.

    Attributes:
        positive: The object.
        box: Its box, pixels from the first one of the neighbourhood; `others` likewise.
    """

    def __init__(
        self, positive: Positive, cells: int, interval: int, *, share: float, reach: int, device: Any = "cpu"
    ) -> None:
        self.positive = positive
        self._pixels, first = positive.around(share)
        shift = np.concatenate([first, first])
        self.box, self.others = positive.box - shift, positive.others - shift
        area = (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])
        ideal = float(np.sqrt(cells * CELL * CELL / area))
        self._scales = [ideal * 2.0 ** (k / interval) for k in range(-reach, reach + 1)]
        self._device = device

    @cached_property
    def levels(self) -> tuple[PyramidLevel, ...]:
        """Its features."""
        return pyramid(self._pixels, self._scales, device=self._device)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, pixels."""
        return float(self._pixels.shape[1]), float(self._pixels.shape[0])

    def mirrored(self) -> Neighbourhood:
        """The same seen in a mirror."""
        made = copy(self)
        made.__dict__.pop("levels", None)
        made._pixels = np.ascontiguousarray(self._pixels[:, ::-1])
        width = self.size[0]
        made.box, made.others = (
            boxes[..., [2, 1, 0, 3]] * (-1, 1, -1, 1) + (width, 0, width, 0) for boxes in (self.box, self.others)
        )
        return made

    def overlaps(self, bank: FilterBank, scores: LevelScores, component: int, box: Floats) -> Floats:
        """IoU of a component's window, what lies outside cut away, with a box at every place of `totals`."""
        shape, step = bank.components[component].shape, CELL / scores.level.scale
        spans = []
        for axis, (cells, limit) in enumerate(((shape.rows, self.size[1]), (shape.columns, self.size[0]))):
            count = scores.totals[component].shape[axis]
            low = (np.arange(count) - scores.pad[axis]) * step
            high = np.clip(low + cells * step, 0.0, limit)
            low = np.clip(low, 0.0, limit)
            a, b = (box[1], box[3]) if axis == 0 else (box[0], box[2])
            spans.append((high - low, np.maximum(0.0, np.minimum(high, b) - np.maximum(low, a))))
        (high_, down), (wide, across) = spans
        shared = down[:, None] * across[None]
        area = (box[2] - box[0]) * (box[3] - box[1])
        ious: Floats = shared / np.maximum(high_[:, None] * wide[None] + area - shared, 1e-9)
        return ious

    def fitting_place(
        self, bank: FilterBank, scores: Sequence[LevelScores], components: Sequence[int], overlap: float
    ) -> RootPlace | None:
        """The best-scored place whose window overlaps the box enough; where none does, of those that nearly do."""
        maps = {
            (number, c): self.overlaps(bank, level, c, self.box)
            for number, level in enumerate(scores)
            for c in components
            if level.arrays[c].size
        }
        if not maps:
            return None
        enough = min(overlap, 0.95 * max(float(ious.max()) for ious in maps.values()))
        best: RootPlace | None = None
        for (number, c), ious in maps.items():
            level = scores[number]
            total = np.where(ious >= enough, level.arrays[c], -np.inf)
            at = int(total.argmax())
            row, column = divmod(at, total.shape[1])
            if np.isfinite(total[row, column]) and (best is None or total[row, column] > best.score):
                where = row - level.pad[0], column - level.pad[1]
                best = RootPlace(float(total[row, column]), c, number, *where)
        return best


def placement_vector(bank: FilterBank, scores: LevelScores, place: RootPlace) -> Vector:
    """Features that a placement's score is the product of with its component's weights, mirrored as those are."""
    return placement_vectors(bank, scores, [place])[0]


def placement_vectors(bank: FilterBank, scores: LevelScores, places: Sequence[RootPlace]) -> list[Vector]:
    """The same of many places at one level."""
    parts = scores.places_of_parts(places)
    return [_vector(bank, scores, place, of_parts) for place, of_parts in zip(places, parts, strict=True)]


def _vector(bank: FilterBank, scores: LevelScores, place: RootPlace, places: NDArray[np.int64]) -> Vector:
    component = bank.mixture[place.component]
    shape, (down, across) = bank.components[place.component].shape, scores.pad
    row, column = place.row + down, place.column + across
    root = scores.coarse[:, row : row + shape.rows, column : column + shape.columns]
    corners = (places + np.array((2 * down, 2 * across))).tolist()
    windows = [scores.fine[:, y : y + PART, x : x + PART] for y, x in corners]
    moved = places - np.array(shape.anchors).reshape(-1, 2) - 2 * np.array((place.row, place.column))
    dy, dx = moved[:, 0], moved[:, 1] * (-1 if component.mirrored else 1)
    if component.mirrored:
        root, windows = mirrored(root), [mirrored(window) for window in windows]
    cost = -np.stack([dx, dy, dx * dx, dy * dy], axis=1)
    seen = torch.cat([part.reshape(-1) for part in (root, *windows)]).cpu().numpy()
    return np.concatenate([seen, cost.ravel(), (BIAS,)]).astype(np.float32)


def hard_negatives(
    bank: FilterBank,
    store: FeatureStore,
    pictures: Sequence[TrainingPicture],
    *,
    each: int,
    interval: int,
    least: float = -1.02,
) -> Iterator[tuple[TrainingPicture, RootPlace, Vector]]:
    """Places in pictures without the class that score too much, the worst `each` of every set of filters.

    Of places of the same filters that overlap by more than one half only the best is taken.
    """
    of = np.array([one.filters for one in bank.mixture])
    for picture in pictures:
        scores = list(bank.scores(store.levels(picture, interval)))
        found = best_places(scores, least=least, most=200 * len(set(of.tolist())))
        boxes = bank.windows(found, [scores[p.level].level.scale for p in found])
        values, whose = np.array([p.score for p in found]), np.array([of[p.component] for p in found], dtype=int)
        chosen: list[RootPlace] = []
        for filters in np.unique(whose).tolist():
            rows = np.flatnonzero(whose == filters)[: 40 * each]
            chosen += [found[i] for i in rows[suppressed(boxes[rows], values[rows], most=each)].tolist()]
        vectors: dict[RootPlace, Vector] = {}
        for level in {place.level for place in chosen}:
            mine = [place for place in chosen if place.level == level]
            vectors |= zip(mine, placement_vectors(bank, scores[level], mine), strict=True)
        for place in chosen:
            yield picture, place, vectors[place]


def wrong_answers(
    near: Neighbourhood, bank: FilterBank, scores: Sequence[LevelScores], *, most: int
) -> list[tuple[RootPlace, float]]:
    """Answers of a structured SVM that violate most: places with their loss, ½ (1 − IoU) + ½ (another view).

    One place a component at most; none that is on another object of the class.
    """
    found: list[tuple[float, RootPlace, float]] = []
    azimuths = [one.angles[0] for one in bank.mixture]
    true = near.positive.section * 360.0 / bank.views
    for component, azimuth in enumerate(azimuths):
        best: tuple[float, RootPlace, float] | None = None
        for number, level in enumerate(scores):
            if not level.arrays[component].size:
                continue
            loss = 0.5 * (1.0 - near.overlaps(bank, level, component, near.box)) + 0.5 * (azimuth != true)
            value = level.arrays[component] + loss
            for other in near.others:
                value = np.where(near.overlaps(bank, level, component, other) > 0.3, -np.inf, value)
            row, column = divmod(int(value.argmax()), value.shape[1])
            if np.isfinite(value[row, column]) and (best is None or value[row, column] > best[0]):
                score = float(value[row, column] - loss[row, column])
                place = RootPlace(score, component, number, row - level.pad[0], column - level.pad[1])
                best = float(value[row, column]), place, float(loss[row, column])
        if best is not None:
            found.append(best)
    found.sort(key=lambda one: -one[0])
    return [(place, loss) for _, place, loss in found[:most]]


def random_windows(
    pictures: Sequence[TrainingPicture], aspect: float, count: int, rng: np.random.Generator
) -> Iterator[tuple[TrainingPicture, Floats]]:
    """Boxes of one aspect ratio anywhere in the pictures, in turn."""
    for number in range(count):
        picture = pictures[number % len(pictures)]
        height, width = picture.load().shape[:2]
        high = min(height, width * aspect) * rng.uniform(0.2, 0.9)
        wide = high / aspect
        left, top = rng.uniform(0, max(width - wide, 1)), rng.uniform(0, max(height - high, 1))
        yield picture, np.array((left, top, left + wide, top + high))
