"""Figures that a model must reach, as in ``--fail-under f1=0.7``: for continuous integration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sightline.errors import ConfigError
from sightline.exams.results import ExamResults
from sightline.exams.scoring import Scores
from sightline.hints import did_you_mean
from sightline.stats import Interval

WHOLE: Final = ("all", "mean", "average", "value")
"""Last step of a path that may be left out, the first that there is."""


@dataclass(frozen=True)
class Threshold:
    """A figure by its path in ``scores``, and the least value of its point estimate."""

    path: tuple[str, ...]
    least: float

    @property
    def name(self) -> str:
        """The path, as it was written."""
        return ".".join(self.path)


def parse_threshold(text: str) -> Threshold:
    """Read ``PATH=NUMBER``, the steps of the path with dots between; ConfigError where it is none.

    >>> parse_threshold("f1.all=0.7")
    Threshold(path=('f1', 'all'), least=0.7)
    """
    path, equals, number = text.rpartition("=")
    try:
        least = float(number)
    except ValueError:
        least = math.nan
    steps = tuple(step.strip() for step in path.split("."))
    if not equals or not all(steps) or not math.isfinite(least):
        raise ConfigError(f"--fail-under: expected a path and a number as in f1=0.7, found {text!r}")
    return Threshold(steps, least)


def figure_at(scores: Scores, threshold: Threshold) -> Interval:
    """The figure at a path of the scores, or the headline by one of its words (`f1` of the relations exam).

    Raises:
        ConfigError: There is none; the message has the nearest path.
    """
    for path in (threshold.path, *((*threshold.path, last) for last in WHOLE)):
        found = scores.at(*path)
        if found is not None:
            return found
    if scores.headline is not None and threshold.path[0] in _headline_words(scores):
        return scores.headline[1]
    below = {name.path for name in scores.figures if name.path[: len(threshold.path)] == threshold.path}
    if below:
        inside = ", ".join(sorted(".".join(path) for path in below)[:8])
        raise ConfigError(f"--fail-under: {threshold.name!r} is no single figure; there are {inside}")
    raise ConfigError(_unknown(threshold, scores))


def check_begin(scores: Scores, thresholds: Iterable[Threshold]) -> None:
    """ConfigError for a path whose first step none of the figures has: told after one item, not after all."""
    known = {name.path[0] for name in scores.figures} | _headline_words(scores)
    for threshold in thresholds:
        if known and threshold.path[0] not in known:
            raise ConfigError(_unknown(threshold, scores))


def _headline_words(scores: Scores) -> set[str]:
    """What the figure that stands for the exam may be called: steps of its path, and what its table begins with."""
    if scores.headline is None:
        return set()
    name, _ = scores.headline
    return {*name.path, name.table.partition(",")[0].lower()} - {""}


def _unknown(threshold: Threshold, scores: Scores) -> str:
    paths = [".".join(name.path) for name in scores.figures]
    near = did_you_mean(threshold.name, paths) or did_you_mean(threshold.path[0], [p.split(".")[0] for p in paths])
    some = ", ".join(dict.fromkeys(path.split(".")[0] for path in paths))
    return f"--fail-under: the {scores.exam} exam has no figure {threshold.name!r}{near or f'; there are {some}'}"


@dataclass(frozen=True)
class Shortfall:
    """A model below a threshold: its value, NaN where the figure is undefined."""

    exam: str
    model: str
    path: str
    value: float
    least: float

    def __str__(self) -> str:
        value = "undefined" if math.isnan(self.value) else f"{self.value:.4g}"
        return f"{self.exam}: {self.model} is below --fail-under {self.path}={self.least:g}: {value}"


def shortfalls(results: Iterable[ExamResults], thresholds: Sequence[Threshold]) -> list[Shortfall]:
    """The models, baselines aside, whose point estimates are below; an undefined figure is below.

    Of several exams a threshold holds for those that have such a figure; ConfigError where none has.
    """
    taken, found = list(results), []
    for threshold in thresholds:
        reasons: list[ConfigError] = []
        for exam in taken:
            for result in exam.models:
                try:
                    value = figure_at(result.scores, threshold).value
                except ConfigError as reason:
                    reasons.append(reason)
                    continue
                if not value >= threshold.least:
                    found.append(Shortfall(exam.exam.name, result.name, threshold.name, value, threshold.least))
        if reasons and len(reasons) == sum(len(exam.models) for exam in taken):
            raise reasons[0]
    return found
