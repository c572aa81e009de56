"""What a COCO file of ours tells beyond COCO: which images are views of one scene, and what the objects are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightline.errors import DataError
from sightline.store.formats.coco_entries import Entry, dump, is_text
from sightline.store.formats.coco_write import EXTENSION


@dataclass(frozen=True, slots=True)
class Place:
    """The view an image is.

    Attributes:
        camera: JSON as the views table has it, or None.
        extended: Whether the file told, or the scene is made of the image alone.
    """

    scene: str
    view: str
    split: str
    source: str
    camera: str | None = None
    extended: bool = False


@dataclass(frozen=True, slots=True)
class Thing:
    """The object an annotation is of."""

    id: str
    attributes: str | None
    pose: tuple[float, ...] | None
    shape: str | None

    def row(self) -> dict[str, Any]:
        """Columns of the objects table."""
        pose = None if self.pose is None else list(self.pose)
        return {"object_id": self.id, "attributes": self.attributes, "pose": pose, "shape": self.shape}


def place_of(entry: Entry, number: int, split: str) -> Place:
    """The view of an image entry; an image that tells nothing is a scene of its own."""
    if EXTENSION not in entry.values:
        return Place(f"{split}/{number}" if split else str(number), "0", split, "coco")
    told = _inner(entry)
    camera = told.values.get("camera")
    return Place(
        told.text("scene"),
        told.text("view"),
        told.text("split", default=split),
        told.text("source", default=""),
        None if camera is None else _camera(told, camera),
        extended=True,
    )


def views_of(file: Path, places: Mapping[int, Place]) -> dict[str, list[str]]:
    """The views of every scene; a DataError where one stands twice or they contradict each other."""
    views: dict[str, list[str]] = defaultdict(list)
    homes: dict[str, Place] = {}
    for number, place in places.items():
        home = homes.setdefault(place.scene, place)
        for name in ("split", "source"):
            expected, found = getattr(home, name), getattr(place, name)
            if expected != found:
                raise DataError(
                    f"views of one scene differ in {name}",
                    file=file,
                    row=f"image {number}",
                    field=EXTENSION,
                    expected=repr(expected),
                    found=found,
                )
        if place.view in views[place.scene]:
            raise DataError(
                "view stands twice", file=file, row=f"image {number}", field=EXTENSION, found=place.view
            )
        views[place.scene].append(place.view)
    return views


def thing_of(entry: Entry) -> Thing:
    """The object of an annotation entry."""
    told = _inner(entry)
    attributes = told.values.get("attributes", {})
    if not isinstance(attributes, dict) or not all(map(is_text, (*attributes, *attributes.values()))):
        raise told.error("attributes are not words", f"{EXTENSION}.attributes", "an object of strings", attributes)
    pose = told.values.get("pose")
    if pose is not None and len(told.numbers(pose, f"{EXTENSION}.pose")) != 16:
        raise told.error("pose is not a 4×4 matrix", f"{EXTENSION}.pose", "16 numbers", pose)
    return Thing(
        told.text("object"),
        dump(attributes, ascii_only=False) if attributes else None,
        None if pose is None else tuple(map(float, pose)),
        None if told.values.get("shape") is None else told.text("shape"),
    )


def _inner(entry: Entry) -> Entry:
    values = entry.values[EXTENSION]
    if not isinstance(values, dict):
        raise entry.error("not an object", EXTENSION, "a JSON object", values)
    return Entry(entry.file, entry.row, values)


def _camera(told: Entry, given: Any) -> str:
    counts = {"k": 9, "world_to_camera": 12}
    if not isinstance(given, dict) or given.keys() != counts.keys():
        raise told.error("not a camera", f"{EXTENSION}.camera", " and ".join(counts), given)
    for name, count in counts.items():
        if len(told.numbers(given[name], f"{EXTENSION}.camera.{name}")) != count:
            raise told.error("not a camera", f"{EXTENSION}.camera.{name}", f"{count} numbers", given[name])
    return dump({name: list(map(float, given[name])) for name in counts})
