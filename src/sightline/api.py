"""What `sightline` offers in Python: let models take exams, score and compare runs, write the report card.

The command line parses, calls these functions and prints.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sightline.engine import Task
from sightline.engine import run as run_tasks
from sightline.errors import ConfigError, DataError, SightlineError
from sightline.exams.base import Candidate, Exam, options_of, run_name
from sightline.exams.budget import Budget
from sightline.exams.checks import is_varied, read_variations, run_varied, variation_folder, variation_notes
from sightline.exams.plans import PairPlan, Plans, plan_results
from sightline.exams.registry import exam_class, exam_names, exam_of_run, scoring_names
from sightline.exams.results import ComparisonSet, ExamResults, Results
from sightline.exams.run import MANIFEST, Asking, Run
from sightline.exams.run_groups import comparable_groups, run_labels
from sightline.exams.runner import Progress, items_of, require_skills, run_exam
from sightline.exams.scoring import RESAMPLES, RunComparison, RunResult, Scores, compare_runs, score_records
from sightline.exams.thresholds import check_begin, parse_threshold
from sightline.exams.variants import KINDS, named_kinds, why_unvaried
from sightline.generation import open_any
from sightline.models import candidate, canonical, check_spec, is_blind, note_asked
from sightline.show.progress import progress_bar
from sightline.stats.sample_size import POWER, plan_clusters
from sightline.store import Dataset
from sightline.text import counted, without_secrets

if TYPE_CHECKING:  # the card is imported where one is made
    from sightline.exams.board import Board
    from sightline.exams.card import CardOptions
    from sightline.models.adapters.prompts import Prompt
    from sightline.show.page import Page

Shown = Callable[[str], AbstractContextManager[Progress | None]]
"""Shows the progress of a model: given its name, a context that yields ``update(done, total)``."""

SEED: Final = 0


def examine(
    models: object,
    data: Dataset | str | Path | None = None,
    exams: object = None,
    *,
    train: Dataset | str | Path | None = None,
    out: str | Path | None = None,
    baselines: bool = True,
    limit: int | None = None,
    workers: int = 0,
    show: Shown | bool = False,
    names: Sequence[str] = (),
    resume: bool = False,
    overwrite: bool = False,
    samples: int = 1,
    budget: Budget | int | str | None = None,
    announce: Callable[[str], None] | None = None,
    vary: Sequence[str] = (),
    fail_under: Sequence[str] = (),
) -> Results:
    """Let models take exams; an interrupted call with the same `out` goes on where it stopped.

    Answers are only taken from an earlier call if they are the same model's: its code, files and state are hashed.

    Args:
        models: A model, or several: specs (names, files; see `sightline.models.specs`) or objects with a skill.
        data: An opened dataset or its path; None for an exam that brings its own.
        exams: An exam (name or object), or several; None for every exam that models and data allow.
        train: Where an exam learns its questions from (Turing); without it, from one half of the images.
        out: Folder of the runs; None for a temporary one, which goes when this process ends.
        baselines: Let the blind baselines take the exams too.
        limit: Ask only the first so many items (Turing: images).
        workers: Processes; 0 works in this one.
        show: True for a progress bar a model, on standard error or in a notebook; or what shows it otherwise.
        names: What tables and folders call the models, one name a model in their order.
        resume: Also go on with answers of a model that has changed, or of which that cannot be told.
        overwrite: Ask everything again.
        samples: How often every item is asked, for models that draw their answers.
        budget: Requests that all models together may use, or words such as "20000 tokens", as on the command line.
        announce: Called with how long a long run will take and what it will use.
        vary: Kinds of variation (`exams.variants.KINDS`, or ``all``) under which the models are asked again.
        fail_under: Figures that the models should reach, as in ``f1.all=0.7`` (`exams.thresholds`): a path that
            the exam does not know is refused after one item. What falls short, `thresholds.shortfalls` says.
    """
    chosen = [models] if isinstance(models, str) or not isinstance(models, Iterable) else list(models)
    folder = _temporary_folder() if out is None else Path(out)
    _check_names(names, chosen)
    how: dict[str, Any] = {"baselines": baselines, "limit": limit, "workers": workers, "show": show}
    how |= {"resume": resume, "overwrite": overwrite, "samples": samples, "announce": announce}
    how["budget"] = Budget.of(budget)
    how["vary"] = named_kinds(vary)
    for text in fail_under:
        parse_threshold(text)  # before anything is read
    if exams is None:
        loaded = [
            model if isinstance(model, Candidate) else candidate(model, name)
            for model, name in _named(chosen, names)
        ]
        return _examine_all(loaded, data, train, folder, how)
    named = [exams] if isinstance(exams, str | Exam) else list(exams)  # type: ignore[call-overload]
    made = [_made(exam, train) for exam in named]
    if len(made) == 1:  # of several exams not each has the figure
        how["fail_under"] = fail_under
    return Results(tuple(run_models(exam, chosen, data, folder, names=names, **how) for exam in made))


def _temporary_folder() -> Path:
    """A new folder that is removed when this process ends: results read from it until then."""
    folder = Path(tempfile.mkdtemp(prefix="sightline-runs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _made(exam: str | Exam[Any], train: object) -> Exam[Any]:
    """An exam by name with its defaults; `train` goes to one that learns its questions."""
    if isinstance(exam, Exam):
        return exam
    kind = exam_class(exam)
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if "train" not in known:
        return kind()
    if train is None:
        return kind(halves=True)  # type: ignore[call-arg]
    return kind(train=Path(train) if isinstance(train, str) else train)  # type: ignore[call-arg]


def _examine_all(
    loaded: Sequence[Candidate], data: object, train: object, folder: Path, how: Mapping[str, Any]
) -> Results:
    if data is None:
        raise ConfigError("every exam needs a dataset: give one, or name an exam that brings its own")
    opened = data if isinstance(data, Dataset) else open_any(_path(data))
    taken: list[ExamResults] = []
    skipped: dict[str, str] = {}
    for name in exam_names():
        try:
            exam = _made(name, train)
            exam = (exam.for_workers(folder) if how["workers"] else exam).settled(opened)
            items_of(exam, opened)  # data without a question for this exam is refused here
            able, refused = _able(exam, loaded, opened)
        except SightlineError as reason:
            skipped[name] = str(reason)
            continue
        if refused and not able:
            skipped[name] = "; ".join(refused)
            continue
        results = run_models(exam, able, opened, folder, **how)
        taken.append(replace(results, notes=(*results.notes, *refused)))
    if not taken:
        raise ConfigError("no exam can be taken: " + "; ".join(f"{name}: {why}" for name, why in skipped.items()))
    return Results(tuple(taken), skipped)


def _able(exam: Exam[Any], loaded: Sequence[Candidate], data: Dataset) -> tuple[list[Candidate], tuple[str, ...]]:
    """Those that can take the exam over this data, and why the others cannot."""
    able: list[Candidate] = []
    refused: list[str] = []
    for who in loaded:
        try:
            require_skills(exam, who)
            exam.check(who.model, data)
        except SightlineError as reason:
            words = str(reason)
            refused.append(words if words.startswith(who.spec) else f"{who.spec}: {words}")
        else:
            able.append(who)
    return able, tuple(refused)


def exam_prompts(
    exam: str | Exam[Any],
    data: Dataset | str | Path,
    model: str | None = None,
    *,
    train: Dataset | str | Path | None = None,
    limit: int = 1,
) -> tuple[list[Prompt], int, Mapping[str, float]]:
    """Make the prompts a vision-language model would be asked with; nobody is asked.

    Beside them the number of the exam's items, and what these prompts would take (`PromptRecorder.usage`).

    Args:
        exam: The exam, or its name.
        data: The dataset.
        model: Spec of a vision-language model whose style the prompts follow; by default that of none.
        train: Where an exam learns its questions from.
        limit: Items whose prompts are made.
    """
    from sightline.models.adapters.language import LanguageModel, PromptRecorder

    made = _made(exam, train)
    if isinstance(exam, str) and "min_support" in options_of(made):
        # Prompts look alike, however little the chances rest on.
        made = replace(made, min_support=1)  # type: ignore[type-var]
    opened = data if isinstance(data, Dataset) else made.open(_path(data))
    made = made.settled(opened)
    like = None if model is None else candidate(model).model
    if like is not None and not isinstance(like, LanguageModel):
        raise ConfigError(f"{model}: it is asked without prompts: only vision-language models have some")
    recorder = PromptRecorder(like)
    require_skills(made, Candidate("prompts", "prompts", recorder))
    made.check(recorder, opened)
    items = items_of(made, opened)
    ask = made.asker(recorder, opened)
    for item in made.limited(items, limit):
        ask(item)
    return recorder.prompts, len(items), recorder.usage()


def run_models(
    exam: Exam[Any],
    models: Sequence[object],
    data: Dataset | str | Path | None,
    out: Path,
    *,
    baselines: bool = True,
    limit: int | None = None,
    workers: int = 0,
    show: Shown | bool = False,
    names: Sequence[str] = (),
    resume: bool = False,
    overwrite: bool = False,
    samples: int = 1,
    budget: Budget | int | str | None = None,
    announce: Callable[[str], None] | None = None,
    vary: Sequence[str] = (),
    fail_under: Sequence[str] = (),
    done: Callable[[str], None] | None = None,
) -> ExamResults:
    """Let models and baselines take one exam; all are checked before the first begins.

    Arguments are those of `examine`; `done` is called with the name of a model that a worker has finished with. The
    data is opened once, and its items are made once, in each process.
    """
    _check_names(names, models)
    vary, budget = named_kinds(vary), Budget.of(budget)
    thresholds = [parse_threshold(text) for text in fail_under]
    for model in models:
        if isinstance(model, str):
            check_spec(model)  # before the data is read, and learned from
    path = data.path if isinstance(data, Dataset) else None if data is None else _path(data)
    exam = exam.for_workers(out) if workers else exam
    opened = data if isinstance(data, Dataset) else exam.open(path)
    exam = exam.settled(opened)
    entrants = exam.entrants(models, opened, baselines=baselines)
    everyone: dict[str, Candidate] = {}
    wanted = [_enter(everyone, exam, model, name) for model, name in _named(entrants.models, names)]
    beside = exam.rivals(entrants.baselines, [everyone[key].model for key in wanted])
    rivals = {name: _enter(everyone, exam, spec) for name, spec in beside.items()}
    if not everyone:
        raise ConfigError("nobody to examine: give --model, or leave the baselines in")
    for who in everyone.values():
        require_skills(exam, who)
        exam.check(who.model, opened)
    draws = f"@samples-{samples}" if samples > 1 else ""
    folders = {key: out / exam.name / f"{run_name(exam, key, opened)}{draws}" for key in everyone}
    how: dict[str, Any] = {"limit": limit, "resume": resume, "overwrite": overwrite, "samples": samples}
    wanted = wanted or list(everyone)[:1]
    reasons = {
        key: {kind: why_unvaried(exam, everyone[key].model, kind, opened) for kind in vary} if key in wanted else {}
        for key in everyone
    }
    kinds = {key: tuple(kind for kind, why in of.items() if not why) for key, of in reasons.items()}
    if thresholds:
        first = run_exam(exam, everyone[wanted[0]], opened, folders[wanted[0]], **how | {"limit": 1})
        check_begin(_scored(first, exam, opened, first.asking, details=True).scores, thresholds)
    if workers:
        if budget is not None:
            raise ConfigError("a budget is kept in one process: it goes without --workers")
        _refuse_unloadable(everyone.values())
        jobs = [
            Task(key, _Job(exam, who.private or who.spec, who.called, folders[key], path, how, kinds[key]))
            for key, who in everyone.items()
        ]
        on_done = None if done is None else lambda task, _: done(task.name)
        asked = dict(zip(folders, run_tasks(jobs, _work, workers=workers, on_done=on_done), strict=True))
    else:
        asked = {}
        for key, who in everyone.items():
            said = None if announce is None else partial(_announce, announce, f"{who.name}, {exam.name}")
            bounds = how | {"budget": budget, "announce": said}
            asked[key] = _run_one(exam, who, opened, folders[key], show, bounds, kinds[key])
    short = {key: name for name, key in rivals.items() if not everyone[key].called}
    results = {
        key: _scored(Run.open(folders[key]), exam, opened, asked[key], short.get(key), details=key in wanted)
        for key in everyone
    }
    if vary:
        for key in wanted:
            refused = {kind: why for kind, why in reasons[key].items() if why}
            result = results[key]
            varied = read_variations(exam, folders[key], result.records, kinds[key], reasons=refused)
            results[key] = replace(result, varied=varied)
    shared = exam.across(list(results.values()), resamples=RESAMPLES, seed=SEED)
    for result in results.values():
        checks = result.varied.to_dict() if result.varied.kinds else {}
        document = {**result.scores.to_dict(), **shared, **checks}
        result.run.write_metrics({**document, "resamples": RESAMPLES, "seed": SEED})
    baseline_results = {name: results[key] for name, key in rivals.items()}
    chosen = tuple(results[s] for s in dict.fromkeys(wanted))
    unvaried = variation_notes({results[key].name: results[key].varied for key in wanted})
    used = (
        note
        for key, result in results.items()
        for note in (*_class_notes(result), *_usage_notes(result, kinds[key]))
    )
    return ExamResults(exam, chosen, baseline_results, shared, (*entrants.notes, *unvaried, *used))


def _announce(announce: Callable[[str], None], name: str, words: str) -> None:
    announce(f"{name}: {words}")


def _class_notes(result: RunResult) -> Iterator[str]:
    """How many of the classes that were asked about a trained model had not learned."""
    facts = result.run.manifest.get("model") or {}
    if facts.get("unknown_classes"):
        classes = counted(facts["classes"], "class", "classes")
        yield f"{result.name}: of {classes} asked about it learned {facts['classes'] - facts['unknown_classes']}"


def _usage_notes(result: RunResult, kinds: Sequence[str]) -> Iterator[str]:
    """What a run and its variations used, what could not be read of it, and that its budget is spent."""
    names = [variant.name for kind in kinds for variant in KINDS[kind]]
    varied = {name: Run.open(variation_folder(result.run.folder, name)) for name in names}
    used: dict[str, float] = {}
    for run in (result.run, *varied.values()):
        for key, value in (run.manifest.get("usage") or {}).items():
            used[key] = used.get(key, 0) + value
    kept = int(used.get("cached", 0))
    if used:
        counts = [
            counted(int(used.get("requests", 0)), "request"),
            *([f"{counted(kept, 'reply', 'replies')} kept from before"] if kept else []),
            f"{counted(int(used.get('tokens_in', 0)), 'token')} read",
            f"{counted(int(used.get('tokens_out', 0)), 'token')} written",
            f"{counted(int(used.get('unparsed', 0)), 'reply', 'replies')} that could not be read",
            *([f"a cost of {used['cost']:,.2f}"] if used.get("cost") else []),
        ]
        whole = f", with {counted(len(varied), 'variant')}" if varied else ""
        yield f"{result.name}{whole}: {', '.join(counts)}"
    for name, run in {"": result.run, **varied}.items():
        if run.manifest.get("budget"):
            where = f"{result.name}, {name}" if name else result.name
            yield f"{where}: {run.manifest['budget']}; the same command with a larger one goes on"


@dataclass(frozen=True)
class _Job:
    """One model's run, small enough to send to a worker process."""

    exam: Exam[Any]
    spec: str
    called: str
    folder: Path
    data: Path | None
    how: Mapping[str, Any]
    vary: tuple[str, ...] = ()


