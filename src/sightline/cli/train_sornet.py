"""``sightline train sornet`` and ``curve``: the network of the predicates exam, and how few scenes it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sightline.cli import completion
from sightline.cli.console import (
    AllowOutside,
    Json,
    cell,
    counted,
    err,
    interruptible,
    out,
    outside_allowed,
    print_json,
    quiet_stdout,
    table,
)
from sightline.cli.train_run import SaveEvery, Seed, TensorBoard, To, TrainingRun, Where, one_of
from sightline.errors import ConfigError
from sightline.files import atomic_write
from sightline.plain import plain

if TYPE_CHECKING:
    from sightline.training.plan import TrainingTask
    from sightline.training.sornet.finetune import Curve
    from sightline.training.sornet.setup import SornetOptions

CHART = "curve.svg"
_FEW = "0,8,32,128,512"
_CURVE_RESUME = "with what is not learned yet, at its last state or, where none was saved, from its start"

Worlds = Annotated[
    list[str] | None,
    typer.Option(
        help="Train on scenes of this world, drawn while training goes on; of several in turn, of one named twice "
        "two times.",
        autocompletion=completion.worlds,
    ),
]
Stored = Annotated[Path | None, typer.Option(help="Train on this Sightline dataset, which has canonical views.")]
Split = Annotated[str | None, typer.Option(help="Only this split of the dataset.")]
SornetSize = Annotated[
    Literal["tiny", "small", "base", "paper", "paper-tiny"] | None,
    typer.Option(help="Of the network; by default tiny or the checkpoint's."),
]
Views = Annotated[
    str | None, typer.Option(help="Views to show, the original first; by default original,top or the checkpoint's.")
]
SornetSteps = Annotated[int | None, typer.Option(min=1, help="By default 2000; 300 from a checkpoint.")]
SornetBatch = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Scenes of a step; by default 256, on a CPU 16, from a checkpoint 32; on a CPU of little memory "
        "fewer.",
    ),
]
SornetRate = Annotated[
    float | None, typer.Option(help="Highest learning rate; by default 1e-3, 1e-4 from a checkpoint.")
]
SornetOptimizer = Annotated[
    Literal["muon", "adamw"] | None, typer.Option(help="By default muon, adamw from a checkpoint.")
]
Augmentation = Annotated[
    Literal["full", "light", "none"],
    typer.Option(help="How pictures are changed: full also takes colour away, stretches and dulls."),
]
Auxiliary = Annotated[
    Literal["both", "pose", "pointing", "none"],
    typer.Option(help="Losses beside the predicates': on each object's pose and measures, on pointing at it."),
]
Canonical = Annotated[
    int, typer.Option(min=1, help="Canonical views a world's object has to choose from; fewer of many objects.")
]
SornetWorkers = Annotated[int, typer.Option(min=0, help="Processes that place or decode scenes; 0 does it here.")]


def sornet(
    to: To,
    world: Worlds = None,
    data: Stored = None,
    split: Split = None,
    size: SornetSize = None,
    views: Views = None,
    steps: SornetSteps = None,
    batch: SornetBatch = None,
    rate: SornetRate = None,
    optimizer: SornetOptimizer = None,
    seed: Seed = 0,
    augmentation: Augmentation = "light",
    auxiliary: Auxiliary = "both",
    canonical: Canonical = 32,
    start: Annotated[
        str | None, typer.Option(help="Checkpoint to begin with; sornet is the one that comes with Sightline.")
    ] = None,
    workers: SornetWorkers = 0,
    device: Where = "auto",
    save_every: SaveEvery = 500,
    tensorboard: TensorBoard = False,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Train a SORNet: the eight predicates between all objects of a scene."""
    run = TrainingRun(
        to=to, wanted=device, save_every=save_every, tensorboard=tensorboard, json=json, allow_outside=allow_outside
    )
    from sightline.training.sornet.setup import SornetOptions, plan_of, source_of
    from sightline.training.sornet.task import WEIGHTS, SornetTask

    options = SornetOptions(
        worlds=tuple(world or ()),
        data=data,
        split=split,
        size=size,
        views=_names(views),
        steps=steps,
        batch=run.batch(WEIGHTS, batch),
        rate=rate,
        optimizer=optimizer,
        seed=seed,
        augmentation=augmentation,
        auxiliary=auxiliary,
        canonical=canonical,
        start=start,
        workers=workers,
    )
    plan = plan_of(options, run.device)
    if run.device == "cpu" and options.batch is None:
        run.note(f"{counted(plan.batch, 'scene')} a step, to suit this CPU; --batch sets it")

    def task() -> TrainingTask:
        with run.progress("canonical views", shown=bool(options.worlds)) as show_bank:
            return SornetTask(plan, source_of(options, plan, run.device, run.note, show_bank))

    run.train(task, plan.steps, "predicates")


