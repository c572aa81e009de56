"""COCO instances JSON, both ways, with relations between annotations as an extension.

A file has ``images``, ``annotations`` and ``categories``, and may have
``relations``: [{"id", "image_id", "subject_id", "object_id", "aspect", "predicate", "votes", "object_image_id"?}],
where subject and object are annotation ids, predicate is null without a majority, votes are words, and
``object_image_id`` stands only where the object is in another image.

In our tables one image is one scene (``<split>/<image id>``, or ``<image id>`` without a split) with the one
view ``0``; an annotation is an object with its sighting, and the object id is the annotation id. Boxes xywh
become xyxy. Polygons and run lengths become compressed RLE in ``visible_mask`` (vertices are not kept).
``amodal_segmentation``, of the same forms, becomes ``amodal_mask``, and ``occluded_fraction`` (0 to 1) stays.
``iscrowd`` becomes the flag ``crowd``. What else COCO says is kept in the object's attributes: coco_id,
coco_category_id, supercategory, coco_area, coco_extra (other keys, JSON) and, on the first object of an image,
coco_image (the image's other keys, JSON). Unused categories, ``info`` and ``licenses`` are not kept.

Scenes that did not come from COCO are written with a key ``sightline`` in images (scene, view, split, source,
camera) and annotations (object, attributes, pose, shape, viewpoint, landmarks), and ``view`` in relations that hold
in one view: read again, several images are one scene, and an object has one annotation a view.

A box may leave the image by `EDGE_TOLERANCE` pixels, since drawing tools round; it is stored as it stands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from sightline.errors import ConfigError, DataError
from sightline.scenes import ASPECTS, words
from sightline.store.formats.coco_entries import (
    box_of,
    categories,
    image_size,
    is_empty,
    known,
    mask_of,
    picture,
    picture_folders,
    split_names,
)
from sightline.store.formats.coco_write import EXTENSION, left_out, write
from sightline.store.formats.jsonio import JsonEntry, dump, entries, is_text, load, names_keys, pose_texts
from sightline.store.schema import SCHEMAS
from sightline.store.tables import Tables

__all__ = ["detect", "left_out", "read", "write"]

_IMAGES_A_PART: Final = 1000
_PREFIX: Final = "instances_"
_IMAGE_KEYS: Final = ("id", "width", "height")
_ANNOTATION_KEYS: Final = (
    "id",
    "image_id",
    "category_id",
    "bbox",
    "area",
    "iscrowd",
    "segmentation",
    "flags",
    "amodal_segmentation",
    "occluded_fraction",
)

_VIEW_COLUMNS: Final = ("scene_id", "split", "source", "view_id", "image", "width", "height", "camera")

Table = dict[str, list[Any]]
FindPicture = Callable[[JsonEntry], str | None]


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    suffix: str = ""  # what follows "instances_" in its name
    split: str = ""


@dataclass(frozen=True, slots=True)
class _Image:
    """The view an image is; `camera` as the views table has it, `extended` where the file tells more than COCO."""

    scene_id: str
    view_id: str
    split: str
    source: str
    camera: str | None
    extended: bool
    width: int
    height: int
    image: str | None
    extra: str | None


@dataclass(frozen=True, slots=True)
class _Index:
    """All entries of a file, checked as far as they point at each other."""

    images: dict[int, _Image]
    categories: dict[int, tuple[str, str]]  # name, supercategory
    annotations: dict[int, list[tuple[int, JsonEntry]]]  # by image
    owner: dict[int, int]  # annotation → image
    things: dict[int, dict[str, Any]]  # rows of the objects table, of annotations that tell more than COCO does
    views: dict[str, list[str]]  # by scene
    relations: dict[int, list[JsonEntry]]  # by image


def detect(path: Path) -> bool:
    """Whether the path looks like COCO instances: such a JSON file, or a folder with such files."""
    try:
        return all(is_instances(file.path) for file in _files(Path(path)))
    except (DataError, OSError):
        return False


def read(
    path: Path, *, images: Path | None = None, split: str = "", empty_boxes: Literal["error", "skip"] = "error"
) -> Iterator[Tables]:
    """Read COCO instances, about a thousand images at a time.

    Args:
        path: The JSON file; or a folder with one instances JSON; or a folder with annotations/instances_*.json,
            where the split of each file comes from its name (train2017 → train, val2017 → validation).
        images: The folder of the pictures, or its parent where that has a folder per file (``train2017``). The
            image reference is the absolute path of the picture, which must exist. Without `images` those that lie
            in COCO's own layout are taken (``val2017`` or ``images`` beside ``annotations``).
        split: Name of the split; for a folder of several files, which of them to read.
        empty_boxes: Whether a box of no width or height is an error, or such an annotation is left out.

    Raises:
        DataError: Naming file, entry (``annotation 17``), key, what was expected and what stood there.
    """
    if empty_boxes not in ("error", "skip"):
        raise ConfigError(f"empty_boxes is 'error' or 'skip', not {empty_boxes!r}")
    files = _files(Path(path))
    if split and len(files) > 1:
        splits = ", ".join(file.split for file in files)
        if not any(split in (file.split, file.suffix) for file in files):
            split = split_names([split])[0]  # val is validation
        files = [file for file in files if split in (file.split, file.suffix)]
        if not files:
            raise DataError(
                "no file for this split", file=path, field="split", expected=f"one of {splits}", found=split
            )
    for file in files:
        suffix = file.path.stem.removeprefix(_PREFIX)
        folders = picture_folders(file.path, suffix, None if images is None else Path(images))
        find = partial(picture, folders=folders, must_exist=images is not None)
        index = _index(file.path, find, split or file.split, skip_empty=empty_boxes == "skip")
        by_scene: dict[str, list[int]] = defaultdict(list)
        for number, image in index.images.items():
            by_scene[image.scene_id].append(number)
        scenes = iter(by_scene.values())
        while part := list(islice(scenes, _IMAGES_A_PART)):
            yield _tables(index, [number for numbers in part for number in numbers])


def _files(path: Path) -> list[_File]:
    """The instances files a path stands for; at least one."""
    if not path.is_dir():
        return [_File(path)]
    here = sorted(file for file in path.glob("*.json") if is_instances(file))
    if len(here) == 1:
        return [_File(here[0])]
    below = sorted((path / "annotations").glob(f"{_PREFIX}*.json"))
    if here or not below:
        expected = "one instances JSON, or annotations/instances_*.json"
        found = f"{len(here)} instances files"
        raise DataError("folder is not COCO instances", file=path, expected=expected, found=found)
    suffixes = [file.stem.removeprefix(_PREFIX) for file in below]
    return [_File(*parts) for parts in zip(below, suffixes, split_names(suffixes), strict=True)]


def is_instances(file: Path) -> bool:
    """Whether a file looks like COCO instances, and not like one of COCO's other files."""
    if names_keys(file, "segments_info") or names_keys(file, "regions", "occlude_rate"):
        return False
    return names_keys(file, "images", "annotations", "categories", any_of=True, lists=True)


