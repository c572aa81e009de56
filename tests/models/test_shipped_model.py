# ruff: noqa: E402 - without torch there is nothing to import
"""The shipped checkpoint scores on scenes nobody has seen what its card says."""

from __future__ import annotations

import hashlib
import math
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="checkpoints need safetensors")

from numpy.typing import NDArray

from sightline.exams.predicates.counts import NAMES, scene_accuracy_of
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.predicates.measures import coded
from sightline.exams.runner import run_exam
from sightline.generation import generate
from sightline.models import candidate
from sightline.models.sornet import SHIPPED, shipped

CARD = SHIPPED.parent / "README.md"
SEED = 20_261_115
"""Of scenes that no other test, benchmark or training has."""
SCENES = 28
MOST_BYTES = 16_000_000
CERTAIN = 3.5
"""Standard errors: further off by chance in one of two thousand."""


@pytest.fixture(scope="module")
def card() -> str:
    if "plan" not in shipped("cpu").about:
        pytest.skip("the weights say that they are untrained")
    return CARD.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def fresh(card: str, tmp_path_factory: pytest.TempPathFactory) -> NDArray[np.int64]:
    """Counts a scene of new scenes of val_default."""
    folder = tmp_path_factory.mktemp("fresh")
    views = ["original", "top"]
    data = generate(
        "geospa/val_default", folder / "data", scenes=SCENES, views=views, seed=SEED, canonical=2, depth=None
    )
    run = run_exam(PredicatesExam(), candidate("sornet"), data, folder / "run")
    return coded(run.records()).counts()


def said(card: str, views: str, split: str) -> list[tuple[float, float, float]]:
    """A row of the card's table: value, low and high of each column, shares."""
    table = card.partition(f"| {views} |")[2].partition("\n\n")[0]
    row = next(line for line in table.splitlines() if line.startswith(f"| {split} |"))
    found = re.findall(r"([\d.]+) % \(([\d.]+)–([\d.]+)\)", row)
    return [tuple(float(part) / 100 for part in cell) for cell in found]  # type: ignore[misc]


def test_the_card_is_of_these_weights(card: str) -> None:
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() in card


def test_the_file_is_small() -> None:
    assert SHIPPED.stat().st_size <= MOST_BYTES


@pytest.mark.long
@pytest.mark.parametrize(
    ("column", "group"),
    [
        (0, "all"),
        (1, "spatial"),
        (2, "geometric"),
        (3, "scene-all"),  # share of scenes without a mistake
    ],
)
def test_new_scenes_score_what_the_card_says(card: str, fresh: NDArray[np.int64], column: int, group: str) -> None:
    value, low, high = said(card, "2 views", "val_default")[column]
    asked = int(re.search(r"\*\*Scores\.\*\* ([\d,]+) scenes", card)[1].replace(",", ""))  # type: ignore[index]
    accuracy = scene_accuracy_of(fresh)
    each = accuracy[:, 0] == 1.0 if group == "scene-all" else accuracy[:, NAMES.index(group)]
    spread = (high - low) / (2 * 1.96) * math.sqrt(asked)  # of one scene, by the card's own interval
    error = spread * math.sqrt(1 / SCENES + 1 / asked)
    assert abs(each.mean() - value) < CERTAIN * error, f"{each.mean():.3f} here, {value:.3f} on the card"
    assert CERTAIN * error < 0.35  # or the comparison would say nothing
