"""``sightline demo``: the whole way through the house on one dataset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sightline.cli import (
    audit_command,
    check_command,
    compare_command,
    exam_command,
    import_command,
    report_command,
    stats_command,
)
from sightline.cli.console import out

TRANSFER = "object_class"
"""The baseline whose answers depend on what it learned from; it shows the transfer table."""


def command(
    to: Annotated[Path, typer.Option("--out", help="Folder for everything the demo makes.")] = Path("demo-out"),
    data: Annotated[Path | None, typer.Option(help="2.5VRD labels; found by itself, else simulated.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 works in this one.")] = 2,
) -> None:
    """Import labels, describe and check them, let every baseline sit the exam, and write the report card."""
    from sightline.exams.relations import RelationsExam, default_split
    from sightline.exams.relations.pairs import SETTINGS
    from sightline.store import open_dataset

    source = data or real_labels() or simulated_labels(to / "labels")
    stored, runs, report = to / "data", to / "runs", to / "report.html"
    _say("import", source, "--out", stored, "--overwrite")
    import_command.command(source, stored, overwrite=True)
    opened = open_dataset(stored)
    exam = RelationsExam(split=default_split(opened))
    runs /= opened.fingerprint[:12]  # runs belong to their data: a demo on other data starts afresh
    _say("check", stored)
    check_command.command(stored)
    _say("stats", stored)
    stats_command.command(stored)
    _say("audit", stored)
    audit_command.command(stored)
    _say("exam relations --data", stored, "--out", runs, "--workers", workers)
    exam_command.command("relations", stored, to=runs, workers=workers)
    for study in exam_command.TRANSFERS if len(exam.training(opened)) == len(SETTINGS) else ():
        _say("exam relations --data", stored, "--out", runs, "--no-baselines --model", TRANSFER, "--study", study)
        exam_command.command("relations", stored, [TRANSFER], runs, baselines=False, study=study)
    first, second = (runs / "relations" / exam_command.slug(name, exam) for name in ("bottom_edge", "class_prior"))
    _say("compare", first, second)
    compare_command.command(first, second)
    _say("report", runs, "--data", stored, "--out", report)
    report_command.command([runs], data=stored, to=report)
    out.print(f"\nThe report card: {report}")


def real_labels() -> Path | None:
    """The real 2.5VRD labels, where SIGHTLINE_DATA or ../shared/data has them."""
    folder = Path(os.environ.get("SIGHTLINE_DATA", Path("..") / "shared" / "data")) / "2.5vrd"
    return folder if folder.is_dir() else None


def simulated_labels(folder: Path) -> Path:
    """A simulated label set, for a machine without the real one."""
    from sightline.exams.relations import simulate

    out.print("the real 2.5VRD labels are not here (SIGHTLINE_DATA): simulating a small set instead")
    simulate(folder, images=400, seed=0)
    return folder


def _say(*words: object) -> None:
    out.print(f"\n$ sightline {' '.join(map(str, words))}", style="bold")
