"""Histograms of oriented gradients as deformable part models use them, and pyramids of them, on any device.

Every cell has 31 features after Felzenszwalb and others: 18 directions of the gradient, 9 orientations, and the
energy under each of four normalisations. The picture goes on beyond its edges as it is there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sightline.kernels import compiler, stamp

_kernel = compiler(stamp([Path(__file__)]))

CELL: Final = 8
"""Pixels of a cell's side."""
FEATURES: Final = 31
_BINS: Final = 9
_CLIP: Final = 0.2
_EPSILON: Final = 1e-4
_TEXTURE: Final = 0.2357
_MOST_SHRUNK: Final = 32
"""By how much a picture is shrunk at once: a card has no room for the weights of much more (about 90)."""

# Where a gradient lies exactly between two directions the first is taken, whatever the last digit: it is longer.
_TURNS: Final = tuple(
    (turn(np.pi * np.arange(_BINS) / _BINS) * (1.0 - 1e-5 * np.arange(_BINS))).astype(np.float32)
    for turn in (np.cos, np.sin)
)


def _mirror_order() -> tuple[int, ...]:
    """Which feature of a cell each feature of the cell in the mirrored picture is."""
    signed = [(_BINS - o) % (2 * _BINS) for o in range(2 * _BINS)]
    unsigned = [2 * _BINS + (_BINS - o) % _BINS for o in range(_BINS)]
    return (*signed, *unsigned, 28, 27, 30, 29)


MIRROR_ORDER: Final = _mirror_order()


def mirrored(features: Tensor) -> Tensor:
    """Features (…, 31, rows, columns) of the picture seen in a mirror."""
    return features.flip(-1)[..., list(MIRROR_ORDER), :, :]


def hog(picture: Tensor, cell: int = CELL) -> Tensor:
    """Compute the features (31, rows, columns) of a picture (3, H, W), any scale of brightness.

    Args:
        picture: Channels first, float.
        cell: Pixels of a cell's side; rows and columns are the picture's size in cells, rounded.
    """
    rows, columns = (max(1, math.floor(n / cell + 0.5)) for n in picture.shape[1:])
    height, width = rows * cell, columns * cell
    whole = picture[None, :, :height, :width]
    missing = (0, width - whole.shape[-1], 0, height - whole.shape[-2])
    whole = functional.pad(whole, missing, mode="replicate") if any(missing) else whole
    whole = functional.pad(whole, (cell + 1,) * 4, mode="replicate")[0]
    if picture.device.type == "cpu":
        pixels = np.ascontiguousarray(whole.permute(1, 2, 0).numpy())
        return _normalised(torch.from_numpy(_histogram(pixels, cell, *_TURNS)))
    return _normalised(_histogram_of_tensor(whole, cell))


