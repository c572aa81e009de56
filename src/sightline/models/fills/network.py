"""The in-painting network trained here, as a fill."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.edits.fills import FillRequest, Mask, Pixels
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.inpainter import Inpainter
from sightline.threads import computing, suitable_threads

WINDOW = 256
"""Side of what the network is shown around a hole, pixels, as in training; more of a large hole. Instance norm goes
over what is shown, so this is not only for speed."""


class NetworkFill:
    """Fills by an in-painting network that was trained here.

    Args:
        path: The .safetensors file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, f"network:{path.stem}"
        self._net = load_checkpoint(path, Inpainter).net
        self.identity = f"network {WINDOW} {sha256(path.read_bytes()).hexdigest()}"

    def fill(self, request: FillRequest) -> Pixels:
        """The picture with the network's pixels around the hole."""
        filled = request.pixels.copy()
        there = window(request.hole, WINDOW)
        picture, hole = (torch.from_numpy(np.array(part[there]))[None] for part in (request.pixels, request.hole))
        with computing(suitable_threads(sum(weight.numel() for weight in self._net.parameters()))):
            filled[there] = painted(self._net, picture, hole)[0].numpy()
        return filled


def painted(net: Inpainter, pictures: Tensor, holes: Tensor) -> Tensor:
    """Ask an in-painter: pictures (B, H, W, 3) uint8 RGB and holes (B, H, W) bool to its (B, H, W, 3) uint8."""
    with torch.inference_mode():
        made = net(pictures.permute(0, 3, 1, 2) / 127.5 - 1.0, holes.float()[:, None])
    levels: Tensor = ((made + 1.0) * 127.5).round().clamp(0, 255).to(torch.uint8)
    return levels.permute(0, 2, 3, 1)


def window(hole: Mask, side: int) -> tuple[slice, slice]:
    """What to show around a hole: a square of `side` pixels, or the hole with side / 4 pixels around it if larger.

    It stays within the picture, and is moved inwards before it is made smaller.

    >>> hole = np.zeros((320, 480), bool)
    >>> hole[10:20, 400:440] = True
    >>> window(hole, 256)
    (slice(0, 256, None), slice(224, 480, None))
    """
    rows, columns = np.flatnonzero(hole.any(axis=1)), np.flatnonzero(hole.any(axis=0))
    return _span(rows, hole.shape[0], side), _span(columns, hole.shape[1], side)


def _span(places: NDArray[np.intp], length: int, side: int) -> slice:
    low, high = int(places[0]), int(places[-1]) + 1
    size = min(length, max(side, high - low + side // 2))
    start = min(max(0, (low + high - size) // 2), length - size)
    return slice(start, start + size)
