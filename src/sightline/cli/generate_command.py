"""``sightline generate``: a world → a Sightline dataset."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from sightline.cli.console import Json, counted, err, out, print_json, progress
from sightline.errors import ConfigError

WORTH_WORKERS = 50 * 480 * 320
"""Pixels. Starting workers takes a few seconds each; less work than this is done sooner without them."""


def command(
    world: Annotated[str, typer.Argument(metavar="PRESET", help="A preset such as geospa/train, or a world file.")],
    to: Annotated[Path, typer.Option("--out", help="Folder of the dataset; one begun here is gone on with.")],
    scenes: Annotated[int, typer.Option(min=1, help="How many scenes.")],
    views: Annotated[str, typer.Option(help="Names of the world's cameras, with commas between.")] = "original",
    seed: Annotated[int, typer.Option(min=0, help="World, seed and index make a scene.")] = 0,
    start: Annotated[int, typer.Option(min=0, help="Index of the first scene.")] = 0,
    size: Annotated[str, typer.Option(metavar="WxH", help="Pixels, 480x320; by default the world's.")] = "",
    image_format: Annotated[
        str, typer.Option("--format", help="png, jpeg or webp; jpeg:90 with a quality; none: truth alone.")
    ] = "png",
    depth: Annotated[
        Literal["png", "npz", "none"], typer.Option(help="16-bit millimetres, float32 metres, or no depth maps.")
    ] = "png",
    renderer: Annotated[Literal["fast", "blender"], typer.Option(help="Who draws the pictures.")] = "fast",
    canonical: Annotated[
        int, typer.Option(min=0, help="Canonical 32×32 views to keep of every distinct object.")
    ] = 0,
    overwrite: Annotated[
        bool, typer.Option(help="Begin anew where the folder holds other or more generated scenes.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes, by default one a core; 0 works in this one.")
    ] = None,
    json: Json = False,
) -> None:
    """Invent scenes of a world and store them with pictures and exact truth. Run again, it goes on."""
    from sightline.generate import generate

    before = time.perf_counter()
    done_before: list[int] = []
    with progress("scenes", quiet=json) as show:

        def tell(done: int, total: int) -> None:
            done_before[:] = done_before or [done]
            if show is not None:
                show(done, total)

        names = [view.strip() for view in views.split(",")]
        try:
            data = generate(
                world,
                to,
                scenes=scenes,
                views=names,
                seed=seed,
                start=start,
                size=_size(size),
                image_format=_kept(image_format),
                depth=_kept(depth),
                renderer=renderer,
                canonical=canonical,
                overwrite=overwrite,
                workers=_workers(workers, renderer, scenes * len(names) * _pixels(size)),
                progress=tell,
                say=None if json else lambda words: err.print(f"note: {words}"),
            )
        except KeyboardInterrupt:
            err.print("interrupted: " + ("the same command goes on" if to.exists() else "no scene was finished"))
            raise
    made, seconds = len(data) - done_before[0], time.perf_counter() - before
    if json:
        print_json(
            {
                "dataset": str(to),
                "scenes": len(data),
                "made": made,
                "seconds": seconds,
                "fingerprint": data.fingerprint,
            }
        )
        return
    if done_before[0]:
        err.print(f"note: {counted(done_before[0], 'scene')} there already")
    rate = f", {made / seconds:.1f} a second" if made else ""
    out.print(f"{to}: {counted(len(data), 'scene')}{rate}, fingerprint {data.fingerprint[:12]}")


def _kept(form: str) -> str | None:
    return None if form == "none" else form


def _size(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    found = re.fullmatch(r"([0-9]{1,5})[x×]([0-9]{1,5})", text)
    if found is None:
        raise ConfigError(f"--size {text!r}: expected width and height in pixels, such as 480x320")
    return int(found[1]), int(found[2])


def _pixels(size: str) -> int:
    width, height = _size(size) or (480, 320)
    return width * height


def _workers(asked: int | None, renderer: str, pixels: int) -> int:
    """One for each core we may use, where there is enough to do; Blender takes all cores by itself."""
    if asked is not None:
        return asked
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 0 if renderer == "blender" or cores == 1 or pixels < WORTH_WORKERS else cores
