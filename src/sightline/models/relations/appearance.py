"""Cue A: what a box and its image look like to the backbone of a classifier, averaged over each."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.classifier import Classifier, MobileNetV2, resized, standardised
from sightline.models.nets.regions import roi_align
from sightline.scenes.types import View

_CELLS: Final = 3  # of a box, along each side, before they are averaged
_SIDE: Final = 224


class AppearanceCues:
    """Features of the last layer of a backbone, averaged over the box, then over the image.

    Args:
        path: Checkpoint of a classifier trained here, or torchvision's file of MobileNetV2 (``.pth``).
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ModelError(f"{path}: no such file")
        self._side = (_SIDE, _SIDE)
        if path.suffix == ".pth":
            self._net: torch.nn.Module = MobileNetV2()
            self._net.load_torchvision(path)
        else:
            classifier = load_checkpoint(path, Classifier).net
            self._net, self._side = classifier.backbone, (classifier.config.size, classifier.config.size)
        self._net.eval()
        self._kept: tuple[str, torch.Tensor] | None = None
        self._channels = int(self._map(np.zeros((64, 64, 3), dtype=np.uint8)).shape[1])

    @property
    def size(self) -> int:
        """Numbers of an object: the backbone's channels twice."""
        return 2 * self._channels

    def numbers(self, view: View, boxes: NDArray[np.float64]) -> NDArray[np.float32]:
        """(n, F) features of n boxes, fractions of the view's image."""
        if self._kept is None or self._kept[0] != view.id:
            self._kept = view.id, self._map(view.image())
        features = self._kept[1]
        with torch.inference_mode():
            given = torch.from_numpy(np.ascontiguousarray(boxes)).float()
            boxed = roi_align(features, given, torch.zeros(len(given), dtype=torch.long), _CELLS).mean(dim=(2, 3))
            whole = features.mean(dim=(2, 3)).expand(len(given), -1)
            return torch.cat((boxed, whole), 1).numpy()

    def _map(self, image: NDArray[np.uint8]) -> torch.Tensor:
        with torch.inference_mode():
            pixels = torch.from_numpy(np.array(image))[None]
            features: torch.Tensor = self._net(standardised(resized(pixels, self._side)))
        return features
