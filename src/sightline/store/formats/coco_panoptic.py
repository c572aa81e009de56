"""COCO panoptic: every pixel of a photo in one segment, as PNG files and a JSON file; import only.

``panoptic_val2017.json`` has ``images``, ``categories`` (with ``isthing``) and ``annotations``, one an image with
``file_name`` of a PNG in the folder ``panoptic_val2017`` beside, and ``segments_info``. A pixel's segment id is
R + 256 G + 65,536 B; 0 is no segment.

A scene is ``<split>/<image id>`` with one view, ``"0"``; a segment is an object, its id the segment's, with its
pixels as the visible mask and their box. Attributes are coco_category_id and supercategory; ``iscrowd`` is the flag
``crowd``, and categories that are no things (``isthing`` 0) have the flag ``stuff``. ``bbox`` and ``area`` of the
file are not kept: both are measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import STUFF, Object, Scene, Sighting, View
from sightline.store.convert import tables_in_parts
from sightline.store.encodings import UNREADABLE
from sightline.store.formats.coco_entries import Size, image_size, known, picture, picture_folders, split_names
from sightline.store.formats.jsonio import JsonEntry, entries, load, names_keys, numbered, object_entry
from sightline.store.formats.photos import VIEW
from sightline.store.schema import SPLIT_WORDS
from sightline.store.tables import Tables

__all__ = ["detect", "notes", "read"]

_PREFIX: Final = "panoptic_"
_SCENES_A_PART: Final = 200


def detect(path: Path) -> bool:
    """Whether the path is such a JSON file, or a folder with ``annotations/panoptic_*.json`` and no instances."""
    place = Path(path)
    if place.is_dir() and any((place / "annotations").glob("instances_*.json")):
        return False  # COCO's own folder holds both: instances unless asked
    try:
        return any(names_keys(file, "segments_info") for file in _files(place))
    except OSError:
        return False


def notes(path: str | Path) -> list[str]:
    """Files whose folder of PNG files is not there."""
    return [
        f"{file.name}: left out, its folder {file.stem} of PNG files is not there"
        for file in _files(Path(path))
        if not file.with_suffix("").is_dir()
    ]


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read panoptic annotations, two hundred photos at a time.

    Args:
        path: The JSON file, or a folder with ``panoptic_*.json`` in it or in its ``annotations``.
        images: Folder of the photos, or its parent where that has a folder per file (``val2017``); each must be
            there. Without it those in COCO's own layout are taken.
        split: Name of the split; of a folder of several files, which of them to read.

    Raises:
        DataError: Naming file, segment, key, what was expected and what stood there.
    """
    files = _files(Path(path))
    splits = dict(zip(files, split_names([file.stem.removeprefix(_PREFIX) for file in files]), strict=True))
    if split and len(files) > 1:
        split = SPLIT_WORDS.get(split, split)
        files = [file for file in files if splits[file] == split]
    whole = [file for file in files if file.with_suffix("").is_dir()]
    if not whole:
        expected = "panoptic_X.json beside a folder panoptic_X of PNG files"
        raise DataError("there are no panoptic annotations", file=path, expected=expected)
    for file in whole:
        named = file.stem.startswith(_PREFIX) and splits[file]
        scenes = _scenes(file, None if images is None else Path(images), split or named or "")
        yield from tables_in_parts(scenes, _SCENES_A_PART)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    folder = path / "annotations"
    return sorted((folder if folder.is_dir() else path).glob(f"{_PREFIX}*.json"))


