"""Relations networks trained and examined: cues added one by one, settings learned from, networks that look.

    python benchmarks/relations_nets.py labels --out DIR                    # blind rows, on the real 2.5VRD labels
    python benchmarks/relations_nets.py world --out DIR --world room        # rows with pixels, on generated scenes
    python benchmarks/relations_nets.py world --toy --out DIR               # the same at toy size, on a CPU
    python benchmarks/relations_nets.py … --only drnet --deadline 570        # some rows; go on in another call

A row that is done stands in DIR/NAME.json and is not run again; a training that the deadline cuts short goes on in
the next call. ``labels`` learns from validation and is examined on test (SIGHTLINE_DATA, else ../shared/data);
``world`` generates scenes with pictures, depth and pairs across scenes, test scenes by another seed. Cue A needs
``--backbone`` (a checkpoint, or torchvision's MobileNetV2), cue D the depth network ``--depth`` (ONNX); rows that
need what is not given are left out and named. Pictures a second of a training are in its row.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

import sightline
from sightline.exams.relations import Protocol, RelationsExam, mark_pairs
from sightline.exams.relations.analyses import by_difficulty, consistency, counter_heuristic
from sightline.exams.relations.marks import of_setting
from sightline.exams.runner import run_exam
from sightline.exams.scoring import score_records
from sightline.files import atomic_write
from sightline.generation import generate
from sightline.models import candidate
from sightline.plain import plain
from sightline.store import Dataset
from sightline.training.fit import Fitted, fit
from sightline.training.relations.seen import SeenTask
from sightline.training.relations.setup import RelationsOptions, plan_of, seen_plan, seen_source, source_of
from sightline.training.relations.task import RelationsTask

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data")) / "2.5vrd"
SUBTASKS = ("within_image/depth", "within_image/occlusion", "across_images/depth")
TEST_SEED = 1_000_003


@dataclass(frozen=True)
class Row:
    """One network: options of its training, and which of the given files it needs."""

    options: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


LABELS = {
    "boxes": Row({"cues": "b"}),
    "boxes-classes": Row({"cues": "bc"}),
    "within": Row({"study": "within"}),
    "across": Row({"study": "across"}),
    "ordered": Row({"model": "consistent"}),
    "paper-boxes": Row({"cues": "b", "paper": True}),
    "paper": Row({"paper": True}),
}
WORLD = {
    **{name: LABELS[name] for name in ("boxes", "boxes-classes", "ordered", "paper")},
    "boxes-depth": Row({"cues": "bd"}, ("depth",)),
    "boxes-appearance": Row({"cues": "ba"}, ("backbone",)),
    "all-cues": Row({"cues": "bcda"}, ("depth", "backbone")),
    "paper-all-cues": Row({"cues": "bcda", "paper": True}, ("depth", "backbone")),
    "vipcnn": Row({"model": "vipcnn", "study": "within"}),
    "pprfcn": Row({"model": "pprfcn", "study": "within"}),
    "drnet": Row({"model": "drnet"}),
    "drnet-within": Row({"model": "drnet", "study": "within"}),
    "drnet-across": Row({"model": "drnet", "study": "across"}),
    "vtranse": Row({"model": "vtranse"}),
}


def trained(options: RelationsOptions, folder: Path, seconds: float, toy: bool) -> Fitted:
    """Train, or go on with, one network."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    task: Any
    if options.looks:
        plan = seen_plan(options, device)
        plan = replace(plan, width=4, side=64, batch=2) if toy else plan
        task = SeenTask(plan, seen_source(options, plan))
    else:
        blind = plan_of(options)
        task = RelationsTask(blind, source_of(options, blind))
    return fit(task, folder, seconds=seconds, device=device)[1]


def spec_of(weights: Path, options: RelationsOptions) -> str:
    """The checkpoint as a spec, with the sources of its cues."""
    sources = {"depth": options.depth, "backbone": options.backbone}
    given = ",".join(f"{name}={path}" for name, path in sources.items() if path is not None)
    return f"{weights}:{given}" if given else str(weights)