def _index(file: Path, find: FindPicture, split: str, *, skip_empty: bool) -> _Index:
    content = load(file, ("images", "annotations", "categories"))
    if not isinstance(content.setdefault("relations", []), list):
        raise DataError("not a list", file=file, field="relations", found=type(content["relations"]).__name__)
    images = {
        number: _image(number, entry, find(entry), split) for number, entry in entries(content, "images", file)
    }
    index = _Index(
        images, categories(content, file), defaultdict(list), {}, {}, _views(file, images), defaultdict(list)
    )
    for number, entry in entries(content, "annotations", file):
        image = known(entry, "image_id", index.images)
        if not (skip_empty and is_empty(entry)):
            index.owner[number] = image
            if EXTENSION in entry.values and index.images[image].extended:
                index.things[number] = _thing(entry)
            index.annotations[image].append((number, entry))
    told: set[tuple[object, ...]] = set()
    for _, entry in entries(content, "relations", file):
        index.relations[known(entry, "image_id", index.images)].append(entry)
        key = _relation_key(entry)
        if key in told:
            ends = (entry.integer("subject_id"), entry.integer("object_id"))
            raise entry.error("relation stands twice", "subject_id, object_id", found=ends)
        told.add(key)
    return index


def _relation_key(entry: JsonEntry) -> tuple[object, ...]:
    """What may be said once: the answer to a 2.5D question, in either direction, or one of many predicates."""
    aspect = entry.text("aspect")
    ends = (entry.integer("subject_id"), entry.integer("object_id"))
    view = repr(entry.values.get("view"))
    if aspect in ASPECTS:
        return *sorted(ends), aspect, view
    return *ends, aspect, view, repr(entry.values.get("predicate"))


