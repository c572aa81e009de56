"""The nouns as frozen dataclasses.

Conventions: boxes xyxy, float, half-open, origin top left, in pixels unless the view says
``units="normalised"`` (then in fractions of the image, and ``size`` may be unknown). World in metres,
right-handed, z up. Cameras OpenCV. Depth is planar z in metres; closer is smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.geometry.viewpoints import Viewpoint

Units = Literal["pixels", "normalised"]
Box = tuple[float, float, float, float]
Loader = Callable[[], NDArray[Any]]
STUFF = "stuff"
"""Flag of a sighting that is no thing, such as sky or road: it is never taken out of a picture."""

PART = "part"
"""Flag of a sighting that is part of another object, such as a car's wheel."""

LandmarkState = Literal["visible", "self_occluded", "occluded", "truncated", "unknown"]


@dataclass(frozen=True, slots=True)
class Camera:
    """An OpenCV camera (x right, y down, z forward).

    Attributes:
        k: Intrinsics, row-major 3×3, pixels.
        world_to_camera: ``[R | t]``, row-major 3×4, metres.
    """

    k: tuple[float, ...]
    world_to_camera: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class View:
    """One image of a scene. Pixels stay outside: `image`, `depth`, `ids`, `stuff`… call injected loaders.

    Attributes:
        id: Unique within the scene.
        image_ref: Where the picture is (``blob:<name>`` in the store, else a path), or None.
        size: (width, height) in pixels, or None where the source never told; no size is ever invented.
        units: Unit of the boxes seen in this view.
        camera: The camera, if known.
        stuff_classes: Names of what is no object, such as sky and road: class i of the stuff map is number i − 1.
    """

    id: str
    image_ref: str | None = None
    size: tuple[int, int] | None = None
    units: Units = "pixels"
    camera: Camera | None = None
    stuff_classes: tuple[str, ...] = ()
    load_image: Loader | None = field(default=None, compare=False, repr=False)
    load_depth: Loader | None = field(default=None, compare=False, repr=False)
    load_ids: Loader | None = field(default=None, compare=False, repr=False)
    load_amodal: Loader | None = field(default=None, compare=False, repr=False)
    load_normals: Loader | None = field(default=None, compare=False, repr=False)
    load_stuff: Loader | None = field(default=None, compare=False, repr=False)

    def image(self) -> NDArray[np.uint8]:
        """Pixels, HWC uint8 RGB."""
        return self._load(self.load_image, "an image")

    def depth(self) -> NDArray[np.float32]:
        """Planar depth in metres, HW float32; NaN where unknown."""
        return self._load(self.load_depth, "a depth map")

    def ids(self) -> NDArray[np.int32]:
        """Object ids, HW int32: 0 background, i + 1 for ``scene.objects[i]``."""
        return self._load(self.load_ids, "an id map")

    def amodal(self) -> NDArray[np.bool_]:
        """The whole of each of ``scene.objects``, hidden parts included, (n, H, W) bool; all False if outside."""
        return self._load(self.load_amodal, "amodal masks")

    def normals(self) -> NDArray[np.float32]:
        """Unit normals of what is seen, world axes, (H, W, 3) float32; 0 for the sky."""
        return self._load(self.load_normals, "a normal map")

    def stuff(self) -> NDArray[np.uint8]:
        """Classes of what is no object, HW uint8: 0 where an object is, i for ``stuff_classes[i - 1]``."""
        return self._load(self.load_stuff, "a stuff map")

    def require_size(self) -> tuple[int, int]:
        """(width, height) in pixels, or a DataError where the source never told.

        >>> View("v", size=(640, 480)).require_size()
        (640, 480)
        """
        if self.size is None:
            raise DataError("this needs the image size, which the source never told", row=self.id, field="size")
        return self.size

    def without_truth(self) -> View:
        """The view as a model may see it: the picture, but no depth map, no ids, no masks, no normals, no stuff."""
        bare = replace(self, load_depth=None, load_ids=None, load_amodal=None, load_normals=None)
        return replace(bare, stuff_classes=(), load_stuff=None)

    def _load(self, loader: Loader | None, what: str) -> NDArray[Any]:
        if loader is None:
            bare = what.removeprefix("an ").removeprefix("a ")
            raise DataError(f"view has no {bare}", row=self.id, expected=what)
        return loader()


@dataclass(frozen=True, slots=True)
class Object:
    """A thing in the scene.

    Attributes:
        id: Unique within the scene.
        category: The source's own class name or id (an Open Images MID stays a MID).
        attributes: Free key–value facts (colour, material…).
        pose: Object→world, row-major 4×4, metres; None if unknown.
        shape: Reference to a shape, if known.
    """

    id: str
    category: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    pose: tuple[float, ...] | None = None
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class Landmark:
    """A named point of an object in a view.

    Attributes:
        name: ``left_front_wheel``.
        x: Pixels; `y` likewise. None where the source gives no place, as PASCAL3D+ of what is not visible.
        state: ``self_occluded`` behind another part of the same object, which is decided first; ``occluded`` by
            another object; ``truncated`` outside the image; ``unknown`` where the object has no such point.
    """

    name: str
    x: float | None
    y: float | None
    state: LandmarkState = "visible"


