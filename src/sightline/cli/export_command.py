"""``sightline export``: a Sightline dataset → an outside format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import DataPath, Json, out, print_json
from sightline.errors import ConfigError


def command(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help="2.5vrd, clevr, coco, voc or yolo.")],
    data: DataPath,
    to: Annotated[Path, typer.Option("--out", help="File or folder to write.")],
    json: Json = False,
) -> None:
    """Write a dataset in another format."""
    from sightline.store import open_dataset
    from sightline.store.formats import named

    chosen = named(format_name)
    if chosen.write is None:
        raise ConfigError(f"{chosen.name} can be read but not written")
    opened = open_dataset(data)
    chosen.write(opened.tables(), to, **({"blobs": opened.blobs} if chosen.photos_out else {}))
    if json:
        print_json({"written": str(to), "format": chosen.name})
    else:
        out.print(f"wrote {to}")
