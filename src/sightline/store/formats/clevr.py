"""CLEVR's scenes.json, both ways, with containment, support and possibility beside CLEVR's four relations.

A file has ``info`` and ``scenes``. A scene has ``image_index``, ``image_filename``, ``split``, ``objects``,
``relationships`` and maybe ``directions``. An object has ``shape``, ``size``, ``color``, ``material``,
``3d_coords`` (its centre, metres), ``rotation`` (degrees about z) and ``pixel_coords`` (x, y of its centre in the
first view, and its depth).

Every list in ``relationships`` has one list of object indices per object. CLEVR's own four point *at* the object:
``left[i]`` are the objects that are left of object i, and so for ``right``, ``front`` and ``behind``. The other
four point *from* it: ``contains[i]`` are the objects that i contains, and so for ``supports``, ``can_contain`` and
``can_support``. In our tables ``j in left[i]`` is j –left→ i (aspect ``spatial``), ``j in contains[i]`` is
i –contains→ j (aspect ``geometry``).

What CLEVR has no place for (ids, views with cameras, sightings, poses, other relations) stands under the key
``sightline`` of a scene. A file without it, such as CLEVR's own, gives scenes ``<split>/<image_index>`` with the
one view ``0`` of unknown size, objects ``0``, ``1``… whose pose has its origin in the centre, and no sightings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Camera, Object, Relation, Scene, Sighting, View, validate
from sightline.scenes.labels import PREDICATES, SPATIAL
from sightline.store.convert import landmarks_from, tables_in_parts, viewpoint_from
from sightline.store.formats.clevr_write import ASPECTS, EXTENSION, LOOKS, height_of, middle, own_attributes, write
from sightline.store.formats.jsonio import JsonEntry, dump, is_text, load, names_keys, object_entry, pose_texts
from sightline.store.formats.photos import find_photos
from sightline.store.pictures import picture_size
from sightline.store.schema import UNITS
from sightline.store.tables import Tables

__all__ = ["detect", "read", "write"]

_SCENES_A_PART: Final = 1000
_TOLERANCE: Final = 1e-3  # metres between 3d_coords and the pose under the extension


def detect(path: Path) -> bool:
    """Whether the path is a JSON file that names scenes near one of its ends, or a folder with such files."""
    try:
        return all(names_keys(file, "scenes", lists=True) for file in _files(Path(path)))
    except (DataError, OSError):
        return False


def read(path: Path, *, images: Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read scenes, a thousand at a time.

    Args:
        path: The JSON file, or a folder with ``*scenes.json`` files in it or in its folder ``scenes``.
        images: Folder of the pictures, looked up by file name in it and in its direct subfolders; each must be
            there. Their sizes are taken where the file tells none. Without `images` there are no pictures.
        split: Name of the split where a file tells none.

    Raises:
        DataError: Naming file, scene (``scene 17``, counted from 0), key, what was expected and what stood there.
    """
    photos = None if images is None else find_photos(images)
    known: set[str] = set()
    for file in _files(Path(path)):
        yield from tables_in_parts(_scenes(file, split, photos, known), _SCENES_A_PART)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*scenes.json")) or sorted((path / "scenes").glob("*scenes.json"))
    if not files:
        raise DataError("folder has no CLEVR scenes", file=path, expected="*scenes.json or scenes/*scenes.json")
    return files


def _scenes(file: Path, split: str, photos: Mapping[str, str] | None, known: set[str]) -> Iterator[Scene]:
    content = load(file, ("scenes",), "CLEVR scenes")
    info = content.get("info")
    named = JsonEntry(file, "info", info if isinstance(info, dict) else {}).text("split", default="")
    for i, values in enumerate(content["scenes"]):
        entry = object_entry(values, file, f"scene {i}", "scenes")
        scene = _scene(entry, named or split, photos)
        if scene.id in known:
            raise entry.error("scene stands twice", "image_index", "a scene of its own", scene.id)
        known.add(scene.id)
        try:
            yield validate(scene, file=str(file))
        except DataError as error:
            raise entry.error(error.problem, error.field or EXTENSION, error.expected, error.found) from None


@dataclass(frozen=True, slots=True)
class _EntryPart(JsonEntry):
    """A part of a scene's entry: a missing key is null, and the way to a key stands in the error's field."""

    way: str

    def error(self, problem: str, field: str, expected: object = None, found: object = None) -> DataError:
        return JsonEntry.error(self, problem, f"{self.way}.{field}", expected, found)

    def get(self, key: str) -> Any:
        return self.values.get(key)

    def optional(self, key: str) -> str | None:
        return None if self.get(key) is None else self.text(key)

    def vector(self, key: str, count: int) -> tuple[float, ...]:
        """So many numbers."""
        value = self.get(key)
        if not isinstance(value, list) or len(value) != count:
            raise self.error("not a list of numbers", key, f"{count} numbers", value)
        return tuple(self.numbers(value, key))


