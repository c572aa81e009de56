"""Relations networks taught on generated scenes, with pixels, on a machine with a CUDA card.

    python benchmarks/relations_card.py all --out DIR --deadline 500 --depth fastdepth.onnx --deliver OUT
    python benchmarks/relations_card.py all --out DIR --toy               # the same at toy size, on a CPU
    python benchmarks/relations_card.py draw --out DIR                    # the scenes alone
    python benchmarks/relations_card.py deliver --out DIR --deliver OUT   # what is done, in files of 15 MiB

``all`` draws the scenes of the worlds once, with the relations of their objects, teaches a detector of their
classes, whose backbone is the cue A of the others, then every network of ROWS, several at a time. With
``--backbone FILE`` cue A is made by that checkpoint, such as the shipped viewnet-tiny.safetensors, and waits for no
detector. Finished ones stand in DIR/nets: NAME.safetensors, and NAME.json with plan, seconds and pictures a second.
What the deadline cuts off goes on when the command is called again, drawing too. ``speed`` times each network that
looks, alone, beside the arithmetic limit of the card. ``relations_nets.py world --nets DIR/nets`` then examines
them. Needs numpy, torch, numba with numba-cuda, Lightning, safetensors and yaml; for cue D (``--depth``, an ONNX
depth network) onnxruntime and PIL.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import shutil
import tarfile
import time
import traceback
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

ROWS: dict[str, dict[str, Any]] = {
    "vipcnn": {"model": "vipcnn", "study": "within"},
    "pprfcn": {"model": "pprfcn", "study": "within"},
    "drnet": {"model": "drnet"},
    "paper": {"paper": True},
    "paper-all-cues": {"cues": "bcda", "paper": True},
    "vtranse": {"model": "vtranse"},
    "drnet-within": {"model": "drnet", "study": "within"},
    "drnet-across": {"model": "drnet", "study": "across"},
    "all-cues": {"cues": "bcda"},
    "boxes": {"cues": "b"},
    "boxes-classes": {"cues": "bc"},
    "boxes-depth": {"cues": "bd"},
    "boxes-appearance": {"cues": "ba"},
    "boxes-classes-depth": {"cues": "bcd"},
    "all-cues-within": {"cues": "bcda", "study": "within"},
    "all-cues-across": {"cues": "bcda", "study": "across"},
    "ordered": {"model": "consistent"},
    "ordered-all-cues": {"model": "consistent", "cues": "bcda"},
}
"""Options of each network, in the order in which they are taught; those with cue A wait for the detector."""
FREE = {"ordered": "boxes-classes", "ordered-all-cues": "all-cues"}
"""Networks that differ from another only in that answers are read off one order: they learn the very same."""
DETECTOR = "detector"
SIDE = 224
SAVE_S = 15
"""Seconds to leave for saving a training that is not done."""
PART = 15 << 20
"""Bytes of a file that is brought back."""
TENSOR_FLOPS = 989e12
"""Operations a second of an H200 in bfloat16, without sparsity, by its data sheet."""
BEGUN = time.time()


@dataclass(frozen=True)
class Job:
    """What a process needs to know to teach one network."""

    name: str
    out: Path
    until: float
    steps: int
    paper_steps: int
    blind_steps: int
    batch: int
    width: int
    side: int
    device: str
    backbone: Path | None

    @property
    def seen_by(self) -> Path:
        """The checkpoint that cue A is made with."""
        return self.backbone or self.out / "nets" / f"{DETECTOR}.safetensors"

    @property
    def appearance(self) -> Path:
        """Cue A of every object, an array."""
        return self.out / f"appearance-{self.seen_by.stem}.npy"


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f} s]", *words, flush=True)


def draw(args: argparse.Namespace, device: str) -> None:
    """Draw the scenes, with cue D of their objects, unless that was done."""
    import torch

    from sightline.training.relations.scenes import drawn_scenes
    from sightline.worlds import load_world

    folder = args.out / "scenes"
    if (folder / "facts.json").exists():
        return
    cues = None
    if args.depth is not None:
        from sightline.models.adapters.depth_maps import onnx_depth_network
        from sightline.models.relations.objects import DepthCues

        cues = DepthCues(onnx_depth_network(args.depth))
    worlds = [load_world(name) for name in args.worlds.split(",")]
    if args.toy:
        worlds = [replace(world, resolution=(96, 64)) for world in worlds]
    begun = time.time()

    def drawn(done: int, whole: int) -> None:
        if done % 512 == 0 or done == whole:
            say(f"{done:,} of {whole:,} scenes")

    scenes = drawn_scenes(
        worlds,
        args.scenes,
        seed=0,
        side=args.side,
        batch=64,
        workers=args.workers,
        cuda=device == "cuda",
        cues=cues,
        threads=max(1, args.workers),
        keep=folder / "batches",
        on_drawn=drawn,
    )
    spent = time.time() - begun
    scenes.save(folder)
    shutil.rmtree(folder / "batches")
    across = int(scenes.examples.across.sum())
    said = f"{len(scenes.pictures):,} scenes, {len(scenes.examples) - across:,} pairs within and {across:,} across"
    say(f"drawn {said}, {', '.join(scenes.examples.classes)}: {spent:.0f} s")
    del scenes
    if device == "cuda":
        torch.cuda.empty_cache()


@lru_cache(maxsize=1)
def kept(out: Path, device: str) -> Any:
    """The scenes, loaded once by every process."""
    from sightline.training.relations.scenes import RelatedScenes

    return RelatedScenes.load(out / "scenes", device)


def task_of(job: Job) -> Any:
    """The task of a training."""
    import numpy as np

    from sightline.training.relations.examples import RelationSource
    from sightline.training.relations.options import RelationsOptions, plan_of, seen_plan
    from sightline.training.relations.scenes import FoundViews
    from sightline.training.relations.seen import SeenSource, SeenTask
    from sightline.training.relations.task import RelationsTask
    from sightline.training.viewpoint.plan import ViewNetPlan
    from sightline.training.viewpoint.task import ViewNetTask

    scenes = kept(job.out, job.device)
    precision: Any = "bf16" if job.device == "cuda" else "fp32"
    if job.name == DETECTOR:
        plan = ViewNetPlan(
            steps=job.steps,
            batch=job.batch,
            warmup=job.steps // 10,
            side=job.side,
            viewpoints=False,
            precision=precision,
        )
        return ViewNetTask(plan, FoundViews(scenes, batch=plan.batch, seed=0), scenes.examples.classes)
    options = RelationsOptions(world="+".join(scenes.facts["worlds"]), **ROWS[job.name])
    examples, facts = scenes.of(options.study), {**scenes.facts, "study": options.study}
    if options.looks:
        options = replace(options, steps=job.steps, batch=job.batch)
        seen = replace(seen_plan(options, job.device), width=job.width, side=job.side)
        return SeenTask(seen, SeenSource(examples, scenes.picture, scenes.pictures, seen, facts))
    blind = plan_of(options)
    steps = job.paper_steps if options.paper else job.blind_steps
    blind = replace(blind, steps=steps, warmup=min(blind.warmup, steps // 10))
    parts = [examples.numbers] if "d" in options.cues else []
    parts += [np.load(job.appearance)] if "a" in options.cues else []
    numbers = np.concatenate(parts, axis=1) if parts else np.zeros((len(examples.boxes), 0), np.float32)
    examples = replace(examples, numbers=numbers)
    source = RelationSource(examples, batch=blind.batch, members=blind.members, seed=blind.seed, facts=facts)
    return RelationsTask(blind, source)


def teach(job: Job) -> str:
    """Teach one network, or go on with it; what came of it, in words."""
    import torch

    from sightline.plain import plain
    from sightline.training.fit import fit

    done = job.out / "nets" / f"{job.name}.json"
    if done.exists():
        return f"{job.name} is done"
    if job.until - time.time() < 2 * SAVE_S:
        return f"{job.name} waits for the next call"
    if (job.out / "nets" / f"{FREE.get(job.name)}.json").exists():
        return put_in_order(job)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.set_float32_matmul_precision("high")
    task = task_of(job)
    left = job.until - time.time() - SAVE_S
    fitted = fit(task, job.out / job.name, log_every=100, save_every=10**9, seconds=left, device=job.device)[1]
    if fitted.steps < fitted.planned:
        return f"{job.name}: {fitted.steps} of {fitted.planned} steps; the same command goes on"
    (job.out / "nets" / f"{job.name}.safetensors").write_bytes(fitted.weights.read_bytes())
    speed = {key: value for key, value in fitted.last.items() if key.endswith("_per_s")}
    where = torch.cuda.get_device_name() if job.device == "cuda" else "cpu"
    facts = {
        "name": job.name,
        **ROWS.get(job.name, {}),
        "plan": plain(task.plan),
        "source": task.source.facts(),
        "seconds": round(fitted.seconds, 1),
        "last": dict(fitted.last),
        **speed,
        "device": where,
        "torch": torch.__version__,
    }
    if "a" in ROWS.get(job.name, {}).get("cues", ""):
        facts["backbone"] = job.seen_by.name
    done.write_text(json.dumps(facts, indent=1) + "\n")
    figures = ", ".join(f"{key} {value:.3g}" for key, value in fitted.last.items())
    return f"{job.name}: {fitted.seconds:.0f} s; {figures}"


def put_in_order(job: Job) -> str:
    """The free network with the same weights, its answers read off an order."""
    from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint

    nets, free = job.out / "nets", FREE[job.name]
    net, about = load_checkpoint(nets / f"{free}.safetensors")
    net.config = replace(net.config, ordered=True)
    facts = json.loads((nets / f"{free}.json").read_text()) | {"name": job.name, **ROWS[job.name]}
    for plan in (facts["plan"], about["plan"]):
        plan["ordered"] = True
    content = dump_checkpoint(net, about, half=not net.config.objects)
    (nets / f"{job.name}.safetensors").write_bytes(content)
    (nets / f"{job.name}.json").write_text(json.dumps(facts, indent=1) + "\n")
    return f"{job.name}: {free}, put in order"


def appearance(job: Job) -> str:
    """Cue A of every object: the backbone's finest map, averaged over box and picture."""
    import numpy as np
    import torch

    from sightline.models.relations.appearance import AppearanceCues

    file = job.appearance
    if file.exists():
        return "cue A is there"
    if not job.seen_by.exists():
        return "cue A waits for the detector"
    begun, scenes = time.time(), kept(job.out, job.device)
    cues = AppearanceCues(job.seen_by, job.device)
    pictures, side = scenes.pictures.pictures, job.side
    rows, parts = [], []
    shown = (scenes.pictures.shares * side).round().long().cpu().numpy()  # width and height without what was filled
    for size in np.unique(shown, axis=0):
        alike = np.flatnonzero((shown == size).all(axis=1))
        for start in range(0, len(alike), 256):
            some = alike[start : start + 256]
            objects = np.flatnonzero(np.isin(scenes.picture, some))
            crop = pictures[torch.from_numpy(some).to(pictures.device)][:, : size[1], : size[0]]
            boxes = scenes.examples.boxes[objects].astype(np.float64)
            rows.append(objects)
            parts.append(cues.of_pictures(crop, boxes, np.searchsorted(some, scenes.picture[objects])))
    numbers = np.empty((len(scenes.picture), cues.size), np.float32)
    numbers[np.concatenate(rows)] = np.concatenate(parts)
    partial = file.with_suffix(".part.npy")
    np.save(partial, numbers)
    partial.rename(file)
    return f"cue A of {len(numbers):,} objects, {cues.size} numbers each: {time.time() - begun:.0f} s"


