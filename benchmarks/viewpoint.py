"""PASCAL3D+'s Table 2 on generated views: deformable part models and the network, by one command that resumes.

``PYTHONPATH=src python benchmarks/viewpoint.py --out DIR`` draws pictures of the worlds cad/train and cad/val,
trains DPM, VDPM and DPM-VOC+VP of every class, looks for objects in the same pictures with each, and prints AP and
AVP with what each cost; run again it goes on where it was stopped. ``--classes``, ``--views``, ``--images`` and the
sizes of the training make it smaller, ``--deadline`` stops it in time, ``--network FILE`` adds the network's row,
``--write`` writes the table into docs/results/viewpoint.
Needs torch, safetensors, numpy, numba and yaml; neither the store nor Lightning.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sightline.errors import SightlineError
from sightline.files import atomic_write
from sightline.geometry import azimuth_bins
from sightline.models.dpm.detector import FilterBank
from sightline.models.dpm.filters import Dpm, DpmConfig, FilterShape, MixtureComponent, joined
from sightline.models.dpm.hog import pyramid
from sightline.models.dpm.model import DpmModel
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint, model_loader
from sightline.scenes import View
from sightline.stats.viewed_boxes import BOTTLE, ViewedBoxes, ViewRules, matches_by_class, view_figures
from sightline.training.dpm.examples import FeatureStore
from sightline.training.dpm.fit import train
from sightline.training.dpm.plan import DpmPlan, TrainingPicture
from sightline.training.dpm.solver import Constraint, solve

CLASSES = (
    "aeroplane",
    "bicycle",
    "boat",
    "bottle",
    "bus",
    "car",
    "chair",
    "diningtable",
    "motorbike",
    "sofa",
    "train",
    "tvmonitor",
)
RESULTS = Path("docs/results/viewpoint")
MOST_HIDDEN = 0.4
"""Objects of which more is hidden are not learned from, nor those that the edge of the picture cuts."""
BEGUN = time.time()


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f} s]", *words, flush=True)


# Pictures: drawn once, kept in one file a split, their truth beside it.


def drawn(
    split: str, index: int, classes: tuple[str, ...], size: tuple[int, int]
) -> tuple[Any, list[dict[str, Any]]]:
    """One picture (H, W, 3) uint8 and its objects as rows."""
    from sightline.render.landmarks import posed
    from sightline.render.truth import sightings
    from sightline.worlds import arrange
    from sightline.worlds.looks import category_of
    from sightline.worlds.shapes import split_name

    layout = arrange(world_of(split, classes, size), 0, index)
    shot, renderer = layout.shots[0], renderer_of()
    frame = renderer.frame(layout, shot)
    renderer.forget()
    names = [str(i) for i in range(len(layout.objects))]
    rows = []
    for seen in posed(sightings(frame, names), names, layout, shot, frame):
        view = seen.viewpoint
        assert view is not None
        rows.append(
            {
                "image": f"{split}/{index}",
                "class": category_of(split_name(layout.objects[int(seen.object_id)].shape)[0]),
                "box": list(seen.box),
                "azimuth": view.azimuth % 360.0,
                "elevation": view.elevation,
                "theta": view.theta,
                "difficult": "hidden" in seen.flags,
                "whole": "truncated" not in seen.flags and (seen.occluded_fraction or 0.0) <= MOST_HIDDEN,
            }
        )
    return frame.image, rows


_KEPT: dict[Any, Any] = {}


def world_of(split: str, classes: tuple[str, ...], size: tuple[int, int]) -> Any:
    from sightline.worlds import load_world
    from sightline.worlds.looks import category_of

    if (split, classes, size) not in _KEPT:
        world = load_world(f"cad/{split}")
        shapes = tuple(row for row in world.shapes if category_of(row[0]) in classes)
        _KEPT[split, classes, size] = replace(world, shapes=shapes, resolution=size)
    return _KEPT[split, classes, size]


def renderer_of() -> Any:
    from sightline.render.fast import FastRenderer

    return _KEPT.setdefault("renderer", FastRenderer())


def pictures_of(args: argparse.Namespace, split: str, count: int) -> tuple[Any, list[list[dict[str, Any]]]]:
    """Pictures (N, H, W, 3) uint8, mapped from their file, and the objects of each; what is missing is drawn."""
    folder = args.out / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"split": split, "classes": list(args.shown), "size": list(args.size)}
    note, file, rows_file = (folder / f"{split}.{kind}" for kind in ("json", "npy", "jsonl"))
    if note.exists() and json.loads(note.read_text()) != facts:
        raise SystemExit(f"{folder} holds other pictures: {note.read_text()}; choose another --out")
    if not note.exists():
        atomic_write(note, json.dumps(facts).encode())
    width, height = args.size
    shape = (count, height, width, 3)
    if not file.exists() or np.load(file, mmap_mode="r").shape[0] < count:
        old = np.load(file, mmap_mode="r") if file.exists() else np.zeros((0, *shape[1:]), np.uint8)
        begun = folder / f"{split}.{count}.part.npy"
        if not begun.exists():
            new = np.lib.format.open_memmap(begun, "w+", np.uint8, shape)
            new[: len(old)] = old
            new.flush()
        new = np.lib.format.open_memmap(begun, "r+")
        done = len(rows_file.read_text().splitlines()) if rows_file.exists() else 0
        with rows_file.open("a") as out:
            work = partial(drawn, split, classes=args.shown, size=args.size)
            for index, (image, rows) in enumerate(spread(work, range(done, count), args.jobs), start=done):
                new[index] = image
                out.write(json.dumps(rows) + "\n")
                if index % 100 == 99:
                    new.flush()
                    out.flush()
                    say(f"{split}: {index + 1} of {count} pictures")
                if time.time() > args.until:
                    new.flush()
                    raise StoppedError
        new.flush()
        begun.replace(file)
    rows = [json.loads(line) for line in rows_file.read_text().splitlines()[:count]]
    return np.load(file, mmap_mode="r")[:count], rows


class StoppedError(Exception):
    """The deadline has come; what is done is kept."""


def spread(work: Callable[[Any], Any], items: Sequence[Any], jobs: int) -> Iterator[Any]:
    """Results in order, by so many processes; what is not begun is given up where nobody waits for it any more."""
    if jobs <= 1 or not items:
        yield from map(work, items)
        return
    yield work(items[0])  # what is to be compiled is, once, before there are many who would
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        yield from pool.map(work, items[1:], chunksize=4)
    finally:
        pool.shutdown(cancel_futures=True)


def training_pictures(images: Any, rows: Sequence[Sequence[dict[str, Any]]]) -> list[TrainingPicture]:
    return [
        TrainingPicture(
            name=f"train/{number}",
            load=partial(np.asarray, images[number]),
            boxes=np.array([row["box"] for row in objects], dtype=np.float64).reshape(-1, 4),
            categories=tuple(row["class"] for row in objects),
            angles=np.array([[row[a] for a in ("azimuth", "elevation", "theta")] for row in objects]).reshape(
                -1, 3
            ),
            whole=np.array([row["whole"] for row in objects], dtype=bool),
        )
        for number, objects in enumerate(rows)
    ]


# Models: one folder a class, one file with all classes.


def models_of(args: argparse.Namespace) -> dict[str, tuple[str, int]]:
    """Name → form and views, in the order of the table."""
    made = {"dpm": ("dpm", 0)} if args.dpm else {}
    made |= {f"vdpm-{n}": ("vdpm", n) for n in args.views}
    return made | {f"dpm-voc-vp-{n}": ("dpm-voc-vp", n) for n in args.views}


def plan_of(args: argparse.Namespace, name: str, category: str) -> DpmPlan:
    form, views = models_of(args)[name]
    sizes = {key: getattr(args, key) for key in ("positives", "negatives", "cells", "parts", "rounds", "mining")}
    return DpmPlan(category, form, views, **sizes, cost=args.cost, interval=args.interval)  # type: ignore[arg-type]


def train_one(task: tuple[str, str], args: argparse.Namespace) -> tuple[tuple[str, str], bool, float]:
    """Train one class of one model: (task, whether it is finished, processor seconds)."""
    name, category = task
    compute_alone()
    if ("train", args.out) not in _KEPT:
        _KEPT["train", args.out] = training_pictures(*pictures_of(args, "train", args.images))
        _KEPT["store", args.out] = FeatureStore(args.train_device)
    left = args.until - time.time() + time.monotonic()

    def check(*_: object) -> None:
        if time.time() > args.until:
            raise StoppedError

    folder = args.out / "models" / name / category
    try:
        made = train(
            plan_of(args, name, category),
            _KEPT["train", args.out],
            folder,
            source={"world": "cad/train", "size": list(args.size), "classes": list(args.shown)},
            device=args.train_device,
            store=_KEPT["store", args.out],
            until=left - 20.0,
            progress=check,
        )
    except StoppedError:
        return task, False, 0.0
    return task, made.finished, made.cpu_seconds


def compute_alone() -> None:
    """Compute in this process with one thread, and on a card as exactly as on the CPU."""
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False


def compile_kernels() -> None:
    """Let numba compile what trains and finds, once, before there are many processes."""
    part = FilterShape(4, 4, ((0, 0),))
    bank = FilterBank(Dpm(DpmConfig("dpm", 0, (part,), (MixtureComponent("", 0),))))
    list(bank.scores(pyramid(np.zeros((40, 40, 3), np.uint8), [1.0])))
    solve([Constraint((0,), 1.0, ((0, np.ones(2, np.float32)),))], 2, 1.0)


def train_all(args: argparse.Namespace) -> dict[str, float]:
    """Train what is missing; processor seconds of each model."""
    tasks = [(name, category) for name in models_of(args) for category in args.classes]
    tasks.sort(key=lambda task: (-models_of(args)[task[0]][1], models_of(args)[task[0]][0]))  # the longest first
    if args.bottle_without_views:
        tasks = [(name, category) for name, category in tasks if category != BOTTLE or name == "dpm"]
    seconds: dict[str, float] = dict.fromkeys(models_of(args), 0.0)
    work, finished = partial(train_one, args=args), True
    if args.jobs > 1:
        compile_kernels()
        with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
            results = []
            for done in as_completed([pool.submit(work, task) for task in tasks]):
                results.append(done.result())
                if len(results) % 10 == 0:
                    trained = sum(whole for _, whole, _ in results)
                    say(f"{trained} of {len(tasks)} trained, {sum(cpu for *_, cpu in results):,.0f} CPU s so far")
    else:
        results = []
        for task in tasks:
            results.append(work(task))
            say(*task, "trained" if results[-1][1] else "stopped", f"{results[-1][2]:.0f} CPU s")
    for (name, _), whole, cpu in results:
        seconds[name] += cpu
        finished = finished and whole
    if not finished:
        raise StoppedError
    for name in models_of(args):
        file = args.out / "models" / f"{name}.safetensors"
        mine = [category for category in args.classes if (name, category) in tasks]
        nets = [load_checkpoint(args.out / "models" / name / c / "boxes.safetensors", Dpm) for c in mine]
        facts = {"classes": {c: net.facts for c, net in zip(mine, nets, strict=True)}, "world": "cad/train"}
        atomic_write(file, dump_checkpoint(joined([net.net for net in nets]), facts))
    return seconds


# Detections: one file a model, in the format of `sightline score viewpoint`.


def detectors(args: argparse.Namespace) -> dict[str, Any]:
    """The models by name, ready to look."""
    if "detectors" not in _KEPT:
        compute_alone()
        made: dict[str, Any] = {}
        for name in models_of(args):
            net, facts = load_checkpoint(args.out / "models" / f"{name}.safetensors", Dpm)
            made[name] = DpmModel(net, name=name, about=facts, device=args.device)
        if args.network:
            made["network"] = model_loader(args.network)(args.network, device=args.device)
        _KEPT["detectors"] = made, pictures_of(args, "val", args.val)[0]
    models, _ = _KEPT["detectors"]
    return dict(models)


def detect_one(number: int, args: argparse.Namespace) -> bool:
    """Look for objects in a picture by every model that has not yet; False where the deadline has come."""
    file = args.found / f"{number:06d}.json"
    done = json.loads(file.read_text()) if file.exists() else {}
    models = detectors(args)
    if set(models) <= set(done):
        return True
    if time.time() > args.until:
        return False
    clock = time.process_time if args.device == "cpu" else time.perf_counter
    pixels, levels, spent = np.asarray(_KEPT["detectors"][1][number]), None, 0.0
    for name, model in models.items():
        if name in done:
            continue
        mine = isinstance(model, DpmModel)
        if mine and levels is None:
            begun = clock()
            levels = model.features(pixels)
            spent = clock() - begun
        begun = clock()
        view = View(f"val/{number}", size=(pixels.shape[1], pixels.shape[0]), load_image=lambda: pixels)
        found = model.find(pixels, levels) if mine else model.detect(view)
        seconds = clock() - begun + (spent if mine else 0.0)
        done[name] = {"seconds": seconds, "rows": rows_of(number, pixels, found)}
    atomic_write(file, json.dumps(done).encode(), sync=False)
    return True


def detect_all(args: argparse.Namespace) -> dict[str, float]:
    """Look for objects in every picture; seconds a picture of each model, its features included."""
    args.found.mkdir(parents=True, exist_ok=True)
    for number, whole in enumerate(spread(partial(detect_one, args=args), range(args.val), args.jobs), start=1):
        if not whole:
            raise StoppedError
        if number % 50 == 0:
            say(f"{number} of {args.val} pictures looked at")
    names = list(detectors(args))
    seconds = dict.fromkeys(names, 0.0)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for number in range(args.val):
        done = json.loads((args.found / f"{number:06d}.json").read_text())
        for name in names:
            seconds[name] += done[name]["seconds"] / args.val
            rows[name] += done[name]["rows"]
    for name in names:
        atomic_write(args.out / f"{name}.detections.json", json.dumps(rows[name]).encode())
    return seconds


def rows_of(number: int, pixels: Any, found: Any) -> list[dict[str, Any]]:
    height, width = pixels.shape[:2]
    boxes = np.asarray(found.boxes) * (width, height, width, height)
    angles = found.angles if len(found.angles) else np.full((len(boxes), 3), np.nan)
    return [
        {
            "image": f"val/{number}",
            "class": category,
            "box": [round(float(v), 2) for v in box],
            "score": float(score),
            "azimuth": None if np.isnan(turn[0]) else round(float(turn[0]), 3),
        }
        for box, score, category, turn in zip(boxes, found.scores, found.categories, angles, strict=True)
    ]


# The table.


def commonest(rows: Sequence[Sequence[dict[str, Any]]], category: str, views: int) -> float:
    """Middle of the section from which most training objects of a class are seen, degrees."""
    azimuths = [row["azimuth"] for objects in rows for row in objects if row["class"] == category]
    return float(np.bincount(azimuth_bins(azimuths, views), minlength=views).argmax()) * 360.0 / views


def viewed(rows: Sequence[dict[str, Any]], images: dict[str, int], *, detected: bool) -> ViewedBoxes:
    """Rows as the scores take them."""
    azimuths = [np.nan if row["azimuth"] is None else row["azimuth"] for row in rows]
    return ViewedBoxes(
        np.array([images.setdefault(row["image"], len(images)) for row in rows], dtype=np.int64),
        np.array([row["class"] for row in rows], dtype=object),
        np.array([row["box"] for row in rows], dtype=np.float64).reshape(-1, 4),
        np.array([(azimuth, np.nan, np.nan) for azimuth in azimuths], dtype=np.float64).reshape(-1, 3),
        score=np.array([row["score"] for row in rows], dtype=np.float64) if detected else None,
        difficult=None if detected else np.array([row["difficult"] for row in rows], dtype=bool),
    )


def scores_of(args: argparse.Namespace, name: str, views: int, train_rows: Any) -> dict[str, Any]:
    """AP and AVP of a model by class, and AVP of the same boxes with the commonest view of their class."""
    truth = json.loads((args.out / "truth.json").read_text())
    rows = json.loads((args.out / f"{name}.detections.json").read_text())
    rows = [row for row in rows if row["class"] in args.classes]
    rules, images = ViewRules(views=(views or 8,)), {f"val/{i}": i for i in range(args.val)}
    if name not in models_of(args):  # a network, which says angles
        rules = replace(rules, views=(views, *(n for n in args.views if n != views)))
    prior = {category: commonest(train_rows, category, rules.views[0]) for category in args.classes}
    objects, figures = viewed(truth, images, detected=False), []
    for said in (rows, [row | {"azimuth": prior[row["class"]]} for row in rows]):
        found = viewed(said, images, detected=True)
        matches = dict(matches_by_class(objects, found, rules, args.classes))
        figures.append(view_figures(matches, rules, args.val))
    path = ("avp", str(rules.views[0]))
    return {
        label: {
            "ap": scores[("ap",)].value,
            "avp": scores[path].value,
            "blind": figures[1][label][path].value,
            "avp_views": {str(n): scores["avp", str(n)].value for n in sorted(rules.views)},
        }
        for label, scores in figures[0].items()
    }


def table(args: argparse.Namespace, results: dict[str, dict[str, Any]]) -> str:
    """Table 2 as Markdown."""
    labels = [*args.classes, "mean", *(["mean without bottle"] if BOTTLE in args.classes else [])]
    head = ["AP / AVP, %", *labels, "commonest view", "CPU s to train", "s a picture"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" + "--:|" * (len(head) - 1)]
    for result in results.values():
        cells = []
        for label in labels:
            one = result["scores"].get(label)
            cells.append("–" if one is None else f"{percent(one['ap'])} / {percent(one['avp'])}")
        mean = result["scores"].get("mean", {})
        costs = [percent(mean.get("blind")) if result["views"] else "–"]
        costs += ["–" if result["train"] is None else f"{result['train']:,.0f}", f"{result['detect']:.2f}"]
        lines.append("| " + " | ".join([result["title"], *cells, *costs]) + " |")
    return "\n".join(lines) + "\n"


def percent(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else f"{100 * value:.1f}"


TITLES = {"dpm": "DPM", "vdpm": "VDPM", "dpm-voc-vp": "DPM-VOC+VP"}


def settings(args: argparse.Namespace, val: int) -> str:
    plan = asdict(plan_of(args, next(iter(models_of(args))), args.classes[0]))
    width, height = args.size
    first = args.out / "models" / next(iter(models_of(args)))
    made = {c: load_checkpoint(first / c / "boxes.safetensors", Dpm).facts for c in args.classes}
    learned = ", ".join(f"{c} {facts['objects']} and {facts['negatives']}" for c, facts in made.items())
    shared = "on a card" if args.jobs <= 1 else f"while {args.jobs} processes share a card"
    return (
        f"Pictures of {width}×{height}: {args.images:,} of cad/train and {val:,} of cad/val, of "
        f"{len(args.shown)} classes. For each class and model alike: at most {plan['positives']} whole objects, "
        f"at most {plan['negatives']} pictures without the class ({learned}), roots about {plan['cells']} cells, "
        f"{plan['parts']} parts, {plan['root_rounds']} round with roots alone, {plan['rounds']} with parts, "
        f"{plan['mining']} search(es) for hard negatives in each, C {plan['cost']:g}, {plan['interval']} scales an "
        f"octave. Taught on: {args.train_device}. Seconds a picture: "
        f"{'of one core' if args.device == 'cpu' else shared}. "
        "AVP has as many sections as the model; *commonest view*: mean AVP of the "
        "same boxes if every one has the commonest section of its class in the training pictures. AVP of the "
        "network: 8 views."
    )


def run(args: argparse.Namespace) -> None:
    _, train_rows = pictures_of(args, "train", args.images)
    _, val_rows = pictures_of(args, "val", args.val)
    keys = ("image", "class", "box", "azimuth", "difficult")
    flat = [{key: row[key] for key in keys} for rows in val_rows for row in rows if row["class"] in args.classes]
    atomic_write(args.out / "truth.json", json.dumps(flat).encode())
    trained = train_all(args)
    seconds = detect_all(args)
    results: dict[str, dict[str, Any]] = {}
    for name in [*models_of(args), *(["network"] if args.network else [])]:
        form, views = models_of(args).get(name, (name, 8))
        results[name] = {
            "title": f"{TITLES[form]}{f', {views} views' if views else ''}" if form in TITLES else "network",
            "views": views,
            "scores": scores_of(args, name, views, train_rows),
            "train": trained.get(name),
            "detect": seconds[name],
        }
    text = table(args, results) + "\n" + settings(args, len(val_rows)) + "\n"
    atomic_write(args.out / "table2.json", json.dumps(results, indent=1).encode())
    atomic_write(args.out / "table2.md", text.encode())
    print(text)
    if args.write:
        atomic_write(RESULTS / "table2.md", text.encode())


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("viewpoint-out"), help="folder that is gone on with")
    parser.add_argument("--classes", type=lambda t: tuple(t.split(",")), default=CLASSES)
    parser.add_argument(
        "--shown", type=lambda t: tuple(t.split(",")), help="classes in the pictures; by default these"
    )
    parser.add_argument("--views", type=numbers, default=(4, 8, 16, 24), help="sections of the azimuth")
    parser.add_argument("--no-dpm", dest="dpm", action="store_false", help="without the plain DPM")
    parser.add_argument("--images", type=int, default=4000, help="pictures to learn from")
    parser.add_argument("--val", type=int, default=1000, help="pictures to look for objects in")
    parser.add_argument("--size", type=lambda t: tuple(map(int, t.split("x"))), default=(480, 320))
    parser.add_argument("--positives", type=int, default=400)
    parser.add_argument("--negatives", type=int, default=200)
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mining", type=int, default=2)
    parser.add_argument("--cost", type=float, default=0.01)
    parser.add_argument("--interval", type=int, default=5)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--train-device", choices=("cpu", "cuda"), help="where is taught, by default the same")
    parser.add_argument("--jobs", type=int, default=1, help="processes that draw, train and look for objects")
    parser.add_argument(
        "--deadline", type=float, default=0.0, help="stop after so many seconds; run again to go on"
    )
    parser.add_argument("--network", type=Path, help="weights of the network, for its row")
    parser.add_argument(
        "--bottle-with-views",
        dest="bottle_without_views",
        action="store_false",
        help="teach views of bottles too, which look alike from everywhere; the paper leaves them out",
    )
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS / 'table2.md'}")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    args.until = BEGUN + args.deadline if args.deadline else float("inf")
    args.shown = args.shown or args.classes
    args.train_device = args.train_device or args.device
    args.found = args.out / "detections" / "-".join(args.classes)
    if unknown := [name for name in (*args.classes, *args.shown) if name not in CLASSES]:
        parser.error(f"no class {unknown[0]!r}; there are {', '.join(CLASSES)}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        run(args)
    except StoppedError:
        say("stopped at the deadline; the same command goes on")
    except SightlineError as error:
        parser.exit(2, f"error: {error}\n")


if __name__ == "__main__":
    main()
