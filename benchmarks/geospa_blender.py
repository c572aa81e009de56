"""The shipped SORNet on the same scenes drawn by the fast back end and by Blender.

    python benchmarks/geospa_blender.py            # generate what is missing, print the comparison
    python benchmarks/geospa_blender.py --write    # and write docs/results/geospa_blender.json

Needs torch and Blender's environment (``sightline blender install``, or SIGHTLINE_BLENDER); a view takes about ten
seconds of a core. Interrupted, it goes on where it stopped. ``--fast`` and ``--blender`` name folders to use or
to make. docs/pages/geospa_page.py shows what was written.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import sightline
from sightline.errors import ConfigError
from sightline.exams.run import RunRecords
from sightline.exams.runner import run_exam
from sightline.exams.scoring import compare_records
from sightline.generation import generate, open_any
from sightline.generation.recipe import RendererName
from sightline.stats import Comparisons
from sightline.store import Dataset, is_dataset

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "geospa_blender"
RESULT = ROOT / "docs" / "results" / "geospa_blender.json"
VIEWS = ("original", "top")
SAMPLES, AT_ONCE = 16, 8
SHOWN = 11
"""Rows of the comparison that are kept: scene accuracy of all, of the groups, of each predicate; then scene-all."""


def drawn(world: str, folder: Path, renderer: RendererName, scenes: int, seed: int) -> Dataset:
    """The scenes by one renderer, a few at a time so that little is lost; what is there is not drawn again."""
    settings = {"samples": SAMPLES, "denoise": True} if renderer == "blender" else None
    done = len(open_any(folder)) if is_dataset(folder) else 0
    for upto in (*range(done + AT_ONCE, scenes, AT_ONCE), max(scenes, done)):
        data = generate(
            world, folder, scenes=upto, views=VIEWS, seed=seed, renderer=renderer, settings=settings, canonical=1
        )
        print(f"{renderer}: {len(data)} scenes", flush=True)
    return data


def same_scenes(fast: Dataset, blender: Dataset) -> dict[str, Any]:
    """What both were made by; ConfigError where they are not the same scenes by different renderers."""
    ours, theirs = (dict(data.recipe or {}) for data in (fast, blender))
    for key in ("world", "settings", "seed", "start", "views"):
        if ours.get(key) != theirs.get(key):
            raise ConfigError(f"not the same scenes: {key} is {ours.get(key)!r} here and {theirs.get(key)!r} there")
    if (ours.get("renderer"), theirs.get("renderer")) != ("fast", "blender"):
        raise ConfigError("expected scenes by the fast back end and the same by Blender")
    return dict(theirs)


def records_of(data: Dataset, model: str, runs: Path) -> RunRecords:
    """Records of the model over a dataset."""
    candidate = sightline.candidate(model)
    folder = runs / f"{data.fingerprint[:12]}-{candidate.fingerprint[:12]}"
    return run_exam(sightline.PredicatesExam(), candidate, data, folder).read()


def result(comparisons: Comparisons, recipe: dict[str, Any], scenes: int, model: str) -> dict[str, Any]:
    """What docs/pages/geospa_page.py shows."""
    rows = comparisons.to_dicts()
    shown = [*rows[:SHOWN], next(row for row in rows if row["name"] == "scene-all accuracy")]
    return {
        "model": model,
        "world": recipe["world"],
        "seed": recipe["seed"],
        "scenes": scenes,
        "samples": recipe["render"]["samples"],
        "denoise": recipe["render"]["denoise"],
        "comparisons": shown,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="geospa/val_default")
    parser.add_argument("--scenes", type=int, default=48)
    parser.add_argument("--seed", type=int, default=48)
    parser.add_argument("--fast", type=Path, default=WORK / "fast", help="folder of the fast back end's scenes")
    parser.add_argument("--blender", type=Path, default=WORK / "blender", help="folder of Blender's")
    parser.add_argument("--model", default="sornet")
    parser.add_argument("--runs", type=Path, default=WORK / "runs")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    wanted = parser.parse_args()
    fast = drawn(wanted.world, wanted.fast, "fast", wanted.scenes, wanted.seed)
    blender = drawn(wanted.world, wanted.blender, "blender", wanted.scenes, wanted.seed)
    recipe = same_scenes(fast, blender)
    theirs, ours = (records_of(data, wanted.model, wanted.runs) for data in (blender, fast))
    comparisons, _ = compare_records(sightline.PredicatesExam(), theirs, ours, lambda: fast)
    print(f"a: Blender, b: fast back end\n{comparisons}")
    if wanted.write:
        text = json.dumps(result(comparisons, recipe, len(fast), wanted.model), indent=1)
        RESULT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
