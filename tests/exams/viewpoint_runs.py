"""Small made-up scenes with viewpoints, and models that know them more or less, for tests of the viewpoint exam."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sightline.exams.base import Candidate
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.exams.viewpoint.exam import BASELINES, ViewpointExam
from sightline.geometry import Viewpoint, project
from sightline.models.registry import candidate
from sightline.scenes import Landmark, Object, Scene, Sighting, View
from sightline.skills import BoxedObjects, Detections, ViewAngles
from sightline.store import Dataset, write_scenes

SIZE = (160, 120)
CORNERS = np.array([(x, y, z) for x in (-0.18, 0.18) for y in (-0.42, 0.42) for z in (-0.2, 0.2)])
"""A long box, its front −y; its corners are its landmarks."""
CLASSES = ("bus", "bottle", "chair")


def scene(number: int, split: str = "", *, photo: bool = True) -> Scene:
    """One or two boxes beside each other, seen from anywhere; most buses from the front."""
    rng = np.random.default_rng([5, number])
    objects, sightings = [], []
    pixels = np.full((SIZE[1], SIZE[0], 3), 225, np.uint8)
    for place in range(1 + number % 2):
        category = CLASSES[(number + place) % 3]
        azimuth = rng.normal(0, 25) if category == "bus" else rng.uniform(0, 360)
        view = Viewpoint(
            float(azimuth % 360),
            float(rng.uniform(0, 30)),
            60.0,
            float(rng.normal(0, 2)),
            (45.0 + 70 * place, 60.0),
        )
        marks = project(CORNERS, view)
        low, high = marks.min(axis=0), marks.max(axis=0)
        x0, y0, x1, y1 = (int(v) for v in (*low, *np.ceil(high)))
        pixels[max(y0, 0) : y1, max(x0, 0) : x1] = (200, 170, 90) if category == "bus" else (110, 150, 190)
        hidden = rng.random() < 0.4
        states = ["occluded" if hidden and k < 4 * rng.integers(1, 3) else "visible" for k in range(8)]
        landmarks = [
            Landmark(f"corner_{k}", float(x), float(y), state)  # type: ignore[arg-type]
            for k, ((x, y), state) in enumerate(zip(marks, states, strict=True))
        ]
        turns = {"bottle": "0", "chair": "1", "bus": "2"}[category]
        objects.append(Object(f"{place}", category, {"symmetry": turns}))
        flags = frozenset({"difficult"}) if number % 7 == 0 else frozenset()
        box = (float(x0), float(y0), float(x1), float(y1))
        sightings.append(Sighting("main", f"{place}", box, flags=flags, landmarks=tuple(landmarks), viewpoint=view))
    load = (lambda: pixels) if photo else None
    main = View("main", size=SIZE, load_image=load)
    return Scene(f"s{number:03}", split, "made", (main,), tuple(objects), tuple(sightings))


def scenes(folder: Path, count: int = 24, *, splits: bool = False) -> Dataset:
    """So many scenes, alternately of the splits train and val where they are wanted."""
    made = [scene(i, ("train", "val")[i % 2] if splits else "") for i in range(count)]
    return write_scenes(made, folder, source="made")


class Knows:
    """Knows the viewpoint of given boxes but for some noise, and takes front for back now and then."""

    name = "knows"

    def __init__(self, data: Dataset, noise: float = 8.0, flips: float = 0.15) -> None:
        self.noise, self.flips = noise, flips
        self.items = {item.id: item for item in ViewpointExam().items(data)}

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        item = self.items[objects.view.id]
        rng = np.random.default_rng([1, *objects.view.id.encode()])
        angles = item.angles[item.asked] + rng.normal(0, self.noise, (len(objects), 3))
        angles[:, 0] += 180 * (rng.random(len(objects)) < self.flips)
        return ViewAngles(angles)

    def facts(self) -> dict[str, object]:
        return {"noise": self.noise}


class Finds(Knows):
    """Finds the objects too, a little beside, and one thing that is not there in every picture."""

    name = "finds"

    def detect(self, view: View) -> Detections:
        item = self.items[view.id]
        said = self.viewpoint(replace(item.boxed(), boxes=item.boxes)).angles
        boxes = np.vstack([item.boxes + 0.01, [[0.0, 0.0, 0.1, 0.1]]])
        scores = np.append(0.9 - 0.1 * np.arange(len(item.boxes)), 0.5)
        angles = np.vstack([said, [[0.0, 0.0, 0.0]]])
        return Detections(boxes, scores, (*item.categories, "bus"), angles=angles)


def runs(data: Dataset, folder: Path, *models: Knows, **options: object) -> list[Run]:
    """Finished runs of the blind priors, in given boxes, and of our own models."""
    exam = ViewpointExam(**options)  # type: ignore[arg-type]
    priors = BASELINES if exam.boxes == "given" else ()
    sat = [candidate(spec) for spec in priors]
    sat += [Candidate(f"mine.py:{model.name}", model.name, model) for model in models]
    return [run_exam(exam, who, data, folder / who.name) for who in sat]
