"""``sightline exam predicates``: who sits, what is printed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sightline.cli import exam_sitting
from sightline.cli.console import cell, counted, err, file_name, out, print_json, quiet_stdout, table
from sightline.cli.exam_sitting import RESAMPLES, SEED, Room, Sat, able, document, everybody, sit_all, tell_next

if TYPE_CHECKING:
    from sightline.exams.core import Candidate
    from sightline.exams.predicates.exam import PredicatesExam
    from sightline.store import Dataset

_NOTED: Final = ("views", "left_out")


@dataclass(frozen=True, kw_only=True)
class Wishes(exam_sitting.Wishes):
    """What the user asked for."""

    data: Path
    views: tuple[str, ...] | None


def sit_predicates(wish: Wishes) -> None:
    """Sit the predicates exam and print the scores."""
    from sightline.exams.predicates.exam import BASELINES, PredicatesExam
    from sightline.generate import open_any

    beside = dict(BASELINES) if wish.baselines else {}
    specs = everybody(wish.models, beside.values())
    made = PredicatesExam(views=wish.views, split=wish.split)
    room = Room(made, open_any(wish.data), wish.limit)
    with quiet_stdout(active=wish.json):
        ready = {spec: checked(spec, made, room.data) for spec in specs}
        places = {spec: wish.to / made.name / slug(spec, made) for spec in specs}
        # The exam travels to a worker process without its items.
        sat = sit_all(places, partial(entered, replace(made), wish), wish, ready=ready, room=room)
    results = {spec: score_run(own, sliced=spec in wish.models) for spec, own in sat.items()}
    told = document(made.name, results, wish.models or specs[:1], beside)
    if wish.json:
        print_json(told)
        return
    print_scores(list(results.values()))
    if told["left_out"]:
        err.print(f"note: {counted(told['left_out'], 'scene')} with fewer than two objects left out")
    tell_next(wish, made.name)


def entered(exam: PredicatesExam, wish: Wishes) -> Room[PredicatesExam]:
    """The exam with its data opened."""
    from sightline.generate import open_any

    return Room(exam, open_any(wish.data), wish.limit)


def checked(spec: str, exam: PredicatesExam, data: Dataset) -> Candidate:
    """The model, if it can sit this exam over this data; all are asked before the first begins."""
    who = able(spec, exam.skills)
    exam.check(who.model, data)
    return who


def slug(spec: str, exam: PredicatesExam) -> str:
    """Folder name of a model's run, telling apart what must not be mixed."""
    parts = [file_name(spec) or "model"]
    parts += [file_name(exam.split)] if exam.split else []
    parts += [file_name("views-" + "-".join(exam.views))] if exam.views is not None else []
    return "@".join(parts)


def score_run(sat: Sat, *, sliced: bool) -> dict[str, Any]:
    """Scores of what was asked for, computed from the records on disk and kept beside them; slices if wanted."""
    from sightline.exams.predicates.records import score_records
    from sightline.exams.predicates.slices import slices
    from sightline.exams.run import Run

    run = Run.open(sat.folder)
    records = run.records(sat.items)
    found = score_records(records, resamples=RESAMPLES, seed=SEED).to_dict()
    if sliced:
        found["slices"] = slices(records, resamples=RESAMPLES, seed=SEED).to_dict()
    run.write_metrics({**found, "resamples": RESAMPLES, "seed": SEED})
    noted = {key: run.manifest.get(key) for key in _NOTED}
    return {"model": run.name, "run": str(run.folder), "status": run.status, **noted, **found}


def print_scores(results: list[dict[str, Any]]) -> None:
    """One row a score, one column a model: the mean over scenes, then whole scenes, then F1."""
    kinds = {
        "scene_accuracy": "scene accuracy (mean over scenes)",
        "scene_all_by": "scene-all accuracy (scenes without a mistake)",
        "f1": "F1 (all judgements together)",
        "unknown": "unknown (share of judgements)",
    }
    for kind, title in kinds.items():
        if kind == "unknown" and not any(r[kind]["all"]["value"] for r in results):
            continue
        head = f"{title}, {counted(results[0]['n_scenes'], 'scene')}, 95 % interval by scene"
        listing = table(head, "", *(result["model"] for result in results))
        names = ("all", "spatial", "geometric") if kind == "scene_all_by" else tuple(results[0][kind])
        for name in names:
            listing.add_row(name, *(cell(r[kind][name]) for r in results))
        out.print(listing)
        out.print()
