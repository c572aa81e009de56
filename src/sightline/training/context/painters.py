"""Fills of removed objects in training, many pictures at once on the device."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from sightline.errors import ConfigError
from sightline.hints import did_you_mean
from sightline.models.fills.network import WINDOW, painted, window
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.inpainter import Inpainter
from sightline.training.context.scenes import Painter

PAINTERS: Final = {
    "exact": "the scene drawn without the things, shadows and reflections gone too",
    "exact-hole": "the same inside the hole alone",
    "grey": "the hole left grey: removed, not filled",
    "kept": "the picture as it is: nothing removed, only labels dropped",
}
"""Fills by name; besides, ``network:FILE`` is an in-painting network trained here."""

GREY: Final = 124
_AT_ONCE: Final = 64


def painter_of(fill: str) -> Painter:
    """The painter of a fill.

    Raises:
        ConfigError: No such fill.
        ModelError: A file that holds no in-painter.
    """
    kind, _, file = fill.partition(":")
    if kind == "network" and file:
        return NetworkPainter(Path(file))
    if fill not in PAINTERS:
        raise ConfigError(
            f"unknown fill {fill!r}{did_you_mean(fill, PAINTERS)}; known in training are "
            f"{', '.join(PAINTERS)} and network:FILE"
        )
    return {"exact": _exact, "exact-hole": _exact_hole, "grey": _grey, "kept": _kept}[fill]


def _exact(_: Tensor, __: Tensor, bare: Tensor) -> Tensor:
    return bare


def _exact_hole(pictures: Tensor, holes: Tensor, bare: Tensor) -> Tensor:
    return torch.where(holes[..., None], bare, pictures)


def _grey(pictures: Tensor, holes: Tensor, _: Tensor) -> Tensor:
    return torch.where(holes[..., None], torch.full_like(pictures, GREY), pictures)


def _kept(pictures: Tensor, _: Tensor, __: Tensor) -> Tensor:
    return pictures


class NetworkPainter:
    """Fills by an in-painting network, as `models.fills.network` does, holes of windows of one size together.

    Args:
        path: The .safetensors file.
    """

    def __init__(self, path: Path) -> None:
        self._net = load_checkpoint(path, Inpainter).net

    def __call__(self, pictures: Tensor, holes: Tensor, bare: Tensor) -> Tensor:
        """The pictures with the network's pixels in their holes."""
        del bare
        net = self._net.to(pictures.device)
        windows = [window(hole, WINDOW) for hole in holes.cpu().numpy()]
        alike: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, (rows, columns) in enumerate(windows):
            alike[rows.stop - rows.start, columns.stop - columns.start].append(number)
        filled = pictures.clone()
        for numbers in alike.values():
            for start in range(0, len(numbers), _AT_ONCE):
                chosen = numbers[start : start + _AT_ONCE]
                shown = torch.stack([pictures[(i, *windows[i])] for i in chosen])
                masks = torch.stack([holes[(i, *windows[i])] for i in chosen])
                for i, one, mask in zip(chosen, painted(net, shown, masks), masks, strict=True):
                    there = filled[(i, *windows[i])]
                    there[mask] = one[mask]
        return filled
