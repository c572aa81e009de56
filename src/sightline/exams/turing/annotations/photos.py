"""Which scenes show the same photo: what is learned from and what is asked about must not share one.

2.5VRD has entries of one photo within and across images, and in several splits, each a scene of its own; its image
ids are those of Open Images. Elsewhere a scene is its photo, and one of another dataset shows the same if it has
the same id and the same boxes.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from typing import NamedTuple

import polars as pl

from sightline.store import Dataset
from sightline.store.formats.vrd25 import SETTINGS

_BOX = ("x0", "y0", "x1", "y1")


class SharedPhotos(NamedTuple):
    """Photos of asked scenes that were learned from too, and scenes that only have the name of such a scene."""

    same: frozenset[str]
    named: frozenset[str]


def photo_ids(data: Dataset) -> dict[str, str]:
    """Scene id → id of the photo it shows."""
    views = data.scan("views").select("scene_id", "source", "split").unique("scene_id").collect()
    photos = {}
    for scene, source, split in views.iter_rows():
        photos[scene] = scene.removeprefix(f"{source}/{split}/") if source in SETTINGS else scene
    return photos


def shared_photos(
    asked: Dataset, scenes: Collection[str], learned: Dataset, training: Collection[str]
) -> SharedPhotos:
    """Photos that are both asked about and learned from.

    Args:
        asked: The data asked about.
        scenes: Its scenes that are.
        learned: The data learned from.
        training: Its scenes that are.
    """
    of_asked = photo_ids(asked)
    of_learned = of_asked if learned is asked else photo_ids(learned)
    both = {of_asked[scene] for scene in scenes} & {of_learned[scene] for scene in training}
    if asked.fingerprint == learned.fingerprint:
        return SharedPhotos(frozenset(both), frozenset())
    suspects = [scene for scene in scenes if of_asked[scene] in both]
    same = {of_asked[scene] for scene in suspects if of_asked[scene] != scene}
    boxes = [_boxes(data, [s for s in suspects if of_asked[s] == s]) for data in (asked, learned)]
    same |= {scene for scene, found in boxes[0].items() if boxes[1].get(scene) == found}
    return SharedPhotos(frozenset(same), frozenset(both - same))


def half_of(photo: str) -> int:
    """0 (to learn from) or 1 (to be asked about): the same for a photo for ever, and a fair coin over photos.

    >>> [half_of(f"image {i}") for i in range(8)]
    [0, 1, 1, 1, 1, 1, 1, 1]
    """
    return blake2b(photo.encode(), digest_size=1).digest()[0] & 1


def _boxes(data: Dataset, scenes: Collection[str]) -> dict[str, list[tuple[float, ...]]]:
    """Boxes of all sightings of each scene, sorted."""
    if not scenes:
        return {}
    rows = data.scan("sightings").filter(pl.col("scene_id").is_in(list(scenes))).select("scene_id", *_BOX).collect()
    found: dict[str, list[tuple[float, ...]]] = {}
    for scene, *box in rows.iter_rows():
        found.setdefault(scene, []).append(tuple(box))
    return {scene: sorted(boxes) for scene, boxes in found.items()}
