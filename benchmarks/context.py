"""The context exam's experiments on a CUDA card: models taught with and without removed objects.

``PYTHONPATH=src python benchmarks/context.py train table1 table3 --out DIR --jobs 4 --deadline 540 --pack PACK``
draws the scenes once, with every class removed in turn, into files that all processes map; four processes teach
models side by side in the order given, examine each on held-out worlds and write ``DIR/results/NAME.json``
(figures, plan, pictures seen) and ``NAME.npz`` (what the figures are counted from, by scene). A training begins
only where it can end before the deadline, by what others like it took; what is done is packed into two files.
Called again, it goes on. Groups: ``table1`` (classifiers by --net, three seeds, Full and Co-occur), ``longer``
(their baselines with twice the steps), ``table3`` (segmenters; Table 2 is counted from the same), ``table4`` (three
classes), ``table7`` (ablations), ``inpainter``, ``fills`` (the classifiers that are done, asked under several
fills), or single names; ``… list`` tells them. ``… examine NAME`` asks trained weights again. ``… throughput``
times each kind of network, alone and --jobs of them side by side, and prints how long the groups would take.
Needs torch, Lightning, transformers (segmenters), safetensors, numpy, numba with numba-cuda and yaml; OpenCV for
the in-painter's measurement.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from _context_banks import HEADER, load_bank, save_bank

BEGUN = time.time()
SEEDS = (0, 1, 2)
HELD_OUT = 1_000_003
"""Seed of the scenes that models are examined on."""
THREE = ("car", "road", "sidewalk")
ROAD = ("road", "sidewalk")
EXAMINE_S, SAVE_S, LEAST_S = 12, 5, 35
"""Seconds to leave for an examination, for saving a training that is not done, and to begin one of a new kind."""
PAINTER, FILLS = "inpainter", "fills"
"""Names of what is no training of a classifier or segmenter."""
FILLED = 512
"""Scenes of context/train that the classifiers are asked about under every fill, the first of those held out."""


@dataclass(frozen=True)
class Bank:
    """Scenes that are drawn once: worlds with numbers of scenes, and what is kept of them.

    Attributes:
        worlds: (world, scenes).
        seed: Of the scenes.
        fill: What holes are filled with.
        size: Side of the squares that pictures are resized to; None keeps them as drawn.
        classes: That are told and removed; all by default.
        labelled: Keep the class of every pixel.
        view: (width, height) of the drawn pictures; None as the world says.
        radius: By which masks grow, pixels.
    """

    worlds: tuple[tuple[str, int], ...]
    seed: int = 0
    fill: str = "exact"
    size: int | None = None
    classes: tuple[str, ...] = ()
    labelled: bool = False
    view: tuple[int, int] | None = None
    radius: int = 5


@dataclass(frozen=True)
class Run:
    """One training: its network's kind, settings of the plan, the scenes, and what it is examined on."""

    kind: str
    settings: dict[str, Any]
    bank: Bank
    tests: dict[str, Bank]
    part: str = "full"
    among: tuple[str, ...] = ()
    like: str = ""

    @property
    def banks(self) -> list[Bank]:
        """Scenes to learn from, then those to be examined on."""
        return [self.bank, *self.tests.values()]


