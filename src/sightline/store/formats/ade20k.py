"""ADE20K's full annotation (the layout of 2021): attributes, parts, who hides whom, masks; import only.

Below the folder ``images/ADE/{training,validation}/…`` every photo ``X.jpg`` has ``X.json`` and a folder ``X`` with
one mask an object, 255 where it is seen and 128 where its outline goes on behind others. ``X_seg.png`` and
``X_parts_N.png`` repeat these masks and are not read.

A scene is ``<split>/<folders below it>/X`` with one view, ``"0"``, of the size told by ``imsize``; photos are taken
where they lie beside. Of each object:

- *category* is the first of its names; attributes ``name`` (all of them), ``raw_name`` (as the annotator wrote it)
  and ``hypernyms`` (nearest first, ``; `` between) keep the rest.
- each of the annotator's attributes is an attribute of that name with the value ``yes``, and all of them stand in
  ``attributes``; silence means nothing.
- the flag ``part`` says that it is part of another, the flag ``stuff`` that it is ground, water, sky or what a
  building or room is made of, by its category (`label_maps`, vocabulary ``ade``).
- ``occluded`` becomes the flag ``occluded``, or ``occluded_unknown`` where nobody said; the flag ``hidden`` says
  that no pixel is seen.
- ``crop`` is more than cut by the image's edge: it is 1 of occluded objects in the middle too. The flag
  ``truncated`` is set where crop is 1 and the outline comes within `EDGE` pixels of the edge; the attribute
  ``crop`` keeps the 1.
- the box is that of the seen pixels (of the whole outline where none is seen). The amodal mask is the outline, and
  ``occluded_fraction`` its hidden share, where part of it is hidden or the annotator said that nothing is;
  elsewhere the outline may have been drawn around the seen part only, and both stay unknown.

Relations: whole –has_part→ part (aspect ``part``), and who hides whom (aspect ``occlusion``) between objects that
are no parts, where at least `HIDES` of one's outline lies under pixels of the other; a pair that is not told may
still be one, hidden behind an outline drawn short. ``depth_ordering_rank`` is kept as the attribute ``depth_order``
and makes no relation: it numbers the outlines as they stand in the file, and neither low nor high means near (a sky
of rank 4 lies behind a building of rank 5, a tree of rank 1 before a car of rank 2). The masks tell which outline
lies in front.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.documents import read_json
from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import PART, STUFF, Object, Relation, Scene, Sighting, View
from sightline.store.convert import tables_in_parts
from sightline.store.encodings import UNREADABLE
from sightline.store.formats.jsonio import JsonEntry, is_text, names_keys, numbered
from sightline.store.formats.occlusion import MaskOutline, hiding, outlined
from sightline.store.formats.photos import VIEW
from sightline.store.label_maps import vocabulary
from sightline.store.tables import Tables

__all__ = ["EDGE", "detect", "notes", "read"]

EDGE: Final = 2.0
"""Pixels from the edge of the image at which an outline counts as reaching it: outlines are drawn by hand."""

_BEHIND: Final = 128
_SEEN: Final = 255

_VALUES: Final = (0, _BEHIND, _SEEN)
"""What a mask's pixels may be: elsewhere, where the outline goes on behind others, where the object is seen."""

_SPLITS: Final = {"training": "train", "validation": "validation"}
_SCENES_A_PART: Final = 200
_LOOKED_AT: Final = 10  # files, to tell the format


def detect(path: Path) -> bool:
    """Whether the path is such a JSON file, or a folder with one somewhere below."""
    try:
        return any(names_keys(file, "annotation", "imsize") for file in islice(_files(Path(path)), _LOOKED_AT))
    except OSError:
        return False


def notes(path: str | Path) -> list[str]:
    """How many annotations come without their photo."""
    bare = sum(not file.with_suffix(".jpg").is_file() for file in _files(Path(path)))
    return [f"{bare} annotations without their photo beside: kept, without a picture"] if bare else []


def read(path: str | Path, *, split: str = "") -> Iterator[Tables]:
    """Read annotated photos, two hundred at a time, in the order of their paths.

    Args:
        path: One JSON file, or a folder with such files, and no other JSON files, at any depth.
        split: Read only this split (``train`` or ``validation``); also the split of photos whose annotation tells
            none.

    Raises:
        DataError: Naming file, object (``object 17``, by its id), key, what was expected and what stood there.
    """
    yield from tables_in_parts(_scenes(Path(path), split), _SCENES_A_PART)


def _files(path: Path) -> Iterator[Path]:
    return path.rglob("*.json") if path.is_dir() else iter([path])


