"""``sightline track``: figures of runs → TensorBoard, Weights & Biases, MLflow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import AllowOutside, Json, counted, out, outside_allowed, print_json, progress

TRACK_HELP = "Send every figure to tensorboard:FOLDER, wandb:PROJECT or mlflow:URI; may be repeated."


def command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold such folders.")],
    to: Annotated[list[str], typer.Option("--to", help=TRACK_HELP)],
    step: Annotated[int, typer.Option(min=0, help="The step they belong to, of a training say.")] = 0,
    data: Annotated[Path | None, typer.Option(help="The dataset; by default where the runs say it was.")] = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Send the figures of runs to where experiments are tracked."""
    from sightline.api import run_folders, score
    from sightline.exams.trackers import open_tracker, send_results, shown_place

    trackers = [open_tracker(spec) for spec in to]
    folders = run_folders(runs)
    with outside_allowed(allow_outside), progress("runs", quiet=json) as update:
        for done, folder in enumerate(folders, start=1):
            send_results([score(folder, data)], trackers, step)
            if update is not None:
                update(done, len(folders))
    places = [shown_place(spec) for spec in to]
    if json:
        print_json({"runs": [str(folder) for folder in folders], "sent_to": places, "step": step})
    else:
        out.print(f"{counted(len(folders), 'run')} sent to {', '.join(places)}")
