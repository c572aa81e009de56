"""Small generated scenes and made-up models for tests of the Turing card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from sightline.exams.base import Candidate
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.exams.turing.exam import TuringExam
from sightline.generation import generate
from sightline.models.registry import candidate
from sightline.skills import Asked
from sightline.store import Dataset

BLIND = ("always_yes", "always_no", "turing_engine")


def scenes(folder: Path, count: int, seed: int) -> Dataset:
    return generate(
        "geospa/train", folder, scenes=count, views=("original",), seed=seed, size=(120, 80), depth=None
    )


def exam(train: Dataset, **more: int) -> TuringExam:
    return TuringExam(train=train, min_support=3, questions=12, **more)


class Guesser:
    """Answers by its own die: mostly yes or no, now and then something else."""

    def __init__(self, name: str) -> None:
        self.name = name

    def answer(self, asked: Asked) -> str | bool:
        rng = np.random.default_rng(
            crc32(f"{self.name} {asked.scene_id} {asked.text} {len(asked.history)}".encode())
        )
        share = rng.random()
        return "abstain" if share < 0.1 else "perhaps" if share < 0.2 else bool(share < 0.6)

    def facts(self) -> dict[str, object]:
        return {"about": self.name}


def runs(
    train: Dataset, data: Dataset, folder: Path, *models: Guesser, blind: Sequence[str] = BLIND, **more: int
) -> list[Run]:
    """Finished runs of blind baselines and of our own models, over the same streams."""
    made = exam(train, **more)
    sat = [candidate(spec) for spec in blind]
    sat += [Candidate(f"mine.py:{model.name}", model.name, model) for model in models]
    return [run_exam(made, who, data, folder / str(i)) for i, who in enumerate(sat)]
