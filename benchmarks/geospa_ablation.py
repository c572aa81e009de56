"""What each part of our training is worth: from GeoSpa's own recipe to ours, one step after another.

``PYTHONPATH=src python benchmarks/geospa_ablation.py --out geospa-ablation`` trains small networks on a CUDA card,
all with one view and the same number of images, two seeds each; GeoSpa's recipe besides once with the published
network, which ``--no-published`` leaves as it was measured before. Several trainings share the card. Finished ones
are not done again: call it once more where it was interrupted, on another machine too, for their counts are kept
beside the results (``--anew`` does not take them up). Prints a table and writes ``ablation.json``, from which
``docs/pages/geospa_page.py`` makes a part of docs/results/geospa.md.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geospa import source_of

SPLITS = ("val_default", "val_shape", "val_op", "val_kitchen")
GLANCES = 5
KEPT = 40_960
SEEDS = (0, 1)
OURS = {
    "size": "tiny",
    "batch": 256,
    "rate": 2e-3,
    "warmup": 100,
    "schedule": "cosine",
    "optimizer": "muon",
    "decay": 0.05,
    "clip": 1.0,
    "average": 0.99,
    "precision": "bf16",
    "near": 3.0,
}
"""Settings of the fourth step; of ours, what a training of 800 steps takes."""


@dataclass(frozen=True)
class Step:
    """One way to train.

    Attributes:
        name: As the table calls it.
        settings: Of a `SornetPlan`, beside those of the steps before it.
        also: A second world, of which every second batch is.
        light: Whether pictures are changed, a little.
        glances: Looks at a scene, when it is examined.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    also: str = ""
    light: bool = False
    glances: int = 1


STEPS = (
    Step("GeoSpa's recipe", {"size": "paper-tiny"}),
    Step("+ pose facts", {"facts": 1.0}),
    Step("+ pointing", {"pointing": 0.3}),
    Step("+ our optimiser, schedule, batch and network", OURS),
    Step("+ light augmentation", light=True),
    Step("+ invented shapes", also="geospa/vessels"),
)
GLANCED = f"+ {GLANCES} glances"
"""The last step's networks, examined with more than one look."""
PUBLISHED = "GeoSpa's recipe, published network"


def settings_of(name: str) -> tuple[dict[str, Any], Step]:
    """All settings of a step, those of the steps before it included, and what they add up to besides."""
    settings: dict[str, Any] = {}
    also, light = "", False
    if name == PUBLISHED:
        return settings, Step(name)
    for step in STEPS:
        settings |= step.settings
        also, light = step.also or also, step.light or light
        if step.name == name:
            return settings, replace(step, also=also, light=light)
    raise KeyError(name)


def cases() -> list[tuple[str, int]]:
    """Steps and seeds in the order they are trained in: the longest first, what needs other scenes last."""
    few = [step.name for step in STEPS if not settings_of(step.name)[1].also]
    more = [step.name for step in STEPS if step.name not in few]
    return [(PUBLISHED, 0), *((n, s) for s in SEEDS for n in few), *((n, s) for s in SEEDS for n in more)]


def asked(args: argparse.Namespace) -> list[tuple[str, int]]:
    """Steps and seeds that this call trains."""
    return [(name, seed) for name, seed in cases() if args.published or name != PUBLISHED]


