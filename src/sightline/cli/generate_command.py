"""``sightline generate``: a world → a Sightline dataset."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from sightline.cli import completion
from sightline.cli.console import Json, counted, err, interruptible, out, print_json, progress


def listing() -> str:
    """What the help ends with: the worlds there are, and what their names mean."""
    from sightline.worlds import presets

    return f"Presets: {', '.join(presets())}."


def command(
    world: Annotated[
        str,
        typer.Argument(
            metavar="PRESET",
            help="A preset such as geospa/train (listed below), or a world file.",
            autocompletion=completion.worlds,
        ),
    ],
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
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Compare depth across scenes 2m and 2m + 1, as between two photos.")
    ] = False,
    sensor: Annotated[
        str | None, typer.Option(help="Take pictures by none (ideal), phone or webcam; by default the world's.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option(help="Begin anew where the folder holds other or more generated scenes.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes, by default one a core; 0 works in this one.")
    ] = None,
    json: Json = False,
) -> None:
    """Invent scenes of a world and store them with pictures and exact truth. Run again, it goes on."""
    from sightline.generation import generate
    from sightline.generation.recipe import parse_size

    before = time.perf_counter()
    done_before: list[int] = []
    with interruptible(lambda: _kept(to)), progress("scenes", quiet=json) as show:

        def on_progress(done: int, total: int) -> None:
            done_before[:] = done_before or [done]
            if show is not None:
                show(done, total)

        data = generate(
            world,
            to,
            scenes=scenes,
            views=views,
            seed=seed,
            start=start,
            size=parse_size(size, "--size") if size else None,
            image_format=image_format,
            depth=depth,
            renderer=renderer,
            canonical=canonical,
            pairs=pairs,
            sensor=sensor,
            overwrite=overwrite,
            workers=workers,
            progress=on_progress,
            say=None if json else lambda words: err.print(f"note: {words}"),
        )
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
    rate = f", {made / seconds:{'.1f' if made >= seconds else '.2g'}} a second" if made else ""
    out.print(f"{to}: {counted(len(data), 'scene')}{rate}, fingerprint {data.fingerprint[:12]}")


def _kept(folder: Path) -> str:
    """What an interrupted command leaves behind: scenes are stored in parts, and those that are whole stay."""
    return (
        f"finished scenes are kept in {folder}; the same command goes on"
        if folder.exists()
        else "no scene was finished"
    )
