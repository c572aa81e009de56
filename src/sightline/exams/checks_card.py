"""The card's sections on checks, written once for all exams: answers under variations, and single judgements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from sightline.exams.base import Name
from sightline.exams.card import CardContext
from sightline.exams.checks import variation_notes
from sightline.exams.judgement_figures import CALIBRATION, CHECKS, DETECTIONS
from sightline.exams.plans import PairPlan, plan_pair
from sightline.exams.scoring import RunResult
from sightline.show.chart import DotRow, dot_intervals
from sightline.show.page import Figure, FigureRow, Section
from sightline.show.table import Cell, Row, Table, known, scored, shared
from sightline.show.xy import Point, calibration_chart
from sightline.stats import Interval
from sightline.stats.intervals import t_quantile
from sightline.stats.sample_size import plan_clusters
from sightline.text import counted

_MEANINGS: Final = {
    "swap": "swap: (a, b) asked as (b, a), with the converse of what was asked",
    "mirror": "mirror: pictures, boxes, words and labels mirrored",
    "blind": "blind: every picture one grey, so that what stays right needs no picture",
    "noise": "noise: Gaussian, σ 5, 15 and 40 of 255",
    "jpeg": "jpeg: compressed at quality 50, 20 and 5",
    "paraphrase": "paraphrase: the question in other words",
    "circular": "circular: no named before yes",
}
_CALIBRATED: Final = {
    CALIBRATION: (
        "Confidence",
        "Confidence is the probability that a model gave its own answer. Calibration error: its gap to the "
        "share of right answers, over ten bins; risk over all coverages: the share of wrong answers among the "
        "surest, averaged over how many are kept. Lower is better.",
    ),
    DETECTIONS: (
        "Scores of boxes that were found",
        "Of boxes that a model found itself the same is said of their scores: right is a box that is an object's "
        "of its class. Scores outside [0, 1] are no chances and left out.",
    ),
}
_RELIABILITY: Final = {
    CALIBRATION: ("judgement", "judgements", "Right answers by confidence", "confidence, %", "right, %"),
    DETECTIONS: ("box", "boxes", "Boxes that are objects by score", "score, %", "objects, %"),
}
TWO_POINTS: Final = 0.02
"""Difference that the card plans for."""
_CHANCE: Final = ("accuracy", "chance", "chance_adjusted", "commonest", "commonest_adjusted", "kappa", "yes_ratio")


def check_sections(card: CardContext) -> Iterator[Section]:
    """Answers under variations, where runs have some; chance, calibration and samples of single judgements."""
    yield from _variations(card)
    yield from _judgements(card)
    yield from _sample_size(card)


def _variations(card: CardContext) -> Iterator[Section]:
    varied = {r.name: r.varied for r in card.results if any(not of.reason for of in r.varied.kinds.values())}
    if not varied:
        return
    chosen = card.focus if card.focus.name in varied else next(r for r in card.results if r.name in varied)
    kinds = list(dict.fromkeys(kind for run in varied.values() for kind, of in run.kinds.items() if not of.reason))
    meanings = "; ".join(_MEANINGS[kind] for kind in kinds)
    text = (
        "The same was asked again, changed in ways that leave the answer as it was or change it in a known way; "
        "answers are turned back before they are held against the first ones.",
        f"{meanings[0].upper()}{meanings[1:]}.",
        "Same answer: the share of single judgements that did not change, over all strengths. Right under all: "
        "right as it is and in every variant. Change of right: variants less as it is, paired, in points. "
        f"Intervals by {card.exam.unit}.",
        *(f"{note}." for note in variation_notes(varied)),
    )
    rows = []
    for result in card.results:
        for kind, of in result.varied.kinds.items():
            if not of.reason:
                cells = (shared(of.consistency), shared(of.right), shared(of.right_under_all), _points(of.change))
                rows.append(replace(card.row(result, cells), head=f"{result.name}, {kind}"))
    columns = ("model, variation", "same answer", "right", "right under all", "change of right")
    table = Table("As they are and varied", columns, tuple(rows))
    strengths = _strengths(card)
    yield Section("variations", "Under variations", text, (_charts(chosen, card), table, *strengths))


def _points(change: Interval | None) -> Cell:
    """A difference in points over its interval."""
    if change is None or not math.isfinite(change.value):
        return Cell("–")
    limits = f"{100 * change.low:+.1f} to {100 * change.high:+.1f}" if math.isfinite(change.low) else ""
    return Cell(f"{100 * change.value:+.1f}", limits.replace("-", "−"))


def _charts(result: RunResult, card: CardContext) -> FigureRow:
    """What one run keeps of its answers, and what it has right throughout, by kind."""
    kinds = {kind: of for kind, of in result.varied.kinds.items() if not of.reason}
    figures = []
    for title, key in (("Same answer", "consistency"), ("Right under all", "right_under_all")):
        rows = [_dot(kind, getattr(of, key), blind=kind == "blind") for kind, of in kinds.items()]
        lines = []
        if key == "right_under_all":
            first = next(iter(kinds.values())).right
            lines = [(100 * first.value, "as it is")] if known(first) else []
        drawn = dot_intervals(
            rows,
            reference_lines=lines,
            title=f"{title} under variations in per cent",
            digits=1,
            domain=(0.0, 100.0),
        )
        figures.append(Figure(f"{title}, {result.name}", drawn))
    marks = (("", f"In per cent of single judgements, with 95 % intervals by {card.exam.unit}"),)
    return FigureRow("", tuple(figures), key=marks)


def _dot(label: str, value: Interval | None, *, blind: bool) -> DotRow:
    if value is None:
        return DotRow(label, math.nan, note="undefined")
    return DotRow(label, 100 * value.value, 100 * value.low, 100 * value.high, "baseline" if blind else "model")


def _strengths(card: CardContext) -> Iterator[Table]:
    """Every strength of the kinds that have several."""
    rows = [
        Row(f"{result.name}, {name}", (shared(of.consistency), shared(of.right)))
        for result in card.results
        for kind in result.varied.kinds.values()
        if len(kind.variants) > 1
        for name, of in kind.variants.items()
    ]
    if rows:
        yield Table("By strength", ("model, variant", "same answer", "right"), tuple(rows))


def _judgements(card: CardContext) -> Iterator[Section]:
    """Chance, calibration and samples of single judgements."""
    shown = [r for r in card.main if r.scores.at(CHECKS, "accuracy") is not None]
    content: list[Any] = []
    text = []
    if shown:
        names = _names(shown, _CHANCE)
        content.append(_table(card, shown, names, "Beyond chance"))
        facts = shown[0].scores.facts.get(CHECKS, {})
        said = (
            f"Of {counted(int(facts['n_judgements']), 'single judgement')}. Chance: {facts['chance_is']}; "
            f"commonest: {facts['commonest_is']}. Beyond: (right − chance) / (1 − chance), so that chance is 0 "
            "and all right is 1; Cohen's κ takes the model's own shares of answers as chance."
        )
        if "true_yes_ratio" in facts:
            said += f" Of the true answers {100 * facts['true_yes_ratio']:.1f} % are yes."
        text.append(said)
    sure = []
    for of, (_, meaning) in _CALIBRATED.items():
        rated = [r for r in card.main if r.scores.at(CHECKS, of, "ece") is not None]
        if rated:
            keys = [(of, key) for key in ("ece", "brier", "aurc")]
            content += [_reliability(rated, of), _table(card, rated, _below(rated, keys), "Calibration")]
            text.append(meaning)
            sure += rated
    drawn = [r for r in card.main if r.scores.at(CHECKS, "samples", "single") is not None]
    if drawn:
        keys = [("samples", key) for key in ("single", "majority", "worst", "best", "agreement")]
        table = _table(card, drawn, _below(drawn, keys), "Answers drawn several times")
        content.append(replace(table, groups=(("right", len(keys) - 1), ("", 1))))
        text.extend(_drawn_words(result) for result in drawn)
    if content:
        yield Section("judgements", "Single judgements", tuple(text), tuple(content), folded=not (sure or drawn))


def _planned(card: CardContext) -> list[PairPlan]:
    """The headline figure of the model in focus against the next model and the best blind one."""

    def make() -> list[PairPlan]:
        focus = card.focus.scores.headline
        others = [r for r in card.main if r is not card.focus and r.finished and r.exam == card.focus.exam]
        chosen = [next((r for r in others if r.blind == blind), None) for blind in (False, True)]
        if focus is None or not card.focus.finished:
            return []
        plans = [
            pair
            for other in chosen
            if other is not None
            for pair in plan_pair(card.focus, other, lambda: card.data, TWO_POINTS)
        ]
        return [pair for pair in plans if pair.name.path == focus[0].path]

    return card.once("planned", make)


def _sample_size(card: CardContext) -> Iterator[Section]:
    """What the scenes at hand can tell, and how many a difference of two points needs."""
    pairs = _planned(card)
    if not pairs:
        return
    rows = []
    for pair in pairs:
        seen, needed = f"{100 * pair.seen:+.1f}".replace("-", "−"), pair.plan.clusters
        least = f"{100 * pair.least:.1f}" if math.isfinite(pair.least) else "–"
        cells = (seen, least, f"{pair.units:,}", "–" if needed is None else f"{needed:,}")
        rows.append(Row(f"{pair.a} against {pair.b}", tuple(map(Cell, cells))))
    unit, words = card.exam.unit, card.exam.words(pairs[0].name)
    text = (
        f"{words[:1].upper()}{words[1:]}, on the same {unit}s, in points: the smallest true difference that these "
        "find with 80 % power, and how many would be needed for one of two points (5 %, two-sided). sightline plan "
        "does it for any difference and all pairs.",
    )
    columns = ("models", "difference", "smallest to be seen", f"{unit}s", f"{unit}s for two points")
    content = (Table("The model in focus against the next, and the best blind one", columns, tuple(rows)),)
    yield Section("sample-size", f"What these {unit}s can tell", text, content, folded=True)


def small_sample_words(card: CardContext) -> Iterator[str]:
    """A warning for each comparison that was too small to tell the model in focus from the other."""
    for pair in _planned(card):
        if not pair.error > 0 or abs(pair.seen) >= t_quantile(0.975, pair.units - 1) * pair.error:
            continue
        needed = plan_clusters(pair.error, pair.units, abs(pair.seen)).clusters if pair.seen else None
        enough = f"; a true difference of that size needs about {needed:,}" if needed else ""
        apart = f"{100 * abs(pair.seen):.1f} points"
        yield (
            f"Too few {card.exam.unit}s to tell {pair.a} from {pair.b}: they differ by {apart}, and {pair.units:,} "
            f"{card.exam.unit}s find differences of {100 * pair.least:.1f} points or more{enough}."
        )


def _drawn_words(result: RunResult) -> str:
    facts = result.scores.facts[CHECKS]["samples"]
    scene, draw = facts["error_by_scene"], facts["error_by_draw"]
    said = f"{result.name} was asked {facts['k']} times."
    if scene is not None:
        said += (
            f" Standard error of a single answer's accuracy: {100 * scene:.2f} points by the scenes that were "
            f"drawn, {100 * draw:.2f} by the answers that were."
        )
    return said


def _names(results: list[RunResult], keys: tuple[str, ...]) -> list[Name]:
    return _below(results, [(key,) for key in keys])


def _below(results: list[RunResult], paths: list[Any]) -> list[Name]:
    known_names = {name.path: name for result in results for name in result.scores.figures}
    return [known_names[CHECKS, *path] for path in paths if (CHECKS, *path) in known_names]


def _table(card: CardContext, results: list[RunResult], names: list[Name], title: str) -> Table:
    rows = [card.row(result, [_figure(result.scores.at(*name.path)) for name in names]) for result in results]
    return Table(title, ("model", *(name.label for name in names)), tuple(rows))


def _figure(value: Interval | None) -> Cell:
    """A figure over its interval, where that is more than one value."""
    made = scored(value)
    return Cell(made.text) if value is not None and value.low == value.high else made


def _reliability(results: list[RunResult], of: str) -> FigureRow:
    """How often answers, or boxes, of each confidence are right, for a few runs."""
    figures, words = [], _RELIABILITY[of]
    for result in results[:3]:
        bins = result.scores.facts[CHECKS][of]["bins"]
        shares = [(one["confidence"], one["right"], one["n"]) for one in bins if one["n"]]
        points = [
            Point(sure, Interval(right, math.nan, math.nan, n, ""), counted(n, words[0], words[1]))
            for sure, right, n in shares
        ]
        title = f"{words[2]}, {result.name}"
        figures.append(Figure(title, _reliability_chart(points, title, words)))
    heading, trusted = _CALIBRATED[of][0], "What can be trusted lies on the diagonal."
    return FigureRow(heading, tuple(figures), text=trusted)


def _reliability_chart(points: list[Point], title: str, words: tuple[str, ...]) -> str:
    return calibration_chart(points, title=title, x_label=words[3], y_label=words[4], whole=True)
