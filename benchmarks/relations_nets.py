"""Relations networks trained and examined: cues added one by one, settings learned from, networks that look.

    python benchmarks/relations_nets.py labels --out DIR                     # blind rows, on the real 2.5VRD labels
    python benchmarks/relations_nets.py world --nets DIR/nets --out OUT      # rows with pixels, on generated scenes
    python benchmarks/relations_nets.py … --only drnet --deadline 570         # some rows; go on in another call

A row that is done stands in OUT/NAME.json and is not run again; a training that the deadline cuts short goes on in
the next call. ``labels`` learns from validation and is examined on test (SIGHTLINE_DATA, else ../shared/data).
``world`` examines what benchmarks/relations_card.py taught, on scenes of the same worlds by another seed, in given
and in detected boxes; cue D needs the depth network (``--depth``), cue A takes the detector among the networks.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
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
from sightline.training.relations.options import RelationsOptions, plan_of
from sightline.training.relations.setup import source_of
from sightline.training.relations.task import RelationsTask

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data")) / "2.5vrd"
SUBTASKS = ("within_image/depth", "within_image/occlusion", "across_images/depth")
TEST_SEED = 1_000_003


LABELS: dict[str, dict[str, Any]] = {
    "boxes": {"cues": "b"},
    "boxes-classes": {"cues": "bc"},
    "within": {"study": "within"},
    "across": {"study": "across"},
    "ordered": {"model": "consistent"},
    "paper-boxes": {"cues": "b", "paper": True},
    "paper": {"paper": True},
}
BASELINES = ("bottom_edge", "location", "size", "class_prior")
"""Rules beside the networks on generated scenes."""
DETECTED = ("vipcnn", "pprfcn", "drnet", "vtranse", "paper-all-cues", "all-cues", "boxes-classes")
"""Networks that are also asked in the boxes of the detector, as in the paper's Table 5."""


def trained(options: RelationsOptions, folder: Path, seconds: float) -> Fitted:
    """Train, or go on with, one network."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    plan = plan_of(options)
    return fit(RelationsTask(plan, source_of(options, plan)), folder, seconds=seconds, device=device)[1]


def spec_of(nets: Path, name: str, cues: str, depth: Path | None) -> str:
    """The checkpoint as a spec, with the sources of its cues."""
    given = [f"depth={depth}"] if "d" in cues else []
    given += [f"backbone={nets / 'detector.safetensors'}"] if "a" in cues else []
    return f"{nets / name}.safetensors" + (f":{','.join(given)}" if given else "")


def scored(spec: str, data: Dataset, exam: RelationsExam, folder: Path) -> dict[str, Any]:
    """Scores of a network by the paper's protocol: F1 by sub-task and label, difficulty, laws, misleading cues."""
    records = run_exam(exam, candidate(spec), data, folder).read()
    found = score_records(replace(exam, protocol="paper"), records, lambda: data)
    row: dict[str, Any] = {"f1": {}, "labels": {}, "counter": {}}
    for task in SUBTASKS:
        row["f1"][task] = plain(found.at("subtasks", task, "micro", "all", "f1"))
        names = ("closer", "farther", "same", "none", "occludes", "occluded", "mutual")
        labels = {name: found.at("subtasks", task, "micro", name, "f1") for name in names}
        row["labels"][task] = {name: plain(f1) for name, f1 in labels.items() if f1 is not None}
    row["average"] = plain(found.at("average"))
    if exam.boxes != "truth":
        return row
    tables = exam.tables(data)
    marks = mark_pairs(records.rows, tables)
    row["difficulty"] = plain(by_difficulty(marks, protocol=Protocol.PAPER).f1)
    for setting in tables:
        counter = counter_heuristic(marks[setting, "depth"])
        row["counter"][setting] = {name: plain(part.accuracy) for name, part in counter.items()}
    if "within_image" in tables:
        laws = consistency(of_setting(marks, "within_image"))
        row["laws"] = {name: plain(law.share) for name, law in laws.items()}
    return row


def labels(wanted: argparse.Namespace, began: float) -> None:
    """Learn from the real labels of validation, be examined on those of test."""
    for name, row in LABELS.items():
        file = wanted.out / f"{name}.json"
        left = wanted.deadline - (time.monotonic() - began)
        if (wanted.only and name not in wanted.only.split(",")) or file.exists() or left <= 0:
            continue
        options = RelationsOptions(data=DATA, steps=wanted.steps or None, **row)
        fitted = trained(options, wanted.out / f"net-{name}", left)
        if fitted.steps < fitted.planned:
            print(f"{name}: {fitted.steps:,} of {fitted.planned:,} steps; the same command goes on")
            return
        found = scored(str(fitted.weights), sightline.open(DATA), RelationsExam(), wanted.out / f"run-{name}")
        speed = {key: value for key, value in fitted.last.items() if key.endswith("_per_s")}
        how = plain({key: getattr(options, key) for key in ("model", "paper", "cues", "study")})
        whole = {"name": name, **how, "steps": fitted.steps, "seconds": fitted.seconds, **speed, **found}
        written(file, whole, f"{fitted.seconds:.0f} s")