# Full is what the seed's COCO is: of 39k pictures 30k show two classes and more.
CLASS_BANK = Bank((("context/train", 7700), ("context/single", 2300)), size=256)
CLASS_TESTS = {
    "full": Bank((("context/train", 1540), ("context/single", 460)), HELD_OUT, size=256),
    "unbiased": Bank((("context/unbiased", 800),), HELD_OUT, size=256),
    "reversed": Bank((("context/reversed", 800),), HELD_OUT, size=256),
}
# Three quarters of the world's own size; masks grow by as much of the picture.
STREET = Bank((("context/street/train", 5000),), labelled=True, view=(288, 192), radius=4)
STREET_TESTS = {
    word: replace(STREET, worlds=((f"context/street/{word}", count),), seed=HELD_OUT)
    for word, count in (("full", 500), ("with_car", 250), ("without_car", 250), ("reversed", 250))
}
LIGHT = {"backbone": "mobilenet_v2", "width": 256, "batch": 64, "steps": 500, "rate": 1e-3, "warmup": 50}
VGG = {"backbone": "vgg19", "width": 512, "batch": 64, "steps": 900, "rate": 6e-4, "warmup": 90}
METHODS = {
    "baseline": {"removal": "none"},
    "rand": {"removal": "rand"},
    "const": {"removal": "const", "share": 0.5},
}
LONGER = "longer"
"""The baseline with twice the steps: as many pictures as *rand*, none of them edited."""
SEGMENT = {"size": "r50", "batch": 16, "steps": 500, "rate": 4e-4, "warmup": 50}
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
    classes = set_for(CLASS_BANK, args), {word: set_for(bank, args) for word, bank in CLASS_TESTS.items()}
    for net, usual in (("light", LIGHT), ("vgg", VGG)):
        start = {"start": args.start} if net == "light" and args.start else {}
        for part in ("full", "cooccur"):
            for seed in SEEDS:
                for method, settings in {**METHODS, LONGER: METHODS["baseline"]}.items():
                    whole = {**usual, **start, **settings, **given(args, net), "seed": seed}
                    if method == LONGER:
                        whole["steps"] *= 2
                    like = f"{net}-{method}-{part}"
                    made[f"{like}-{seed}"] = Run("classifier", whole, *classes, part, like=like)
                    if args.inpainter and settings["removal"] != "none":
                        filled = replace(classes[0], fill=f"network:{args.inpainter}")
                        made[f"{net}-{method}-network-{part}-{seed}"] = Run(
                            "classifier", whole, filled, classes[1], part, like=like
                        )
    street, tests = set_for(STREET, args), {word: set_for(bank, args) for word, bank in STREET_TESTS.items()}
    for name, (settings, fill) in STRATEGIES.items():
        whole = {**SEGMENT, **settings, **given(args, "street")}
        like = "street-baseline" if name == "baseline" else "street-removal"
        made[f"street-{name}"] = Run("segmenter", whole, replace(street, fill=fill), tests, like=like)
    three = {word: replace(bank, classes=THREE) for word, bank in tests.items()}
    for part in ("full", "cooccur"):
        for method in ("baseline", "hardnegative-negative"):
            whole = {**SEGMENT, **STRATEGIES[method][0], **given(args, "street"), **given(args, "three")}
            bank = replace(street, classes=THREE)
            like = f"three-{method}"
            made[f"{like}-{part}"] = Run("segmenter", whole, bank, three, part, among=THREE, like=like)
    return made


def given(args: argparse.Namespace, kind: str) -> dict[str, Any]:
    """Settings of the command line: those for all, then those of ``KIND.NAME=VALUE``."""
    alone = {name: value for name, value in args.settings.items() if "." not in name}
    return alone | {
        name.partition(".")[2]: value for name, value in args.settings.items() if name.partition(".")[0] == kind
    }


def set_for(bank: Bank, args: argparse.Namespace) -> Bank:
    """The bank at the scale and the sizes of the command line."""
    size = bank.size if args.resolution is None or bank.size is None else min(bank.size, 96)
    view = args.resolution or (args.street_view if bank.labelled and args.street_view else bank.view)
    worlds = tuple((name, max(4, round(count * args.scale))) for name, count in bank.worlds)
    radius = round(view[0] / 76) if view and args.street_view and bank.labelled else bank.radius
    seed = args.examine_seed if bank.seed == HELD_OUT else bank.seed
    return replace(bank, worlds=worlds, size=size, view=view, radius=radius, seed=seed)


def groups(known: dict[str, Run], net: str) -> dict[str, list[str]]:
    """Names of the trainings of each table in order, seed by seed: a cut leaves whole comparisons."""
    return {
        "table1": [f"{net}-{m}-{p}-{s}" for p in ("full", "cooccur") for s in SEEDS for m in METHODS],
        "table1-full": [f"{net}-{m}-full-{s}" for s in SEEDS for m in METHODS],
        "table1-cooccur": [f"{net}-{m}-cooccur-{s}" for s in SEEDS for m in METHODS],
        LONGER: [f"{net}-{LONGER}-{p}-{s}" for p in ("full", "cooccur") for s in SEEDS],
        "table3": [f"street-{name}" for name in list(STRATEGIES)[:6]],
        "table4": [name for name in known if name.startswith("three-")],
        "table7": ["street-sizebased-kept", "street-sizebased-grey"],
        PAINTER: [PAINTER],
        FILLS: [FILLS],
    }


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f} s]", *words, flush=True)


