"""Is one model better than another? On the scenes both answered, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.counting import Joint, joint_counts
from sightline.exams.relations.official import sheets_of_records
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Protocol, pool
from sightline.exams.relations.sheets import SUBTASKS, Sheet
from sightline.exams.relations.tally import rates
from sightline.exams.run import Run, require_alike
from sightline.scenes import words
from sightline.skills import Setting
from sightline.stats import Comparisons, compare, holm

Floats = NDArray[np.float64]

_PREDICATE = "  "  # sets a predicate's row in under its sub-task's


@dataclass(frozen=True)
class RunComparison:
    """F1 of two runs, sub-task by sub-task and label by label.

    Attributes:
        comparisons: One row a statistic: each sub-task, its predicates, the average. `p_holm` is corrected over all
            predicates; the sub-tasks and the average, asked about beforehand, keep their p-value there.
        dropped: Scenes and image pairs that one of the runs has not, or not in both directions.
    """

    comparisons: Comparisons
    dropped: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"dropped": self.dropped, "comparisons": self.comparisons.to_dicts()}


def compare_runs(
    a: Run,
    b: Run,
    *,
    tables: Mapping[Setting, PairTable] | None = None,
    protocol: Protocol = Protocol.DEFAULT,
    resamples: int = 2000,
    seed: int = 0,
) -> RunComparison:
    """Compare two runs of the relations exam over the same data and split.

    Args:
        a: One run.
        b: The other.
        tables: The annotated pairs of the split; only the official protocol needs them.
        protocol: How to count.
        resamples: Bootstrap resamples and sign flips.
        seed: Of both.
    """
    require_alike(a, b, ("split",))
    return compare_records(
        a.records(), b.records(), tables=tables, protocol=protocol, resamples=resamples, seed=seed
    )


def compare_records(
    a: pl.DataFrame,
    b: pl.DataFrame,
    *,
    tables: Mapping[Setting, PairTable] | None = None,
    protocol: Protocol = Protocol.DEFAULT,
    resamples: int = 2000,
    seed: int = 0,
) -> RunComparison:
    """Like `compare_runs`, from records."""
    protocol = Protocol(protocol)
    mine, theirs = (
        sheets_of_records(one.join(other, on="item", how="semi", maintain_order="left"), protocol, tables)
        for one, other in ((a, b), (b, a))
    )
    if not mine:
        raise ConfigError("the runs have no scene in common")
    rows = Comparisons()
    for task in SUBTASKS:
        if task in mine:
            rows += _compare_task(mine[task], theirs[task], protocol, resamples, seed)
    tested = [row.name.startswith(_PREDICATE) for row in rows]
    if set(mine) == set(SUBTASKS):
        one, other = joint_counts(mine, protocol), joint_counts(theirs, protocol)
        rows += compare(one.counts, other.counts, _mean_f1(one), ["average"], resamples=resamples, seed=seed)
        tested.append(False)
    compared = {(task[0], sheet.clusters[c]) for task, sheet in mine.items() for c in np.unique(sheet.cluster)}
    there = {pair for frame in (a, b) for pair in frame.select("setting", "cluster_id").unique().iter_rows()}
    return RunComparison(_holm_over(rows, tested), len(there - compared))


def _holm_over(rows: Comparisons, tested: list[bool]) -> Comparisons:
    """Holm's correction over the predicates of all sub-tasks together; the totals keep their own p-value."""
    family = [i for i, one_of_many in enumerate(tested) if one_of_many]
    p = {i: row.p_value for i, row in enumerate(rows)}
    p |= dict(zip(family, holm([rows[i].p_value for i in family]).tolist(), strict=True))
    return Comparisons(replace(row, p_holm=p[i]) for i, row in enumerate(rows))


def _compare_task(a: Sheet, b: Sheet, protocol: Protocol, resamples: int, seed: int) -> Comparisons:
    counted = pool(protocol, a.aspect, a.setting)
    names = [f"{a.setting} {a.aspect}", *(f"{_PREDICATE}{words(a.aspect)[label]}" for label in counted)]

    def f1(totals: Floats) -> Floats:
        scores = rates(totals, protocol=protocol, aspect=a.aspect, setting=a.setting)[..., 2]
        return scores[:, [4, *counted]]

    one, other = a.counts(protocol)[:, 0], b.counts(protocol)[:, 0]
    return compare(one, other, f1, names, resamples=resamples, seed=seed)


def _mean_f1(joint: Joint) -> Any:
    return lambda totals: joint.f1(totals).mean(axis=1)
