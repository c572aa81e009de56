"""``sightline train context`` and ``inpainter``: networks that learn from scenes with objects removed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sightline.cli import completion
from sightline.cli.console import Json, words_of
from sightline.cli.train_run import SaveEvery, Seed, Steps, TensorBoard, To, TrainingRun, Where, Workers
from sightline.training.context.options import ContextNet, Strategy

if TYPE_CHECKING:
    from sightline.training.plan import TrainingTask


def context(
    to: To,
    world: Annotated[
        list[str] | None,
        typer.Option(
            help="Draw scenes of this world, with every class removed in turn; of several the same share. By "
            "default context/train and context/single, for upernet context/street/train.",
            autocompletion=completion.worlds,
        ),
    ] = None,
    scenes: Annotated[
        int | None, typer.Option(min=1, help="Scenes, drawn once and kept; by default 500, on a card 10000.")
    ] = None,
    model: Annotated[
        ContextNet, typer.Option(help="light (MobileNetV2) or vgg19 classify, upernet segments.")
    ] = "light",
    size: Annotated[
        Literal["tiny", "small", "base"] | None,
        typer.Option(help="Of upernet: tiny, small (ResNet-18) or base (ResNet-50); by default base on a card."),
    ] = None,
    removal: Annotated[
        Strategy | None,
        typer.Option(
            help="Which class is removed. Classifiers: none, rand (the default) or const; upernet: none, random, "
            "sizebased, hardnegative, each also with the negative loss (by default hardnegative-negative; with "
            "--fill kept sizebased)."
        ),
    ] = None,
    fill: Annotated[
        str, typer.Option(help="What fills the place: exact, exact-hole, grey, kept or network:FILE.")
    ] = "exact",
    part: Annotated[
        Literal["full", "cooccur"],
        typer.Option(help="Learn from all scenes, or from those of two classes and more alone."),
    ] = "full",
    classes: Annotated[
        list[str] | None,
        typer.Option(
            help="Of upernet: learn these alone, as in road,sidewalk,car, all else as one class; --part counts "
            "these, without it only things."
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="ImageNet's weights for light: torchvision's MobileNetV2 (.pth).")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="By default 500, of vgg19 900.")] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1, help="Pictures of a step; by default 64 of a classifier, 16 of upernet, on a CPU fewer."
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Highest learning rate; by default 1e-3, of vgg19 6e-4, of upernet 4e-4.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = 0,
    device: Where = "auto",
    save_every: SaveEvery = 500,
    tensorboard: TensorBoard = False,
    json: Json = False,
) -> None:
    """Train a classifier or a segmenter on scenes with objects removed: each class may stand alone."""
    run = TrainingRun(to=to, wanted=device, save_every=save_every, tensorboard=tensorboard, json=json)
    from sightline.training.context.options import ContextOptions
    from sightline.training.context.setup import plan_of, task_of

    weights = "segmenter.safetensors" if model == "upernet" else "classifier.safetensors"
    options = ContextOptions(
        net=model,
        removal=removal,
        worlds=tuple(world or ()),
        scenes=scenes,
        fill=fill,
        part=part,
        classes=tuple(dict.fromkeys(words_of(classes))),
        size=size,
        start=start,
        steps=steps,
        batch=batch,
        rate=rate,
        seed=seed,
        workers=workers,
    )
    plan = plan_of(replace(options, batch=run.batch(weights, batch)), run.device)

    def task() -> TrainingTask:
        with run.progress("scenes") as show_scenes:
            return task_of(options, plan, run.device, show_scenes)

    run.train(task, plan.steps, "context")


def inpainter(
    to: To,
    world: Annotated[
        list[str] | None,
        typer.Option(
            help="Learn from pictures of this world, with and without an object; of several in turn.",
            autocompletion=completion.worlds,
        ),
    ] = None,
    scenes: Annotated[
        int | None,
        typer.Option(min=0, help="Scenes that are drawn once and kept; by default every step draws new ones."),
    ] = None,
    size: Annotated[
        Literal["tiny", "small", "base"], typer.Option(help="Of the network; base is the paper's.")
    ] = "tiny",
    steps: Steps = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Pictures of a step; by default 64, on a CPU 4.")] = None,
    rate: Annotated[float | None, typer.Option(help="Highest learning rate; by default 5e-4.")] = None,
    seed: Seed = 0,
    workers: Workers = 0,
    device: Where = "auto",
    save_every: SaveEvery = 500,
    tensorboard: TensorBoard = False,
    json: Json = False,
) -> None:
    """Train an in-painter, which fills the hole that a removed object leaves."""
    run = TrainingRun(to=to, wanted=device, save_every=save_every, tensorboard=tensorboard, json=json)
    from sightline.training.inpainter.setup import InpainterOptions, plan_of, source_of
    from sightline.training.inpainter.task import WEIGHTS, InpainterTask

    options = InpainterOptions(
        worlds=tuple(world or ()),
        kept=scenes,
        size=size,
        steps=steps,
        batch=run.batch(WEIGHTS, batch),
        rate=rate,
        seed=seed,
        workers=workers,
    )
    plan = plan_of(options, run.device)
    run.train(lambda: InpainterTask(plan, source_of(options, plan, run.device)), plan.steps, "")