def _parts(entry: JsonEntry, values: Mapping[str, Any], key: str, way: str) -> list[_EntryPart]:
    """The objects of a list, which may be missing."""
    given = values.get(key, [])
    if not isinstance(given, list):
        raise entry.error("not a list", way, "a list", given)
    for i, value in enumerate(given):
        if not isinstance(value, dict):
            raise entry.error("entry is not an object", f"{way}[{i}]", "a JSON object", value)
    return [_EntryPart(entry.file, entry.row, value, f"{way}[{i}]") for i, value in enumerate(given)]


def _scene(entry: JsonEntry, split: str, photos: Mapping[str, str] | None) -> Scene:
    things = _parts(entry, {"objects": entry.get("objects")}, "objects", "objects")
    split = entry.text("split", default=split)
    if EXTENSION in entry.values:
        return _extended(entry, things, split, photos)
    index = entry.integer("image_index")
    objects = [_plain_object(i, place) for i, place in enumerate(things)]
    name = entry.text("image_filename", default="")
    return Scene(
        id=f"{split}/{index:06d}" if split else f"{index:06d}",
        split=split,
        source="clevr",
        views=(_picture(entry, View("0"), name, photos),),
        objects=tuple(objects),
        relations=tuple(_listed(entry, [o.id for o in objects])),
    )


def _looks(place: _EntryPart) -> dict[str, Any]:
    """CLEVR's keys of an object, checked."""
    looks: dict[str, Any] = {name: place.text(name) for name in ("shape", *LOOKS)}
    return looks | {"rotation": place.number(place.get("rotation"), "rotation")}


def _plain_object(number: int, place: _EntryPart) -> Object:
    looks = _looks(place)
    x, y, z = place.vector("3d_coords", 3)
    turn = math.radians(looks["rotation"])
    c, s = math.cos(turn), math.sin(turn)
    seen = {"pixel_coords": dump(list(place.vector("pixel_coords", 3)))} if "pixel_coords" in place.values else {}
    pose = (c, -s, 0.0, x, s, c, 0.0, y, 0.0, 0.0, 1.0, z, 0.0, 0.0, 0.0, 1.0)
    return Object(str(number), looks["shape"], own_attributes(looks) | seen, pose)


def _listed(entry: JsonEntry, ids: Sequence[str]) -> Iterator[Relation]:
    """The relations in CLEVR's lists, in the order of `ASPECTS`."""
    given = entry.values.get("relationships", {})
    if not isinstance(given, dict):
        raise entry.error("not an object", "relationships", "one list a relation", given)
    for name in PREDICATES:
        if name not in given:
            continue
        for i, members in enumerate(_lists(entry, name, given[name], len(ids))):
            for j in members:
                subject, other = (j, i) if name in SPATIAL else (i, j)
                yield Relation(ids[subject], ids[other], ASPECTS[name], name)


def _lists(entry: JsonEntry, name: str, given: Any, count: int) -> list[list[int]]:
    field = f"relationships.{name}"
    if not isinstance(given, list) or len(given) != count:
        found = len(given) if isinstance(given, list) else given
        raise entry.error("not one list an object", field, f"{count} lists", found)
    for i, members in enumerate(given):
        where = f"{field}[{i}]"
        if not isinstance(members, list) or any(type(j) is not int or not 0 <= j < count for j in members):
            raise entry.error(
                "not a list of object indices", where, f"whole numbers from 0 to {count - 1}", members
            )
        if i in members:
            raise entry.error("object related to itself", where, found=members)
        if len(set(members)) < len(members):
            raise entry.error("index stands twice", where, found=members)
    return given


def _picture(entry: JsonEntry, view: View, name: str, photos: Mapping[str, str] | None) -> View:
    """The view with its picture, found by name, and its size from there where it is not told."""
    if photos is None or not name:
        return view
    photo = photos.get(Path(name).stem)
    if photo is None:
        raise entry.error("picture is missing", "image_filename", "a file in the folder of pictures", name)
    return View(view.id, photo, view.size or picture_size(photo), view.units, view.camera)


