"""Where a model looked: its attention laid over the photos.

A model with a method ``attention(queries) -> (n, views, rows, columns)`` of non-negative weights tells, for each of
the n objects asked about, how much it drew from each cell of each view. The cells cover the whole picture.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import ModelError
from sightline.exams.hooks import model_call
from sightline.skills import Queries

_COLD: Final = np.array((122.0, 18.0, 60.0))
_WARM: Final = np.array((240.0, 96.0, 20.0))
_HOT: Final = np.array((255.0, 240.0, 150.0))
_GREY: Final = 0.75
"""How much of the photo's own colour is taken away, so that the heat's colours are its own."""


def attention_of(model: object, queries: Queries, name: str) -> NDArray[np.float64] | None:
    """The model's attention, (n, views, rows, columns); None where it has none to show.

    Raises:
        ModelError: It fails, or returns something else.
    """
    ask = getattr(model, "attention", None)
    if not callable(ask):
        return None
    with model_call(model, "attention"):
        given: Any = ask(queries)
    try:
        heat = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{name}: attention() must return numbers, not {type(given).__name__}") from None
    expected = (len(queries), len(queries.views))
    if heat.ndim != 4 or heat.shape[:2] != expected or 0 in heat.shape[2:]:
        raise ModelError(
            f"{name}: attention() returned shape {heat.shape}, "
            f"expected ({expected[0]}, {expected[1]}, rows, columns)"
        )
    if not np.isfinite(heat).all() or (heat.size and heat.min() < 0):
        raise ModelError(f"{name}: attention() returned a weight that is negative or no number")
    return heat


def heated(pixels: NDArray[np.uint8], heat: NDArray[np.float64], *, strength: float = 0.85) -> NDArray[np.uint8]:
    """The photo, almost grey, with the heat over it: unseen where there is none, ever paler and denser to 1.

    Args:
        pixels: (h, w, 3) sRGB.
        heat: (rows, columns) in [0, 1], stretched smoothly over the whole photo.
        strength: Opacity where the heat is 1.
    """
    high, wide = pixels.shape[:2]
    stretched = Image.fromarray(heat.astype(np.float32)).resize((wide, high), Image.Resampling.BILINEAR)
    share = np.clip(np.asarray(stretched, dtype=np.float64), 0, 1)[..., None]
    ground = pixels.astype(np.float64)
    ground += _GREY * (ground.mean(axis=2, keepdims=True) - ground)
    colour = np.where(share < 0.5, _mixed(_COLD, _WARM, 2 * share), _mixed(_WARM, _HOT, 2 * share - 1))
    return np.round(ground + strength * share * (colour - ground)).astype(np.uint8)


def scaled_heat(heat: NDArray[np.float64]) -> NDArray[np.float64]:
    """One object's attention over all views, (views, rows, columns), from 0 at its least to 1 at its most.

    All views share one scale, so that a view the model does not draw from stays cold. A floor that is everywhere
    tells nothing and would tint the whole picture; attention that is the same everywhere is all 0.

    >>> scaled_heat(np.array([[[2.0, 5.0]], [[1.0, 3.0]]])).tolist()
    [[[0.25, 1.0]], [[0.0, 0.5]]]
    """
    least, span = heat.min(), np.ptp(heat)
    scaled: NDArray[np.float64] = (heat - least) / span if span > 0 else np.zeros_like(heat)
    return scaled


def _mixed(a: NDArray[np.float64], b: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    return a + share * (b - a)
