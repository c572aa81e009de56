"""``sightline look``: a contact sheet of a dataset's scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import DataPath, Json, counted, err, out, print_json


def command(
    data: DataPath,
    to: Annotated[Path, typer.Option("--out", help="The sheet: .png, or .html with layers to turn on and off.")],
    overlay: Annotated[
        str,
        typer.Option(
            help="boxes, masks, amodal, depth, relations, ids or none; a comma begins another panel, "
            "a plus lays another over the same one. By default what the data has."
        ),
    ] = "",
    scenes: Annotated[int, typer.Option(min=1, help="How many scenes, from the first.")] = 24,
    ids: Annotated[
        list[str] | None, typer.Option(help="Scenes to show instead, by id; separated by commas.")
    ] = None,
    split: Annotated[str, typer.Option(help="Show this split only.")] = "",
    view: Annotated[list[str] | None, typer.Option(help="Views to show, by name; all if not given.")] = None,
    columns: Annotated[
        int | None, typer.Option(min=1, help="Views side by side; as many as fit if not given.")
    ] = None,
    width: Annotated[int, typer.Option(min=96, help="Width of a panel of a PNG, pixels.")] = 480,
    json: Json = False,
) -> None:
    """Draw scenes onto a contact sheet: pictures with boxes, masks, hidden parts, depth and relations."""
    from sightline.show.sheet import contact_sheet
    from sightline.store import open_dataset

    made = contact_sheet(
        open_dataset(data),
        to,
        overlay=overlay,
        scenes=scenes,
        ids=_words(ids),
        split=split,
        views=_words(view),
        columns=columns,
        width=width,
    )
    if json:
        print_json(made.to_dict())
        return
    for note in made.notes:
        err.print(f"note: {note}")
    shown = f"{counted(made.scenes, 'scene')}, {counted(made.views, 'view')}"
    out.print(f"{shown}: wrote " + ", ".join(map(str, made.files)))


def _words(given: list[str] | None) -> list[str]:
    """The words of an option that may be repeated, or hold several with commas between."""
    return [word.strip() for text in given or [] for word in text.split(",") if word.strip()]
