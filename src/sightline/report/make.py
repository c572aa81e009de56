"""From runs on disk to a report card; every score is computed from the records, never read from a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from sightline.errors import ConfigError
from sightline.exams.relations.analyses import by_difficulty, counter_heuristic, silence
from sightline.exams.relations.answers import Answers, answers_from_records
from sightline.exams.relations.consistency import consistency
from sightline.exams.relations.describe import tables_by_split
from sightline.exams.relations.drawing import worst_examples
from sightline.exams.relations.grids import grids
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Protocol
from sightline.exams.relations.scores import Scores, score_sheets, scores
from sightline.exams.relations.sheets import sheets
from sightline.exams.run import Run
from sightline.report.cards import ReportCard, Sitting
from sightline.report.facts import data_facts
from sightline.report.listings import BOXES_WORDS
from sightline.report.seats import focused, seated
from sightline.report.sentences import cautions
from sightline.skills import Setting
from sightline.store import Dataset


def card(
    runs: Sequence[Run],
    data: Dataset,
    *,
    focus: str | None = None,
    protocol: Protocol | str = Protocol.DEFAULT,
    resamples: int = 1000,
    seed: int = 0,
    each: int = 4,
) -> ReportCard:
    """Everything the report shows.

    Args:
        runs: Runs of the relations exam on one split of `data`, finished or not.
        data: The dataset they were made on.
        focus: Name or spec of the model to look at closely; by default the best that is no blind rule, else the
            best.
        protocol: How to count.
        resamples: Bootstrap resamples behind every interval.
        seed: Of the resampling.
        each: Worst scenes to draw of every sub-task.

    Raises:
        ConfigError: No runs, runs of another exam, of several splits or of other data, or no such focus.
    """
    protocol = Protocol(protocol)
    split = str(common_split(runs, data, "relations"))
    described = tables_by_split(data)
    tables = {setting: table for (setting, name), table in described.items() if name == split}
    answered, made = [], []
    for run, label in zip(runs, labels([run.name for run in runs], [_apart(run) for run in runs]), strict=True):
        records = run.records()
        answered.append(_answers(run, records, tables))
        made.append(_sitting(run, label, records, answered[-1], protocol, resamples, seed))
    chosen = focused(made, focus, lambda s: s.standard)
    close = answered[made.index(chosen)]
    return ReportCard(
        made=datetime.now(UTC).isoformat(timespec="minutes"),
        protocol=protocol,
        resamples=resamples,
        seed=seed,
        data=data_facts(described, data, split, protocol=protocol, resamples=resamples, seed=seed),
        sittings=tuple(sorted(made, key=lambda s: s.rank, reverse=True)),
        focus=chosen.label,
        grids={s: grids(a, protocol=protocol, resamples=resamples, seed=seed) for s, a in close.items()},
        failures=worst_examples(close, data, each=each),
        warnings=tuple(cautions(made, "items")),
    )


def of_exam(runs: Sequence[Run], exam: str | None = None) -> tuple[str, list[Run]]:
    """The runs of one exam, and its name.

    Args:
        runs: Runs of any exams.
        exam: The exam wanted; None where all are of one.

    Raises:
        ConfigError: No runs of the wanted exam, or several exams and none wanted.
    """
    counts = Counter(str(run.manifest["identity"]["exam"]) for run in runs)
    if exam is None and len(counts) > 1:
        there = " and ".join(f"{n} of {name}" for name, n in sorted(counts.items()))
        wanted = " or ".join(f"--exam {name}" for name in sorted(counts))
        raise ConfigError(f"runs of several exams ({there}), which make a page each: give {wanted}")
    chosen = exam or next(iter(counts), "relations")
    if runs and chosen not in counts:
        raise ConfigError(f"no run of the exam {chosen!r} here; there are runs of {', '.join(sorted(counts))}")
    return chosen, [run for run in runs if run.manifest["identity"]["exam"] == chosen]


def common_split(runs: Sequence[Run], data: Dataset, exam: str) -> str | None:
    """The split all runs sat; ConfigError where they do not belong together."""
    if not runs:
        raise ConfigError("no runs to report: sit an exam first")
    for run in runs:
        identity = run.manifest["identity"]
        if identity["exam"] != exam:
            raise ConfigError(f"{run.folder}: a run of the exam {identity['exam']!r}; this report is of {exam}")
        if identity["data_fingerprint"] != data.fingerprint:
            raise ConfigError(
                f"{run.folder} was made on other data: fingerprint {identity['data_fingerprint'][:12]}, "
                f"{data.path} has {data.fingerprint[:12]}"
            )
    splits = {run.options.get("split") for run in runs}
    if len(splits) > 1:
        told = ", ".join(sorted("all" if split is None else str(split) for split in splits))
        raise ConfigError(f"runs of several splits ({told}): report one split at a time")
    split: str | None = splits.pop()
    return split


def labels(names: Sequence[str], apart: Sequence[Sequence[str]]) -> list[str]:
    """A different name for every run: the model's, then what sets the run apart, then a number.

    >>> labels(["a", "b", "b", "b"], [[], ["x"], [], []])
    ['a', 'b · x', 'b', 'b (2)']
    """
    count = Counter(names)
    told = [n if count[n] == 1 else " · ".join([n, *more]) for n, more in zip(names, apart, strict=True)]
    seen: Counter[str] = Counter()
    found = []
    for label in told:
        seen[label] += 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


def _apart(run: Run) -> list[str]:
    """In which options a run differs from the usual ones, in a word each."""
    boxes, study = run.options.get("boxes", "truth"), run.options.get("study", "same")
    learned = {"same": "", "joint": "learned from both"}.get(study, f"learned {study.replace('_', ' ')}")
    return [word for word in (BOXES_WORDS.get(boxes), learned) if word]


def _answers(run: Run, records: pl.DataFrame, tables: Mapping[Setting, PairTable]) -> dict[Setting, Answers]:
    """What a run on given boxes said, by setting; nothing for settings without a record."""
    if run.options.get("boxes", "truth") != "truth" or not records.height:
        return {}
    found = {setting: answers_from_records(records, table) for setting, table in tables.items()}
    return {setting: own for setting, own in found.items() if len(own.table)}


def _sitting(
    run: Run,
    label: str,
    records: pl.DataFrame,
    answers: Mapping[Setting, Answers],
    protocol: Protocol,
    resamples: int,
    seed: int,
) -> Sitting:
    options = run.options
    sitting = Sitting(
        **seated(run, label),
        boxes=str(options.get("boxes", "truth")),
        study=str(options.get("study", "same")),
        train_split=options.get("train_split"),
        done=records["item"].n_unique(),
        scores=Scores(protocol, (), None),
    )
    sure: dict[str, Any] = {"resamples": resamples, "seed": seed}
    if sitting.boxes != "truth" and records.height:
        marked = score_sheets(sheets(records), protocol=protocol, **sure)
        return replace(sitting, scores=marked, outcomes=_outcomes(records))
    if not answers:
        return sitting
    sitting = replace(sitting, scores=scores(answers, protocol=protocol, **sure))
    if not sitting.standard:
        return sitting
    return replace(
        sitting,
        difficulty=by_difficulty(answers, protocol=protocol, **sure),
        heuristics={s: counter_heuristic(a, **sure) for s, a in answers.items()},
        consistency={s: consistency(a, **sure) for s, a in answers.items()},
        silence={s: silence(a, **sure) for s, a in answers.items()},
    )


def _outcomes(records: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Sub-task → outcome → how often, in written order."""
    counted = records.group_by("setting", "aspect", "outcome", maintain_order=True).len()
    found: dict[str, dict[str, int]] = {}
    for setting, aspect, outcome, n in counted.iter_rows():
        found.setdefault(f"{setting}/{aspect}", {})[outcome] = n
    return found
