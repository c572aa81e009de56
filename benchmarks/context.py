"""The context exam's experiments on a CUDA card: models taught with and without removed objects.

``PYTHONPATH=src python benchmarks/context.py train table1 table3 --out DIR --jobs 4 --deadline 540 --pack PACK``
draws the scenes once, with every class removed in turn, into files that all processes map; four processes teach
models side by side in the order given, examine each on held-out worlds and write ``DIR/results/NAME.json``
(figures, plan, pictures seen) and ``NAME.npz`` (what the figures are counted from, by scene). A training begins
only where it can end before the deadline, by what others like it took; what is done is packed into two files.
Called again, it goes on. Groups: ``table1`` (classifiers by --net, three seeds, Full and Co-occur), ``longer``
(their baselines with twice the steps), ``table3`` (segmenters; Table 2 is counted from the same), ``table4`` (three
classes), ``longer-streets`` (the baselines of both with twice the steps), ``table7`` (ablations), ``inpainter``,
``fills`` (the classifiers that are done, asked under several fills), or single names; ``… list`` tells them.
``… examine NAME`` asks trained weights again. ``… throughput`` times each kind of network, alone and --jobs of them
side by side, and prints how long the groups would take.
Needs torch, Lightning, transformers (segmenters), safetensors, numpy, numba with numba-cuda and yaml; OpenCV for
the in-painter's measurement.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from _context_banks import LEAST_S, draw, drawn, made, task_of
from _context_plan import FILLED, FILLS, HELD_OUT, PAINTER, ROAD, Bank, Run, groups, runs, set_for
from _context_processes import BEGUN, left, say, shared_card, side_by_side
from _context_speed import TIMED, speed, throughput

EXAMINE_S, SAVE_S = 12, 5
"""Seconds to leave for an examination, and for saving a training that is not done."""


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
    """Teach and measure the in-painter, in a process of its own; again where others slowed it down."""
    program = Path(__file__).with_name("inpainter.py")
    words = ["train", "--name", "small", "--kept", str(round(9600 * args.scale))]
    folders = ["--out", str(args.out), "--results", str(args.out / "results"), "--workers", str(args.workers)]
    while not result_of(PAINTER, args).exists() and left(args) > LEAST_S:
        seconds = ["--deadline", f"{min(args.paint, left(args) - SAVE_S):.0f}"]
        call = [sys.executable, str(program), *words, *seconds, *folders, *args.paint_with.split()]
        subprocess.run(call, check=True)


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
    from sightline.training.folder import STATE, trained_seconds

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
    facts = {"images_seen": seen, "train_seconds": round(trained_seconds(folder), 1)}
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


def banks_of(kind: str, chosen: list[str], known: dict[str, Run], args: argparse.Namespace) -> list[Bank]:
    """Banks that trainings of a kind want which are not done, each once, in the order they are wanted."""
    names = [name for name in chosen if name in known and known[name].kind == kind]
    if args.what == "throughput":
        return list(dict.fromkeys(known[name].bank for name in names))
    wanted = [known[name] for name in names if not result_of(name, args).exists()]
    return list(dict.fromkeys(bank for run in wanted for bank in run.banks))


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


if __name__ == "__main__":
    main()
