"""The demo's third part: a trained network asked about scenes it has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sightline.cli import exam_command, report_command
from sightline.cli.demo_command import say
from sightline.cli.demo_worlds import generate_scenes

SPLITS: Final = {
    "val_default": "new scenes of things it was trained with",
    "val_op": "shapes, sizes, colours and a material it was never shown",
}
"""The easiest and the hardest of GeoSpa's splits, in words."""


def show_predicates(to: Path, scenes: int = 16, model: str = "sornet") -> list[tuple[str, Path]]:
    """Generate scenes of two splits; let the model and the blind baselines sit the predicates exam over each.

    Returns what there is to see: a line about it, and the file.
    """
    import sightline

    seen = []
    weights = sightline.candidate(model).fingerprint[:12]  # other weights sit afresh, as other data does
    for split, words in SPLITS.items():
        data, page = to / split, to / f"{split}.html"
        generate_scenes(f"geospa/{split}", data, scenes, "480x320", views="original,top", canonical=2)
        runs = to / "runs" / f"{sightline.open(data).fingerprint[:12]}-{weights}"
        say("exam predicates --data", data, "--model", model, "--out", runs)
        exam_command.command("predicates", data, [model], runs)
        say("report", runs, "--data", data, "--attention --out", page)
        report_command.command([runs], data=data, to=page, attention=True)
        seen.append((f"geospa/{split}: report card of a trained network, {words}", page))
    return seen
