"""Which pixels a removal takes: masks of objects, grown and bounded; and two controls that remove nothing.

An image without a class, I − c, is without *all* of its instances. Their visible masks are united and grown by a
square of 2·radius + 1 pixels a side: radius 5 (11×11) is the seed's for COCO, 7 (15×15) for ADE20K. The limit, 30 %
of the image, is on the union of the masks *before* it is grown: it is about the objects. Stuff (road, sky) is never
removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.geometry.masks import decode, dilate
from sightline.scenes import STUFF, Scene

Mask = NDArray[np.bool_]


class RemovalError(DataError):
    """Objects that cannot be removed from an image: too large, stuff, without a mask; an exam leaves them out."""


@dataclass(frozen=True, slots=True)
class Removal:
    """How objects are removed.

    Attributes:
        radius: By how much masks grow, pixels: a square of 2·radius + 1 a side.
        most: Largest share of the image that the masks, united and not yet grown, may have.
    """

    radius: int = 5
    most: float = 0.3

    def __post_init__(self) -> None:
        if not (isinstance(self.radius, int) and self.radius >= 0):
            raise ConfigError(f"radius of a removal: expected pixels, 0 or more, found {self.radius!r}")
        if not 0.0 < self.most <= 1.0:
            raise ConfigError(
                f"largest share of a removal: expected more than 0 and at most 1, found {self.most!r}"
            )

    def hole(self, masks: Sequence[NDArray[np.generic]] | NDArray[np.generic], *, row: str | None = None) -> Mask:
        """Unite and grow the (H, W) masks of what is removed: (H, W) bool, True where a fill is needed.

        Args:
            masks: Masks of one image, at least one.
            row: Names the image in errors.

        Raises:
            RemovalError: No mask, masks without a pixel, over the whole image, or above the limit.
        """
        flat = [np.asarray(mask, dtype=bool) for mask in masks]
        if not flat:
            raise RemovalError("nothing to remove: no mask", row=row)
        shapes = sorted({mask.shape for mask in flat})
        if len(shapes) > 1 or len(shapes[0]) != 2:
            raise DataError("masks of one image differ in size", row=row, expected="(H, W) each", found=shapes)
        united: Mask = np.logical_or.reduce(flat)
        share = float(united.mean()) if united.size else 0.0
        if share == 0.0:
            raise RemovalError("nothing to remove: the mask has no pixel", row=row)
        if share == 1.0:
            raise RemovalError("the mask covers the whole image: nothing is left to fill it from", row=row)
        if share > self.most:
            expected, found = f"at most {self.most:.0%} of the image", f"{share:.1%}"
            raise RemovalError("too large to remove", row=row, field="mask", expected=expected, found=found)
        hole = dilate(united, self.radius)
        if hole.all():
            problem = "the grown mask covers the whole image: nothing is left to fill it from"
            raise RemovalError(problem, row=row, field="mask", expected=f"a radius below {self.radius}")
        return hole


def instances(scene: Scene, category: str) -> tuple[str, ...]:
    """Ids of all objects of a class, in the scene's order: what I − c takes away."""
    return tuple(thing.id for thing in scene.objects if thing.category == category)


def masks_in(scene: Scene, view_id: str, object_ids: Sequence[str]) -> list[Mask]:
    """Visible masks of objects in a view, (H, W) bool each; none for an object that is not seen there.

    Raises:
        RemovalError: An object is stuff, or was seen without a mask.
    """
    view = scene.view(view_id)
    width, height = view.require_size()
    masks = []
    for seen in scene.seen_in(view_id):
        if seen.object_id not in object_ids:
            continue
        category = scene.object(seen.object_id).category
        if STUFF in seen.flags or category in view.stuff_classes:
            problem = f"{category} is stuff, which is not removed"
            raise RemovalError(problem, row=scene.id, field=f"object {seen.object_id}")
        if seen.visible_mask is None:
            raise RemovalError("object has no mask", row=scene.id, field=f"object {seen.object_id}")
        masks.append(decode(seen.visible_mask, height, width))
    return masks


def false_edit(hole: Mask, masks: Sequence[Mask]) -> Mask | None:
    """Flip a hole left to right, so that the same shape is filled elsewhere; None where it meets the object.

    Args:
        hole: (H, W), as `Removal.hole` made it.
        masks: Of the object that was to be removed; it must stay whole.
    """
    flipped: Mask = np.ascontiguousarray(hole[:, ::-1])
    return None if any((flipped & mask).any() for mask in masks) else flipped


def empty_region(hole: Mask, masks: Sequence[Mask], *, seed: int = 0) -> Mask | None:
    """Move a hole to where no object is, whole and inside the image; None where there is no such place.

    Every place of the hole's bounding box inside the image where none of its pixels meets a mask is equally likely;
    the draw depends on the hole, the masks and the seed alone.

    Args:
        hole: (H, W), as `Removal.hole` made it.
        masks: Of all objects of the image, of whatever class.
        seed: Another one gives another place.
    """
    rows, columns = np.flatnonzero(hole.any(axis=1)), np.flatnonzero(hole.any(axis=0))
    if not rows.size:
        return None
    shape = hole[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    taken = np.logical_or.reduce([hole, *masks])  # its own place is no other one
    meets = np.fft.irfft2(
        np.fft.rfft2(taken) * np.conj(np.fft.rfft2(shape, s=taken.shape)), s=taken.shape
    )  # pixels that meet a mask when the shape's corner is there; it wraps around, but not at the places looked at
    free = meets[: hole.shape[0] - shape.shape[0] + 1, : hole.shape[1] - shape.shape[1] + 1] < 0.5
    places = np.argwhere(free)
    if not len(places):
        return None
    digest = blake2b(np.packbits(hole).tobytes() + np.packbits(taken).tobytes(), digest_size=8).digest()
    generator = np.random.default_rng([seed, int.from_bytes(digest)])
    top, left = places[generator.integers(len(places))]
    moved = np.zeros_like(hole)
    moved[top : top + shape.shape[0], left : left + shape.shape[1]] = shape
    return moved
