"""Small made-up pictures of coloured rectangles on a road, and models that know them, for the context exam."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.edits import FillRequest, Removal
from sightline.exams.context.items import ContextItem, edits_of
from sightline.exams.context.records import ASK, RECORDS
from sightline.exams.run import RunRecords
from sightline.exams.run_schema import parse_records
from sightline.geometry.masks import encode
from sightline.scenes import Object, Scene, Sighting, View
from sightline.skills import Asked, ClassScores, LabelMaps
from sightline.store import Dataset, write_scenes

STUFF = ("road", "sidewalk")
COLOURS = {"car": (200, 60, 40), "sign": (60, 90, 200), "tree": (40, 150, 60), "bench": (190, 150, 60)}
CLASSES = tuple(sorted(COLOURS))
Rectangle = tuple[str, int, int, int, int]
"""Class, left, top, width, height."""


def made_scene(
    name: str, rectangles: Sequence[Rectangle], size: tuple[int, int] = (12, 8), split: str = ""
) -> Scene:
    """A picture of rectangles, later ones in front, on a road whose right third is a sidewalk."""
    width, height = size
    pixels = np.full((height, width, 3), 120, np.uint8)
    stuff = np.ones((height, width), np.uint8)
    stuff[:, 2 * width // 3 :] = 2
    pixels[stuff == 2] = 170
    ids = np.zeros((height, width), np.int32)
    for i, (category, x, y, w, h) in enumerate(rectangles, start=1):
        ids[y : y + h, x : x + w] = i
        pixels[y : y + h, x : x + w] = COLOURS[category]
    stuff[ids > 0] = 0
    objects, sightings = [], []
    for i, (category, x, y, w, h) in enumerate(rectangles, start=1):
        mask = ids == i
        objects.append(Object(f"{i}", category))
        if mask.any():
            box = (float(x), float(y), float(x + w), float(y + h))
            sightings.append(Sighting("main", f"{i}", box, visible_mask=encode(mask)))
    view = View(
        "main",
        size=size,
        stuff_classes=STUFF,
        load_image=lambda: pixels,
        load_ids=lambda: ids,
        load_stuff=lambda: stuff,
    )
    return Scene(name, split, "made", (view,), tuple(objects), tuple(sightings))


def made_item(scene: Scene) -> ContextItem:
    """The item of a scene with one view."""
    things = {thing.id: thing.category for thing in scene.objects}
    classes = sorted({things[seen.object_id] for seen in scene.sightings})
    view = scene.views[0]
    return ContextItem(scene.id, scene, replace(view.without_truth(), id=scene.id), view, tuple(classes))


class Grey:
    """Fills holes with one grey."""

    name = "grey"

    def fill(self, request: FillRequest) -> NDArray[np.uint8]:
        return np.full_like(request.pixels, 128)


@dataclass
class Table:
    """Says of each picture what a function says of its id; classes are its own, in any order."""

    say: Callable[[str, str], Any]
    classes: tuple[str, ...] = CLASSES

    def classify(self, views: Sequence[View]) -> ClassScores:
        return ClassScores(self.classes, np.array([[self.say(v.id, c) for c in self.classes] for v in views]))

    def segment(self, views: Sequence[View]) -> LabelMaps:
        return LabelMaps(self.classes, tuple(self.say(v.id, "") for v in views))

    def answer(self, asked: Asked) -> str:
        return str(self.say(asked.view.id, asked.question["class"]))


def records_of(
    items: Sequence[ContextItem], model: Any, skill: str, removal: Removal, *, controls: bool = False
) -> RunRecords:
    """Ask a model about items and read the records as a run on disk has them."""
    lines = []
    for item in items:
        edits = edits_of(item, removal, Grey(), controls=controls)
        known = (*CLASSES, *STUFF) if skill == "segment" else CLASSES
        marks = ASK[skill](model, edits, known, None)
        line = {"item": item.id, "scene_id": item.scene_id, "cluster_id": item.cluster_id, **marks.shared}
        lines.append(json.dumps(line | {"records": dict(marks.columns)}, allow_nan=False))
    text = "".join(f"{line}\n" for line in lines).encode()
    path = Path("records.jsonl")
    return RunRecords(*parse_records(text, path, RECORDS), path)


def made_scenes(count: int, *, splits: bool = False) -> list[Scene]:
    """So many pictures of one to four classes that do not overlap; where there is a car there is mostly a sign."""
    made = []
    for number in range(count):
        rng = np.random.default_rng([3, number])
        present = ["car", "sign"] if rng.random() < 0.6 else [str(rng.choice(CLASSES))]
        present += [str(name) for name in rng.permutation(["tree", "bench"])[: rng.integers(0, 3)]]
        spots = rng.permutation(4)
        sizes = rng.integers(4, 8, (4, 2))
        rectangles = [
            (name, int(2 + 12 * spots[i]), int(3 + 10 * (i % 2)), int(sizes[i][0]), int(sizes[i][1]))
            for i, name in enumerate(dict.fromkeys(present))
        ]
        split = ("train", "val")[number % 2] if splits else ""
        made.append(made_scene(f"p{number:03}", rectangles, (48, 32), split))
    return made


def scenes(folder: Path, count: int = 24, *, splits: bool = False) -> Dataset:
    """The same, stored."""
    return write_scenes(made_scenes(count, splits=splits), folder, source="made")
