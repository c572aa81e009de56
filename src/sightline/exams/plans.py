"""How many scenes a comparison of two models needs, from the clustering and the pairing in runs at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any, Final

import numpy as np

from sightline.exams.base import Exam, Measures, Name, RankedMeasures
from sightline.exams.run import RunRecords
from sightline.exams.scoring import RunResult
from sightline.plain import plain
from sightline.show.table import Cell, Row, Table, figure
from sightline.stats import compare_ranked
from sightline.stats.bootstrap import Floats, evaluate, linearise
from sightline.stats.paired import minimum_detectable
from sightline.stats.sample_size import POWER, ClusterPlan, plan_clusters
from sightline.store import Dataset

RESAMPLES: Final = 500
"""Of a figure that is ranked (AP): its error is the bootstrap's."""

_Error = tuple[Name, int, float, float, float]
"""A figure, its units, the difference, its standard error, and that on different units."""


@dataclass(frozen=True)
class PairPlan:
    """One figure of two models.

    Attributes:
        exam: Name of the exam; `unit` what one independent unit is.
        name: The figure.
        label: What comparisons call it.
        a: One model; `b` the other.
        units: Units that both were asked about.
        seen: Difference a − b in them; `error` its standard error.
        alone: Standard error were the two models asked about different units; NaN for a figure that is ranked.
        plan: Units to see the wanted difference on the same scenes.
        unpaired: Units for each model were they asked about different scenes.
    """

    exam: str
    unit: str
    name: Name
    label: str
    a: str
    b: str
    units: int
    seen: float
    error: float
    alone: float
    plan: ClusterPlan
    unpaired: ClusterPlan

    @property
    def least(self) -> float:
        """Smallest true difference that the units at hand show with 80 % power; NaN where models never differ."""
        return float(minimum_detectable(np.array([self.error]))[0])

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        names = ("exam", "unit", "label", "a", "b", "units", "seen", "error", "least", "plan", "unpaired")
        document = {name: plain(getattr(self, name)) for name in names}
        return document | {"figure": ".".join(self.name.path)}


def plan_pair(
    a: RunResult, b: RunResult, data: Callable[[], Dataset], difference: float, *, power: float = POWER
) -> Iterator[PairPlan]:
    """Plan every total that two runs of one exam are compared by.

    Args:
        a: One run.
        b: The other, over the same data.
        data: Opens the dataset, should the exam need it.
        difference: To be seen, in the unit of the figures (0.02 is two points of a share).
        power: Chance of seeing it.
    """
    exam = a.exam
    of_a, of_b = exam.comparable(a.records, b.records)
    if not (of_a.rows.height and of_b.rows.height):
        return
    for name, units, seen, error, alone in _errors(exam, of_a, of_b, data):
        plans = [plan_clusters(of, units, difference, power=power) for of in (error, alone)]
        label = (name.compared or name.label).strip()
        yield PairPlan(exam.name, exam.unit, name, label, a.name, b.name, units, seen, error, alone, *plans)


def _errors(exam: Exam[Any], a: RunRecords, b: RunRecords, data: Callable[[], Dataset]) -> Iterator[_Error]:
    """Name, units, difference, its standard error and that of different units, of every total."""
    for one, other in zip(exam.measures(a, data), exam.measures(b, data), strict=True):
        if [name.path for name in one.names] != [name.path for name in other.names]:
            continue
        wanted = [i for i, name in enumerate(one.names) if name.family == "" or name.headline]
        if not wanted or one.detail:
            continue
        if isinstance(one, Measures) and isinstance(other, Measures):
            yield from _counted(one, other, wanted)
        elif isinstance(one, RankedMeasures) and isinstance(other, RankedMeasures) and one.units == other.units:
            yield from _ranked(one, other, wanted)


