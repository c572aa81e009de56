"""``sightline blender``: Blender's own environment, for photoreal pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sightline.cli.console import Json, out, print_json, quiet_stdout


def command(
    action: Annotated[Literal["install", "status"], typer.Argument(help="Make the environment, or look at it.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where; by default SIGHTLINE_BLENDER, else the user's cache.")
    ] = None,
    python: Annotated[str | None, typer.Option(help="The Python 3.11 to install with.")] = None,
    json: Json = False,
) -> None:
    """Install Blender 4.5 for photoreal pictures (about 400 MB), or tell whether it works (exit code 2 if not)."""
    from sightline.render import blender

    if action == "install":
        with quiet_stdout(active=json):
            blender.install(folder, python=python)
    found = blender.status(folder)
    if json:
        print_json({"folder": str(found.folder), "bpy": found.bpy, "problem": found.problem})
    else:
        out.print(found.problem or f"Blender {found.bpy} in {found.folder}")
    if found.problem:
        raise typer.Exit(2)
