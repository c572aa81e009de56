"""``sightline report``: the report card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli import completion
from sightline.cli.console import AllowOutside, Json, ProtocolName, out, outside_allowed, print_json, progress


def command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold such folders.")],
    to: Annotated[Path, typer.Option("--out", help="The HTML file; .json and .md stand beside it.")] = Path(
        "report.html"
    ),
    data: Annotated[Path | None, typer.Option(help="The dataset; by default where the runs say it was.")] = None,
    focus: Annotated[str, typer.Option(help="Model to look at closely; by default the best.")] = "",
    protocol: ProtocolName = "default",
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resampling.")] = 0,
    exam: Annotated[str, typer.Option(help="Only the runs of this exam.", autocompletion=completion.exams)] = "",
    attention: Annotated[
        bool, typer.Option("--attention", help="Predicates: show where the focused model looks; needs --model.")
    ] = False,
    model: Annotated[
        str, typer.Option(help="The focused model, to be loaded for --attention; nothing a run names is loaded.")
    ] = "",
    scene: Annotated[
        list[str] | None, typer.Option(help="Show this scene, by id, not those chosen; may be repeated.")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=1, help="Most scenes to show of each kind (worst, typical, perfect).")
    ] = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Write one self-contained HTML page of all exams: summary, scores, baselines, mistakes, single scenes."""
    from sightline.api import report

    with outside_allowed(allow_outside), progress("runs", quiet=json) as update:
        page = report(
            runs,
            to,
            data,
            exam=exam,
            model=model or None,
            focus=focus,
            resamples=resamples,
            seed=seed,
            scoring={} if protocol == "default" else {"protocol": protocol},
            scenes=tuple(scene or ()),
            examples=examples,
            attention=attention,
            progress=update,
        )
    if json:
        print_json(page.to_dict())
        return
    html = to if to.suffix.lower() in (".html", ".htm") else to / "report.html"
    out.print(str(page.summary))
    out.print("wrote " + ", ".join(str(html.with_suffix(end)) for end in (html.suffix, ".json", ".md")))