def taught(wanted: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Name, facts and spec of every network of a folder that relates; baselines at the end."""
    for file in sorted(wanted.nets.glob("*.json")):
        facts = json.loads(file.read_text())
        if file.stem in ("speed", "detector") or (wanted.only and file.stem not in wanted.only.split(",")):
            continue
        cues = facts.get("cues", "bc")
        if "d" in cues and wanted.depth is None:
            print(f"{file.stem}: left out, since it needs --depth")
            continue
        yield file.stem, facts, spec_of(wanted.nets, file.stem, cues, wanted.depth)
    for name in BASELINES:
        if not wanted.only or name in wanted.only.split(","):
            yield name, {}, name


def exam_for(facts: dict[str, Any], **how: Any) -> RelationsExam:
    """Within an image alone for networks that look at the box around both objects."""
    within = facts.get("model") in ("vipcnn", "pprfcn")
    return RelationsExam(settings=("within_image",), **how) if within else RelationsExam(**how)


def world(wanted: argparse.Namespace, began: float) -> None:
    """Examine what was taught on generated scenes, on scenes of another seed."""
    worlds = json.loads((wanted.nets / "detector.json").read_text())["source"]["worlds"]
    how: dict[str, Any] = {"pairs": True, "image_format": "jpeg:92", "workers": None}
    how |= {"size": wanted.size} if wanted.size else {}
    tests = {}
    for name in worlds:
        folder = wanted.out / f"test-{name.replace('/', '-')}"
        tests[name] = generate(name, folder, scenes=wanted.scenes, seed=TEST_SEED, **how)
    detector = wanted.nets / "detector.safetensors"
    for name, facts, spec in taught(wanted):
        file = wanted.out / f"{name}.json"
        if file.exists():
            continue
        found: dict[str, Any] = {}
        for tested, data in tests.items():
            for boxes in ("truth", *(("detected",) if name in DETECTED else ())):
                if time.monotonic() - began > wanted.deadline:
                    return
                given = spec if boxes == "truth" else f"{spec}+{detector}"
                exam = exam_for(facts, boxes=boxes)
                run = wanted.out / f"run-{name}-{tested.replace('/', '-')}-{boxes}"
                found.setdefault(boxes, {})[tested] = scored(given, data, exam, run)
        kept = {key: facts[key] for key in ("model", "paper", "cues", "study", "seconds") if key in facts}
        written(file, {"name": name, **kept, "on": found}, f"on {', '.join(tests)}")
    file = wanted.out / "perfect.json"
    if not file.exists() and time.monotonic() - began < wanted.deadline:
        exam, perfect = RelationsExam(boxes="perfect"), dict[str, Any]()
        for tested, data in tests.items():
            run = wanted.out / f"run-perfect-{tested.replace('/', '-')}"
            perfect[tested] = scored(str(detector), data, exam, run)
        written(file, {"name": "perfect", "on": {"perfect": perfect}}, "perfect predicates in detected boxes")


def written(file: Path, row: dict[str, Any], about: str) -> None:
    """Write a row and tell of it."""
    atomic_write(file, (json.dumps(row, indent=1) + "\n").encode())
    print(f"{row['name']}: {about}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("on", choices=("labels", "world"))
    parser.add_argument("--out", type=Path, required=True, help="folder of trainings, runs and results")
    parser.add_argument("--nets", type=Path, help="folder of networks that relations_card.py taught")
    parser.add_argument("--only", default="", help="names of rows, with commas between")
    parser.add_argument("--scenes", type=int, default=400, help="scenes of each world to be asked about")
    parser.add_argument("--size", default="", help="of their pictures, instead of the world's own; for trials")
    parser.add_argument("--steps", type=int, default=0, help="instead of each plan's own")
    parser.add_argument("--depth", type=Path, help="ONNX depth network, for cue D")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds this call may take")
    wanted = parser.parse_args()
    if wanted.on != "labels" and wanted.nets is None:
        parser.error("--nets is needed: the folder of networks that relations_card.py taught")
    wanted.out.mkdir(parents=True, exist_ok=True)
    {"labels": labels, "world": world}[wanted.on](wanted, time.monotonic())


if __name__ == "__main__":
    main()
