"""Hold the runs of a model under variations against its run as it is, judgement by judgement.

*Consistency* is the share of judgements with the same answer after the change was undone; *right under all* the
share that is right as it is and in every variant. Both are of single judgements, whatever figure stands for the
exam, and have intervals by the exam's independent unit: the same scenes stand on both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.base import Candidate, Exam
from sightline.exams.run import MANIFEST, VARIATIONS, Run, RunRecords
from sightline.exams.runner import run_exam
from sightline.exams.variants import KINDS, varied_model
from sightline.plain import plain
from sightline.show.table import Row, Table, scored
from sightline.stats import Interval, intervals
from sightline.store import Dataset

BLIND: Final = "blind"
"""The kind in which a right answer is no merit: it is left out of what is right under all of them."""

_PLACE: Final = "place in its item"


@dataclass(frozen=True)
class VariantScores:
    """One variant against the questions as they are: consistency, and the share that is right in it."""

    consistency: Interval
    right: Interval


@dataclass(frozen=True)
class VariationScores:
    """One kind of variation.

    Attributes:
        kind: Its name on the command line.
        judgements: How many stand on both sides.
        consistency: Share with the same answer after the change was undone, over all variants of the kind.
        right: Share that is right as it is.
        right_under_all: Share that is right as it is and in every variant.
        change: Share that is right in the variants, less the share that is right as it is; paired.
        variants: Name of a variant → its own figures.
        reason: Why there are none; then everything else is empty.
    """

    kind: str
    judgements: int = 0
    consistency: Interval | None = None
    right: Interval | None = None
    right_under_all: Interval | None = None
    change: Interval | None = None
    variants: Mapping[str, VariantScores] = field(default_factory=dict)
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON values: figures with their intervals, or null and the reason."""
        if self.reason:
            return {"consistency": None, "right_under_all": None, "reason": self.reason}
        names = [f.name for f in fields(self) if f.name not in ("kind", "reason")]
        return {name: plain(getattr(self, name)) for name in names}


@dataclass(frozen=True)
class VariedRun:
    """All variations of one run.

    Attributes:
        kinds: Kind → its figures, or why there are none.
        right_under_all: Share of judgements right as they are and in every variant of all kinds but ``blind``; None
            where fewer than two kinds were asked.
    """

    kinds: Mapping[str, VariationScores] = field(default_factory=dict)
    right_under_all: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """What the JSON of a model tells of them."""
        document: dict[str, Any] = {"variations": {kind: of.to_dict() for kind, of in self.kinds.items()}}
        together = self.right_under_all
        return document | ({} if together is None else {"right_under_all_variations": plain(together)})


def run_varied(
    exam: Exam[Any], who: Candidate, data: Dataset, folder: Path, kind: str, variant: int, **how: Any
) -> Run:
    """Let a model take an exam in one variant of a kind, beside its run; called again, it goes on.

    Args:
        exam: The exam.
        who: The model.
        data: The scenes.
        folder: Folder of its run as it is.
        kind: A kind of `variants.KINDS`.
        variant: Which of its variants.
        **how: Passed on to `run_exam`.
    """
    chosen = KINDS[kind][variant]
    changed = replace(who, model=varied_model(who.model, kind, chosen))
    return run_exam(exam, changed, data, variation_folder(folder, chosen.name), variation=chosen.name, **how)


def variation_folder(folder: Path, name: str) -> Path:
    """Where the run of a variant lies, inside the folder of the run that it varies."""
    return folder / VARIATIONS / name


def is_varied(folder: Path) -> bool:
    """Whether a folder is that of a variant, which is read together with the run that it varies."""
    return folder.parent.name == VARIATIONS


def variations_on_disk(folder: Path) -> list[str]:
    """Kinds of which every variant has a run in the folder of a run."""
    return [
        kind
        for kind, variants in KINDS.items()
        if all((variation_folder(folder, v.name) / MANIFEST).is_file() for v in variants)
    ]


