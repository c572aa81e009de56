"""Choose the blind relations network on folds of 2.5VRD's validation split; the test split is never opened.

    python benchmarks/relations_folds.py                     # every variant, to docs/results/relations/folds.json
    python benchmarks/relations_folds.py --only usual        # one of them, or several with commas between
    python benchmarks/relations_folds.py --deadline 1800     # no new variant after so many seconds

Five folds by image pair (an image's own pairs go with it), dealt by seed 0. A variant that stands in the file is
not run again. Needs the real labels (SIGHTLINE_DATA, else ../shared/data) and one core for half a minute to minutes
a variant.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

import sightline
from sightline.exams.relations.pairs import tables_of
from sightline.files import atomic_write
from sightline.plain import plain
from sightline.training.relations.evaluation import FoldAnswers, compared, fold_answers, fold_networks, image_folds
from sightline.training.relations.plan import RelationsPlan

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data")) / "2.5vrd"
OUT = ROOT / "docs" / "results" / "relations" / "folds.json"
FOLDS, SEED = 5, 0
LIMITS = (0.3, 0.34, 0.36, 0.38, 0.4, 0.42, 0.46)
USUAL = RelationsPlan(members=2)

VARIANTS: Mapping[str, dict[str, Any]] = {
    "usual": {},
    "another seed": {"seed": 1},
    "3,000 steps": {"steps": 3000},
    "hidden 128": {"hidden": 128},
    "class numbers 8": {"embedding": 8},
    "no mirror": {"mirrored": 0.0},
    "labels, not votes": {"votes": 0.0},
    "boxes alone": {"cues": "b"},
    "dropout 0.3": {"dropout": 0.3},
    "decay 0.2": {"decay": 0.2},
    "no jitter": {"jitter": 0.0},
    "all classes named": {"unnamed": 0.0},
    "eight members": {"members": 8},
}


def measured(name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Scores of one variant: F1 by sub-task, limits tried, and the same network with ordered answers."""
    tables = tables_of(sightline.open(DATA), "validation")
    plan = replace(USUAL, **changes)
    dealt = image_folds(tables, FOLDS, SEED)
    began = time.perf_counter()
    networks = fold_networks(plan, tables, dealt, FOLDS)
    seconds = time.perf_counter() - began
    free = fold_answers(networks, tables, dealt)
    ordered = fold_answers([replace(network, ordered=True) for network in networks], tables, dealt)
    tried = LIMITS if name == "usual" else ()
    limits = {limit: fold_answers(networks, tables, dealt, limit).f1["within_image", "depth"] for limit in tried}
    return {
        "name": name,
        "plan": asdict(plan),
        "f1": _named(free),
        "average": round(free.average, 4),
        "unsure": {str(limit): round(f1, 4) for limit, f1 in limits.items()},
        "ordered": {**_named(ordered), "average": round(ordered.average, 4)},
        "ordered_minus_free": plain(list(compared(ordered, free))) if tried else [],
        "seconds": round(seconds, 1),
    }


def _named(found: FoldAnswers) -> dict[str, float]:
    return {"/".join(key): round(value, 4) for key, value in found.f1.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="names of variants, with commas between")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds after which none is begun")
    parser.add_argument("--out", type=Path, default=OUT)
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    done = {row["name"]: row for row in json.loads(wanted.out.read_text())} if wanted.out.exists() else {}
    began = time.monotonic()
    for name, changes in VARIANTS.items():
        if name in done or (wanted.only and name not in wanted.only.split(",")):
            continue
        if time.monotonic() - began > wanted.deadline:
            break
        done[name] = measured(name, changes)
        row = done[name]
        print(
            f"{name}: {row['average']} {row['f1']} ordered {row['ordered']['average']}, {row['seconds']} s",
            flush=True,
        )
        wanted.out.parent.mkdir(parents=True, exist_ok=True)
        rows = [done[known] for known in VARIANTS if known in done]
        atomic_write(wanted.out, (json.dumps(rows, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