def _counted(one: Measures, other: Measures, wanted: Sequence[int]) -> Iterator[_Error]:
    place = {unit: i for i, unit in enumerate(other.units)}
    pairs = np.array([(i, place[unit]) for i, unit in enumerate(one.units) if unit in place], dtype=np.int64)
    rows_a, rows_b = pairs.reshape(-1, 2).T
    both = np.stack([one.counts[rows_a], other.counts[rows_b]], axis=1)

    def difference(totals: Floats) -> Floats:
        return evaluate(one.statistic, totals[:, 0]) - evaluate(one.statistic, totals[:, 1])

    found = linearise(both, difference)
    each = sum(linearise(both[:, i], one.statistic).variance for i in (0, 1))
    for i in wanted:
        if math.isfinite(found.value[i]):
            error, alone = math.sqrt(found.variance[i]), math.sqrt(np.asarray(each)[i])
            yield one.names[i], len(both), float(found.value[i]), error, alone


def _ranked(one: RankedMeasures, other: RankedMeasures, wanted: Sequence[int]) -> Iterator[_Error]:
    keys = list(one.groups)
    chosen = [keys[i] for i in wanted]
    ours, theirs = ({key: of.groups[key] for key in chosen} for of in (one, other))
    rows = compare_ranked(ours, theirs, points="all", resamples=RESAMPLES)
    factor = float(minimum_detectable(np.ones(1))[0])
    for i, row in zip(wanted, rows, strict=True):
        if math.isfinite(row.difference):
            error = row.mde / factor if math.isfinite(row.mde) else 0.0
            yield one.names[i], len(one.units), row.difference, error, math.nan


@dataclass(frozen=True)
class Plans:
    """How many scenes all pairs of models need.

    Attributes:
        difference: To be seen.
        power: With that chance.
        pairs: One entry a pair of models and figure.
    """

    difference: float
    power: float
    pairs: tuple[PairPlan, ...]

    def to_dict(self) -> dict[str, Any]:
        """The document of ``sightline plan --json``."""
        return {
            "difference": self.difference,
            "power": self.power,
            "figures": [self._figure(key) for key in self._by_figure()],
            "pairs": [pair.to_dict() for pair in self.pairs],
        }

    def _by_figure(self) -> dict[tuple[str, str], list[PairPlan]]:
        by_figure: dict[tuple[str, str], list[PairPlan]] = {}
        for pair in self.pairs:
            by_figure.setdefault((pair.exam, pair.label), []).append(pair)
        return by_figure

    def _figure(self, key: tuple[str, str]) -> dict[str, Any]:
        pairs = self._by_figure()[key]
        needed = [pair.plan.clusters for pair in pairs if pair.plan.clusters is not None]
        apart = [pair.unpaired.clusters for pair in pairs if pair.unpaired.clusters is not None]
        return {
            "exam": key[0],
            "figure": key[1],
            "unit": pairs[0].unit,
            "units": max(pair.units for pair in pairs),
            "pairs": len(pairs),
            "needed": round(median(needed)) if needed else None,
            "needed_most": max(needed, default=None),
            "needed_unpaired": round(median(apart)) if apart else None,
        }

    def table(self) -> Table:
        """A line a figure: what is at hand, what is needed by the pair in the middle and by the hardest pair."""
        rows = []
        for key in self._by_figure():
            of = self._figure(key)
            numbers = (of[name] for name in ("units", "needed", "needed_most", "needed_unpaired"))
            cells = [Cell("–" if n is None else f"{n:,}") for n in numbers]
            rows.append(Row(f"{key[0]}: {key[1]}", (Cell(str(of["pairs"])), *cells)))
        title = f"{self.pairs[0].unit}s to see a difference of {figure(self.difference)}"
        title += f" with {100 * self.power:.0f} % power (5 %, two-sided)"
        columns = ("figure", "pairs of models", "at hand", "needed", "hardest pair", "on different scenes, each")
        return Table(title, columns, tuple(rows))

    def __str__(self) -> str:
        return str(self.table())


def plan_results(
    results: Sequence[RunResult], data: Callable[[], Dataset], difference: float, *, power: float = POWER
) -> list[PairPlan]:
    """Plan all pairs of runs of one exam over the same data: of models that look, else with the blind ones."""
    sighted = [result for result in results if not result.blind]
    chosen = sighted if len(sighted) > 1 else list(results)
    return [plan for a, b in combinations(chosen, 2) for plan in plan_pair(a, b, data, difference, power=power)]
