"""Is a stream leaky? Whether its answers could have been guessed after all, seen on images nobody learned from.

And what is printed of that after the scores, with lines and tables about replies and streams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from sightline.exams.turing.measures import STEPS, binned, kinds_of, rates_by_image
from sightline.plain import plain
from sightline.show.table import Row, Table, figure, scored
from sightline.stats import Interval
from sightline.text import counted

if TYPE_CHECKING:
    from sightline.exams.scoring import RunResult

GUESSED: Final = 0.6
"""Accuracy that nobody who never looked at the picture should reach."""

IDLE: Final = ("abstain", "unparsed", "late")
"""Replies that are no answer."""

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


def idle_replies(results: Sequence[RunResult]) -> Iterator[Table]:
    """Share of replies that were no answer, where there are any."""
    shares = {word: [result.scores.at("replies", word) for result in results] for word in IDLE}
    rows = [
        Row(word, tuple(scored(share) for share in of_word))
        for word, of_word in shares.items()
        if any(share is not None and share.value > 0 for share in of_word)
    ]
    if rows:
        columns = ("", *(result.name for result in results))
        yield Table("replies that are no answer (share)", columns, tuple(rows))


def stream_remarks(facts: Mapping[str, Any]) -> Iterator[str]:
    """How many questions there were, how long the streams are, and why they ended."""
    streams = facts["streams"]
    yield f"{counted(facts['n_questions'], 'question')} about {counted(facts['n_images'], 'image')}"
    shown = {"mean": 1, "min": 0, "median": 0, "max": 0}
    lengths = ", ".join(f"{name} {figure(streams[name], digits)}" for name, digits in shown.items())
    ended = ", ".join(f"{why} {n:,}" for why, n in streams["halted"].items())
    yield f"streams: {facts['n_streams']:,}; questions each: {lengths}; ended: {ended}"
    yield f"ambiguous questions, never asked: {figure(streams['ambiguous'])} of those drawn"


def monitor_remarks(facts: Mapping[str, Any]) -> Iterator[str | Table]:
    """Share of yes by type and step, calibration, blind accuracy, and the verdict, from the monitor's JSON."""
    shares = facts["yes_by_type"] | {f"steps {name}": seen for name, seen in facts["yes_by_steps"].items()}
    rows = [Row(name, (scored(Interval.from_dict(seen)),)) for name, seen in shares.items()]
    title = f"share of true answers that are yes, to lie within 0.5 ± {facts['epsilon']:g}"
    yield Table(title, ("", "yes"), tuple(rows))
    blind = ", ".join(f"{name} {scored(Interval.from_dict(seen))}" for name, seen in facts["blind"].items())
    error = figure(facts["calibration_error"])
    yield f"without looking: {blind or 'nobody was examined'}; calibration error {error}"
    yield "leaky: " + "; ".join(facts["reasons"]) if facts["leaky"] else "not leaky"