def left(args: argparse.Namespace) -> float:
    """Seconds until the deadline."""
    return float(args.until - time.time())


_held: dict[Bank, Any] = {}


def drawn(bank: Bank, args: argparse.Namespace) -> Any:
    """The scenes of a bank on the device: made here, or mapped from where another process makes them.

    Of scenes to learn from only one bank is held.
    """
    import torch

    if bank not in _held:
        if not bank.seed:
            for other in [other for other in _held if not other.seed]:
                del _held[other]
            gc.collect()
        folder = bank_folder(bank, args)
        if args.part:
            waited_for(folder, args)
            _held[bank] = load_bank(folder, "cuda" if torch.cuda.is_available() else "cpu")
        else:
            _held[bank] = made(bank, args)
    return _held[bank]


def bank_folder(bank: Bank, args: argparse.Namespace) -> Path:
    """Where the scenes of a bank lie, by what they depend on but the renderer: a new one wants a new folder."""
    from sightline.worlds import load_world

    text = repr((bank, [load_world(name) for name, _ in bank.worlds]))
    name = bank.worlds[0][0].replace("/", "-")
    return Path(args.banks or args.out / "banks") / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def waited_for(folder: Path, args: argparse.Namespace) -> None:
    """Wait until another process has drawn a bank."""
    while not (folder / HEADER).exists():
        if left(args) < LEAST_S or folder.with_name(f"{folder.name}.failed").exists():
            raise RuntimeError(f"{folder}: not drawn in time")
        time.sleep(0.1)


def made(bank: Bank, args: argparse.Namespace) -> Any:
    """Draw the scenes of a bank."""
    import torch

    from _context_banks import OPENCV, opencv_painter
    from sightline.edits.removal import Removal
    from sightline.training.context.painters import painter_of
    from sightline.training.context.scenes import edited_scenes
    from sightline.worlds import load_world

    loaded = [load_world(name) for name, _ in bank.worlds]
    if bank.view is not None:
        loaded = [replace(world, resolution=bank.view) for world in loaded]
    begun = time.time()
    scenes = edited_scenes(
        dict(bank.worlds),
        loaded,
        seed=bank.seed,
        painter=opencv_painter(bank.fill) if bank.fill in OPENCV else painter_of(bank.fill),
        fill=bank.fill,
        removal=Removal(radius=bank.radius),
        classes=bank.classes,
        size=None if bank.size is None else (bank.size, bank.size),
        labelled=bank.labelled,
        workers=args.workers,
        cuda=torch.cuda.is_available(),
    )
    pictures, spent = len(scenes) + len(scenes.edits), time.time() - begun
    counted = f"{len(scenes)} scenes, {len(scenes.edits)} edits ({bank.fill})"
    names = ", ".join(name for name, _ in bank.worlds)
    say(f"drawn {names}: {counted} in {spent:.1f} s, {pictures / spent:.0f} pictures/s")
    return scenes


def draw(banks: list[Bank], args: argparse.Namespace) -> None:
    """Draw banks into files, one after the other."""
    import torch

    for bank in banks:
        folder = bank_folder(bank, args)
        if not (folder / HEADER).exists():
            try:
                begun = time.time()
                scenes = made(bank, args)
                save_bank(scenes, folder)
                say(f"{folder.name}: kept, {time.time() - begun:.1f} s in all")
            except Exception:  # the others may still be drawn
                folder.parent.mkdir(parents=True, exist_ok=True)
                folder.with_name(f"{folder.name}.failed").touch()
                traceback.print_exc()
            scenes = None
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def task_of(run: Run, args: argparse.Namespace) -> Any:
    """The task of a training, with its scenes."""
    from sightline.training.context.plan import ClassifierPlan, SegmenterPlan
    from sightline.training.context.task import ClassifierTask, EditedSource, SegmenterTask

    plan: Any = ClassifierPlan(**run.settings) if run.kind == "classifier" else SegmenterPlan(**run.settings)
    source = EditedSource(
        drawn(run.bank, args),
        batch=plan.batch,
        seed=plan.seed,
        part=run.part,
        among=run.among,  # type: ignore[arg-type]
    )
    return ClassifierTask(plan, source) if run.kind == "classifier" else SegmenterTask(plan, source)


