"""Calibration, chance and samples: against their definitions, and the intervals against simulation."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import checks as oracle
from sightline.errors import ConfigError
from sightline.stats import beyond_chance, calibration, chance_adjusted, risk_coverage, sample_counts
from sightline.stats.calibration import BINS

JUDGED = st.lists(st.tuples(st.integers(0, 20).map(lambda i: i / 20), st.booleans(), st.integers(0, 4)), min_size=1)


@settings(max_examples=40)
@given(JUDGED)
def test_figures_are_those_of_the_definitions(judged: list[tuple[float, bool, int]]) -> None:
    confidence, right, cluster = (list(of) for of in zip(*judged, strict=True))
    found = calibration(confidence, right, cluster, resamples=20)
    assert found.ece.value == pytest.approx(oracle.calibration_error(confidence, right, BINS), abs=1e-12)
    assert found.brier.value == pytest.approx(oracle.brier(confidence, right), abs=1e-12)
    assert found.aurc.value == pytest.approx(oracle.mean_risk(confidence, right), abs=1e-12)
    assert found.accuracy.value == pytest.approx(sum(right) / len(right))
    assert found.bins[:, 0].sum() == len(judged)
    coverage, risk = risk_coverage(confidence, right)
    assert risk.mean() == pytest.approx(found.aurc.value)
    assert risk[-1] == pytest.approx(1 - sum(right) / len(right))
    assert coverage[-1] == 1


def test_wrong_input_is_refused() -> None:
    for confidence, right in (([1.2], [True]), ([math.nan], [True]), ([0.5, 0.5], [True])):
        with pytest.raises(ConfigError):
            calibration(confidence, right, list(range(len(confidence))))


def test_a_calibrated_model_has_little_error_and_the_interval_of_the_risk_covers() -> None:
    rng = np.random.default_rng(3)
    true_risk, inside = [], 0
    for _ in range(60):
        sure = rng.uniform(0.5, 1.0, 300)
        right = rng.random(300) < sure
        found = calibration(sure, right, np.repeat(np.arange(100), 3), resamples=200)
        true_risk.append((found.aurc.value, found.aurc.low, found.aurc.high))
        assert found.ece.value < 0.12
    middle = float(np.mean([value for value, *_ in true_risk]))
    inside = sum(low <= middle <= high for _, low, high in true_risk)
    assert inside >= 50  # 57 expected of 60


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_kappa_is_cohens(pairs: list[tuple[str, str]]) -> None:
    truth, answer = ([*of] for of in zip(*pairs, strict=True))
    table = np.zeros((1, 1, 3, 3))
    for t, a in pairs:
        table[0, 0, "abc".index(t), "abc".index(a)] += 1
    right, chance, beyond, commonest, _, kappa = (float(v[0]) for v in beyond_chance(table))
    assert kappa == pytest.approx(oracle.kappa(truth, answer), nan_ok=True)
    assert right == pytest.approx(sum(t == a for t, a in pairs) / len(pairs))
    assert chance == pytest.approx(1 / len(set(truth)))
    assert commonest == pytest.approx(max(truth.count(w) for w in truth) / len(truth))
    assert beyond == pytest.approx((right - chance) / (1 - chance) if chance < 1 else math.nan, nan_ok=True)


def test_kinds_of_question_have_their_own_options() -> None:
    table = np.zeros((1, 2, 4, 4))
    table[0, 0, [0, 1], [0, 1]] = 5  # two options
    table[0, 1, 2, 2] = 10  # one answer is always true: chance has it right
    right, chance, *_ = beyond_chance(table)
    assert (right.item(), chance.item()) == (1.0, 0.75)
    assert math.isnan(chance_adjusted(1.0, 1.0).item())


_ANSWERS = st.lists(st.sampled_from("yn"), min_size=1, max_size=5)
DRAWN = st.lists(st.tuples(_ANSWERS, st.sampled_from("yn")), min_size=1)


@settings(max_examples=40)
@given(DRAWN)
def test_samples_are_judged_as_defined(drawn: list[tuple[list[str], str]]) -> None:
    answers, truth = ([*of] for of in zip(*drawn, strict=True))
    found, wanted = sample_counts(answers, truth), oracle.samples(answers, truth)
    for key, value in wanted.items():
        of = getattr(found, key)
        known = of[np.isfinite(of)]
        assert (known.mean() if len(known) else math.nan) == pytest.approx(value, nan_ok=True)


def test_many_judgements_are_resampled_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same value, and about the same limits as with a rank for every judgement."""
    module = sys.modules["sightline.stats.calibration"]
    rng = np.random.default_rng(3)
    cluster = rng.integers(0, 60, 3000)
    sure = rng.random(3000)
    right = rng.random(3000) < sure + rng.normal(0, 0.2, 60)[cluster]
    alone = calibration(sure, right, cluster, resamples=400).aurc
    monkeypatch.setattr(module, "_RANKED_ALONE", 100)
    grouped = calibration(sure, right, cluster, resamples=400).aurc
    assert grouped.value == alone.value
    assert (grouped.low, grouped.high) == pytest.approx((alone.low, alone.high), abs=0.1 * (alone.high - alone.low))
