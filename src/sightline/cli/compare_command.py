"""``sightline compare``: is one model better than another?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli.console import Json, ProtocolName, err, out, print_json
from sightline.cli.report_command import data_of
from sightline.errors import ConfigError

if TYPE_CHECKING:
    from sightline.exams.predicates.compare import PredicatesComparison
    from sightline.exams.relations import RunComparison
    from sightline.exams.run import Run
    from sightline.exams.turing.compare import TuringComparison


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
    from sightline.exams.run import Run

    a, b = Run.open(first), Run.open(second)
    exam, other = (run.manifest["identity"]["exam"] for run in (a, b))
    if exam != other:
        raise ConfigError(f"runs cannot be compared: one is of the {exam} exam, the other of the {other} exam")
    found: PredicatesComparison | RunComparison | TuringComparison
    if exam in ("predicates", "turing"):
        if protocol != "default":
            raise ConfigError(f"the {exam} exam has no --protocol")
        chosen = compare_predicates if exam == "predicates" else compare_turing
        named, found = {}, chosen(a, b, resamples=resamples, seed=seed)
    else:
        named, found = (
            {"protocol": protocol},
            compare_relations(a, b, data, protocol, resamples=resamples, seed=seed),
        )
    if json:
        print_json({"a": a.name, "b": b.name, **named, **found.to_dict()})
        return
    out.print(f"a = {a.name}, b = {b.name}; " + (f"F1, {protocol} protocol" if named else exam))
    out.print(str(found.comparisons))
    if found.dropped:
        err.print(f"note: {found.dropped} scenes or image pairs not asked the same in both runs were left out")


def compare_predicates(a: Run, b: Run, *, resamples: int, seed: int) -> PredicatesComparison:
    """Two runs of the predicates exam."""
    from sightline.exams.predicates.compare import compare_runs

    return compare_runs(a, b, resamples=resamples, seed=seed)


def compare_turing(a: Run, b: Run, *, resamples: int, seed: int) -> TuringComparison:
    """Two runs of the Turing exam."""
    from sightline.exams.turing.compare import compare_runs

    return compare_runs(a, b, resamples=resamples, seed=seed)


def compare_relations(
    a: Run, b: Run, data: Path | None, protocol: str, *, resamples: int, seed: int
) -> RunComparison:
    """Two runs of the relations exam."""
    from sightline.exams.relations import Protocol, RelationsExam, compare_runs
    from sightline.store import open_dataset

    tables = None
    if protocol == "official":
        tables = RelationsExam(split=a.options["split"]).tables(open_dataset(data or data_of([a, b])))
    return compare_runs(a, b, tables=tables, protocol=Protocol(protocol), resamples=resamples, seed=seed)
