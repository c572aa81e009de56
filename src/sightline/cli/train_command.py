"""``sightline train``: teach a network of our own, or see how few scenes it needs to learn on; one command each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sightline.cli import completion
from sightline.cli.console import AllowOutside, Json
from sightline.cli.train_removal import context, inpainter
from sightline.cli.train_run import (
    Optimizer,
    Rate,
    SaveEvery,
    Seed,
    Steps,
    TensorBoard,
    To,
    TrainingRun,
    Where,
    Workers,
    one_of,
)
from sightline.cli.train_sornet import curve, sornet

if TYPE_CHECKING:
    from sightline.training.plan import TrainingTask

app = typer.Typer(
    help="Train a network of our own on a world or a stored dataset. Run again, it goes on.",
    no_args_is_help=True,
    add_completion=False,
)

# ViewNet's, and those of a detector, which is one that says no viewpoints.
ViewNetSize = Annotated[
    Literal["tiny", "base", "large"] | None, typer.Option(help="Of the network; by default tiny.")
]
ViewNetBatch = Annotated[int | None, typer.Option(min=1, help="Pictures of a step; by default 128, on a CPU 32.")]
Changed = Annotated[
    Literal["light", "none"], typer.Option(help="How pictures are changed: light, or none as they are drawn.")
]


def viewpoint(
    to: To,
    world: Annotated[
        list[str] | None,
        typer.Option(help="Train on views of this world; by default cad/train.", autocompletion=completion.worlds),
    ] = None,
    scenes: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Scenes that are drawn once and kept, 0 draws each for one use; by default 2000 on a CPU, 0 on a "
            "card.",
        ),
    ] = None,
    size: ViewNetSize = None,
    steps: Steps = None,
    batch: ViewNetBatch = None,
    rate: Rate = None,
    optimizer: Optimizer = None,
    seed: Seed = 0,
    augmentation: Changed = "light",
    workers: Workers = 0,
    device: Where = "auto",
    save_every: SaveEvery = 500,
    tensorboard: TensorBoard = False,
    json: Json = False,
) -> None:
    """Train a ViewNet: find objects, and say from which side each is seen."""
    run = TrainingRun(to=to, wanted=device, save_every=save_every, tensorboard=tensorboard, json=json)
    from sightline.training.viewpoint.setup import ViewNetOptions, plan_of, source_of
    from sightline.training.viewpoint.task import WEIGHTS, ViewNetTask

    options = ViewNetOptions(
        world=one_of(world, "viewpoint") or "cad/train",
        size=size,
        steps=steps,
        batch=run.batch(WEIGHTS, batch),
        rate=rate,
        optimizer=optimizer,
        seed=seed,
        augmented=augmentation != "none",
        kept=scenes,
        workers=workers,
    )
    plan = plan_of(options, run.device)

    def task() -> TrainingTask:
        with run.progress("views") as show_views:
            return ViewNetTask(plan, source_of(options, plan, run.device, show_views))

    run.train(task, plan.steps, "viewpoint")


def detector(
    to: To,
    world: Annotated[
        list[str],
        typer.Option(help="Learn all classes of this world; may be repeated.", autocompletion=completion.worlds),
    ],
    scenes: Annotated[
        int | None, typer.Option(min=1, help="Scenes of each world, drawn once and kept; by default 2000.")
    ] = None,
    size: ViewNetSize = None,
    steps: Steps = None,
    batch: ViewNetBatch = None,
    rate: Rate = None,
    optimizer: Optimizer = None,
    seed: Seed = 0,
    augmentation: Changed = "light",
    workers: Workers = 0,
    device: Where = "auto",
    save_every: SaveEvery = 500,
    tensorboard: TensorBoard = False,
    json: Json = False,
) -> None:
    """Train a detector of boxes and classes, of whatever stands in the worlds."""
    run = TrainingRun(to=to, wanted=device, save_every=save_every, tensorboard=tensorboard, json=json)
    from sightline.training.relations.detector import detector_plan, detector_task
    from sightline.training.viewpoint.setup import ViewNetOptions
    from sightline.training.viewpoint.task import WEIGHTS

    worlds = tuple(dict.fromkeys(world))
    options = ViewNetOptions(
        world=worlds[0],
        size=size,
        steps=steps,
        batch=run.batch(WEIGHTS, batch),
        rate=rate,
        optimizer=optimizer,
        seed=seed,
        augmented=augmentation != "none",
        kept=scenes,
        workers=workers,
    )
    plan = detector_plan(options, run.device)

    def task() -> TrainingTask:
        with run.progress("views") as show_views:
            return detector_task(worlds, options, plan, run.device, show_views)

    run.train(task, plan.steps, "relations --boxes detected", relates="blind_mlp+")


def relations(
    to: To,
    world: Annotated[
        list[str] | None,
        typer.Option(
            help="Generate scenes of this world, pairs across two among them.", autocompletion=completion.worlds
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Learn from this dataset's depth and occlusion labels.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Only this split of the dataset; by default validation or train.")
    ] = None,
    scenes: Annotated[int | None, typer.Option(min=1, help="Scenes of the world; by default 2000.")] = None,
    model: Annotated[
        Literal["mlp", "consistent", "vipcnn", "pprfcn", "drnet", "vtranse"],
        typer.Option(
            help="mlp judges pair by pair, consistent keeps to one depth order of all; the others are published "
            "networks that look at pictures."
        ),
    ] = "mlp",
    recipe: Annotated[
        Literal["ours", "paper"],
        typer.Option("--plan", help="Our plan, or the 2.5VRD paper's, with its own network."),
    ] = "ours",
    cues: Annotated[
        str, typer.Option(help="What an mlp goes by: boxes (b), classes (c), depth maps (d), appearance (a).")
    ] = "bc",
    study: Annotated[
        Literal["within", "across", "joint"],
        typer.Option(help="Learn from pairs within an image, across two, or both."),
    ] = "joint",
    depth: Annotated[
        Path | None, typer.Option(help="Cue d: folder of depth maps, or an ONNX depth network.")
    ] = None,
    backbone: Annotated[
        Path | None,
        typer.Option(help="Cue a: checkpoint of a detector or classifier, or torchvision's MobileNetV2 (.pth)."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="By default 1500; the paper's plan 60000, networks that look 4000.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1, help="Pairs of a step; by default 256, the paper's plan 32. Networks that look: 16 images."
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            help="Highest learning rate; by default 3e-3, the paper's plan 2e-4, networks that look 5e-4."
        ),
    ] = None,
    seed: Seed = 0,
    device: Where = "auto",
    save_every: SaveEvery = 500,
    tensorboard: TensorBoard = False,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Train a network that relates two objects: which is closer, and which hides the other."""
    run = TrainingRun(
        to=to, wanted=device, save_every=save_every, tensorboard=tensorboard, json=json, allow_outside=allow_outside
    )
    from sightline.training.relations.options import RelationsOptions, plan_of, seen_plan
    from sightline.training.relations.seen import SeenTask
    from sightline.training.relations.setup import seen_source, source_of
    from sightline.training.relations.task import WEIGHTS, RelationsTask

    options = RelationsOptions(
        data=data,
        world=one_of(world, "relations"),
        scenes=scenes,
        split=split,
        model=model,
        paper=recipe == "paper",
        cues=cues,
        study=study,
        depth=depth,
        backbone=backbone,
        steps=steps,
        batch=batch,
        rate=rate,
        seed=seed,
    )
    run.batch(WEIGHTS, batch)  # a folder of something else shows before scenes are drawn
    steps = seen_plan(options, run.device).steps if options.looks else plan_of(options).steps

    def task() -> TrainingTask:
        with run.progress("scenes", shown=options.world is not None) as show_scenes:
            if options.looks:
                looking = seen_plan(options, run.device)
                return SeenTask(looking, seen_source(options, looking, show_scenes))
            plan = plan_of(options)
            return RelationsTask(plan, source_of(options, plan, show_scenes))

    paths = {"depth": depth, "backbone": backbone}
    given = ",".join(f"{option}={path}" for option, path in paths.items() if path is not None)
    run.train(task, steps, "relations", given=given)


_COMMANDS: dict[str, Callable[..., None]] = {
    "sornet": sornet,
    "curve": curve,
    "viewpoint": viewpoint,
    "detector": detector,
    "relations": relations,
    "context": context,
    "inpainter": inpainter,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
