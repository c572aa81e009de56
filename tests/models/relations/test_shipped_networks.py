"""The blind network that comes with Sightline: its file and card, its speed, and its scores on the real labels."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sightline
from sightline.exams.relations.exam import BASELINES, TRAINED
from sightline.exams.relations.pairs import tables_of
from sightline.models import is_blind, load
from sightline.models.relations.model import SHIPPED, OrderedModel, PairModel
from sightline.models.relations.network import ObjectPairs
from sightline.training.relations.evaluation import fold_answers


def test_both_stand_in_every_table() -> None:
    assert set(TRAINED) <= set(BASELINES)
    assert is_blind("blind_mlp")
    assert is_blind("consistent")
    free, ordered = load("blind_mlp"), load("consistent")
    assert type(free) is PairModel
    assert type(ordered) is OrderedModel
    assert free.fingerprint != ordered.fingerprint


def test_file_and_card_belong_together() -> None:
    content = SHIPPED.read_bytes()
    assert len(content) < 2_000_000
    card = SHIPPED.with_suffix(".md").read_text(encoding="utf-8")
    assert hashlib.sha256(content).hexdigest() in card


@pytest.mark.realdata
def test_scores_on_the_real_labels(real_data: Path) -> None:
    tables = tables_of(sightline.open(real_data / "2.5vrd"), "test")
    network = load("blind_mlp").network  # type: ignore[attr-defined]
    dealt = {setting: np.zeros(len(table.clusters), dtype=np.int64) for setting, table in tables.items()}
    found = fold_answers([network], tables, dealt)
    assert found.average >= 0.79
    assert found.f1["within_image", "depth"] > 0.76
    assert found.f1["across_images", "depth"] > 0.74


@pytest.mark.long
def test_a_million_pairs_take_seconds() -> None:
    model = load("blind_mlp")
    assert isinstance(model, PairModel)
    rng = np.random.default_rng(0)
    n = 50_000
    ends = np.sort(rng.random((2, n, 2, 2)), axis=2).reshape(2, n, 4)
    classes, none = rng.integers(0, 300, (2, n)), np.zeros((2 * n, 0), dtype=np.float32)
    both = [np.concatenate(pair) for pair in ((ends[0], ends[1]), (ends[1], ends[0]))]
    names = [np.concatenate(pair) for pair in ((classes[0], classes[1]), (classes[1], classes[0]))]
    square = rng.random((1000, 1000)).astype(np.float32)
    pairs = ObjectPairs(*both, *names, none, none)

    def least(work: Callable[[], object]) -> float:
        """CPU seconds of the fastest of three, so that what else the machine does counts less."""
        times = []
        for _ in range(3):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
        return min(times)

    calibration = least(lambda: [square @ square for _ in range(10)])  # 20 GFLOP; 0.15 to 0.25 s for the figures
    assert least(lambda: model.network.chances(pairs, across=False)) * 10 < 80 * calibration  # 20 to 40 there
