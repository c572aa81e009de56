"""Tables as a COCO instances JSON with relations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes.types import Landmark
from sightline.store.blobs import blob_path
from sightline.store.convert import landmarks_from
from sightline.store.formats.jsonio import write_json
from sightline.store.tables import Tables
from sightline.text import counted

_MOST_DECIMALS: Final = 15


def write(tables: Tables | Iterable[Tables], path: Path) -> None:
    """Write all views as images, sightings as annotations and relations as the extension, in table order.

    Ids that came from COCO are kept where all are there and unique, else counted from 1. Masks are written as
    compressed run lengths. A picture kept in the dataset is named by its path below the dataset's ``images``.
    Landmarks are also written as keypoints: 2 seen, 1 hidden, 0 without a place in the picture. Objects that no
    view shows are left out, with their relations.

    Args:
        tables: Scenes; every view needs its size in pixels, normalised boxes are scaled by it.
        path: The file; replaced as a whole or not touched.

    Raises:
        DataError: Where a view has no size or the tables contradict themselves.
    """
    whole = tables if isinstance(tables, Tables) else Tables.concat(tables)
    facts = _facts(whole.objects)
    images = _images(whole.views, facts)
    categories, category_of = _categories(whole.objects, facts)
    annotations, place_of = _annotations(whole, facts, images, category_of)
    _name_keypoints(categories, annotations)
    content: dict[str, Any] = {
        "images": list(images.values()),
        "annotations": annotations,
        "categories": categories,
    }
    if whole.relations.height:
        content["relations"] = _relations(whole, place_of)
    write_json(Path(path), content)


def left_out(tables: Tables) -> list[str]:
    """What scenes hold that a COCO file does not."""
    seen = tables.objects.join(tables.sightings, on=["scene_id", "object_id"], how="anti").height
    plain = tables.views.filter(pl.col("source").is_in(PLAIN)).select("scene_id").unique()
    posed = tables.sightings.join(plain, on="scene_id")["viewpoint"].count()
    return [counted(n, thing) for thing, n in (("boxless object", seen), ("viewpoint", posed)) if n]


Key = tuple[str, str]  # (scene id, object id) or (scene id, view id)
Facts = dict[Key, dict[str, str]]
Places = dict[tuple[str, str, str | None], tuple[int, int]]
"""(scene id, object id, view id) → (annotation id, image id); view None is the first that shows the object."""

EXTENSION: Final = "sightline"
"""Key of an image or annotation under which stands what COCO has no place for."""

PLAIN: Final = ("", "coco")
"""Sources whose scenes are written with COCO's own keys alone."""

_SEEN: Final = {"visible": 2, "self_occluded": 1, "occluded": 1}
"""State of a landmark → COCO's of a keypoint; 0 for all others."""


def _facts(objects: pl.DataFrame) -> Facts:
    """Attributes of every object."""
    rows = objects.select("scene_id", "object_id", "attributes").iter_rows()
    return {(scene, number): json.loads(text) if text else {} for scene, number, text in rows}


def _images(views: pl.DataFrame, facts: Facts) -> dict[Key, dict[str, Any]]:
    """The image entry of every view."""
    extra = {scene: json.loads(fact["coco_image"]) for (scene, _), fact in facts.items() if "coco_image" in fact}
    rows = views.to_dicts()
    tails = [row["scene_id"].rsplit("/", 1)[-1] for row in rows]
    numbers = _own_numbers(tails)
    images = {}
    for number, row in zip(numbers, rows, strict=True):
        if row["width"] is None or row["height"] is None:
            raise DataError(
                "COCO needs the image size, which the source never told", row=row["scene_id"], field="size"
            )
        entry = {"id": number, "width": row["width"], "height": row["height"]}
        entry |= {"file_name": _file_name(row["image"])} if row["image"] else {}
        entry |= extra.get(row["scene_id"], {})
        entry |= {EXTENSION: _view(row)} if _is_extended(row["source"]) else {}
        images[row["scene_id"], row["view_id"]] = entry
    return images


