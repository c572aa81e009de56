"""What every ``sightline train`` shares: where it trains, how it goes on, what it shows and prints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sightline.cli.console import (
    counted,
    err,
    interruptible,
    out,
    outside_allowed,
    print_json,
    progress,
    quiet_stdout,
)
from sightline.errors import ConfigError, MissingExtraError
from sightline.plain import plain

if TYPE_CHECKING:
    from sightline.training.plan import TrainingTask

Device = Literal["auto", "cpu", "cuda"]

# Those of every training.
To = Annotated[
    Path,
    typer.Option(
        "--out", help="Folder of the training; one begun here is gone on with. --model takes it in exams."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of weights, scenes and changes.")]
Where = Annotated[Device, typer.Option(help="Where to train; auto takes the card where there is one.")]
SaveEvery = Annotated[
    int,
    typer.Option(
        min=1, help="Steps between states to go on from; one is also saved after a minute, then every ten minutes."
    ),
]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Write the log for TensorBoard too.")]

# Those of several.
Rate = Annotated[float | None, typer.Option(help="Highest learning rate; by default 1e-3.")]
Optimizer = Annotated[Literal["muon", "adamw"] | None, typer.Option(help="By default adamw.")]
Steps = Annotated[int | None, typer.Option(min=1, help="By default 2000.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes that place scenes, or draw them; 0 does it here.")]

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Where and how a network is trained.

    Attributes:
        to: Folder of the training.
        wanted: Where to train.
        save_every: Steps between states.
        tensorboard: Write the log for TensorBoard too.
        json: Print one JSON document and nothing else.
        allow_outside: Whether pictures of the data may lie outside its folder.

    Raises:
        MissingExtraError: A package that training needs is not there.
    """

    to: Path
    wanted: Device
    save_every: int
    tensorboard: bool = False
    json: bool
    allow_outside: bool = False

    def __post_init__(self) -> None:
        for package in ("torch", "safetensors", "lightning"):
            if find_spec(package) is None:
                raise MissingExtraError(package, extra="train")

    @cached_property
    def device(self) -> str:
        """``cpu`` or ``cuda``; ConfigError for a card that is not there."""
        from sightline.training.plan import chosen_device

        return chosen_device(self.wanted)

    def note(self, text: str) -> None:
        """Say something on the way."""
        if not self.json:
            err.print(f"note: {text}")

    def progress(self, title: str, *, shown: bool = True) -> AbstractContextManager[Any]:
        """A progress bar, as `console.progress`."""
        return progress(title, quiet=self.json or not shown)

    def batch(self, weights: str, asked: int | None) -> int | None:
        """The batch that was asked for, or that a training begun here has: it may be of another machine.

        Args:
            weights: Name of the file that this training writes; a folder of something else is refused, before
                scenes are read or drawn.
            asked: By the user; None for the usual one.
        """
        from sightline.training.folder import begun

        stored = begun(self.to, weights)
        begun_with = None if stored is None else stored["plan"].get("batch")
        return begun_with if asked is None and isinstance(begun_with, int) and begun_with > 0 else asked

    def train(
        self, open_task: Callable[[], TrainingTask], steps: int, exam: str, *, relates: str = "", given: str = ""
    ) -> None:
        """Train the network of a task, and say where the weights are and what they are good for.

        Args:
            open_task: Opens what is learned from.
            steps: Of the whole training.
            exam: The exam they take; empty for weights that fill holes.
            relates: A model that stands before them in that exam's ``--model``.
            given: What options they need there.
        """
        from sightline.training.fit import fit
        from sightline.training.folder import STATE

        kept: list[int] = []

        def resume_point() -> str:
            if kept:
                return f"after step {kept[-1]:,} of {steps:,}, kept in {self.to / STATE}"
            return "at the last state" if (self.to / STATE).exists() else "from the start, no state was saved yet"

        def on_saved(step: int) -> None:
            if not kept and step < steps:
                held = f"{self.to / STATE} holds the training after step {step:,}"
                self.note(f"{held}: stopped now, the same command goes on there")
            kept.append(step)

        with (
            outside_allowed(self.allow_outside),
            quiet_stdout(active=self.json),
            interruptible(lambda: f"the same command goes on {resume_point()}"),
        ):
            task = open_task()
            loss = task.metrics[0]
            with (
                _bar(steps, loss, quiet=self.json) as show,
                _tensorboard(self.to, active=self.tensorboard) as add_scalars,
            ):

                def on_row(done: int, total: int, row: Mapping[str, float]) -> None:
                    show(done, total, row)
                    add_scalars(row)

                every = max(1, min(50, steps // 20))
                how: dict[str, Any] = {"log_every": every, "save_every": self.save_every, "device": self.device}
                _, fitted = fit(task, self.to, progress=on_row, saved=on_saved, **how)
        if self.json:
            print_json({**plain(fitted), "device": self.device})
            return
        last = fitted.last  # of a training done before whose log is gone there is none
        words = f", {_words(last, loss)} in the last batch" if last else ""
        out.print(f"{fitted.weights}: {counted(fitted.steps, 'step')}{words}")
        if exam:
            model = f"{relates}{fitted.weights}{':' if given else ''}{given}"
            err.print(f"next: sightline exam {exam} --data DIR --model {model}")
        else:
            err.print(f"next: sightline exam context --data DIR --model MODEL --fill network:{fitted.weights}")


def one_of(worlds: list[_T] | None, what: str) -> _T | None:
    """The only world that was named, None where none was; ConfigError for several."""
    if worlds is not None and len(worlds) > 1:
        raise ConfigError(f"sightline train {what} takes one --world")
    return worlds[0] if worlds else None


def _words(row: Mapping[str, float], loss: str) -> str:
    """The loss of a row of the log and, where the network says something right or wrong, the share of the right."""
    right = row.get("right", math.nan)  # of a batch without a label nothing is known
    return f"loss {row[loss]:.3f}" + ("" if math.isnan(right) else f", right {right:.1%}")


@contextmanager
def _bar(steps: int, loss: str, *, quiet: bool) -> Iterator[Any]:
    """A progress bar with the log's last row; yields a `training.log.Progress`."""
    if quiet or not err.is_terminal:
        yield lambda *_: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[row]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("steps", total=steps, row="")

        def show(done: int, total: int, row: Mapping[str, float]) -> None:
            speed = next(f"{row[name]:,.0f} {name[: -len('_per_s')]}/s" for name in row if name.endswith("_per_s"))
            bar.update(task, completed=done, total=total, row=f"{_words(row, loss)}, {speed}")

        yield show


@contextmanager
def _tensorboard(to: Path, *, active: bool) -> Iterator[Any]:
    """Where rows of the log go besides its file: nowhere, or to TensorBoard."""
    if not active:
        yield lambda _: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("--tensorboard needs the package tensorboard: pip install tensorboard") from None
    writers: list[SummaryWriter] = []

    def add_scalars(row: Mapping[str, float]) -> None:
        if not writers:  # not before the training has begun: its folder may hold another one
            writers.append(SummaryWriter(str(to / "tensorboard")))
        for name in row.keys() - {"step"}:
            writers[0].add_scalar(name, row[name], int(row["step"]))

    try:
        yield add_scalars
    finally:
        for writer in writers:
            writer.close()
