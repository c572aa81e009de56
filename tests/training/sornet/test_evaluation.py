"""Thresholds by one rule: the middle of what is as good as the best."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.scenes.labels import GEOMETRIC, PREDICATES
from sightline.training.sornet.evaluation import SceneAnswers, best_thresholds


def answered(logits: NDArray[np.float32], truth: NDArray[np.bool_], present: NDArray[np.bool_]) -> SceneAnswers:
    said = logits > 0
    return SceneAnswers(present, truth, said, said, said, logits)


def f1(logits: NDArray[np.float32], truth: NDArray[np.bool_], least: float) -> float:
    said = logits > least
    return 2 * int((said & truth).sum()) / int(said.sum() + truth.sum())


def test_the_middle_of_the_best_range_is_taken() -> None:
    """Of one scene of two objects, ten times: what holds lies above 2, what does not at −1 or below."""
    present = np.ones((10, 2), bool)
    logits = np.full((10, 2, 2, 8), -1.0, np.float32)
    truth = np.zeros((10, 2, 2, 8), bool)
    truth[:4, 0, 1, 4:] = True
    logits[:4, 0, 1, 4:] = 2.1
    logits[:, range(2), range(2)] = 9.0  # nobody is asked about a thing and itself
    chosen = best_thresholds(answered(logits, truth, present))
    assert chosen == dict.fromkeys(GEOMETRIC, pytest.approx(0.5))  # −1 … 2, in eighths


def test_absent_objects_do_not_count_and_what_never_holds_stays_at_zero() -> None:
    present = np.array([[True, True, False]] * 4)
    logits = np.zeros((4, 3, 3, 8), np.float32)
    truth = np.zeros((4, 3, 3, 8), bool)
    truth[:, 0, 1, 5], logits[:, 0, 1, 5], logits[:, 1, 0, 5] = True, 3.0, 1.0
    logits[:, 2, :, 5] = logits[:, :, 2, 5] = 50.0
    chosen = best_thresholds(answered(logits, truth, present))
    assert chosen["supports"] == pytest.approx((1.0 + 2.875) / 2)
    assert {chosen[name] for name in GEOMETRIC if name != "supports"} == {0.0}


@pytest.mark.parametrize("seed", range(5))
def test_no_other_threshold_is_much_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    present = rng.random((60, 4)) < 0.9
    truth = rng.random((60, 4, 4, 8)) < 0.2
    logits = (rng.normal(size=truth.shape) + 2.0 * truth - 0.7).astype(np.float32)
    pairs = present[:, :, None] & present[:, None] & ~np.eye(4, dtype=bool)
    for name, least in best_thresholds(answered(logits, truth, present)).items():
        own, holds = (part[..., PREDICATES.index(name)][pairs] for part in (logits, truth))
        best = max(f1(own, holds, tried) for tried in np.arange(-6.0, 6.01, 0.125))
        # half an eighth beside a tried one, F1 may be a judgement or two lower
        assert f1(own, holds, least) >= best - 0.02
