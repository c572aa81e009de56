"""One image and everything that can be drawn on it: `ImageFrame`, made from a scene and one of its views."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import PictureError
from sightline.geometry import masks
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.scenes.types import Loader
from sightline.show.outlines import Loop, outlines
from sightline.store.blobs import PixelLoader
from sightline.store.encodings import reduction

Point = tuple[float, float]
Box = tuple[float, float, float, float]

_COLOURS = "ff635c 40a9ff ffc42e 40ce91 c581ff ff8c42 2ed6d6 ff80bc a6d640 8e9cff e0b08a bec8d2"
PALETTE: Final = tuple(f"#{colour}" for colour in _COLOURS.split())
"""Of objects: far apart on grey ground, all light enough for dark ink on them; after twelve they come again."""

_STUFF_COLOURS = "7cc4ee 7fb45a d8b98a 8d84b5 c46f63 5fae9f d9cf6e a97fa0 8c98a4"
STUFF: Final = tuple(f"#{colour}" for colour in _STUFF_COLOURS.split())
"""Of ground, walls and sky, by class: duller than those of objects."""

ARROWS: Final = {
    "contains": "#ffc42e",
    "supports": "#40ce91",
    "occludes": "#ff635c",
    "mutual": "#ff635c",
    "closer": "#40a9ff",
}
"""Predicate → colour of its arrow."""

_OTHER_ARROW: Final = "#c581ff"
_TURNED: Final = {"occluded": "occludes", "farther": "closer"}
_SILENT: Final = frozenset({"none", "same", "unsure"})
_LISTED: Final = frozenset({"spatial", "depth"})
"""Aspects that hold of nearly every pair: arrows for them would hide the picture."""

_SQUARE: Final = (600.0, 600.0)
_RIM: Final = 1.04
_FLATTEST: Final = 4.0
"""Width over height, or height over width, of a canvas nobody told the size of."""
_ATTRIBUTES: Final = ("size", "color", "material")


@dataclass(frozen=True, slots=True, eq=False)
class DrawnObject:
    """An object as it is drawn.

    Attributes:
        id: In its scene.
        tag: A short name: its id, or its number where ids are long.
        words: What it is: ``small red metal cube``.
        colour: ``#rrggbb``.
        box: xyxy in the frame's units; None where it is not seen.
        visible: Outline of what can be seen of it.
        amodal: Outline of the whole, hidden parts included.
        spot: Where to point at it; None where nothing tells.
        hidden: Hidden share, if known.
        flags: What the source tells of it in this view: ``crowd``, ``truncated``…
    """

    id: str
    tag: str
    category: str
    words: str
    colour: str = PALETTE[0]
    box: Box | None = None
    visible: tuple[Loop, ...] = field(default=(), repr=False)
    amodal: tuple[Loop, ...] = field(default=(), repr=False)
    spot: Point | None = None
    hidden: float | None = None
    flags: frozenset[str] = frozenset()


class StuffRegion(NamedTuple):
    """All that one class of ground, wall or sky covers of a view: its name, colour and outline."""

    category: str
    colour: str
    outline: tuple[Loop, ...]


class Area(NamedTuple):
    """A mask, (H, W) bool, of which every pixel stands for `step` × `step` pixels of the picture."""

    mask: NDArray[np.bool_]
    step: int = 1


@dataclass(frozen=True, slots=True)
class Arrow:
    """A relation to be drawn: places of subject and object among the frame's objects, and the predicate."""

    subject: int
    object: int
    predicate: str

    @property
    def colour(self) -> str:
        """Of its predicate."""
        return ARROWS.get(self.predicate, _OTHER_ARROW)


@dataclass(frozen=True, slots=True, eq=False)
class ImageFrame:
    """One image with everything on it.

    Attributes:
        size: (width, height) of the picture; where nobody told it, the extent of its boxes with a rim, or a square
            where these are fractions of the image.
        sized: Whether the source told the size.
        fractions: Whether boxes were given in fractions of the image, so that their shares of it are known.
        image: HWC uint8, or None; of a very large picture fewer pixels than `size` says.
        depth: HW metres, or None; likewise.
        stuff: Ground, walls and sky that can be seen, in the order of their classes; where they were asked for.
        arrows: Relations to draw.
        others: Relations that are not drawn: predicate → how many.
        notes: What went wrong with its pictures.
    """

    scene: str
    view: str
    size: Point
    objects: tuple[DrawnObject, ...]
    sized: bool = True
    image: NDArray[np.uint8] | None = field(default=None, repr=False)
    depth: NDArray[np.float32] | None = field(default=None, repr=False)
    arrows: tuple[Arrow, ...] = ()
    others: Mapping[str, int] = field(default_factory=dict)
    split: str = ""
    notes: tuple[str, ...] = ()
    fractions: bool = False
    stuff: tuple[StuffRegion, ...] = field(default=(), repr=False)

    def has(self, layer: str) -> bool:
        """Whether there is anything for a layer to show."""
        return {
            "boxes": any(o.box for o in self.objects),
            "masks": any(o.visible for o in self.objects),
            "amodal": any(o.amodal for o in self.objects),
            "depth": self.depth is not None,
            "stuff": bool(self.stuff),
            "relations": bool(self.arrows),
            "ids": any(o.spot for o in self.objects),
            "none": True,
        }[layer]

    def find(self, object_id: str | None) -> DrawnObject | None:
        """The object of that id, if there is one."""
        return next((o for o in self.objects if o.id == object_id), None)

    def place(self, region: Box) -> Box:
        """A region, given in fractions of the image, in the frame's units."""
        x0, y0, x1, y1 = (v * s for v, s in zip(region, self.size * 2, strict=True))
        return x0, y0, x1, y1

    def scaled(self, scale: float, left: float = 0.0, top: float = 0.0) -> ImageFrame:
        """The frame in a drawing's units, its top left corner moved to (left, top)."""
        corner = (left, top)
        return replace(
            self,
            size=(self.size[0] * scale, self.size[1] * scale),
            objects=tuple(_scaled(o, scale, corner) for o in self.objects),
            stuff=tuple(r._replace(outline=_moved(r.outline, scale, corner)) for r in self.stuff),
        )


