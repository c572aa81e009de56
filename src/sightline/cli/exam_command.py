"""``sightline exam``: let models take an exam; one sub-command an exam, its options are the exam's fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from sightline.cli import completion
from sightline.cli.console import (
    AllowOutside,
    Json,
    err,
    interruptible,
    out,
    outside_allowed,
    print_json,
    progress,
    quiet_stdout,
    words_of,
)
from sightline.cli.track_command import TRACK_HELP
from sightline.errors import ConfigError
from sightline.text import counted

if TYPE_CHECKING:
    from sightline.exams.base import Exam, Option
    from sightline.exams.results import ExamResults, Results
    from sightline.exams.scoring import RunResult

ALL: Final = "all"

_ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Name, name:key=value,…, file.py:object or a file of answers; may be repeated.",
        autocompletion=completion.models,
    ),
]
_OutOption = Annotated[Path, typer.Option("--out", help="Folder of the runs; an interrupted one is resumed.")]
_BaselinesOption = Annotated[bool, typer.Option(help="Let the blind baselines take the exam beside the models.")]
_LimitOption = Annotated[
    int | None, typer.Option(min=1, help="Ask and score only the first so many items; Turing: images.")
]
_NameOption = Annotated[
    list[str] | None,
    typer.Option("--name", help="What tables and folders call the model; with several, once for each, in order."),
]
_ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Also go on with answers of a model that has changed, or may have.")
]
_OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Ask everything again.")]
_SamplesOption = Annotated[
    int, typer.Option(min=1, help="Ask every item so often, for models that draw their answers; all are kept.")
]
_BudgetOption = Annotated[
    str | None,
    typer.Option(help="Most requests to models that count them, as in 500, or '20000 tokens'; then it stops."),
]
_TrackOption = Annotated[list[str] | None, typer.Option("--track", help=TRACK_HELP)]
_WorkersOption = Annotated[int, typer.Option(min=0, help="Processes; 0 works in this one.")]
_VaryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        help="Ask again under swap, mirror, blind, noise, jpeg, paraphrase, circular (commas between), or all.",
    ),
]
_FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-under",
        help="Exit with 1 where a model's figure is below, by its path in `scores`: f1.all=0.7; may be repeated.",
    ),
]
_DataOption = Annotated[Path | None, typer.Option(help="A Sightline dataset, or a folder of a known format.")]


class _ExamCommands(Mapping[str, Any]):
    """Exam → its sub-command, made when it is asked for: nothing of an exam is imported before."""

    def __iter__(self) -> Iterator[str]:
        from sightline.exams.registry import exam_names

        return iter([*exam_names(), ALL])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Any:
        from sightline.exams.registry import EXAMS, exam_class

        if name not in EXAMS and name not in list(self):
            raise KeyError(name)
        made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        epilog = None if name == ALL else "Models known by name: `sightline models`; of your own: file.py:object."
        made.command(name, epilog=epilog)(take_all if name == ALL else exam_function(exam_class(name)))
        return typer.main.get_command(made)


class _Exams(TyperGroup):
    """The group of all exams, in their order."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.commands: Any = _ExamCommands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is click's
        return list(self.commands)


app = typer.Typer(
    cls=_Exams, help="Let models take an exam, and print the scores with 95 % intervals.", no_args_is_help=True
)


@app.callback()
def _exams() -> None:
    """Let models take an exam, and print the scores with 95 % intervals."""


