"""``sightline exam relations``: who sits, what is printed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from sightline.cli import exam_sitting
from sightline.cli.console import cell, err, file_name, out, print_json, quiet_stdout, table
from sightline.cli.exam_sitting import RESAMPLES, SEED, Room, Sat, everybody, sit_all, tell_next
from sightline.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sightline.exams.relations import PairTable, RelationsExam
    from sightline.skills import Setting
    from sightline.store import Dataset

BASELINES = (
    "majority",
    "object_class",
    "class_prior",
    "size",
    "size_tuned",
    "location",
    "location_tuned",
    "bottom_edge",
    "bottom_edge_tuned",
)
"""They stand in every table."""

TRANSFERS: Final[tuple[Literal["within_image", "across_images", "joint"], ...]] = (
    "within_image",
    "across_images",
    "joint",
)
"""Study plans of the transfer table."""


@dataclass(frozen=True, kw_only=True)
class Wishes(exam_sitting.Wishes):
    """What the user asked for."""

    data: Path
    train_split: str | None
    boxes: Literal["truth", "detected", "perfect"]
    detections: Path | None
    study: Literal["same", "within_image", "across_images", "joint"]
    protocol: Literal["default", "paper", "official"]


def sit_relations(wish: Wishes) -> None:
    """Sit the relations exam and print the scores."""
    from sightline.exams.relations import RelationsExam, default_split
    from sightline.store import open_dataset

    opened = open_dataset(wish.data)
    chosen = default_split(opened) if wish.split is None else wish.split
    made = RelationsExam(split=chosen, train_split=wish.train_split, boxes=wish.boxes, study=wish.study)
    specs = who_sits(made, opened, wish.models, wish.detections, baselines=wish.baselines)
    places = {spec: wish.to / made.name / slug(spec, made) for spec in specs}
    with quiet_stdout(active=wish.json):
        sat = sit_all(places, partial(entered, made, wish), wish)
    tables = made.tables(opened)
    results = [score_run(own, tables, wish.protocol) for own in sat.values()]
    if wish.json:
        print_json({"exam": made.name, "protocol": wish.protocol, "models": results})
    else:
        print_scores(results, wish.protocol)
        tell_next(wish, made.name)


def entered(exam: RelationsExam, wish: Wishes) -> Room[RelationsExam]:
    """A new sitting of the exam, with its data opened."""
    from sightline.store import open_dataset

    return Room(replace(exam), open_dataset(wish.data), wish.limit)


def who_sits(
    exam: RelationsExam, data: Dataset, models: list[str], detections: Path | None, *, baselines: bool
) -> list[str]:
    """Specs of everybody who sits, the given boxes joined to them; ConfigError where that makes no sense."""
    if detections is not None and exam.boxes == "truth":
        raise ConfigError("--detections goes with --boxes detected or --boxes perfect")
    if detections is not None and detections.suffix.lower() != ".csv":
        raise ConfigError(f"--detections {detections}: expected a .csv file")
    if exam.boxes == "detected" and baselines and detections is None:
        raise ConfigError("the baselines find no boxes of their own: give --detections, or --no-baselines")
    # With perfect predicates all depends on the boxes: nobody is asked, and the baselines would all score alike.
    perfect = exam.boxes == "perfect"
    if perfect and detections is not None and not models:
        return [str(detections)]
    beside = usable_baselines(exam, data) if baselines and not perfect else []
    specs = everybody(models, beside)
    return specs if detections is None else [f"{spec}+{detections}" for spec in specs]


def usable_baselines(exam: RelationsExam, data: Dataset) -> list[str]:
    """The baselines, without those that must learn where there is nothing to learn from; a note says so."""
    from sightline.models import needs_training

    if set(exam.tables(data)) <= set(exam.training(data)):
        return list(BASELINES)
    left = [name for name in BASELINES if needs_training(name)]
    err.print(f"note: no training split for every setting, so these do not sit: {', '.join(left)}")
    return [name for name in BASELINES if name not in left]


def slug(spec: str, exam: RelationsExam) -> str:
    """Folder name of a model's run, telling apart what must not be mixed."""
    parts = [file_name(spec) or "model"]
    parts += [file_name(exam.split)] if exam.split else []
    parts += [exam.boxes] if exam.boxes != "truth" else []
    parts += [f"study-{exam.study}"] if exam.study != "same" else []
    return "@".join(parts)


def score_run(sat: Sat, tables: Mapping[Setting, PairTable], protocol: str) -> dict[str, Any]:
    """Scores of what was asked for, computed from the records on disk and kept beside them."""
    from sightline.exams.relations import Protocol, score_sheets, sheets_of_records
    from sightline.exams.run import Run

    run, how = Run.open(sat.folder), Protocol(protocol)
    marked = sheets_of_records(run.records(sat.items), how, tables)
    found = score_sheets(marked, protocol=how, resamples=RESAMPLES, seed=SEED).to_dict()
    run.write_metrics({**found, "resamples": RESAMPLES, "seed": SEED})
    return {"model": run.name, "run": str(run.folder), "status": run.status, "scores": found}


def print_scores(results: list[dict[str, Any]], protocol: str) -> None:
    """F1 of the three sub-tasks, one row a model: of all pairs together, with their average, then by scene."""
    names = list(dict.fromkeys(name for r in results for name in r["scores"]["subtasks"]))
    titles = {"micro": "all pairs together (micro)", "macro": "mean over scenes (macro)"}
    for kind, title in titles.items():
        heads = [*names, "average"] if kind == "micro" else names
        listing = table(f"F1, {protocol} protocol, {title}, 95 % interval by scene", "model", *heads)
        for result in results:
            tasks = result["scores"]["subtasks"]
            row = [cell(tasks[name][kind]["all"]["f1"] if name in tasks else None) for name in names]
            row += [cell(result["scores"]["average"])] if kind == "micro" else []
            listing.add_row(result["model"], *row)
        out.print(listing)
        out.print()
