"""``sightline check``: what is wrong with this dataset?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import AllowOutside, DataPath, Json, counted, err, out, print_json
from sightline.errors import DataError
from sightline.plain import plain


def command(
    data: DataPath,
    most: Annotated[int, typer.Option(min=0, help="Print at most so many problems.")] = 20,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """List everything that is wrong; exit code 2 if anything is. Notes tell what is odd but not wrong."""
    problems, notes = inspect(data, allow_outside=allow_outside)
    if json:
        fields = ("problem", "file", "row", "field", "expected", "found")
        listed = [{f: plain(getattr(p, f)) for f in fields} for p in problems]
        print_json({"dataset": str(data), "ok": not problems, "problems": listed, "notes": notes})
    else:
        for problem in problems[:most]:
            err.print(str(problem))
        hidden = len(problems) - most
        if hidden > 0:
            err.print(f"… and {hidden:,} more (--most {len(problems)} shows all)")
        for note in notes:
            err.print(f"note: {note}")
        out.print(f"{data}: {counted(len(problems), 'problem')}" if problems else f"{data}: nothing wrong found")
    if problems:
        raise typer.Exit(2)


def inspect(path: Path, *, allow_outside: bool = False) -> tuple[list[DataError], list[str]]:
    """Problems and notes: damaged shards, broken rows, broken pictures; or a foreign format's first error."""
    from sightline.store import check_tables, is_dataset, open_dataset
    from sightline.store.check import notes
    from sightline.store.formats import detect
    from sightline.store.pictures import picture_faults

    try:
        left_out = [] if is_dataset(path) else detect(path).notes(path)
        data = open_dataset(path, allow_outside=allow_outside)
    except DataError as error:
        return [error], []
    damaged = data.verify()
    if damaged:
        return damaged, left_out
    tables = data.tables()
    faults = picture_faults(tables.views, data.blobs)
    return [*check_tables(tables), *faults.values()], [*left_out, *notes(tables)]
