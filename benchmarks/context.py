"""The context exam's experiments on a CUDA card: models taught with and without removed objects.

``PYTHONPATH=src python benchmarks/context.py train table1 --out DIR --deadline 1500`` draws the scenes once, with
every class removed in turn, teaches the models of the seed's Table 1 one after the other, examines each on held-out
worlds and writes ``DIR/results/NAME.json`` (figures, plan, pictures seen) and ``NAME.npz`` (scores and counts a
scene). Groups are ``table1`` (classifiers, three seeds), ``table3`` (segmenters; Table 2 is counted from the same),
``table4`` (three classes), ``table7`` (ablations), or single names, which ``… list`` tells. What the deadline cuts
off goes on when the command is called again. ``… examine NAME`` asks trained weights again; ``… throughput`` times
a few steps of each network.
Needs torch, Lightning, transformers (segmenters), safetensors, numpy, numba with numba-cuda and yaml.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

BEGUN = time.time()
SEEDS = (0, 1, 2)
HELD_OUT = 1_000_003
"""Seed of the scenes that models are examined on."""
THREE = ("car", "road", "sidewalk")
ROAD = ("road", "sidewalk")
EXAMINE_S, SAVE_S = 25, 10
"""Seconds to leave for an examination, and for saving a training that is not done."""


@dataclass(frozen=True)
class Bank:
    """Scenes that are drawn once: worlds with numbers of scenes, and what is kept of them."""

    worlds: tuple[tuple[str, int], ...]
    seed: int = 0
    fill: str = "exact"
    size: int | None = None
    classes: tuple[str, ...] = ()
    labelled: bool = False


@dataclass(frozen=True)
class Run:
    """One training: its network's kind, settings of the plan, the scenes, and what it is examined on."""

    kind: str
    settings: dict[str, Any]
    bank: Bank
    tests: dict[str, Bank]
    part: str = "full"
    among: tuple[str, ...] = ()
    about: str = ""


# Full is what the seed's COCO is: of 39k pictures 30k show two classes and more.
CLASS_BANK = Bank((("context/train", 15_400), ("context/single", 4_600)), size=256)
CLASS_TESTS = {
    "full": Bank((("context/train", 1540), ("context/single", 460)), HELD_OUT, size=256),
    "unbiased": Bank((("context/unbiased", 1000),), HELD_OUT, size=256),
    "reversed": Bank((("context/reversed", 1000),), HELD_OUT, size=256),
}
STREET = Bank((("context/street/train", 8000),), labelled=True)
STREET_TESTS = {
    "full": Bank((("context/street/full", 800),), HELD_OUT, labelled=True),
    "with_car": Bank((("context/street/with_car", 400),), HELD_OUT, labelled=True),
    "without_car": Bank((("context/street/without_car", 400),), HELD_OUT, labelled=True),
    "reversed": Bank((("context/street/reversed", 400),), HELD_OUT, labelled=True),
}
LIGHT = {"backbone": "mobilenet_v2", "width": 256, "batch": 128, "steps": 1500, "rate": 1e-3, "warmup": 100}
VGG = {"backbone": "vgg19", "width": 512, "batch": 96, "steps": 2500, "rate": 6e-4, "warmup": 200}
METHODS = {
    "baseline": {"removal": "none"},
    "rand": {"removal": "rand"},
    "const": {"removal": "const", "share": 0.5, "hinge": 1.0},
}
SEGMENT = {"size": "r50", "batch": 32, "steps": 1500, "rate": 4e-4, "warmup": 100}
STRATEGIES = {
    "baseline": ({"removal": "none"}, "exact"),
    "random-ignore": ({"removal": "random"}, "exact"),
    "sizebased-ignore": ({"removal": "sizebased"}, "exact"),
    "hardnegative-ignore": ({"removal": "hardnegative"}, "exact"),
    "sizebased-negative": ({"removal": "sizebased", "negative": 1.0}, "exact"),
    "hardnegative-negative": ({"removal": "hardnegative", "negative": 1.0}, "exact"),
    "sizebased-kept": ({"removal": "sizebased"}, "kept"),
    "sizebased-grey": ({"removal": "sizebased"}, "grey"),
}


def runs(args: argparse.Namespace) -> dict[str, Run]:
    """Every training by name."""
    made: dict[str, Run] = {}
    for net, usual in (("light", LIGHT), ("vgg", VGG)):
        start = {"start": args.start} if net == "light" and args.start else {}
        for part in ("full", "cooccur"):
            for seed in SEEDS:
                for method, settings in METHODS.items():
                    whole = {**usual, **start, **settings, "seed": seed}
                    made[f"{net}-{method}-{part}-{seed}"] = Run("classifier", whole, CLASS_BANK, CLASS_TESTS, part)
                    if args.inpainter and method != "baseline":
                        filled = replace(CLASS_BANK, fill=f"network:{args.inpainter}")
                        made[f"{net}-{method}-network-{part}-{seed}"] = Run(
                            "classifier", whole, filled, CLASS_TESTS, part
                        )
    for name, (settings, fill) in STRATEGIES.items():
        made[f"street-{name}"] = Run("segmenter", {**SEGMENT, **settings}, replace(STREET, fill=fill), STREET_TESTS)
    three = {name: replace(bank, classes=THREE) for name, bank in STREET_TESTS.items()}
    for part in ("full", "cooccur"):
        for method in ("baseline", "hardnegative-negative"):
            settings = {**SEGMENT, **STRATEGIES[method][0]}
            bank = replace(STREET, classes=THREE)
            made[f"three-{method}-{part}"] = Run("segmenter", settings, bank, three, part, among=THREE)
    return made


