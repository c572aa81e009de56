"""A Turing exam with pictures, and questions made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.exams.turing.exam import TuringExam
from sightline.scenes import View
from sightline.skills import Asked
from sightline.store import Dataset

MakeAsked = Callable[..., Asked]
UNIQUE = "Is there a unique cube in the designated region that is red?"


@pytest.fixture(scope="session")
def pictured_exam(tmp_path_factory: pytest.TempPathFactory, generated: Path) -> tuple[TuringExam, Dataset]:
    """Few questions about the generated scenes; small training pictures, for nobody looks at those."""
    from sightline.generation import generate

    folder = tmp_path_factory.mktemp("turing") / "train"
    generate("geospa/train", folder, scenes=30, seed=6, size=(48, 32))
    exam = TuringExam(train=Dataset.open(folder), min_support=5, epsilon=0.3, questions=6)
    return exam, Dataset.open(generated)


@pytest.fixture(scope="session")
def tiny_vlm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LLaVA of a few thousand random weights, in a folder."""
    from tiny_models import vision_language

    return vision_language(tmp_path_factory.mktemp("vlm") / "tiny")


@pytest.fixture(scope="session")
def asked() -> MakeAsked:
    """Builds a question about a noisy picture of 40 × 20 pixels, after one that found cube 1 in its left half."""
    noise = np.random.default_rng(0).integers(0, 256, (20, 40, 3), dtype=np.uint8)
    found = {"type": "unique", "object_type": "cube", "attributes": ["red"], "box": [0.0, 0.0, 0.5, 1.0]}

    def make(**changes: Any) -> Asked:
        given: dict[str, Any] = {
            "scene_id": "s",
            "view": View("0", load_image=lambda: noise),
            "text": "Is there a ball?",
            "question": {"type": "exist", "object_type": "ball", "attributes": [], "region": "image", "box": None},
            "long_text": "Is there an instance of a ball?",
            "region": None,
            "labels": {"cube 1": (0.0, 0.0, 0.5, 1.0)},
            "history": ((found, UNIQUE, True),),
        }
        return Asked(**given | changes)

    return make
