"""``sightline compare``: is one model better than another?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import Json, ProtocolName, err, out, print_json
from sightline.cli.report_command import data_of


def command(
    first: Annotated[Path, typer.Argument(help="Folder of a run.")],
    second: Annotated[Path, typer.Argument(help="Folder of another run over the same data.")],
    protocol: ProtocolName = "default",
    data: Annotated[Path | None, typer.Option(help="The dataset; only --protocol official needs it.")] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples and sign flips.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of both.")] = 0,
    json: Json = False,
) -> None:
    """Compare two runs on the scenes both have: paired intervals, sign-flip tests, detectable difference."""
    from sightline.exams.relations import Protocol, RelationsExam, compare_runs
    from sightline.exams.run import Run
    from sightline.store import open_dataset

    a, b = Run.open(first), Run.open(second)
    tables = None
    if protocol == "official":
        tables = RelationsExam(split=a.options["split"]).tables(open_dataset(data or data_of([a, b])))
    found = compare_runs(a, b, tables=tables, protocol=Protocol(protocol), resamples=resamples, seed=seed)
    if json:
        print_json({"a": a.name, "b": b.name, "protocol": protocol, **found.to_dict()})
        return
    out.print(f"a = {a.name}, b = {b.name}; F1, {protocol} protocol")
    out.print(str(found.comparisons))
    if found.dropped:
        err.print(f"note: {found.dropped} scenes or image pairs not asked in full in both runs were left out")