def groups(known: dict[str, Run], net: str) -> dict[str, list[str]]:
    """Names of the trainings of each table; seed by seed, so that a cut leaves whole comparisons."""
    first = [f"{net}-{m}-{p}-{s}" for s in SEEDS for p in ("full", "cooccur") for m in METHODS]
    return {
        "table1": first,
        "table3": [f"street-{name}" for name in list(STRATEGIES)[:6]],
        "table4": [name for name in known if name.startswith("three-")],
        "table7": ["street-sizebased-kept", "street-sizebased-grey"],
    }


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f} s]", *words, flush=True)


def drawn(bank: Bank, args: argparse.Namespace) -> Any:
    """The scenes of a bank; those of the last few are kept."""
    return _drawn(bank, args.scale, args.workers, args.resolution)


@lru_cache(maxsize=12)
def _drawn(bank: Bank, scale: float, workers: int, resolution: tuple[int, int] | None) -> Any:
    import torch

    from sightline.training.context.painters import painter_of
    from sightline.training.context.scenes import edited_scenes
    from sightline.worlds import load_world

    worlds = {name: max(4, round(count * scale)) for name, count in bank.worlds}
    loaded = [load_world(name) for name in worlds]
    if resolution is not None:
        loaded = [replace(world, resolution=resolution) for world in loaded]
    side = bank.size if scale >= 1 or bank.size is None else min(bank.size, 96)
    begun = time.time()
    scenes = edited_scenes(
        worlds,
        loaded,
        seed=bank.seed,
        painter=painter_of(bank.fill),
        fill=bank.fill,
        classes=bank.classes,
        size=None if side is None else (side, side),
        labelled=bank.labelled,
        workers=workers,
        cuda=torch.cuda.is_available(),
    )
    pictures = len(scenes) + len(scenes.edits)
    spent = time.time() - begun
    counted = f"{len(scenes)} scenes, {len(scenes.edits)} edits ({bank.fill})"
    say(f"drawn {', '.join(worlds)}: {counted} in {spent:.0f} s, {pictures / spent:.0f} pictures/s")
    return scenes


def task_of(run: Run, args: argparse.Namespace) -> Any:
    """The task of a training, with its scenes."""
    from sightline.training.context.plan import ClassifierPlan, SegmenterPlan
    from sightline.training.context.task import ClassifierTask, EditedSource, SegmenterTask

    settings = {**run.settings, **args.settings}
    plan: Any = ClassifierPlan(**settings) if run.kind == "classifier" else SegmenterPlan(**settings)
    source = EditedSource(
        drawn(run.bank, args),
        batch=plan.batch,
        seed=plan.seed,
        part=run.part,
        among=run.among,  # type: ignore[arg-type]
    )
    return ClassifierTask(plan, source) if run.kind == "classifier" else SegmenterTask(plan, source)


def train(names: list[str], known: dict[str, Run], args: argparse.Namespace) -> None:
    """Teach and examine models, one after the other, until the deadline."""
    import torch

    from sightline.training.fit import fit

    torch.set_float32_matmul_precision("high")
    results = args.out / "results"
    results.mkdir(parents=True, exist_ok=True)
    for name in names:
        if (results / f"{name}.json").exists():
            say(name, "is done")
            continue
        left = args.deadline - (time.time() - BEGUN)
        if left < EXAMINE_S + SAVE_S + 20:
            say(name, "and what follows goes on when the command is called again")
            return
        task, folder = task_of(known[name], args), args.out / name

        def progress(done: int, of: int, row: Any, name: str = name) -> None:
            figures = ", ".join(f"{key} {value:.4f}" for key, value in row.items() if key not in ("step", "rate"))
            say(f"{name} {done}/{of}: {figures}")

        left = args.deadline - (time.time() - BEGUN) - EXAMINE_S - SAVE_S
        _, done = fit(task, folder, log_every=200, save_every=10**9, seconds=left, progress=progress)
        if done.steps < done.planned:
            say(name, f"{done.steps} of {done.planned} steps; goes on when the command is called again")
            return
        seen = sum(task.counts(step)["images"] for step in range(done.planned))
        facts = {"images_seen": seen, "train_seconds": round(spent_in(folder / "log.csv"), 1)}
        conclude(name, known[name], folder / task.weights, facts, args)
        del task
        gc.collect()


