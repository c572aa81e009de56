"""``sightline exam predicates``: who sits, what is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sightline.cli.console import cell, counted, err, file_name, out, print_json, progress, quiet_stdout, table
from sightline.errors import ConfigError

if TYPE_CHECKING:
    from sightline.exams.core import Candidate
    from sightline.exams.predicates.exam import PredicatesExam
    from sightline.exams.run import Run
    from sightline.store import Dataset

_RESAMPLES: Final = 2000
_SEED: Final = 0
_NOTED: Final = ("views", "left_out")


@dataclass(frozen=True)
class Wishes:
    """What the user asked for."""

    data: Path
    models: list[str]
    to: Path
    baselines: bool
    split: str | None
    views: tuple[str, ...] | None
    limit: int | None
    workers: int
    json: bool


@dataclass(frozen=True)
class Sitting:
    """One model's sitting, small enough to send to a worker process."""

    exam: PredicatesExam
    spec: str
    data: Path
    folder: Path
    limit: int | None
    quiet: bool


def sit_predicates(wish: Wishes) -> None:
    """Sit the predicates exam and print the scores."""
    from sightline.engine import Task
    from sightline.engine import run as run_tasks
    from sightline.exams.predicates.exam import BASELINES, PredicatesExam
    from sightline.exams.run import Run
    from sightline.generate import open_any

    beside = dict(BASELINES) if wish.baselines else {}
    specs = list(dict.fromkeys([*wish.models, *beside.values()]))
    if not specs:
        raise ConfigError("nobody to examine: give --model, or leave the baselines in")
    opened, made = open_any(wish.data), PredicatesExam(views=wish.views, split=wish.split)
    to, quiet = wish.to / made.name, wish.json or wish.workers > 0
    with quiet_stdout(active=wish.json):
        ready = {spec: checked(spec, made, opened) for spec in specs}
        # A worker process loads its model itself, for not every model can be sent; its exam travels without items.
        sent = replace(made) if wish.workers else made
        work = sit_one if wish.workers else partial(sit_one, ready=ready, opened=opened)
        tasks = [Task(s, Sitting(sent, s, wish.data, to / slug(s, made), wish.limit, quiet)) for s in specs]
        done = (lambda task, _: err.print(f"{task.name}: done")) if wish.workers and not wish.json else None
        folders = dict(zip(specs, run_tasks(tasks, work, workers=wish.workers, on_done=done), strict=True))
    results = {s: score_run(Run.open(f), sliced=s in wish.models) for s, f in folders.items()}
    told = document(results, wish.models or specs[:1], beside)
    if wish.json:
        print_json(told)
        return
    print_scores(list(results.values()))
    if told["left_out"]:
        err.print(f"note: {counted(told['left_out'], 'scene')} with fewer than two objects left out")
    err.print(f"runs in {to}; next: sightline report {wish.to} --out report.html")


def checked(spec: str, exam: PredicatesExam, data: Dataset) -> Candidate:
    """The model, if it can sit this exam over this data; all are asked before the first begins."""
    from sightline.exams.core import require_skills
    from sightline.models import candidate

    who = candidate(spec)
    require_skills(who, exam.skills)
    exam.check(who.model, data)
    return who


def sit_one(sitting: Sitting, ready: Mapping[str, Candidate] | None = None, opened: Dataset | None = None) -> Path:
    """Load the model and the data where that is still to be done, sit, return the run's folder."""
    from sightline.exams.core import sit
    from sightline.generate import open_any
    from sightline.models import candidate

    who = candidate(sitting.spec) if ready is None else ready[sitting.spec]
    data = open_any(sitting.data) if opened is None else opened
    with progress(who.name, quiet=sitting.quiet) as update:
        run = sit(sitting.exam, who, data, sitting.folder, limit=sitting.limit, progress=update)
    return run.folder


def slug(spec: str, exam: PredicatesExam) -> str:
    """Folder name of a model's run, telling apart what must not be mixed."""
    parts = [file_name(spec) or "model"]
    parts += [file_name(exam.split)] if exam.split else []
    parts += [file_name("views-" + "-".join(exam.views))] if exam.views is not None else []
    return "@".join(parts)


def score_run(run: Run, *, sliced: bool) -> dict[str, Any]:
    """Scores of a run, computed from its records on disk and kept beside them; slices where they are wanted."""
    from sightline.exams.predicates.records import score_records
    from sightline.exams.predicates.slices import slices

    records = run.records()
    found = score_records(records, resamples=_RESAMPLES, seed=_SEED).to_dict()
    if sliced:
        found["slices"] = slices(records, resamples=_RESAMPLES, seed=_SEED).to_dict()
    run.write_metrics({**found, "resamples": _RESAMPLES, "seed": _SEED})
    noted = {key: run.manifest.get(key) for key in _NOTED}
    return {"model": run.name, "run": str(run.folder), "status": run.status, **noted, **found}


def document(
    results: Mapping[str, dict[str, Any]], models: list[str], baselines: Mapping[str, str]
) -> dict[str, Any]:
    """The JSON document: the first model's scores, then all of them and the baselines by name."""
    asked = [results[spec] for spec in dict.fromkeys(models)]
    return {
        "exam": "predicates",
        **asked[0],
        "models": asked,
        "baselines": {name: results[spec] for name, spec in baselines.items()},
    }


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
