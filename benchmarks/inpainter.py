"""Train the context paper's in-painting network on pictures of worlds, and measure it on worlds it never saw.

``PYTHONPATH=src python benchmarks/inpainter.py train --deadline 575 --out runs --results docs/results/context``
trains within that many seconds: pictures are drawn on the card with and without an object, placed by worker
processes; with ``--kept N`` so many pairs are drawn first and shown again and again, cut and holed anew. It chooses
the number of steps by the speed of a few, goes on where it was interrupted when called again with the same folders,
and at the end writes ``inpainter-NAME.safetensors`` (half precision), ``inpainter-NAME.json`` with the figures and
``inpainter-NAME.npz`` with those of every hole, under OpenCV's fills too.
``… measure --weights FILE`` measures weights again. Without a card all is slow.
Needs torch, Lightning, safetensors, numpy, OpenCV, numba (with numba-cuda on a card) and yaml.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

HELD_OUT = ("context/unbiased", "context/reversed", "geospa/val_op", "geospa/val_kitchen", "street")
SEED_OF_HELD_OUT = 1_000_003
MEASURE_S, SAVE_S = 25, 6
"""Seconds to leave for the measurement, and for saving a training that is not done."""
LARGEST = 16e6
"""Bytes of weights that may come with Sightline."""
OTHERS = ("flat", "telea", "ns")
"""What the network is compared with: the mean colour around the hole, and OpenCV's two."""
BEGUN = time.time()


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f} s]", *words, flush=True)


