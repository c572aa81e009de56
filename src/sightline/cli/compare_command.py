"""``sightline compare``: is one model better than another?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import AllowOutside, Json, ProtocolName, out, outside_allowed, print_json


def command(
    first: Annotated[Path, typer.Argument(help="Folder of a run, or of several.")],
    second: Annotated[Path, typer.Argument(help="Folder of another run, or of several, over the same data.")],
    protocol: ProtocolName = "default",
    data: Annotated[Path | None, typer.Option(help="The dataset; only --protocol official needs it.")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples and sign flips.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of both.")] = 0,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Compare runs on what both were asked: paired intervals, sign-flip tests, detectable difference.

    Of two sets of runs those are compared that agree in exam, data, options and model name.
    """
    from sightline.api import compare

    scoring = {} if protocol == "default" else {"protocol": protocol}
    with outside_allowed(allow_outside):
        comparison = compare(first, second, data, resamples=resamples, seed=seed, **scoring)
    if json:
        print_json(comparison.to_dict())
    else:
        out.print(str(comparison))