def _run_one(
    exam: Exam[Any],
    who: Candidate,
    data: Dataset,
    folder: Path,
    show: Shown | bool,
    how: Mapping[str, Any],
    vary: Sequence[str] = (),
) -> Asking | None:
    """Run one model in this process, as it is and then in every variant of some kinds."""
    again = {key: value for key, value in how.items() if key != "announce"}
    shown: Shown = progress_bar if show is True else show or (lambda _: nullcontext())
    try:
        with shown(who.name) as progress:
            following = sum(len(KINDS[kind]) for kind in vary)
            asking = run_exam(exam, who, data, folder, progress=progress, variants=following, **how).asking
        for kind in vary:
            for number, variant in enumerate(KINDS[kind]):
                with shown(f"{who.name}, {variant.name}") as progress:
                    run_varied(exam, who, data, folder, kind, number, progress=progress, **again)
        return asking
    finally:
        if not who.loadable:
            note_asked(who.model, who.fingerprint)


def _work(job: _Job) -> Asking | None:
    """Run one model in a worker process, which opens the data by itself, once for all its jobs."""
    who = candidate(job.spec, job.called, wanted=_all_skills(job.exam))
    return _run_one(job.exam, who, _opened(job.exam, job.data), job.folder, False, job.how, job.vary)


