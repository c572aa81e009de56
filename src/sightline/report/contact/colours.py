"""Colours of a contact sheet: one per object, one per kind of relation, and a ramp for depth."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.show.svg import shade

Rgb = tuple[int, int, int]

INK: Final = (28, 35, 43)
MUTED: Final = (95, 104, 115)
RULE: Final = (217, 221, 226)
SOFT: Final = (244, 245, 246)
PAPER: Final = (255, 255, 255)
DARK: Final = (16, 20, 25)

PALETTE: Final[tuple[Rgb, ...]] = (
    (255, 99, 92),
    (64, 169, 255),
    (255, 196, 46),
    (64, 206, 145),
    (197, 129, 255),
    (255, 140, 66),
    (46, 214, 214),
    (255, 128, 188),
    (166, 214, 64),
    (142, 156, 255),
    (224, 176, 138),
    (190, 200, 210),
)
"""Far apart on grey ground, all light enough for dark ink on them; after twelve objects they come again."""

KINDS: Final[dict[str, Rgb]] = {
    "contains": (255, 196, 46),
    "supports": (64, 206, 145),
    "occludes": (255, 99, 92),
    "mutual": (255, 99, 92),
    "closer": (64, 169, 255),
}
OTHER_KIND: Final = (197, 129, 255)
UNKNOWN_DEPTH: Final = (120, 126, 133)


def colour(number: int) -> Rgb:
    """Of the object with that place in its scene.

    >>> colour(0) == colour(len(PALETTE))
    True
    """
    return PALETTE[number % len(PALETTE)]


def kind_colour(predicate: str) -> Rgb:
    """Of a relation's arrow."""
    return KINDS.get(predicate, OTHER_KIND)


def css(rgb: Rgb) -> str:
    """As a style sheet writes it.

    >>> css((255, 99, 0))
    '#ff6300'
    """
    return "#{:02x}{:02x}{:02x}".format(*rgb)


@cache
def ramp() -> NDArray[np.uint8]:
    """(256, 3): near is pale sand, far is deep blue, in steps that look equal."""
    codes = [shade(i / 255)[1:] for i in range(256)]
    return np.array([[int(c[k : k + 2], 16) for k in (0, 2, 4)] for c in codes], dtype=np.uint8)


def depth_range(depth: NDArray[Any]) -> tuple[float, float] | None:
    """(near, far) in metres that the ramp spans: all but the outermost hundredth at either end.

    >>> depth_range(np.array([[1.0, 2.0], [np.nan, 3.0]]))
    (1.02, 2.98)
    >>> depth_range(np.array([[np.nan]])) is None
    True
    """
    known = depth[np.isfinite(depth)]
    if not known.size:
        return None
    near, far = np.percentile(known, (1, 99))
    return round(float(near), 6), round(float(far), 6)


def depth_picture(depth: NDArray[Any], near: float, far: float) -> NDArray[np.uint8]:
    """(H, W, 3) uint8; grey where the depth is unknown."""
    share = (depth - near) / max(far - near, 1e-9)
    known = np.isfinite(depth)
    steps = np.clip(np.where(known, share, 0.0) * 255.0, 0, 255).astype(np.uint8)
    picture: NDArray[np.uint8] = ramp()[steps]
    picture[~known] = UNKNOWN_DEPTH
    return picture
