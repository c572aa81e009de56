"""A leaderboard of runs: every exam's headline figure, ranks with ranges, and which models can be told apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np

from sightline.exams.base import Exam, Measures, Name, RankedMeasures
from sightline.exams.scoring import RunResult
from sightline.files import atomic_write
from sightline.plain import plain
from sightline.show.board_page import board_html
from sightline.show.markup import markdown_text
from sightline.show.table import Cell, Row, Table, scored, shared
from sightline.stats import Interval, bootstrap, compare, compare_ranked, holm
from sightline.stats.bootstrap import Floats
from sightline.stats.paired import Comparison
from sightline.stats.ranked import resampled_scores
from sightline.stats.ranks import rank_ranges
from sightline.store import Dataset

SIGNIFICANCE: Final = 0.05
"""Holm-corrected p-value below which two models are told apart."""


@dataclass(frozen=True)
class BoardRow:
    """One model in one exam.

    Attributes:
        model: What the board calls it.
        blind: It never looks at a picture.
        value: Its headline figure.
        ranks: Best and worst rank that resampled scenes give it; None for a run that is not finished.
        better_than: Models that it is better than, told apart by a test; `worse_than` likewise.
        items: How many items it answered.
        when: When it last answered, ISO 8601.
    """

    model: str
    blind: bool
    value: Interval
    ranks: tuple[int, int] | None
    better_than: tuple[str, ...] = ()
    worse_than: tuple[str, ...] = ()
    items: int = 0
    when: str | None = None

    @property
    def place(self) -> str:
        """The range of ranks in words."""
        if self.ranks is None:
            return "–"
        return str(self.ranks[0]) if self.ranks[0] == self.ranks[1] else f"{self.ranks[0]}–{self.ranks[1]}"


@dataclass(frozen=True)
class BoardPair:
    """Two models on the same scenes: the difference a − b, its interval, and p corrected by Holm over all pairs."""

    a: str
    b: str
    difference: float
    low: float
    high: float
    p_holm: float


@dataclass(frozen=True)
class BoardExam:
    """One exam over one dataset.

    Attributes:
        exam: Name of the exam; `title` its heading; `data` the dataset's name.
        figure: The headline figure in words.
        percent: It is given in per cent.
        unit: What scenes are called; `units` how many all ranked models share.
        rows: Best first.
        pairs: All pairs of ranked models.
    """

    exam: str
    title: str
    data: str
    figure: str
    percent: bool
    unit: str
    units: int
    rows: tuple[BoardRow, ...]
    pairs: tuple[BoardPair, ...] = ()

    def table(self) -> Table:
        """Ranks, models, values; how many of the others each is told apart from."""
        rows = []
        for row in self.rows:
            apart = f"{len(row.better_than)} / {len(row.worse_than)}" if row.ranks else "unfinished"
            value = (shared if self.percent else scored)(row.value)
            rows.append(Row(row.model, (Cell(row.place), value, Cell(apart)), "blind" if row.blind else ""))
        columns = ("model", "rank", self.figure, "better / worse than")
        return Table(f"{self.title}, {self.data}: {self.units:,} {self.unit}s", columns, tuple(rows))


@dataclass(frozen=True)
class Board:
    """All exams of some runs.

    Attributes:
        exams: One entry an exam and dataset.
        resamples: Behind the ranges of ranks and the intervals; `seed` of them.
    """

    exams: tuple[BoardExam, ...]
    resamples: int
    seed: int

    @property
    def models(self) -> list[str]:
        """Models of all exams, those that look first."""
        rows = [row for exam in self.exams for row in exam.rows]
        blind = {row.model: row.blind for row in rows}
        return sorted(blind, key=lambda name: (blind[name], self._mean_place(name), name))

    def _mean_place(self, model: str) -> float:
        """Mean over exams of the middle of its ranks, as a share of the models there."""
        shares = [
            (row.ranks[0] + row.ranks[1]) / 2 / max(len(exam.rows), 1)
            for exam in self.exams
            for row in exam.rows
            if row.model == model and row.ranks is not None
        ]
        return sum(shares) / len(shares) if shares else math.inf

    def overview(self) -> Table:
        """Models × exams: the headline figure over its range of ranks."""
        found = {(i, row.model): row for i, exam in enumerate(self.exams) for row in exam.rows}
        rows = []
        for model in self.models:
            cells = []
            for i, exam in enumerate(self.exams):
                row = found.get((i, model))
                value = None if row is None else (shared if exam.percent else scored)(row.value).text
                cells.append(Cell("–") if row is None else Cell(str(value), f"rank {row.place}"))
            blind = any(row.blind for (_, name), row in found.items() if name == model)
            rows.append(Row(model, tuple(cells), "blind" if blind else ""))
        headings = [f"{exam.title} ({exam.data})" for exam in self.exams]
        return Table("", ("model", *headings), tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        """The document of ``sightline board --json``."""
        return {"models": self.models, "exams": plain(self.exams), "resamples": self.resamples, "seed": self.seed}

    def to_markdown(self) -> str:
        """Tables in GitHub's Markdown, for a pull request."""
        lines = []
        if len(self.exams) > 1:
            lines += ["### Leaderboard", "", *_markdown(self.overview()), ""]
        for exam in self.exams:
            table = exam.table()
            lines += [f"#### {markdown_text(table.title)}", "", *_markdown(table), ""]
        told = f"Ranks are 95 % ranges over {self.resamples:,} resamples. Better / worse than: models told apart"
        return "\n".join([*lines, f"{told} by a paired test, p < {SIGNIFICANCE} after Holm.", ""])

    def to_html(self) -> str:
        """One page that needs nothing else."""
        return board_html(plain(self.exams), self.overview(), self.resamples, self.seed)

    def write(self, path: str | Path) -> None:
        """Write the page."""
        atomic_write(Path(path), self.to_html().encode("utf-8", errors="replace"))

    def __str__(self) -> str:
        tables = [self.overview()] if len(self.exams) > 1 else []
        return "\n\n".join(str(table) for table in [*tables, *(exam.table() for exam in self.exams)])