def curve(
    to: To,
    start: Annotated[
        str, typer.Option(help="Checkpoint to fine-tune; sornet is the one that comes with Sightline.")
    ],
    world: Annotated[
        list[str] | None, typer.Option(help="Fine-tune on scenes of this world.", autocompletion=completion.worlds)
    ] = None,
    data: Stored = None,
    split: Split = None,
    scenes: Annotated[str, typer.Option(help="Numbers of scenes to fine-tune on, a point each.")] = _FEW,
    held_out: Annotated[int, typer.Option(min=1, help="Scenes to ask about.")] = 500,
    size: SornetSize = None,
    views: Views = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Of each point; by default 300.")] = None,
    batch: SornetBatch = None,
    rate: Annotated[float | None, typer.Option(help="Highest learning rate; by default 1e-4.")] = None,
    optimizer: Annotated[Literal["muon", "adamw"] | None, typer.Option(help="By default adamw.")] = None,
    seed: Seed = 0,
    augmentation: Augmentation = "light",
    auxiliary: Auxiliary = "both",
    canonical: Canonical = 32,
    workers: SornetWorkers = 0,
    device: Where = "auto",
    save_every: SaveEvery = 500,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Fine-tune a SORNet on few scenes, on more and on many: how many does it need?"""
    run = TrainingRun(to=to, wanted=device, save_every=save_every, json=json, allow_outside=allow_outside)
    from sightline.show.xy import learning_curve
    from sightline.training.sornet.setup import SornetOptions

    only = one_of(world, "curve")  # its scenes are counted
    options = SornetOptions(
        worlds=() if only is None else (only,),
        data=data,
        split=split,
        size=size,
        views=_names(views),
        steps=steps,
        batch=batch,
        rate=rate,
        optimizer=optimizer,
        seed=seed,
        augmentation=augmentation,
        auxiliary=auxiliary,
        canonical=canonical,
        start=start,
        workers=workers,
    )
    made = _fitted_curve(run, options, _numbers(scenes), held_out)
    atomic_write(to / CHART, learning_curve(made.to_dict()).encode())
    if json:
        print_json({"chart": str(to / CHART), **made.to_dict()})
        return
    _print_curve(made, held_out)
    err.print(f"chart: {to / CHART}")


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(
            f"--scenes {text!r}: expected whole numbers with commas between, such as {_FEW}"
        ) from None


def _fitted_curve(run: TrainingRun, options: SornetOptions, scenes: tuple[int, ...], held_out: int) -> Curve:
    """Fine-tune on each number of scenes."""
    from sightline.training.sornet import finetune
    from sightline.training.sornet.setup import curve_sources, plan_of

    finetune.refuse_foreign(run.to)  # before scenes are read or drawn
    plan = plan_of(options, run.device)
    with (
        outside_allowed(run.allow_outside),
        quiet_stdout(active=run.json),
        interruptible(lambda: f"the same command goes on {_CURVE_RESUME}"),
    ):
        with run.progress("canonical views", shown=bool(options.worlds)) as show_bank:
            how: dict[str, Any] = {"on_note": run.note, "on_bank": show_bank}
            base, held = curve_sources(options, plan, run.device, most=max(scenes), held_out=held_out, **how)
        with run.progress("steps") as show:
            tuned = [n for n in scenes if n]

            def on_step(count: int, done: int, total: int) -> None:
                if show is not None:
                    show(tuned.index(count) * total + done, len(tuned) * total)

            how = {"save_every": run.save_every, "device": run.device, "progress": on_step}
            return finetune.curve(plan, base, held, run.to, scenes=scenes, held_out=held_out, **how)


def _print_curve(made: Curve, held_out: int) -> None:
    title = f"scene accuracy on {counted(held_out, 'held-out scene')}, 95 % interval by scene"
    rows = table(title, "scenes learned from", "all", "spatial", "geometric", "whole scenes")
    points = [(f"{p.scenes:,}", p.scores) for p in made.points] + [("(commoner answer)", made.majority)]
    for name, scored in points:
        values = [scored.scene_accuracy[key] for key in ("all", "spatial", "geometric")]
        rows.add_row(name, *(cell(plain(value)) for value in (*values, scored.scene_all)))
    out.print(rows)
