"""``sightline board``: a leaderboard of the runs in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import AllowOutside, Json, out, outside_allowed, print_json


def command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold such folders.")],
    to: Annotated[Path | None, typer.Option("--out", help="The HTML file; without it nothing is written.")] = None,
    data: Annotated[Path | None, typer.Option(help="The dataset, should an exam look at it again.")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples and sign flips.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of both.")] = 0,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print tables in GitHub's Markdown, as for a pull request.")
    ] = False,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Rank all models of all exams: ranges of ranks, pairs told apart; one page that needs no network."""
    from sightline.api import board
    from sightline.errors import ConfigError

    if markdown and json:
        raise ConfigError("--markdown and --json exclude each other")
    with outside_allowed(allow_outside):
        made = board(runs, to, data, resamples=resamples, seed=seed)
    if json:
        print_json(made.to_dict())
    elif markdown:
        typer.echo(made.to_markdown())
    else:
        out.print(str(made))
        if to is not None:
            out.print(f"wrote {to}")
