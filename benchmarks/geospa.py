"""GeoSpa's experiment on a CUDA card: train SORNet on scenes drawn on the card, examine it on every split.

``PYTHONPATH=src python benchmarks/geospa.py throughput`` measures the network's training and the whole way with
placing and drawing; ``… train NAME --out DIR`` trains one of the plans below, resumes it where it was interrupted,
and writes what it answered: counts a scene, from which ``benchmarks/geospa_page.py`` makes docs/results/geospa.md.
Needs torch, Lightning, safetensors, numpy, numba with numba-cuda and yaml.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

VIEWS = ("original", "top")
SPLITS = (
    "val_default", "train", "val_color", "val_material", "val_size", "val_shape", "val_op", "val_kitchen",
    "val_kitchen_plain",
)  # fmt: skip
SHOWN = {"1 view": (0,), "2 views": (0, 1)}
SCENES = 2048
EXAMINE_S = 50
"""Seconds to leave for the examination."""
BEGUN = time.time()


@dataclass(frozen=True)
class Named:
    """A plan by name: settings of `training.plan.Plan` and the world its scenes come from.

    With `kept` so many scenes are drawn once and kept on the card, shown epoch after epoch and changed each time;
    without, every step draws new ones. `augmented`: the whole augmentation, a light one, or none.
    """

    settings: dict[str, Any]
    world: str = "geospa/train"
    kept: int = 0
    ship: bool = True
    augmented: Literal["full", "light", "none"] = "full"
    about: str = ""


PLANS = {
    "base": Named(
        {"size": "base", "steps": 3350, "batch": 256, "optimizer": "muon", "rate": 8e-4, "crowded": 0.0},
        kept=98304,
        ship=False,
        augmented="light",
        about="ViT-B/32 as published",
    ),
    "base-varied": Named(
        {"size": "base", "steps": 2700, "batch": 256, "optimizer": "muon", "rate": 8e-4},
        kept=98304,
        ship=False,
        about="as base, but grey, stretched and dulled pictures too, and scenes of few colours",
    ),
    "tiny": Named(
        {
            "size": "tiny",
            "steps": 3600,
            "batch": 256,
            "optimizer": "muon",
            "rate": 2e-3,
            "compiled": False,
            "crowded": 0.0,
        },
        kept=98304,
        augmented="light",
        about="the shipped model",
    ),
    "tiny-short": Named(
        {"size": "tiny", "steps": 1200, "batch": 256, "optimizer": "muon", "rate": 2e-3, "compiled": False},
        kept=49152,
        about="as tiny, in fewer steps",
    ),
    "tiny-plain": Named(
        {"size": "tiny", "steps": 1200, "batch": 256, "optimizer": "muon", "rate": 2e-3, "compiled": False},
        kept=49152,
        augmented="none",
        about="as tiny-short, without augmentation",
    ),
    "tiny-diverse": Named(
        {"size": "tiny", "steps": 1200, "batch": 256, "optimizer": "muon", "rate": 2e-3, "compiled": False},
        world="geospa/diverse",
        kept=49152,
        about="as tiny-short, with all shapes, sizes, colours and materials of GeoSpa",
    ),
}


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f} s]", *words, flush=True)


def train(name: str, out: Path, args: argparse.Namespace) -> None:
    import torch

    from sightline.models.nets.checkpoints import dump_sornet, load_sornet
    from sightline.training.augment import Augmentation
    from sightline.training.fitting import fit
    from sightline.training.kept import FewScenes
    from sightline.training.placing import PlacedScenes
    from sightline.training.plan import Plan
    from sightline.training.sources import WorldSource
    from sightline.training.workers import placers
    from sightline.worlds import load_world

    torch.set_float32_matmul_precision("high")
    told, workers, steps, deadline = PLANS[name], args.workers, args.steps, args.deadline
    plan = Plan(**told.settings, views=VIEWS)
    if told.augmented != "full":
        plan = replace(plan, augmentation=Augmentation.light() if told.augmented == "light" else None)
    plan = plan if steps is None else replace(plan, steps=steps)
    batches = told.kept // plan.batch or (plan.steps if not deadline else 10**6)
    placers(workers).warm_up(PlacedScenes(load_world(told.world), VIEWS, seed=0, size=2, batches=1))
    source = WorldSource(
        load_world(told.world), VIEWS, batch=plan.batch, batches=batches, canonical=plan.canonical,
        seed=plan.seed, workers=workers, cuda=torch.cuda.is_available(), crowded=plan.crowded,
    )  # fmt: skip
    say(name, "ready to draw", told.about)
    if told.kept:
        source = FewScenes(source, told.kept, len(VIEWS), batch=plan.batch, seed=plan.seed)
    if deadline:
        plan = replace(plan, steps=affordable(plan, source, out, deadline - EXAMINE_S))
    say(name, f"ready to train {plan.steps} steps")
    folder = out / name

    def progress(done: int, of: int, row: Any) -> None:
        figures = ", ".join(f"{key} {row[key]:.4f}" for key in ("predicates", "right", "facts", "pointing"))
        say(f"{name} {done}/{of}: {figures}, {row['images_per_s']:.0f} images/s")

    done = fit(plan, source, folder, log_every=100, save_every=10**9, stop_after=args.stop, progress=progress)[1]
    del source  # its scenes fill most of the card
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    say(f"{name}: {done.steps} steps in {done.seconds:.0f} s")
    net, about = load_sornet(done.weights)
    net = net.to("cuda" if torch.cuda.is_available() else "cpu")
    args.results.mkdir(parents=True, exist_ok=True)
    if told.ship:
        (args.results / f"{name}.safetensors").write_bytes(dump_sornet(net, about, half=True))
    (args.results / f"{name}.csv").write_bytes((folder / "log.csv").read_bytes())
    facts = {"plan": plan.to_dict(), "world": told.world, "kept": told.kept, "about": told.about}
    examine(net, name, args.results, workers, args.scenes, {**facts, "seconds": done.seconds, "steps": done.steps})


def affordable(plan: Any, source: Any, out: Path, until: float) -> int:
    """Steps that fit in the time left, by the speed of a few steps that also compile everything."""
    from sightline.training.fitting import fit

    short = replace(plan, steps=80, warmup=10)
    _, tried = fit(
        short, source, out / "calibration" / f"{plan.size}-{time.time():.0f}", log_every=40, save_every=10**9
    )
    each = plan.batch * (len(plan.views) - plan.fewer_views * (len(plan.views) > 1))
    say(f"calibrated: {tried.last['images_per_s']:.0f} images/s")
    left = until - (time.time() - BEGUN)
    return max(50, int(left * tried.last["images_per_s"] / each / 50) * 50)


def examine(net: Any, name: str, out: Path, workers: int, scenes: int, told: dict[str, Any]) -> None:
    """Sit every split with one view and with two; counts a scene go into one file."""
    import numpy as np
    import torch

    from sightline.exams.predicates.tally import tally_many
    from sightline.training.evaluating import answers_by
    from sightline.training.sources import WorldSource
    from sightline.worlds import load_world

    counts: dict[str, Any] = {}
    batch = min(256, scenes)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor()
    about = {**told, "scenes": scenes, "torch": torch.__version__, "device": device}
    for split in SPLITS:
        source = WorldSource(
            load_world(f"geospa/{split}"), VIEWS, batch=batch, batches=scenes // batch, canonical=4, seed=0,
            workers=workers, cuda=torch.cuda.is_available(),
            crowded=told["plan"]["crowded"] if split == "train" else 0.0,  # the very scenes it learned from
        )  # fmt: skip
        found = answers_by(net, source, scenes // batch, list(SHOWN.values()))
        for words, told_by in zip(SHOWN, found, strict=True):
            for kind, said in (("", told_by.said), (" plain", told_by.plain)):
                tallied = tally_many(told_by.truth, said.astype(np.int8), told_by.present)
                counts[f"{split}|{words}{kind}"] = tallied.astype(np.uint8)
            say(name, split, words, summary(counts[f"{split}|{words}"]))
        np.savez_compressed(out / f"{name}.npz", told=json.dumps(about), **counts)


def summary(counts: Any) -> str:
    """Scene accuracy of all, spatial and geometric predicates, and scene-all accuracy, in percent."""
    import numpy as np

    from sightline.exams.predicates.tally import TN, TP

    right = counts[:, :, [TP, TN]].sum(axis=2).astype(np.float64)
    asked = counts.sum(axis=2)
    each = 100.0 * (right / asked).mean(axis=0)
    whole = 100.0 * (right == asked).all(axis=1).mean()
    parts = "/".join(f"{value:.1f}" for value in each[4:])
    three = f"all {each.mean():.2f} spatial {each[:4].mean():.2f} geometric {each[4:].mean():.2f}"
    return f"{three} ({parts}) whole {whole:.1f}"


CASES = (
    # size, views, batch, precision, how it is compiled
    ("base", 1, 512, "bf16", "by parts"),
    ("base", 2, 1024, "bf16", "by parts"),
    ("base", 2, 512, "bf16", "by parts"),
    ("base", 1, 256, "bf16", "by parts"),
    ("base", 2, 256, "bf16", "by parts"),
    ("base", 1, 256, "bf16", ""),
    ("base", 1, 128, "fp32", ""),
    ("tiny", 2, 256, "bf16", "by parts"),
)


STEPS = 8
"""Training steps in a row that are timed as one."""


def throughput(args: argparse.Namespace) -> None:
    """Images a second: the network alone, forward, backward and optimiser step; then the whole way."""
    import torch

    torch.set_float32_matmul_precision("high")
    args.results.mkdir(parents=True, exist_ok=True)
    file = args.results / "throughput.json"
    rows = {_case(row): row for row in json.loads(file.read_text())} if file.exists() else {}
    for case in CASES if args.network else (None, *CASES):
        torch.compiler.reset()
        row = whole_way(args) if case is None else measured(*case)
        say(row)
        rows[_case(row)] = row
        file.write_text(json.dumps(list(rows.values()), indent=1) + "\n")


def _case(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in ("size", "views", "batch", "precision", "compiled", "drawn"))


def whole_way(args: argparse.Namespace) -> dict[str, Any]:
    """Training of the base network on scenes placed and drawn as they are needed, augmentation and log included."""
    from sightline.training.fitting import fit
    from sightline.training.plan import Plan
    from sightline.training.sources import WorldSource
    from sightline.worlds import load_world

    plan = Plan(**{**PLANS["base"].settings, "steps": 160, "warmup": 20}, views=VIEWS)
    source = WorldSource(
        load_world("geospa/train"), VIEWS, batch=plan.batch, batches=plan.steps, canonical=plan.canonical,
        seed=plan.seed, workers=args.workers, cuda=True, crowded=plan.crowded,
    )  # fmt: skip
    _, done = fit(plan, source, args.out / f"whole-way-{time.time():.0f}", log_every=80, save_every=10**9)
    return {
        "size": "base", "views": "1 or 2", "batch": plan.batch, "precision": "bf16", "compiled": "by parts",
        "images_per_s": round(done.last["images_per_s"]), "drawn": True,
    }  # fmt: skip


def measured(size: str, views: int, batch: int, precision: str, compiled: str) -> dict[str, Any]:
    import numpy as np
    import torch

    from sightline.models.nets.sornet import Sornet, sornet_config
    from sightline.training.learning import optimizers
    from sightline.training.losses import FactsHead, predicate_loss
    from sightline.training.plan import Plan

    device = "cuda"
    plan = Plan(size=size, batch=batch, optimizer="adamw")
    net = Sornet(sornet_config(size, views=VIEWS[:views])).to(device)
    head = FactsHead(net.config.width).to(device)
    if compiled == "by parts":
        net.compile_parts()
    elif compiled:
        net.trace = torch.compile(net.trace, dynamic=False)  # type: ignore[method-assign]
    made = optimizers(net, head, plan)
    images = torch.rand(batch, views, 320, 480, 3, device=device)
    patches = torch.rand(batch, 6, 32, 32, 3, device=device)
    labels = torch.rand(batch, 6, 6, 8, device=device) > 0.5
    present = torch.ones(batch, 6, dtype=torch.bool, device=device)

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            logits = net.readout(net.embed(images, patches, tuple(range(views))))
        predicate_loss(logits, labels, present).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for one in made:
            one.step()
            one.zero_grad(set_to_none=True)

    begun = time.time()
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    first, times = time.time() - begun, []
    for _ in range(5):  # waiting after every step would count the card's idling until the next is under way
        begun = time.time()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        times.append(time.time() - begun)
    rate = STEPS * views * batch / float(np.median(times))
    return {
        "size": size, "views": views, "batch": batch, "precision": precision, "compiled": compiled,
        "images_per_s": round(rate), "first_s": round(first, 1), "drawn": False,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("throughput", "train"), help="nothing: only tell what there is")
    parser.add_argument("names", nargs="*", help="plans: " + ", ".join(PLANS))
    parser.add_argument("--out", type=Path, default=Path("geospa-out"))
    parser.add_argument("--results", type=Path, default=Path("docs/results/geospa"))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--deadline", type=float, help="choose the steps so that all is done after so many seconds")
    parser.add_argument("--stop", type=int, help="stop at this step; run again to go on")
    parser.add_argument("--scenes", type=int, default=SCENES, help="scenes a split")
    parser.add_argument("--network", action="store_true", help="throughput of the network alone, without drawing")
    parser.add_argument("--workers", type=int, default=14)
    args = parser.parse_args()
    if args.what is None:
        parser.print_help()
        return
    if args.what == "throughput":
        throughput(args)
    for name in args.names:
        train(name, args.out, args)


if __name__ == "__main__":
    main()
