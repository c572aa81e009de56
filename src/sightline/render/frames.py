"""One drawn view: picture, ids, depth, normals and masks, as every back end gives them."""

from __future__ import annotations

from dataclasses import dataclass, field

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
