"""Is a stream leaky? Whether its answers could have been guessed after all, seen on images nobody learned from.

And what is printed of that after the scores, with lines and tables about replies and streams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from sightline.exams.turing.estimate.estimator import EPSILON
from sightline.exams.turing.measures import STEPS, binned, kinds_of, places_of, rates_by_image, shares, words_of
from sightline.exams.turing.measures import counted as counts_of
from sightline.plain import plain
from sightline.show.table import Cell, Row, Table, figure, scored
from sightline.stats import Interval, holm
from sightline.stats.bootstrap import linearise
from sightline.stats.paired import minimum_detectable
from sightline.text import counted

if TYPE_CHECKING:
    from sightline.exams.scoring import RunResult

GUESSED: Final = 0.6
"""Accuracy that nobody who never looked at the picture should reach."""

LEAST_IMAGES: Final = 30
"""Images without which the monitor says nothing."""

LEAST_QUESTIONS: Final = 100
"""Questions with a word that make it worth a test of its own."""

_SIGNIFICANCE: Final = 0.05  # one-sided, over all words of a model together

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
class WordAccuracy:
    """What a blind model reaches on the questions with one word.

    Attributes:
        value: Its accuracy.
        low: The limit it lies above by Holm's correction over all words of the model that were tested.
        n: Questions.
        images: Images they are about.
        detectable: Accuracy that would have been told from `GUESSED` four times in five, without correction.
    """

    value: float
    low: float
    n: int
    images: int
    detectable: float


@dataclass(frozen=True)
class Monitor:
    """How unpredictable the answers were.

    Attributes:
        epsilon: How far from one half a share of yes may lie.
        yes_by_type: Share of true answers that are yes, of all questions (``all``) and of each type.
        yes_by_step: The same at every single step; `yes_by_steps` in bins of steps.
        calibration: Estimated chances against what was seen.
        calibration_error: Mean distance of the two, weighted by questions; NaN without a question.
        images: Images asked about; below `LEAST_IMAGES` nothing is said of them.
        overall: Accuracy of models that never looked at the picture, by name.
        by_type: The same for each type of question.
        by_word: The same for each word with `LEAST_QUESTIONS` questions or more, corrected by Holm.
        detectable: By name, the overall accuracy that would have been told from `GUESSED` four times in five.
        reasons: Why the stream is leaky; empty where nothing speaks for it.
    """

    epsilon: float
    yes_by_type: Mapping[str, Interval]
    yes_by_step: Mapping[int, Interval]
    yes_by_steps: Mapping[str, Interval]
    calibration: tuple[Calibration, ...]
    calibration_error: float
    images: int
    overall: Mapping[str, Interval]
    by_type: Mapping[str, Mapping[str, Interval]]
    by_word: Mapping[str, Mapping[str, WordAccuracy]]
    detectable: Mapping[str, float]
    reasons: tuple[str, ...]

    @property
    def leaky(self) -> bool:
        """Whether something speaks for the answers being predictable."""
        return bool(self.reasons)

    @property
    def verdict(self) -> str:
        """``leaky``, ``not leaky``, or ``too few images`` where nothing can be said."""
        return "too few images" if self.images < LEAST_IMAGES else "leaky" if self.leaky else "not leaky"

    def to_dict(self) -> dict[str, Any]:
        """JSON values; undefined ones are null."""
        facts: dict[str, Any] = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        facts["yes_by_step"] = [{"step": step, **plain(seen)} for step, seen in self.yes_by_step.items()]
        return facts | {"leaky": self.leaky, "verdict": self.verdict}


def monitor(
    asked: pl.DataFrame,
    blind: Mapping[str, pl.DataFrame] | None = None,
    *,
    epsilon: float = EPSILON,
    resamples: int = 2000,
    seed: int = 0,
) -> Monitor:
    """Watch the answers of some streams.

    A stream is leaky where the share of yes of a question type, or in a bin of steps, has an interval wholly
    outside 0.5 ± ε, or where a blind model's accuracy lies above `GUESSED`: overall or for a type of question by
    its interval, for a word by its limit after Holm's correction. Fewer than `LEAST_IMAGES` images prove nothing.

    Args:
        asked: One row a question that was asked (`measures.asked_rows`): cluster_id, type, step, truth, p_yes.
        blind: Records of models that never looked at the picture, over the same streams, with the column right.
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
    guessed = {
        name: rates_by_image(rows["cluster_id"], resamples=resamples, seed=seed)(
            rows["right"].cast(pl.Boolean).to_numpy(), kinds_of(rows)
        )
        for name, rows in (blind or {}).items()
    }
    words = {name: by_word(rows) for name, rows in (blind or {}).items()}
    images = asked["cluster_id"].n_unique()
    watched = {f"type {name}": seen for name, seen in by_type.items() if name != "all"}
    watched |= {f"steps {name}": seen for name, seen in by_steps.items()}
    reasons = [
        f"{name}: share of yes {seen}, wholly outside 0.5 ± {epsilon:g}"
        for name, seen in watched.items()
        if seen.low > 0.5 + epsilon or seen.high < 0.5 - epsilon
    ]
    reasons += list(_guessable(guessed, words))
    return Monitor(
        epsilon=epsilon,
        yes_by_type=by_type,
        yes_by_step={int(name): seen for name, seen in each.items()},
        yes_by_steps=by_steps,
        calibration=calibration,
        calibration_error=error / n if n else math.nan,
        images=images,
        overall={name: found["all"] for name, found in guessed.items()},
        by_type={name: {k: v for k, v in found.items() if k != "all"} for name, found in guessed.items()},
        by_word=words,
        detectable={name: _detectable(rows) for name, rows in (blind or {}).items()},
        reasons=tuple(reasons) if images >= LEAST_IMAGES else (),
    )