def _extended(
    entry: JsonEntry, things: Sequence[_EntryPart], split: str, photos: Mapping[str, str] | None
) -> Scene:
    values = entry.values[EXTENSION]
    if not isinstance(values, dict):
        raise entry.error("not an object", EXTENSION, "a JSON object", values)
    extra = _EntryPart(entry.file, entry.row, values, EXTENSION)
    rest = _parts(entry, values, "objects", f"{EXTENSION}.objects")
    if len(rest) != len(things):
        raise entry.error("not one entry an object", f"{EXTENSION}.objects", f"{len(things)} entries", len(rest))
    objects = [_extended_object(*pair) for pair in zip(things, rest, strict=True)]
    ids = [thing.id for thing in objects]
    views = [_view(entry, place, photos) for place in _parts(entry, values, "views", f"{EXTENSION}.views")]
    if not views:
        raise entry.error("scene has no view", f"{EXTENSION}.views", "at least one")
    sizes = {view.id: view.size for view in views}
    sightings = _parts(entry, values, "sightings", f"{EXTENSION}.sightings")
    relations = _parts(entry, values, "relations", f"{EXTENSION}.relations")
    return Scene(
        id=extra.text("id"),
        split=split,
        source=extra.text("source", default=""),
        views=tuple(views),
        objects=tuple(objects),
        sightings=tuple(_sighting(place, ids, sizes) for place in sightings),
        relations=(*_listed(entry, ids), *map(_relation, relations)),
    )


def _extended_object(place: _EntryPart, rest: _EntryPart) -> Object:
    looks = _looks(place)
    more = rest.values.get("attributes", {})
    if not isinstance(more, dict) or not all(map(is_text, (*more, *more.values()))):
        raise rest.error("attributes are not words", "attributes", "an object of strings", more)
    name, category, facts = rest.text("id"), rest.text("category"), own_attributes(looks) | more
    pose = rest.vector("pose", 16)
    thing = Object(name, category, facts, pose, rest.optional("ref") or None)
    centre, given = middle(pose, height_of(thing)), place.vector("3d_coords", 3)
    if max(abs(a - b) for a, b in zip(centre, given, strict=True)) > _TOLERANCE:
        raise place.error("centre contradicts the pose", "3d_coords", [round(c, 6) for c in centre], list(given))
    return thing


def _view(entry: JsonEntry, place: _EntryPart, photos: Mapping[str, str] | None) -> View:
    size = None
    if place.values.get("size") is not None:
        width, height = place.values["size"] if _is_size(place.values["size"]) else (0, 0)
        if min(width, height) < 1:
            raise place.error("not an image size", "size", "width and height in pixels", place.values["size"])
        size = (width, height)
    units = place.text("units", default="pixels")
    if units not in UNITS:
        raise place.error("unknown units", "units", "one of " + ", ".join(UNITS), units)
    matrices, camera = place.values.get("camera"), None
    if matrices is not None:
        if not isinstance(matrices, dict):
            raise place.error("not a camera", "camera", "k and world_to_camera", matrices)
        parts = _EntryPart(place.file, place.row, matrices, f"{place.way}.camera")
        camera = Camera(parts.vector("k", 9), parts.vector("world_to_camera", 12))
    view = View(place.text("id"), None, size, "normalised" if units == "normalised" else "pixels", camera)
    return _picture(entry, view, place.optional("image") or "", photos)


def _is_size(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(v) is int and v < 2**31 for v in value)


def _sighting(place: _EntryPart, ids: Sequence[str], sizes: Mapping[str, tuple[int, int] | None]) -> Sighting:
    index, view = place.values.get("object"), place.text("view")
    if type(index) is not int or not 0 <= index < len(ids):
        raise place.error("not an object index", "object", f"a whole number from 0 to {len(ids) - 1}", index)
    if view not in sizes:
        raise place.error("unknown view", "view", "one of " + ", ".join(sizes), view)
    x0, y0, x1, y1 = place.vector("box", 4)
    hidden = place.share("occluded_fraction")
    visible, amodal = (_mask(place, key, sizes[view]) for key in ("visible", "amodal"))
    flags, posed = frozenset(place.texts("flags")), pose_texts(place)
    marks, turn = landmarks_from(posed["landmarks"] or "[]"), posed["viewpoint"]
    box = (x0, y0, x1, y1)
    return Sighting(
        view, ids[index], box, visible, amodal, hidden, flags, marks, None if turn is None else viewpoint_from(turn)
    )


def _mask(place: _EntryPart, key: str, size: tuple[int, int] | None) -> bytes | None:
    given = place.optional(key)
    if given is None:
        return None
    if size is None:
        raise place.error("mask in a view of unknown size", key)
    rle = given.encode("ascii", "replace")
    try:
        masks.check(masks.decompress(rle), size[1], size[0])
    except DataError as error:
        raise place.error(error.problem, key, error.expected, error.found) from None
    return rle


def _relation(place: _EntryPart) -> Relation:
    subject, thing, aspect = (place.text(key) for key in ("subject", "object", "aspect"))
    predicate, votes = place.optional("predicate"), tuple(place.texts("votes"))
    return Relation(
        subject, thing, aspect, predicate, votes, place.optional("object_scene"), place.optional("view")
    )
