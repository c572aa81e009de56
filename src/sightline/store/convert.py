"""Scenes to tables and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.geometry.masks import decode
from sightline.scenes import STUFF, Camera, Landmark, Object, Relation, Scene, Sighting, View, Viewpoint
from sightline.store.blobs import Blobs
from sightline.store.encodings import Kind
from sightline.store.schema import SCHEMAS
from sightline.store.tables import Tables

_BLOCK = 64  # scenes turned into Python values at a time; more are slower, for the garbage collector walks them all

Row = tuple[Any, ...]


def tables_from_scenes(scenes: Iterable[Scene], *, blobs: Blobs | None = None) -> Tables:
    """The scenes as tables, in the order given.

    Args:
        scenes: Each with at least one view (split and source are kept there) and an id of its own.
        blobs: Where pixels go that a view holds only as a loader without a reference.
    """
    rows: dict[str, list[Row]] = {name: [] for name in SCHEMAS}
    seen: set[str] = set()
    for scene in scenes:
        if scene.id in seen:
            raise DataError("scene id stands twice", field="scene_id", found=scene.id)
        if not scene.views:
            raise DataError("scene has no view", row=scene.id)
        seen.add(scene.id)
        rows["views"] += [_view_row(scene, v, blobs) for v in scene.views]
        rows["objects"] += [_object_row(scene.id, o) for o in scene.objects]
        rows["sightings"] += [_sighting_row(scene.id, s) for s in scene.sightings]
        rows["relations"] += [
            (scene.id, r.subject, r.object, r.object_scene, r.aspect, r.predicate, list(r.votes), r.view)
            for r in scene.relations
        ]
    return Tables(**{n: pl.DataFrame(r, schema=SCHEMAS[n], orient="row") for n, r in rows.items()})


def tables_in_parts(scenes: Iterable[Scene], size: int, *, blobs: Blobs | None = None) -> Iterator[Tables]:
    """The scenes as tables, `size` scenes at a time; see `tables_from_scenes`."""
    rest = iter(scenes)
    while part := list(islice(rest, size)):
        yield tables_from_scenes(part, blobs=blobs)


def _view_row(scene: Scene, view: View, blobs: Blobs | None) -> Row:
    camera = view.camera and {"k": list(view.camera.k), "world_to_camera": list(view.camera.world_to_camera)}
    stuff = _reference(scene, "stuff", view.load_stuff, blobs)
    return (
        scene.id,
        scene.split,
        scene.source,
        view.id,
        view.image_ref or _reference(scene, "image", view.load_image, blobs),
        *(view.size or (None, None)),
        view.units,
        _dump(scene.id, "camera", camera),
        _reference(scene, "depth", view.load_depth, blobs),
        _reference(scene, "ids", view.load_ids, blobs),
        stuff,
        None if stuff is None else list(view.stuff_classes),
        scene.category or None,
    )


def _reference(scene: Scene, kind: Kind, loader: Callable[[], Any] | None, blobs: Blobs | None) -> str | None:
    """Where the pixels of a view lie; a loader whose `ref` is None makes them anew, and nothing is kept."""
    if loader is None:
        return None
    if hasattr(loader, "ref"):
        ref: str | None = loader.ref
        return ref
    if blobs is None:
        raise ConfigError(f"scene {scene.id} holds its {kind} only in memory: give blobs to keep it in")
    return blobs.put_array(kind, loader())


def _object_row(scene_id: str, thing: Object) -> Row:
    attributes = _dump(scene_id, "attributes", dict(thing.attributes) or None)
    return scene_id, thing.id, thing.category, attributes, thing.pose and list(thing.pose), thing.shape


def _sighting_row(scene_id: str, seen: Sighting) -> Row:
    landmarks = [asdict(point) for point in seen.landmarks]
    return (
        scene_id,
        seen.view_id,
        seen.object_id,
        *seen.box,
        seen.visible_mask,
        seen.amodal_mask,
        seen.occluded_fraction,
        sorted(seen.flags),
        _dump(scene_id, "landmarks", landmarks or None),
        _dump(scene_id, "viewpoint", seen.viewpoint and asdict(seen.viewpoint)),
    )


def _dump(scene_id: str, field: str, value: object) -> str | None:
    if value is None:
        return None
    try:
        # One spelling for one value, so that equal scenes have equal fingerprints.
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"cannot be written as JSON: {error}", row=scene_id, field=field) from error


def scenes_from_tables(tables: Tables, *, blobs: Blobs | None = None) -> Iterator[Scene]:
    """The scenes of some tables, lazily, by scene id; within a scene in stored order.

    Args:
        tables: In any order; rows of a scene that has no view are an error.
        blobs: Where references lead; by default paths are taken from the working folder.
    """
    tables = by_scene(tables)
    ids = tables.views["scene_id"].unique(maintain_order=True)
    places = {name: _places(name, frame, ids) for name, frame in tables.frames()}
    where = Blobs(Path(), allow_outside=True) if blobs is None else blobs
    for start in range(0, len(ids), _BLOCK):
        block = range(start, min(start + _BLOCK, len(ids)))
        runs = {name: _runs(tables.frame(name), places[name], block) for name in SCHEMAS}
        for k, index in enumerate(block):
            yield _scene(ids[index], {name: run[k] for name, run in runs.items()}, where)


def scene_count(tables: Tables) -> int:
    """How many scenes.

    >>> scene_count(Tables.build())
    0
    """
    return tables.views["scene_id"].n_unique()


def by_scene(tables: Tables) -> Tables:
    """The tables sorted by scene; looking whether they are already is far cheaper than sorting."""
    return tables if all(f["scene_id"].is_sorted() for _, f in tables.frames()) else tables.sorted()


def _places(name: str, frame: pl.DataFrame, ids: pl.Series) -> list[int]:
    """Row at which each scene begins, and the end; the frame is sorted by scene."""
    orphans = frame.filter(~pl.col("scene_id").is_in(ids.implode()).fill_null(value=False))
    if orphans.height:
        raise DataError("rows of a scene that has no view", field=f"{name}.scene_id", found=orphans["scene_id"][0])
    return [*frame["scene_id"].search_sorted(ids, side="left").to_list(), frame.height]


def _runs(frame: pl.DataFrame, places: list[int], block: range) -> list[list[Row]]:
    first = places[block.start]
    columns = frame.slice(first, places[block.stop] - first).get_columns()[1:]  # the scene is known
    rows = list(zip(*(c.to_list() for c in columns), strict=True))
    return [rows[places[i] - first : places[i + 1] - first] for i in block]


def _scene(scene_id: str, rows: dict[str, list[Row]], blobs: Blobs) -> Scene:
    try:
        split, source, *_, category = rows["views"][0]
        objects = tuple(_object(row) for row in rows["objects"])
        sightings = tuple(_sighting(row) for row in rows["sightings"])
        return Scene(
            id=scene_id,
            split=split,
            source=source,
            views=tuple(_view(scene_id, row, blobs, objects, sightings) for row in rows["views"]),
            objects=objects,
            sightings=sightings,
            relations=tuple(
                Relation(subject, thing, aspect, predicate, tuple(votes), object_scene, view)
                for subject, thing, object_scene, aspect, predicate, votes, view in rows["relations"]
            ),
            category=category or "",
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(f"scene cannot be made from its rows: {error!r}", row=scene_id) from error


def _view(
    scene_id: str, row: Row, blobs: Blobs, objects: tuple[Object, ...], sightings: tuple[Sighting, ...]
) -> View:
    _, _, view_id, image, width, height, units, camera, depth, ids, stuff, classes, _ = row
    matrices = camera and json.loads(camera)
    seen = [s for s in sightings if s.view_id == view_id]
    name = f"{scene_id}, view {view_id}"
    size = None if width is None or height is None else (width, height)
    load_stuff: Callable[[], NDArray[Any]] | None = blobs.loader("stuff", stuff, name)
    if load_stuff is None and size is not None and (drawn := _flagged(seen, objects)):
        classes, load_stuff = list(drawn), StuffLoader(tuple(drawn.values()), size)
    return View(
        id=view_id,
        image_ref=image,
        size=size,
        units=units,
        camera=matrices and Camera(tuple(matrices["k"]), tuple(matrices["world_to_camera"])),
        load_image=blobs.loader("image", image, name),
        load_depth=blobs.loader("depth", depth, name),
        load_ids=blobs.loader("ids", ids, name),
        stuff_classes=tuple(classes or ()),
        load_stuff=load_stuff,
        load_amodal=_amodal(seen, size, objects, rendered=ids is not None),
    )


def _flagged(seen: Sequence[Sighting], objects: Sequence[Object]) -> dict[str, tuple[bytes, ...]]:
    """Class → masks of what is flagged as stuff; empty where there is none, or more classes than a map holds."""
    categories = {thing.id: thing.category for thing in objects}
    drawn: dict[str, tuple[bytes, ...]] = {}
    for one in seen:
        if STUFF in one.flags and one.visible_mask is not None:
            category = categories[one.object_id]
            drawn[category] = (*drawn.get(category, ()), one.visible_mask)
    return drawn if len(drawn) <= np.iinfo(np.uint8).max else {}


@dataclass(frozen=True, slots=True)
class StuffLoader:
    """What a View calls for its stuff map where stuff came as masks: those of each class, in the classes' order."""

    masks: tuple[tuple[bytes, ...], ...]
    size: tuple[int, int]
    ref: None = None
    """Nothing is kept: the map is made of the sightings' masks."""

    def __call__(self) -> NDArray[np.uint8]:
        """(H, W) uint8: 0 where there is an object or nothing is known, else the number of the class."""
        width, height = self.size
        stuff = np.zeros((height, width), dtype=np.uint8)
        for number, several in enumerate(self.masks, 1):
            for rle in several:
                stuff[decode(rle, height, width)] = number
        return stuff


