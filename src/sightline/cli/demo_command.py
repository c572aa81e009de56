"""``sightline demo``: the whole way through the house, on labels and on scenes of our own."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

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
    """Import labels and generate scenes, describe and check both, let models sit the exams, write reports."""
    from sightline.cli.demo_predicates import show_predicates
    from sightline.cli.demo_turing import show_turing
    from sightline.cli.demo_worlds import show_worlds
    from sightline.exams.relations import RelationsExam, default_split
    from sightline.exams.relations.pairs import SETTINGS
    from sightline.store import open_dataset

    source = data or real_labels() or simulated_labels(to / "labels")
    stored, runs, report = to / "data", to / "runs", to / "report.html"
    say("import", source, "--out", stored, "--overwrite")
    import_command.command(source, stored, overwrite=True)
    opened = open_dataset(stored)
    exam = RelationsExam(split=default_split(opened))
    runs /= opened.fingerprint[:12]  # runs belong to their data: a demo on other data starts afresh
    say("check", stored)
    check_command.command(stored)
    say("stats", stored)
    stats_command.command(stored)
    say("audit", stored)
    audit_command.command(stored)
    say("exam relations --data", stored, "--out", runs, "--workers", workers)
    exam_command.command("relations", stored, to=runs, workers=workers)
    for study in exam_command.TRANSFERS if len(exam.training(opened)) == len(SETTINGS) else ():
        say("exam relations --data", stored, "--out", runs, "--no-baselines --model", TRANSFER, "--study", study)
        exam_command.command("relations", stored, [TRANSFER], runs, baselines=False, study=study)
    first, second = (runs / "relations" / exam_command.slug(name, exam) for name in ("bottom_edge", "class_prior"))
    say("compare", first, second)
    compare_command.command(first, second)
    say("report", runs, "--data", stored, "--out", report)
    report_command.command([runs], data=stored, to=report)
    seen = [("2.5VRD: report card", report), *show_predicates(to / "predicates"), *show_turing(to / "turing")]
    seen += show_worlds(to / "worlds")
    write_index(to / "index.html", seen)
    out.print(f"\nThe report card: {report}\nAll there is to see: {to / 'index.html'}")


def say(*words: object) -> None:
    """Print a command as a user would type it."""
    out.print(f"\n$ sightline {' '.join(map(str, words))}", style="bold")


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


def write_index(page: Path, seen: list[tuple[str, Path]]) -> None:
    """A page with a link to everything, pictures shown."""
    from sightline.store import atomic_write

    atomic_write(page, _INDEX.format(items="\n".join(_item(page, *entry) for entry in seen)).encode())


def _item(page: Path, words: str, file: Path) -> str:
    place = quote(file.relative_to(page.parent).as_posix())
    picture = f'<div><img src="{place}" alt="" loading="lazy"></div>' if file.suffix == ".png" else ""
    return f'<li><a href="{place}">{escape(words)}{picture}</a></li>'


_INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sightline: demo</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
ul {{ list-style: none; padding: 0 }}
li {{ margin: 1rem 0 }}
div {{ max-height: 26rem; overflow: hidden; margin-top: .5rem }}
img {{ display: block; max-width: 100% }}
</style>
<h1>What the demo made</h1>
<ul>
{items}
</ul>
</html>
"""