def plan_of(name: str, seed: int, images: int) -> Any:
    """The plan of a step: so many images, one view each."""
    from sightline.training.augmentation import Augmentation
    from sightline.training.sornet.plan import PAPER, SornetPlan

    settings, step = settings_of(name)
    merged = {**PAPER, **settings, "seed": seed, "compiled": False}
    merged["augmentation"] = Augmentation.light() if step.light else None
    steps = max(1, images // merged["batch"])
    return SornetPlan(**{**merged, "steps": steps, "warmup": min(merged["warmup"], steps // 4)})


def file_of(out: Path, name: str, seed: int) -> Path:
    """Where the counts of a training go."""
    return out / f"{cases().index((name, seed)):02d}.npz"


class Drawn:
    """Scenes of a split, drawn once and asked about by every network; stands for a source."""

    def __init__(self, split: str, scenes: int, workers: int) -> None:
        import torch

        from sightline.training.sornet.layouts import PlacedScenes
        from sightline.training.sornet.sources import WorldSource
        from sightline.worlds import load_world

        size = min(256, scenes)
        placed = PlacedScenes(
            load_world(f"geospa/{split}"), ("original",), seed=0, size=size, batches=scenes // size
        )
        source = WorldSource(placed, canonical=4, workers=workers, cuda=torch.cuda.is_available())
        torch.manual_seed(0)
        self.batches = [source.scenes(loaded, (0,)) for loaded in source.loader(0, scenes // size)]

    def loader(self, start: int, stop: int) -> range:
        """Numbers of batches."""
        return range(start, stop)

    def scenes(self, number: int, _: Any) -> Any:
        """A batch, with the one view there is."""
        return self.batches[number]


def child(args: argparse.Namespace) -> None:
    """Train and examine cases, one after another, as long as there are any that nobody has begun."""
    import torch

    torch.set_float32_matmul_precision("high")
    exams: dict[str, Drawn] = {}
    source, world = None, None
    for name, seed in asked(args):
        file = file_of(args.out, name, seed)
        if file.exists() or time.time() > args.until:
            continue
        try:
            file.with_suffix(".begun").touch(exist_ok=False)
        except FileExistsError:
            continue
        step, plan = settings_of(name)[1], plan_of(name, seed, args.images)
        if source is None or world != step.also:
            source, world = None, step.also
            gc.collect()
            source = _source(plan, step, args)
        exams = exams or {split: Drawn(split, args.scenes, args.workers) for split in SPLITS}
        train_and_examine(name, plan, source, exams, file, args)


def _source(plan: Any, step: Step, args: argparse.Namespace) -> Any:
    """Scenes kept on the card; the same ones for every seed."""
    from geospa import Named

    named = Named({}, also=step.also, crowded=0.3, alike=0.2, kept=args.kept)
    return source_of(
        named, replace(plan, batch=min(256, args.kept), seed=0, canonical=args.canonical), args.workers
    )


def train_and_examine(name: str, plan: Any, source: Any, exams: Any, file: Path, args: argparse.Namespace) -> None:
    """One training; counts a scene go into a file, with what is to be said of it."""
    import torch

    from sightline.exams.predicates.counts import tally_many
    from sightline.models.nets.checkpoints import load_checkpoint
    from sightline.models.nets.sornet import Sornet
    from sightline.plain import plain
    from sightline.training.fit import fit
    from sightline.training.sornet.evaluation import answers_by
    from sightline.training.sornet.task import SornetTask

    shown = copy.copy(source)
    shown.batch, shown.seed = plan.batch, plan.seed
    folder, left = file.with_suffix(""), args.until - time.time()
    begun = time.time()
    done = fit(SornetTask(plan, shown), folder, log_every=200, save_every=10**9, seconds=left)[1]
    if done.steps < done.planned:
        print(
            f"{name}, seed {plan.seed}: {done.steps} of {done.planned} steps; goes on when called again", flush=True
        )
        return
    spent = time.time() - begun
    net = load_checkpoint(done.weights, Sornet).net.to("cuda" if torch.cuda.is_available() else "cpu")
    counts = {}
    for glances in (1, GLANCES) if name == STEPS[-1].name else (1,):
        for split, drawn in exams.items():
            said = answers_by(net, drawn, len(drawn.batches), [(0,)], glances=glances)[0]
            tallied = tally_many(said.truth, said.said.astype(np.int8), said.present)
            counts[f"{split}|{glances}"] = tallied.astype(np.uint8)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    told = {"name": name, "plan": plain(plan), "seconds": round(spent, 1), "kept": args.kept, "device": device}
    np.savez_compressed(file, told=json.dumps(told), **counts)
    right = "; ".join(f"{split} {_percent(counts[f'{split}|1']):.1f}" for split in SPLITS)
    print(f"{name}, seed {plan.seed}: {done.steps} steps in {spent:.0f} s; {right}", flush=True)


def _percent(counts: Any) -> float:
    return 100.0 * float(_each_scene(counts).mean())


def _each_scene(counts: Any, first: int = 0) -> Any:
    """Scene accuracy of every scene, over the predicates from `first` on."""
    from sightline.exams.predicates.counts import TN, TP

    part = counts[:, first:].astype(float)
    return (part[:, :, [TP, TN]].sum(axis=2) / part.sum(axis=2)).mean(axis=1)


def finished(folder: Path, args: argparse.Namespace) -> Iterator[Path]:
    """Counts in a folder that are of the plans, scenes and splits of this call."""
    from sightline.plain import plain

    for name, seed in cases():
        file = file_of(folder, name, seed)
        if not file.exists():
            continue
        with np.load(file) as content:
            told = json.loads(str(content["told"]))
            scenes = len(content[f"{SPLITS[0]}|1"])
        if (told["plan"], told["kept"], scenes) == (
            plain(plan_of(name, seed, args.images)),
            args.kept,
            args.scenes,
        ):
            yield file
        else:
            print(f"{file}: of other settings, so {name}, seed {seed}, is trained again", flush=True)


def collected(out: Path) -> list[dict[str, Any]]:
    """A row a step: figures of every seed, their mean, and the gain over the step before, paired by scene."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    told: dict[str, dict[str, Any]] = {}
    for name, seed in cases():
        file = file_of(out, name, seed)
        if file.exists():
            with np.load(file) as content:
                told[name] = json.loads(str(content["told"]))
                kinds = {"1": name, str(GLANCES): GLANCED}
                for key in set(content.files) - {"told"}:
                    split, glances = key.split("|")
                    found.setdefault(kinds[glances], {}).setdefault(seed, {})[split] = content[key]
    order = [PUBLISHED, *(step.name for step in STEPS), GLANCED]
    rows, before = [], None
    for name in (n for n in order if n in found):
        source = told[STEPS[-1].name if name == GLANCED else name]
        row: dict[str, Any] = {"step": name, "steps": source["plan"]["steps"], "batch": source["plan"]["batch"]}
        row |= {"precision": source["plan"]["precision"], "seconds": source["seconds"], "device": source["device"]}
        row |= {"images": row["steps"] * row["batch"], "kept": source["kept"], "splits": {}}
        for split in SPLITS:
            seeds = {seed: counts[split] for seed, counts in found[name].items()}
            cell = {
                part: {"seeds": [round(100 * float(_each_scene(one, first).mean()), 2) for one in seeds.values()]}
                for part, first in (("all", 0), ("geometric", 4))
            }
            if before is not None and name != PUBLISHED and set(found[before]) == set(found[name]):
                for part, first in (("all", 0), ("geometric", 4)):
                    now, was = (
                        np.mean([_each_scene(found[n][seed][split], first) for seed in seeds], axis=0)
                        for n in (name, before)
                    )
                    cell[part]["gain"] = _gain(100.0 * (now - was))
            row["splits"][split] = {"scenes": len(next(iter(seeds.values()))), **cell}
        rows.append(row)
        before = None if name == PUBLISHED else name
    return rows


def _gain(each: Any) -> list[float]:
    """Mean of differences by scene with the ends of its 95 % interval."""
    spread = 1.96 * each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else float("nan")
    return [round(float(v), 2) for v in (each.mean(), each.mean() - spread, each.mean() + spread)]


def table(rows: list[dict[str, Any]]) -> str:
    """As Markdown: scene accuracy of each seed, and the gain over the row before."""
    head = "| one view | images | " + " | ".join(SPLITS) + " |"
    lines = [head, "| --- | ---: |" + " ---: |" * len(SPLITS)]
    for row in rows:
        cells = []
        for split in SPLITS:
            cell = row["splits"][split]["all"]
            gain = "" if "gain" not in cell else " ({:+.1f}: {:+.1f} to {:+.1f})".format(*cell["gain"])
            cells.append(" / ".join(f"{value:.1f}" for value in cell["seeds"]) + gain)
        lines.append(f"| {row['step']} | {row['images']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("geospa-ablation"))
    parser.add_argument("--results", type=Path, default=Path("docs/results/geospa"))
    parser.add_argument("--images", type=int, default=204_800, help="images each training sees")
    parser.add_argument("--scenes", type=int, default=512, help="scenes a split")
    parser.add_argument("--kept", type=int, default=KEPT, help="scenes drawn once and shown again")
    parser.add_argument(
        "--canonical", type=int, default=16, help="canonical views of each object of the first world"
    )
    parser.add_argument("--anew", action="store_true", help="take up no counts that lie beside the results")
    parser.add_argument("--no-published", dest="published", action="store_false", help="keep the row it has")
    parser.add_argument("--jobs", type=int, default=4, help="trainings that share the card")
    parser.add_argument("--workers", type=int, default=3, help="processes that place scenes, for each of them")
    parser.add_argument("--deadline", type=float, default=10**6, help="stop after so many seconds")
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.until is not None:
        child(args)
        return
    args.out.mkdir(parents=True, exist_ok=True)
    counts = args.results / "ablation"
    counts.mkdir(parents=True, exist_ok=True)
    for file in () if args.anew else finished(counts, args):
        if not (args.out / file.name).exists():
            shutil.copy(file, args.out)
    for file in args.out.glob("*.begun"):
        file.unlink()
    words = [sys.executable, *sys.argv, "--until", str(time.time() + args.deadline)]
    running = [subprocess.Popen(words) for _ in range(args.jobs)]
    failed = [process.wait() for process in running]
    results = args.results / "ablation.json"
    rows = collected(args.out)
    for file in args.out.glob("*.npz"):
        shutil.copy(file, counts)
    if not args.published and results.exists():
        rows = [row for row in json.loads(results.read_text()) if row["step"] == PUBLISHED] + rows
    results.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows), flush=True)
    missing = [f"{name}, seed {seed}" for name, seed in asked(args) if not file_of(args.out, name, seed).exists()]
    if missing or any(failed):
        raise SystemExit(f"not done: {'; '.join(missing) or 'a process failed'}; call it again to go on")


if __name__ == "__main__":
    main()
