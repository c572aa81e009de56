"""``sightline train sornet``: plan and source from what the user asked for, and what is shown while it learns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sightline.cli.console import err, out, print_json, quiet_stdout
from sightline.errors import ConfigError

if TYPE_CHECKING:
    from sightline.store import Dataset
    from sightline.training.plan import Plan
    from sightline.training.sources import Source
    from sightline.worlds import World

_MOST_VIEWS: Final = {"cpu": 5_000, "cuda": 100_000}  # canonical ones to wait for; one of each object there must be


@dataclass(frozen=True)
class Wishes:
    """What the user asked for."""

    to: Path
    worlds: tuple[str, ...]
    data: Path | None
    split: str | None
    size: str
    views: tuple[str, ...] | None
    steps: int | None
    batch: int | None
    rate: float | None
    optimizer: str | None
    seed: int
    augmentation: Literal["full", "light", "none"]
    canonical: int
    start: Path | None
    workers: int
    device: str
    save_every: int
    tensorboard: bool
    json: bool


def train_sornet(wish: Wishes) -> None:
    """Train, and say where the weights are."""
    from sightline.training.fitting import fit

    device = device_of(wish.device)
    plan = plan_of(wish, device)
    with quiet_stdout(active=wish.json):
        source = source_of(wish, plan, device)
        with _bar(plan.steps, quiet=wish.json) as show, _board(wish) as note:

            def tell(done: int, total: int, row: Mapping[str, float]) -> None:
                show(done, total, row)
                note(row)

            every = max(1, min(50, plan.steps // 20))
            try:
                _, fitted = fit(
                    plan, source, wish.to, log_every=every, save_every=wish.save_every, progress=tell, device=device
                )
            except KeyboardInterrupt:
                err.print("interrupted: the same command goes on " + _whence(wish.to))
                raise
    if wish.json:
        print_json(
            {
                "weights": str(fitted.weights), "steps": fitted.steps, "planned": fitted.planned,
                "seconds": fitted.seconds, "device": device, "last": dict(fitted.last),
            }
        )  # fmt: skip
        return
    last = fitted.last
    out.print(
        f"{fitted.weights}: {fitted.steps:,} steps, loss {last['predicates']:.3f}, right {last['right']:.1%} "
        f"in the last batch"
    )
    err.print(f"next: sightline exam predicates --data DIR --model {fitted.weights}")


def _whence(folder: Path) -> str:
    from sightline.training.fitting import STATE

    return "at the last state" if (folder / STATE).exists() else "from the start, no state was saved yet"


def device_of(asked: str) -> str:
    """The device that is meant: ``cpu`` or ``cuda``."""
    import torch

    if asked == "cuda" and not torch.cuda.is_available():
        raise ConfigError("--device cuda: torch sees no card here")
    return asked if asked != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def plan_of(wish: Wishes, device: str) -> Plan:
    """The plan; where it begins with a checkpoint, the usual settings of fine-tuning."""
    from sightline.training.augment import Augmentation
    from sightline.training.finetuning import fine_plan
    from sightline.training.plan import Plan

    card = device == "cuda"
    given = {name: getattr(wish, name) for name in ("views", "steps", "batch", "rate", "optimizer")}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    changes |= {
        "seed": wish.seed, "canonical": wish.canonical, "precision": "bf16" if card else "fp32",
        "augmentation": {"full": Augmentation(), "light": Augmentation.light(), "none": None}[wish.augmentation],
        "crowded": Plan().crowded if wish.augmentation == "full" else 0.0,
    }  # fmt: skip
    if wish.start is not None:
        return fine_plan(wish.start, **changes)
    usual = Plan()
    return Plan(
        size=wish.size, warmup=min(usual.warmup, changes.get("steps", usual.steps) // 10), compiled=card, **changes
    )


def source_of(wish: Wishes, plan: Plan, device: str, *, seed: int | None = None) -> Source:
    """The scenes to learn from, with the plan's seed or another one."""
    if wish.data is not None:
        from sightline.training.stored import StoredSource

        return StoredSource(
            dataset_of(wish), plan.views, batch=plan.batch, seed=plan.seed if seed is None else seed,
            split=wish.split, most_objects=plan.most_objects, workers=wish.workers, device=device,
        )  # fmt: skip
    return world_source(wish, plan, device, batches=plan.steps, seed=seed)


