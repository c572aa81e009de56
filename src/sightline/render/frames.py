"""One drawn view: picture, ids, depth, normals and masks, as every back end gives them; pictures between pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One view of a layout, drawn. Pixel centres are at half-integers.

    Attributes:
        view: Name of the shot.
        ids: (H, W) int32: 0 table or sky, i + 1 for ``layout.objects[i]``.
        depth: (H, W) float32, planar z in metres; NaN where nothing is hit.
        normals: (H, W, 3) float32, unit, world axes, towards the camera's side; 0 where nothing is hit.
        amodal: (n, H, W) bool: the whole of each object within the image, hidden parts included.
        mean_depth: (n,) float64: mean planar z of each object's own front surface over its amodal mask, metres;
            NaN where the object is outside the image.
        stuff: (H, W) uint8: class of ground or sky, i for ``layout.surroundings.classes[i - 1]``; 0 for an object.
        image: (H, W, 3) uint8 sRGB; None if only the geometry was asked for.
    """

    view: str
    ids: NDArray[np.int32] = field(repr=False)
    depth: NDArray[np.float32] = field(repr=False)
    normals: NDArray[np.float32] = field(repr=False)
    amodal: NDArray[np.bool_] = field(repr=False)
    mean_depth: NDArray[np.float64] = field(repr=False)
    stuff: NDArray[np.uint8] = field(repr=False)
    image: NDArray[np.uint8] | None = field(default=None, repr=False)


def between_pixels(
    picture: NDArray[Any], row: NDArray[Any], column: NDArray[Any], *, wrap: bool = False
) -> NDArray[Any]:
    """Read a picture, (H, W, C), between its pixels, whose centres are at whole numbers here.

    Beyond the edge it is the edge's; columns go on at the other side where they wrap.

    >>> between_pixels(np.array([[[0.0], [2.0]]]), np.array([0.0]), np.array([0.25])).tolist()
    [[0.5]]
    """
    height, width = picture.shape[:2]
    r, c = np.floor(row).astype(int), np.floor(column).astype(int)
    v, u = (row - r)[..., None], (column - c)[..., None]
    top, bottom = np.clip(r, 0, height - 1), np.clip(r + 1, 0, height - 1)
    left, right = (c % width, (c + 1) % width) if wrap else (np.clip(c, 0, width - 1), np.clip(c + 1, 0, width - 1))
    upper = picture[top, left] * (1 - u) + picture[top, right] * u
    return np.asarray(upper * (1 - v) + (picture[bottom, left] * (1 - u) + picture[bottom, right] * u) * v)