def _amodal(
    seen: Sequence[Sighting], size: tuple[int, int] | None, objects: tuple[Object, ...], *, rendered: bool
) -> AmodalLoader | None:
    """A loader where the masks are known; a rendered view in which nothing is seen has them, all empty."""
    masks = {s.object_id: s.amodal_mask for s in seen if s.amodal_mask is not None}
    if size is None or not (masks or (rendered and not seen)):
        return None
    return AmodalLoader(tuple(masks.get(o.id) for o in objects), size)


@dataclass(frozen=True, slots=True)
class AmodalLoader:
    """What a View calls for its amodal masks: run lengths by object, None where it is outside the image."""

    masks: tuple[bytes | None, ...]
    size: tuple[int, int]

    def __call__(self) -> NDArray[np.bool_]:
        """(n, H, W) bool."""
        width, height = self.size
        amodal = np.zeros((len(self.masks), height, width), dtype=bool)
        for mask, rle in zip(amodal, self.masks, strict=True):
            if rle is not None:
                mask[:] = decode(rle, height, width)
        return amodal


def _object(row: Row) -> Object:
    object_id, category, attributes, pose, shape = row
    facts = json.loads(attributes) if attributes else {}
    return Object(object_id, category, facts, None if pose is None else tuple(pose), shape)


def _sighting(row: Row) -> Sighting:
    view_id, object_id, x0, y0, x1, y1, visible, amodal, hidden, flags, landmarks, viewpoint = row
    points = landmarks_from(landmarks) if landmarks else ()
    turn, box = viewpoint_from(viewpoint) if viewpoint else None, (x0, y0, x1, y1)
    return Sighting(view_id, object_id, box, visible, amodal, hidden, frozenset(flags), points, turn)


def landmarks_from(text: str) -> tuple[Landmark, ...]:
    """Read the landmarks of a sighting from their JSON; TypeError or ValueError where it is none."""
    return tuple(Landmark(**point) for point in json.loads(text))


def viewpoint_from(text: str) -> Viewpoint:
    """Read the viewpoint of a sighting from its JSON; TypeError or ValueError where it is none.

    >>> viewpoint_from('{"azimuth": 30, "elevation": 5, "principal": [4.0, 5.0]}').principal
    (4.0, 5.0)
    """
    fields = json.loads(text)
    pairs = {name: tuple(fields[name]) for name in ("principal", "coarse") if fields.get(name) is not None}
    return Viewpoint(**{**fields, **pairs})