def _file_name(ref: str) -> str:
    """Of a picture: below ``images`` for a blob, else the file's own name.

    >>> _file_name("blob:1f3d.png"), _file_name("/photos/7.jpg")
    ('1f/1f3d.png', '7.jpg')
    """
    return blob_path(ref) or Path(ref).name


def _is_extended(source: str) -> bool:
    """Whether scenes have more to tell than COCO's own keys; what came from COCO goes out as it came."""
    return source not in PLAIN


def _view(row: dict[str, Any]) -> dict[str, Any]:
    view = {"scene": row["scene_id"], "view": row["view_id"], "split": row["split"], "source": row["source"]}
    return view | ({"camera": json.loads(row["camera"])} if row["camera"] else {})


def _own_numbers(given: list[str | None]) -> list[int]:
    """The given ids as integers if all are and differ, else counted from 1.

    >>> _own_numbers(["7", "3"]), _own_numbers(["7", "7"]), _own_numbers(["a", None])
    ([7, 3], [1, 2], [1, 2])
    """
    numbers = [int(text) for text in given if text and text.isascii() and text.isdigit() and len(text) < 19]
    kept = len(numbers) == len(given) == len(set(numbers))
    return numbers if kept else list(range(1, len(given) + 1))


def _categories(objects: pl.DataFrame, facts: Facts) -> tuple[list[dict[str, Any]], dict[Key, int]]:
    """The category entries by id, and the category id of every object."""
    kinds = {
        (scene, number): (name, facts[scene, number].get("coco_category_id"))
        for scene, number, name in objects.select("scene_id", "object_id", "category").iter_rows()
    }
    distinct = sorted(set(kinds.values()), key=lambda kind: (kind[0], kind[1] or ""))
    ids = dict(zip(distinct, _own_numbers([kind[1] for kind in distinct]), strict=True))
    above = {kinds[key]: facts[key].get("supercategory") for key in kinds}
    entries = [
        {"id": ids[kind], "name": kind[0]} | ({"supercategory": above[kind]} if above[kind] else {})
        for kind in distinct
    ]
    return sorted(entries, key=lambda entry: entry["id"]), {key: ids[kind] for key, kind in kinds.items()}


def _annotations(
    tables: Tables, facts: Facts, images: dict[Key, dict[str, Any]], category_of: dict[Key, int]
) -> tuple[list[dict[str, Any]], Places]:
    """The annotation entries, and where each object is seen."""
    units = dict(zip(images, tables.views["units"], strict=True))
    rows = tables.sightings.to_dicts()
    for row in rows:
        if (row["scene_id"], row["object_id"]) not in facts or (row["scene_id"], row["view_id"]) not in images:
            raise DataError("sighting of an unknown object or view", row=row["scene_id"], found=row["object_id"])
    numbers = _own_numbers([facts[row["scene_id"], row["object_id"]].get("coco_id") for row in rows])
    entries: list[dict[str, Any]] = []
    things = {(row["scene_id"], row["object_id"]): row for row in tables.objects.to_dicts()}
    place_of: Places = {}
    for number, row in zip(numbers, rows, strict=True):
        key, view = (row["scene_id"], row["object_id"]), (row["scene_id"], row["view_id"])
        for seen_in in (None, row["view_id"]):
            place_of.setdefault((*key, seen_in), (number, images[view]["id"]))
        start = {"id": number, "image_id": images[view]["id"], "category_id": category_of[key]}
        entries.append(start | _annotation(row, facts[key], images[view], normalised=units[view] == "normalised"))
        if EXTENSION in images[view]:
            posed = {name: json.loads(row[name]) for name in ("viewpoint", "landmarks") if row[name]}
            entries[-1][EXTENSION] = _thing(things[key], facts[key]) | posed
    return entries, place_of


def _thing(row: dict[str, Any], fact: dict[str, str]) -> dict[str, Any]:
    thing = {"object": row["object_id"], "attributes": fact, "pose": row["pose"], "shape": row["shape"]}
    return {name: value for name, value in thing.items() if value}