def _guessable(
    guessed: Mapping[str, Mapping[str, Interval]], words: Mapping[str, Mapping[str, WordAccuracy]]
) -> Iterator[str]:
    """What blind models reach that nobody should."""
    for name, found in guessed.items():
        for kind, seen in found.items():
            if seen.low > GUESSED:
                what = "" if kind == "all" else f" {kind} questions"
                yield f"{name} answers{what} without looking: accuracy {seen}, wholly above {GUESSED}"
    for name, of_words in words.items():
        for word, seen_word in of_words.items():
            if seen_word.low > GUESSED:
                limit = f"{seen_word.value:.3f}, after Holm's correction above {seen_word.low:.3f}"
                yield f"{name} answers {word!r} without looking: accuracy {limit}"


def by_word(rows: pl.DataFrame) -> dict[str, WordAccuracy]:
    """Accuracy of one model for each word with enough questions, the most guessable first.

    Limits are one-sided; the errors behind them are by image.
    """
    members = words_of(rows)
    often = {word: inside for word, inside in members.items() if inside.sum() >= LEAST_QUESTIONS}
    if not often:
        return {}
    units, place = places_of(rows["cluster_id"])
    right = rows["right"].cast(pl.Boolean).to_numpy()
    first_order = linearise(counts_of(place, len(units), right, often), shares)
    error = np.sqrt(first_order.variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (first_order.value - GUESSED) / error
    p = np.array([NormalDist().cdf(-float(one)) if math.isfinite(one) else math.nan for one in z])
    corrected = holm(p)
    able = minimum_detectable(error, significance=2 * _SIGNIFICANCE)
    found = {}
    for k in np.argsort(-first_order.value, kind="stable").tolist():
        word, inside = list(often.items())[k]
        # The limit that lies at GUESSED where the corrected p is just significant.
        times = corrected[k] / p[k] if p[k] > 0 else float(len(often))
        low = first_order.value[k] - _quantile(_SIGNIFICANCE / max(1.0, times)) * error[k]
        found[word] = WordAccuracy(
            value=float(first_order.value[k]),
            low=float(low) if corrected[k] < _SIGNIFICANCE else float(min(low, GUESSED)),
            n=int(inside.sum()),
            images=int(first_order.n[k]),
            detectable=GUESSED + float(able[k]),
        )
    return found


def _quantile(tail: float) -> float:
    return -NormalDist().inv_cdf(min(0.5, tail))


def _detectable(rows: pl.DataFrame) -> float:
    """The overall accuracy of a model that would have been told from `GUESSED` with a power of 0.8."""
    units, place = places_of(rows["cluster_id"])
    right = rows["right"].cast(pl.Boolean).to_numpy()
    counts = counts_of(place, len(units), right, {"all": np.ones(len(right), dtype=bool)})
    error = np.sqrt(linearise(counts, shares).variance)
    return GUESSED + float(minimum_detectable(error)[0])


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
    yield from _calibration_table(facts["calibration"])
    blind = {name: Interval.from_dict(seen) for name, seen in facts["overall"].items()}
    if blind:
        by_type = {name: facts["by_type"][name] for name in blind}
        rows = [Row("all", tuple(scored(seen) for seen in blind.values()))]
        rows += [
            Row(kind, tuple(scored(Interval.from_dict(found[kind])) for found in by_type.values()))
            for kind in next(iter(by_type.values()))
        ]
        rows.append(Row("could be told from 0.6", tuple(Cell(figure(facts["detectable"][name])) for name in blind)))
        yield Table(f"accuracy without looking, to stay below {GUESSED}", ("", *blind), tuple(rows))
    else:
        yield "without looking: nobody was examined"
    yield f"calibration error {figure(facts['calibration_error'])}"
    if facts["verdict"] == "too few images":
        yield f"too few images to say whether answers can be guessed: {facts['images']}, of {LEAST_IMAGES} at least"
    else:
        yield "leaky: " + "; ".join(facts["reasons"]) if facts["leaky"] else "not leaky"


def _calibration_table(bins: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Estimated chances against the shares of yes seen, with how many questions each bin holds."""
    rows = [
        Row(
            f"{one['bin'][0]:g}–{one['bin'][1]:g}",
            (Cell(figure(one["estimated"])), scored(Interval.from_dict(one["seen"])), Cell(f"{one['n']:,}")),
        )
        for one in bins
    ]
    if rows:
        heads = ("", "estimated", "seen", "questions")
        yield Table("estimated chance of yes against what was seen", heads, tuple(rows))
