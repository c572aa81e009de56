"""``sightline report``: the report card."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from sightline.cli.console import Json, ProtocolName, out, print_json
from sightline.errors import ConfigError, DataError
from sightline.hints import hint

if TYPE_CHECKING:
    from sightline.exams.run import Run
    from sightline.store import Dataset

ROOMS: Final = {
    "relations": "sightline.report",
    "predicates": "sightline.report.predicates",
    "turing": "sightline.report.turing",
}
"""Exam → who makes its card."""

TAKEN_BY: Final = {
    "protocol": ("--protocol", ("relations",)),
    "attention": ("--attention", ("predicates",)),
    "scenes": ("--scene", ("predicates", "turing")),
}
"""What a card may be told → the option that tells it, and the exams whose cards take it."""


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
    scene: Annotated[
        list[str] | None,
        typer.Option(help="Predicates and turing: show this scene, by id, not those chosen; may be repeated."),
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=1, help="Most scenes to show of each kind (worst, typical, perfect).")
    ] = None,
    json: Json = False,
) -> None:
    """Write one self-contained HTML page: scores, baselines, where the mistakes are, single scenes."""
    from sightline.exams.run import Run
    from sightline.report.make import of_exam

    chosen, found = of_exam([Run.open(folder) for folder in run_folders(runs)], exam)
    if chosen not in ROOMS:
        raise ConfigError(f"there is no report on the exam {chosen!r}{hint(chosen, ROOMS)}")
    wished = wishes(chosen, protocol=protocol, attention=attention, scenes=scene or (), examples=examples)
    opened = asked_about(data or data_of(found), found)
    room: Any = import_module(ROOMS[chosen])
    made = room.card(found, opened, focus=focus or None, resamples=resamples, **wished)
    written = room.write_report(made, to)
    if json:
        print_json(made.to_dict())
    else:
        out.print("wrote " + ", ".join(map(str, written)))


def wishes(
    exam: str, *, protocol: str, attention: bool, scenes: Sequence[str], examples: int | None
) -> dict[str, Any]:
    """What a card is told beyond what every card is.

    Raises:
        ConfigError: For an option of another exam, or scenes that are both named and counted.

    >>> wishes("turing", protocol="default", attention=False, scenes=(), examples=3)
    {'worst': 3, 'typical': 3, 'perfect': 3}
    """
    given = {"protocol": "" if protocol == "default" else protocol, "attention": attention, "scenes": scenes}
    told: dict[str, Any] = {name: value for name, value in given.items() if value}
    for name in told:
        option, exams = TAKEN_BY[name]
        if exam not in exams:
            whose = " and ".join(exams) + " exam" + "s" * (len(exams) > 1)
            raise ConfigError(f"{option} goes with the {whose}; these are runs of {exam}")
    if examples is None:
        return told
    if scenes:
        raise ConfigError("--examples is how many scenes the report chooses; with --scene it chooses none")
    return told | dict.fromkeys(("each",) if exam == "relations" else ("worst", "typical", "perfect"), examples)


def asked_about(path: Path, runs: list[Run]) -> Dataset:
    """The data of the runs: a dataset, or the pictures of a written test."""
    from sightline.exams.turing.stream.written import MARKER
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