def _markdown(table: Table) -> list[str]:
    """A table with an interval beside its figure, which GitHub shows as it is."""
    rows = [[row.head, *(str(cell) for cell in row.cells)] for row in table.rows]
    lines = [[*table.columns], ["---", *["---:"] * (len(table.columns) - 1)], *rows]
    return [
        "| " + " | ".join(markdown_text(text) if i != 1 else text for text in line) + " |"
        for i, line in enumerate(lines)
    ]


def board_exam(
    results: Sequence[RunResult],
    data: Callable[[], Dataset],
    data_name: str,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> BoardExam | None:
    """Rank the runs of one exam over the same data; None where no run has a headline figure.

    Runs that are not finished are listed without a rank, since they were not asked about the same scenes.

    Args:
        results: Runs, scored, with names of their own.
        data: Opens the dataset, should the exam need it.
        data_name: What the board calls it.
        resamples: Bootstrap resamples and sign flips.
        seed: Of both.
    """
    headed = [result for result in results if result.scores.headline is not None]
    if not headed:
        return None
    best = max(headed, key=lambda result: result.rank)
    assert best.scores.headline is not None
    name = best.scores.headline[0]
    ranked = [r for r in headed if r.finished and r.scores.headline and r.scores.headline[0].path == name.path]
    figures = _figures(ranked, name, data)
    ranges: dict[str, tuple[int, int]] = {}
    pairs: list[BoardPair] = []
    if figures:
        drawn = np.column_stack([of.resampled(resamples, seed) for of in figures.values()])
        ranges = {model: (a, b) for model, (a, b) in zip(figures, rank_ranges(drawn).tolist(), strict=True)}
        pairs = _pairs(figures, resamples, seed)
    apart = [pair for pair in pairs if pair.p_holm < SIGNIFICANCE]
    better = {(p.a, p.b) if p.difference > 0 else (p.b, p.a) for p in apart}
    rows = []
    for result in sorted(headed, key=lambda r: r.rank, reverse=True):
        value = result.scores.at(*name.path)
        rows.append(
            BoardRow(
                result.name,
                result.blind,
                value if value is not None else Interval(math.nan, math.nan, math.nan, 0, "none"),
                ranges.get(result.name),
                tuple(sorted(b for a, b in better if a == result.name)),
                tuple(sorted(a for a, b in better if b == result.name)),
                result.records.items.height,
                result.run.when,
            )
        )
    exam, units = best.exam, max((of.units for of in figures.values()), default=0)
    words = exam.words(name)
    return BoardExam(
        exam.name, exam.title, data_name, words, name.percent, exam.unit, units, tuple(rows), tuple(pairs)
    )


@dataclass(frozen=True)
class _Counted:
    """The headline figure of one run, counted."""

    measures: Measures
    place: int

    @property
    def units(self) -> int:
        return len(self.measures.units)

    def statistic(self, totals: Floats) -> Floats:
        return np.asarray(self.measures.statistic(totals)).reshape(len(totals), -1)[:, [self.place]]

    def resampled(self, resamples: int, seed: int) -> Floats:
        return bootstrap(self.measures.counts, self.statistic, resamples=resamples, seed=seed)

    def against(self, other: Any, resamples: int, seed: int) -> Comparison:
        counts = self.measures.counts, other.measures.counts
        return compare(*counts, self.statistic, [""], resamples=resamples, seed=seed)[0]


@dataclass(frozen=True)
class _Ranked:
    """The headline figure of one run, ranked."""

    measures: RankedMeasures
    place: int

    @property
    def units(self) -> int:
        return len(self.measures.units)

    @property
    def group(self) -> dict[str, Any]:
        return {"": list(self.measures.groups.values())[self.place]}

    def resampled(self, resamples: int, seed: int) -> Floats:
        return resampled_scores(self.group, points="all", resamples=resamples, seed=seed)

    def against(self, other: Any, resamples: int, seed: int) -> Comparison:
        return compare_ranked(self.group, other.group, points="all", resamples=resamples, seed=seed)[0]


def _figures(ranked: Sequence[RunResult], name: Name, data: Callable[[], Dataset]) -> dict[str, _Counted | _Ranked]:
    """The headline figure of every run, over the units that all of them have."""
    common = set.intersection(*(set(r.records.items["item"]) for r in ranked)) if ranked else set()
    figures: dict[str, _Counted | _Ranked] = {}
    for result in ranked:
        found = _figure(result.exam, replace(result, records=result.records.of(common)), name, data)
        if found is not None:
            figures[result.name] = found
    shared_units = {of.measures.units for of in figures.values()}
    if len(shared_units) > 1:
        units = set.intersection(*(set(of) for of in shared_units))
        figures = {
            model: replace(of, measures=_only(of.measures, units))
            for model, of in figures.items()
            if isinstance(of, _Counted)
        }
    return figures


def _only(measures: Measures, units: set[str]) -> Measures:
    rows = [i for i, unit in enumerate(measures.units) if unit in units]
    return replace(measures, units=tuple(measures.units[i] for i in rows), counts=measures.counts[rows])


def _figure(
    exam: Exam[Any], result: RunResult, name: Name, data: Callable[[], Dataset]
) -> _Counted | _Ranked | None:
    for measures in exam.measures(result.records, data):
        paths = [of.path for of in measures.names]
        if name.path in paths:
            place = paths.index(name.path)
            return _Counted(measures, place) if isinstance(measures, Measures) else _Ranked(measures, place)
    return None


def _pairs(figures: Mapping[str, _Counted | _Ranked], resamples: int, seed: int) -> list[BoardPair]:
    """Paired tests of all pairs, corrected by Holm over them."""
    found = [
        (a, b, figures[a].against(figures[b], resamples, seed))
        for a, b in combinations(figures, 2)
        if type(figures[a]) is type(figures[b])
    ]
    corrected = holm([row.p_value for _, _, row in found])
    return [
        BoardPair(a, b, row.difference, row.low, row.high, p)
        for (a, b, row), p in zip(found, corrected.tolist(), strict=True)
    ]
