"""The plan: schedule, views of a step, limits, round trip through JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from sightline.errors import ConfigError
from sightline.models.nets.sornet import SIZES
from sightline.plain import plain
from sightline.training.augmentation import Augmentation
from sightline.training.sornet.plan import PAPER, SornetPlan

THREE = ("original", "top", "side_1")


@pytest.mark.parametrize(
    ("step", "factor"),
    [
        (0, 0.1),  # warm-up begins above 0
        (4, 0.5),
        (9, 1.0),  # its last step
        (10, 1.0),  # top of the cosine
        (60, 0.505),  # half way down
        (110, 0.01),  # the end
        (500, 0.01),  # beyond it
    ],
)
def test_schedule(step: int, factor: float) -> None:
    assert SornetPlan(steps=110, warmup=10).factor(step) == pytest.approx(factor)


def test_schedule_never_rises_after_warm_up() -> None:
    factors = [SornetPlan(steps=200, warmup=20).factor(step) for step in range(200)]
    assert factors[:20] == sorted(factors[:20])
    assert factors[20:] == sorted(factors[20:], reverse=True)


def test_schedule_without_warm_up() -> None:
    assert SornetPlan(steps=10, warmup=0).factor(0) == 1.0


def test_a_constant_rate_stays_after_warm_up() -> None:
    plan = SornetPlan(steps=100, warmup=4, schedule="constant")
    assert [plan.factor(step) for step in (0, 3, 4, 50, 99)] == [0.25, 1.0, 1.0, 1.0, 1.0]


def test_the_papers_recipe_has_nothing_of_ours() -> None:
    plan = SornetPlan(**PAPER)
    assert (plan.facts, plan.pointing, plan.near, plan.augmentation, plan.crowded) == (0.0, 0.0, 1.0, None, 0.0)
    assert (plan.optimizer, plan.rate, plan.decay, plan.clip, plan.average) == ("adam", 1e-4, 0.0, 0.0, 0.0)
    assert {plan.factor(step) for step in (0, 1, 100_000)} == {1.0}
    assert plan.steps * plan.batch == 80 * 80_000
    assert {plan.shown(step) for step in range(20)} == {(0,)}
    assert SIZES[plan.size].published
    assert replace(SIZES[plan.size], published=False) == SIZES["base"]


def test_views_of_a_step() -> None:
    plan = SornetPlan(views=THREE, fewer_views=0.4)
    counts = Counter(plan.shown(step) for step in range(4000))
    share = {views: count / 4000 for views, count in counts.items()}
    assert share.pop((0, 1, 2)) == pytest.approx(0.6, abs=0.03)
    assert share.pop((0,)) == pytest.approx(0.36, abs=0.03)
    assert share.pop((1,)) == pytest.approx(0.02, abs=0.01)
    assert share.pop((2,)) == pytest.approx(0.02, abs=0.01)
    assert not share


@pytest.mark.parametrize(
    ("plan", "shown"),
    [
        (SornetPlan(views=("original",), fewer_views=1.0), {(0,)}),  # there is only one
        (SornetPlan(views=THREE, fewer_views=0.0), {(0, 1, 2)}),  # always all
        (SornetPlan(views=THREE, fewer_views=1.0), {(0,), (1,), (2,)}),  # never all
    ],
)
def test_views_at_the_ends(plan: SornetPlan, shown: set[tuple[int, ...]]) -> None:
    assert {plan.shown(step) for step in range(200)} == shown


def test_views_follow_seed_and_step() -> None:
    one, again, other = SornetPlan(seed=1), SornetPlan(seed=1, rate=1e-3), SornetPlan(seed=2)
    told = [[plan.shown(step) for step in range(50)] for plan in (one, again, other)]
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"steps": 0}, "steps of a training must be at least 1, not 0"),
        ({"batch": 0}, "batch"),
        ({"canonical": 0}, "canonical"),
        ({"most_objects": 1}, "most_objects of a training must be at least 2"),  # no pair
        ({"warmup": -1}, "warmup"),
        ({"average": 1.5}, r"average of a training must lie in \[0, 1\]"),
        ({"fewer_views": -0.1}, "fewer_views"),
        ({"rate": 0.0}, "rate of a training must be a number above 0, not 0.0"),
        ({"rate": float("nan")}, "rate of a training must be a number above 0, not nan"),
        ({"rate": float("inf")}, "rate of a training must be a number above 0, not inf"),
        ({"clip": -1.0}, "clip of a training must be a number ≥ 0"),
        ({"near": -1.0}, "near of a training must be a number ≥ 0"),
        ({"decay": -0.1}, "decay of a training must be a number ≥ 0, not -0.1"),
        ({"facts": float("nan")}, "facts of a training must be a number ≥ 0, not nan"),
        ({"pointing": float("inf")}, "pointing of a training must be a number ≥ 0, not inf"),
        ({"average": float("nan")}, r"average of a training must lie in \[0, 1\], not nan"),
    ],
)
def test_limits(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        SornetPlan(**settings)


@pytest.mark.parametrize(
    "plan",
    [
        SornetPlan(),
        SornetPlan(augmentation=None, views=("original",), optimizer="muon", start="a.safetensors"),
        SornetPlan(**PAPER),
        SornetPlan(augmentation=Augmentation(hue=0.1, noise=0.0), precision="fp32", compiled=False),
    ],
)
def test_round_trip(plan: SornetPlan) -> None:
    assert SornetPlan.from_dict(json.loads(json.dumps(plain(plan)))) == plan


def test_unknown_setting() -> None:
    with pytest.raises(ConfigError, match="no setting 'epochs'"):
        SornetPlan.from_dict({"epochs": 3})