def _image(number: int, entry: JsonEntry, photo: str | None, split: str) -> _Image:
    width, height = image_size(entry)
    if EXTENSION not in entry.values:  # an image that tells nothing is a scene of its own
        scene, extra = f"{split}/{number}" if split else str(number), entry.rest(_IMAGE_KEYS)
        return _Image(scene, "0", split, "coco", None, False, width, height, photo, extra)
    inner = _inner(entry)
    scene, view = inner.text("scene"), inner.text("view")
    split, source = inner.text("split", default=split), inner.text("source", default="")
    camera = None if inner.values.get("camera") is None else _camera(inner, inner.values["camera"])
    return _Image(scene, view, split, source, camera, True, width, height, photo, None)


def _views(file: Path, images: Mapping[int, _Image]) -> dict[str, list[str]]:
    """The views of every scene; a DataError where one stands twice or they contradict each other."""
    views: dict[str, list[str]] = defaultdict(list)
    firsts: dict[str, _Image] = {}
    for number, image in images.items():
        row = f"image {number}"
        first = firsts.setdefault(image.scene_id, image)
        for name in ("split", "source"):
            expected, found = getattr(first, name), getattr(image, name)
            if expected != found:
                problem = f"views of one scene differ in {name}"
                raise DataError(problem, file=file, row=row, field=EXTENSION, expected=repr(expected), found=found)
        if image.view_id in views[image.scene_id]:
            raise DataError("view stands twice", file=file, row=row, field=EXTENSION, found=image.view_id)
        views[image.scene_id].append(image.view_id)
    return views


def _thing(entry: JsonEntry) -> dict[str, Any]:
    """Columns of the objects table that an annotation of ours tells."""
    inner = _inner(entry)
    attributes = inner.values.get("attributes", {})
    if not isinstance(attributes, dict) or not all(map(is_text, (*attributes, *attributes.values()))):
        raise inner.error("attributes are not words", f"{EXTENSION}.attributes", "an object of strings", attributes)
    pose = inner.values.get("pose")
    if pose is not None and len(inner.numbers(pose, f"{EXTENSION}.pose")) != 16:
        raise inner.error("pose is not a 4×4 matrix", f"{EXTENSION}.pose", "16 numbers", pose)
    return {
        "object_id": inner.text("object"),
        "attributes": dump(attributes, ascii_only=False) if attributes else None,
        "pose": None if pose is None else list(map(float, pose)),
        "shape": None if inner.values.get("shape") is None else inner.text("shape"),
    }


def _inner(entry: JsonEntry) -> JsonEntry:
    values = entry.values[EXTENSION]
    if not isinstance(values, dict):
        raise entry.error("not an object", EXTENSION, "a JSON object", values)
    return JsonEntry(entry.file, entry.row, values)


def _camera(inner: JsonEntry, given: Any) -> str:
    counts = {"k": 9, "world_to_camera": 12}
    if not isinstance(given, dict) or given.keys() != counts.keys():
        raise inner.error("not a camera", f"{EXTENSION}.camera", " and ".join(counts), given)
    for name, count in counts.items():
        if len(inner.numbers(given[name], f"{EXTENSION}.camera.{name}")) != count:
            raise inner.error("not a camera", f"{EXTENSION}.camera.{name}", f"{count} numbers", given[name])
    return dump({name: list(map(float, given[name])) for name in counts})


def _tables(index: _Index, numbers: Sequence[int]) -> Tables:
    """Scenes of some images."""
    views, objects, sightings, relations = (_columns(name) for name in SCHEMAS)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    seen: set[tuple[str, str, str]] = set()
    for number in numbers:
        image = index.images[number]
        _append(views, units="pixels", **{name: getattr(image, name) for name in _VIEW_COLUMNS})
        extra = image.extra
        for annotation, entry in index.annotations.get(number, ()):
            row = _object(annotation, entry, index, image, extra)
            key = (row["scene_id"], row["object_id"])
            if row != rows.setdefault(key, row):
                raise entry.error("object differs from view to view", EXTENSION, found=row["object_id"])
            if rows[key] is row:
                _append(objects, **row)
            if (*key, image.view_id) in seen:
                raise entry.error("object is seen twice in one view", EXTENSION, found=row["object_id"])
            seen.add((*key, image.view_id))
            _append(sightings, **_sighting(row["object_id"], entry, image))
            extra = None
        for entry in index.relations.get(number, ()):
            _append(relations, **_relation(entry, index, number))
    named = zip(SCHEMAS, (views, objects, sightings, relations), strict=True)
    return Tables(**{name: pl.DataFrame(columns, schema=SCHEMAS[name]) for name, columns in named})


