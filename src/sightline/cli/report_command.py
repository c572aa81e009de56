"""``sightline report``: the report card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli.console import Json, ProtocolName, out, print_json
from sightline.errors import ConfigError, DataError

if TYPE_CHECKING:
    from sightline.exams.run import Run


def command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold such folders.")],
    to: Annotated[Path, typer.Option("--out", help="The HTML file; .json and .md stand beside it.")] = Path(
        "report.html"
    ),
    data: Annotated[Path | None, typer.Option(help="The dataset; by default where the runs say it was.")] = None,
    focus: Annotated[str, typer.Option(help="Model to look at closely; by default the best.")] = "",
    protocol: ProtocolName = "default",
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 1000,
    json: Json = False,
) -> None:
    """Write one self-contained HTML page: scores, baselines, grids, distributions, worst scenes."""
    from sightline.exams.run import Run
    from sightline.report import card, write_report
    from sightline.store import open_dataset

    found = [Run.open(folder) for folder in run_folders(runs)]
    told = data or data_of(found)
    made = card(found, open_dataset(told), focus=focus or None, protocol=protocol, resamples=resamples)
    written = write_report(made, to)
    if json:
        print_json(made.to_dict())
    else:
        out.print("wrote " + ", ".join(map(str, written)))


def run_folders(places: list[Path]) -> list[Path]:
    """Every run at or below the given places, sorted."""
    from sightline.exams.run import MANIFEST

    folders = sorted({path.parent for place in places for path in place.rglob(MANIFEST)})
    if not folders:
        raise DataError("no run here", file=places[0], expected="folders written by `sightline exam`")
    return folders


def data_of(runs: list[Run]) -> Path:
    """The dataset the runs were made on; ConfigError where they name several or it is gone."""
    named = {run.manifest["data"] for run in runs}
    if len(named) != 1:
        raise ConfigError(f"the runs were made on several datasets ({', '.join(map(str, named))}): give --data")
    path = Path(named.pop())
    if not path.exists():
        raise ConfigError(f"the runs were made on {path}, which is not there: give --data")
    return path
