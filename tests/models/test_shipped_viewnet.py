"""The viewpoint network that comes along scores on views nobody has seen what its card says."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="checkpoints need safetensors")

import sightline
from sightline.exams.viewpoint.exam import ViewpointExam
from sightline.models import candidate
from sightline.models.viewnet import SHIPPED, shipped
from sightline.skills import skills_of
from sightline.store import Dataset
from sightline.training.viewpoint.plan import CLASSES

CARD = SHIPPED.with_suffix(".md")
SEED = 20_261_116
"""Of views that no training and no benchmark has."""
SCENES = 60


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("fresh") / "data"
    return sightline.generate("cad/val", folder, scenes=SCENES, size=(192, 128), seed=SEED, depth=None)


def said(split: str, column: int) -> float:
    """A figure of the card's table, a share."""
    row = next(line for line in CARD.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{split}` |"))
    return float(re.findall(r"[\d.]+", row.split("|")[column + 2])[0]) / 100


def test_the_card_is_of_these_weights() -> None:
    text = CARD.read_text(encoding="utf-8")
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() in text
    assert f"{shipped('cpu').parameters:,} weights" in text


def test_the_file_is_small() -> None:
    assert SHIPPED.stat().st_size <= 4_000_000


def test_it_is_loaded_without_the_compiler_of_torch() -> None:
    code = "import sys, sightline.models.viewnet as v; v.shipped('cpu'); print('torch._dynamo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]  # which takes two seconds to import


def test_it_is_a_model_by_name() -> None:
    model = candidate("viewnet").model
    assert skills_of(model) == ("detect", "viewpoint")
    assert model.config.classes == CLASSES


@pytest.mark.long
def test_new_views_score_what_the_card_says(fresh: Dataset, tmp_path: Path) -> None:
    exam = ViewpointExam(symmetry=True)
    [result] = sightline.examine("viewnet", fresh, exam, out=tmp_path, baselines=False)
    value = result.scores.at("accuracy_pi_6", "mean").value
    told = said("val", 0)
    error = np.sqrt(max(told * (1 - told), 0.01) / SCENES)
    assert abs(value - told) < 3.5 * error, f"{value:.3f} here, {told:.3f} on the card"


@pytest.mark.long
def test_its_own_boxes_take_the_exam(fresh: Dataset, tmp_path: Path) -> None:
    exam = ViewpointExam(boxes="detected")
    [result] = sightline.examine("viewnet", fresh, exam, out=tmp_path, baselines=False)
    found = result.scores.at("ap", "mean").value
    assert abs(found - said("val", 5)) < 0.2
    assert result.scores.at("avp", "8", "mean").value <= found
