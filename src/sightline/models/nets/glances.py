"""Several glances at one scene: a grid of patches cuts every object somewhere, another one cuts it elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from sightline.errors import ConfigError
from sightline.models.nets.sornet import Sornet

_FIFTHS: Final = ((0, 0), (2, 1), (-1, 2), (-2, -1), (1, -2))  # of a patch; repeated over patches, an even lattice

MOST: Final = len(_FIFTHS)
"""Glances at a scene, at most: further ones gain little."""


def offsets(count: int, side: int) -> list[tuple[int, int]]:
    """Pixels (right, down) by which each glance is beside the first, for patches of so many pixels.

    >>> offsets(5, 32)
    [(0, 0), (13, 6), (-6, 13), (-13, -6), (6, -13)]
    """
    if not isinstance(count, int) or not 1 <= count <= MOST:
        raise ConfigError(f"glances at a scene must be 1 to {MOST}, not {count!r}")
    return [(round(side * right / 5), round(side * down / 5)) for right, down in _FIFTHS[:count]]


def moved(images: Tensor, right: int, down: int) -> Tensor:
    """Pictures (…, H, W, 3) as seen from a little beside; their edges are drawn out.

    >>> moved(torch.arange(4).view(1, 4, 1), 1, 0).flatten().tolist()
    [1, 2, 3, 3]
    """
    height, width = images.shape[-3:-1]
    rows = (torch.arange(height, device=images.device) + down).clamp(0, height - 1)
    columns = (torch.arange(width, device=images.device) + right).clamp(0, width - 1)
    return images.index_select(-3, rows).index_select(-2, columns)


def glances(
    net: Sornet, images: Tensor, queries: Tensor, views: Sequence[int] | None = None, *, count: int = MOST
) -> Tensor:
    """Logits of every glance at the same scenes, (count, B, N, N, predicates) float32: the judgement is their mean.

    Which is left of which does not change where a camera turns by half a patch.
    """
    seen = torch.cat([moved(images, *offset) for offset in offsets(count, net.config.patch)])
    asked = queries.repeat(count, *(1 for _ in queries.shape[1:]))
    logits: Tensor = net(seen, asked, views).float()
    return logits.view(count, len(images), *logits.shape[1:])
