"""Runs on disk: score them, compare them, report them, plan with them and rank them.

Whatever a function here takes for runs may be `Results`, runs, folders of runs, or several of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sightline.errors import ConfigError, DataError
from sightline.exams.base import Candidate, Exam
from sightline.exams.checks import is_varied
from sightline.exams.plans import PairPlan, Plans, plan_results
from sightline.exams.registry import exam_class, exam_of_run, scoring_names
from sightline.exams.results import ComparisonSet, Results
from sightline.exams.run import MANIFEST, Asking, Run
from sightline.exams.run_groups import comparable_groups, run_labels
from sightline.exams.runner import Progress
from sightline.exams.scoring import RESAMPLES, RunComparison, RunResult, Scores, compare_runs, score_records
from sightline.models import candidate, is_blind
from sightline.stats.sample_size import POWER, plan_clusters
from sightline.store import Dataset

if TYPE_CHECKING:  # the card is imported where one is made
    from sightline.exams.board import Board
    from sightline.exams.card import CardOptions
    from sightline.show.page import Page

SEED: Final = 0
"""Of resampling, unless another is given."""


def scored_run(
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
    """Score a run that was just made, or is on disk.

    Args:
        run: The run.
        exam: The exam it is of.
        data: The dataset, or what opens it.
        asking: What was asked; a bounded run is scored on that alone. None scores whatever is on disk.
        name: What tables call the model; by default as the run does.
        details: Whether slices are counted too.
        resamples: Bootstrap resamples behind the intervals.
        seed: Of the resampling.
    """
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
    return scored_run(
        opened, exam_of_run(opened, **scoring), _data_of([opened], data), resamples=resamples, seed=seed
    )


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