def read_variations(
    exam: Exam[Any],
    folder: Path,
    as_is: RunRecords,
    kinds: Sequence[str],
    *,
    reasons: Mapping[str, str] | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> VariedRun:
    """Compute the figures of all variations of a run from the records on disk.

    Args:
        exam: The exam.
        folder: Folder of the run as it is.
        as_is: Its records; of the variants those of the same items are read.
        kinds: Kinds that were run.
        reasons: Kinds that were asked for and cannot be had → why.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    items: Collection[str] = set(as_is.items["item"]) if as_is.items.height else ()
    read = {
        kind: {v.name: Run.open(variation_folder(folder, v.name)).read(items, exam.columns) for v in KINDS[kind]}
        for kind in kinds
    }
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    scores = {kind: variation_scores(exam, kind, as_is, of, **how) for kind, of in read.items()}
    scores = {kind: replace(of, reason=_stopped(folder, kind) or of.reason) for kind, of in scores.items()}
    scores |= {kind: VariationScores(kind, reason=why) for kind, why in (reasons or {}).items()}
    sighted = [kind for kind in kinds if kind != BLIND]
    together = None
    if len(sighted) > 1:
        every = {name: records for kind in sighted for name, records in read[kind].items()}
        together = variation_scores(exam, "", as_is, every, **how).right_under_all
    return VariedRun({kind: scores[kind] for kind in KINDS if kind in scores}, together)


def _stopped(folder: Path, kind: str) -> str:
    """That a budget was spent before one item was answered in every variant; empty where it was not."""
    for variant in KINDS[kind]:
        run = Run.open(variation_folder(folder, variant.name))
        if run.manifest.get("budget") and not run.done:
            return f"{run.manifest['budget']}, in {variant.name}"
    return ""


def variation_scores(
    exam: Exam[Any],
    kind: str,
    as_is: RunRecords,
    variants: Mapping[str, RunRecords],
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> VariationScores:
    """Count one kind of variation over the judgements that stand in all its runs.

    Args:
        exam: The exam.
        kind: Name of the kind.
        as_is: Records of the questions as they are.
        variants: Name of a variant → records of the changed questions.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    frames = line_up(exam, [as_is, *variants.values()])
    if not frames[0].height:
        return VariationScores(kind, reason="no judgement stands in both runs")
    right = np.stack([frame["right"].to_numpy().astype(bool) for frame in frames], axis=1)
    same = np.stack([exam.same_answers(frames[0], frame) for frame in frames[1:]], axis=1)
    m = same.shape[1]
    columns = [np.ones(len(right)), right[:, 0], right.all(axis=1), *same.T, *right[:, 1:].T]
    counts = sum_by_unit(frames[0]["cluster_id"], np.column_stack(columns))

    def shares(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        of = totals / totals[:, :1]
        return np.column_stack([of[:, 3 : 3 + m].mean(axis=1), of[:, 1:]])

    def change(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        of = totals / totals[:, :1]
        gain: NDArray[np.float64] = of[:, 3 + m :].mean(axis=1) - of[:, 1]
        return gain

    consistency, as_it_is, under_all, *each = intervals(counts, shares, resamples=resamples, seed=seed)
    (changed,) = intervals(counts, change, resamples=resamples, seed=seed, proportion=False)
    own = {name: VariantScores(each[i], each[m + i]) for i, name in enumerate(variants)}
    return VariationScores(kind, len(right), consistency, as_it_is, under_all, changed, own)


def line_up(exam: Exam[Any], runs: Sequence[RunRecords]) -> list[pl.DataFrame]:
    """The judgements that all runs have, in the same order: rows of `Exam.judgements`, one frame a run."""
    keys = ["item", *(exam.judged_by or (_PLACE,))]
    frames = []
    for records in runs:
        rows = records.rows
        if not rows.height:
            return [pl.DataFrame(schema={"item": pl.String, "cluster_id": pl.String})] * len(runs)
        placed = rows.with_columns(pl.int_range(pl.len()).over("item").alias(_PLACE))
        frames.append(exam.judgements(placed).unique(keys, keep="first", maintain_order=True))
    common = frames[0].select(keys)
    for frame in frames[1:]:
        common = common.join(frame.select(keys), on=keys, how="semi", maintain_order="left")
    return [common.join(frame, on=keys, how="inner", maintain_order="left") for frame in frames]


def sum_by_unit(units: pl.Series, values: NDArray[Any]) -> NDArray[np.float64]:
    """Add up rows of values (n, K) by their independent unit: (C, K), units in sorted order."""
    names, place = np.unique(units.to_numpy().astype(str), return_inverse=True)
    counts = np.zeros((len(names), values.shape[1]))
    np.add.at(counts, place, values)
    return counts


def variation_table(runs: Mapping[str, VariedRun], unit: str) -> Table:
    """All figures of all runs: a line a run and kind; a kind that cannot be had says why.

    Args:
        runs: How tables call a run → its variations.
        unit: What intervals are by.
    """
    rows = []
    for name, run in runs.items():
        for kind, of in run.kinds.items():
            figures = (of.consistency, of.right, of.right_under_all, of.change)
            if not of.reason:
                rows.append(Row(f"{name}, {kind}", tuple(scored(figure) for figure in figures)))
    columns = ("model, variation", "same answer", "right", "right under all", "change of right")
    return Table(f"variations, 95 % interval by {unit}", columns, tuple(rows))


def variation_notes(runs: Mapping[str, VariedRun]) -> list[str]:
    """Why kinds cannot be had, a sentence a model and kind."""
    return [
        f"{name}: not varied by {kind}: {of.reason}"
        for name, run in runs.items()
        for kind, of in run.kinds.items()
        if of.reason
    ]
