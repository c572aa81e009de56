"""``sightline train sornet``: what is shown while it learns, and at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sightline.cli.console import counted, err, out, print_json, quiet_stdout
from sightline.cli.train_sources import source_of
from sightline.cli.train_wishes import Wishes, device_of, plan_of
from sightline.errors import ConfigError


def train_sornet(wish: Wishes) -> None:
    """Train, and say where the weights are."""
    from sightline.training.fitting import fit
    from sightline.training.folder import begun

    begun(wish.to)  # a folder of something else shows before scenes are read or drawn
    device = device_of(wish.device)
    plan = plan_of(wish, device)
    with quiet_stdout(active=wish.json), interruptible(lambda: _whence(wish.to)):
        source = source_of(wish, plan, device)
        with _bar(plan.steps, quiet=wish.json) as show, _board(wish) as note:

            def tell(done: int, total: int, row: Mapping[str, float]) -> None:
                show(done, total, row)
                note(row)

            every = max(1, min(50, plan.steps // 20))
            _, fitted = fit(
                plan, source, wish.to, log_every=every, save_every=wish.save_every, progress=tell, device=device
            )
    if wish.json:
        print_json(
            {
                "weights": str(fitted.weights),
                "steps": fitted.steps,
                "planned": fitted.planned,
                "seconds": fitted.seconds,
                "device": device,
                "last": dict(fitted.last),
            }
        )
        return
    last = fitted.last  # of a training done before whose log is gone there is none
    told = f", loss {last['predicates']:.3f}, right {last['right']:.1%} in the last batch" if last else ""
    out.print(f"{fitted.weights}: {counted(fitted.steps, 'step')}{told}")
    err.print(f"next: sightline exam predicates --data DIR --model {fitted.weights}")


@contextmanager
def interruptible(whence: Callable[[], str]) -> Iterator[None]:
    """Say on Ctrl-C what the same command would do."""
    try:
        yield
    except KeyboardInterrupt:
        err.print(f"interrupted: the same command goes on {whence()}")
        raise


def _whence(folder: Path) -> str:
    from sightline.training.folder import STATE

    return "at the last state" if (folder / STATE).exists() else "from the start, no state was saved yet"


@contextmanager
def _bar(steps: int, *, quiet: bool) -> Iterator[Any]:
    """A progress bar with the log's last row; yields a `logbook.Progress`."""
    if quiet or not err.is_terminal:
        yield lambda *_: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("steps", total=steps, told="")

        def show(done: int, total: int, row: Mapping[str, float]) -> None:
            told = f"loss {row['predicates']:.3f}, right {row['right']:.1%}, {row['images_per_s']:,.0f} images/s"
            bar.update(task, completed=done, total=total, told=told)

        yield show


@contextmanager
def _board(wish: Wishes) -> Iterator[Any]:
    """Where rows of the log go besides its file: nowhere, or to TensorBoard."""
    if not wish.tensorboard:
        yield lambda _: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("--tensorboard needs the package tensorboard: pip install tensorboard") from None
    begun: list[SummaryWriter] = []

    def note(row: Mapping[str, float]) -> None:
        if not begun:  # not before the training has begun: its folder may hold another one
            begun.append(SummaryWriter(str(wish.to / "tensorboard")))
        for name in row.keys() - {"step"}:
            begun[0].add_scalar(name, row[name], int(row["step"]))

    try:
        yield note
    finally:
        for writer in begun:
            writer.close()
