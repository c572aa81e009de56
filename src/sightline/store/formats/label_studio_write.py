"""Views as tasks of Label Studio: boxes with their class and relations between them, to be looked at or mended.

A folder with ``tasks.json`` to import, ``interface.xml`` to paste as the labelling interface, and ``images``.
Photos are named as Label Studio serves local files: start it with
``LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true`` and ``LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT`` set to the folder.
Where a detector found something in a photo (objects with a ``score``) all its boxes come as predictions, else as
annotations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

from sightline.files import staged_folder
from sightline.scenes import Object
from sightline.store.blobs import Blobs
from sightline.store.formats.jsonio import write_json
from sightline.store.formats.labelled import ExportedView, exported_views, unshown_relations
from sightline.store.tables import Tables
from sightline.text import counted

_TASKS: Final = "tasks.json"
_SERVED: Final = "/data/local-files/?d="
_BOXES, _PHOTO = "boxes", "photo"
_UNDECIDED: Final = "undecided"
"""Label of a relation about which the raters found no majority."""

Entry = dict[str, Any]


def write(tables: Tables | Iterable[Tables], path: str | Path, *, blobs: Blobs | None = None) -> None:
    """Write a folder with ``tasks.json``, ``interface.xml`` and, where the dataset keeps photos, ``images``.

    Args:
        tables: Scenes; boxes in pixels need the image's size.
        path: The folder, which must not exist or be empty; it appears whole or not at all.
        blobs: Where the pictures are.
    """
    whole = tables if isinstance(tables, Tables) else Tables.concat(tables)
    predicates = {predicate or _UNDECIDED for predicate in whole.relations["predicate"]}
    with staged_folder(path, owned=(), marker=_TASKS, overwrite=False) as stage:
        tasks = []
        for number, shown in enumerate(exported_views(whole, blobs), start=1):
            photo = shown.copy_photo(stage / "images")
            tasks.append(_task(shown, number, f"images/{photo}" if photo else None))
        write_json(stage / _TASKS, tasks)
        tree = ElementTree.ElementTree(_interface(sorted(set(whole.objects["category"])), sorted(predicates)))
        ElementTree.indent(tree)
        tree.write(stage / "interface.xml", encoding="utf-8")


def left_out(tables: Tables) -> list[str]:
    """What scenes hold that boxes with relations cannot tell; relations are those that no single photo shows."""
    boxes = tables.sightings
    boxless = tables.objects.join(boxes, on=["scene_id", "object_id"], how="anti").height
    lost = {"boxless object": boxless, "mask": sum(boxes[m].count() for m in ("visible_mask", "amodal_mask"))}
    lost |= {"relation": unshown_relations(tables), "viewpoint": boxes["viewpoint"].count()}
    lost |= {"object with landmark": boxes["landmarks"].count(), "pose": tables.objects["pose"].count()}
    lost |= {"camera": tables.views["camera"].count(), "depth map": tables.views["depth"].count()}
    return [counted(n, thing) for thing, n in lost.items() if n]


def _task(shown: ExportedView, number: int, photo: str | None) -> Entry:
    regions = {seen.object_id: _region(shown, index) for index, seen in enumerate(shown.sightings)}
    links = [
        _link(regions[r.subject]["id"], regions[r.object]["id"], r.predicate or _UNDECIDED) for r in shown.relations
    ]
    result = [*regions.values(), *links]
    facts = {"scene": shown.scene.id, "view": shown.view.id, "split": shown.scene.split}
    task: Entry = {"id": number, "data": ({"image": _SERVED + quote(photo)} if photo else {}) | facts}
    if any("score" in region for region in regions.values()):
        task["predictions"] = [{"model_version": shown.scene.source, "result": result}]
    else:
        task["annotations"] = [{"result": result}]
    return task


def _score(thing: Object) -> float | None:
    """What a detector gave an object; None where no detector found it."""
    try:
        score = float(thing.attributes["score"])
    except (KeyError, ValueError):
        return None
    return score if math.isfinite(score) else None


def _region(shown: ExportedView, index: int) -> Entry:
    """A box in per cent of the image."""
    seen = shown.sightings[index]
    thing, size = shown.scene.object(seen.object_id), shown.view.size
    x0, y0, x1, y1 = shown.box(seen, normalised=size is None)
    wide, high = size or (1, 1)
    value: Entry = {"x": _per_cent(x0, wide), "y": _per_cent(y0, high)}
    value |= {"width": _per_cent(x1 - x0, wide), "height": _per_cent(y1 - y0, high), "rotation": 0}
    value["rectanglelabels"] = [thing.category]
    score = _score(thing)
    return {
        "id": f"{shown.name}-{index}",
        "type": "rectanglelabels",
        "from_name": _BOXES,
        "to_name": _PHOTO,
        **({"original_width": size[0], "original_height": size[1], "image_rotation": 0} if size else {}),
        **({} if score is None else {"score": score}),
        "value": value,
        "meta": {"text": [f"object {seen.object_id}", *sorted(seen.flags)]},
    }


def _per_cent(length: float, whole: int) -> float:
    """A length in per cent of a side, never a hair too short: Label Studio's converter cuts off parts of a pixel.

    >>> int(_per_cent(102, 320) / 100 * 320)
    102
    """
    share = 100 * length / whole
    while share / 100 * whole < length:
        share = math.nextafter(share, math.inf)
    return share


def _link(subject: str, other: str, predicate: str) -> Entry:
    return {"type": "relation", "from_id": subject, "to_id": other, "direction": "right", "labels": [predicate]}


def _interface(categories: Iterable[str], predicates: Iterable[str]) -> ElementTree.Element:
    root = ElementTree.Element("View")
    relations = ElementTree.SubElement(root, "Relations")
    for predicate in predicates:
        ElementTree.SubElement(relations, "Relation", value=predicate)
    ElementTree.SubElement(root, "Image", name=_PHOTO, value="$image")
    labels = ElementTree.SubElement(root, "RectangleLabels", name=_BOXES, toName=_PHOTO)
    for category in categories:
        ElementTree.SubElement(labels, "Label", value=category)
    return root
