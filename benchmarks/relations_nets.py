"""Relations networks trained and examined: cues added one by one, settings learned from, networks that look.

    python benchmarks/relations_nets.py labels --out DIR                     # blind rows, on the real 2.5VRD labels
    python benchmarks/relations_nets.py world --nets DIR/nets --out OUT      # rows with pixels, on generated scenes
    python benchmarks/relations_nets.py photos --nets DIR/nets --out OUT     # the same networks on real photos
    python benchmarks/relations_nets.py … --only drnet --deadline 570         # some rows; go on in another call

A row that is done stands in OUT/NAME.json and is not run again; a training that the deadline cuts short goes on in
the next call. ``labels`` learns from validation and is examined on test (SIGHTLINE_DATA, else ../shared/data).
``world`` examines what benchmarks/relations_card.py taught, on scenes of the same worlds by another seed, in given
boxes and in those of the detector among the networks, where there is one; cue D needs the depth network
(``--depth``), cue A the backbone it was learned with (``--backbone``, else the detector).
``photos`` asks them about photos of SIGHTLINE_DATA: who hides whom and who is in front where annotations decide it
(ADE20K, COCOA), and of COCO's boxes, which decide nothing, whether answers contradict each other, stay the same
when the picture is changed, and agree with the depth network and with rules. Classes are taken by name; one that no
world had is an unknown class.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

import sightline
from sightline.exams.relations import Protocol, RelationsExam, describe_dataset, mark_pairs
from sightline.exams.relations.analyses import by_difficulty, consistency, counter_heuristic, grids
from sightline.exams.relations.collection import SMALLEST
from sightline.exams.relations.marks import MarkedPairs, of_setting
from sightline.exams.relations.protocols import ratio
from sightline.exams.runner import run_exam
from sightline.exams.scoring import score_records
from sightline.files import atomic_write
from sightline.generation import generate
from sightline.models import candidate
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.plain import plain
from sightline.stats import intervals
from sightline.store import Dataset, write
from sightline.store.formats import pick
from sightline.store.selection import shares
from sightline.training.fit import Fitted, fit
from sightline.training.relations.options import RelationsOptions, plan_of
from sightline.training.relations.setup import source_of
from sightline.training.relations.task import RelationsTask

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data"))
DATA = SHARED / "2.5vrd"
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
PAIRED = (
    ("ordered", "boxes-classes"),
    ("ordered-all-cues", "all-cues"),
    ("all-cues", "boxes-classes"),
    ("drnet", "boxes-classes"),
    ("paper-all-cues", "paper"),
)
"""Compared on the same scenes: an order against free answers of the same cues; looking against not looking."""
GRIDDED = ("all-cues", "boxes-classes", "drnet", "bottom_edge")
"""Whose *closer* is told by size and place, as in the paper's Figures 6 and 11."""
APART = ("far apart", "between", "close together")
"""Thirds of the pairs with a clear order, by the ratio of their depths: generated scenes have no raters."""
PHOTOS: dict[str, tuple[str, dict[str, Any]]] = {
    "ade20k": ("ade20k/ADE20K_2021_17_01", {}),
    "cocoa": ("cocoa-demo", {}),
    "coco-lightly": ("coco-lightly/panoptic_segmentation", {"images": SHARED / "coco-lightly" / "images"}),
    "coco-tiny": ("coco-tiny", {"split": "validation"}),
}
"""Sets of photos: where they lie, how they are read."""
AGREED = ("FastDepth", "bottom_edge", "blind_mlp")
"""With whom answers about photos without labels are compared."""
BASELINES = ("bottom_edge", "location", "size", "class_prior")
"""Rules beside the networks on generated scenes."""
DETECTED = ("vipcnn", "pprfcn", "drnet", "vtranse", "paper-all-cues", "all-cues", "boxes-classes")
"""Networks that are also asked in the boxes of the detector, as in the paper's Table 5."""


