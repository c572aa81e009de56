"""Is a stream leaky? Whether its answers could have been guessed after all, seen on images nobody learned from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.exams.turing.measures import STEPS, binned, kinds_of, rates_by_image
from sightline.plain import plain
from sightline.stats import Interval

GUESSED: Final = 0.6
"""Accuracy that nobody who never looked at the picture should reach."""

EDGES: Final = (0.0, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 1.0)
"""Bins of the estimated chance of a yes; each but the last without its upper edge."""


@dataclass(frozen=True)
class Calibration:
    """Estimated against seen, in one bin of the estimated chance of a yes.

    Attributes:
        bin: Its two edges.
        estimated: Mean estimate of the questions in it.
        seen: Share of them whose true answer is yes.
        n: Questions.
    """

    bin: tuple[float, float]
    estimated: float
    seen: Interval
    n: int


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
        """JSON values; undefined ones are null."""
        facts: dict[str, Any] = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        facts["yes_by_step"] = [{"step": step, **plain(seen)} for step, seen in self.yes_by_step.items()]
        return facts | {"leaky": self.leaky}


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
        asked: One row a question that was asked (`measures.asked_rows`): cluster_id, type, step, truth, p_yes.
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
    n = sum(one.n for one in calibration)
    error = sum(one.n * abs(one.estimated - one.seen.value) for one in calibration)
    watched = {f"type {name}": seen for name, seen in by_type.items() if name != "all"}
    watched |= {f"steps {name}": seen for name, seen in by_steps.items()}
    reasons = [
        f"{name}: share of yes {seen}, wholly outside 0.5 ± {epsilon:g}"
        for name, seen in watched.items()
        if seen.low > 0.5 + epsilon or seen.high < 0.5 - epsilon
    ]
    reasons += [
        f"{name} answers without looking: accuracy {seen}, wholly above {GUESSED}"
        for name, seen in (blind or {}).items()
        if seen.low > GUESSED
    ]
    return Monitor(
        epsilon=epsilon,
        yes_by_type=by_type,
        yes_by_step={int(name): seen for name, seen in each.items()},
        yes_by_steps=by_steps,
        calibration=calibration,
        calibration_error=error / n if n else math.nan,
        blind=dict(blind or {}),
        reasons=tuple(reasons),
    )


def _calibration(asked: pl.DataFrame, resamples: int, seed: int) -> tuple[Calibration, ...]:
    """One entry a bin that has a question; questions without an estimate are left out."""
    estimated = asked.filter(pl.col("p_yes").is_not_null())
    if not len(estimated):
        return ()
    p = estimated["p_yes"].to_numpy()
    place = np.clip(np.searchsorted(EDGES, p, side="right") - 1, 0, len(EDGES) - 2)
    bins = {str(i): place == i for i in np.unique(place).tolist()}
    rate = rates_by_image(estimated["cluster_id"], resamples=resamples, seed=seed)
    seen = rate((estimated["truth"] == "yes").to_numpy(), bins)
    return tuple(
        Calibration((EDGES[int(i)], EDGES[int(i) + 1]), float(p[inside].mean()), seen[i], int(inside.sum()))
        for i, inside in bins.items()
    )