def train(args: argparse.Namespace) -> None:
    import torch

    from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
    from sightline.models.nets.inpainter import WIDTHS, Inpainter
    from sightline.plain import plain
    from sightline.training.fit import fit
    from sightline.training.folder import trained_seconds
    from sightline.training.inpainter.pairs import KeptPairs
    from sightline.training.inpainter.setup import WORLDS
    from sightline.training.inpainter.task import InpainterPlan, InpainterTask

    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    cuda = torch.cuda.is_available()
    folder = args.out / f"inpainter-{args.name}"
    plan = InpainterPlan(
        width=WIDTHS[args.name] if args.width is None else args.width,
        batch=args.batch,
        side=args.side,
        seed=args.seed,
        adversarial=args.adversarial,
        precision="bf16" if cuda else "fp32",
    )
    source = source_of(args.worlds or WORLDS, plan.seed, plan.batch, args)
    if args.kept:
        source = KeptPairs(source, -(-args.kept // plan.batch))
        say(f"{args.kept} pairs drawn")
    if (folder / "plan.json").exists():  # it goes on
        steps = json.loads((folder / "plan.json").read_text())["plan"]["steps"]
    else:
        steps = args.steps or affordable(plan, source, args)
    plan = replace(plan, steps=steps, warmup=min(plan.warmup, max(1, steps // 10)))
    say(f"{args.name}: {steps} steps of {plan.batch} pictures of {plan.side}×{plan.side} pixels")

    def progress(done: int, of: int, row: Any) -> None:
        figures = ", ".join(f"{key} {row[key]:.4f}" for key in InpainterTask.metrics)
        say(f"{done}/{of}: {figures}, {row['images_per_s']:.0f} images/s")

    left = args.deadline - SAVE_S - (time.time() - BEGUN) if args.deadline else float("inf")
    task = InpainterTask(plan, source)
    done = fit(task, folder, log_every=args.log_every, save_every=10**9, seconds=left, progress=progress)[1]
    if done.steps < done.planned:
        say(f"{done.steps} of {done.planned} steps; goes on when it is called again")
        return
    net, about = load_checkpoint(done.weights, Inpainter)
    args.results.mkdir(parents=True, exist_ok=True)
    kept = args.results / f"inpainter-{args.name}.safetensors"
    content = dump_checkpoint(net, about, half=True)
    kept.write_bytes(content)
    if len(content) > LARGEST:
        say(f"{kept}: {len(content) / 1e6:.1f} MB, more than the {LARGEST / 1e6:.0f} MB that may ship")
    facts = {"plan": plain(plan), "source": source.facts(), "images_seen": steps * plan.batch}
    facts["train_seconds"] = round(trained_seconds(folder), 1)
    measure(net, args, facts | {"bytes": len(content), "images_per_s": done.last.get("images_per_s")})


def source_of(worlds: Any, seed: int, batch: int, args: argparse.Namespace) -> Any:
    import torch

    from sightline.training.inpainter.pairs import PairSource, PairStream
    from sightline.worlds import load_world

    drawn = [replace(load_world(name), resolution=args.size) if args.size else name for name in worlds]
    return PairSource(
        PairStream(drawn, seed=seed, size=batch, cuda=torch.cuda.is_available()), workers=args.workers
    )


def affordable(plan: Any, source: Any, args: argparse.Namespace) -> int:
    """Steps that fit into the time left, by the speed of a few that also compile everything."""
    from sightline.training.fit import fit
    from sightline.training.inpainter.task import InpainterTask

    if not args.deadline:
        return int(plan.steps)
    folder = args.out / f"calibration-{time.time():.0f}"
    _, tried = fit(InpainterTask(replace(plan, steps=40, warmup=1), source), folder, log_every=20, save_every=10**9)
    shutil.rmtree(folder)
    speed = tried.last["images_per_s"]
    left = args.deadline - MEASURE_S - SAVE_S - (time.time() - BEGUN)
    say(f"calibrated: {speed:.0f} images/s, {left:.0f} s left")
    return max(20, int(0.95 * left * speed / plan.batch / 20) * 20)


def measure(net: Any, args: argparse.Namespace, facts: dict[str, Any]) -> None:
    """PSNR and mean absolute error in the hole on worlds that were not learned from, beside other fills."""
    import numpy as np
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = net.to(device).eval()
    arrays: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for world in args.held_out or HELD_OUT:
        each = on_world(net, world, args)
        arrays |= {f"{world}|{name}": values for name, values in each.items()}
        found[world] = {name: float(values.mean()) for name, values in each.items()}
        found[world]["holes"] = len(each["psnr"])
        others = ", ".join(f"{fill} {found[world][f'psnr_{fill}']:.2f}" for fill in OTHERS)
        say(f"{world}: PSNR in the hole {found[world]['psnr']:.2f} dB; {others}; n {found[world]['holes']}")
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    whole = {**facts, "held_out": found, "torch": torch.__version__, "device": name, "name": args.name}
    args.results.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.results / f"inpainter-{args.name}.npz", **arrays)
    (args.results / f"inpainter-{args.name}.json").write_text(json.dumps(whole, indent=1) + "\n")


def on_world(net: Any, world: str, args: argparse.Namespace) -> dict[str, Any]:
    """Figures of every hole: an object's grown mask, to be filled with the scene without it."""
    import torch

    from sightline.training.inpainter.examples import examples

    batch = min(32, args.scenes)
    source = source_of([world], SEED_OF_HELD_OUT, batch, args)
    rows = []
    torch.manual_seed(0)
    for loaded in source.loader(0, -(-args.scenes // batch)):
        made = examples(source.pairs(loaded), args.side, objects=1.0, moved=0.0, changed=False)
        with torch.inference_mode():
            painted = net(made.pictures, made.holes).float()
        filled = {"": painted, "_flat": flat(made).expand_as(painted)}
        filled |= {f"_{name}": fill for name, fill in by_opencv(made).items()}
        pixels = 3 * made.holes.sum((1, 2, 3))
        for name, fill in filled.items():
            away = (fill - made.targets) / 2 * made.holes
            square = away.square().sum((1, 2, 3)) / pixels
            rows.append((f"psnr{name}", -10 * square.clamp(min=1e-7).log10()))
            rows.append((f"error{name}", 255 * away.abs().sum((1, 2, 3)) / pixels))
        rows.append(("share", made.holes.mean((1, 2, 3))))
    names = dict.fromkeys(name for name, _ in rows)
    return {name: torch.cat([values for one, values in rows if one == name]).cpu().numpy() for name in names}


def flat(made: Any) -> Any:
    """The mean colour around each hole, (B, 3, 1, 1)."""
    import torch

    ring = torch.nn.functional.max_pool2d(made.holes, 11, stride=1, padding=5) - made.holes
    return (made.pictures * ring).sum((2, 3), keepdim=True) / ring.sum((2, 3), keepdim=True).clamp(min=1)


def by_opencv(made: Any) -> dict[str, Any]:
    """The holes filled by Telea's way and by Navier–Stokes, as the context exam does."""
    import torch

    from _context_banks import OPENCV, opencv_painter

    levels = ((made.pictures + 1) * 127.5).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)
    filled = {name: opencv_painter(name)(levels, made.holes[:, 0] > 0, None) for name in OPENCV}
    return {name: (fill / 127.5 - 1).permute(0, 3, 1, 2) for name, fill in filled.items()}


def again(args: argparse.Namespace) -> None:
    from sightline.models.nets.checkpoints import load_checkpoint
    from sightline.models.nets.inpainter import Inpainter

    kept = args.results / f"inpainter-{args.name}.json"
    facts = json.loads(kept.read_text()) if kept.exists() else {}
    measure(load_checkpoint(args.weights, Inpainter).net, args, facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["train", "measure"])
    parser.add_argument(
        "--name", default="narrow", choices=["seed", "narrow", "small"], help="the paper's width, or less"
    )
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder of trainings")
    parser.add_argument("--results", type=Path, default=Path("docs/results/context"))
    parser.add_argument("--weights", type=Path, help="for measure")
    parser.add_argument("--worlds", nargs="*", help="by default those of `sightline train inpainter`")
    parser.add_argument("--held-out", nargs="*", help=f"by default {' '.join(HELD_OUT)}")
    parser.add_argument("--kept", type=int, default=0, help="pairs drawn once and shown again; 0 draws new ones")
    parser.add_argument("--size", type=lambda text: tuple(map(int, text.split("x"))), help="WxH of the pictures")
    parser.add_argument("--side", type=int, default=256, help="of the squares cut out of them")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, help="channels, for a trial")
    parser.add_argument("--steps", type=int, help="by default as many as the deadline allows, else 2000")
    parser.add_argument("--adversarial", type=float, default=0.01)
    parser.add_argument("--scenes", type=int, default=256, help="held-out scenes of each world")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=50)
    parser.add_argument("--deadline", type=float, default=0.0, help="seconds for everything; 0 for no limit")
    args = parser.parse_args()
    if args.what == "train":
        train(args)
    elif args.weights is None:
        parser.error("measure needs --weights")
    else:
        again(args)


if __name__ == "__main__":
    sys.exit(main())