def guarded(work: Any, job: Job) -> str:
    """Do it, and tell of what went wrong without ending the rest."""
    try:
        return str(work(job))
    except Exception:
        return f"{job.name} FAILED\n{traceback.format_exc()}"


def detect_first(job: Job) -> str:
    """The detector, then what its backbone sees; what another backbone sees needs none."""
    taught = teach(replace(job, name=DETECTOR)) if job.backbone is None else "no detector"
    return f"{taught}; {appearance(job)}"


def settings_of(args: argparse.Namespace, until: float, batch: int, device: str) -> tuple[Any, ...]:
    """A job but its name."""
    steps = (args.steps, args.paper_steps, args.blind_steps)
    return (args.out, until, *steps, batch, args.width, args.side, device, args.backbone)


def everything(args: argparse.Namespace, device: str) -> None:
    """Draw, teach the detector and the networks, several at a time."""
    (args.out / "nets").mkdir(parents=True, exist_ok=True)
    draw(args, device)
    until = BEGUN + args.deadline
    wanted = [name for name in ROWS if not args.only or name in args.only.split(",")]
    wanted = [name for name in wanted if args.depth is not None or "d" not in ROWS[name].get("cues", "")]
    settings = settings_of(args, until, args.batch, device)
    later = [name for name in wanted if "a" in ROWS[name].get("cues", "")]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.lanes, mp_context=context) as pool:
        running: set[Future[str]] = set()

        def begin(work: Any, name: str) -> Future[str]:
            future = pool.submit(guarded, work, Job(name, *settings))
            running.add(future)
            return future

        first = begin(detect_first, DETECTOR) if later or DETECTOR in args.only.split(",") else None
        if DETECTOR in args.only.split(",") and args.backbone is not None:
            begin(teach, DETECTOR)  # nothing waits for it
        for name in wanted:
            if name not in later:
                begin(teach, name)
        while running:
            ended, running = wait(running, return_when="FIRST_COMPLETED")
            for future in ended:
                say(future.result())
            if first in ended and Job(DETECTOR, *settings).appearance.exists():
                for name in later:
                    begin(teach, name)


