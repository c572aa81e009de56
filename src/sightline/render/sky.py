"""Skies that are pictures: photos as backdrops, and environment maps with the sun taken out of them.

An environment map is a picture of all directions: columns are azimuths, the middle one looks along +x and its right
side is clockwise seen from above; rows go from straight up to straight down. Its brightest part becomes a distant
lamp, so that it throws shadows; the rest, averaged to `SMALL`, lights the scene and is seen in mirrors; the camera
sees all of it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.render.frames import between_pixels
from sightline.render.radiance import read_radiance
from sightline.render.tones import RADIANCES
from sightline.worlds.layout import Layout, Light, Shot
from sightline.worlds.surroundings import Sky

F32 = NDArray[np.float32]

PICTURES: Final = ("backdrop", "environment")
"""Kinds of sky that are pictures."""

SMALL: Final = (16, 32)
"""Rows and columns of the map that lights a scene."""

SUN_METRES: Final = 1000.0
"""Distance of the lamp that stands for the sun."""

_BRIGHT: Final = 20.0  # a sun is so many times as bright as the mean of the map
_SUN_RADIANS: Final = math.radians(12.0)  # what is taken out lies so near its brightest point
_SMALLEST: Final = 6.8e-5  # solid angle of the sun itself, steradians
_LUMINANCE: Final = np.array((0.2126, 0.7152, 0.0722))
_MOST_PIXELS: Final = 1 << 26


class EnvironmentMap(NamedTuple):
    """A read environment map.

    Attributes:
        seen: (H, W, 3) radiance of all directions; `small` is SMALL, without the sun.
        sun: Direction to the sun, its radiance and solid angle; None where no part is far brighter than the rest.
    """

    seen: F32
    small: F32
    sun: tuple[NDArray[np.float64], NDArray[np.float64], float] | None


@lru_cache(maxsize=4)
def environment_map(file: str) -> EnvironmentMap:
    """Read a Radiance file as a picture of all directions; a DataError where it is none."""
    seen = read_radiance(file)
    height, width = seen.shape[:2]
    if width != 2 * height or height < SMALL[0]:
        expected = f"twice as wide as high, at least {SMALL[1]}×{SMALL[0]}"
        raise DataError("not a picture of all directions", file=file, expected=expected, found=f"{width}×{height}")
    sun, rest = _sun(seen.astype(np.float64))
    return EnvironmentMap(seen, _averaged(rest), sun)


def _sun(seen: NDArray[np.float64]) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64], float] | None, Any]:
    """Take the brightest part out: (direction, radiance, solid angle), and the map without it."""
    ways, angles = _directions(*seen.shape[:2])
    bright = seen @ _LUMINANCE
    mean = float((bright * angles).sum() / angles.sum())
    top = np.unravel_index(int(np.argmax(bright)), bright.shape)
    peak = float(bright[top])
    if peak < _BRIGHT * mean or ways[top][2] <= 0.05:
        return None, seen
    near = (ways @ ways[top] > math.cos(_SUN_RADIANS)) & (bright > max(0.1 * peak, _BRIGHT * mean / 2))
    weight = angles[near]
    around = np.median(seen[(ways @ ways[top] > math.cos(2 * _SUN_RADIANS)) & ~near], axis=0)
    flux = ((seen[near] - around) * weight[:, None]).sum(axis=0)
    way = (ways[near] * (bright[near] * weight)[:, None]).sum(axis=0)
    solid = max(float(weight.sum()), _SMALLEST)
    rest = seen.copy()
    rest[near] = around
    return (way / np.linalg.norm(way), np.maximum(flux, 0.0) / solid, solid), rest


def _directions(height: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit directions of a map's pixels, (H, W, 3), and their solid angles, (H, W) steradians."""
    up = (0.5 - (np.arange(height) + 0.5) / height) * math.pi
    around = (0.5 - (np.arange(width) + 0.5) / width) * 2.0 * math.pi
    level = np.cos(up)[:, None]
    ways = np.stack(
        np.broadcast_arrays(level * np.cos(around), level * np.sin(around), np.sin(up)[:, None]), axis=-1
    )
    edges = np.sin((0.5 - np.arange(height + 1) / height) * math.pi)
    angles = np.broadcast_to(((edges[:-1] - edges[1:]) * 2.0 * math.pi / width)[:, None], (height, width))
    return ways, angles