def _scenes(file: Path, images: Path | None, split: str) -> Iterator[Scene]:
    content = load(file, ("images", "annotations", "categories"), "COCO panoptic")
    folders = picture_folders(file, file.stem.removeprefix(_PREFIX), images)
    photos = {
        number: (image_size(entry), picture(entry, folders, must_exist=images is not None))
        for number, entry in entries(content, "images", file)
    }
    categories = dict(entries(content, "categories", file))
    seen: set[int] = set()
    for index, value in enumerate(content["annotations"]):
        entry = object_entry(value, file, f"annotations[{index}]", "annotations")
        number = known(entry, "image_id", photos)
        if number in seen:
            raise entry.error("image stands twice", "image_id", "an image of its own", number)
        seen.add(number)
        size, photo = photos[number]
        counts = segment_counts(_ids(entry, size))
        told = entry.get("segments_info")
        if not isinstance(told, list):
            raise entry.error("not a list", "segments_info", "a list", told)
        segments = list(numbered(told, "segments_info", file, f"image {number}, segment"))
        strange = counts.keys() - {segment for segment, _ in segments} - {0}
        if strange:
            raise entry.error("pixels of an unknown segment", "file_name", "ids of segments_info", min(strange))
        yield Scene(
            id=f"{split}/{number}" if split else str(number),
            split=split,
            source="coco-panoptic",
            views=(View(VIEW, photo, size),),
            objects=tuple(_object(segment, entry, categories) for segment, entry in segments),
            sightings=tuple(_sighting(segment, entry, counts, size, categories) for segment, entry in segments),
        )


def _ids(entry: JsonEntry, size: Size) -> NDArray[np.int32]:
    """Segment ids of a PNG file's pixels, (H, W)."""
    name = entry.text("file_name")
    file = entry.file.with_suffix("") / Path(name).name
    try:
        with Image.open(file) as png:
            if png.mode != "RGB" or png.size != size:
                expected, found = "an RGB picture of {}×{} pixels", "{} of {}×{}".format(png.mode, *png.size)
                raise entry.error("PNG of another size or kind", "file_name", expected.format(*size), found)
            pixels = np.asarray(png, dtype=np.int32)
    except FileNotFoundError:
        raise entry.error("PNG is missing", "file_name", f"a file in {file.parent}", name) from None
    except UNREADABLE as error:
        raise entry.error(f"PNG cannot be read: {error}", "file_name", found=name) from None
    ids: NDArray[np.int32] = pixels @ np.array([1, 1 << 8, 1 << 16], dtype=np.int32)
    return ids


def segment_counts(ids: NDArray[np.int32]) -> dict[int, masks.Counts]:
    """Run lengths of each segment of an (H, W) map of ids.

    >>> {k: v.tolist() for k, v in segment_counts(np.array([[5, 7], [5, 5]], dtype=np.int32)).items()}
    {5: [0, 2, 1, 1], 7: [2, 1, 1]}
    """
    flat = ids.ravel(order="F")
    starts = np.flatnonzero(np.diff(flat, prepend=-1))
    runs = np.column_stack([starts, np.append(starts[1:], flat.size)])
    order = np.argsort(flat[starts], kind="stable")
    values, firsts = np.unique(flat[starts][order], return_index=True)
    groups = np.split(runs[order], firsts[1:])
    found = zip(values.tolist(), groups, strict=True)
    return {value: masks.counts_from_toggles(group.ravel(), flat.size) for value, group in found}


def _object(segment: int, entry: JsonEntry, categories: dict[int, JsonEntry]) -> Object:
    number = known(entry, "category_id", categories)
    category = categories[number]
    above = category.text("supercategory", default="")
    facts = {"coco_category_id": str(number), "supercategory": above}
    return Object(str(segment), category.text("name"), {key: value for key, value in facts.items() if value})


def _sighting(
    segment: int, entry: JsonEntry, counts: dict[int, masks.Counts], size: Size, categories: dict[int, JsonEntry]
) -> Sighting:
    if segment not in counts:
        raise entry.error("segment has no pixel", "id", "an id in the PNG file", segment)
    is_thing = categories[entry.integer("category_id")].integer("isthing", high=1, default=1)
    flags = {"crowd": entry.integer("iscrowd", high=1, default=0), STUFF: not is_thing}
    told, runs = frozenset(flag for flag, holds in flags.items() if holds), counts[segment]
    return Sighting(VIEW, str(segment), masks.box(runs, size[1]), masks.compress(runs), flags=told)
