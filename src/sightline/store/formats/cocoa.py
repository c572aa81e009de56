"""COCOA: photos whose regions are drawn with their hidden parts and ordered by depth; import only.

Two forms are read. *One file a photo*: an object with ``image_id`` and ``regions``, beside the photo of the same
name (``1.json``, ``1.jpg``). *The release*: ``images`` and ``annotations``, each annotation with ``image_id`` and
``regions``. A region has ``segmentation`` (one polygon around the whole object), ``name``, ``order`` (1 is
nearest), ``isStuff``, ``occlude_rate`` and, where part of it is hidden, ``visible_mask`` and ``invisible_mask``
(run lengths).

A scene is ``<split>/<image id>`` with one view, ``"0"``; where several people drew one photo, the later ones'
scenes end in ``-<annotation id>``. A region is an object, numbered from 1 as it stands in the file: the category is
its name (``unnamed`` where nobody named it), the attribute ``order`` its place in depth; what has no shape of its
own has the flag ``stuff``. The polygon is the amodal mask; ``visible_mask`` the visible one, or what the outlines
in front leave over where the file tells none.

Relations, each pair once, the nearer first. Order means something only where outlines overlap:

- ``occlusion`` *occludes* where at least `occlusion.HIDES` of the farther outline lies under pixels of the nearer;
  *none* where the two outlines have no pixel in common, for these outlines are whole.
- ``depth`` *closer* where the outlines share at least `occlusion.HIDES` of the smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Final

from sightline.documents import read_json
from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import STUFF, Object, Relation, Scene, View
from sightline.store.convert import tables_in_parts
from sightline.store.formats.coco_entries import Size, counts_of, image_size, known, split_names
from sightline.store.formats.jsonio import JsonEntry, entries, names_keys, object_entry
from sightline.store.formats.occlusion import HIDES, MaskOutline, hiding, outlined
from sightline.store.formats.photos import VIEW, find_photos
from sightline.store.pictures import look_at, picture_size
from sightline.store.tables import Tables

__all__ = ["detect", "read"]

_SCENES_A_PART: Final = 200
_LOOKED_AT: Final = 10  # files, to tell the format
_RELEASE: Final = "COCO_amodal_"


@dataclass(frozen=True, slots=True)
class _Drawing:
    """What one person drew in one photo."""

    entry: JsonEntry
    stems: tuple[str, ...]  # how the photo's file may be called
    size: Size | None
    split: str


@dataclass(frozen=True, slots=True)
class _Region:
    entry: JsonEntry
    order: int
    outline: MaskOutline


def detect(path: Path) -> bool:
    """Whether the path is such a JSON file, or a folder with one."""
    try:
        return any(names_keys(file, "regions", "occlude_rate") for file in islice(_files(Path(path)), _LOOKED_AT))
    except OSError:
        return False


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read COCOA, two hundred photos at a time, in the order of the files.

    Args:
        path: One JSON file, or a folder with such files.
        images: Folder of the photos, looked up by name in it and in its direct subfolders; by default those that
            lie beside the JSON files are taken.
        split: Name of the split; by default what the file's name tells (``COCO_amodal_val2014.json``).

    Raises:
        DataError: Naming file, region, key, what was expected and what stood there.
    """
    yield from tables_in_parts(_scenes(Path(path), images, split), _SCENES_A_PART)


def _files(path: Path) -> Iterator[Path]:
    return iter(sorted(path.glob("*.json"))) if path.is_dir() else iter([path])


def _scenes(path: Path, images: str | Path | None, split: str) -> Iterator[Scene]:
    given = None if images is None else find_photos(images)
    seen: set[str] = set()
    for file in _files(path):
        photos = _beside(file) if given is None else given
        for drawing in _drawings(file, split):
            number = str(drawing.entry.integer("image_id"))
            scene_id = f"{drawing.split}/{number}" if drawing.split else number
            if scene_id in seen:
                scene_id = f"{scene_id}-{drawing.entry.integer('id')}"
            if scene_id in seen:
                raise drawing.entry.error("drawing stands twice", "image_id, id", "ids of its own", scene_id)
            seen.add(scene_id)
            yield _scene(drawing, scene_id, next((photos[s] for s in drawing.stems if s in photos), None))
    if not seen:
        raise DataError("folder has no COCOA annotation", file=path, expected="X.json with image_id and regions")


def _beside(file: Path) -> dict[str, str]:
    try:
        return find_photos(file.parent)
    except DataError:
        return {}


def _drawings(file: Path, split: str) -> Iterator[_Drawing]:
    content = read_json(file, entries=True)
    if not isinstance(content, dict):
        raise DataError("not COCOA", file=file, expected="a JSON object", found=type(content).__name__)
    if "regions" in content:
        entry = JsonEntry(file, "annotation", content)
        url = entry.text("url", default="")
        yield _Drawing(entry, (file.stem, Path(url).stem), None, split)
        return
    for section in ("images", "annotations"):
        if not isinstance(content.get(section), list):
            raise DataError("not COCOA", file=file, field=section, expected="a list", found=content.get(section))
    suffix = file.stem.removeprefix(_RELEASE)
    named = split or (split_names([suffix])[0] if suffix != file.stem else "")
    photos = {
        number: (Path(entry.text("file_name")).stem, image_size(entry))
        for number, entry in entries(content, "images", file)
    }
    for index, value in enumerate(content["annotations"]):
        entry = object_entry(value, file, f"annotations[{index}]", "annotations")
        stem, size = photos[known(entry, "image_id", photos)]
        yield _Drawing(entry, (stem,), size, named)


