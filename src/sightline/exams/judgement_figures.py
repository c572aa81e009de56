"""Figures of single judgements that every exam has alike: beyond chance, calibrated, alike when drawn again.

They stand in the JSON of scores under ``checks`` and in one section of the report card. All are counted from
`Exam.judgements` (truth, answer, right; ``confidence`` and ``samples`` where a run has them), by independent unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.base import Exam, Name
from sightline.exams.run import RunRecords
from sightline.show.table import Row, Table, scored
from sightline.stats import Interval, beyond_chance, calibration, intervals, sample_counts

CHECKS: Final = "checks"
CONFIDENCE: Final = "confidence"
SAMPLES: Final = "samples"
CALIBRATION: Final = "calibration"
"""Of answers; `DETECTIONS` of the scores of boxes that a model found itself."""
DETECTIONS: Final = "detection_calibration"

CHANCE: Final = "a guess among the true answers that occur, each as likely"
COMMONEST: Final = "always the commonest true answer"

_YES_NO: Final = frozenset({"yes", "no"})
_MOST_WORDS: Final = 16
"""Different true answers above which they are no options to choose from."""
_SAMPLE_WORDS: Final = {
    "single": "single answers",
    "majority": "their majority",
    "worst": "all of them",
    "best": "one or more",
    "agreement": "two alike",
}

Figures = dict[Name, Interval]
Floats = NDArray[np.float64]


def judgement_figures(
    exam: Exam[Any], records: RunRecords, *, resamples: int = 2000, seed: int = 0
) -> tuple[Figures, dict[str, Any]]:
    """Compute the figures of a run's single judgements, and facts beside them; nothing where it has none.

    Args:
        exam: The exam.
        records: Of a run.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    if not records.rows.height:
        return {}, {}
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    rows = exam.judgements(records.rows)
    parts = [_calibration(exam.scored_boxes(records), how, DETECTIONS)]
    facts: dict[str, Any] = {}
    if rows.height:
        facts["n_judgements"] = rows.height
        parts = [_beyond_chance(exam, rows, how), _calibration(rows, how), _samples(rows, how), *parts]
    figures: Figures = {}
    for found, more in parts:
        figures |= found
        facts |= more
    return figures, {CHECKS: facts} if facts else {}


def _name(*path: str, label: str, percent: bool = False) -> Name:
    return Name((CHECKS, *path), label, percent=percent)


def _in_words(rows: pl.DataFrame) -> bool:
    """Whether true answers and answers are words, not numbers."""
    return all(rows.schema.get(name) == pl.String for name in ("truth", "answer"))


def _beyond_chance(exam: Exam[Any], rows: pl.DataFrame, how: dict[str, Any]) -> tuple[Figures, dict[str, Any]]:
    """Accuracy, what chance gives, both put together, and κ; the share of yes where that is an answer."""
    if not _in_words(rows):
        return {}, {}
    words = sorted({*rows["truth"].drop_nulls()})
    if not 2 <= len(words) <= _MOST_WORDS:
        return {}, {}
    place = {word: i for i, word in enumerate(words)}
    k = len(words) + 1  # the last one: any other answer, or none
    truth = rows["truth"].replace_strict(place, default=k - 1, return_dtype=pl.Int64).to_numpy()
    answer = rows["answer"].replace_strict(place, default=k - 1, return_dtype=pl.Int64).to_numpy()
    kinds = rows[exam.options_by].fill_null("") if exam.options_by else pl.repeat("", rows.height, eager=True)
    groups, group = np.unique(kinds.to_numpy().astype(str), return_inverse=True)
    _, unit = np.unique(rows["cluster_id"].to_numpy().astype(str), return_inverse=True)
    counts = np.zeros((int(unit.max()) + 1, len(groups), k, k))
    np.add.at(counts, (unit, group, truth, answer), 1.0)

    def statistic(totals: Floats) -> Floats:
        return np.stack([*beyond_chance(totals), _said_yes(totals, words)], axis=1)

    labels = {
        "accuracy": "right",
        "chance": "chance",
        "chance_adjusted": "beyond chance",
        "commonest": "commonest",
        "commonest_adjusted": "beyond the commonest",
        "kappa": "Cohen's κ",
        "yes_ratio": "answers that are yes",
    }
    found = [one.within(-math.inf, 1.0) for one in intervals(counts, statistic, proportion=False, **how)]
    shares = intervals(counts, lambda t: statistic(t)[:, [0, 6]], **how)
    found[0], found[6] = shares
    figures = {_name(key, label=label): value for (key, label), value in zip(labels.items(), found, strict=True)}
    facts: dict[str, Any] = {"chance_is": CHANCE, "commonest_is": COMMONEST, "answers": words}
    if set(words) == _YES_NO:
        facts["true_yes_ratio"] = float((rows["truth"] == "yes").mean())  # type: ignore[arg-type]
    else:
        figures = {name: value for name, value in figures.items() if name.path[-1] != "yes_ratio"}
    return figures, facts