def _histogram_of_tensor(whole: Tensor, cell: int) -> Tensor:
    """As `_histogram`, of a picture (3, H, W), by operations that every device has."""
    dx = whole[:, 1:-1, 2:] - whole[:, 1:-1, :-2]
    dy = whole[:, 2:, 1:-1] - whole[:, :-2, 1:-1]
    square, channel = (dx * dx + dy * dy).max(dim=0)
    dx, dy = (slope.gather(0, channel[None])[0] for slope in (dx, dy))
    side = 1.0 - np.abs((np.arange(2 * cell) - cell // 2 + 0.5) / cell - 0.5)
    tent = torch.from_numpy(np.outer(side, side)[None, None].astype(np.float32)).to(whole.device)
    cosines, sines = (torch.from_numpy(turn)[:, None, None].to(whole.device) for turn in _TURNS)
    along = dx * cosines + dy * sines  # (9, H, W)
    orientation = along.abs().argmax(dim=0, keepdim=True)
    signed = torch.where(along.gather(0, orientation) < 0, orientation + _BINS, orientation)
    strength = torch.zeros(2 * _BINS, *square.shape, device=whole.device, dtype=whole.dtype)
    strength.scatter_(0, signed, square.sqrt()[None])
    # Sharing a pixel between the four nearest cells is a convolution with a tent, one step a cell.
    return functional.conv2d(strength[:, None], tent, stride=cell, padding=cell // 2)[:, 0]


@_kernel
def _histogram(
    whole: NDArray[np.float32], cell: int, cosines: NDArray[np.float32], sines: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Histograms (18, rows + 2, columns + 2) of a picture (H, W, 3) float32 with one cell and a pixel around it.

    A pixel's gradient, that of its steepest channel, is shared between the four cells whose middles are nearest.
    """
    height, width = whole.shape[0] - 2, whole.shape[1] - 2
    histogram = np.zeros((18, height // cell, width // cell), np.float32)
    for y in range(height):
        row = (y + np.float32(0.5)) / cell - np.float32(0.5)
        top = math.floor(row)
        low = row - top
        for x in range(width):
            square, dx, dy = np.float32(-1.0), np.float32(0.0), np.float32(0.0)
            for c in range(whole.shape[2]):
                u = whole[y + 1, x + 2, c] - whole[y + 1, x, c]
                v = whole[y + 2, x + 1, c] - whole[y, x + 1, c]
                if u * u + v * v > square:
                    square, dx, dy = u * u + v * v, u, v
            best, bin_ = np.float32(-1.0), 0
            for o in range(9):
                along = dx * cosines[o] + dy * sines[o]
                if along > best:
                    best, bin_ = along, o
                if -along > best:
                    best, bin_ = -along, o + 9
            strength = np.sqrt(square)
            column = (x + np.float32(0.5)) / cell - np.float32(0.5)
            left = math.floor(column)
            right = column - left
            for i in range(2):
                for j in range(2):
                    if 0 <= top + i < histogram.shape[1] and 0 <= left + j < histogram.shape[2]:
                        share = (low if i else 1 - low) * (right if j else 1 - right)
                        histogram[bin_, top + i, left + j] += share * strength
    return histogram


def _normalised(histogram: Tensor) -> Tensor:
    """Features of all but the outermost cells from the histograms (18, rows + 2, columns + 2)."""
    unsigned = histogram[:_BINS] + histogram[_BINS:]
    energy = (unsigned * unsigned).sum(dim=0)
    blocks = 1.0 / (energy[:-1, :-1] + energy[:-1, 1:] + energy[1:, :-1] + energy[1:, 1:] + _EPSILON).sqrt()
    scales = torch.stack([blocks[:-1, :-1], blocks[:-1, 1:], blocks[1:, :-1], blocks[1:, 1:]])  # (4, rows, columns)
    inner = torch.cat([histogram, unsigned])[:, 1:-1, 1:-1]
    features = torch.zeros(FEATURES, *inner.shape[1:], device=inner.device, dtype=inner.dtype)
    for k in range(4):
        clipped = (inner * scales[k]).clamp(max=_CLIP)
        features[: 3 * _BINS] += clipped
        features[3 * _BINS + k] = _TEXTURE * clipped[: 2 * _BINS].sum(dim=0)
    features[: 3 * _BINS] *= 0.5
    return features


@dataclass(frozen=True)
class PyramidLevel:
    """Features of a picture at one scale, for roots, and at twice that for parts.

    Attributes:
        scale: Pixels of the scaled picture for one of the whole.
        coarse: (31, rows, columns), cells of 8 pixels of the scaled picture.
        fine: (31, 2 rows, 2 columns), cells of half the side.
    """

    scale: float
    coarse: Tensor
    fine: Tensor


def scales_for(size: tuple[int, int], interval: int, least: int = 5) -> tuple[float, ...]:
    """Choose the scales of a picture of (width, height) pixels, down to `least` cells: `interval` an octave."""
    smallest = min(size) / (CELL * least)
    count = 1 + max(0, math.floor(interval * math.log2(smallest))) if smallest >= 1 else 1
    return tuple(2.0 ** (-i / interval) for i in range(count))


def pyramid(
    picture: NDArray[np.uint8], scales: Sequence[float], *, device: Any = "cpu"
) -> tuple[PyramidLevel, ...]:
    """Compute the features of a picture (H, W, 3) uint8 at several scales, those for parts beside them.

    Where the double of a scale is one of them too its features are used for both.
    """
    whole = torch.tensor(np.asarray(picture), device=device).permute(2, 0, 1).float()
    coarse: dict[float, Tensor] = {}
    levels = []
    for scale in scales:
        scaled = resized(whole, [max(CELL, round(n * scale)) for n in whole.shape[1:]])
        key, double = round(scale, 6), round(2.0 * scale, 6)
        coarse[key] = hog(scaled)
        fine = coarse[double] if double in coarse else hog(scaled, CELL // 2)
        rows, columns = (2 * n for n in coarse[key].shape[1:])
        fine = functional.pad(fine, (0, max(0, columns - fine.shape[2]), 0, max(0, rows - fine.shape[1])))
        levels.append(PyramidLevel(scale, coarse[key], fine[:, :rows, :columns]))
    return tuple(levels)


def resized(picture: Tensor, size: Sequence[int]) -> Tensor:
    """Scale a picture (3, H, W) to (rows, columns) pixels, means of what a pixel covers where it shrinks."""
    if list(size) == list(picture.shape[1:]):
        return picture
    while any(halves := [n > _MOST_SHRUNK * small for n, small in zip(picture.shape[1:], size, strict=True)]):
        picture = functional.avg_pool2d(picture[None], [1 + half for half in halves])[0]
    return functional.interpolate(picture[None], list(size), mode="bilinear", antialias=True)[0]
