"""Scores with intervals and comparisons of two runs, for every exam alike, from what its `measures` count."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from sightline.errors import ConfigError, naming
from sightline.exams.base import Exam, Measures, Name, RankedMeasures, options_of
from sightline.exams.checks import VariedRun
from sightline.exams.judgement_figures import judgement_figures
from sightline.exams.run import Asking, Run, RunRecords, local_time, require_alike, tell_apart
from sightline.plain import plain
from sightline.show.table import Cell, Row, Table, scored
from sightline.stats import (
    Comparisons,
    Interval,
    compare,
    compare_ranked,
    holm_by_family,
    intervals,
    ranked_intervals,
)
from sightline.store import Dataset
from sightline.text import counted

RESAMPLES: Final = 2000
"""Bootstrap resamples behind every interval, unless told otherwise."""

_WIDE: Final = 6
"""Figures that still stand side by side in a printed table."""

OpenData = Callable[[], Dataset]


@dataclass(frozen=True)
class Scores:
    """Every figure of one run.

    Attributes:
        exam: Name of the exam.
        unit: What the intervals are by.
        figures: Name → value with interval, in the exam's order.
        facts: What JSON tells beside them.
    """

    exam: str
    unit: str
    figures: Mapping[Name, Interval]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _by_path(self) -> dict[tuple[str, ...], Interval]:
        return {name.path: interval for name, interval in self.figures.items()}

    def at(self, *path: str) -> Interval | None:
        """The figure at a place of the JSON; None where there is none."""
        return self._by_path.get(path)

    def below(self, *path: str) -> dict[str, Interval]:
        """Figures one step below a place: last part of the path → figure."""
        return {p[-1]: interval for p, interval in self._by_path.items() if p[:-1] == path}

    @property
    def headline(self) -> tuple[Name, Interval] | None:
        """The figure that stands for the exam; None where none is defined."""
        defined = [(n, i) for n, i in self.figures.items() if n.headline and math.isfinite(i.value)]
        return min(defined, key=lambda pair: pair[0].headline) if defined else None

    @property
    def weakest(self) -> tuple[Name, Interval] | None:
        """The lowest of the parts; None where there are fewer than two, all are alike, or it is the headline."""
        parts = [(n, i) for n, i in self.figures.items() if n.part and math.isfinite(i.value)]
        if len({i.value for _, i in parts}) < 2:
            return None
        lowest = min(parts, key=lambda pair: pair[1].value)
        return None if self.headline is not None and lowest[0] == self.headline[0] else lowest

    def to_dict(self) -> dict[str, Any]:
        """JSON values, nested by the figures' paths; undefined ones are null."""
        document: dict[str, Any] = plain(self.facts)
        for name, interval in self.figures.items():
            inner = document
            for key in name.path[:-1]:
                inner = inner.setdefault(key, {})
            inner[name.path[-1]] = plain(interval)
        return document

    def __str__(self) -> str:
        return "\n\n".join(str(table) for table in score_tables({"": self}))


@dataclass(frozen=True)
class RunResult:
    """One run, scored.

    Attributes:
        run: The run.
        exam: The exam it is of, with the options it was run with.
        name: How tables call the model.
        records: What the scores were counted from.
        scores: Of what was asked for.
        blind: The model is a built-in rule or prior that never looks at a picture.
        asking: What the call that made this result asked; None where it was scored from disk.
        limited: It and all runs beside it were asked the same items, by a limit.
        varied: What became of its answers under variations, as far as they were asked for.
    """

    run: Run
    exam: Exam[Any]
    name: str
    records: RunRecords = field(repr=False)
    scores: Scores
    blind: bool = False
    asking: Asking | None = None
    limited: bool = False
    varied: VariedRun = field(default_factory=VariedRun)

    @property
    def finished(self) -> bool:
        """Whether every item was answered, or could not be; or each within a limit that all runs beside share."""
        return self.run.status == "finished" or self.limited

    @property
    def rank(self) -> tuple[bool, float, float]:
        """What puts one run before another: every item answered, which figure is its headline, then its value."""
        headline = self.scores.headline
        finished = self.run.status == "finished"
        return (
            (finished, -headline[0].headline, headline[1].value) if headline else (finished, -math.inf, -math.inf)
        )

    def to_dict(self) -> dict[str, Any]:
        """What the JSON of ``sightline exam`` tells of a model."""
        document: dict[str, Any] = {
            "model": self.run.name,
            "run": str(self.run.folder),
            "status": self.run.status,
            "options": self.run.options,
            "scores": self.scores.to_dict(),
        }
        if self.asking is not None:
            document["items_asked"], document["items_kept"] = self.asking.asked, self.asking.kept
            document["kept_from"] = self.asking.kept_from
        document |= self.varied.to_dict() if self.varied.kinds else {}
        if not_asked := self.run.manifest.get("not_asked"):
            document["not_asked"] = dict(not_asked)
        return document | ({"broken": dict(self.run.broken)} if self.run.broken else {})

    def __str__(self) -> str:
        return "\n\n".join(str(table) for table in score_tables({self.name: self.scores}))


