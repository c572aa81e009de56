"""Apply a sensor to a drawn view: lens, blur, exposure, white balance and noise, on radiance.

A picture is taken back through the tone curve to radiance, and through it again afterwards. JPEG is not done here
but by `sightline.variations`, which has an encoder.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sightline.render.frames import Frame, between_pixels
from sightline.render.tones import RADIANCES, encoded
from sightline.worlds.layout import Sensor

Light = NDArray[np.float64]
Taps = dict[tuple[int, int], float]
"""Where light comes from (pixels to the right and down) and its share."""


def taken(frame: Frame, sensor: Sensor) -> Frame:
    """The view as the sensor takes it: the lens moves picture and truth alike, all else the picture alone."""
    bent = frame if sensor.distortion == 0.0 else _bent(frame, sensor.distortion)
    if bent.image is None:
        return bent
    return replace(bent, image=exposed(bent.image, sensor))


def exposed(image: NDArray[np.uint8], sensor: Sensor) -> NDArray[np.uint8]:
    """The picture, (H, W, 3) uint8 sRGB, blurred, brightened, tinted and with noise."""
    light: Light = RADIANCES[image]
    for taps in (_disc(sensor.defocus), _line(sensor.motion, sensor.angle)):
        light = _spread(light, taps)
    light = light * (2.0**sensor.exposure * np.array((sensor.red, 1.0, sensor.blue)))
    if sensor.shot or sensor.read:
        noise = np.random.default_rng(sensor.seed).standard_normal(light.shape)
        light = light + noise * np.sqrt(sensor.shot**2 * light + sensor.read**2)
    return encoded(light)


def bending(height: int, width: int, distortion: float) -> tuple[Light, Light]:
    """For each pixel of a distorted picture the place in the undistorted one, (H, W) rows and columns in pixels.

    Radii are scaled so that no place lies outside: a barrel shows the whole diagonal, a cushion keeps the middle.

    >>> rows, columns = bending(2, 2, 0.0)
    >>> columns.tolist()
    [[0.5, 1.5], [0.5, 1.5]]
    """
    y, x = np.mgrid[0.5:height, 0.5:width] - np.array([height / 2, width / 2])[:, None, None]
    radius2 = (x * x + y * y) / ((height * height + width * width) / 4.0)
    factor = (1.0 + distortion * radius2) / max(1.0, 1.0 + distortion)
    return y * factor + height / 2, x * factor + width / 2


def bent_places(places: Light, size: tuple[int, int], distortion: float) -> Light:
    """Where places of an undistorted picture, (n, 2) x and y in pixels, are in the distorted one: undo `bending`.

    >>> bent_places(np.array([[240.0, 160.0]]), (480, 320), 0.2).tolist()
    [[240.0, 160.0]]
    """
    middle, half = np.array(size) / 2.0, math.hypot(*size) / 2.0
    away = (places - middle) / half * max(1.0, 1.0 + distortion)
    target = np.hypot(away[:, 0], away[:, 1])
    radius = target.copy()
    for _ in range(30):  # Newton's steps for r (1 + d r²) = target, whose slope is kept above 0
        slope = np.maximum(1.0 + 3.0 * distortion * radius**2, 0.05)
        radius = radius - (radius * (1.0 + distortion * radius**2) - target) / slope
    share = np.divide(radius, target, out=np.ones_like(target), where=target > 0.0)
    bent: Light = middle + away * share[:, None] * half
    return bent


def _bent(frame: Frame, distortion: float) -> Frame:
    height, width = frame.ids.shape
    rows, columns = bending(height, width, distortion)
    at = np.floor(rows).astype(np.intp), np.floor(columns).astype(np.intp)
    amodal = frame.amodal[:, at[0], at[1]]
    return replace(
        frame,
        ids=frame.ids[at],
        depth=frame.depth[at],
        normals=frame.normals[at],
        amodal=amodal,
        mean_depth=np.where(amodal.any(axis=(1, 2)), frame.mean_depth, np.nan),
        stuff=frame.stuff[at],
        image=None
        if frame.image is None
        else encoded(between_pixels(RADIANCES[frame.image], rows - 0.5, columns - 0.5)),
    )


def _disc(radius: float) -> Taps:
    """A disc: each pixel counts by the share of it that the disc covers, its edge a pixel wide."""
    reach = range(-math.ceil(radius), math.ceil(radius) + 1)
    covers = {(x, y): min(1.0, max(0.0, radius + 0.5 - math.hypot(x, y))) for x in reach for y in reach}
    return {place: cover / sum(covers.values()) for place, cover in covers.items() if cover > 0.0}


def _line(length: float, angle: float) -> Taps:
    """A line through the middle: a point for each half pixel, shared by the four pixels around it."""
    count = 2 * math.ceil(length) + 1
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    taps: Taps = {}
    for i in range(count):
        along = (i / (count - 1) - 0.5) * length if length else 0.0
        x, y = c * along, -s * along
        u, v = x - math.floor(x), y - math.floor(y)
        for right, down, share in (
            (0, 0, (1 - u) * (1 - v)),
            (1, 0, u * (1 - v)),
            (0, 1, (1 - u) * v),
            (1, 1, u * v),
        ):
            place = math.floor(x) + right, math.floor(y) + down
            taps[place] = taps.get(place, 0.0) + share / count
    return {place: share for place, share in taps.items() if share > 1e-9}


def _spread(light: Light, taps: Taps) -> Light:
    """Sum of shifted light; beyond the edge it is the edge's."""
    if len(taps) == 1:
        return light
    height, width = light.shape[:2]
    reach = max(max(map(abs, place)) for place in taps)
    wide = np.pad(light, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    total = np.zeros_like(light)
    for (x, y), share in taps.items():
        total += share * wide[reach + y : reach + y + height, reach + x : reach + x + width]
    return total
