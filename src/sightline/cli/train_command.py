"""``sightline train``: teach a network of our own, or see how few scenes it needs to learn on."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

from sightline.cli.console import Json
from sightline.cli.train_sornet import train_sornet
from sightline.cli.train_wishes import Wishes
from sightline.errors import ConfigError, MissingExtraError

_FEW = "0,8,32,128,512"


def command(
    what: Annotated[
        Literal["sornet", "curve"],
        typer.Argument(help="A SORNet; or the curve of a checkpoint fine-tuned on few scenes."),
    ],
    to: Annotated[Path, typer.Option("--out", help="Folder of the training; one begun here is gone on with.")],
    world: Annotated[
        list[str] | None,
        typer.Option(
            help="Train on scenes of this world, drawn while training goes on; of several in turn, of one named "
            "twice two times."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Train on this Sightline dataset, which has canonical views.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only this split of the dataset.")] = None,
    size: Annotated[
        Literal["tiny", "small", "base"] | None,
        typer.Option(help="Of the network; by default tiny or the checkpoint's."),
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help="Views to show, the original first; by default original,top or the checkpoint's."),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="By default 2000; 300 from a checkpoint.")] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Scenes of a step; by default 256, 32 from a checkpoint.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Highest learning rate; by default 1e-3, 1e-4 from a checkpoint.")
    ] = None,
    optimizer: Annotated[
        Literal["muon", "adamw"] | None, typer.Option(help="By default muon, adamw from a checkpoint.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of weights, scenes and changes.")] = 0,
    augmentation: Annotated[
        Literal["full", "light", "none"],
        typer.Option(help="How pictures are changed: full also takes colour away, stretches and dulls."),
    ] = "light",
    canonical: Annotated[
        int, typer.Option(min=1, help="Canonical views a world's object has to choose from; fewer of many objects.")
    ] = 32,
    start: Annotated[
        str | None, typer.Option(help="Checkpoint to begin with; sornet is the one that comes with Sightline.")
    ] = None,
    scenes: Annotated[str | None, typer.Option(help=f"Curve: scenes of each point; by default {_FEW}.")] = None,
    held_out: Annotated[int | None, typer.Option(min=1, help="Curve: scenes to ask about; by default 500.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes that place or decode scenes; 0 does it here.")] = 0,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="Where to train; auto takes the card where there is one.")
    ] = "auto",
    save_every: Annotated[int, typer.Option(min=1, help="Steps between states to go on from.")] = 500,
    tensorboard: Annotated[bool, typer.Option(help="Write the log for TensorBoard too.")] = False,
    json: Json = False,
) -> None:
    """Train a SORNet on a world or a stored dataset. Run again, it goes on."""
    for package in ("torch", "safetensors", "lightning"):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra="train")
    if (not world) == (data is None):
        raise ConfigError("train on one of --world and --data")
    if split is not None and data is None:
        raise ConfigError("--split is for --data")
    wish = Wishes(
        to=to,
        worlds=tuple(world or ()),
        data=data,
        split=split,
        size=size,
        views=None if views is None else tuple(v.strip() for v in views.split(",") if v.strip()),
        steps=steps,
        batch=batch,
        rate=rate,
        optimizer=optimizer,
        seed=seed,
        augmentation=augmentation,
        canonical=canonical,
        start=start,
        workers=workers,
        device=device,
        save_every=save_every,
        tensorboard=tensorboard,
        json=json,
    )
    if what == "sornet":
        if scenes is not None or held_out is not None:
            raise ConfigError("--scenes and --held-out are for sightline train curve")
        train_sornet(wish)
        return
    from sightline.cli.train_curve import train_curve

    if start is None:
        raise ConfigError("sightline train curve needs --start, the checkpoint to fine-tune")
    if tensorboard:
        raise ConfigError("--tensorboard is for sightline train sornet")
    if len(wish.worlds) > 1:
        raise ConfigError("sightline train curve takes one --world: its scenes are counted")
    train_curve(wish, _numbers(scenes or _FEW), held_out or 500)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(
            f"--scenes {text!r}: expected whole numbers with commas between, such as {_FEW}"
        ) from None
