"""Planned sizes: monotone, scale-free, and with the power that was planned for, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import simulated_clusters as simulated
from sightline.errors import ConfigError
from sightline.stats import compare
from sightline.stats.paired import minimum_detectable
from sightline.stats.ranks import rank_ranges
from sightline.stats.sample_size import plan_clusters, power_at


def share(totals):
    return totals[:, :1] / totals[:, 1:]


@settings(max_examples=40)
@given(st.floats(1e-4, 0.2), st.integers(20, 5000), st.floats(0.005, 0.3))
def test_more_is_needed_for_less(error: float, n: int, difference: float) -> None:
    plan = plan_clusters(error, n, difference)
    assert plan.clusters is not None
    assert plan.low is not None
    assert plan.high is not None
    assert plan.low <= plan.clusters <= plan.high
    smaller = plan_clusters(error, n, difference / 2).clusters
    assert smaller is not None
    assert smaller >= plan.clusters
    assert smaller == pytest.approx(4 * plan.clusters, rel=0.05, abs=40)  # by the square of the difference
    scaled = plan_clusters(3 * error, n, 3 * difference).clusters
    assert scaled is not None
    assert abs(scaled - plan.clusters) <= 1
    if plan.clusters > 50:
        spread = error * math.sqrt(n)
        assert power_at(spread / math.sqrt(plan.clusters), plan.clusters, difference) == pytest.approx(
            0.8, abs=0.02
        )


def test_the_smallest_difference_that_is_seen_needs_what_is_at_hand() -> None:
    least = float(minimum_detectable(np.array([0.013]))[0])
    assert plan_clusters(0.013, 800, least).clusters == pytest.approx(800, rel=0.01)


@pytest.mark.parametrize(
    ("error", "n", "difference", "power"),
    [
        (0.01, 100, 0.0, 0.8),  # no difference
        (0.01, 100, -0.1, 0.8),  # a negative one
        (0.01, 100, 0.1, 1.0),  # certainty
        (0.01, 100, 0.1, 0.01),  # less than chance
    ],
)
def test_what_cannot_be_planned_is_refused(error: float, n: int, difference: float, power: float) -> None:
    with pytest.raises(ConfigError):
        plan_clusters(error, n, difference, power=power)


def test_models_that_never_differ_say_nothing() -> None:
    assert plan_clusters(0.0, 100, 0.02).clusters is None
    assert plan_clusters(math.nan, 1, 0.02).clusters is None


@pytest.mark.long
@pytest.mark.parametrize("advantage", [0.05, 0.1])
def test_the_planned_size_has_the_power(advantage: float) -> None:
    """Planned from 400 clusters in which the models are alike; then as many are drawn as were planned."""
    rng = np.random.default_rng(7)
    pilot = simulated.two_models(rng, 400)
    row = compare(*pilot, share, ["accuracy"], resamples=100)[0]
    factor = float(minimum_detectable(np.ones(1))[0])
    needed = plan_clusters(row.mde / factor, 400, advantage).clusters
    assert needed is not None
    seen = 0
    for seed in range(250):
        again = simulated.two_models(rng, needed, advantage)
        seen += compare(*again, share, ["accuracy"], resamples=400, seed=seed)[0].p_value < 0.05
    assert 0.72 <= seen / 250 <= 0.88  # 80 %: two standard errors of the simulation are 5 points, the pilot's add 3


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 30), st.integers(0, 1000))
def test_ranks_hold_the_order_of_every_usual_resample(models: int, resamples: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 6, (resamples, models)) / 5
    ranges = rank_ranges(values, level=1.0)  # then nothing is cut off
    for r in range(models):
        best = min(1 + sum(values[b, o] > values[b, r] for o in range(models)) for b in range(resamples))
        worst = max(models - sum(values[b, o] < values[b, r] for o in range(models)) for b in range(resamples))
        assert ranges[r].tolist() == [best, worst]
