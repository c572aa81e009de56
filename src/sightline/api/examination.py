"""Let models take exams: who takes part, in which folder, in this process or several, and what comes of it."""

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
from typing import TYPE_CHECKING, Any

from sightline.api.stored_runs import SEED, scored_run
from sightline.engine import Task
from sightline.engine import run as run_tasks
from sightline.errors import ConfigError, SightlineError
from sightline.exams.base import Candidate, Exam, options_of, run_name
from sightline.exams.budget import Budget
from sightline.exams.checks import read_variations, run_varied, variation_folder, variation_notes
from sightline.exams.registry import exam_class, exam_names
from sightline.exams.results import ExamResults, Results
from sightline.exams.run import Asking, Run
from sightline.exams.runner import Progress, items_of, require_skills, run_exam
from sightline.exams.scoring import RESAMPLES, RunResult
from sightline.exams.thresholds import check_begin, parse_threshold
from sightline.exams.variants import KINDS, named_kinds, why_unvaried
from sightline.generation import open_any
from sightline.models import candidate, canonical, check_spec, note_asked
from sightline.show.progress import progress_bar
from sightline.store import Dataset
from sightline.text import counted, without_secrets

if TYPE_CHECKING:
    from sightline.models.adapters.prompts import Prompt

Shown = Callable[[str], AbstractContextManager[Progress | None]]
"""Shows the progress of a model: given its name, a context that yields ``update(done, total)``."""


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
    if workers and budget is not None:
        raise ConfigError("a budget is kept in one process: it goes without --workers")
    thresholds = [parse_threshold(text) for text in fail_under]
    for model in models:
        if isinstance(model, str):
            check_spec(model)  # before the data is read, and learned from
    path = data.path if isinstance(data, Dataset) else None if data is None else _path(data)
    exam = exam.for_workers(out) if workers else exam
    opened = data if isinstance(data, Dataset) else exam.open(path)
    exam = exam.settled(opened)
    entered = _Entered.of(exam, models, names, opened, baselines=baselines)
    draws = f"@samples-{samples}" if samples > 1 else ""
    folders = {key: out / exam.name / f"{run_name(exam, key, opened)}{draws}" for key in entered.everyone}
    how: dict[str, Any] = {"limit": limit, "resume": resume, "overwrite": overwrite, "samples": samples}
    reasons = {
        key: {kind: why_unvaried(exam, entered.everyone[key].model, kind, opened) for kind in vary}
        for key in entered.wanted
    }
    kinds = {key: tuple(kind for kind, why in reasons.get(key, {}).items() if not why) for key in entered.everyone}
    if thresholds:
        first = entered.wanted[0]
        begun = run_exam(exam, entered.everyone[first], opened, folders[first], **how | {"limit": 1})
        check_begin(scored_run(begun, exam, opened, begun.asking, details=True).scores, thresholds)
    if workers:
        asked = _asked_by_workers(exam, entered.everyone, folders, path, how, kinds, workers=workers, done=done)
    else:
        asked = {}
        for key, who in entered.everyone.items():
            said = None if announce is None else partial(_announce, announce, f"{who.name}, {exam.name}")
            bounds = how | {"budget": budget, "announce": said}
            asked[key] = _run_one(exam, who, opened, folders[key], show, bounds, kinds[key])
    if thresholds and not overwrite:
        asking, earlier = asked[first], begun.asking
        asked[first] = asking if asking is None or earlier is None else asking.joined(earlier)
    results = {
        key: scored_run(
            Run.open(folders[key]), exam, opened, asked[key], entered.short.get(key), details=key in entered.wanted
        )
        for key in entered.everyone
    }
    for key, of in reasons.items() if vary else ():
        refused = {kind: why for kind, why in of.items() if why}
        varied = read_variations(exam, folders[key], results[key].records, kinds[key], reasons=refused)
        results[key] = replace(results[key], varied=varied)
    return _exam_results(exam, entered, results, kinds)


@dataclass(frozen=True)
class _Entered:
    """Who takes an exam.

    Attributes:
        everyone: Key → model, baselines among them.
        wanted: Keys of the models that were asked for; the first baseline where none was.
        rivals: Name of a baseline in tables → its key.
        notes: What should be said of them.
    """

    everyone: dict[str, Candidate]
    wanted: tuple[str, ...]
    rivals: dict[str, str]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, exam: Exam[Any], models: Sequence[object], names: Sequence[str], data: Dataset, *, baselines: bool
    ) -> _Entered:
        """Load the models and the baselines, and check that each can take the exam over the data."""
        entrants = exam.entrants(models, data, baselines=baselines)
        everyone: dict[str, Candidate] = {}
        wanted = [_enter(everyone, exam, model, name) for model, name in _named(entrants.models, names)]
        beside = exam.rivals(entrants.baselines, [everyone[key].model for key in wanted])
        rivals = {name: _enter(everyone, exam, spec) for name, spec in beside.items()}
        if not everyone:
            raise ConfigError("nobody to examine: give --model, or leave the baselines in")
        for who in everyone.values():
            require_skills(exam, who)
            exam.check(who.model, data)
        chosen = tuple(dict.fromkeys(wanted or list(everyone)[:1]))
        return cls(everyone, chosen, rivals, tuple(entrants.notes))

    @property
    def short(self) -> dict[str, str]:
        """Key of a baseline that has no name of its own → what tables call it."""
        return {key: name for name, key in self.rivals.items() if not self.everyone[key].called}


def _asked_by_workers(
    exam: Exam[Any],
    everyone: Mapping[str, Candidate],
    folders: Mapping[str, Path],
    data: Path | None,
    how: Mapping[str, Any],
    kinds: Mapping[str, tuple[str, ...]],
    *,
    workers: int,
    done: Callable[[str], None] | None,
) -> dict[str, Asking | None]:
    """Run every model in one of several processes; what each was asked, by its key."""
    _refuse_unloadable(everyone.values())
    jobs = [
        Task(key, _Job(exam, who.private or who.spec, who.called, folders[key], data, how, kinds[key]))
        for key, who in everyone.items()
    ]
    on_done = None if done is None else lambda task, _: done(task.name)
    return dict(zip(folders, run_tasks(jobs, _work, workers=workers, on_done=on_done), strict=True))


def _exam_results(
    exam: Exam[Any], entered: _Entered, results: Mapping[str, RunResult], kinds: Mapping[str, tuple[str, ...]]
) -> ExamResults:
    """Write the figures of every run beside its records, and put the runs together."""
    shared = exam.across(list(results.values()), resamples=RESAMPLES, seed=SEED)
    for result in results.values():
        checks = result.varied.to_dict() if result.varied.kinds else {}
        document = {**result.scores.to_dict(), **shared, **checks}
        result.run.write_metrics({**document, "resamples": RESAMPLES, "seed": SEED})
    chosen = tuple(results[key] for key in entered.wanted)
    used = (
        note
        for key, result in results.items()
        for note in (*exam.notes(result), *_class_notes(result), *_usage_notes(result, kinds[key]))
    )
    unvaried = variation_notes({result.name: result.varied for result in chosen})
    baselines = {name: results[key] for name, key in entered.rivals.items()}
    return ExamResults(exam, chosen, baselines, shared, (*entered.notes, *unvaried, *used))


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