def speed(args: argparse.Namespace, device: str) -> None:
    """Pictures a second of each network alone, learning and answering, beside what the card's arithmetic allows."""
    (args.out / "nets").mkdir(parents=True, exist_ok=True)
    settings = settings_of(args, 0.0, args.speed_batch, device)
    found = {name: timed(Job(name, *settings)) for name in ("vipcnn", "pprfcn", "drnet", "vtranse")}
    (args.out / "nets" / "speed.json").write_text(json.dumps(found, indent=1) + "\n")


def timed(job: Job) -> dict[str, Any]:
    """Pictures a second of one network; operations of convolutions and matrix products alone are counted."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    task = task_of(job)
    net = task.modules()["net"].to(job.device).train()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4)
    loaded = [next(iter(task.source.loader(i, i + 1))) for i in range(4)]
    pictures = sum(len(one.numbers) for one in loaded) / len(loaded)
    cast = torch.autocast(job.device, torch.bfloat16, enabled=job.device == "cuda")

    def learn(i: int) -> None:
        with cast:
            loss, _ = task.loss(loaded[i % 4], 0)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def answer(i: int) -> None:
        with torch.inference_mode(), cast:
            net(task.prepared(loaded[i % 4], torch.device(job.device))[0])

    row: dict[str, Any] = {"pictures": pictures}
    for word, work in (("learning", learn), ("answering", answer)):
        for i in range(4):
            work(i)
        with FlopCounterMode(display=False) as counter:
            work(0)
        flops = counter.get_total_flops() / len(loaded[0].numbers)
        _done(job.device)
        begun, turns = time.perf_counter(), 20 if job.device == "cuda" else 2
        for i in range(turns):
            work(i)
        _done(job.device)
        each = turns * pictures / (time.perf_counter() - begun)
        row[word] = {"pictures_per_s": each, "flops": flops, "limit_per_s": TENSOR_FLOPS / flops}
        say(f"{job.name} {word}: {each:,.0f} pictures/s, {flops / 1e9:.2f} GFLOP each")
    return row


def _done(device: str) -> None:
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def deliver(args: argparse.Namespace) -> None:
    """Bring finished networks and figures as one tar, cut into parts: ``cat nets.tar.* | tar x``."""
    buffer = io.BytesIO()
    files = sorted((args.out / "nets").iterdir(), key=lambda file: (file.suffix != ".json", file.stat().st_size))
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for file in files:
            tar.add(file, file.name)
    whole = buffer.getvalue()
    args.deliver.mkdir(parents=True, exist_ok=True)
    parts = [whole[i : i + PART] for i in range(0, len(whole), PART)]
    for i, part in list(enumerate(parts))[args.skip : args.skip + 8]:
        (args.deliver / f"nets.tar.{i:02d}").write_bytes(part)
    rest = f"; the rest by deliver --skip {args.skip + 8}" if len(parts) > args.skip + 8 else ""
    say(f"{len(files)} files, {len(whole) / 2**20:.0f} MiB in {len(parts)} parts{rest}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("all", "draw", "speed", "deliver"))
    parser.add_argument("--out", type=Path, required=True, help="folder of scenes and trainings")
    parser.add_argument("--only", default="", help="names of rows, with commas between")
    parser.add_argument("--worlds", default="room,context/street/train")
    parser.add_argument("--scenes", type=int, default=4000, help="of each world")
    parser.add_argument("--steps", type=int, default=1500, help="of networks that look")
    parser.add_argument("--paper-steps", type=int, default=60_000, help="of the paper's recipe")
    parser.add_argument("--blind-steps", type=int, default=4000, help="of networks that are given numbers")
    parser.add_argument("--batch", type=int, default=48, help="images, or image pairs, of their steps")
    parser.add_argument("--speed-batch", type=int, default=256)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--side", type=int, default=SIDE)
    parser.add_argument("--depth", type=Path, help="ONNX depth network, for cue D")
    parser.add_argument("--backbone", type=Path, help="checkpoint for cue A, instead of a detector taught first")
    parser.add_argument("--lanes", type=int, default=5, help="trainings at a time")
    parser.add_argument("--workers", type=int, default=14, help="processes that place scenes")
    parser.add_argument("--deadline", type=float, default=1e6, help="seconds this call may take")
    parser.add_argument("--deliver", type=Path, help="folder for what is to be brought back")
    parser.add_argument("--skip", type=int, default=0, help="deliver: parts that were brought back before")
    parser.add_argument("--toy", action="store_true", help="a few small scenes and steps, on a CPU")
    args = parser.parse_args()
    for file in (args.depth, args.backbone):
        if file is not None and not file.is_file():
            parser.error(f"{file}: no such file")
    if args.toy:
        args.scenes, args.batch, args.width = 4, 2, 4
        args.steps, args.paper_steps, args.blind_steps = 3, 3, 3
        args.side, args.lanes, args.workers, args.speed_batch = 64, 1, 0, 2
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if args.what == "all":
        everything(args, device)
    elif args.what == "draw":
        draw(args, device)
    elif args.what == "speed":
        if not (args.out / "scenes").exists():
            draw(args, device)
        speed(args, device)
    if args.deliver is not None:
        deliver(args)


if __name__ == "__main__":
    main()
