"""``sightline plan``: how many scenes does a comparison need?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import AllowOutside, Json, out, outside_allowed, print_json


def command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs of two models or more, or of such folders.")],
    difference: Annotated[float, typer.Option(help="To be seen, in the unit of the figures: 0.02 is two points.")],
    power: Annotated[float, typer.Option(help="Chance of seeing it.")] = 0.8,
    data: Annotated[Path | None, typer.Option(help="The dataset, should an exam look at it again.")] = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Say how many scenes show a difference, from the clustering and the pairing in the records at hand."""
    from sightline.api import plan

    with outside_allowed(allow_outside):
        plans = plan(runs, difference, data, power=power)
    if json:
        print_json(plans.to_dict())
    else:
        out.print(str(plans))