def _averaged(seen: NDArray[np.float64]) -> F32:
    """The map at the size of SMALL, by the mean of the pixels nearest each of its own, weighted by solid angle."""
    height, width = seen.shape[:2]
    rows, columns = (np.arange(n) * small // n for n, small in ((height, SMALL[0]), (width, SMALL[1])))
    cells = (rows[:, None] * SMALL[1] + columns[None]).ravel()
    angles = _directions(height, width)[1].ravel()
    total = np.bincount(cells, angles, SMALL[0] * SMALL[1])
    sums = [np.bincount(cells, angles * seen[..., c].ravel(), len(total)) for c in range(3)]
    return (np.stack(sums, axis=-1) / total[:, None]).reshape(*SMALL, 3).astype(np.float32)


def lights_of(layout: Layout) -> tuple[Light, ...]:
    """The layout's lights, and the sun of its sky as one more."""
    sky = layout.surroundings.sky
    sun = environment_map(sky.file).sun if sky.kind == "environment" else None
    if sun is None:
        return layout.lights
    way, radiance, solid = sun
    c, s = math.cos(sky.turn), math.sin(sky.turn)
    x, y, z = (SUN_METRES * np.array((c * way[0] - s * way[1], s * way[0] + c * way[1], way[2]))).tolist()
    size = SUN_METRES * math.sqrt(solid)
    power = float(radiance.max()) * sky.strength * math.pi * size**2
    r, g, b = (radiance / max(float(radiance.max()), 1e-9)).tolist()
    return (*layout.lights, Light("sun", (x, y, z), size, power, color=(r, g, b)))


def small_map(sky: Sky) -> F32:
    """The map that lights a scene under an environment, turned and as strong as its sky says: SMALL."""
    small = environment_map(sky.file).small
    shift = sky.turn / (2.0 * math.pi) * SMALL[1]
    low = math.floor(shift)
    part = np.float32(shift - low)  # counter-clockwise is to the left
    turned = (1 - part) * np.roll(small, -low, axis=1) + part * np.roll(small, -low - 1, axis=1)
    return np.asarray(turned * np.float32(sky.strength), np.float32)


def seen_sky(layout: Layout, shot: Shot, y: NDArray[Any], x: NDArray[Any]) -> F32 | None:
    """Radiance of the sky at pixels of a view, (N, 3); None for a sky that is no picture."""
    sky = layout.surroundings.sky
    if sky.kind == "backdrop":
        return _photo_at(sky, shot.size, y, x)
    if sky.kind != "environment":
        return None
    k, pose = np.array(shot.camera.k).reshape(3, 3), np.array(shot.camera.world_to_camera).reshape(3, 4)
    rays = np.column_stack((x + 0.5, y + 0.5, np.ones(len(x)))) @ np.linalg.inv(k).T @ pose[:, :3]
    seen = environment_map(sky.file).seen
    height, width = seen.shape[:2]
    azimuth = np.arctan2(rays[:, 1], rays[:, 0]) - sky.turn
    row = (0.5 - np.arctan2(rays[:, 2], np.hypot(rays[:, 0], rays[:, 1])) / math.pi) * height - 0.5
    column = (0.5 - azimuth / (2.0 * math.pi)) * width - 0.5
    return np.asarray(between_pixels(seen, row, column, wrap=True) * np.float32(sky.strength), np.float32)


def _photo_at(sky: Sky, size: tuple[int, int], y: NDArray[Any], x: NDArray[Any]) -> F32:
    """The photo cut to the picture's shape around its middle, as radiance."""
    photo = _photo(sky.file)
    height, width = photo.shape[:2]
    step = min(width / size[0], height / size[1])
    row = (y + 0.5 - size[1] / 2) * step + height / 2 - 0.5
    column = (x + 0.5 - size[0] / 2) * step + width / 2 - 0.5
    return np.asarray(between_pixels(photo, row, column, wrap=False) * np.float32(sky.strength), np.float32)


@lru_cache(maxsize=8)
def _photo(file: str) -> F32:
    """Read a photo: the radiance that gives its bytes through the tone curve, (H, W, 3) float32, upright."""
    try:
        pillow, upright = import_module("PIL.Image"), import_module("PIL.ImageOps").exif_transpose
    except ImportError as error:  # where only numpy and numba are, nothing else is needed to draw
        raise ConfigError("photos as backdrops need the package pillow, which is not installed") from error
    try:
        with pillow.open(file) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                expected = f"at most {_MOST_PIXELS:,} pixels"
                found = f"{opened.width}×{opened.height}"
                raise DataError("photo is too large for a backdrop", file=file, expected=expected, found=found)
            pixels = np.asarray(upright(opened).convert("RGB"), np.uint8)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise DataError(f"photo cannot be read: {error}", file=file) from None
    return RADIANCES[pixels].astype(np.float32)
