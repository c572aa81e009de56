"""Small datasets and runs of the relations exam: two simulated settings, blind rules, models of our own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from sightline.exams.base import Candidate
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.simulation import simulated_tables
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.models.registry import candidate
from sightline.scenes import View
from sightline.skills import Detections, Judgements, Pairs
from sightline.store import Dataset, Tables

HOSTILE = "<img src=x onerror=alert(1)>\"&'</script>{{ 7*7 }}"


class Contrary:
    """Says the lower box is farther, now and then nothing; finds every object a little off."""

    def __init__(self, name: str = "contrary", boxes: dict[str, np.ndarray] | None = None) -> None:
        self.name = name
        self.boxes = boxes or {}

    def relate(self, pairs: Pairs) -> Judgements:
        lower = pairs.boxes_a[:, 3] > pairs.boxes_b[:, 3]
        depth = np.where(lower, 2, 1).astype(np.int8)
        depth[::7] = -1
        depth[3::11] = 0
        return Judgements(depth, np.zeros(len(pairs), dtype=np.int8))

    def detect(self, view: View) -> Detections:
        boxes = np.clip(self.boxes[view.id] + 0.01, 0.0, 1.0)
        return Detections(boxes, np.linspace(1.0, 0.5, len(boxes)), ("thing",) * len(boxes))

    def facts(self) -> dict[str, object]:
        return {"margin": 0.12345678, "about": HOSTILE}


class Mute:
    """Never answers."""

    name = "mute"

    def relate(self, pairs: Pairs) -> Judgements:
        silent = np.full(len(pairs), -1, dtype=np.int8)
        return Judgements(silent, silent)


def dataset(folder: Path, images: int = 16, *, category: str | None = None, setting: str | None = None) -> Dataset:
    """A simulated dataset in memory; optionally with one class renamed, or one setting only."""
    tables = simulated_tables(images=images, seed=3)
    if category is not None:
        objects = tables.objects.with_columns(pl.col("category").replace({"/sim/person": category}))
        tables = Tables(tables.views, objects, tables.sightings, tables.relations)
    if setting is not None:
        kept = tables.views.filter(pl.col("source") == setting).select("scene_id").unique()
        tables = Tables(**{name: frame.join(kept, on="scene_id", how="semi") for name, frame in tables.frames()})
    return Dataset.from_tables(tables, folder)


def boxes_by_scene(data: Dataset) -> dict[str, np.ndarray]:
    """All boxes of every scene, fractions of the image."""
    return {
        str(key[0]): part.select("x0", "y0", "x1", "y1").to_numpy()
        for key, part in data.tables().sightings.group_by("scene_id", maintain_order=True)
    }


def runs(
    data: Dataset, folder: Path, specs: Sequence[str] = ("majority", "bottom_edge"), *models: object
) -> list[Run]:
    """Finished runs of built-in models and of our own."""
    sat = [candidate(spec) for spec in specs]
    sat += [Candidate(f"mine.py:{model.name}", model.name, model) for model in models]  # type: ignore[attr-defined]
    return [run_exam(RelationsExam(), who, data, folder / str(i)) for i, who in enumerate(sat)]
