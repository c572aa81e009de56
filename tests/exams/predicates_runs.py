"""Small generated scenes and made-up models for tests of the predicates card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.base import Candidate
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.generation import generate
from sightline.models.registry import candidate
from sightline.skills import Queries, Verdicts
from sightline.store import Dataset, Tables

BLIND = ("predicates_majority", "shape_prior")


def scenes(folder: Path, count: int = 8) -> Dataset:
    """Two small views a scene."""
    return generate(
        "geospa/val_default",
        folder,
        scenes=count,
        views=("original", "top"),
        seed=5,
        size=(120, 80),
        depth=None,
        canonical=2,
    )


def renamed(data: Dataset, category: str) -> Dataset:
    """The same scenes in memory, every object of another class."""
    tables = data.tables()
    objects = tables.objects.with_columns(pl.lit(category).alias("category"))
    return Dataset.from_tables(Tables(tables.views, objects, tables.sightings, tables.relations), data.path)


class Noisy:
    """Knows the truth, says the opposite now and then, sometimes that it cannot say; the first scene all right."""

    def __init__(self, data: Dataset, name: str = "noisy", *, wrong: float = 0.1, unknown: float = 0.03) -> None:
        self.name, self.wrong, self.unknown = name, wrong, unknown
        self.truth = {item.id: item.facts.truth for item in PredicatesExam().items(data)}

    def predicates(self, queries: Queries) -> Verdicts:
        said = self.truth[queries.scene_id].astype(np.int8)
        if queries.scene_id != next(iter(self.truth)):
            rng = np.random.default_rng(crc32(queries.scene_id.encode()))
            said = np.where(rng.random(said.shape) < self.wrong, 1 - said, said)
            said = np.where(rng.random(said.shape) < self.unknown, -1, said)
        return Verdicts(said.astype(np.int8))

    def facts(self) -> dict[str, object]:
        return {"about": self.name}


class Staring(Noisy):
    """Looks at the top left of the first view only."""

    def attention(self, queries: Queries) -> NDArray[np.float64]:
        heat = np.zeros((len(queries), len(queries.views), 4, 6))
        heat[:, 0, 0, 0] = 1.0
        return heat


def runs(data: Dataset, folder: Path, *models: Noisy, blind: Sequence[str] = BLIND) -> list[Run]:
    """Finished runs of blind baselines and of our own models."""
    sat = [candidate(spec) for spec in blind]
    sat += [Candidate(f"mine.py:{model.name}", model.name, model) for model in models]
    return [run_exam(PredicatesExam(), who, data, folder / str(i)) for i, who in enumerate(sat)]