def _scenes(path: Path, split: str) -> Iterator[Scene]:
    known: set[str] = set()
    files = sorted(_files(path))
    if not files:
        raise DataError("folder has no ADE20K annotation", file=path, expected="X.json beside X.jpg")
    for file in files:
        annotation = _annotation(file)
        place = _place(annotation, split)
        if split and place[0] != split:
            continue
        scene_id = "/".join((*filter(None, place), Path(annotation.text("filename")).stem))
        if scene_id in known:
            raise annotation.error("photo stands twice", "filename", "a photo of its own", scene_id)
        known.add(scene_id)
        yield _scene(annotation, scene_id, place[0])


def _annotation(file: Path) -> JsonEntry:
    content = read_json(file, entries=True, otherwise="latin-1")  # names were typed by hand, in both
    annotation = content.get("annotation") if isinstance(content, dict) else None
    if not isinstance(annotation, dict):
        raise DataError("not an annotation of ADE20K", file=file, field="annotation", expected="a JSON object")
    return JsonEntry(file, "annotation", annotation)


def _place(annotation: JsonEntry, split: str) -> tuple[str, ...]:
    """The split, then the folders below it: what kind of scene it is."""
    parts = annotation.text("folder", default="").split("/")
    for name, ours in _SPLITS.items():
        if name in parts:
            return ours, *parts[parts.index(name) + 1 :]
    return (split,)


def _scene(annotation: JsonEntry, scene_id: str, split: str) -> Scene:
    size = _size(annotation)
    things = _things(annotation)
    outlines = [_outline(thing, size) for thing in things]
    ids = [thing.row.removeprefix("object ") for thing in things]
    wholes = tuple(_parts(things, ids))
    parts = {relation.object for relation in wholes}
    return Scene(
        id=scene_id,
        split=split,
        source="ade20k",
        views=(View(VIEW, _photo(annotation), size),),
        objects=tuple(Object(i, *_named(thing)) for i, thing in zip(ids, things, strict=True)),
        sightings=tuple(
            _sighting(i, thing, outline, size, is_part=i in parts)
            for i, thing, outline in zip(ids, things, outlines, strict=True)
            if masks.area(outline.whole)
        ),
        relations=(*wholes, *_occlusions(parts, ids, outlines)),
    )


def _size(annotation: JsonEntry) -> tuple[int, int]:
    sides = annotation.get("imsize")
    if not isinstance(sides, list) or len(sides) < 2 or any(type(v) is not int or not 0 < v < 2**31 for v in sides):
        raise annotation.error("not an image size", "imsize", "[height, width, 3] in pixels", sides)
    return sides[1], sides[0]


def _photo(annotation: JsonEntry) -> str | None:
    """The photo beside the annotation, if it is there."""
    name = annotation.text("filename")
    photo = annotation.file.with_name(Path(name).name)
    if not photo.is_file():
        return None
    return str(photo.resolve())


def _opened(file: Path, entry: JsonEntry, field: str) -> Image.Image:
    try:
        return Image.open(file)
    except FileNotFoundError:
        raise entry.error("file is missing", field, "a file beside the annotation", file.name) from None
    except UNREADABLE as error:
        raise entry.error(f"picture cannot be read: {error}", field, found=file.name) from None


def _several(value: Any) -> list[Any]:
    """A list; what stands alone is a list of one, as the files write it."""
    return value if isinstance(value, list) else [value]


def _things(annotation: JsonEntry) -> list[JsonEntry]:
    """The objects, each called by its id; ids are whole numbers and unique."""
    return [entry for _, entry in numbered(_several(annotation.get("object")), "object", annotation.file, "object")]


def _words(thing: JsonEntry, key: str, *, cut: str | None = None) -> list[str]:
    """The words of a key, which may be missing; the files write one word without a list, and none as ``[]``."""
    words = []
    for value in _several(thing.values.get(key, [])):
        if not isinstance(value, str):
            raise thing.error("not text", key, "a string or a list of them", value)
        words += [" ".join(word.split()) for word in (value.split(cut) if cut else [value])]
    if not all(map(is_text, words)):
        raise thing.error("not text", key, "strings without control characters", words)
    return [word for word in words if word]


def _named(thing: JsonEntry) -> tuple[str, Mapping[str, str]]:
    """Category and attributes."""
    name, raw = ("; ".join(_words(thing, key)) for key in ("name", "raw_name"))
    category = (name or raw).split(",")[0].strip()
    if not category:
        raise thing.error("object without a name", "name", "a string", thing.values.get("name"))
    marks = _words(thing, "attributes", cut=",")
    facts = {
        "name": name,
        "raw_name": raw,
        "hypernyms": "; ".join(_words(thing, "hypernym")),
        "attributes": ", ".join(marks),
        "crop": "1" if _is_cropped(thing) else "",
        "depth_order": str(thing.integer("depth_ordering_rank")) if "depth_ordering_rank" in thing.values else "",
    }
    return category, dict.fromkeys(marks, "yes") | {key: value for key, value in facts.items() if value}


