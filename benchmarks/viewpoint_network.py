"""The network of the viewpoint exam on a CUDA card: train ViewNet on views drawn there, score it on every split.

``PYTHONPATH=src python benchmarks/viewpoint_network.py train base --deadline 575`` trains one of the plans below in
as many steps as the seconds allow, saves, and goes on in a second call (``--more`` says how many seconds further
calls will add). When all steps are done it scores the network on generated views of every split of ``cad/…``, in
given boxes and in its own, up to symmetry, with 95 % intervals by view, and writes ``NAME.json``, ``NAME.csv`` (the
log) and ``NAME.safetensors`` to docs/results/viewpoint. ``… score NAME --weights FILE`` scores weights again;
``… classify NAME --weights FILE --cad DIR`` lets PASCAL3D+'s own CAD models (CAD/<class>.mat) judge how much ours
look like them: class, and front told from back; with ``--library DIR`` it is the models of a shape library
(``sightline import catalogue.sh3f --out DIR``), each class as often as any other; ``… sheet NAME`` draws its
failures (needs Pillow); ``… throughput NAME`` times placing, drawing and the network. Needs torch, Lightning,
safetensors, numpy, numba with numba-cuda, and yaml. Without a card the plan ``toy`` proves the way on a CPU.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SPLITS = ("val", "subtypes", "backdrops", "hidden_0", "hidden_20_40", "hidden_40_60", "hidden_60_80")
SCENES, CLASSIFY_SCENES, AT_ONCE = 1024, 2480, 64
SCORE_S, SAVE_S = 90, 8
"""Seconds to leave for the scores, and for saving a training that is not done."""
CALIBRATION = 60
RESULTS = Path("docs/results/viewpoint")
FAILURES = 48
"""Pictures of failures that are kept for a contact sheet."""
BEGUN = time.time()


@dataclass(frozen=True)
class Named:
    """A plan by name: settings of `training.viewpoint.plan.ViewNetPlan`, its world, and views that are kept.

    With `kept` so many views are drawn once and shown epoch after epoch; without, each is drawn for one use.
    """

    settings: dict[str, Any]
    world: str = "cad/train"
    variants: tuple[int, int] | None = None
    kept: int = 0
    about: str = ""


PLANS = {
    "tiny": Named({"size": "tiny", "batch": 256, "rate": 2e-3, "decay": 0.03}, about="pictures of 192×128 pixels"),
    "base": Named(
        {"size": "base", "batch": 128, "rate": 1.5e-3, "compiled": True}, about="pictures of 288×192 pixels"
    ),
    "large": Named(
        {"size": "large", "batch": 96, "rate": 1e-3, "compiled": True},
        about="pictures of 384×256 pixels; too large to ship",
    ),
    "toy": Named(
        {"size": "tiny", "side": 96, "batch": 16, "rate": 2e-3, "warmup": 5, "precision": "fp32"},
        variants=(0, 1),
        kept=64,
        about="proves the way on a CPU",
    ),
}


def say(*words: object) -> None:
    print(f"[{time.time() - BEGUN:6.1f} s]", *words, flush=True)


def device_here() -> str:
    import torch

    torch.set_float32_matmul_precision("high")
    return "cuda" if torch.cuda.is_available() else "cpu"


def plan_of(name: str, steps: int | None) -> Any:
    from sightline.training.viewpoint.plan import ViewNetPlan

    plan = ViewNetPlan(**PLANS[name].settings)
    return plan if steps is None else replace(plan, steps=steps, warmup=min(plan.warmup, steps // 10))


def source_of(name: str, plan: Any, workers: int) -> Any:
    """The views of a plan, endless: steps are chosen later."""
    from sightline.training.viewpoint.placed import ViewStream
    from sightline.training.viewpoint.plan import CLASSES
    from sightline.training.viewpoint.setup import resized
    from sightline.training.viewpoint.views import DrawnViews, KeptViews
    from sightline.worlds import load_world

    named = PLANS[name]
    world = resized(load_world(named.world), plan.resolution_side)
    world = world if named.variants is None else replace(world, variants=named.variants)
    each = min(plan.batch, named.kept) if named.kept else plan.batch
    stream = ViewStream(world, CLASSES, plan.seed, each, named.kept // each if named.kept else 10**6)
    drawn = DrawnViews(stream, workers=workers, device=device_here())
    if not named.kept:
        return drawn
    return KeptViews(drawn, named.kept // each, batch=plan.batch, seed=plan.seed)


def train(name: str, args: argparse.Namespace) -> None:
    from sightline.models.nets.checkpoints import load_checkpoint
    from sightline.models.nets.viewpoint import ViewNet
    from sightline.plain import plain
    from sightline.training.fit import fit
    from sightline.training.folder import trained_seconds
    from sightline.training.viewpoint.task import ViewNetTask

    device, folder = device_here(), args.out / name
    plan = plan_of(name, args.steps)
    source = source_of(name, plan, args.workers)
    say(name, "ready to draw", PLANS[name].about)
    if (folder / "plan.json").exists():  # it goes on
        stored = json.loads((folder / "plan.json").read_text())["plan"]
        plan = replace(plan, steps=stored["steps"], warmup=stored["warmup"])
    elif args.deadline and args.steps is None:
        plan = replace(plan, steps=affordable(plan, source, args))
    say(name, f"{plan.steps} steps of {plan.batch} pictures")

    def progress(done: int, of: int, row: Any) -> None:
        figures = ", ".join(f"{key} {row[key]:.3f}" for key in ViewNetTask.metrics)
        say(f"{name} {done}/{of}: {figures}, {row['images_per_s']:.0f} images/s")

    seconds = args.deadline - SAVE_S - (time.time() - BEGUN) if args.deadline else float("inf")
    task = ViewNetTask(plan, source)
    done = fit(task, folder, log_every=100, save_every=10**9, seconds=seconds, progress=progress, device=device)[1]
    args.results.mkdir(parents=True, exist_ok=True)
    (args.results / f"{name}.csv").write_bytes((folder / "log.csv").read_bytes())
    spent = trained_seconds(folder)
    say(f"{name}: {done.steps} of {done.planned} steps, {spent:.0f} s of training")
    if done.steps < done.planned:
        say(name, "goes on when it is called again")
        return
    (args.results / f"{name}.safetensors").write_bytes(done.weights.read_bytes())
    net, _ = load_checkpoint(done.weights, ViewNet)
    facts = {"plan": plain(plan), "source": source.facts(), "steps": done.steps, "seconds": spent}
    score(net, name, args, facts | {"about": PLANS[name].about})


def affordable(plan: Any, source: Any, args: argparse.Namespace) -> int:
    """Steps that fit in the time left and `more` seconds, by the speed of a few that also compile everything."""
    from sightline.training.fit import fit
    from sightline.training.viewpoint.task import ViewNetTask

    short = replace(plan, steps=CALIBRATION, warmup=10)
    folder = args.out / "calibration" / f"{plan.size}-{time.time():.0f}"
    _, tried = fit(ViewNetTask(short, source), folder, log_every=CALIBRATION // 2, save_every=10**9)
    say(f"calibrated: {tried.last['images_per_s']:.0f} images/s")
    left = args.deadline - SCORE_S - (time.time() - BEGUN) + args.more
    return max(50, int(left * tried.last["images_per_s"] / plan.batch / 50) * 50)


def score(net: Any, name: str, args: argparse.Namespace, facts: dict[str, Any]) -> None:
    """Score a network on every split; the file grows split by split."""
    import torch

    from sightline.plain import plain
    from sightline.training.viewpoint.evaluation import answer_views, drawn, score_given, score_views

    device = device_here()
    net = net.to(device).eval()
    card = torch.cuda.get_device_name() if device == "cuda" else platform.processor()
    made: dict[str, Any] = {**facts, "torch": torch.__version__, "device": card, "splits": {}}
    made["parameters"] = sum(weight.numel() for weight in net.parameters())
    made["milliseconds"] = latency(net, device)
    for split in args.splits:
        source = views_of(f"cad/{split}", net, args)
        answers = answer_views(net, drawn(source, args.scenes // at_once(args)))
        scores = score_views(answers)
        if split.startswith("hidden"):  # such a world hides the first model of each scene
            scores["hidden"] = score_given(answers, answers.place == 0)
        made["splits"][split] = plain(scores)
        (args.results / f"{name}.json").write_text(json.dumps(made, indent=1) + "\n")
        given, own = scores["given"], scores["detected"]
        say(
            name,
            split,
            f"given: π/6 {given['accuracy_pi_6']['mean']}, π/18 {given['accuracy_pi_18']['mean']}, "
            f"median {given['median_error']['mean'].value:.1f}°, class {given['class']['mean']}; "
            f"AP {own['ap']['mean']}, AVP-8 {own['avp 8']['mean']}",
        )


def at_once(args: argparse.Namespace) -> int:
    return min(AT_ONCE, args.scenes)


def views_of(world: str, net: Any, args: argparse.Namespace) -> Any:
    from sightline.training.viewpoint.placed import ViewStream
    from sightline.training.viewpoint.setup import resized
    from sightline.training.viewpoint.views import DrawnViews
    from sightline.worlds import load_world

    made = resized(load_world(world), net.config.side)
    made = replace(made, variants=(made.variants[0], made.variants[0] + 1)) if args.few else made
    stream = ViewStream(made, net.config.classes, 0, at_once(args), args.scenes // at_once(args))
    return DrawnViews(stream, workers=args.workers, device=device_here())


def latency(net: Any, device: str) -> float:
    """Milliseconds to find and judge the objects of one picture, the median of 20."""
    import torch

    from sightline.models.viewnet import detected

    times = []
    picture = torch.rand(1, 3, net.config.side * 2 // 3 // 32 * 32, net.config.side, device=device)
    for _ in range(20):
        start = time.perf_counter()
        with torch.inference_mode():
            detected(net, picture)
        times.append(time.perf_counter() - start)
    return 1000.0 * sorted(times)[10]


def classify(name: str, args: argparse.Namespace) -> None:
    """Let real CAD models judge: how often a network that never saw one names its class and its front."""
    import numpy as np

    from sightline.geometry.viewpoints import azimuth_gap
    from sightline.models.nets.checkpoints import load_checkpoint
    from sightline.models.nets.viewpoint import ViewNet
    from sightline.plain import plain
    from sightline.training.viewpoint.evaluation import answer_views, score_views
    from sightline.training.viewpoint.placed import ViewStream, shelf_folder
    from sightline.training.viewpoint.setup import resized
    from sightline.training.viewpoint.views import DrawnViews
    from sightline.worlds import load_world
    from sightline.worlds.looks import category_of
    from sightline.worlds.shapes import shelve

    net, _ = load_checkpoint(args.weights, ViewNet)
    net = net.to(device_here()).eval()
    groups = of_library(args.library, net.config.classes) if args.library else [official(args.cad)]
    shapes = [shape for group in groups for shape in group]
    pictures: list[Any] = []

    def drawn() -> Iterator[Any]:
        world = replace(resized(load_world("cad/val"), net.config.side), objects=(1, 1), variants=(0, 1))
        for seed, group in enumerate(groups):
            made = replace(world, shapes=tuple((shape, 1.0) for shape in group))
            if args.workers:
                shelve(made.solids(), shelf_folder())  # workers do not know them
            batches = args.scenes // len(groups) // at_once(args)
            stream = ViewStream(made, net.config.classes, seed, at_once(args), batches)
            source = DrawnViews(stream, workers=args.workers, device=device_here())
            for loaded in source.loader(0, batches):
                batch = source.views(loaded)
                pictures.extend(batch.pictures.cpu().numpy())
                yield batch
            say(f"{len(pictures)} views")

    answers = answer_views(net, drawn())
    objects, said = answers.objects, answers.angles
    scores = score_views(answers)
    assert objects.symmetry is not None
    gap = azimuth_gap(objects.angles[:, 0], said[:, 0], objects.symmetry)
    wrong = np.flatnonzero((answers.named != objects.category) | (gap >= 90.0))[:FAILURES]
    words = [
        f"{objects.category[i]} {objects.angles[i, 0]:.0f}°: {answers.named[i]} {said[i, 0]:.0f}°" for i in wrong
    ]
    names = list(net.config.classes)
    confusion = np.zeros((len(names), len(names)), np.int64)
    for true, other in zip(objects.category, answers.named, strict=True):
        confusion[names.index(true), names.index(other)] += 1
    made = {
        "weights": args.weights.name,
        "models": len(shapes),
        "models_by_class": dict(sorted(Counter(map(category_of, shapes)).items())),
        "views": answers.images,
        "classes": names,
        "confusion": confusion.tolist(),
        "given": plain(scores["given"]),
    }
    args.results.mkdir(parents=True, exist_ok=True)
    kind = "library" if args.library else "official"
    (args.results / f"{name}-{kind}.json").write_text(json.dumps(made, indent=1) + "\n")
    shown = (
        np.stack([pictures[i] for i in objects.image[wrong]]) if len(wrong) else np.zeros((0, 1, 1, 3), np.uint8)
    )
    np.savez_compressed(args.out / f"{name}-{kind}.npz", pictures=shown, words=np.array(words, dtype=str))
    for measure in ("class", "side_right", "accuracy_pi_6"):
        say(name, measure, ", ".join(f"{c} {i.value:.2f}" for c, i in scores["given"][measure].items()))


def of_library(folder: Path, classes: Sequence[str]) -> list[list[str]]:
    """Models of some classes of a shape library, by class: all at once may have more texture than is drawn with."""
    from sightline.worlds.looks import category_of
    from sightline.worlds.shapes.library import register_library

    names = register_library(folder, "library")
    groups = [[name for name in names if category_of(name) == category] for category in classes]
    return [group for group in groups if group]


def official(folder: Path) -> list[str]:
    """Names of the official models, known to worlds from now on."""
    from sightline.worlds.shapes import register
    from sightline.worlds.shapes.pascal_models import read_cad_models

    names = []
    for model in read_cad_models(folder):
        solid = model.solid(folder)
        register(replace(solid, name=f"pascal3d/{model.name}:medium"))
        names.append(f"pascal3d/{model.name}")
    return names


def sheet(name: str, args: argparse.Namespace) -> None:
    """Draw the failures that `classify` kept."""
    import numpy as np
    from PIL import Image, ImageDraw

    kind = "library" if args.library else "official"
    with np.load(args.out / f"{name}-{kind}.npz") as file:
        pictures, words = file["pictures"], file["words"]
    columns, bar = 6, 14
    times = -(-192 // pictures.shape[2])  # enough room for the words
    height, width = (times * side for side in pictures.shape[1:3])
    whole = Image.new("RGB", (columns * width, -(-len(pictures) // columns) * (height + bar)), "white")
    pen = ImageDraw.Draw(whole)
    for i, (picture, word) in enumerate(zip(pictures, words, strict=True)):
        x, y = i % columns * width, i // columns * (height + bar)
        whole.paste(Image.fromarray(picture).resize((width, height)), (x, y + bar))
        pen.text((x + 2, y + 1), str(word), fill="black")
    whole.save(args.out / f"{name}-{kind}.png")
    say("wrote", args.out / f"{name}-{kind}.png")


def throughput(name: str, args: argparse.Namespace) -> None:
    """Time placing by the workers, drawing, and steps of the network, each alone."""
    import torch

    from sightline.training.viewpoint.task import ViewNetTask

    plan = plan_of(name, args.steps)
    start = time.perf_counter()
    source = source_of(name, plan, args.workers)
    say(f"{name}: ready to draw after {time.perf_counter() - start:.1f} s")
    count = 24
    placed = []
    start = time.perf_counter()
    for i, loaded in enumerate(source.loader(0, count)):
        placed.append(loaded)
        start = time.perf_counter() if i == 3 else start
    say(f"placed {(count - 4) * plan.batch / (time.perf_counter() - start):,.0f} scenes a second")

    def done() -> None:
        if device_here() == "cuda":
            torch.cuda.synchronize()

    for again in range(2):  # the first time compiles
        start = time.perf_counter()
        batches = [source.views(loaded) for loaded in placed[:12]]
        done()
        if again:
            say(f"drew {12 * plan.batch / (time.perf_counter() - start):,.0f} pictures a second")
    task = ViewNetTask(plan, source)
    net = task.modules()["net"].to(device_here())
    task.source = type("Held", (), {"views": lambda _, loaded: loaded})()
    cast = torch.autocast(device_here(), torch.bfloat16, enabled=plan.precision == "bf16")
    for i in range(12):
        if i == 4:
            done()
            start = time.perf_counter()
        with cast:
            loss, _ = task.loss(batches[i], 0)
        loss.backward()
        net.zero_grad()
    done()
    say(f"learned from {8 * plan.batch / (time.perf_counter() - start):,.0f} pictures a second, drawing apart")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("train", "score", "classify", "sheet", "throughput"))
    parser.add_argument("name", help="plan: " + ", ".join(PLANS))
    parser.add_argument("--out", type=Path, default=Path("viewpoint-out"), help="folder of trainings")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--weights", type=Path, help="score, classify: the checkpoint")
    parser.add_argument("--cad", type=Path, help="classify: folder CAD of PASCAL3D+")
    parser.add_argument("--library", type=Path, help="classify, sheet: a shape library instead")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--deadline", type=float, help="choose the steps so that all is done after so many seconds")
    parser.add_argument("--more", type=float, default=0.0, help="seconds of training that further calls will add")
    parser.add_argument(
        "--scenes", type=int, help=f"views a split, by default {SCENES}; classify {CLASSIFY_SCENES}"
    )
    parser.add_argument("--splits", nargs="*", default=SPLITS, help="score these splits of cad/…")
    parser.add_argument("--few", action="store_true", help="score one variant of each sub-type: to try it on a CPU")
    parser.add_argument("--workers", type=int, default=14)
    args = parser.parse_args()
    if args.name not in PLANS:
        parser.error(f"no plan {args.name!r}; there are {', '.join(PLANS)}")
    args.scenes = args.scenes or (CLASSIFY_SCENES if args.what == "classify" else SCENES)
    args.out.mkdir(parents=True, exist_ok=True)
    if args.what in ("score", "classify") and args.weights is None:
        parser.error(f"{args.what} needs --weights")
    if args.what == "classify" and (args.cad is None) == (args.library is None):
        parser.error("classify needs --cad or --library")
    if args.what == "score":
        from sightline.models.nets.checkpoints import load_checkpoint
        from sightline.models.nets.viewpoint import ViewNet

        net, facts = load_checkpoint(args.weights, ViewNet)
        args.results.mkdir(parents=True, exist_ok=True)
        score(net, args.name, args, {**facts, "about": PLANS[args.name].about})
        return
    {"train": train, "classify": classify, "sheet": sheet, "throughput": throughput}[args.what](args.name, args)


if __name__ == "__main__":
    main()
