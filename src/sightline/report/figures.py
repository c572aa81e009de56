"""The card's charts: which figures go into which drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sightline.report.listings import BOXES_WORDS, SETTING_WORDS, SUBTASK_TITLES
from sightline.report.sketch import scene_sketch, spoken
from sightline.show.chart import DotRow, bars, dot_intervals, heat_grid, stacked_bars
from sightline.show.page import Figure

if TYPE_CHECKING:
    from sightline.exams.relations.distributions import Bar, Frequency, LabelDistribution
    from sightline.exams.relations.grids import Grid
    from sightline.report.cards import ReportCard
    from sightline.report.failures import Failure
    from sightline.skills import Setting

OUTCOMES = {
    "correct": "correct",
    "wrong_predicate": "wrong predicate",
    "missed_object": "missed object",
    "spurious_pair": "spurious pair",
    "undecided": "no majority",
}
_GRID_TITLES = {"size": "Size", "vertical": "Top to bottom", "horizontal": "Left to right"}


def forests(card: ReportCard) -> list[Figure]:
    """F1 of every run in the main tables: one plot a sub-task, then the average."""
    names = [*card.subtasks, *(["average"] if any(s.scores.average for s in card.main) else [])]
    return [Figure(SUBTASK_TITLES.get(n, "Average of the three"), _forest(card, n)) for n in names]


def _forest(card: ReportCard, name: str) -> str:
    rows = []
    for sitting in card.main:
        found = sitting.f1(name)
        if found is None:
            continue
        kind = "model" if sitting.label == card.focus else "baseline" if sitting.blind else "rival"
        note = "" if sitting.finished else "unfinished"
        rows.append(DotRow(sitting.label, found.value, found.low, found.high, kind, note))  # type: ignore[arg-type]
    rows.sort(key=lambda row: -row.value if math.isfinite(row.value) else math.inf)
    human = card.data.human_value(name)
    lines = [(human, f"one rater {human:.3f}")] if math.isfinite(human) else []
    title = f"F1, {SUBTASK_TITLES.get(name, 'average').lower()}, with 95 % intervals"
    return dot_intervals(rows, reference_lines=lines, title=title)


def audit_figures(card: ReportCard) -> list[Figure]:
    """Blind rules on clear orders."""
    found = []
    for setting, rules in card.data.audit.rules.items():
        ranked = sorted(rules.items(), key=lambda item: -item[1].accuracy.value)
        rows = [
            DotRow(name.replace("_", " "), r.accuracy.value, r.accuracy.low, r.accuracy.high) for name, r in ranked
        ]
        title = f"Blind rules, {SETTING_WORDS[setting]}"
        found.append(Figure(title, dot_intervals(rows, reference_lines=[(0.5, "chance")], title=title)))
    return found


def grid_groups(card: ReportCard) -> list[tuple[str, list[Figure]]]:
    """The focus model's F1 of *closer* by size and place, setting by setting, one heat map an attribute."""
    return [
        (SETTING_WORDS[setting].capitalize(), [Figure(_GRID_TITLES[g.attribute], _heat(g, setting)) for g in found])
        for setting, found in card.grids.items()
    ]


def _heat(grid: Grid, setting: Setting) -> str:
    edges = [f"{100 * edge:.0f}" if grid.attribute != "size" else f"{100 * edge:.1f}" for edge in grid.edges]
    names = [f"{low}–{high}" for low, high in pairwise(edges)]
    unit = {"size": "% of the image", "vertical": "% from the top", "horizontal": "% from the left"}[grid.attribute]
    title = f"F1 of closer, {_GRID_TITLES[grid.attribute].lower()}, {SETTING_WORDS[setting]}"
    return heat_grid(
        grid.f1, grid.pairs, names, names, title, row_name=f"a: {unit}", col_name=f"b: {unit}", width=360
    )


def outcome_figures(card: ReportCard) -> list[Figure]:
    """How judgements on detected boxes ended, one chart a run."""
    found = []
    for sitting in card.detected:
        rows = {
            SUBTASK_TITLES[task]: {OUTCOMES[outcome]: float(n) for outcome, n in ended.items()}
            for task, ended in sitting.outcomes.items()
        }
        counts = {task: int(sum(ended.values())) for task, ended in rows.items()}
        title = f"How judgements ended: {sitting.name}, {BOXES_WORDS[sitting.boxes]}"
        chart = stacked_bars(rows, categories=list(OUTCOMES.values()), counts=counts, title=title)
        found.append(Figure(title, chart))
    return found


def frequency_figures(card: ReportCard) -> list[Figure]:
    """The commonest classes and class pairs (the paper's Figures 8 and 9)."""
    found = []
    for setting in card.data.classes:
        said = SETTING_WORDS[setting]
        for what, frequency in (
            ("Classes", card.data.classes[setting]),
            ("Class pairs", card.data.class_pairs[setting]),
        ):
            note = f"{len(frequency.names)} commonest of {frequency.distinct:,}; {frequency.total:,} in all."
            found.append(Figure(f"{what}, {said}", _frequency(frequency, f"{what}, {said}"), note))
    return found


def _frequency(frequency: Frequency, title: str) -> str:
    labels = [" · ".join(name) for name in frequency.names]
    return bars(labels, [float(n) for n in frequency.counts], log=True, title=title)


def label_figures(card: ReportCard, *, each: int = 3, support: int = 50) -> list[Figure]:
    """Which classes and class pairs get a label most often (the paper's Figures 5 and 10)."""
    found = []
    for task, by_class in card.data.by_class.items():
        for what, distribution in (("class", by_class), ("class pair", card.data.by_class_pair[task])):
            chart = _labels(distribution, each, support, f"{SUBTASK_TITLES[task]}, labels by {what}")
            if chart:
                found.append(Figure(f"{SUBTASK_TITLES[task]}, by {what} of a{' and b' * (what != 'class')}", chart))
    return found


def _labels(distribution: LabelDistribution, each: int, support: int, title: str) -> str | None:
    """The top names of every label, each once, under one legend."""
    tops = [bar for label in distribution.labels for bar in distribution.top(label, each, support)]
    shown: dict[str, Bar] = {" · ".join(bar.name): bar for bar in tops}
    if not shown:
        return None
    names = [label.replace("_", " ") for label in distribution.labels]
    rows = {name: dict(zip(names, bar.shares.tolist(), strict=True)) for name, bar in shown.items()}
    return stacked_bars(rows, categories=names, counts={n: bar.support for n, bar in shown.items()}, title=title)


def failure_groups(failures: Iterable[Failure]) -> list[tuple[str, list[Figure]]]:
    """Drawn worst scenes, sub-task by sub-task."""
    groups: dict[str, list[Figure]] = {}
    for failure in failures:
        groups.setdefault(SUBTASK_TITLES[failure.subtask], []).append(_sketch(failure))
    return list(groups.items())


def _sketch(failure: Failure) -> Figure:
    second = failure.images[1] if len(failure.images) > 1 else None
    chart = scene_sketch(
        failure.images[0],
        second,
        pair=failure.pair,
        truth=spoken(failure.truth),
        answer=spoken(failure.answer),
        votes=_votes(list(failure.votes.values())),
    )
    where = "here" if second is None else "on this pair of images"
    note = f"{failure.wrong:,} of {failure.asked:,} answers {where} are wrong."
    return Figure("", chart, note)


def _votes(counts: Sequence[int]) -> str:
    """How the raters split, e.g. ``4–1``; unanimous ones say so."""
    return "–".join(str(n) for n in (counts if len(counts) > 1 else [*counts, 0])) if counts else ""