def _scaled(o: DrawnObject, scale: float, corner: Point) -> DrawnObject:
    left, top = corner
    x0, y0, x1, y1 = o.box or (0.0, 0.0, 0.0, 0.0)
    return replace(
        o,
        box=o.box and (left + x0 * scale, top + y0 * scale, left + x1 * scale, top + y1 * scale),
        visible=_moved(o.visible, scale, corner),
        amodal=_moved(o.amodal, scale, corner),
        spot=o.spot and (left + o.spot[0] * scale, top + o.spot[1] * scale),
    )


def _moved(loops: Sequence[Loop], scale: float, corner: Point) -> tuple[Loop, ...]:
    return tuple(loop * scale + corner for loop in loops)


def frame_of_boxes(
    boxes: Sequence[Box],
    names: Sequence[str],
    size: tuple[int, int] | None = None,
    image: NDArray[np.uint8] | None = None,
    *,
    scene: str = "",
) -> ImageFrame:
    """Make a frame of boxes in fractions of the image, xyxy, with a name each; square without a size.

    >>> frame_of_boxes([(0, 0, 0.5, 1)], ["cup"], (200, 100)).objects[0].box
    (0.0, 0.0, 100.0, 100.0)
    """
    shown = _SQUARE if size is None else (float(size[0]), float(size[1]))
    bare = ImageFrame(scene, "", shown, (), size is not None, image)
    objects = (
        DrawnObject(str(i), str(i + 1), name, name, _colour(i), bare.place(box))
        for i, (box, name) in enumerate(zip(boxes, names, strict=True))
    )
    return replace(bare, objects=tuple(objects))