def _measures(exam: Exam[Any], records: RunRecords, data: OpenData) -> Iterator[Measures | RankedMeasures]:
    with naming(records.file):
        yield from exam.measures(records, data)


def score_records(
    exam: Exam[Any],
    records: RunRecords,
    data: OpenData,
    *,
    details: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Scores:
    """Count records and give every figure its interval.

    Args:
        exam: The exam they are of.
        records: All records of a run, or those of some items.
        data: Opens the dataset, should the exam need it.
        details: Compute the measures that are details too (slices).
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    figures: dict[Name, Interval] = {}
    facts: dict[str, Any] = {}
    for measures in _measures(exam, records, data):
        if measures.detail and not details:
            continue
        merge(facts, measures.facts)
        if measures.names:
            figures |= dict(zip(measures.names, _estimated(measures, resamples, seed), strict=True))
    if details:
        checks, more = judgement_figures(exam, records, resamples=resamples, seed=seed)
        figures |= checks
        merge(facts, more)
    return Scores(exam.name, exam.unit, figures, facts)


def _estimated(measures: Measures | RankedMeasures, resamples: int, seed: int) -> list[Interval]:
    how: dict[str, Any] = {"resamples": resamples, "seed": seed, "proportion": measures.proportion}
    if isinstance(measures, RankedMeasures):
        estimated = list(ranked_intervals(measures.groups, points="all", **how).values())
    else:
        estimated = intervals(measures.counts, measures.statistic, **how)
    return [interval.within(*measures.bounds) for interval in estimated]


def merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put nested mappings into one another; of two plain values the later stays."""
    for key, value in more.items():
        if isinstance(value, Mapping):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


@dataclass(frozen=True)
class RunComparison:
    """Figures of two runs on the units both have.

    Attributes:
        a: Name of one model; `b` of the other.
        exam: Name of the exam.
        options: Scoring options, such as the protocol.
        comparisons: One row a figure. `p_holm` is corrected within the figure's family; totals that were asked
            about beforehand keep their p-value there.
        dropped: Units that were not asked the same in both runs.
        apart: What tells the runs apart (model, options, data, when): name → (of a, of b).
        unit: What one unit is.
    """

    a: str
    b: str
    exam: str
    options: Mapping[str, Any]
    comparisons: Comparisons
    dropped: int
    apart: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    unit: str = "scene"

    def to_dict(self) -> dict[str, Any]:
        """JSON values; each comparison has a name of its own (``within_image depth, closer``)."""
        named = {"exam": self.exam, "a": self.a, "b": self.b, **self.options}
        named["apart"] = {key: {"a": of_a, "b": of_b} for key, (of_a, of_b) in self.apart.items()}
        rows, total = [], ""
        for row in self.comparisons:
            total = total if row.name.startswith(" ") else row.name  # print indents what belongs to the row above
            name = row.name if total == row.name else ", ".join(filter(None, (total, row.name.strip())))
            rows.append(plain(replace(row, name=name)))
        return named | {"dropped": self.dropped, "comparisons": rows}

    def __str__(self) -> str:
        how = "".join(f", {_said(value)} {key}" for key, value in self.options.items() if value not in (False, []))
        lines = [f"a = {self.a}, b = {self.b}; {self.exam}{how}", *self._apart_lines(), str(self.comparisons)]
        if self.dropped:
            units = counted(self.dropped, self.unit)
            lines.append(f"note: left out, not asked the same in both runs: {units}")
        return "\n".join(lines)

    def _apart_lines(self) -> Iterator[str]:
        """A line for each thing that tells the runs apart, a hash in short."""
        for key, pair in self.apart.items():
            shown = [local_time(value) if key == "when" else str(value) for value in pair]
            if key == "model_fingerprint":
                key, shown = "state of the model", [value[:12] or "as it comes" for value in shown]
            if shown[0] != shown[1]:  # within a minute
                yield f"  {key}: {shown[0]} / {shown[1]}"


def _said(value: Any) -> str:
    """An option's value in words; of one that is switched on its name says it all."""
    return "with" if value is True else "/".join(map(str, value)) if isinstance(value, list) else str(value)


def compare_runs(
    exam: Exam[Any], a: Run, b: Run, data: OpenData, *, resamples: int = RESAMPLES, seed: int = 0
) -> RunComparison:
    """Compare two runs of one exam over the same data; ConfigError where they are not.

    Args:
        exam: The exam, with the scoring options to use.
        a: One run.
        b: The other.
        data: Opens the dataset, should the exam need it.
        resamples: Bootstrap resamples and sign flips.
        seed: Of both.
    """
    require_alike(a, b, exam.compared_options() & (set(a.options) | set(b.options)))
    of_a, of_b = a.read(columns=exam.columns), b.read(columns=exam.columns)
    rows, dropped = compare_records(exam, of_a, of_b, data, resamples=resamples, seed=seed)
    how = (scoring_options(exam), rows, dropped, tell_apart(a, b), exam.unit)
    return RunComparison(a.name, b.name, exam.name, *how)


def compare_records(
    exam: Exam[Any], a: RunRecords, b: RunRecords, data: OpenData, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[Comparisons, int]:
    """Compare the records of two models; also how many units were left out."""
    asked = set(a.rows["cluster_id"]) | set(b.rows["cluster_id"])
    of_a, of_b = exam.comparable(a, b)
    if not of_a.rows.height:
        places = " and ".join(str(records.file.parent) for records in (a, b) if records.file is not None)
        where = f": {places}" if places else ""
        raise ConfigError(f"the runs have no {exam.unit} in common that was asked the same{where}")
    compared: set[str] = set()
    rows: list[tuple[Name, Any]] = []
    for one, other in zip(_measures(exam, of_a, data), _measures(exam, of_b, data), strict=True):
        if any(name.family is not None for name in one.names):
            rows += _compared(one, other, resamples, seed)
            compared |= set(one.units) & asked
    rows.sort(key=lambda pair: pair[0].rank)
    corrected = holm_by_family([row.p_value for _, row in rows], [str(name.family) for name, _ in rows])
    pairs = zip(rows, corrected.tolist(), strict=True)
    return Comparisons(replace(row, p_holm=p) for (_, row), p in pairs), len(asked - compared)


def _compared(
    one: Measures | RankedMeasures, other: Measures | RankedMeasures, resamples: int, seed: int
) -> list[tuple[Name, Any]]:
    """Compare the figures that both have, over the units that both have, in the first one's order."""
    if [name.path for name in one.names] != [name.path for name in other.names]:
        raise ConfigError("the two runs cannot be lined up: they were not asked the same")
    if isinstance(one, RankedMeasures) or isinstance(other, RankedMeasures):
        return _compared_ranked(one, other, resamples, seed)
    place = {unit: i for i, unit in enumerate(other.units)}
    pairs = [(i, place[unit]) for i, unit in enumerate(one.units) if unit in place]
    rows_a, rows_b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    labels = [name.compared or name.label for name in one.names]
    counts_a, counts_b = one.counts[rows_a], other.counts[rows_b]
    rows = compare(counts_a, counts_b, one.statistic, labels, resamples=resamples, seed=seed)
    return [(name, row) for name, row in zip(one.names, rows, strict=True) if name.family is not None]


def _compared_ranked(
    one: Measures | RankedMeasures, other: Measures | RankedMeasures, resamples: int, seed: int
) -> list[tuple[Name, Any]]:
    if not isinstance(one, RankedMeasures) or not isinstance(other, RankedMeasures) or one.units != other.units:
        raise ConfigError("the two runs cannot be lined up: they were not asked the same")
    chosen = [(name, key) for name, key in zip(one.names, one.groups, strict=True) if name.family is not None]
    groups_a, groups_b = ({key: of.groups[key] for _, key in chosen} for of in (one, other))
    rows = compare_ranked(groups_a, groups_b, points="all", resamples=resamples, seed=seed)
    return [
        (name, replace(row, name=name.compared or name.label)) for (name, _), row in zip(chosen, rows, strict=True)
    ]


def scoring_options(exam: Exam[Any]) -> dict[str, Any]:
    """The options that say how records are counted, by the name they have outside Python."""
    return {o.name: plain(getattr(exam, name)) for name, o in options_of(exam).items() if o.scoring}


def score_tables(runs: Mapping[str, Scores]) -> list[Table]:
    """The tables of several runs' scores, the longer of models and figures downwards.

    Args:
        runs: How tables call each run → its scores.
    """
    names: dict[str, dict[str, None]] = {}
    for scores in runs.values():
        for name in scores.figures:
            if name.table:
                names.setdefault(name.table, {})[name.label] = None
    tables = []
    for title, labels in names.items():
        cells = {run: _row_of(scores, title) for run, scores in runs.items()}
        by = f"{title}, 95 % interval by {next(iter(runs.values())).unit}"
        if len(labels) <= _WIDE and len(runs) >= len(labels):
            rows = [Row(run, tuple(cells[run].get(label, Cell("–")) for label in labels)) for run in runs]
            tables.append(Table(by, ("model", *labels), tuple(rows)))
        else:
            rows = [Row(label, tuple(cells[run].get(label, Cell("–")) for run in runs)) for label in labels]
            tables.append(Table(by, ("", *runs), tuple(rows)))
    return tables


def _row_of(scores: Scores, table: str) -> dict[str, Cell]:
    return {name.label: scored(interval) for name, interval in scores.figures.items() if name.table == table}
