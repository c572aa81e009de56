"""Is a stream leaky? Whether its answers could have been guessed after all, seen on images nobody learned from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.exams.turing.scores import STEPS, binned, kinds_of, plain_table, rates_by_image
from sightline.stats import Interval

GUESSED: Final = 0.6
"""Accuracy that nobody who never looked at the picture should reach."""

EDGES: Final = (0.0, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 1.0)
"""Bins of the estimated chance of a yes; each but the last without its upper edge."""


@dataclass(frozen=True)
class Calibration:
    """Estimated against seen, in one bin of the estimated chance of a yes.

    Attributes:
        low: Lower edge of the bin; `high` the upper.
        estimated: Mean estimate of the questions in it.
        seen: Share of them whose true answer is yes.
        n: Questions.
    """

    low: float
    high: float
    estimated: float
    seen: Interval
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"bin": [self.low, self.high], "estimated": self.estimated, "seen": self.seen.to_dict(), "n": self.n}


@dataclass(frozen=True)
class Monitor:
    """How unpredictable the answers were.

    Attributes:
        epsilon: How far from one half a share of yes may lie.
        yes_by_type: Share of true answers that are yes, of all questions (``all``) and of each type.
        yes_by_step: The same at every single step; `yes_by_steps` in bins of steps.
        calibration: Estimated chances against what was seen.
        calibration_error: Mean distance of the two, weighted by questions; NaN without a question.
        blind: Accuracy of models that never looked at the picture, by name.
        reasons: Why the stream is leaky; empty where nothing speaks for it.
    """

    epsilon: float
    yes_by_type: Mapping[str, Interval]
    yes_by_step: Mapping[int, Interval]
    yes_by_steps: Mapping[str, Interval]
    calibration: tuple[Calibration, ...]
    calibration_error: float
    blind: Mapping[str, Interval]
    reasons: tuple[str, ...]

    @property
    def leaky(self) -> bool:
        """Whether something speaks for the answers being predictable."""
        return bool(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""
        return {
            "epsilon": self.epsilon,
            "yes_by_type": plain_table(self.yes_by_type),
            "yes_by_step": [{"step": step, **seen.to_dict()} for step, seen in self.yes_by_step.items()],
            "yes_by_steps": plain_table(self.yes_by_steps),
            "calibration": [one.to_dict() for one in self.calibration],
            "calibration_error": None if math.isnan(self.calibration_error) else self.calibration_error,
            "blind": plain_table(self.blind),
            "leaky": self.leaky,
            "reasons": list(self.reasons),
        }


def monitor(
    asked: pl.DataFrame,
    blind: Mapping[str, Interval] | None = None,
    *,
    epsilon: float = 0.15,
    resamples: int = 2000,
    seed: int = 0,
) -> Monitor:
    """Watch the answers of some streams.

    A stream is leaky where the share of yes of a question type, or in a bin of steps, has an interval wholly
    outside 0.5 ± ε, or where a blind model's accuracy has one wholly above `GUESSED`. What has no interval (fewer
    than two images) proves nothing.

    Args:
        asked: One row a question that was asked (`records.asked_of`): cluster_id, type, step, truth, p_yes.
        blind: Accuracy of models that never looked at the picture, over the same streams.
        epsilon: How far from one half a share of yes may lie.
        resamples: Bootstrap resamples behind the intervals.
        seed: Of the resampling.
    """
    rate = rates_by_image(asked["cluster_id"], resamples=resamples, seed=seed)
    yes = (asked["truth"] == "yes").to_numpy()
    step = asked["step"].to_numpy()
    each = rate(yes, {str(k): step == k for k in np.unique(step).tolist()})
    by_type, by_steps = rate(yes, kinds_of(asked)), rate(yes, binned(step, STEPS))
    calibration = _calibration(asked, resamples, seed)
    watched = {f"type {name}": seen for name, seen in by_type.items() if name != "all"}
    watched |= {f"steps {name}": seen for name, seen in by_steps.items()}
    return Monitor(
        epsilon=epsilon,
        yes_by_type=by_type,
        yes_by_step={int(name): seen for name, seen in each.items()},
        yes_by_steps=by_steps,
        calibration=calibration,
        calibration_error=_error(calibration),
        blind=dict(blind or {}),
        reasons=(*_lopsided(watched, epsilon), *_guessed(blind or {})),
    )


def _lopsided(watched: Mapping[str, Interval], epsilon: float) -> list[str]:
    return [
        f"{name}: share of yes {seen}, wholly outside 0.5 ± {epsilon:g}"
        for name, seen in watched.items()
        if seen.low > 0.5 + epsilon or seen.high < 0.5 - epsilon
    ]


def _guessed(blind: Mapping[str, Interval]) -> list[str]:
    return [
        f"{name} answers without looking: accuracy {seen}, wholly above {GUESSED}"
        for name, seen in blind.items()
        if seen.low > GUESSED
    ]


def _calibration(asked: pl.DataFrame, resamples: int, seed: int) -> tuple[Calibration, ...]:
    """One entry a bin that has a question; questions without an estimate are left out."""
    told = asked.filter(pl.col("p_yes").is_not_null())
    if not len(told):
        return ()
    p = told["p_yes"].to_numpy()
    place = np.clip(np.searchsorted(EDGES, p, side="right") - 1, 0, len(EDGES) - 2)
    bins = {str(i): place == i for i in np.unique(place).tolist()}
    rate = rates_by_image(told["cluster_id"], resamples=resamples, seed=seed)
    seen = rate((told["truth"] == "yes").to_numpy(), bins)
    return tuple(
        Calibration(EDGES[int(i)], EDGES[int(i) + 1], float(p[inside].mean()), seen[i], int(inside.sum()))
        for i, inside in bins.items()
    )


def _error(calibration: tuple[Calibration, ...]) -> float:
    n = sum(one.n for one in calibration)
    return sum(one.n * abs(one.estimated - one.seen.value) for one in calibration) / n if n else math.nan
