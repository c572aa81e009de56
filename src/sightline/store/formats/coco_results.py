"""COCO results: what a detector found in the images of an instances file; import only.

A results file is a list of ``image_id``, ``category_id``, ``score`` and ``bbox`` or ``segmentation``. It tells
neither class names nor image sizes: those, and the photos, come from the instances file it is about. The dataset
holds the detections instead of the annotations: scenes as an import of the instances file has them, also those in
which nothing was found, and in each one object a result, called by its place in the file (from 1), with the
attributes ``score``, coco_category_id and supercategory. Any exam that needs no truth can then be taken on boxes
that a detector found.

Boxes are cut at the image's edges (flag ``cut``), for a detector may lead beyond them; a result of which nothing is
left is left out, and counted in `notes`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sightline.documents import read_json
from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Object, Scene, Sighting, View
from sightline.scenes.types import Box
from sightline.store.convert import tables_in_parts
from sightline.store.formats.coco import is_instances
from sightline.store.formats.coco_entries import (
    Size,
    categories,
    counts_of,
    image_size,
    known,
    picture,
    picture_folders,
    xywh,
)
from sightline.store.formats.jsonio import JsonEntry, entries, load, object_entry
from sightline.store.formats.photos import VIEW
from sightline.store.tables import Tables

__all__ = ["detect", "notes", "read"]

_SCENES_A_PART: Final = 1000
_HEAD: Final = 4096


@dataclass(frozen=True, slots=True)
class _Found:
    """One result: `mask` as run lengths where the file has it; `box` None where nothing is left of it."""

    number: int
    entry: JsonEntry
    box: Box | None
    mask: masks.Counts | None
    is_cut: bool


def detect(path: Path) -> bool:
    """Whether the path is a JSON list of results."""
    file = Path(path)
    if file.suffix != ".json" or not file.is_file():
        return False
    with file.open("rb") as stream:
        head = stream.read(_HEAD).lstrip()
    return head.startswith(b"[") and b'"image_id"' in head and b'"category_id"' in head


def notes(path: str | Path, *, instances: str | Path | None = None) -> list[str]:
    """How many results were left out."""
    images, _ = _about(Path(path), instances, None)
    empty = sum(found.box is None for results in _results(Path(path), images).values() for found in results)
    return [f"{empty} results left out: nothing of them lies in the image"] if empty else []


def read(
    path: str | Path, *, instances: str | Path | None = None, images: str | Path | None = None, split: str = ""
) -> Iterator[Tables]:
    """Read results, a thousand images at a time.

    Args:
        path: The results.
        instances: The instances file they are about; by default the only one in the same folder.
        images: The folder of the pictures; by default those in COCO's own layout beside the instances file.
        split: Name of the split.

    Raises:
        DataError: Naming file, result (``result 17``, counted from 1), key, what was expected and what stood there.
    """
    views, names = _about(Path(path), instances, None if images is None else Path(images))
    results = _results(Path(path), views)
    scenes = (_scene(number, *views[number], results[number], names, split) for number in views)
    yield from tables_in_parts(scenes, _SCENES_A_PART)


Views = dict[int, tuple[Size, str | None]]


def _about(
    path: Path, instances: str | Path | None, images: Path | None
) -> tuple[Views, dict[int, tuple[str, str]]]:
    """Image id → size and photo, and category id → name and supercategory, of the instances file."""
    beside = (
        [Path(instances)]
        if instances
        else [file for file in sorted(path.parent.glob("*.json")) if is_instances(file)]
    )
    if len(beside) != 1:
        expected = "the instances file they are about: --instances FILE, or one in the same folder"
        raise DataError(
            "results tell no names and sizes", file=path, expected=expected, found=f"{len(beside)} there"
        )
    content = load(beside[0], ("images", "categories"))
    folders = picture_folders(beside[0], beside[0].stem.removeprefix("instances_"), images)
    views = {
        number: (image_size(entry), picture(entry, folders, must_exist=images is not None))
        for number, entry in entries(content, "images", beside[0])
    }
    return views, categories(content, beside[0])


def _results(file: Path, views: Views) -> dict[int, list[_Found]]:
    """The results of each image, in file order."""
    content = read_json(file, entries=True)
    if not isinstance(content, list):
        raise DataError("not COCO results", file=file, expected="a JSON list", found=type(content).__name__)
    results: dict[int, list[_Found]] = defaultdict(list)
    for number, value in enumerate(content, start=1):
        entry = object_entry(value, file, f"result {number}", "result")
        image = known(entry, "image_id", views)
        results[image].append(_found(number, entry, views[image][0]))
    return results


def _found(number: int, entry: JsonEntry, size: Size) -> _Found:
    mask = counts_of(entry, "segmentation", size)
    if "bbox" in entry.values:
        x, y, width, height = xywh(entry)
        box: Box = (x, y, x + width, y + height)
    elif mask is not None:
        box = masks.box(mask, size[1])
    else:
        raise entry.error("result without a place", "bbox", "bbox or segmentation", ", ".join(entry.values))
    inside = max(box[0], 0.0), max(box[1], 0.0), min(box[2], float(size[0])), min(box[3], float(size[1]))
    is_left = inside[0] < inside[2] and inside[1] < inside[3]
    return _Found(number, entry, inside if is_left else None, mask, inside != box)


def _scene(
    number: int, size: Size, photo: str | None, results: list[_Found], names: dict[int, tuple[str, str]], split: str
) -> Scene:
    kept = [(found, found.box) for found in results if found.box is not None]
    return Scene(
        id=f"{split}/{number}" if split else str(number),
        split=split,
        source="coco-results",
        views=(View(VIEW, photo, size),),
        objects=tuple(_object(found, names) for found, _ in kept),
        sightings=tuple(
            Sighting(
                VIEW,
                str(found.number),
                box,
                None if found.mask is None else masks.compress(found.mask),
                flags=frozenset({"cut"} if found.is_cut else ()),
            )
            for found, box in kept
        ),
    )


def _object(found: _Found, names: dict[int, tuple[str, str]]) -> Object:
    category = known(found.entry, "category_id", names)
    name, above = names[category]
    score = found.entry.number(found.entry.get("score"), "score")
    facts = {"score": repr(score), "coco_category_id": str(category), "supercategory": above}
    return Object(str(found.number), name, {key: value for key, value in facts.items() if value})