def _is_cropped(thing: JsonEntry) -> bool:
    value = thing.values.get("crop", "0")
    if str(value) not in ("0", "1", "[]"):
        raise thing.error("not a mark", "crop", "0 or 1", value)
    return str(value) == "1"


def _occluded(thing: JsonEntry) -> str:
    """``yes``, ``no`` or, where nobody said, nothing."""
    value = "".join(_words(thing, "occluded"))
    if value not in ("yes", "no", ""):
        raise thing.error("not a mark", "occluded", "yes, no or []", value)
    return value


def _outline(thing: JsonEntry, size: tuple[int, int]) -> MaskOutline:
    name = thing.text("instance_mask")
    folder = thing.file.parent.resolve()
    file = (folder / name).resolve()
    if not file.is_relative_to(folder):
        raise thing.error("mask lies elsewhere", "instance_mask", "a file beside the annotation", name)
    with _opened(file, thing, "instance_mask") as picture:
        if picture.size != size or picture.mode != "L":
            expected = "a grey picture of {}×{} pixels".format(*size)
            found = "{} of {}×{}".format(picture.mode, *picture.size)
            raise thing.error("mask of another size or kind", "instance_mask", expected, found)
        try:
            box = picture.getbbox() or (0, 0, 0, 0)
            pixels = np.asarray(picture.crop((box[0], 0, box[2], size[1])))
        except UNREADABLE as error:
            raise thing.error(f"picture cannot be read: {error}", "instance_mask", found=name) from None
    if not np.isin(pixels, _VALUES).all():
        values = ", ".join(map(str, np.unique(pixels)))
        raise thing.error("mask has other values", "instance_mask", ", ".join(map(str, _VALUES)), values)
    return outline(pixels, box[0], size)


def _sighting(
    object_id: str, thing: JsonEntry, outline: MaskOutline, size: tuple[int, int], *, is_part: bool
) -> Sighting:
    x0, y0, x1, y1 = masks.box(outline.whole, size[1])
    occluded = _occluded(thing)
    flags = {
        "occluded": occluded == "yes",
        "occluded_unknown": not occluded,
        PART: is_part,
        STUFF: not is_part and _named(thing)[0] in vocabulary("ade").stuff,
        "truncated": min(x0, y0, size[0] - x1, size[1] - y1) <= EDGE and _is_cropped(thing),
    }
    told = {flag for flag, holds in flags.items() if holds}
    return outlined(VIEW, object_id, outline, size[1], told, is_whole=outline.is_hidden or occluded == "no")


def _parts(things: Sequence[JsonEntry], ids: Sequence[str]) -> Iterator[Relation]:
    """Relations from wholes to their parts, told by either of the two or by both."""
    pairs: dict[tuple[str, str], None] = {}
    for thing, object_id in zip(things, ids, strict=True):
        parts = thing.values.get("parts", {})
        if not isinstance(parts, dict):
            raise thing.error("not parts", "parts", "hasparts and ispartof", parts)
        for key in ("hasparts", "ispartof"):
            for other in _several(parts.get(key, [])):
                if type(other) is not int or str(other) not in ids or str(other) == object_id:
                    raise thing.error("relation to an unknown object", f"parts.{key}", "another object's id", other)
                pairs[(object_id, str(other)) if key == "hasparts" else (str(other), object_id)] = None
    return (Relation(whole, part, "part", "has_part") for whole, part in pairs)


def _occlusions(parts: Collection[str], ids: Sequence[str], outlines: Sequence[MaskOutline]) -> Iterator[Relation]:
    """Who hides whom among the objects that are no parts, each pair once, the earlier object first."""
    alone = [k for k, object_id in enumerate(ids) if object_id not in parts]
    for i, j, label in hiding([outlines[k] for k in alone]):
        yield Relation(ids[alone[i]], ids[alone[j]], "occlusion", label.word)


def outline(pixels: NDArray[np.uint8], left: int, size: tuple[int, int]) -> MaskOutline:
    """The outline in a mask of which only some columns are given; the others are 0.

    Args:
        pixels: Full height, some of the columns; each one of `_VALUES`.
        left: Columns of the image before them.
        size: (width, height) of the image, pixels.

    >>> outline(np.array([[128], [255]], dtype=np.uint8), 1, (3, 2))
    MaskOutline(seen=array([3, 1, 2]), whole=array([2, 2, 2]))
    """
    return MaskOutline(_widened(pixels == _SEEN, left, size), _widened(pixels > 0, left, size))


def _widened(mask: masks.Mask, left: int, size: tuple[int, int]) -> masks.Counts:
    """Run lengths, in the whole image, of a mask of some of its columns: far fewer pixels to look at."""
    height, right = size[1], size[0] - left - mask.shape[1]
    counts = masks.counts_from_mask(mask)
    if counts.size % 2 == 0:  # the last run is of 1
        counts = np.append(counts, 0)
    counts[0] += left * height
    counts[-1] += right * height
    return counts if counts[-1] else counts[:-1]
