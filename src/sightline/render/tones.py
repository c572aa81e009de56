"""Turn radiance into bytes of a picture, and back: one exposure and one tone curve for every back end.

The curve is linear up to half of the display's range and then bends, so that the lit table and highlights keep
their shades; only radiance from `WHITE` on is the whitest there is. The kernels on the CPU and on the GPU read the
table `TONES`, and Blender's radiance goes through it too, so a radiance is the same byte everywhere.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

EXPOSURE: Final = 0.8
"""Light of the display, 1 at its brightest, for dim radiance 1."""

WHITE: Final = 16.0
"""Radiance from which on a channel is 255."""

_KNEE = 0.5
_STEPS = 1 << 16


def displayed(radiance: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Light that a display gives for a radiance: in [0, 1], before sRGB encodes it.

    >>> displayed(np.array([0.0, 0.5, 1.0, 2.0, 16.0])).round(3)
    array([0.   , 0.4  , 0.688, 0.845, 1.   ])
    """
    light = EXPOSURE * np.clip(radiance, 0.0, WHITE)
    over = np.maximum(light - _KNEE, 0.0) / (1.0 - _KNEE)
    top = (EXPOSURE * WHITE - _KNEE) / (1.0 - _KNEE)
    bent = over * (1.0 + over / top**2) / (1.0 + over)  # slope 1 at 0, 1 at `top`
    return np.asarray(np.minimum(light, _KNEE) + (1.0 - _KNEE) * bent)


def _tones() -> NDArray[np.uint8]:
    light = displayed((np.arange(_STEPS) + 0.5) * (WHITE / _STEPS))
    curve = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.round(255.0 * curve).astype(np.uint8)


TONES: Final = _tones()
"""Bytes of radiance in [0, WHITE), 65,536 even steps."""

PER_RADIANCE: Final = _STEPS / WHITE
"""Steps of `TONES` for radiance 1."""


def _radiances() -> NDArray[np.float64]:
    first, last = (np.searchsorted(TONES, np.arange(256), side) for side in ("left", "right"))
    last[255] = first[255] + 1  # all that is whiter than white is 255 too: its darkest stands for it
    return np.asarray((first + last) / 2 * (WHITE / _STEPS))


RADIANCES: Final = _radiances()
"""Radiance of every byte of a picture, (256,) float64."""


def encoded(radiance: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Bytes of radiance, as the kernels write them."""
    at = np.clip(np.asarray(radiance, np.float32) * np.float32(PER_RADIANCE), 0, _STEPS - 1)
    return np.asarray(TONES[at.astype(np.int64)])