def trained(options: RelationsOptions, folder: Path, seconds: float) -> Fitted:
    """Train, or go on with, one network."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    plan = plan_of(options)
    return fit(RelationsTask(plan, source_of(options, plan)), folder, seconds=seconds, device=device)[1]


def spec_of(wanted: argparse.Namespace, name: str, cues: str) -> str:
    """The checkpoint as a spec, with the sources of its cues."""
    given = [f"depth={wanted.depth}"] if "d" in cues else []
    given += [f"backbone={wanted.backbone or detector_of(wanted)}"] if "a" in cues else []
    return f"{wanted.nets / name}.safetensors" + (f":{','.join(given)}" if given else "")


def detector_of(wanted: argparse.Namespace) -> Path:
    """Where the detector among the networks is, if there is one."""
    return Path(wanted.nets / "detector.safetensors")


def scored(
    spec: str,
    data: Dataset,
    exam: RelationsExam,
    folder: Path,
    depths: Mapping[tuple[str, str], float] | None = None,
    *,
    gridded: bool = False,
) -> dict[str, Any]:
    """Scores of a network by the paper's protocol: F1 by sub-task and label, difficulty, laws, misleading cues.

    Args:
        spec: The network.
        data: What it is asked about.
        exam: How.
        folder: Of the run.
        depths: Of the objects, for accuracy by how far apart two are.
        gridded: Whether to score *closer* by size and place too.
    """
    records = run_exam(exam, candidate(spec), data, folder).read()
    found = score_records(replace(exam, protocol="paper"), records, lambda: data)
    row: dict[str, Any] = {"f1": {}, "precision": {}, "recall": {}, "labels": {}, "counter": {}}
    for task in SUBTASKS:
        for score in ("precision", "recall"):
            row[score][task] = plain(found.at("subtasks", task, "micro", "all", score))
        row["f1"][task] = plain(found.at("subtasks", task, "micro", "all", "f1"))
        names = ("closer", "farther", "same", "none", "occludes", "occluded", "mutual")
        labels = {name: found.at("subtasks", task, "micro", name, "f1") for name in names}
        row["labels"][task] = {name: plain(f1) for name, f1 in labels.items() if f1 is not None}
    row["average"] = plain(found.at("average"))
    if exam.boxes != "truth":
        return row
    tables = exam.tables(data)
    marks = mark_pairs(records.rows, tables)
    if any(table.depth_votes.any() for table in tables.values()):
        row["difficulty"] = plain(by_difficulty(marks, protocol=Protocol.PAPER).f1)
    for setting in tables:
        counter = counter_heuristic(marks[setting, "depth"])
        row["counter"][setting] = {name: plain(part.accuracy) for name, part in counter.items()}
    if "within_image" in tables:
        laws = consistency(of_setting(marks, "within_image"))
        row["laws"] = {name: plain(law.share) for name, law in laws.items()}
    if depths is not None:
        row["apart"] = {setting: by_gap(marks[setting, "depth"], depths) for setting in tables}
    if gridded:
        made = {setting: grids(marks[setting, "depth"], bins=4, protocol=Protocol.PAPER) for setting in tables}
        row["grids"] = {
            setting: {
                grid.attribute: {key: plain(getattr(grid, key)) for key in ("edges", "pairs", "f1")} for grid in of
            }
            for setting, of in made.items()
        }
    return row


def depths_of(data: Dataset) -> dict[tuple[str, str], float]:
    """Mean depth in metres of what is seen of every object, by scene and object."""
    found = {}
    for scene in data:
        view = scene.views[0]
        assert view.load_ids is not None
        assert view.load_depth is not None
        ids, depth = view.load_ids(), view.load_depth()
        for i, thing in enumerate(scene.objects):
            seen = depth[(ids == i + 1) & np.isfinite(depth)]
            found[scene.id, thing.id] = float(seen.mean()) if seen.size else float("nan")
    return found


def small_share(data: Dataset) -> float:
    """Share of the boxes that cover less of their picture than the collection's filters let a detection cover."""
    small = shares(data).select((pl.col("share") < SMALLEST).mean()).collect()
    return float(small.item())


