"""Patches of objects that have no canonical view: cut from a photo by mask or box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Scene, Sighting, View

Pixels = NDArray[np.uint8]
SIDE: Final = 32
"""Side of a patch, pixels."""
GROUND: Final = 127
"""Grey of what is not the object, 0 to 255."""
_MARGIN: Final = 1.1  # side of the square that is cut, over the longer side of the box


def cropped(image: Pixels, box: Sequence[float], mask: NDArray[np.bool_] | None = None) -> Pixels:
    """Cut an object from a photo: (32, 32, 3) uint8.

    The object stands in the middle of a square a tenth larger than its box; what lies beyond the photo, and where
    there is a mask all that is not the object, is grey.

    Args:
        image: (H, W, 3) uint8.
        box: xyxy, pixels.
        mask: (H, W) where the object is; None for the whole box, surroundings included.

    >>> cropped(np.full((4, 4, 3), 9, dtype=np.uint8), (0, 0, 4, 4))[16, 16].tolist()
    [9, 9, 9]
    """
    shown = image if mask is None else np.where(mask[..., None], image, np.uint8(GROUND))
    x0, y0, x1, y1 = box
    side = max(round(max(x1 - x0, y1 - y0) * _MARGIN), 1)
    left, top = round((x0 + x1 - side) / 2), round((y0 + y1 - side) / 2)
    square = np.full((side, side, 3), GROUND, dtype=np.uint8)
    height, width = image.shape[:2]
    rows = slice(max(top, 0), min(top + side, height))
    columns = slice(max(left, 0), min(left + side, width))
    if rows.start < rows.stop and columns.start < columns.stop:
        part = shown[rows, columns]
        down, right = rows.start - top, columns.start - left
        square[down : down + part.shape[0], right : right + part.shape[1]] = part
    return np.asarray(Image.fromarray(square).resize((SIDE, SIDE), Image.Resampling.LANCZOS))


@dataclass(frozen=True, eq=False)
class CroppedPatches(Sequence[Pixels]):
    """The patches of a scene's objects, cut from one view when the first is asked for.

    Attributes:
        view: The photo.
        sightings: Of each object, in the objects' order.
    """

    view: View
    sightings: tuple[Sighting, ...]

    @cached_property
    def _made(self) -> tuple[Pixels, ...]:
        image = self.view.image()
        height, width = image.shape[:2]
        scale = (width, height, width, height) if self.view.units == "normalised" else (1, 1, 1, 1)
        made = []
        for seen in self.sightings:
            mask = None
            if seen.visible_mask is not None and self.view.size == (width, height):
                mask = masks.decode(seen.visible_mask, height, width)
            made.append(cropped(image, [edge * by for edge, by in zip(seen.box, scale, strict=True)], mask))
        return tuple(made)

    def __len__(self) -> int:
        return len(self.sightings)

    @overload
    def __getitem__(self, index: int) -> Pixels: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pixels, ...]: ...
    def __getitem__(self, index: int | slice) -> Pixels | tuple[Pixels, ...]:
        """The patch of an object."""
        return self._made[index]


def patches_of(scene: Scene) -> CroppedPatches:
    """Patches of all objects of a scene, from its first view.

    Raises:
        DataError: An object has no box there.
    """
    view = scene.views[0]
    seen = {sighting.object_id: sighting for sighting in scene.sightings if sighting.view_id == view.id}
    missing = [thing.id for thing in scene.objects if thing.id not in seen]
    if missing:
        problem = f"object {missing[0]} has no box in view {view.id} to cut a patch by, and no canonical view"
        raise DataError(problem, row=scene.id)
    return CroppedPatches(view, tuple(seen[thing.id] for thing in scene.objects))
