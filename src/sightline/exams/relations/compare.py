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
from sightline.exams.relations.protocols import Protocol, pool
from sightline.exams.relations.sheets import SUBTASKS, Sheet, Subtask, sheets
from sightline.exams.relations.tally import rates
from sightline.exams.run import Run
from sightline.scenes import words
from sightline.stats import Comparisons, compare, holm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RunComparison:
    """F1 of two runs, sub-task by sub-task and label by label.

    Attributes:
        comparisons: One row a statistic, Holm over all of them.
        dropped: Scenes and image pairs that only one of the runs has.
    """

    comparisons: Comparisons
    dropped: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"dropped": self.dropped, "comparisons": self.comparisons.to_dicts()}


def compare_runs(
    a: Run, b: Run, *, protocol: Protocol = Protocol.DEFAULT, resamples: int = 2000, seed: int = 0
) -> RunComparison:
    """Compare two runs of the relations exam over the same data and split."""
    for key in ("data_fingerprint", "exam"):
        ours, theirs = a.manifest["identity"][key], b.manifest["identity"][key]
        if ours != theirs:
            raise ConfigError(f"runs cannot be compared: {key} is {ours!r} in one and {theirs!r} in the other")
    if a.options["split"] != b.options["split"]:
        raise ConfigError(f"runs cannot be compared: split {a.options['split']!r} and {b.options['split']!r}")
    return compare_records(a.records(), b.records(), protocol=protocol, resamples=resamples, seed=seed)


def compare_records(
    a: pl.DataFrame, b: pl.DataFrame, *, protocol: Protocol = Protocol.DEFAULT, resamples: int = 2000, seed: int = 0
) -> RunComparison:
    """Like `compare_runs`, from records."""
    protocol = Protocol(protocol)
    mine, theirs, dropped = common_sheets(sheets(a), sheets(b))
    if not mine:
        raise ConfigError("the runs have no scene in common")
    rows = Comparisons()
    for task in SUBTASKS:
        if task in mine:
            rows += _compare_task(mine[task], theirs[task], protocol, resamples, seed)
    if set(mine) == set(SUBTASKS):
        one, other = joint_counts(mine, protocol), joint_counts(theirs, protocol)
        rows += compare(one.counts, other.counts, _mean_f1(one), ["average"], resamples=resamples, seed=seed)
    corrected = holm([row.p_value for row in rows])
    together = Comparisons(replace(row, p_holm=float(p)) for row, p in zip(rows, corrected, strict=True))
    return RunComparison(together, dropped)


def common_sheets(
    a: Mapping[Subtask, Sheet], b: Mapping[Subtask, Sheet]
) -> tuple[dict[Subtask, Sheet], dict[Subtask, Sheet], int]:
    """Both models' judgements on the clusters both have, clusters in one order; and how many were dropped."""
    kept_a, kept_b, dropped = {}, {}, 0
    for task in SUBTASKS:
        if task not in a or task not in b:
            dropped += len(a[task].clusters) if task in a else len(b[task].clusters) if task in b else 0
            continue
        common = sorted(set(a[task].clusters) & set(b[task].clusters))
        dropped += len(a[task].clusters) + len(b[task].clusters) - 2 * len(common)
        if common:
            kept_a[task], kept_b[task] = _restrict(a[task], common), _restrict(b[task], common)
    return kept_a, kept_b, dropped


def _restrict(sheet: Sheet, clusters: list[str]) -> Sheet:
    place = {cluster: i for i, cluster in enumerate(clusters)}
    new = np.array([place.get(cluster, -1) for cluster in sheet.clusters], dtype=np.int32)
    kept = new[sheet.cluster] >= 0
    order = np.argsort(new, kind="stable")[np.count_nonzero(new < 0) :]
    return replace(
        sheet,
        clusters=np.array(clusters, dtype=object),
        images=sheet.images[order],
        cluster=new[sheet.cluster][kept],
        truth=sheet.truth[kept],
        answer=sheet.answer[kept],
        reverse=sheet.reverse[kept],
    )


def _compare_task(a: Sheet, b: Sheet, protocol: Protocol, resamples: int, seed: int) -> Comparisons:
    counted = pool(protocol, a.aspect, a.setting)
    names = [f"{a.setting} {a.aspect}", *(f"  {words(a.aspect)[label]}" for label in counted)]

    def f1(totals: Floats) -> Floats:
        scores = rates(totals, protocol=protocol, aspect=a.aspect, setting=a.setting)[..., 2]
        return scores[:, [4, *counted]]

    one, other = a.counts(protocol)[:, 0], b.counts(protocol)[:, 0]
    return compare(one, other, f1, names, resamples=resamples, seed=seed)


def _mean_f1(joint: Joint) -> Any:
    return lambda totals: joint.f1(totals).mean(axis=1)