def _scene(drawing: _Drawing, scene_id: str, photo: str | None) -> Scene:
    size = _size(drawing, photo)
    regions = _regions(drawing.entry, size)
    ids = [str(i) for i in range(1, len(regions) + 1)]
    return Scene(
        id=scene_id,
        split=drawing.split,
        source="cocoa",
        views=(View(VIEW, photo, size),),
        objects=tuple(Object(i, *_named(region)) for i, region in zip(ids, regions, strict=True)),
        sightings=tuple(
            outlined(VIEW, i, region.outline, size[1], {STUFF} if _is_stuff(region) else ())
            for i, region in zip(ids, regions, strict=True)
            if masks.area(region.outline.whole)
        ),
        relations=tuple(_relations(regions, ids)),
    )


def _size(drawing: _Drawing, photo: str | None) -> Size:
    """The image's size: of the file, else of the photo, else of a mask."""
    if size := drawing.size or (picture_size(photo) if photo else None):
        return size
    for value in _list(drawing.entry):
        mask = value.get("visible_mask") if isinstance(value, dict) else None
        sides = mask.get("size") if isinstance(mask, dict) else None
        if isinstance(sides, list) and len(sides) == 2 and all(type(v) is int and 0 < v < 2**16 for v in sides):
            return sides[1], sides[0]
    if photo and isinstance(problem := look_at(Path(photo)), DataError):
        raise problem
    expected = f"the photo {drawing.stems[0]}.jpg beside the file or below --images, or a visible_mask"
    raise drawing.entry.error("nothing tells the image's size", "regions", expected)


def _list(entry: JsonEntry) -> list[Any]:
    regions = entry.get("regions")
    if not isinstance(regions, list):
        raise entry.error("not a list", "regions", "a list", regions)
    return regions


def _regions(entry: JsonEntry, size: Size) -> list[_Region]:
    """The regions, with what is seen of each; two of one order are an error, since then nothing tells who hides."""
    drawn: list[tuple[JsonEntry, int, masks.Counts]] = []
    for index, value in enumerate(_list(entry)):
        region = object_entry(value, entry.file, f"{entry.row}, region {index + 1}", "regions")
        flat = region.get("segmentation")
        if isinstance(flat, list) and flat and not isinstance(flat[0], list):
            region = replace(region, values={**value, "segmentation": [flat]})
        whole = counts_of(region, "segmentation", size)
        if whole is None:
            raise region.error("region without an outline", "segmentation", "x, y, x, y, …", flat)
        order = region.integer("order", low=1)
        if any(order == other for _, other, _ in drawn):
            raise region.error("order stands twice", "order", "a place of its own", order)
        drawn.append((region, order, whole))
    return [_Region(region, order, _outline(region, order, whole, drawn, size)) for region, order, whole in drawn]


def _outline(
    region: JsonEntry,
    order: int,
    whole: masks.Counts,
    drawn: Sequence[tuple[JsonEntry, int, masks.Counts]],
    size: Size,
) -> MaskOutline:
    seen = counts_of(region, "visible_mask", size)
    if seen is None:
        seen = whole
        front = [other for _, place, other in drawn if place < order and _shared(other, whole)]
        if front:
            hidden = masks.mask_from_counts(masks.merge(front), size[1], size[0])
            seen = masks.counts_from_mask(masks.mask_from_counts(whole, size[1], size[0]) & ~hidden)
    elif masks.area(masks.merge([seen, whole])) > masks.area(whole):
        raise region.error("visible part leaves the outline", "visible_mask", "pixels of segmentation")
    return MaskOutline(seen, whole)


def _shared(a: masks.Counts, b: masks.Counts) -> int:
    """Pixels two masks have in common."""
    return masks.area(masks.merge([a, b], intersect=True))


def _named(region: _Region) -> tuple[str, Mapping[str, str]]:
    """Category and attributes."""
    name = " ".join(region.entry.text("name", default="").split())
    return name or "unnamed", {"order": str(region.order)}


def _is_stuff(region: _Region) -> bool:
    return bool(region.entry.integer("isStuff", high=1, default=0))


def _relations(regions: Sequence[_Region], ids: Sequence[str]) -> Iterator[Relation]:
    """Relations of pairs that overlap or do not touch; the order within a pair is the file's and tells nothing."""
    hides = {(i, j) for i, j, _ in hiding([region.outline for region in regions])}
    for i, j in combinations(range(len(regions)), 2):
        one, other = regions[i].outline.whole, regions[j].outline.whole
        in_front = regions[i].order < regions[j].order
        shared, smaller = _shared(one, other), min(masks.area(one), masks.area(other))
        if not smaller:
            continue  # an outline outside the image
        if not shared or (i, j) in hides:
            hiding_word = "occludes" if in_front else "occluded"
            yield Relation(ids[i], ids[j], "occlusion", hiding_word if shared else "none")
        if shared and shared >= HIDES * smaller:
            yield Relation(ids[i], ids[j], "depth", "closer" if in_front else "farther")
