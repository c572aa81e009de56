"""``sightline check``: what is wrong with this dataset?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import DataPath, Json, err, out, print_json
from sightline.errors import DataError


def command(
    data: DataPath,
    most: Annotated[int, typer.Option(help="Print at most so many problems.")] = 20,
    json: Json = False,
) -> None:
    """List everything that is wrong; exit code 2 if anything is."""
    problems = find_problems(data)
    if json:
        fields = ("problem", "file", "row", "field", "expected", "found")
        listed = [{f: _plain(getattr(p, f)) for f in fields} for p in problems]
        print_json({"dataset": str(data), "ok": not problems, "problems": listed})
    else:
        for problem in problems[:most]:
            err.print(str(problem), markup=False)
        hidden = len(problems) - most
        if hidden > 0:
            err.print(f"… and {hidden:,} more (--most {len(problems)} shows all)")
        out.print(f"{data}: {len(problems):,} problems" if problems else f"{data}: nothing wrong found")
    if problems:
        raise typer.Exit(2)


def find_problems(path: Path) -> list[DataError]:
    """Damaged shards and broken rows of a dataset, or the first error of a foreign format's files."""
    from sightline.store import check_tables, open_dataset

    try:
        data = open_dataset(path)
    except DataError as error:
        return [error]
    damaged = data.verify()
    return damaged or check_tables(data.tables())


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | None) else str(value)
