"""What there is to show of one view, gathered once for every kind of sheet."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.report.contact.colours import Rgb, colour
from sightline.report.contact.outlines import Loop, outlines
from sightline.scenes import Object, Relation, Scene, Sighting, View

_TURNED: Final = {"occluded": "occludes", "farther": "closer"}
_SILENT: Final = frozenset({"none", "same", "unsure"})
_LISTED: Final = frozenset({"spatial", "depth"})
"""Aspects that hold of nearly every pair: arrows for them would hide the picture."""

_BLANK: Final = (600, 600)
_LOOKS: Final = ("size", "color", "material")


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """An object as it is drawn.

    Attributes:
        tag: A short name: its id, or its number where ids are long.
        words: What it is: ``small red metal cube``.
        box: xyxy in pixels; None where it is not seen.
        visible: Outline of what can be seen of it.
        amodal: Outline of the whole, hidden parts included.
        spot: Where to point at it, pixels; None where nothing tells.
        hidden: Hidden share, if known.
    """

    tag: str
    category: str
    words: str
    colour: Rgb
    box: tuple[float, float, float, float] | None = None
    visible: tuple[Loop, ...] = field(default=(), repr=False)
    amodal: tuple[Loop, ...] = field(default=(), repr=False)
    spot: tuple[float, float] | None = None
    hidden: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A relation to be drawn: places of subject and object among the things, and the predicate between them."""

    subject: int
    object: int
    predicate: str


@dataclass(frozen=True, slots=True, eq=False)
class Exhibit:
    """One view with everything on it.

    Attributes:
        size: (width, height) of the picture; of a blank where `sized` is False.
        sized: Whether the source told the size.
        image: HWC uint8, or None.
        depth: HW metres, or None.
        others: Relations that are not drawn: predicate → how many.
        notes: What went wrong with its pictures.
    """

    scene: str
    view: str
    split: str
    size: tuple[int, int]
    sized: bool
    things: tuple[Thing, ...]
    links: tuple[Link, ...]
    others: Mapping[str, int]
    image: NDArray[np.uint8] | None = field(default=None, repr=False)
    depth: NDArray[np.float32] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def has(self, layer: str) -> bool:
        """Whether there is anything for a layer to show."""
        return {
            "boxes": any(t.box for t in self.things),
            "masks": any(t.visible for t in self.things),
            "amodal": any(t.amodal for t in self.things),
            "depth": self.depth is not None,
            "relations": bool(self.links),
            "ids": any(t.spot for t in self.things),
            "none": True,
        }[layer]


def exhibit(scene: Scene, view: View, *, depth: bool = True) -> Exhibit:
    """Load a view's pixels and trace its masks. A picture that cannot be read is left out and told in the notes."""
    notes: list[str] = []
    image = _pixels(view.load_image, notes)
    far = _pixels(view.load_depth, notes) if depth else None
    size = view.size or (image is not None and (image.shape[1], image.shape[0])) or None
    ids = None if any(s.visible_mask for s in scene.seen_in(view.id)) else _pixels(view.load_ids, notes)
    shown = size or _BLANK
    seen = {s.object_id: s for s in scene.seen_in(view.id)}
    tags = _tags(scene)
    scale = shown if view.units == "normalised" else (1, 1)
    things = [
        _thing(i, thing, tags[thing.id], seen.get(thing.id), scale, size, None if ids is None else ids == i + 1)
        for i, thing in enumerate(scene.objects)
    ]
    links, others = _links(scene, view.id)
    return Exhibit(
        scene.id,
        view.id,
        scene.split,
        shown,
        size is not None,
        tuple(things),
        links,
        others,
        image,
        far,
        tuple(notes),
    )


def _pixels(load: Callable[[], Any] | None, notes: list[str]) -> Any:
    try:
        return None if load is None else load()
    except DataError as error:  # one lost picture must not cost the reader the sheet
        notes.append(str(error))
        return None


def _tags(scene: Scene) -> dict[str, str]:
    short = all(len(thing.id) <= 3 for thing in scene.objects)
    return {thing.id: thing.id if short else str(i + 1) for i, thing in enumerate(scene.objects)}


def _thing(
    number: int,
    thing: Object,
    tag: str,
    seen: Sighting | None,
    scale: tuple[int, int],
    size: tuple[int, int] | None,
    own: NDArray[np.bool_] | None,
) -> Thing:
    words = " ".join([*(thing.attributes[name] for name in _LOOKS if name in thing.attributes), thing.category])
    start = (tag, thing.category, words.replace("_", " "), colour(number))
    if seen is None:
        visible = own if own is not None and own.any() else None
        return Thing(
            *start, visible=_traced(visible), spot=_told_spot(thing) if visible is None else _middle(visible)
        )
    x0, y0, x1, y1 = (v * s for v, s in zip(seen.box, scale * 2, strict=True))
    visible = own if own is not None and seen.visible_mask is None else _decoded(seen.visible_mask, size)
    spot = _middle(visible) if visible is not None and visible.any() else ((x0 + x1) / 2, (y0 + y1) / 2)
    return Thing(
        *start,
        (x0, y0, x1, y1),
        _traced(visible),
        _traced(_decoded(seen.amodal_mask, size)),
        spot,
        seen.occluded_fraction,
    )


def _decoded(rle: bytes | None, size: tuple[int, int] | None) -> NDArray[np.bool_] | None:
    return None if rle is None or size is None else masks.decode(rle, size[1], size[0])


def _traced(mask: NDArray[np.bool_] | None) -> tuple[Loop, ...]:
    return () if mask is None else tuple(outlines(mask))


def _middle(mask: NDArray[np.bool_]) -> tuple[float, float]:
    """The pixel of a mask that is nearest to its centroid: on the object, even if that is a ring."""
    y, x = np.nonzero(mask)
    nearest = np.argmin((x - x.mean()) ** 2 + (y - y.mean()) ** 2)
    return float(x[nearest]) + 0.5, float(y[nearest]) + 0.5


def _told_spot(thing: Object) -> tuple[float, float] | None:
    """Where CLEVR says an object is."""
    try:
        x, y, _ = json.loads(thing.attributes["pixel_coords"])
    except (KeyError, ValueError, TypeError):
        return None
    return float(x), float(y)


def _links(scene: Scene, view: str) -> tuple[tuple[Link, ...], Mapping[str, int]]:
    """The relations to draw: containment, support, occlusion and whatever else is said of few pairs."""
    places = {thing.id: i for i, thing in enumerate(scene.objects)}
    here = [r for r in scene.relations if r.object_scene is None and r.view in (None, view) and r.predicate]
    drawn = [r for r in here if r.aspect not in _LISTED and not str(r.predicate).startswith("can_")]
    drawn = drawn or [r for r in here if r.aspect == "depth"]
    links = _distinct(_link(r, places) for r in drawn if r.predicate not in _SILENT)
    kept = set(map(id, drawn))
    rest = Counter(str(r.predicate) for r in here if id(r) not in kept)
    return links, dict(sorted(rest.items()))


def _link(r: Relation, places: Mapping[str, int]) -> Link:
    predicate = str(r.predicate)
    if predicate in _TURNED:
        return Link(places[r.object], places[r.subject], _TURNED[predicate])
    return Link(places[r.subject], places[r.object], predicate)


def _distinct(links: Iterable[Link]) -> tuple[Link, ...]:
    return tuple(dict.fromkeys(links))
