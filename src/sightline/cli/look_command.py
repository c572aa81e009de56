"""``sightline look``: a contact sheet of a dataset's scenes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sightline.cli.console import AllowOutside, DataPath, Json, counted, err, out, print_json, words_of
from sightline.errors import ConfigError

if TYPE_CHECKING:
    from sightline.show.order_drawing import Orders


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
    order: Annotated[
        str,
        typer.Option(
            help="Draw instead the depth order that this model puts the objects of a view in, a .png or .svg file "
            "a view: consistent, or a network of sightline train relations --model consistent."
        ),
    ] = "",
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Draw scenes onto a contact sheet: pictures with boxes, masks, hidden parts, depth, ground and relations.

    Or, with --order, the depth order of all objects of each.
    """
    from sightline.show.order_drawing import order_sheet
    from sightline.show.sheet import contact_sheet
    from sightline.store import open_dataset
    from sightline.store.selection import Selection

    if order and (overlay or columns is not None):
        raise ConfigError("--overlay and --columns are not for --order, which draws boxes, a file a view")
    orders = _orders(order) if order else None
    opened = open_dataset(data, allow_outside=allow_outside)
    wanted = Selection(
        tuple(words_of(category)),
        tuple(words_of(relation)),
        tuple(words_of(flag)),
        (min_boxes, max_boxes),
        (min_size, max_size),
        search,
        sort,
        reverse,
    )
    which: dict[str, Any] = {"scenes": scenes, "ids": words_of(ids), "split": split, "views": words_of(view)}
    with opened.faults_told():
        if orders is not None:
            made = order_sheet(opened, to, orders, title=order, width=width, wanted=wanted, **which)
        else:
            made = contact_sheet(opened, to, overlay=overlay, columns=columns, width=width, wanted=wanted, **which)
    if json:
        print_json(made.to_dict())
        return
    for note in made.notes:
        err.print(f"note: {note}")
    shown = f"{counted(made.scenes, 'scene')}, {counted(made.views, 'view')}"
    out.print(f"{shown}: wrote " + ", ".join(map(str, made.files)))


def _orders(spec: str) -> Orders:
    """What a model says of the depth order of a view's objects.

    Raises:
        ConfigError: The model gives no order.
    """
    from sightline.models import load

    depth_order = getattr(load(spec), "depth_order", None)
    if depth_order is None:
        raise ConfigError(
            f"{spec} puts objects in no order: take consistent, or a network of sightline train relations "
            "--model consistent"
        )
    return lambda view, boxes, categories: depth_order(view, boxes, categories).level.tolist()
