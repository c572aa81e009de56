"""A small network that finds things on a table and tells how far every pixel is, from one picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from sightline.errors import ConfigError

STRIDE = 4
"""Pixels of the picture, across and down, that one cell of the outputs stands for."""


@dataclass(frozen=True, slots=True)
class TabletopConfig:
    """The shape of a tabletop network.

    Attributes:
        image: (width, height) a picture is resized to, pixels; multiples of 8.
        width: Channels of the first layer; later ones have two and four times as many.
        blocks: Layers at an eighth of the picture's size, each with twice the reach of the one before.
    """

    image: tuple[int, int] = (144, 96)
    width: int = 16
    blocks: int = 4

    def __post_init__(self) -> None:
        if any(side < 8 or side % 8 for side in self.image):
            raise ConfigError(f"sides of the picture must be multiples of 8, not {self.image}")
        if self.width < 1 or not 1 <= self.blocks <= 5:
            raise ConfigError(f"width must be at least 1 and blocks 1 to 5, not {self.width} and {self.blocks}")


class TabletopMaps(NamedTuple):
    """What the network says of pictures, a cell `STRIDE` × `STRIDE` pixels.

    Attributes:
        depth: (B, h, w) logarithm of the depth in metres.
        centre: (B, h, w) logit that the middle of an object's box lies here.
        extent: (B, 2, h, w) logarithms of the box's width and height, fractions of the picture.
    """

    depth: Tensor
    centre: Tensor
    extent: Tensor


class TabletopNet(nn.Module):
    """Convolutions down to an eighth of the picture, up again to a quarter, and three heads.

    Args:
        config: Its shape.
    """

    kind: ClassVar[str] = "sightline-tabletop-1"

    def __init__(self, config: TabletopConfig) -> None:
        super().__init__()
        self.config = config
        w = config.width
        self.first = _layer(5, w, stride=2)
        self.second = _layer(w, 2 * w, stride=2)
        self.third = _layer(2 * w, 4 * w, stride=2)
        self.wide = nn.ModuleList(_layer(4 * w, 4 * w, dilation=2**i) for i in range(config.blocks))
        self.joined = _layer(6 * w, 2 * w)
        self.heads = nn.Conv2d(2 * w, 4, 1)

    def forward(self, pictures: Tensor) -> TabletopMaps:
        """What it says of (B, 3, height, width) pictures in [0, 1]."""
        n, _, height, width = pictures.shape
        down = torch.linspace(-1, 1, height, device=pictures.device)[:, None].expand(n, 1, height, width)
        across = torch.linspace(-1, 1, width, device=pictures.device).expand(n, 1, height, width)
        quarter = self.second(self.first(torch.cat([pictures - 0.5, down, across], dim=1)))
        eighth = self.third(quarter)
        for layer in self.wide:
            eighth = eighth + layer(eighth)
        up = nn.functional.interpolate(eighth, size=quarter.shape[2:], mode="bilinear", align_corners=False)
        maps = self.heads(self.joined(torch.cat([up, quarter], dim=1)))
        return TabletopMaps(maps[:, 0], maps[:, 1], maps[:, 2:])


def _layer(inputs: int, outputs: int, *, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=dilation, dilation=dilation, bias=False)
    return nn.Sequential(conv, nn.GroupNorm(4, outputs), nn.ReLU())