def work(names: list[str], known: dict[str, Run], args: argparse.Namespace) -> None:
    """Teach and examine models, the next one that nobody has begun, until the deadline."""
    import torch

    torch.set_float32_matmul_precision("high")
    (args.out / "begun").mkdir(parents=True, exist_ok=True)
    (args.out / "results").mkdir(parents=True, exist_ok=True)
    while name := begin(names, known, args):
        try:
            if name == PAINTER:
                paint(args)
            elif name == FILLS:
                ask_under_fills(known, args)
            else:
                teach(name, known[name], args)
        except Exception:  # the others may still be taught
            traceback.print_exc()
            say(name, "failed")
        (args.out / "begun" / f"{name}.ended").touch()
        gc.collect()


def begin(names: list[str], known: dict[str, Run], args: argparse.Namespace) -> str:
    """Claim the first training that is not begun and can end in time, by what others like it took; "" for none."""
    kept_for_fills = LEAST_S if FILLS in names and not result_of(FILLS, args).exists() else 0
    for name in names:
        needed = expected(name, known, args) + (kept_for_fills if name != FILLS else 0)
        if not result_of(name, args).exists() and needed <= left(args):
            if name == FILLS and others_run(args):
                continue  # whoever ends last asks
            try:
                (args.out / "begun" / name).touch(exist_ok=False)
            except FileExistsError:
                continue
            return name
    return ""


def others_run(args: argparse.Namespace) -> bool:
    """Whether a training is under way in another process."""
    marks = {file.name for file in (args.out / "begun").iterdir()}
    return any(not name.endswith(".ended") and f"{name}.ended" not in marks for name in marks)


def result_of(name: str, args: argparse.Namespace) -> Path:
    """The file of a training's figures; the in-painter's own program writes its."""
    return Path(args.out / "results" / f"{'inpainter-small' if name == PAINTER else name}.json")


def expected(name: str, known: dict[str, Run], args: argparse.Namespace) -> float:
    """Seconds that a training will take with its examination: the most that one like it took."""
    if name in (PAINTER, FILLS):
        return float(args.paint) if name == PAINTER else LEAST_S
    took = [
        facts["train_seconds"] + facts["examine_seconds"] + SAVE_S
        for file in (args.out / "results").glob("*.json")
        if file.stem in known and known[file.stem].like == known[name].like
        for facts in [json.loads(file.read_text())]
        if "train_seconds" in facts
    ]
    return max(took, default=LEAST_S)


def paint(args: argparse.Namespace) -> None:
    """Teach and measure the in-painter, in a process of its own."""
    seconds = min(args.paint, left(args) - SAVE_S)
    program = Path(__file__).with_name("inpainter.py")
    words = ["train", "--name", "small", "--kept", str(round(9600 * args.scale)), "--deadline", f"{seconds:.0f}"]
    folders = ["--out", str(args.out), "--results", str(args.out / "results"), "--workers", str(args.workers)]
    subprocess.run([sys.executable, str(program), *words, *folders, *args.paint_with.split()], check=True)


def ask_under_fills(known: dict[str, Run], args: argparse.Namespace) -> None:
    """Ask all classifiers that are done about the same scenes under several fills, one verdict a case."""
    import numpy as np
    import torch

    from sightline.models.nets.checkpoints import load_checkpoint
    from sightline.training.context.evaluation import cases, class_scores

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    weights = args.out / "results" / "inpainter-small.safetensors"
    fills = ["exact", "exact-hole", "telea", "ns", *([f"network:{weights}"] if weights.exists() else [])]
    files = {
        name: args.out / name / "classifier.safetensors" for name, run in known.items() if run.kind == "classifier"
    }
    there = [name for name, file in files.items() if result_of(name, args).exists() and file.exists()]
    bank = set_for(Bank((("context/train", FILLED),), HELD_OUT, size=256), args)
    arrays: dict[str, Any] = {}
    words = []
    for fill in fills:
        word = fill.partition(":")[0]
        scenes = made(replace(bank, fill=fill), args)
        words.append(word)
        for name in there:
            net = load_checkpoint(files[name]).net.to(device, memory_format=torch.channels_last)
            found = cases(class_scores(net, scenes))
            arrays |= {f"{word}_{name}_{key}": value for key, value in found.outcomes().items()}
            arrays |= {f"{word}_{name}_without": found.without.astype(np.float32)}
            arrays |= {key: getattr(found, key).astype(np.int16) for key in ("scene", "kind", "context")}
    facts = {"fills": words, "scenes": len(scenes), "networks": there, "radius": bank.radius}
    np.savez_compressed(args.out / "results" / f"{FILLS}.npz", **arrays)
    result_of(FILLS, args).write_text(json.dumps(facts))
    say(f"{len(there)} networks asked under {', '.join(words)}")