def _annotation(
    row: dict[str, Any], fact: dict[str, str], image: dict[str, Any], *, normalised: bool
) -> dict[str, Any]:
    across, down = (image["width"], image["height"]) if normalised else (1.0, 1.0)
    x0, y0, x1, y1 = row["x0"] * across, row["y0"] * down, row["x1"] * across, row["y1"] * down
    box = [x0, y0, extent(x0, x1), extent(y0, y1)]
    rle = row["visible_mask"]
    if rle is None:
        area: Any = box[2] * box[3]
        segmentation: Any = []
    else:
        area = masks.area(masks.check(masks.decompress(rle), image["height"], image["width"]))
        segmentation = _run_lengths(rle, image)
    whole, hidden = row["amodal_mask"], row["occluded_fraction"]
    flags = [flag for flag in row["flags"] if flag != "crowd"]
    return {
        "bbox": box,
        "area": json.loads(fact["coco_area"]) if "coco_area" in fact else area,
        "iscrowd": int("crowd" in row["flags"]),
        "segmentation": segmentation,
        **({} if whole is None else {"amodal_segmentation": _run_lengths(whole, image)}),
        **({} if hidden is None else {"occluded_fraction": hidden}),
        **({"flags": flags} if flags else {}),
        **(
            {"keypoints": {mark.name: mark for mark in landmarks_from(row["landmarks"])}}
            if row["landmarks"]
            else {}
        ),
        **(json.loads(fact["coco_extra"]) if "coco_extra" in fact else {}),
    }


def _name_keypoints(categories: Iterable[dict[str, Any]], annotations: Sequence[dict[str, Any]]) -> None:
    """Turn landmarks by name into COCO's lists of x, y and state, in the order of the category's ``keypoints``."""
    names: dict[int, dict[str, None]] = {}
    for entry in annotations:
        names.setdefault(entry["category_id"], {}).update(dict.fromkeys(entry.get("keypoints", ())))
    for category in categories:
        if names.get(category["id"]):
            category |= {"keypoints": list(names[category["id"]]), "skeleton": []}
    for entry in annotations:
        listed = names[entry["category_id"]]
        marks = [entry["keypoints"].get(name) for name in listed] if "keypoints" in entry else []
        triples = [_keypoint(mark) for mark in marks]
        if triples:
            entry["keypoints"] = [number for triple in triples for number in triple]
            entry["num_keypoints"] = sum(state > 0 for _, _, state in triples)


def _keypoint(mark: Landmark | None) -> tuple[float, float, int]:
    state = 0 if mark is None or mark.x is None else _SEEN.get(mark.state, 0)
    return (mark.x or 0.0, mark.y or 0.0, state) if mark is not None and state else (0.0, 0.0, 0)


def _run_lengths(rle: bytes, image: dict[str, Any]) -> dict[str, Any]:
    return {"size": [image["height"], image["width"]], "counts": rle.decode("ascii")}


def extent(low: float, high: float) -> float:
    """The shortest decimal that added to `low` gives `high` again, so that 0.1 + 0.2 comes back as it was written.

    >>> extent(0.1, 0.1 + 0.2), 0.1 + 0.2 - 0.1
    (0.2, 0.20000000000000004)
    """
    difference = high - low
    for decimals in range(_MOST_DECIMALS):
        short = round(difference, decimals)
        if low + short == high:
            return short
    return difference


def _relations(tables: Tables, place_of: Places) -> list[dict[str, Any]]:
    known = set(tables.objects.select("scene_id", "object_id").iter_rows())
    entries: list[dict[str, Any]] = []
    for row in tables.relations.iter_rows(named=True):
        ends = (row["scene_id"], row["subject"]), (row["object_scene"] or row["scene_id"], row["object"])
        for end in ends:
            if end not in known:
                raise DataError("relation of an unknown object", row=end[0], field="relations", found=end[1])
        places = [place_of.get((*end, row["view_id"]), place_of.get((*end, None))) for end in ends]
        if places[0] is None or places[1] is None:
            continue
        (subject, image), (other, other_image) = places[0], places[1]
        entry = {"id": len(entries) + 1, "image_id": image, "subject_id": subject, "object_id": other}
        entry |= {name: row[name] for name in ("aspect", "predicate", "votes")}
        entry |= {"object_image_id": other_image} if other_image != image else {}
        entries.append(entry | ({"view": row["view_id"]} if row["view_id"] else {}))
    return entries
