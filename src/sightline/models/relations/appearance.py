"""Cue A: what a box and its image look like to the backbone of a detector or classifier, averaged over each."""

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
from sightline.models.nets.viewpoint import ViewNet
from sightline.models.viewnet import fitted_all
from sightline.scenes.types import View

_CELLS: Final = 3  # of a box, along each side, before they are averaged
_SIDE: Final = 224
_FOREIGN: Final = {".onnx": "an ONNX file", ".tflite": "a TensorFlow Lite file"}
_KINDS: Final = (
    "the checkpoint of a detector or classifier trained here (.safetensors) or torchvision's MobileNetV2 (.pth)"
)


class AppearanceCues:
    """Features of a backbone, averaged over the box, then over the image.

    Args:
        path: Checkpoint of a detector trained here (ViewNet, its finest map) or of a classifier, or torchvision's
            file of MobileNetV2 (``.pth``), the last layer of either.
        device: Where it computes.
    """

    def __init__(self, path: Path, device: str = "cpu") -> None:
        if not path.is_file():
            raise ModelError(f"{path}: no such file")
        if path.suffix.lower() in _FOREIGN:
            raise ModelError(
                f"{path}: expected a backbone for cue a, {_KINDS}; found {_FOREIGN[path.suffix.lower()]}"
            )
        self._side, self._device = (_SIDE, _SIDE), torch.device(device)
        if path.suffix == ".pth":
            self._net: torch.nn.Module = MobileNetV2()
            self._net.load_torchvision(path)
        else:
            net = load_checkpoint(path).net
            if isinstance(net, Classifier):
                self._net, self._side = net.backbone, (net.config.size, net.config.size)
            elif isinstance(net, ViewNet):
                self._net = net
            else:
                raise ModelError(f"{path}: expected a detector or a classifier for cue a, found {net.kind}")
        self._net.eval().to(self._device)
        self._kept: tuple[View, tuple[torch.Tensor, torch.Tensor]] | None = None
        self._channels = int(self._maps(torch.zeros(1, 64, 64, 3, dtype=torch.uint8))[0].shape[1])

    @property
    def size(self) -> int:
        """Numbers of an object: the backbone's channels twice."""
        return 2 * self._channels

    def numbers(self, view: View, boxes: NDArray[np.float64]) -> NDArray[np.float32]:
        """(n, F) features of n boxes, fractions of the view's image."""
        if self._kept is None or self._kept[0] is not view:  # ids are unique within a scene only
            self._kept = view, self._maps(torch.from_numpy(np.array(view.image()))[None])
        return self._pooled(*self._kept[1], boxes, np.zeros(len(boxes), np.int64))

    def of_pictures(
        self, pictures: torch.Tensor, boxes: NDArray[np.float64], image: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """(n, F) features of boxes (n, 4) in many pictures (B, H, W, 3) uint8; `image` (n,) says in which."""
        return self._pooled(*self._maps(pictures), boxes, image)

    def _pooled(
        self, features: torch.Tensor, share: torch.Tensor, boxes: NDArray[np.float64], image: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        with torch.inference_mode():
            given = torch.from_numpy(np.ascontiguousarray(boxes)).float().to(self._device) * share.repeat(2)
            where = torch.from_numpy(image).to(self._device)
            boxed = roi_align(features, given, where, _CELLS).mean(dim=(2, 3))
            whole = features.mean(dim=(2, 3))[where]
            return torch.cat((boxed, whole), 1).cpu().numpy()

    def _maps(self, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, C, h, w) features of pictures (B, H, W, 3) uint8, and (2,) the shares of a map that they take."""
        with torch.inference_mode():
            if isinstance(self._net, ViewNet):
                pixels = pictures.to(self._device).permute(0, 3, 1, 2).float() / 255.0
                fitted, share = fitted_all(pixels, self._net.config.side)
                return self._net(fitted).fine, share
            features: torch.Tensor = self._net(standardised(resized(pictures.to(self._device), self._side)))
        return features, torch.ones(2, device=self._device)