def teach(name: str, run: Run, args: argparse.Namespace) -> None:
    """Teach one model and examine it."""
    from sightline.training.fit import fit
    from sightline.training.folder import STATE

    task, folder = task_of(run, args), args.out / name

    def progress(done: int, of: int, row: Any) -> None:
        figures = ", ".join(f"{key} {value:.4g}" for key, value in row.items() if key not in ("step", "rate"))
        say(f"{name} {done}/{of}: {figures}")

    begun = time.time()
    seconds = left(args) - EXAMINE_S - SAVE_S
    _, done = fit(task, folder, log_every=250, save_every=10**9, seconds=seconds, progress=progress)
    if done.steps < done.planned:
        say(name, f"{done.steps} of {done.planned} steps; goes on when the command is called again")
        return
    seen = sum(task.counts(step)["images"] for step in range(done.planned))
    facts = {"images_seen": seen, "train_seconds": round(spent_in(folder / "log.csv"), 1)}
    facts["whole_seconds"] = round(time.time() - begun, 1)
    conclude(name, run, folder / task.weights, facts, args)
    (folder / STATE).unlink(missing_ok=True)


def conclude(name: str, run: Run, weights: Path, facts: dict[str, Any], args: argparse.Namespace) -> None:
    """Examine weights on every test world, and write figures and what they are counted from."""
    import numpy as np
    import torch

    from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
    from sightline.training.context.evaluation import (
        cases,
        class_figures,
        class_scores,
        pixel_counts,
        pixel_figures,
    )

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
            found = cases(scores)
            kept |= {f"{word}_{key}": getattr(found, key).astype(np.int16) for key in ("scene", "kind", "context")}
            kept |= {f"{word}_{key}": value for key, value in found.outcomes().items()}
            kept |= {f"{word}_labels": scores.labels, f"{word}_scores": scores.scores.astype(np.float32)}
        else:
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                counts = pixel_counts(net, scenes)
            figures[word] = pixel_figures(counts, scenes, run.among)
            kept |= {f"{word}_{key}": narrow(value) for key, value in vars(counts).items()}
            kept |= {f"{word}_{key}": getattr(scenes, key).cpu().numpy() for key in ("labels", "source", "gone")}
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or "CPU"
    shown = net.config.image if run.kind == "segmenter" else (net.config.size, net.config.size)
    whole = {
        "name": name,
        "kind": run.kind,
        "classes": list(net.config.classes),
        "things": scenes.things,
        "part": run.part,
        "among": run.among,
        "fill": run.bank.fill,
        "pixels": list(shown),
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
    fresh = results / f"{name}.new"
    fresh.write_text(json.dumps(whole, indent=1))
    fresh.rename(results / f"{name}.json")
    say(name, summary(figures))


def narrow(values: Any) -> Any:
    """Counts and ratios in half their bytes."""
    return values.astype("int32" if values.dtype.kind == "i" else "float32")


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


def train(chosen: list[str], known: dict[str, Run], args: argparse.Namespace) -> None:
    """Teach in this process, or draw in some and teach in others side by side; then pack what is done."""
    if args.jobs == 1:
        shutil.rmtree(args.out / "begun", ignore_errors=True)
        work(chosen, known, args)
    else:
        with shared_card(args):
            side_by_side(["work"] * args.jobs, chosen, known, args)
    missing = [name for name in chosen if not result_of(name, args).exists()]
    if args.pack:
        pack(args)
    if missing:
        say("not done:", ", ".join(missing), "– call it again to go on")


def side_by_side(parts: list[str], chosen: list[str], known: dict[str, Run], args: argparse.Namespace) -> None:
    """Run parts of this program as processes, with one that draws for each kind of network, to the deadline."""
    shutil.rmtree(args.out / "begun", ignore_errors=True)
    folder = Path(args.banks or args.out / "banks")
    for mark in folder.glob("*.failed"):
        mark.unlink()
    kinds = dict.fromkeys(known[name].kind for name in chosen if name in known)
    words = [sys.executable, *sys.argv, "--until", str(args.until)]
    names = (*(f"draw-{kind}" for kind in kinds), *parts)
    running = [subprocess.Popen([*words, "--part", name]) for name in names]
    try:
        while any(process.poll() is None for process in running[len(kinds) :]):  # those that draw serve the others
            if left(args) < 1:
                say("stopped at the deadline")
                break
            if any(
                process.poll() and name.startswith("speed") for name, process in zip(names, running, strict=True)
            ):
                say("a process failed, and the others wait for it in vain")
                break
            time.sleep(0.2)
    finally:
        for process in running:
            process.terminate()


@contextmanager
def shared_card(args: argparse.Namespace) -> Iterator[None]:
    """With --mps start NVIDIA's service that lets processes compute at the same time, where that works."""
    program = shutil.which("nvidia-cuda-mps-control")
    if not args.mps or program is None:
        if args.mps:
            say("MPS: no nvidia-cuda-mps-control here")
        yield
        return
    folder = str((args.out / "mps").resolve())
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.environ |= {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
    tried = "import torch; torch.ones(8, device='cuda').sum().item()"
    try:
        subprocess.run([program, "-d"], timeout=15, check=True)
        subprocess.run([sys.executable, "-c", tried], timeout=40, check=True)
        say("MPS: on")
        works = True
    except (subprocess.SubprocessError, OSError) as error:
        say(f"MPS: off, {error}")
        works = False
    try:
        if not works:
            quit_service(program)
            del os.environ["CUDA_MPS_PIPE_DIRECTORY"], os.environ["CUDA_MPS_LOG_DIRECTORY"]
        yield
    finally:
        if works:
            quit_service(program)


def quit_service(program: str) -> None:
    """End the service."""
    try:
        subprocess.run([program], input=b"quit -t 1\n", timeout=10, check=False)
    except subprocess.SubprocessError as error:
        say(f"MPS: {error}")


def pack(args: argparse.Namespace) -> None:
    """Put all results into two files, and the in-painter's weights beside them."""
    import numpy as np

    args.pack.mkdir(parents=True, exist_ok=True)
    results = args.out / "results"
    facts = {file.stem: json.loads(file.read_text()) for file in sorted(results.glob("*.json"))}
    (args.pack / "context-card.json").write_text(json.dumps(facts))
    arrays = {}
    for name in facts:
        with np.load(results / f"{name}.npz") as content:
            arrays |= {f"{name}|{key}": content[key] for key in content.files}
    np.savez_compressed(args.pack / "context-card.npz", **arrays)
    for file in results.glob("*.safetensors"):
        shutil.copy(file, args.pack)
    sizes = ", ".join(f"{file.name} {file.stat().st_size / 1e6:.1f} MB" for file in sorted(args.pack.iterdir()))
    say(f"packed {len(facts)} results: {sizes}")


TIMED = ("light-const-full-0", "street-hardnegative-negative", "vgg-const-full-0", PAINTER)
"""What `throughput` times, one of each kind of network."""


def throughput(known: dict[str, Run], args: argparse.Namespace) -> None:
    """Time each kind of network alone and side by side; print how long the groups would take."""
    shutil.rmtree(args.out / "speed", ignore_errors=True)
    with shared_card(args):
        side_by_side([f"speed-{i}" for i in range(args.jobs)], list(TIMED), known, args)
    rates: dict[str, dict[str, float]] = {}
    for file in sorted((args.out / "speed").glob("*.json")):
        phase = json.loads(file.read_text())
        one = rates.setdefault(phase["name"], {})
        one[phase["with"]] = one.get(phase["with"], 0.0) + phase["rate"]
    for name, one in rates.items():
        say(name, ", ".join(f"{rate:.0f} pictures/s {word}" for word, rate in one.items()))
    for group, names in groups(known, args.net).items():
        of = [pictures_of(known[name]) for name in names if name in known]
        kind = next((one for one in TIMED if one.startswith(names[0].split("-")[0].replace("three", "street"))), "")
        if of and kind in rates:
            rate = max(rates[kind].values())
            say(f"{group}: {len(of)} trainings, {sum(of):,.0f} pictures, {sum(of) / rate:.0f} s at {rate:.0f}/s")


def pictures_of(run: Run) -> float:
    """Pictures that a training is shown, about: with 2.86 edits a scene, 3.42 where scenes show several classes."""
    edits = {"none": 0.0, "const": run.settings.get("share", 0.0) * (3.42 if run.part == "cooccur" else 2.86)}
    return float(run.settings["steps"] * run.settings["batch"] * (1 + edits.get(run.settings["removal"], 1.0)))


def speed(place: int, known: dict[str, Run], args: argparse.Namespace) -> None:
    """Time the networks in this process, in step with the others."""
    import torch

    torch.set_float32_matmul_precision("high")
    folder = args.out / "speed"
    folder.mkdir(parents=True, exist_ok=True)
    for name in TIMED:
        for count in (1,) if name in TIMED[2:] else (1, args.jobs):
            phase = f"{TIMED.index(name)}-{count}"
            step = stepper(name, known, args) if place < count else None
            for _ in range(8) if step else ():
                step()  # type: ignore[misc]
            meet(folder / f"{phase}-begin", place, args)
            if step is not None:
                seen, begun = 0, time.time()
                while time.time() - begun < args.seconds:
                    seen += step()
                if torch.cuda.is_available():
                    torch.cuda.synchronize()
                rate = seen / (time.time() - begun)
                word = "alone" if count == 1 else f"by {count} processes"
                facts = {"name": name, "with": word, "rate": rate}
                (folder / f"{phase}-{place}.json").write_text(json.dumps(facts))
            meet(folder / f"{phase}-end", place, args)
            step = None
            gc.collect()


def meet(folder: Path, place: int, args: argparse.Namespace) -> None:
    """Wait until all processes are here."""
    folder.mkdir(exist_ok=True)
    (folder / str(place)).touch()
    while len(list(folder.iterdir())) < args.jobs and left(args) > 0:
        time.sleep(0.02)


def stepper(name: str, known: dict[str, Run], args: argparse.Namespace) -> Any:
    """A function that does one step of a training and tells how many pictures that were."""
    import torch

    from sightline.training.inpainter.task import InpainterPlan, InpainterTask
    from sightline.training.learner import Learner

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == PAINTER:
        shrink = 1 if args.resolution is None else 4
        plan = InpainterPlan(width=22, batch=64 // shrink, side=256 // shrink)
        task: Any = InpainterTask(plan, RandomPairs((64 // shrink, 320 // shrink, 480 // shrink), device))
    else:
        task = task_of(known[name], args)
    learner = Learner(task).to(device)
    learner.mean = [mean.to(device) for mean in learner.mean]
    optimizer = learner.configure_optimizers()
    loader = iter(task.source.loader(0, 10**9))
    done = 0

    def step() -> int:
        nonlocal done
        with torch.autocast(device.type, torch.bfloat16, enabled=task.plan.precision == "bf16"):
            loss, _ = task.loss(next(loader), done)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
        return int(task.counts(done - 1)["images"])

    return step


class RandomPairs:
    """Pictures of noise in place of scenes with and without an object, to time the in-painter with."""

    def __init__(self, shape: tuple[int, int, int], device: Any) -> None:
        self.shape, self.device = shape, device

    def loader(self, start: int, stop: int) -> Any:
        """Numbers of steps."""
        return range(start, stop)

    def pairs(self, _: int) -> Any:
        """Noise with a square in the middle."""
        import torch

        from sightline.training.inpainter.pairs import ScenePairs

        before, after = (
            torch.randint(0, 256, (*self.shape, 3), dtype=torch.uint8, device=self.device) for _ in range(2)
        )
        mask = torch.zeros(self.shape, dtype=torch.bool, device=self.device)
        height, width = self.shape[1:]
        mask[:, height // 3 : height // 2, width // 3 : width // 2] = True
        return ScenePairs(before, after, mask)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "examine", "throughput", "list"))
    parser.add_argument("names", nargs="*", help="groups or names, in the order they are begun in")
    parser.add_argument("--out", type=Path, default=Path("runs/context"))
    parser.add_argument("--banks", type=Path, help="folder for the drawn scenes; by default OUT/banks")
    parser.add_argument("--pack", type=Path, help="folder for the results in two files")
    parser.add_argument("--jobs", type=int, default=1, help="trainings side by side")
    parser.add_argument("--mps", action="store_true", help="start NVIDIA's multi-process service for them")
    parser.add_argument("--deadline", type=float, default=1e9, help="seconds this call may take")
    parser.add_argument("--workers", type=int, default=0, help="processes that place scenes, for each that draws")
    parser.add_argument("--net", choices=("light", "vgg"), default="light", help="classifier of table1")
    parser.add_argument("--start", default="", help="ImageNet weights for the light classifier")
    parser.add_argument("--inpainter", default="", help="weights of an in-painter, for trainings with its fills")
    parser.add_argument("--paint", type=float, default=120.0, help="seconds for the in-painter")
    parser.add_argument("--paint-with", default="", help="further words for benchmarks/inpainter.py")
    parser.add_argument("--keep", nargs="*", default=[], help="parts of names whose weights go to the results")
    parser.add_argument("--scale", type=float, help="factor on the numbers of scenes; 1, for throughput 0.03")
    parser.add_argument(
        "--set",
        nargs="*",
        default=[],
        metavar="NAME=VALUE",
        help="other settings of plans; light.steps=300, of one kind",
    )
    parser.add_argument("--resolution", type=int, nargs=2, default=None, help="pixels of drawn views; for trials")
    parser.add_argument("--street-view", type=int, nargs=2, default=None, help="pixels of drawn streets")
    parser.add_argument(
        "--examine-seed", type=int, default=HELD_OUT, help="of the scenes examined; others to tune on"
    )
    parser.add_argument("--seconds", type=float, default=2.5, help="of each measurement of throughput")
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.scale = args.scale or (0.03 if args.what == "throughput" else 1.0)
    args.until = args.until or BEGUN + args.deadline
    args.settings = {key: json.loads(value) for key, _, value in (one.partition("=") for one in args.set)}
    for name in ("resolution", "street_view"):
        setattr(args, name, tuple(getattr(args, name) or ()) or None)
    known = runs(args)
    tables = groups(known, args.net)
    asked = list(TIMED) if args.what == "throughput" else args.names
    chosen = list(dict.fromkeys(name for given in asked for name in tables.get(given, [given])))
    odd = [name for name in chosen if name not in known and name not in (PAINTER, FILLS)]
    if args.what == "list" or odd:
        print("\n".join([*tables, *known]))
        if odd:
            parser.error(f"no such training: {odd[0]}")
    elif args.part.startswith("draw-"):
        draw(banks_of(args.part.removeprefix("draw-"), chosen, known, args), args)
    elif args.part.startswith("speed-"):
        speed(int(args.part.removeprefix("speed-")), known, args)
    elif args.part:
        work(chosen, known, args)
    elif args.what == "throughput":
        throughput(known, args)
    elif args.what == "train":
        train(chosen, known, args)
    else:
        for name in chosen:
            kind = known[name].kind
            conclude(name, known[name], args.out / name / f"{kind}.safetensors", {}, args)


def banks_of(kind: str, chosen: list[str], known: dict[str, Run], args: argparse.Namespace) -> list[Bank]:
    """Banks that trainings of a kind want which are not done, each once, in the order they are wanted."""
    names = [name for name in chosen if name in known and known[name].kind == kind]
    if args.what == "throughput":
        return list(dict.fromkeys(known[name].bank for name in names))
    wanted = [known[name] for name in names if not result_of(name, args).exists()]
    return list(dict.fromkeys(bank for run in wanted for bank in run.banks))


if __name__ == "__main__":
    main()
