"""``sightline export``: a Sightline dataset → an outside format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli import completion
from sightline.cli.console import AllowOutside, Json, err, out, print_json
from sightline.errors import ConfigError


def listing() -> str:
    """What the help ends with: the formats that can be written."""
    return f"Formats: {', '.join(completion.writable(''))}."


def command(
    format_or_data: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="One of those listed below; left out with --format.",
            autocompletion=completion.writable,
        ),
    ],
    data: Annotated[
        Path | None, typer.Argument(help="A Sightline dataset, or a folder or file of a known format.")
    ] = None,
    *,
    to: Annotated[Path, typer.Option("--out", help="File or folder to write.")],
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            help="The format; then DATA is the only argument, as with import.",
            autocompletion=completion.writable,
        ),
    ] = "",
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Write a dataset in another format."""
    from sightline.store import open_dataset
    from sightline.store.formats import named

    if bool(format_name) == (data is not None):
        raise ConfigError("give FORMAT DATA, or DATA --format FORMAT")
    chosen, place = (
        (named(format_or_data), data) if data is not None else (named(format_name), Path(format_or_data))
    )
    if chosen.write is None:
        raise ConfigError(f"{chosen.name} can be read but not written")
    opened = open_dataset(place, allow_outside=allow_outside)
    with opened.faults_told():
        tables = opened.tables()
        chosen.write(tables, to, **({"blobs": opened.blobs} if chosen.photos_out else {}))
        lost = chosen.left_out(tables)
    if lost:
        err.print(f"note: {chosen.name} has no place for these, left out: {', '.join(lost)}")
    if json:
        print_json({"written": str(to), "format": chosen.name, "left_out": lost})
    else:
        out.print(f"wrote {to}")