def _said_yes(totals: Floats, words: Sequence[str]) -> Floats:
    if "yes" not in words:
        return np.full(len(totals), np.nan)
    said = totals.sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = said[:, words.index("yes")] / said.sum(axis=1)
    return share


def _calibration(rows: pl.DataFrame, how: dict[str, Any], of: str = CALIBRATION) -> tuple[Figures, dict[str, Any]]:
    """Calibration error, Brier score and risk against coverage, where a run has confidences.

    Scores of detections that lie outside [0, 1] are no probabilities, and nothing is said of them.
    """
    if CONFIDENCE not in rows.columns:
        return {}, {}
    sure = rows.filter(pl.col(CONFIDENCE).is_not_null() & pl.col(CONFIDENCE).is_not_nan())
    if not sure.height or (of == DETECTIONS and not sure[CONFIDENCE].is_between(0.0, 1.0).all()):
        return {}, {}
    found = calibration(sure[CONFIDENCE].to_numpy(), sure["right"].to_numpy(), sure["cluster_id"].to_numpy(), **how)
    labels = {"ece": "calibration error", "brier": "Brier score", "aurc": "risk over all coverages"}
    figures = {_name(of, key, label=words): getattr(found, key) for key, words in labels.items()}
    bins = [
        {"n": int(n), "confidence": total / n if n else None, "right": hits / n if n else None}
        for n, total, hits in found.bins.tolist()
    ]
    return figures, {of: {"n": sure.height, "bins": bins}}


def _samples(rows: pl.DataFrame, how: dict[str, Any]) -> tuple[Figures, dict[str, Any]]:
    """Accuracy of single answers, of the majority and of the worst of K, and how far samples agree."""
    if not _in_words(rows) or not isinstance(rows.schema.get(SAMPLES), pl.List):
        return {}, {}
    drawn = rows.filter(pl.col(SAMPLES).list.len() > 0)
    if not drawn.height:
        return {}, {}
    found = sample_counts(drawn[SAMPLES].to_list(), drawn["truth"].to_list())
    _, unit = np.unique(drawn["cluster_id"].to_numpy().astype(str), return_inverse=True)
    values = np.stack([getattr(found, key) for key in _SAMPLE_WORDS], axis=1)
    known = np.isfinite(values)
    counts = np.zeros((int(unit.max()) + 1, values.shape[1], 2))
    np.add.at(counts, unit, np.stack([np.where(known, values, 0.0), known], axis=2))
    shares = intervals(counts, lambda t: t[..., 0] / t[..., 1], **how)
    figures = {
        _name("samples", key, label=words): share
        for (key, words), share in zip(_SAMPLE_WORDS.items(), shares, strict=True)
    }
    scenes, draws = _error_parts(values[:, 0], unit)
    sizes = drawn[SAMPLES].list.len()
    facts = {"k": int(sizes.max()), "n": drawn.height, "error_by_scene": scenes, "error_by_draw": draws}  # type: ignore[arg-type]
    return figures, {"samples": facts}


def _error_parts(single: Floats, unit: NDArray[np.int64]) -> tuple[float | None, float | None]:
    """Standard error of the accuracy of single answers by scenes drawn, and by answers drawn to the same scenes.

    The second is what another drawing of the answers would change, scenes staying the same: from the spread
    p (1 − p) within each question.
    """
    n, units = len(single), int(unit.max()) + 1
    if units < 2:
        return None, None
    totals = np.bincount(unit, single, units) - single.mean() * np.bincount(unit, minlength=units)
    by_scene = float(np.sqrt(units / (units - 1) * (totals**2).sum()) / n)
    return by_scene, float(np.sqrt((single * (1 - single)).sum()) / n)


def sample_table(runs: Mapping[str, tuple[Mapping[Name, Interval], Mapping[str, Any]]], unit: str) -> Table | None:
    """What answers drawn several times have right, a line a run; None where no run has some.

    Args:
        runs: How tables call a run → its figures and facts.
        unit: What intervals are by.
    """
    rows, errors = [], []
    for run, (figures, facts) in runs.items():
        by_path = {name.path: value for name, value in figures.items()}
        if (CHECKS, SAMPLES, "single") not in by_path:
            continue
        rows.append(Row(run, tuple(scored(by_path[CHECKS, SAMPLES, key]) for key in _SAMPLE_WORDS)))
        told = facts[CHECKS][SAMPLES]
        if told["error_by_scene"] is not None:
            scene, draw = 100 * told["error_by_scene"], 100 * told["error_by_draw"]
            errors.append(f"{run}: {told['k']} answers each; {scene:.1f} by {unit}s, {draw:.1f} by draws")
    if not rows:
        return None
    note = f"Standard error of single answers, in points: {'; '.join(errors)}." if errors else ""
    columns, groups = ("model", *_SAMPLE_WORDS.values()), (("right", len(_SAMPLE_WORDS) - 1), ("", 1))
    title = f"answers drawn several times, 95 % interval by {unit}"
    return Table(title, columns, tuple(rows), groups, note)