def occlusion_ratio(landmarks: Sequence[Landmark]) -> float:
    """Share of an object's landmarks that another object or the edge of the picture hides; NaN without any.

    Unknown ones, which the object has not, do not count.

    >>> marks = [Landmark("a", 1, 1), Landmark("b", None, None, "occluded"), Landmark("c", None, None, "unknown")]
    >>> occlusion_ratio(marks)
    0.5
    """
    known = [mark for mark in landmarks if mark.state != "unknown"]
    hidden = sum(mark.state in ("occluded", "truncated") for mark in known)
    return hidden / len(known) if known else float("nan")


@dataclass(frozen=True, slots=True)
class Sighting:
    """An object as it appears in a view.

    Attributes:
        view_id: The view.
        object_id: The object.
        box: xyxy in the view's units.
        visible_mask: COCO compressed RLE of what can be seen, at the view's size; None if unknown.
        amodal_mask: The same for the whole object, hidden parts included.
        occluded_fraction: Hidden share of the amodal mask, in [0, 1].
        flags: `STUFF`, `PART` and facts of the source: ``group``, ``truncated``, ``occluded``, ``depiction``…
        landmarks: Named points.
        viewpoint: Where the camera stands, seen from the object, and the object in the picture (PASCAL3D+).
    """

    view_id: str
    object_id: str
    box: Box
    visible_mask: bytes | None = None
    amodal_mask: bytes | None = None
    occluded_fraction: float | None = None
    flags: frozenset[str] = frozenset()
    landmarks: tuple[Landmark, ...] = ()
    viewpoint: Viewpoint | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """subject –predicate→ object, possibly across two scenes.

    Attributes:
        subject: Object id in this scene.
        object: Object id in this scene, or in `object_scene`.
        aspect: What was asked: ``depth``, ``occlusion``, or a set of predicates such as ``vrd``.
        predicate: The answer in words; None where the raters found no majority.
        votes: The raters' raw answers, one word each; empty where the source keeps none.
        object_scene: Scene of `object` when it is another one.
        view: The view in which it holds, for facts of the camera's position such as ``closer`` where a scene has
            several views; None where it holds of the scene, or of its only view.
    """

    subject: str
    object: str
    aspect: str
    predicate: str | None
    votes: tuple[str, ...] = ()
    object_scene: str | None = None
    view: str | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """One physical situation: objects, relations, one or more views.

    Attributes:
        id: Unique in the dataset. Where ids of the source are local to a file, source and split are part of it.
        split: ``train``, ``validation``, ``test``… or empty.
        source: The set it came from, e.g. ``within_image``.
        category: The kind of scene it is, ``kitchen``, ``street``…; empty where nobody told.
    """

    id: str
    split: str = ""
    source: str = ""
    views: tuple[View, ...] = ()
    objects: tuple[Object, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    relations: tuple[Relation, ...] = ()
    category: str = ""
    load_without: Callable[[Sequence[str]], Scene] | None = field(default=None, compare=False, repr=False)

    def without(self, *object_ids: str, category: str | None = None) -> Scene:
        """The counterfactual: the same scene with objects taken away and everything else left where it is.

        The other objects keep their ids; in the views, ``ids()`` is i + 1 for ``objects[i]`` of the new scene.
        Only a scene that can be made again has one: a DataError where there is none.

        Args:
            *object_ids: Objects to take away.
            category: Take away all objects of this category as well.
        """
        if self.load_without is None:
            raise DataError("this scene was not generated here, so nothing can be taken out of it", row=self.id)
        if category is None and not object_ids:
            raise DataError("nothing named to take away", row=self.id, expected="ids of objects, or a category")
        known = {o.id: o.category for o in self.objects}
        for object_id in object_ids:
            if object_id not in known:
                there = f"a text: {', '.join(known)}" if not isinstance(object_id, str) else ", ".join(known)
                raise DataError("no such object", row=self.id, expected=there, found=object_id)
        if category is not None and category not in known.values():
            there = ", ".join(sorted(set(known.values())))
            raise DataError("no object of that category", row=self.id, expected=there, found=category)
        gone = [id_ for id_, its_category in known.items() if id_ in object_ids or its_category == category]
        return self.load_without(gone)

    def object(self, object_id: str) -> Object:
        """The object with that id; KeyError if there is none."""
        return {o.id: o for o in self.objects}[object_id]

    def view(self, view_id: str) -> View:
        """The view with that id; KeyError if there is none."""
        return {v.id: v for v in self.views}[view_id]

    def seen_in(self, view_id: str) -> tuple[Sighting, ...]:
        """The sightings of one view, in stored order."""
        return tuple(s for s in self.sightings if s.view_id == view_id)