@cache
def _opened(exam: Exam[Any], path: Path | None) -> Dataset:
    return exam.open(path)


def _all_skills(exam: Exam[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(skill for group in exam.skills for skill in group))


def _check_names(names: Sequence[str], models: Sequence[object]) -> None:
    """ConfigError unless there is a name for each model, or for none."""
    if names and len(names) != len(models):
        given, wanted = counted(len(names), "name"), counted(len(models), "model")
        raise ConfigError(f"{given} for {wanted}: give --name once for each --model, in the same order")
    if not all(names):
        raise ConfigError("--name must not be empty")


def _named(models: Sequence[object], names: Sequence[str]) -> Iterator[tuple[object, str]]:
    """Each model with the name it was given, empty for none."""
    return zip_longest(models, names[: len(models)], fillvalue="")


def _enter(everyone: dict[str, Candidate], exam: Exam[Any], model: object, name: str = "") -> str:
    """Put a model among those who take an exam, each loaded once; its key. ConfigError where two share a name."""
    spec = without_secrets(canonical(model)) if isinstance(model, str) else None
    there = everyone.get(name or spec or "")
    if there is not None and there.loadable and there.spec == spec:
        return there.key
    who = model if isinstance(model, Candidate) else candidate(model, name, wanted=_all_skills(exam))
    if everyone.setdefault(who.key, who).model is not who.model:
        raise ConfigError(f"two models are called {who.key!r}: give one of them another `name`")
    return who.key


def _refuse_unloadable(candidates: Iterable[Candidate]) -> None:
    """ConfigError for an object that only this process has."""
    for who in candidates:
        if not who.loadable:
            raise ConfigError(
                f"{who.name} is an object of this process, which workers cannot load: "
                "work without them, or name it as in file.py:object"
            )


def _path(data: object) -> Path:
    if not isinstance(data, str | Path):
        raise ConfigError(f"expected a dataset or the path of one, found {data!r}")
    return Path(data)


def _scored(
    run: Run,
    exam: Exam[Any],
    data: Dataset | Callable[[], Dataset],
    asking: Asking | None = None,
    name: str | None = None,
    *,
    details: bool = True,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> RunResult:
    records = run.read(None if asking is None else asking.items, exam.columns)
    if not records.items.height and run.manifest.get("budget"):
        raise ConfigError(f"{run.folder}: {run.manifest['budget']} before one item was answered: give a larger one")
    opened = data if callable(data) else lambda: data
    scores = score_records(exam, records, opened, details=details, resamples=resamples, seed=seed)
    limited = asking is not None and asking.items is not None and run.limited
    how: dict[str, Any] = {"blind": is_blind(run.spec), "asking": asking, "limited": limited}
    return RunResult(run, exam, name or run.name, records, scores, **how)


def score(
    run: Run | str | Path | RunResult,
    data: Dataset | str | Path | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    **scoring: Any,
) -> RunResult:
    """Score a run from its records on disk.

    Args:
        run: The run, or its folder.
        data: The dataset, should the exam look at it again; by default where the run says it was.
        resamples: Bootstrap resamples behind the intervals.
        seed: Of the resampling.
        **scoring: Options that say how to count, such as ``protocol="paper"``.
    """
    opened = _run(run)
    return _scored(opened, exam_of_run(opened, **scoring), _data_of([opened], data), resamples=resamples, seed=seed)


def compare(
    a: object,
    b: object,
    data: Dataset | str | Path | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    **scoring: Any,
) -> RunComparison | ComparisonSet:
    """Compare two runs, or two sets of runs, on what both were asked.

    Args:
        a: A run (or its folder, or its result), or several: `Results`, or a folder of runs.
        b: The others.
        data: The dataset, should an exam look at it again; by default where the runs say it was.
        resamples: Bootstrap resamples and sign flips.
        seed: Of both.
        **scoring: Options that say how to count, such as ``protocol="paper"``.
    """
    ours, theirs = _runs(a), _runs(b)
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    if len(ours) == len(theirs) == 1:
        return _compare_two(ours[0], theirs[0], data, how, scoring)
    keys: list[dict[_MatchKey, Run]] = [{}, {}]
    unmatched: dict[str, str] = {}
    for by_key, runs in zip(keys, (ours, theirs), strict=True):
        for run in runs:
            first = by_key.setdefault(_match_key(run), run)
            if first is not run:
                unmatched[str(run.folder)] = f"{first.folder} is such a run already"
    matched = [key for key in keys[0] if key in keys[1]]
    if not matched:
        raise ConfigError("no run of one set matches one of the other by exam, data, options and model name")
    known = {key: scoring_names(exam_class(keys[0][key].exam)) & set(scoring) for key in matched}
    for name in set(scoring) - frozenset[str]().union(*known.values()):
        raise ConfigError(f"no exam of these runs has --{name.replace('_', '-')}")
    pairs = tuple(
        _compare_two(keys[0][key], keys[1][key], data, how, {name: scoring[name] for name in known[key]})
        for key in matched
    )
    unmatched |= {
        str(run.folder): f"no run of {run.exam} by {run.name} with the same data and options in the other set"
        for of in keys
        for key, run in of.items()
        if key not in matched
    }
    return ComparisonSet(pairs, unmatched)


def _compare_two(
    a: Run, b: Run, data: Dataset | str | Path | None, how: Mapping[str, Any], scoring: Mapping[str, Any]
) -> RunComparison:
    if a.exam != b.exam:
        said = f"one is of the {a.exam} exam, the other of the {b.exam} exam"
        raise ConfigError(f"runs cannot be compared: {said} ({a.folder} and {b.folder})")
    return compare_runs(exam_of_run(a, **scoring), a, b, _data_of([a, b], data), **how)


_MatchKey = tuple[str, str, str, str]


def _match_key(run: Run) -> _MatchKey:
    options = repr(sorted(run.options.items()))
    return run.exam, run.manifest["identity"]["data_fingerprint"], options, run.name


def _run(given: Run | str | Path | RunResult) -> Run:
    if isinstance(given, RunResult):
        return given.run
    return given if isinstance(given, Run) else Run.open(Path(given))


def _runs(given: object) -> list[Run]:
    """All runs that an argument stands for: a run, its folder, a folder of runs, results, or several of these."""
    if isinstance(given, Run | RunResult):
        return [_run(given)]
    if isinstance(given, str | Path):
        return [Run.open(folder) for folder in run_folders([Path(given)])]
    if isinstance(given, Results | Iterable):
        return [run for one in given for run in _runs(one)]
    raise ConfigError(f"expected a run, a folder of runs or results, found {given!r}")


def run_folders(places: Sequence[Path]) -> list[Path]:
    """Every run at or below the given places, sorted; DataError where there is none.

    Runs of variants are left out unless one is named: they belong to the run that they vary.
    """
    found = sorted({path.parent for place in places for path in place.rglob(MANIFEST)})
    folders = [folder for folder in found if not is_varied(folder) or folder in places]
    if not folders:
        raise DataError("no run here", file=places[0], expected="folders written by `sightline exam`")
    return folders


def _data_of(runs: Sequence[Run], data: Dataset | str | Path | None) -> Callable[[], Dataset]:
    """Opens the data that runs were made on, when it is first needed, once."""

    @cache
    def opened() -> Dataset:
        if isinstance(data, Dataset):
            return data
        path = Path(data) if data is not None else data_path(runs)
        return exam_of_run(runs[0]).open(path)

    return opened


def data_path(runs: Sequence[Run], other: Dataset | None = None) -> Path:
    """The dataset the runs were made on; ConfigError where they name several or it is gone.

    Args:
        runs: The runs.
        other: What was given and is not it: the error says so.
    """
    named = {run.manifest["identity"]["data_fingerprint"]: run.data for run in runs}
    if len(named) != 1:
        raise ConfigError(
            f"the runs were made on several datasets ({', '.join(map(str, named.values()))}): give --data"
        )
    (path,) = named.values()
    if path is None or not path.exists():
        gone = f"{runs[0].folder} was made on {path}, which is not there"
        if other is None:
            raise ConfigError(f"{gone}: give --data")
        (made_on,) = named
        marks = f"fingerprint {other.fingerprint[:12]}, expected {made_on[:12]}"
        raise ConfigError(f"{gone}; {other.path} is other data ({marks})")
    return path


def report(
    runs: object,
    path: str | Path | None = None,
    data: Dataset | str | Path | None = None,
    *,
    exam: str = "",
    model: object = None,
    options: CardOptions | None = None,
    progress: Progress | None = None,
    **how: Any,
) -> Page:
    """Make the report card of runs: a summary, a part an exam, single items, provenance.

    Args:
        runs: `Results`, runs, folders of runs, or several of these.
        path: File of the page (``*.html``), or a folder; ``.json`` and ``.md`` stand beside it. None: no file.
        data: The dataset; by default where the runs say it was.
        exam: Only the runs of this exam.
        model: With ``attention``: the model in focus, a spec or an object; nothing that a run names is loaded.
        options: What else can be chosen, or give its fields by name (`exams.card.CardOptions`).
        progress: Called with (runs scored, runs in all).
        **how: Fields of `CardOptions`.
    """
    from sightline.exams.card import CardOptions
    from sightline.exams.report import report_card

    chosen, card_options = _runs(runs), options or CardOptions(**how)
    exams = sorted({run.exam for run in chosen})
    if exam:
        chosen = [run for run in chosen if run.exam == exam]
        if not chosen:
            raise ConfigError(f"no run of the exam {exam!r} here; there are runs of {', '.join(exams)}")
    if card_options.attention and not any(exam_class(run.exam).shows_attention for run in chosen):
        raise ConfigError(f"--attention goes with another exam; these are runs of {', '.join(exams)}")
    if card_options.attention and model is None:
        raise ConfigError("--attention needs --model: the model to load, since what a run names is not loaded")

    @cache
    def load() -> Candidate:
        return model if isinstance(model, Candidate) else candidate(model)

    opener = _data_opener(chosen, data)
    page = report_card(chosen, opener, card_options, blind=is_blind, load=lambda _: load(), progress=progress)
    if path is not None:
        page.write(path)
    return page


def plan(
    runs: object, difference: float, data: Dataset | str | Path | None = None, *, power: float = POWER
) -> Plans:
    """Say how many scenes show a difference between models, from runs at hand.

    Args:
        runs: Runs of two models or more: `Results`, runs, folders of runs, or several of these.
        difference: To be seen, in the unit of the figures: 0.02 is two points of a share.
        data: The dataset, should an exam look at it again; by default where the runs say it was.
        power: Chance of seeing it, at 5 % two-sided.
    """
    plan_clusters(1.0, 2, difference, power=power)  # refuses what cannot be planned before anything is read
    pairs: list[PairPlan] = []
    for group in comparable_groups(_runs(runs)):
        opened = _data_of(group, data)
        pairs += plan_results(list(_unscored(group)), opened, difference, power=power)
    if not pairs:
        raise ConfigError("planning needs runs of two models on the same exam, data and options; there are none")
    return Plans(difference, power, tuple(pairs))


def board(
    runs: object,
    path: str | Path | None = None,
    data: Dataset | str | Path | None = None,
    *,
    resamples: int = 1000,
    seed: int = SEED,
) -> Board:
    """Make a leaderboard of runs: headline figures, ranges of ranks, pairs that can be told apart.

    Args:
        runs: `Results`, runs, folders of runs, or several of these.
        path: File of the page; None: no file.
        data: The dataset, should an exam look at it again; by default where the runs say it was.
        resamples: Bootstrap resamples and sign flips.
        seed: Of both.
    """
    from sightline.exams.board import Board, board_exam

    exams = []
    for group in comparable_groups(_runs(runs)):
        opened = _data_of(group, data)
        how: dict[str, Any] = {"resamples": resamples, "seed": seed}
        results = []
        for one in _unscored(group):
            scores = score_records(one.exam, one.records, opened, **how)
            results.append(replace(one, scores=scores))
        asked = {frozenset(one.records.items["item"]) for one in results}
        if len(asked) == 1 and all(one.run.limited for one in results):
            results = [replace(one, limited=True) for one in results]
        named = Path(group[0].manifest.get("data") or "data").name
        split = group[0].options.get("split")
        made = board_exam(results, opened, f"{named}, {split}" if split else named, **how)
        exams += [made] if made is not None else []
    if not exams:
        raise ConfigError("no run here has a figure to rank by")
    made_board = Board(tuple(exams), resamples, seed)
    if path is not None:
        made_board.write(path)
    return made_board


def _unscored(runs: Sequence[Run]) -> Iterator[RunResult]:
    """Runs that belong together with their records, before anything is counted."""
    for run, label in zip(runs, run_labels(runs), strict=True):
        exam = exam_of_run(run)
        records, scores = run.read(columns=exam.columns), Scores(exam.name, exam.unit, {})
        yield RunResult(run, exam, label, records, scores, blind=is_blind(run.spec))


def _data_opener(runs: Sequence[Run], data: Dataset | str | Path | None) -> Callable[[Sequence[Run]], Dataset]:
    """Opens the data of some of the runs, each once; the given one serves those that were made on it.

    Where it is none's, it is given to all of them, and the card says that it is another.
    """
    given = _data_of(runs, data)
    made_on = {run.manifest["identity"]["data_fingerprint"] for run in runs}
    stored: dict[Path, Dataset] = {}

    def opened(some: Sequence[Run]) -> Dataset:
        of_these = some[0].manifest["identity"]["data_fingerprint"]
        if data is not None and (given().fingerprint == of_these or given().fingerprint not in made_on):
            return given()
        path = data_path(some, given() if data is not None else None)
        if path not in stored:
            stored[path] = exam_of_run(some[0]).open(path)
        return stored[path]

    return opened