def frame_of(
    scene: Scene, view: View | str | None = None, *, depth: bool = False, stuff: bool = False
) -> ImageFrame:
    """Load a view's pixels and trace its masks; a picture that cannot be read is left out and told in the notes.

    Args:
        scene: The scene with its sightings.
        view: One of its views or the id of one; by default the first.
        depth: Whether to load the depth map too.
        stuff: Whether to trace the regions of its stuff map too.
    """
    view = scene.view(view) if isinstance(view, str) else view or scene.views[0]
    notes: list[str] = []
    image, full = _pixels(view.load_image, notes)
    metres, _ = _pixels(view.load_depth, notes) if depth else (None, None)
    sightings = scene.seen_in(view.id)
    size = view.size or full
    regions, drawn_in = _pixels(view.load_stuff, notes) if stuff else (None, None)
    ids, mapped = (None, None) if any(s.visible_mask for s in sightings) else _pixels(view.load_ids, notes)
    shown = _extent(view, sightings) if size is None else (float(size[0]), float(size[1]))
    seen = {s.object_id: s for s in sightings}
    short = all(len(o.id) <= 3 for o in scene.objects)
    objects = []
    for i, o in enumerate(scene.objects):
        sighting = seen.get(o.id)
        known = None if ids is None or mapped is None else Area(ids == i + 1, -(-mapped[0] // ids.shape[1]))
        drawn = DrawnObject(o.id, o.id if short else str(i + 1), o.category, words(o), _colour(i))
        objects.append(_seen(drawn, sighting, shown if view.units == "normalised" else (1, 1), size, known, o))
    arrows, others = _arrows(scene, view.id)
    return ImageFrame(
        scene.id,
        view.id,
        shown,
        tuple(objects),
        size is not None,
        image,
        metres,
        arrows,
        others,
        scene.split,
        tuple(notes),
        view.units == "normalised",
        () if regions is None or drawn_in is None else _regions(regions, drawn_in, view.stuff_classes),
    )


def _regions(stuff: NDArray[Any], size: tuple[int, int], classes: Sequence[str]) -> tuple[StuffRegion, ...]:
    step = -(-size[0] // stuff.shape[1])
    return tuple(
        StuffRegion(name, STUFF[i % len(STUFF)], _traced(Area(stuff == i + 1, step)))
        for i, name in enumerate(classes)
        if (stuff == i + 1).any()
    )


def has_layer(scene: Scene, view: View, layer: str) -> bool:
    """Whether a view has anything for a layer of `ImageFrame.has` to show, told without loading a pixel."""
    sightings = scene.seen_in(view.id)
    return {
        "boxes": bool(sightings),
        "masks": any(s.visible_mask for s in sightings) or view.load_ids is not None,
        "amodal": any(s.amodal_mask for s in sightings),
        "depth": view.load_depth is not None,
        "stuff": view.load_stuff is not None,
        "relations": bool(_arrows(scene, view.id)[0]),
    }[layer]


def words(o: Object) -> str:
    """What an object is: ``small red metal cube``."""
    return " ".join([*(o.attributes[k] for k in _ATTRIBUTES if k in o.attributes), o.category]).replace("_", " ")


def _colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def _pixels(load: Loader | None, notes: list[str]) -> tuple[Any, tuple[int, int] | None]:
    """Pixels, fewer where there are very many, and the (width, height) they stand for."""
    try:
        if isinstance(load, PixelLoader):
            return load.reduced()
        pixels = None if load is None else load()
    except PictureError as error:  # one lost picture must not cost the reader the sheet
        notes.append(str(error))
        return None, None
    return pixels, None if pixels is None else (pixels.shape[1], pixels.shape[0])


def _extent(view: View, sightings: Sequence[Sighting]) -> Point:
    """How far the boxes reach, with a rim; boxes in fractions of the image reach over all of it."""
    if view.units == "normalised" or not sightings:
        return _SQUARE
    reach = [_RIM * max(s.box[k] for s in sightings) for k in (2, 3)]
    least = max(*reach, _FLATTEST) / _FLATTEST
    return max(reach[0], least), max(reach[1], least)


def _seen(
    drawn: DrawnObject,
    sighting: Sighting | None,
    scale: Point,
    size: tuple[int, int] | None,
    from_ids: Area | None,
    thing: Object,
) -> DrawnObject:
    """The object with what its sighting, or else the view's id map, tells of where it is."""
    if sighting is None:
        visible = from_ids if from_ids is not None and from_ids.mask.any() else None
        spot = _told_spot(thing) if visible is None else _middle(visible)
        return replace(drawn, visible=_traced(visible), spot=spot)
    x0, y0, x1, y1 = (v * s for v, s in zip(sighting.box, scale * 2, strict=True))
    visible = from_ids if sighting.visible_mask is None else _decoded(sighting.visible_mask, size)
    return replace(
        drawn,
        box=(x0, y0, x1, y1),
        visible=_traced(visible),
        amodal=_traced(_decoded(sighting.amodal_mask, size)),
        spot=_middle(visible) if visible is not None and visible.mask.any() else ((x0 + x1) / 2, (y0 + y1) / 2),
        hidden=sighting.occluded_fraction,
        flags=sighting.flags,
    )


def _decoded(rle: bytes | None, size: tuple[int, int] | None) -> Area | None:
    if rle is None or size is None:
        return None
    step = reduction(size)
    return Area(masks.decode(rle, size[1], size[0], step=step), step)


def _traced(area: Area | None) -> tuple[Loop, ...]:
    return () if area is None else tuple(loop * area.step for loop in outlines(area.mask))


def _middle(area: Area) -> Point:
    """The pixel of a mask that is nearest to its centroid: on the object, even if that is a ring."""
    y, x = np.divmod(np.flatnonzero(area.mask), area.mask.shape[1])
    nearest = np.argmin((x - x.mean()) ** 2 + (y - y.mean()) ** 2)
    return (float(x[nearest]) + 0.5) * area.step, (float(y[nearest]) + 0.5) * area.step


def _told_spot(thing: Object) -> Point | None:
    """Where CLEVR says an object is."""
    try:
        x, y, _ = json.loads(thing.attributes["pixel_coords"])
    except (KeyError, ValueError, TypeError):
        return None
    return float(x), float(y)


def _arrows(scene: Scene, view: str) -> tuple[tuple[Arrow, ...], Mapping[str, int]]:
    """The relations to draw: containment, support, occlusion and whatever else is said of few pairs."""
    places = {o.id: i for i, o in enumerate(scene.objects)}
    held = [r for r in scene.relations if r.object_scene is None and r.view in (None, view) and r.predicate]
    drawn = [r for r in held if r.aspect not in _LISTED and not str(r.predicate).startswith("can_")]
    drawn = drawn or [r for r in held if r.aspect == "depth"]
    arrows = dict.fromkeys(_arrow(r, places) for r in drawn if r.predicate not in _SILENT)
    shown = set(map(id, drawn))
    rest = Counter(str(r.predicate) for r in held if id(r) not in shown)
    return tuple(arrows), dict(sorted(rest.items()))


def _arrow(r: Relation, places: Mapping[str, int]) -> Arrow:
    predicate = str(r.predicate)
    if predicate in _TURNED:
        return Arrow(places[r.object], places[r.subject], _TURNED[predicate])
    return Arrow(places[r.subject], places[r.object], predicate)
