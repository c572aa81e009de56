"""``sightline look``: a contact sheet of a dataset's scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sightline.cli.console import AllowOutside, DataPath, Json, counted, err, out, print_json, words_of


def command(
    data: DataPath,
    to: Annotated[Path, typer.Option("--out", help="The sheet: .png, or .html with layers to turn on and off.")],
    overlay: Annotated[
        str,
        typer.Option(
            help="boxes, masks, amodal, depth, stuff, relations, ids or none; a comma begins another panel, "
            "a plus lays another over the same one. By default what the data has."
        ),
    ] = "",
    scenes: Annotated[int, typer.Option(min=1, help="How many scenes, from the first.")] = 24,
    ids: Annotated[
        list[str] | None, typer.Option(help="Scenes to show instead, by id; separated by commas.")
    ] = None,
    split: Annotated[str, typer.Option(help="Show this split only.")] = "",
    category: Annotated[
        list[str] | None, typer.Option(help="Scenes with an object of this category; with commas, of each.")
    ] = None,
    relation: Annotated[
        list[str] | None, typer.Option(help="Scenes with this relation, by predicate; with commas, each.")
    ] = None,
    flag: Annotated[
        list[str] | None,
        typer.Option(help="Scenes with a box of this flag (crowd, truncated…); with commas, each."),
    ] = None,
    min_boxes: Annotated[
        int | None, typer.Option(min=0, help="Scenes with at least so many boxes in a view.")
    ] = None,
    max_boxes: Annotated[
        int | None, typer.Option(min=0, help="Scenes with at most so many boxes in a view.")
    ] = None,
    min_size: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Scenes with a box, of the category if given, of this share of its image."),
    ] = None,
    max_size: Annotated[float | None, typer.Option(min=0, max=1, help="… of at most this share.")] = None,
    search: Annotated[
        str, typer.Option(help="Scenes with all these words in ids, categories, attributes, relations or flags.")
    ] = "",
    sort: Annotated[
        Literal["stored", "name", "boxes", "size", "relations", "categories"],
        typer.Option(help="Order: most boxes, largest box, most relations or categories first; or by name."),
    ] = "stored",
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    view: Annotated[list[str] | None, typer.Option(help="Views to show, by name; all if not given.")] = None,
    columns: Annotated[
        int | None, typer.Option(min=1, help="Views side by side; as many as fit if not given.")
    ] = None,
    width: Annotated[int, typer.Option(min=96, help="Width of a panel of a PNG, pixels.")] = 480,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Draw scenes onto a contact sheet: pictures with boxes, masks, hidden parts, depth, ground and relations."""
    from sightline.show.sheet import contact_sheet
    from sightline.store import open_dataset
    from sightline.store.selection import Selection

    opened = open_dataset(data, allow_outside=allow_outside)
    with opened.faults_told():
        made = contact_sheet(
            opened,
            to,
            overlay=overlay,
            scenes=scenes,
            ids=words_of(ids),
            split=split,
            views=words_of(view),
            columns=columns,
            width=width,
            wanted=Selection(
                tuple(words_of(category)),
                tuple(words_of(relation)),
                tuple(words_of(flag)),
                (min_boxes, max_boxes),
                (min_size, max_size),
                search,
                sort,
                reverse,
            ),
        )
    if json:
        print_json(made.to_dict())
        return
    for note in made.notes:
        err.print(f"note: {note}")
    shown = f"{counted(made.scenes, 'scene')}, {counted(made.views, 'view')}"
    out.print(f"{shown}: wrote " + ", ".join(map(str, made.files)))