def by_gap(marked: MarkedPairs, depths: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """Accuracy on thirds of the pairs with a clear order, by how many times as far one object is as the other."""
    table = marked.pairs
    scenes = table.scenes[table.object_scene]
    metres = np.array([depths[str(s), str(o)] for s, o in zip(scenes, table.object_ids, strict=True)])
    gap = np.abs(np.log(metres[table.first] / metres[table.second]))
    clear = np.isin(table.depth, (1, 2)) & np.isfinite(gap)
    limits = np.quantile(gap[clear], (1 / 3, 2 / 3)) if clear.any() else np.zeros(2)
    part = np.where(clear, 2 - np.searchsorted(limits, gap), -1)
    counts = marked.clear_counts(part=part, parts=3)
    thirds_right = intervals(counts, lambda totals: ratio(totals[..., 0], totals[..., 1]))
    thirds = {name: plain(share) for name, share in zip(APART, thirds_right, strict=True)}
    return {"limits": np.exp(limits).tolist(), **thirds}


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
        folder = wanted.out / f"run-{name}"
        found = scored(str(fitted.weights), sightline.open(DATA), RelationsExam(), folder, gridded=name in GRIDDED)
        speed = {key: value for key, value in fitted.last.items() if key.endswith("_per_s")}
        seconds = fitted.last.get("seconds", fitted.seconds)  # of all calls
        how = plain({key: getattr(options, key) for key in ("model", "paper", "cues", "study")})
        whole = {"name": name, **how, "steps": fitted.steps, "seconds": seconds, **speed, **found}
        written(file, whole, f"{seconds:.0f} s")


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
        if "a" in cues and (learned := facts["backbone"]) != (wanted.backbone or detector_of(wanted)).name:
            print(f"{file.stem}: left out, since its cue A is {learned}'s")
            continue
        yield file.stem, facts, spec_of(wanted, file.stem, cues)
    for name in BASELINES:
        if not wanted.only or name in wanted.only.split(","):
            yield name, {}, name


def exam_for(facts: dict[str, Any], **how: Any) -> RelationsExam:
    """Within an image alone for networks that look at the box around both objects."""
    within = facts.get("model") in ("vipcnn", "pprfcn")
    return RelationsExam(settings=("within_image",), **how) if within else RelationsExam(**how)


def world(wanted: argparse.Namespace, began: float) -> None:
    """Examine what was taught on generated scenes, on scenes of another seed."""
    made = (json.loads(file.read_text()) for file in sorted(wanted.nets.glob("*.json")))
    worlds = next(facts["source"]["worlds"] for facts in made if "source" in facts)
    how: dict[str, Any] = {"pairs": True, "image_format": "jpeg:92", "workers": None}
    how |= {"size": wanted.size} if wanted.size else {}
    tests = {}
    for name in worlds:
        folder = wanted.out / f"test-{name.replace('/', '-')}"
        tests[name] = generate(name, folder, scenes=wanted.scenes, seed=TEST_SEED, **how)
    metres = {name: depths_of(data) for name, data in tests.items()}
    asked = {name: describe_dataset(data, resamples=1).to_dict() for name, data in tests.items()}
    about = {"seed": TEST_SEED, "worlds": asked, "small": {name: small_share(data) for name, data in tests.items()}}
    written(wanted.out / "tests.json", {"name": "tests", **about}, "what is asked about")
    detector = detector_of(wanted)
    for name, facts, spec in taught(wanted):
        file = wanted.out / f"{name}.json"
        if file.exists():
            continue
        found: dict[str, Any] = {}
        for tested, data in tests.items():
            for boxes in ("truth", *(("detected",) if name in DETECTED and detector.exists() else ())):
                if time.monotonic() - began > wanted.deadline:
                    return
                given = spec if boxes == "truth" else f"{spec}+{detector}"
                exam, run = exam_for(facts, boxes=boxes), run_of(wanted, name, tested, boxes)
                more: dict[str, Any] = {"gridded": name in GRIDDED, "depths": metres[tested]}
                row = scored(given, data, exam, run, **(more if boxes == "truth" else {}))
                found.setdefault(boxes, {})[tested] = row
        told = ("model", "paper", "cues", "backbone", "study", "seconds", "device", "plan", "source", "last")
        kept = {key: facts[key] for key in told if key in facts}
        written(file, {"name": name, **kept, "on": found}, f"on {', '.join(tests)}")
    file = wanted.out / "perfect.json"
    if detector.exists() and not file.exists() and time.monotonic() - began < wanted.deadline:
        exam, perfect = RelationsExam(boxes="perfect"), dict[str, Any]()
        for tested, data in tests.items():
            perfect[tested] = scored(str(detector), data, exam, run_of(wanted, "perfect", tested, "perfect"))
        written(file, {"name": "perfect", "on": {"perfect": perfect}}, "perfect predicates in detected boxes")
    file = wanted.out / "paired.json"
    pairs = json.loads(file.read_text())["on"] if file.exists() else {}
    for one, other in PAIRED:
        both = {place: [run_of(wanted, name, place, "truth") for name in (one, other)] for place in tests}
        if all((wanted.out / f"{name}.json").exists() for name in (one, other)) and all(
            run.exists() for runs in both.values() for run in runs
        ):
            pairs[f"{one} minus {other}"] = {place: minus(*runs, tests[place]) for place, runs in both.items()}
    if pairs:
        written(file, {"name": "paired", "on": pairs}, f"{len(pairs)} comparisons")


def run_of(wanted: argparse.Namespace, name: str, tested: str, boxes: str) -> Path:
    """The folder of a run."""
    return Path(wanted.out / f"run-{name}-{tested.replace('/', '-')}-{boxes}")


def minus(one: Path, other: Path, data: Dataset) -> dict[str, Any]:
    """Differences of F1, all labels together, of two runs on the same scenes."""
    found = sightline.compare(one, other, data, protocol="paper").comparisons
    return {row.name: plain(row) for row in found if not row.name.startswith(" ")}


def photos(wanted: argparse.Namespace, began: float) -> None:
    """Ask what was taught on worlds about real photos, within an image; rows that are there stay."""
    nets = {name: spec for name, facts, spec in taught(wanted) if facts and facts.get("study") != "across"}
    known = set(load_checkpoint(wanted.nets / f"{next(iter(nets))}.safetensors").net.config.classes)
    if wanted.depth is not None:
        nets["FastDepth"] = f"depth:onnx={wanted.depth}"
    for name, (place, how) in PHOTOS.items():
        file = wanted.out / f"photos-{name}.json"
        rows = json.loads(file.read_text())["models"] if file.exists() else {}
        if not nets.keys() - rows.keys():
            continue
        if time.monotonic() - began > wanted.deadline:
            return
        folder = wanted.out / f"photos-{name}"
        data = sightline.open(folder) if folder.exists() else None
        data = data or write(
            pick(SHARED / place).read(SHARED / place, **how), folder, source=name, copy=True, ordered=True
        )
        things = data.tables().objects["category"].to_list()
        row: dict[str, Any] = {"name": f"photos-{name}", "photos": len(data), "objects": len(things)}
        row["classes"], row["known_classes"] = len(set(things)), sorted(set(things) & known)
        row["known_objects"] = sum(thing in known for thing in things)
        labelled = data.tables().relations.height > 0
        exam = RelationsExam(settings=("within_image",), no_truth=not labelled)
        limit = None if labelled else wanted.photos
        asked = {net: spec for net, spec in nets.items() if net not in rows or net in AGREED}
        asked |= {} if labelled else {"blind_mlp": "blind_mlp"}  # elsewhere it is among the baselines
        runs = wanted.out / f"runs-photos-{name}"
        results = sightline.examine([*asked.values()], data, exam, out=runs, names=[*asked], limit=limit)
        found = photo_rows(results.exams[0].to_dict())
        row["models"] = rows | {model: of for model, of in found.items() if model not in rows}
        written(file, row, f"{len(asked)} networks on {len(data)} photos")


def photo_rows(told: Mapping[str, Any]) -> dict[str, Any]:
    """Of every model: F1 by sub-task and label; without labels answers that stay and agree, by sub-task."""
    rows: dict[str, Any] = {}
    for model in (*told["models"], *told["baselines"].values()):
        scores = model["scores"]
        if "subtasks" in scores:
            tasks = {task: of["micro"] for task, of in scores["subtasks"].items()}
            rows[model["model"]] = {
                t: {label: of["f1"] for label, of in micro.items()} for t, micro in tasks.items()
            }
        else:
            rows[model["model"]] = {"changes": scores["changes"], "agreement": {}}
    for pair in told.get("consistency", {}).get("agreement", ()):
        for one, other in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
            if other in AGREED:
                rows[one]["agreement"][other] = pair["subtasks"]
    return rows


def written(file: Path, row: dict[str, Any], about: str) -> None:
    """Write a row and tell of it."""
    atomic_write(file, (json.dumps(row, indent=1) + "\n").encode())
    print(f"{row['name']}: {about}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("on", choices=("labels", "world", "photos"))
    parser.add_argument("--out", type=Path, required=True, help="folder of trainings, runs and results")
    parser.add_argument("--nets", type=Path, help="folder of networks that relations_card.py taught")
    parser.add_argument("--only", default="", help="names of rows, with commas between")
    parser.add_argument("--scenes", type=int, default=400, help="scenes of each world to be asked about")
    parser.add_argument("--size", default="", help="of their pictures, instead of the world's own; for trials")
    parser.add_argument("--photos", type=int, default=30, help="photos of a set without labels to be asked about")
    parser.add_argument("--steps", type=int, default=0, help="instead of each plan's own")
    parser.add_argument("--depth", type=Path, help="ONNX depth network, for cue D")
    parser.add_argument("--backbone", type=Path, help="checkpoint that cue A was learned with; else the detector")
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds this call may take")
    wanted = parser.parse_args()
    if wanted.on != "labels" and wanted.nets is None:
        parser.error("--nets is needed: the folder of networks that relations_card.py taught")
    wanted.out.mkdir(parents=True, exist_ok=True)
    {"labels": labels, "world": world, "photos": photos}[wanted.on](wanted, time.monotonic())


if __name__ == "__main__":
    main()
