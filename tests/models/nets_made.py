"""A tiny SORNet with weights large enough to show a mistake, and scenes of noise for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.models.nets.sornet import Sornet, SornetConfig

BOTH = ("original", "top")


def config(**changes: Any) -> SornetConfig:
    """Width 32, two blocks, views of 96 × 64 pixels."""
    values = {
        "width": 32,
        "depth": 2,
        "heads": 4,
        "hidden": 24,
        "views": BOTH,
        "image": (96, 64),
        "most_objects": 8,
    }
    return SornetConfig(**{**values, **changes})


def net(seed: int = 0, **changes: Any) -> Sornet:
    """A network as no training would leave it: every weight is felt, biases and positions too."""
    made = Sornet(config(**changes))
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            noise = torch.randn(weight.shape, generator=draw)
            inward = weight.shape[-1] ** -0.5 if weight.ndim > 1 else 0.3
            weight.copy_(noise * 0.5 if name == "positions" else noise * inward)
            if "before" in name or name.startswith("last"):
                weight.add_(1.0 if name.endswith("weight") else 0.0)
    return made.eval()


def shown(
    n: int, views: int = 2, seed: int = 0, image: tuple[int, int] = (96, 64), side: int = 32
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Noise for images (views, H, W, 3) and queries (n, side, side, 3)."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (views, image[1], image[0], 3), dtype=np.uint8)
    return images, rng.integers(0, 256, (n, side, side, 3), dtype=np.uint8)


def batch(*arrays: NDArray[np.uint8]) -> tuple[Tensor, ...]:
    """Arrays of one scene as a batch of one."""
    return tuple(torch.from_numpy(array)[None] for array in arrays)