def take_all(
    data: Annotated[Path, typer.Option(help="A Sightline dataset, or a folder of a known format.")],
    model: Annotated[
        list[str],
        typer.Option(
            help="Whatever can be loaded (see `sightline models`); may be repeated.",
            autocompletion=completion.models,
        ),
    ],
    train: Annotated[
        Path | None,
        typer.Option(help="Where Turing's questions are learned from; by default one half of the images."),
    ] = None,
    name: _NameOption = None,
    to: _OutOption = Path("runs"),
    baselines: _BaselinesOption = True,
    limit: _LimitOption = None,
    resume: _ResumeOption = False,
    overwrite: _OverwriteOption = False,
    samples: _SamplesOption = 1,
    budget: _BudgetOption = None,
    workers: _WorkersOption = 0,
    track: _TrackOption = None,
    vary: _VaryOption = None,
    fail_under: _FailUnderOption = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Take every exam that model and data allow, and say why not for the others."""
    from sightline.api import examine
    from sightline.models.specs import is_person

    with (
        _tracked(track) as send,
        outside_allowed(allow_outside),
        quiet_stdout(active=json),
        interruptible(lambda: _kept(to)),
    ):
        results = examine(
            model,
            data,
            train=train,
            out=to,
            baselines=baselines,
            limit=limit,
            workers=workers,
            show=_shown(json or any(map(is_person, model)), workers),
            names=name or (),
            resume=resume,
            overwrite=overwrite,
            samples=samples,
            budget=budget,
            announce=_announced,
            vary=words_of(vary),
            fail_under=words_of(fail_under),
        )
        send(results.runs)
    if json:
        print_json(results.to_dict())
    else:
        print_results(results)
    for taken in results.exams:
        print_notes(taken, f"{taken.exam.name}: " if len(results.exams) > 1 else "")
    for exam, why in results.skipped.items():
        err.print(f"note: {exam} was not taken: {why}")
    if not json:
        err.print(f"runs in {to}; next: sightline report {to} --out card.html")
    _fail_under(results.exams, words_of(fail_under))


def exam_function(kind: type[Exam[Any]]) -> Callable[..., None]:
    """The function of an exam's sub-command: what every exam takes, and the exam's fields."""
    from sightline.exams.base import options_of

    hints = get_type_hints(kind)
    known = {name: o for name, o in options_of(kind).items() if o.command}
    defaults = {f.name: None if f.default is MISSING else f.default for f in fields(kind)}  # type: ignore[arg-type]

    def command(**given: Any) -> None:
        outside = given.pop("allow_outside")
        values = {name: _value(given.pop(name), defaults[name], hints[name], o) for name, o in known.items()}
        names = given.pop("name") or ()
        given |= {name: words_of(given[name]) for name in ("vary", "fail_under")}
        with outside_allowed(outside):
            take(kind(**values), given.pop("model") or [], given.pop("data"), names=names, **given)

    parameters = [
        _parameter("data", _DataOption, None),
        _parameter("model", _ModelOption, None),
        _parameter("name", _NameOption, None),
        _parameter("to", _OutOption, Path("runs")),
        _parameter("baselines", _BaselinesOption, True),
        *(_parameter(name, *_declared(hints[name], o, defaults[name])) for name, o in known.items()),
        _parameter("limit", _LimitOption, None),
        _parameter("resume", _ResumeOption, False),
        _parameter("overwrite", _OverwriteOption, False),
        _parameter("samples", _SamplesOption, 1),
        _parameter("budget", _BudgetOption, None),
        _parameter("workers", _WorkersOption, 0),
        _parameter("track", _TrackOption, None),
        _parameter("vary", _VaryOption, None),
        _parameter("fail_under", _FailUnderOption, None),
        _parameter("allow_outside", AllowOutside, False),
        _parameter("json", Json, False),
    ]
    command.__doc__ = f"{kind.title}. {(kind.__doc__ or '').strip().splitlines()[0]}"
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _declared(hint: Any, o: Option, default: Any) -> tuple[Any, Any]:
    """Type and default of an option on the command line."""
    flag = f"--{o.name.replace('_', '-')}"
    arms = [
        arm
        for arm in (get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,))
        if arm is not NoneType
    ]
    how: dict[str, Any] = {"help": o.help} | ({} if o.minimum is None else {"min": o.minimum})
    if bool in arms:
        return Annotated[bool, typer.Option(flag, help=o.help)], default
    if any(get_origin(arm) is tuple for arm in arms):
        if o.repeated:
            return Annotated[list[str] | None, typer.Option(flag, **how)], None
        return Annotated[str | None, typer.Option(flag, **how)], None
    simple = next((arm for arm in arms if arm in (Path, int, float, str) or get_origin(arm) is Literal), str)
    kind = simple | None if default is None else simple
    return Annotated[kind, typer.Option(flag, **how)], default


def _value(given: Any, default: Any, hint: Any, o: Option) -> Any:
    """What was given, as the exam's field has it."""
    if not any(get_origin(arm) is tuple for arm in (get_args(hint) or (hint,))) and get_origin(hint) is not tuple:
        return given
    if given in (None, []):
        return default
    return tuple(given) if o.repeated else tuple(word.strip() for word in given.split(",") if word.strip())


def take(
    exam: Exam[Any],
    models: Sequence[object],
    data: Path | None,
    *,
    to: Path = Path("runs"),
    workers: int = 0,
    track: Sequence[str] | None = None,
    json: bool = False,
    budget: str | None = None,
    **how: Any,
) -> ExamResults:
    """Let models take one exam; print the scores, or the JSON document. Other arguments are `run_models`'."""
    from sightline.api import run_models

    talks = _talks(exam, models)
    if talks and workers:
        raise ConfigError("a person answers one question at a time: leave --workers out")
    with _tracked(track) as send, quiet_stdout(active=json), interruptible(lambda: _kept(to / exam.name)):
        results = run_models(
            exam,
            models,
            data,
            to,
            workers=workers,
            show=_shown(json or talks, workers),
            budget=budget,
            announce=_announced,
            **how,
            done=None if json or not workers else lambda name: err.print(f"{name}: done"),
        )
        send(results.runs)
    if json:
        print_json(results.to_dict())
    else:
        print_exam(results)
    print_notes(results)
    if not json:
        err.print(f"runs in {to / exam.name}; next: sightline report {to} --out report.html")
    _fail_under([results], how.get("fail_under", ()))
    return results


@contextmanager
def _tracked(places: Sequence[str] | None) -> Iterator[Callable[[Sequence[RunResult]], None]]:
    """Open trackers before anybody is asked anything; yields what sends scored runs to them."""
    if not places:
        yield lambda _: None
        return
    from sightline.exams.trackers import open_tracker, send_results, shown_place

    trackers = [open_tracker(place) for place in places]

    def send(results: Sequence[RunResult]) -> None:
        number = send_results(results, trackers)
        err.print(f"{counted(number, 'run')} sent to {', '.join(map(shown_place, places))}")

    yield send


def _talks(exam: Exam[Any], models: Sequence[object]) -> bool:
    """Whether a person is asked on the way, whom a progress bar would write into the lines."""
    from sightline.models.specs import is_person

    operator = getattr(exam, "operator", "")
    return operator in ("terminal", "person", "web") or any(isinstance(m, str) and is_person(m) for m in models)


def _fail_under(results: Sequence[ExamResults], wanted: Sequence[str]) -> None:
    """Exit with 1 where a model falls short of what was wanted, after all was printed; say where."""
    from sightline.exams.thresholds import parse_threshold, shortfalls

    short = shortfalls(results, [parse_threshold(text) for text in wanted]) if wanted else []
    for one in short:
        err.print(str(one))
    if short:
        raise typer.Exit(1)


def print_results(results: Results) -> None:
    """Scores of every exam, then the summary."""
    for exam in results.exams:
        out.print(f"== {exam.exam.title} ({exam.exam.name})")
        print_exam(exam)
    out.print(str(results.summary()))


def print_exam(results: ExamResults) -> None:
    """Tables of scores, and the exam's remarks."""
    for shown in results.tables():
        out.print(str(shown))
        out.print()


def print_notes(results: ExamResults, exam: str = "") -> None:
    """What the user should know, beside the results: how much was asked, who takes no part, what could not be."""
    for line in results.askings():
        err.print(f"{exam}{line}")
    for note in results.notes:
        err.print(f"note: {exam}{note}")
    for result in results.runs:
        if result.run.broken:
            left = counted(len(result.run.broken), results.exam.unit_of_items)
            first = next(iter(result.run.broken.values()))
            err.print(f"note: {exam}{result.name}: {left} left out, pictures cannot be read; the first: {first}")


def _announced(words: str) -> None:
    err.print(f"note: {words}")


def _shown(json: bool, workers: int) -> Any:
    return lambda name: progress(name, quiet=json or workers > 0)


def _kept(folder: Path) -> str:
    """What an interrupted exam leaves in the folder of its runs."""
    lines = [path.read_bytes().count(b"\n") for path in folder.rglob("records.jsonl")]
    if not any(lines):
        return "the same command goes on from the start, nothing was answered yet"
    return f"{counted(sum(lines), 'answered item')} kept in {folder}; the same command goes on where it was"