def _columns(table: str) -> Table:
    return {name: [] for name in SCHEMAS[table]}


def _append(columns: Table, **values: Any) -> None:
    for name, column in columns.items():
        column.append(values.get(name))


def _object(number: int, entry: JsonEntry, index: _Index, image: _Image, extra: str | None) -> dict[str, Any]:
    category = known(entry, "category_id", index.categories)
    name, above = index.categories[category]
    if number in index.things:
        return {"scene_id": image.scene_id, "category": name, **index.things[number]}
    attributes = {"coco_id": str(number), "coco_category_id": str(category)}
    if above:
        attributes["supercategory"] = above
    if "area" in entry.values:
        if entry.number(entry.values["area"], "area") < 0:
            raise entry.error("area is negative", "area", "0 or more", entry.values["area"])
        attributes["coco_area"] = dump(entry.values["area"])
    rest = entry.rest(_ANNOTATION_KEYS)
    attributes |= {k: v for k, v in (("coco_extra", rest), ("coco_image", extra)) if v is not None}
    return {
        "scene_id": image.scene_id,
        "object_id": str(number),
        "category": name,
        "attributes": dump(attributes, ascii_only=False),
    }


def _sighting(object_id: str, entry: JsonEntry, image: _Image) -> dict[str, Any]:
    x0, y0, x1, y1 = box_of(entry, (image.width, image.height))
    crowd = entry.integer("iscrowd", high=1, default=0)
    posed = pose_texts(_inner(entry)) if image.extended and EXTENSION in entry.values else {}
    return {
        **posed,
        "scene_id": image.scene_id,
        "view_id": image.view_id,
        "object_id": object_id,
        "x0": x0,
        "y0": y0,
        "x1": x1,
        "y1": y1,
        "visible_mask": mask_of(entry, "segmentation", (image.width, image.height)),
        "amodal_mask": mask_of(entry, "amodal_segmentation", (image.width, image.height)),
        "occluded_fraction": entry.share("occluded_fraction"),
        "flags": sorted({*(["crowd"] if crowd else []), *entry.texts("flags")}),
    }


def _relation(entry: JsonEntry, index: _Index, image: int) -> dict[str, Any]:
    other = known(entry, "object_image_id", index.images) if "object_image_id" in entry.values else image
    for key, home in (("subject_id", image), ("object_id", other)):
        number = known(entry, key, index.owner)
        if index.owner[number] != home:
            raise entry.error("annotation is of another image", key, f"one of image {home}", number)
    aspect, votes = entry.text("aspect"), entry.texts("votes")
    predicate = None if entry.get("predicate") is None else entry.text("predicate")
    if aspect in ASPECTS:
        _check_answer(entry, aspect, predicate, votes)
    here, there = index.images[image].scene_id, index.images[other].scene_id
    subject, thing = (_object_id(index, entry.integer(key)) for key in ("subject_id", "object_id"))
    return {
        "scene_id": here,
        "subject": subject,
        "object": thing,
        "object_scene": None if here == there else there,
        "aspect": aspect,
        "predicate": predicate,
        "votes": votes,
        "view_id": _relation_view(entry, index, here),
    }


def _object_id(index: _Index, annotation: int) -> str:
    return index.things[annotation]["object_id"] if annotation in index.things else str(annotation)


def _relation_view(entry: JsonEntry, index: _Index, scene: str) -> str | None:
    if entry.values.get("view") is None:
        return None
    view, views = entry.text("view"), index.views[scene]
    if view not in views:
        raise entry.error("unknown view", "view", "one of " + ", ".join(views), view)
    return view


def _check_answer(entry: JsonEntry, aspect: str, predicate: str | None, votes: list[str]) -> None:
    """A 2.5D answer: of two objects, in the aspect's words, and what most raters said."""
    if entry.values["subject_id"] == entry.values["object_id"]:
        raise entry.error("object related to itself", "object_id", found=entry.values["object_id"])
    allowed = words(aspect)
    for field, said in (("predicate", [predicate] if predicate is not None else []), ("votes", votes)):
        for word in said:
            if word not in allowed:
                raise entry.error("label outside its range", field, "one of " + ", ".join(allowed), word)
    if votes:
        word, number = Counter(votes).most_common(1)[0]
        majority = word if 2 * number > len(votes) else None
        if predicate != majority:
            raise entry.error(
                "label is not the majority of its votes", "predicate", majority or "null", predicate or "null"
            )