def dataset_of(wish: Wishes) -> Dataset:
    """The dataset to learn from."""
    from sightline.store import Dataset

    assert wish.data is not None
    return Dataset.open(wish.data)


def world_source(wish: Wishes, plan: Plan, device: str, *, batches: int, seed: int | None = None) -> Source:
    """Scenes of the world, or of several in turn, drawn on the card where there is one.

    One that is named twice comes twice as often.
    """
    from sightline.training.mixed import MixedSource, own
    from sightline.training.placing import looks_of
    from sightline.training.sources import WorldSource

    named = _checked_worlds(wish, plan)
    worlds = [world for i, world in enumerate(named) if world not in named[:i]]
    turns = [worlds.index(world) for world in named]
    if device == "cpu" and not wish.json and seed is None:
        err.print("note: scenes are drawn on the CPU, a few a second: a stored dataset is faster to learn from")
    sources = []
    for j, world in enumerate(worlds):
        count = canonical_each(len(looks_of(world)), plan.canonical, device)
        if count < plan.canonical and not wish.json and seed is None:
            err.print(f"note: {world.name} has {len(looks_of(world)):,} objects: {count} canonical views of each")
        sources.append(
            WorldSource(
                world, plan.views, batch=plan.batch, batches=max(1, own(turns, j, batches)), canonical=count,
                seed=plan.seed if seed is None else seed, workers=wish.workers, cuda=device == "cuda",
                crowded=plan.crowded, most=max(world.objects[1] for world in worlds),
            )
        )  # fmt: skip
    return sources[0] if len(sources) == 1 else MixedSource(sources, turns)


def canonical_each(objects: int, most: int, device: str) -> int:
    """Canonical views of each of a world's objects: fewer where there are many, for all are drawn before training.

    A divisor of `most`, so that worlds with different numbers of them mix.

    >>> canonical_each(56, 32, "cpu"), canonical_each(10_584, 32, "cuda"), canonical_each(10_584, 32, "cpu")
    (32, 8, 1)
    """
    affordable = _MOST_VIEWS[device] // objects
    return max(count for count in range(1, most + 1) if most % count == 0 and (count <= affordable or count == 1))


def _checked_worlds(wish: Wishes, plan: Plan) -> list[World]:
    """The worlds; what does not fit shows before canonical views are drawn."""
    from sightline.training.learning import begin
    from sightline.training.placing import PlacedScenes
    from sightline.worlds import load_world

    worlds = [load_world(name) for name in wish.worlds]
    for world in worlds:
        if world.resolution != worlds[0].resolution:
            sizes = " and ".join("{}×{}".format(*one.resolution) for one in (worlds[0], world))
            raise ConfigError(f"{worlds[0].name} and {world.name} have views of {sizes} pixels: they do not mix")
        if world.objects[1] > plan.most_objects:
            raise ConfigError(
                f"{world.name} has scenes of up to {world.objects[1]} objects, the network takes "
                f"{plan.most_objects}"
            )
        PlacedScenes(world, plan.views, seed=plan.seed, size=plan.batch, batches=1)  # a ConfigError for other views
    begin(plan, worlds[0].resolution)
    return worlds


@contextmanager
def _bar(steps: int, *, quiet: bool) -> Iterator[Any]:
    """A progress bar with the log's last row; yields a `fitting.Progress`."""
    if quiet or not err.is_terminal:
        yield lambda *_: None
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )  # fmt: skip
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
