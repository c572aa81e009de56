"""``sightline report``: the report card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sightline.cli.console import Json, ProtocolName, out, print_json
from sightline.errors import ConfigError, DataError

if TYPE_CHECKING:
    from sightline.exams.run import Run
    from sightline.store import Dataset


def command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold such folders.")],
    to: Annotated[Path, typer.Option("--out", help="The HTML file; .json and .md stand beside it.")] = Path(
        "report.html"
    ),
    data: Annotated[Path | None, typer.Option(help="The dataset; by default where the runs say it was.")] = None,
    focus: Annotated[str, typer.Option(help="Model to look at closely; by default the best.")] = "",
    protocol: ProtocolName = "default",
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 1000,
    exam: Annotated[
        Literal["relations", "predicates", "turing"] | None,
        typer.Option(help="Of which exam, where the runs are of several."),
    ] = None,
    attention: Annotated[
        bool, typer.Option("--attention", help="Predicates: load the focused model, show where it looks.")
    ] = False,
    json: Json = False,
) -> None:
    """Write one self-contained HTML page: scores, baselines, where the mistakes are, single scenes."""
    from sightline.exams.run import Run
    from sightline.report.make import of_exam

    chosen, found = of_exam([Run.open(folder) for folder in run_folders(runs)], exam)
    opened = asked_about(data or data_of(found), found)
    shared = {"focus": focus or None, "resamples": resamples}
    page = {"predicates": predicates_page, "turing": turing_page}.get(chosen, relations_page)
    written, plain = page(found, opened, to, protocol, attention=attention, **shared)
    if json:
        print_json(plain)
    else:
        out.print("wrote " + ", ".join(map(str, written)))


def relations_page(
    runs: list[Run], data: Dataset, to: Path, protocol: str, *, attention: bool, **options: Any
) -> tuple[tuple[Path, ...], dict[str, Any]]:
    """Write the page of the relations exam; the files and the plain values."""
    from sightline.report import card, write_report

    if attention:
        raise ConfigError("--attention goes with the predicates exam; these are runs of relations")
    made = card(runs, data, protocol=protocol, **options)
    return write_report(made, to), made.to_dict()


def predicates_page(
    runs: list[Run], data: Dataset, to: Path, protocol: str, *, attention: bool, **options: Any
) -> tuple[tuple[Path, ...], dict[str, Any]]:
    """Write the page of the predicates exam; the files and the plain values."""
    from sightline.report.predicates import card, write_report

    if protocol != "default":
        raise ConfigError(f"--protocol {protocol} goes with the relations exam; these are runs of predicates")
    made = card(runs, data, attention=attention, **options)
    return write_report(made, to), made.to_dict()


def turing_page(
    runs: list[Run], data: Dataset, to: Path, protocol: str, *, attention: bool, **options: Any
) -> tuple[tuple[Path, ...], dict[str, Any]]:
    """Write the page of the Turing exam; the files and the plain values."""
    from sightline.report.turing import card, write_report

    if protocol != "default":
        raise ConfigError(f"--protocol {protocol} goes with the relations exam; these are runs of turing")
    if attention:
        raise ConfigError("--attention goes with the predicates exam; these are runs of turing")
    made = card(runs, data, **options)
    return write_report(made, to), made.to_dict()


def asked_about(path: Path, runs: list[Run]) -> Dataset:
    """The data of the runs: a dataset, or the pictures of a written test."""
    from sightline.exams.turing.asking.written import MARKER
    from sightline.report.turing.written import pictures_of
    from sightline.store import open_dataset

    return pictures_of(path, runs) if (path / MARKER).is_file() else open_dataset(path)


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
