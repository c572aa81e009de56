"""Deformable part models as models that take exams: they find objects and say from which side those are seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.models.dpm.detector import FilterBank, LevelScores, best_places, suppressed
from sightline.models.dpm.filters import Dpm
from sightline.models.dpm.hog import PyramidLevel, pyramid, scales_for
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.scenes import View
from sightline.skills import Detections
from sightline.threads import computing, idle_threads


class DpmModel:
    """A trained mixture of deformable part models; skill *detect*, with viewpoints where it was taught them.

    Attributes:
        name: How tables call it.
        about: What its file says of how it was made; JSON values.
    """

    def __init__(
        self,
        net: Dpm,
        *,
        name: str = "dpm",
        about: Mapping[str, Any] | None = None,
        device: str = "",
        threshold: float = -1.0,
        most: int = 30,
        overlap: float = 0.5,
    ) -> None:
        """Make ready.

        Args:
            net: The filters.
            name: How tables call it.
            about: What is known of how it was made.
            device: Where filters are convolved; by default the card where there is one.
            threshold: Least score of a detection.
            most: Detections of a class in a picture, at most.
            overlap: Of two boxes that overlap by more than this the surer is kept.
        """
        self.name, self.about, self.config = name, dict(about or {}), net.config
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._settings = threshold, most, overlap
        self._bank = FilterBank(net, self.device)
        self._components = {
            category: [i for i, one in enumerate(net.config.components) if one.category == category]
            for category in net.config.categories
        }

    def facts(self) -> dict[str, Any]:
        """Form, views and classes, and what the file says of its training."""
        config = self.config
        shape = {"form": config.form, "views": config.views, "categories": list(config.categories)}
        return {**shape, "components": len(config.components), **self.about}

    def detect(self, view: View) -> Detections:
        """All objects of its classes, the surest first within each."""
        pixels = view.image()
        with computing(idle_threads()):
            return self.find(pixels, self.features(pixels))

    def features(self, pixels: NDArray[np.uint8]) -> tuple[PyramidLevel, ...]:
        """The pyramid of a picture (H, W, 3) uint8, which models of one interval can share."""
        scales = scales_for((pixels.shape[1], pixels.shape[0]), self.config.interval)
        return pyramid(pixels, scales, device=self.device)

    def find(self, pixels: NDArray[np.uint8], levels: tuple[PyramidLevel, ...]) -> Detections:
        """All objects in a picture whose features are known."""
        height, width = pixels.shape[:2]
        level_scores = list(self._bank.scores(levels))
        rows = [self._found(category, level_scores, (width, height)) for category in self._components]
        boxes, scores, angles = (np.concatenate(part) for part in zip(*rows, strict=True))
        categories = tuple(name for name, (_, found, _) in zip(self._components, rows, strict=True) for _ in found)
        if not self.config.views:
            angles = np.zeros((0, 3))
        return Detections(boxes / (width, height, width, height), scores, categories, angles=angles)

    def _found(
        self, category: str, scores: Sequence[LevelScores], size: tuple[int, int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Boxes in pixels, scores and angles of one class."""
        bank, (threshold, most, overlap) = self._bank, self._settings
        places = best_places(scores, least=threshold, most=2000, components=self._components[category])
        windows = bank.windows(places, [scores[p.level].level.scale for p in places])
        sure = np.array([p.score for p in places], dtype=np.float64)
        first = suppressed(windows, sure, 0.5 + 0.5 * overlap, 2 * most)
        chosen = [places[i] for i in first.tolist()]
        boxes = np.clip(bank.boxes(chosen, dict(enumerate(scores))), 0.0, (*size, *size))
        sure = sure[first]
        real = np.flatnonzero((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))
        kept = real[suppressed(boxes[real], sure[real], overlap, most)]
        turned = [bank.mixture[chosen[i].component].angles for i in kept.tolist()]
        angles = np.array(turned, dtype=np.float64).reshape(-1, 3)
        return boxes[kept], sure[kept], angles


def vdpm(path: Path, device: str = "", threshold: float = -1.0, most: int = 30, overlap: float = 0.5) -> DpmModel:
    """Deformable part models of any kind from a file, by an option of that name."""
    return load_file(path, device, threshold, most, overlap)


def load_file(
    path: str | Path, /, device: str = "", threshold: float = -1.0, most: int = 30, overlap: float = 0.5
) -> DpmModel:
    """A file of deformable part models as a model."""
    net, facts = load_checkpoint(path, Dpm)
    return DpmModel(
        net, name=Path(path).stem, about=facts, device=device, threshold=threshold, most=most, overlap=overlap
    )
