"""Items of the viewpoint exam: one picture with its objects, from any dataset whose sightings have viewpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.geometry.viewpoints import Flags, Floats, Turns
from sightline.scenes import Scene, Sighting, View, occlusion_ratio
from sightline.skills import BoxedObjects
from sightline.store import Dataset

MOST_TURNS: Final = 360
"""Turns that may look the same; what has more of them looks the same after any."""


@dataclass(frozen=True)
class ViewpointItem:
    """One picture: its objects with where each is seen from.

    Attributes:
        id: The scene's id, or where it has several views scene and view.
        scene_id: The scene.
        view: The picture, without truth; its id is the item's.
        objects: n ids.
        categories: n class names.
        boxes: (n, 4) xyxy, fractions of the image, or pixels where its size is not known.
        angles: (n, 3) azimuth, elevation, theta, degrees; NaN where nobody said.
        difficult: (n,) marked as hard to see, or wholly hidden.
        symmetry: (n,) see `Turns`.
        occlusion: (n,) share of its landmarks that something else hides; NaN without landmarks.
    """

    id: str
    scene_id: str
    view: View
    objects: tuple[str, ...]
    categories: tuple[str, ...]
    boxes: Floats
    angles: Floats
    difficult: Flags
    symmetry: Turns
    occlusion: Floats

    @property
    def cluster_id(self) -> str:
        """The scene: its views show the same objects."""
        return self.scene_id

    @cached_property
    def asked(self) -> NDArray[np.int64]:
        """Places of the objects whose viewpoint is known, which are asked about in given boxes."""
        return np.flatnonzero(np.isfinite(self.angles[:, 0]))

    def boxed(self) -> BoxedObjects:
        """What a model is shown that need not find the boxes."""
        rows = self.asked.tolist()
        categories, objects = (tuple(of[i] for i in rows) for of in (self.categories, self.objects))
        return BoxedObjects(self.scene_id, self.view, self.boxes[self.asked], categories, objects)


def viewpoint_items(data: Dataset, split: str | None) -> tuple[ViewpointItem, ...]:
    """Pictures of all scenes, in stored order; DataError where no object has a viewpoint.

    Only classes of which some object has a viewpoint take part.
    """
    made = [item for scene in data.scenes(split) for item in _items(scene)]
    classes = {name for item in made for name in np.array(item.categories, dtype=object)[item.asked]}
    if not classes:
        expected = "sightings with viewpoints, as imports of PASCAL3D+ and the worlds cad/… have them"
        raise DataError("no object has a viewpoint", file=data.path, expected=expected)
    return tuple(_only(item, classes) for item in made)


def _only(item: ViewpointItem, classes: set[str]) -> ViewpointItem:
    rows = [i for i, name in enumerate(item.categories) if name in classes]
    if len(rows) == len(item.categories):
        return item
    arrays: dict[str, Any] = {
        name: getattr(item, name)[rows] for name in ("boxes", "angles", "difficult", "symmetry", "occlusion")
    }
    objects, categories = (tuple(of[i] for i in rows) for of in (item.objects, item.categories))
    return replace(item, objects=objects, categories=categories, **arrays)


def _items(scene: Scene) -> Iterator[ViewpointItem]:
    things = {o.id: o for o in scene.objects}
    for view in scene.views:
        seen = scene.seen_in(view.id)
        item = scene.id if len(scene.views) == 1 else f"{scene.id}/{view.id}"
        attributes = [things[s.object_id].attributes for s in seen]
        yield ViewpointItem(
            item,
            scene.id,
            replace(view.without_truth(), id=item),
            tuple(s.object_id for s in seen),
            tuple(things[s.object_id].category for s in seen),
            _boxes(view, seen),
            np.array([_angles(s) for s in seen], dtype=np.float64).reshape(-1, 3),
            np.array([bool({"difficult", "hidden"} & s.flags) for s in seen], dtype=bool),
            np.array([_symmetry(given.get("symmetry", "1"), scene.id) for given in attributes], dtype=np.int64),
            np.array([occlusion_ratio(s.landmarks) for s in seen], dtype=np.float64),
        )


def _boxes(view: View, seen: Sequence[Sighting]) -> Floats:
    boxes = np.array([s.box for s in seen], dtype=np.float64).reshape(-1, 4)
    if view.units == "normalised" or view.size is None:
        return boxes
    return boxes / np.array([*view.size, *view.size], dtype=np.float64)


def _angles(seen: Sighting) -> tuple[float, float, float]:
    turn = seen.viewpoint
    return (np.nan, np.nan, np.nan) if turn is None else (turn.azimuth % 360.0, turn.elevation, turn.theta)


def _symmetry(given: str, scene_id: str) -> int:
    """Turns that look the same: a whole number, 0 for any turn."""
    if not given.isdecimal():
        expected = "a whole number, 0 for any turn"
        raise DataError("not a symmetry", row=scene_id, field="symmetry", expected=expected, found=given)
    digits = given.lstrip("0") or "0"
    return int(digits) if len(digits) <= len(str(MOST_TURNS)) and int(digits) <= MOST_TURNS else 0