def scored(spec: str, data: Dataset, exam: RelationsExam, folder: Path) -> dict[str, Any]:
    """Scores of a network by the paper's protocol: F1 by sub-task and label, difficulty, laws, misleading cues."""
    records = run_exam(exam, candidate(spec), data, folder).read()
    found = score_records(replace(exam, protocol="paper"), records, lambda: data)
    tables = exam.tables(data)
    marks = mark_pairs(records.rows, tables)
    row: dict[str, Any] = {"f1": {}, "labels": {}, "counter": {}}
    for task in SUBTASKS:
        row["f1"][task] = plain(found.at("subtasks", task, "micro", "all", "f1"))
        names = ("closer", "farther", "same", "none", "occludes", "occluded", "mutual")
        labels = {name: found.at("subtasks", task, "micro", name, "f1") for name in names}
        row["labels"][task] = {name: plain(f1) for name, f1 in labels.items() if f1 is not None}
    row["average"] = plain(found.at("average"))
    row["difficulty"] = plain(by_difficulty(marks, protocol=Protocol.PAPER).f1)
    for setting in tables:
        counter = counter_heuristic(marks[setting, "depth"])
        row["counter"][setting] = {name: plain(part.accuracy) for name, part in counter.items()}
    if "within_image" in tables:
        laws = consistency(of_setting(marks, "within_image"))
        row["laws"] = {name: plain(law.share) for name, law in laws.items()}
    return row


def rows_of(wanted: argparse.Namespace) -> Iterator[tuple[str, RelationsOptions, Dataset, RelationsExam]]:
    """Name, options, test data and exam of every row that can be run."""
    given = {"depth": wanted.depth, "backbone": wanted.backbone}
    rows = LABELS if wanted.on == "labels" else WORLD
    train, test = (None, None) if wanted.on == "labels" else _generated(wanted)
    for name, row in rows.items():
        if wanted.only and name not in wanted.only.split(","):
            continue
        if missing := [need for need in row.needs if given[need] is None]:
            print(f"{name}: left out, since it needs --{' and --'.join(missing)}")
            continue
        cut = {"steps": wanted.steps} if wanted.steps else {"steps": 3} if wanted.toy else {}
        source = {"data": DATA if train is None else train.path}
        options = RelationsOptions(**source, **row.options, **cut, **{need: given[need] for need in row.needs})
        within = options.model in ("vipcnn", "pprfcn")
        exam = RelationsExam(settings=("within_image",)) if within else RelationsExam()
        yield name, options, sightline.open(DATA) if test is None else test, exam


def _generated(wanted: argparse.Namespace) -> tuple[Dataset, Dataset]:
    """Scenes to learn from and scenes to be asked about, with pictures and pairs across scenes."""
    scenes, asked = (8, 4) if wanted.toy else (wanted.scenes, max(2, wanted.scenes // 10))
    how: dict[str, Any] = {"pairs": True, "image_format": "jpeg:92", "workers": 0 if wanted.toy else None}
    how |= {"size": "96x64"} if wanted.toy else {}
    train = generate(wanted.world, wanted.out / "train", scenes=scenes, **how)
    return train, generate(wanted.world, wanted.out / "test", scenes=asked, seed=TEST_SEED, **how)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("on", choices=("labels", "world"))
    parser.add_argument("--out", type=Path, required=True, help="folder of trainings, runs and results")
    parser.add_argument("--only", default="", help="names of rows, with commas between")
    parser.add_argument("--world", default="room", help="whose scenes are generated")
    parser.add_argument("--scenes", type=int, default=4000, help="scenes to learn from")
    parser.add_argument("--steps", type=int, default=0, help="instead of each plan's own")
    parser.add_argument("--depth", type=Path, help="ONNX depth network, or folder of depth maps")
    parser.add_argument("--backbone", type=Path, help="checkpoint of a classifier, or torchvision's MobileNetV2")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds this call may take")
    parser.add_argument("--toy", action="store_true", help="a few small scenes and three steps")
    wanted = parser.parse_args()
    began = time.monotonic()
    wanted.out.mkdir(parents=True, exist_ok=True)
    for name, options, data, exam in rows_of(wanted):
        file = wanted.out / f"{name}.json"
        left = wanted.deadline - (time.monotonic() - began)
        if file.exists() or left <= 0:
            continue
        fitted = trained(options, wanted.out / f"net-{name}", left, wanted.toy)
        if fitted.steps < fitted.planned:
            print(f"{name}: {fitted.steps:,} of {fitted.planned:,} steps; the same command goes on")
            return
        row = scored(spec_of(fitted.weights, options), data, exam, wanted.out / f"run-{name}")
        speed = {key: value for key, value in fitted.last.items() if key.endswith("_per_s")}
        how = plain({key: getattr(options, key) for key in ("model", "paper", "cues", "study")})
        row = {"name": name, **how, "steps": fitted.steps, "seconds": fitted.seconds, **speed, **row}
        atomic_write(file, (json.dumps(row, indent=1) + "\n").encode())
        average = row["average"]["value"] if row["average"] else None
        print(f"{name}: average F1 {average}, {fitted.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
