"""What `training.pixels.apply` does to one picture, pixel by pixel, in plain loops; without noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def changed(
    pixels: NDArray[np.uint8],
    *,
    colours: Floats,
    offset: Floats,
    exponent: float,
    zoom: tuple[float, float],
    shift: tuple[float, float],
    blur: float,
) -> Floats:
    """(H, W, 3) uint8 → floats of [0, 1]."""
    picture = moved(pixels / 255.0, zoom, shift)
    soft = smoothed(smoothed(picture))
    picture = picture + blur * (soft - picture)
    out = np.empty_like(picture)
    for row in range(picture.shape[0]):
        for column in range(picture.shape[1]):
            value = colours @ picture[row, column] + offset
            out[row, column] = np.clip(value, 1e-4, 1.0) ** exponent
    return out


def moved(picture: Floats, zoom: tuple[float, float], shift: tuple[float, float]) -> Floats:
    """Each pixel's middle is looked up at middle / zoom + shift, in half sides from the picture's middle."""
    height, width, _ = picture.shape
    out = np.empty_like(picture)
    for row in range(height):
        for column in range(width):
            x = ((2 * column + 1) / width - 1) / zoom[0] + shift[0]
            y = ((2 * row + 1) / height - 1) / zoom[1] + shift[1]
            out[row, column] = between(picture, ((y + 1) * height - 1) / 2, ((x + 1) * width - 1) / 2)
    return out


def moved_mask(mask: Floats, zoom: tuple[float, float], shift: tuple[float, float]) -> Floats:
    """(H, W) likewise; outside there is nothing, so the mask is read from the middle of an empty field."""
    height, width = mask.shape
    wide = np.zeros((3 * height, 3 * width, 1))
    wide[height : 2 * height, width : 2 * width, 0] = mask
    out = np.empty_like(mask)
    for row in range(height):
        for column in range(width):
            x = ((2 * column + 1) / width - 1) / zoom[0] + shift[0]
            y = ((2 * row + 1) / height - 1) / zoom[1] + shift[1]
            at = ((y + 1) * height - 1) / 2 + height, ((x + 1) * width - 1) / 2 + width
            out[row, column] = between(wide, *at)[0]
    return out


def between(picture: Floats, y: float, x: float) -> Floats:
    """Bilinear; outside the border is repeated."""
    height, width, _ = picture.shape
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, along = y - top, x - left
    above = picture[top, left] * (1 - along) + picture[top, right] * along
    below = picture[bottom, left] * (1 - along) + picture[bottom, right] * along
    value: Floats = above * (1 - down) + below * down
    return value


def smoothed(picture: Floats) -> Floats:
    """Each pixel the mean of itself and those of its neighbours that there are."""
    height, width, _ = picture.shape
    out = np.empty_like(picture)
    for row in range(height):
        for column in range(width):
            near = picture[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
            out[row, column] = near.mean(axis=(0, 1))
    return out


def dulled(view: NDArray[np.uint8], ids: NDArray[np.uint8], matte: float) -> Floats:
    """A view whose objects are moved towards their mean colour; the mean is of the pixels in the cells' middles."""
    cell = len(view) // len(ids)
    height, width = ids.shape
    out = view.astype(np.float64)
    for own in set(ids.ravel().tolist()) - {0}:
        places = [(y, x) for y, x in np.ndindex(height, width) if ids[y, x] == own]
        mean = np.mean([view[y * cell + cell // 2, x * cell + cell // 2] for y, x in places], axis=0)
        for y, x in places:
            here = np.s_[y * cell : (y + 1) * cell, x * cell : (x + 1) * cell]
            out[here] += matte * (mean - out[here])
    return out