def conclude(name: str, run: Run, weights: Path, facts: dict[str, Any], args: argparse.Namespace) -> None:
    """Examine weights on every test world, and write figures and what they are counted from."""
    import numpy as np
    import torch

    from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
    from sightline.training.context.evaluation import class_figures, class_scores, pixel_counts, pixel_figures

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net, about = load_checkpoint(weights)
    net.to(device, memory_format=torch.channels_last)
    figures: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    begun = time.time()
    for word, bank in run.tests.items():
        scenes = drawn(bank, args)
        if run.kind == "classifier":
            scores = class_scores(net, scenes)
            figures[word] = class_figures(scores, scenes.classes)
            kept |= {f"{word}_{key}": value for key, value in scores.arrays().items()}
        else:
            counts = pixel_counts(net, scenes)
            figures[word] = pixel_figures(counts, scenes, run.among)
            kept |= {f"{word}_{key}": value for key, value in vars(counts).items()}
            kept |= {f"{word}_{key}": getattr(scenes, key).cpu().numpy() for key in ("labels", "source", "gone")}
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor()
    whole = {
        "name": name,
        "classes": list(net.config.classes),
        "part": run.part,
        "fill": run.bank.fill,
        **facts,
        "device": where,
        "torch": torch.__version__,
        "examine_seconds": round(time.time() - begun, 1),
        "training": about,
        "figures": figures,
    }
    results = args.out / "results"
    results.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(results / f"{name}.npz", **kept)
    if args.keep and any(part in name for part in args.keep):
        (results / f"{name}.safetensors").write_bytes(dump_checkpoint(net, about, half=True))
    (results / f"{name}.json").write_text(json.dumps(whole, indent=1))
    say(name, summary(figures))


def summary(figures: dict[str, Any]) -> str:
    """The figures of one line."""
    return "; ".join(f"{word}: {', '.join(_figures(one))}" for word, one in figures.items())


def _figures(one: dict[str, Any]) -> Iterator[str]:
    if "v_min" in one:
        yield f"V^min {_shown(one['v_min']['mean'])}, V^mean {_shown(one['v_mean']['mean'])}"
        yield f"chance {_shown(one['chance']['v_min'])}"
        yield "mAP " + " ".join(f"{word} {_shown(value)}" for word, value in one["map"].items())
        return
    yield "mIoU " + " ".join(f"{word} {_shown(value)}" for word, value in one["miou"].items())
    yield "IoU " + " ".join(f"{name} {_shown(one['iou']['full'].get(name))}" for name in ROAD)
    yield "max AR " + " ".join(f"{name} {_shown(one['ar']['max'].get(name))}" for name in ROAD)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def spent_in(log: Path) -> float:
    """Seconds in the steps of a log, over all calls that wrote it: each begins to count anew."""
    columns, *rows = log.read_text().splitlines()
    place = columns.split(",").index("seconds")
    counts = [float(row.split(",")[place]) for row in rows]
    return sum(one for one, after in zip(counts, [*counts[1:], 0.0], strict=True) if after < one)


def throughput(known: dict[str, Run], args: argparse.Namespace) -> None:
    """Time a few steps of each network, with edits: pictures a second."""
    from sightline.training.fit import fit

    args.scale, args.settings = min(args.scale, 0.03), {**args.settings, "steps": 40, "warmup": 5}
    for name in ("light-const-full-0", "vgg-const-full-0", "street-hardnegative-negative"):
        folder = args.out / "throughput" / f"{name}-{time.time():.0f}"
        done = fit(task_of(known[name], args), folder, log_every=20, save_every=10**9)[1]
        say(name, f"{done.last['images_per_s']:.0f} pictures/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "examine", "throughput", "list"))
    parser.add_argument("names", nargs="*", help="groups or names")
    parser.add_argument("--out", type=Path, default=Path("runs/context"))
    parser.add_argument("--deadline", type=float, default=1e9, help="seconds this call may take")
    parser.add_argument("--workers", type=int, default=0, help="processes that place scenes")
    parser.add_argument("--net", choices=("light", "vgg"), default="light", help="classifier of table1")
    parser.add_argument("--start", default="", help="ImageNet weights for the light classifier")
    parser.add_argument("--inpainter", default="", help="weights of an in-painter, for trainings with its fills")
    parser.add_argument("--keep", nargs="*", default=[], help="parts of names whose weights go to the results")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the numbers of scenes; for trials")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="other settings of the plan")
    parser.add_argument("--resolution", type=int, nargs=2, default=None, help="pixels of drawn views; for trials")
    args = parser.parse_args()
    args.settings = {key: json.loads(value) for key, _, value in (one.partition("=") for one in args.set)}
    args.resolution = None if args.resolution is None else tuple(args.resolution)
    known = runs(args)
    tables = groups(known, args.net)
    chosen = [name for given in args.names for name in tables.get(given, [given])]
    odd = [name for name in chosen if name not in known]
    if args.what == "list" or odd:
        print("\n".join([*tables, *known]))
        if odd:
            parser.error(f"no such training: {odd[0]}")
    elif args.what == "throughput":
        throughput(known, args)
    elif args.what == "train":
        train(chosen, known, args)
    else:
        for name in chosen:
            kind = known[name].kind
            conclude(name, known[name], args.out / name / f"{kind}.safetensors", {}, args)


if __name__ == "__main__":
    main()
