"""GeoSpa's experiment on a CUDA card: train SORNet on scenes drawn on the card, examine it on every split.

``PYTHONPATH=src python benchmarks/geospa.py throughput`` measures the network's training and the whole way with
placing and drawing; ``… train NAME --out DIR`` trains one of the plans below, resumes it where it was interrupted,
and writes what it answered: counts a scene, from which ``docs/pages/geospa_page.py`` makes docs/results/geospa.md;
``… examine NAME --weights FILE --glances 3`` asks trained weights again.
Needs torch, Lightning, safetensors, numpy, numba with numba-cuda and yaml.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

VIEWS = ("original", "top")
SPLITS = (
    "val_default",
    "train",
    "val_color",
    "val_material",
    "val_size",
    "val_shape",
    "val_op",
    "val_kitchen",
    "val_kitchen_plain",
)
GEOMETRIC = ("contains", "supports", "can_contain", "can_support")
SHOWN = {"1 view": (0,), "2 views": (0, 1)}
SCENES = 2048
EXAMINE_S, SAVE_S = 65, 8
"""Seconds to leave for the examination, and for saving a training that is not done."""
EDITION = 2
"""Of the pictures: the first were lit otherwise."""
RESULTS = Path("docs/results/geospa")
BEGUN = time.time()


@dataclass(frozen=True)
class Named:
    """A plan by name: settings of `training.sornet.plan.SornetPlan` and the world its scenes come from.

    With `kept` so many scenes are drawn once and kept on the card, shown epoch after epoch and changed each time;
    without, every step draws new ones. With `fresh` too, every so many steps a batch of new ones takes the place of
    the oldest. With `also`, batches are drawn from that world too, by `turns` (0: from `world`, 1: from `also`),
    `crowded` and `alike` shares of its scenes being so. `augmented`: the whole augmentation, a light one, or none.
    In the examination it glances `glances` times at a scene.
    """

    settings: dict[str, Any]
    world: str = "geospa/train"
    also: str = ""
    turns: tuple[int, ...] = (0, 1)
    crowded: float = 0.0
    alike: float = 0.0
    glances: int = 1
    kept: int = 0
    fresh: int = 0
    ship: bool = True
    augmented: Literal["full", "light", "none"] = "full"
    about: str = ""


_WIDE = Named(
    {"size": "base", "steps": 8300, "batch": 256, "optimizer": "muon", "rate": 8e-4, "crowded": 0.0},
    also="geospa/invented",
    crowded=0.5,
    kept=40960,
    fresh=24,
    ship=False,
    augmented="light",
    about="as base, with scenes of invented shapes, and longer",
)

PLANS = {
    "base": Named(
        {"size": "base", "steps": 3350, "batch": 256, "optimizer": "muon", "rate": 8e-4, "crowded": 0.0},
        kept=98304,
        ship=False,
        augmented="light",
        about="ViT-B/32 by our recipe",
    ),
    "base-alike": replace(
        _WIDE,
        settings={**_WIDE.settings, "steps": 12000},
        also="geospa/alike",
        turns=(0, 1, 1),
        crowded=0.35,
        alike=0.25,
        glances=5,
        about="as base-wide, with two in three scenes of invented shapes, some of look-alikes, and longer",
    ),
    "base-vessels": replace(
        _WIDE,
        settings={**_WIDE.settings, "steps": 2950},
        also="geospa/vessels",
        crowded=0.3,
        alike=0.2,
        glances=5,
        about="as base-wide, with vessels, lids, handles, rings and plates of our own",
    ),
    "base-wide": _WIDE,
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
        about="taught by GeoSpa's seven shapes alone",
    ),
    "tiny-alike": Named(
        {"size": "tiny", "steps": 6000, "batch": 256, "optimizer": "muon", "rate": 2e-3, "crowded": 0.0},
        also="geospa/alike",
        crowded=0.35,
        alike=0.25,
        glances=5,
        kept=40960,
        fresh=24,
        augmented="light",
        about="as tiny, with scenes of invented shapes, a quarter of them of look-alikes",
    ),
    "tiny-vessels": Named(
        {"size": "tiny", "steps": 5900, "batch": 256, "optimizer": "muon", "rate": 2e-3, "crowded": 0.0},
        also="geospa/vessels",
        crowded=0.3,
        alike=0.2,
        glances=2,
        kept=40960,
        fresh=20,
        augmented="light",
        about="the shipped model: half its scenes have vessels, lids, handles, rings and plates of our own",
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


ALSO_CANONICAL = 8
"""Canonical views of each object of the second world, which has many."""


def train(name: str, out: Path, args: argparse.Namespace) -> None:
    import torch

    from sightline.models.nets.checkpoints import load_checkpoint
    from sightline.models.nets.sornet import Sornet
    from sightline.plain import plain
    from sightline.training.augmentation import Augmentation
    from sightline.training.fit import fit
    from sightline.training.folder import trained_seconds
    from sightline.training.sornet.plan import SornetPlan
    from sightline.training.sornet.task import SornetTask

    torch.set_float32_matmul_precision("high")
    named, workers, deadline, folder = PLANS[name], args.workers, args.deadline, out / name
    plan = SornetPlan(**{"views": VIEWS, **named.settings})
    if named.augmented != "full":
        plan = replace(plan, augmentation=Augmentation.light() if named.augmented == "light" else None)
    plan = plan if args.steps is None else replace(plan, steps=args.steps)
    _pages()  # or hours later the answers could not be written
    source = source_of(named, plan, workers)
    say(name, "ready to train", named.about)
    if (folder / "plan.json").exists():  # it goes on
        plan = replace(plan, steps=json.loads((folder / "plan.json").read_text())["plan"]["steps"])
    elif deadline and args.steps is None:
        plan = replace(plan, steps=affordable(plan, source, out, deadline - EXAMINE_S, args.more))
    say(name, f"{plan.steps} steps")

    def progress(done: int, of: int, row: Any) -> None:
        figures = ", ".join(f"{key} {row[key]:.4f}" for key in ("predicates", "right", "facts", "pointing"))
        say(f"{name} {done}/{of}: {figures}, {row['images_per_s']:.0f} images/s")

    seconds = deadline - SAVE_S - (time.time() - BEGUN) if deadline else float("inf")
    task = SornetTask(plan, source)
    done = fit(task, folder, log_every=100, save_every=10**9, seconds=seconds, progress=progress)[1]
    del source, task  # its scenes fill most of the card
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    args.results.mkdir(parents=True, exist_ok=True)
    (args.results / f"{name}.csv").write_bytes((folder / "log.csv").read_bytes())
    spent = trained_seconds(folder)
    say(f"{name}: {done.steps} steps, {spent:.0f} s of training")
    if done.steps < done.planned:
        say(name, "goes on when it is called again")
        return
    net, about = load_checkpoint(done.weights, Sornet)
    net = net.to("cuda" if torch.cuda.is_available() else "cpu")
    facts = {
        "plan": plain(plan),
        "world": named.world,
        "kept": named.kept,
        "about": named.about,
        "edition": EDITION,
    }
    facts |= {name: getattr(named, name) for name in ("also", "turns", "crowded", "alike", "glances", "fresh")}
    conclude(net, about, name, args, facts | {"seconds": spent, "steps": done.steps})


def conclude(net: Any, about: dict[str, Any], name: str, args: argparse.Namespace, facts: dict[str, Any]) -> None:
    """Choose thresholds, write the weights where they ship, and examine."""
    from sightline.models.nets.checkpoints import dump_checkpoint

    thresholds = chosen_thresholds(net, args.workers, min(CHOSEN_BY, args.scenes), facts["glances"])
    say(name, "thresholds", thresholds)
    if PLANS[name].ship:
        (args.results / f"{name}.safetensors").write_bytes(
            dump_checkpoint(net, {**about, "glances": facts["glances"], "thresholds": thresholds}, half=True)
        )
    examine(net, name, args, facts | {"thresholds": thresholds})


def examine_again(name: str, args: argparse.Namespace) -> None:
    """Examine weights that were trained before; what is told of their training stays.

    With the thresholds and glances that they bring; with other glances, other thresholds are chosen.
    """
    import torch

    from sightline.models.nets.checkpoints import load_checkpoint
    from sightline.models.nets.sornet import Sornet

    facts, _ = _pages().read_counts(RESULTS / f"{name}{_pages().COUNTS}")
    net, about = load_checkpoint(args.weights, Sornet)
    args.results.mkdir(parents=True, exist_ok=True)
    net = net.to("cuda" if torch.cuda.is_available() else "cpu")
    brought = {key: about[key] for key in ("glances", "thresholds") if key in about}
    if len(brought) == 2 and args.glances in (None, brought["glances"]):
        examine(net, name, args, facts | brought)
    else:
        conclude(net, about, name, args, facts | {"glances": args.glances or PLANS[name].glances})


def source_of(named: Named, plan: Any, workers: int) -> Any:
    """The scenes of a plan: of one world or two, drawn as they are needed or kept on the card."""
    import torch

    from sightline.training.batches import warm_up
    from sightline.training.sornet.layouts import PlacedScenes, item_of
    from sightline.training.sornet.sources import FewScenes, MixedSource, WorldSource
    from sightline.worlds import load_world

    for name in (named.world, named.also):
        if name:
            scenes = PlacedScenes(load_world(name), plan.views, seed=0, size=2, batches=1)
            warm_up(item_of, (scenes, 0), workers, preload=item_of.__module__)
    endless = 10**6  # steps are chosen later

    def drawn(name: str, canonical: int, crowded: float, alike: float = 0.0) -> WorldSource:
        world, seed, size = load_world(name), plan.seed, plan.batch
        shares = {"crowded": crowded, "alike": alike}
        scenes = PlacedScenes(world, plan.views, seed=seed, size=size, batches=endless, **shares)
        made = WorldSource(scenes, canonical=canonical, workers=workers, cuda=torch.cuda.is_available())
        say("ready to draw", name, f"{len(made.bank)} objects")
        return made

    source: Any = drawn(named.world, plan.canonical, plan.crowded)
    if named.also:
        also = drawn(named.also, ALSO_CANONICAL, named.crowded, named.alike)
        source = MixedSource([source, also], named.turns)
    if not named.kept:
        return source
    return FewScenes(source, named.kept, len(plan.views), batch=plan.batch, seed=plan.seed, fresh=named.fresh)


def affordable(plan: Any, source: Any, out: Path, until: float, more: float) -> int:
    """Steps that fit in the time left and `more` seconds, by the speed of a few that also compile everything."""
    from sightline.training.fit import fit
    from sightline.training.sornet.task import SornetTask

    short = replace(plan, steps=80, warmup=10)
    folder = out / "calibration" / f"{plan.size}-{time.time():.0f}"
    _, tried = fit(SornetTask(short, source), folder, log_every=40, save_every=10**9)
    each = plan.batch * (len(plan.views) - plan.fewer_views * (len(plan.views) > 1))
    say(f"calibrated: {tried.last['images_per_s']:.0f} images/s")
    left = until - (time.time() - BEGUN) + more
    return max(50, int(left * tried.last["images_per_s"] / each / 50) * 50)


def examine(net: Any, name: str, args: argparse.Namespace, facts: dict[str, Any]) -> None:
    """Ask about every split with one view and with two; counts a scene go into one file.

    Splits that are in the file already, of the same plan and examination, are not asked again.
    """
    import numpy as np
    import torch

    from sightline.exams.predicates.counts import tally_many
    from sightline.training.sornet.evaluation import answers_by
    from sightline.training.sornet.layouts import PlacedScenes
    from sightline.training.sornet.sources import WorldSource
    from sightline.worlds import load_world

    scenes, workers = args.scenes, args.workers
    batch = min(256, scenes)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor()
    about = {**facts, "scenes": scenes, "torch": torch.__version__, "examined_on": device}
    about = json.loads(json.dumps({"device": device} | about))  # as it is read back
    file = args.results / f"{name}{_pages().COUNTS}"
    told, counts = _pages().read_counts(file) if file.exists() else ({}, {})
    if told != about:
        counts = {}
    for split in args.splits:
        if any(key.partition("|")[0] == split for key in counts):
            continue
        shares = learned_from(facts) if split == "train" else {}
        world, batches = load_world(f"geospa/{split}"), scenes // batch
        placed = PlacedScenes(world, VIEWS, seed=0, size=batch, batches=batches, **shares)
        source = WorldSource(placed, canonical=4, workers=workers, cuda=torch.cuda.is_available())
        how = {"glances": facts["glances"], "thresholds": facts["thresholds"]}
        answers = answers_by(net, source, scenes // batch, list(SHOWN.values()), **how)
        for words, answer in zip(SHOWN, answers, strict=True):
            kinds = {"": answer.said, " plain": answer.plain} | (
                {" once": answer.once} if facts["glances"] > 1 else {}
            )
            for kind, said in kinds.items():
                tallied = tally_many(answer.truth, said.astype(np.int8), answer.present)
                counts[f"{split}|{words}{kind}"] = tallied.astype(np.uint8)
            say(name, split, words, summary(counts[f"{split}|{words}"]))
        _pages().write_counts(file, about, counts)
    for split in {"val_kitchen", "val_kitchen_plain"}.intersection(args.splits):
        say(name, split, "2 views, geometric, against the majority:", beside_majority(args.results, name, split))


CHOSEN_BY = 1024
"""Scenes of val_default by which thresholds are chosen; of another seed than those it is examined on."""


def chosen_thresholds(net: Any, workers: int, scenes: int, glances: int) -> dict[str, float]:
    """Thresholds of the geometric predicates, by the rule of `best_thresholds`, both views shown."""
    import torch

    from sightline.training.sornet.evaluation import answers, best_thresholds
    from sightline.training.sornet.layouts import PlacedScenes
    from sightline.training.sornet.sources import WorldSource
    from sightline.worlds import load_world

    batch, views = min(256, scenes), net.config.views
    placed = PlacedScenes(load_world("geospa/val_default"), views, seed=1, size=batch, batches=scenes // batch)
    source = WorldSource(placed, canonical=4, workers=workers, cuda=torch.cuda.is_available())
    return best_thresholds(answers(net, source, scenes // batch, range(len(views)), glances=glances))


@cache
def _pages() -> Any:
    """The module by which the page writes, reads and scores counts."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "pages"))
    import _geospa

    return _geospa


def beside_majority(out: Path, name: str, split: str) -> str:
    """Scene accuracy of the geometric predicates against the majority's, paired by scene; F1 of each of them."""
    results = _pages().Results.read(out)
    scores, blind = results.scores(name, split), results.majority(split, name)
    gap = results.against_majority(name, split)["geometric"]
    means = " against ".join(f"{100 * one.scene_accuracy['geometric'].value:.2f}" for one in (scores, blind))
    each = ", ".join(f"{predicate} {100 * scores.f1[predicate].value:.1f}" for predicate in GEOMETRIC)
    ends = f"{100 * gap.difference:+.2f} ({100 * gap.low:+.2f} to {100 * gap.high:+.2f})"
    return f"{means}, {ends}; F1 {each}"


def learned_from(facts: dict[str, Any]) -> dict[str, Any]:
    """Which scenes of the training split were shown: its first ones, or the oldest that were kept to the end."""
    from sightline.training.sornet.sources import turns_before

    replaced = (facts["steps"] - 1) // facts["fresh"] if facts["fresh"] else 0  # batches, of all worlds together
    first = turns_before(facts["turns"] if facts["also"] else (0,), 0, replaced) * facts["plan"]["batch"]
    return {"crowded": facts["plan"]["crowded"], "first": first}


def summary(counts: Any) -> str:
    """Scene accuracy of all (with half its 95 % interval), spatial and geometric predicates; scene-all; percent."""
    import numpy as np

    from sightline.exams.predicates.counts import TN, TP

    right = counts[:, :, [TP, TN]].sum(axis=2).astype(np.float64)
    asked = counts.sum(axis=2)
    each = 100.0 * (right / asked).mean(axis=0)
    whole = 100.0 * (right == asked).all(axis=1).mean()
    parts = "/".join(f"{value:.1f}" for value in each[4:])
    spread = 196.0 * (right / asked).mean(axis=1).std() / np.sqrt(len(counts))
    three = f"all {each.mean():.2f} ± {spread:.2f} spatial {each[:4].mean():.2f} geometric {each[4:].mean():.2f}"
    return f"{three} ({parts}) whole {whole:.1f}"


CASES = (
    # size, views, batch, precision, how it is compiled
    ("base", 1, 512, "bf16", "by parts"),
    ("base", 1, 1024, "bf16", "by parts"),
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
    for case in CASES if args.network else args.uses if args.drawn else (*args.uses, *CASES):
        torch.compiler.reset()
        row = measured(*case) if isinstance(case, tuple) else whole_way(args, case)
        say(row)
        rows[_case(row)] = row
        file.write_text(json.dumps(list(rows.values()), indent=1) + "\n")


def _case(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in ("size", "views", "batch", "precision", "compiled", "uses"))


REPLACED = 2
"""Steps after which a kept batch of scenes is replaced, where pictures are shown more than once."""


def whole_way(args: argparse.Namespace, uses: float) -> dict[str, Any]:
    """Training of the base network, augmentation and log included, on scenes placed and drawn as it goes on.

    Each picture is shown `uses` times on average. With more than once, eight batches of scenes are kept, one of
    which is replaced every second step; as some steps show one view alone, a scene is shown more often than that.
    """
    from sightline.training.fit import fit
    from sightline.training.sornet.layouts import PlacedScenes
    from sightline.training.sornet.plan import SornetPlan
    from sightline.training.sornet.sources import FewScenes, WorldSource
    from sightline.training.sornet.task import SornetTask
    from sightline.worlds import load_world

    steps = args.steps or 160
    chosen = {"steps": steps, "warmup": steps // 8} | ({"batch": args.batch} if args.batch else {})
    plan = SornetPlan(**{**PLANS["base"].settings, **chosen}, views=VIEWS)
    shown = len(VIEWS) - plan.fewer_views * (len(VIEWS) - 1)  # views of a scene in a step, on average
    world, size = load_world("geospa/train"), plan.batch
    if uses > 1:
        size = round(REPLACED * plan.batch * shown / (len(VIEWS) * uses))
    scenes = PlacedScenes(world, VIEWS, seed=plan.seed, size=size, batches=plan.steps, crowded=plan.crowded)
    source: Any = WorldSource(scenes, canonical=plan.canonical, workers=args.workers, cuda=True)
    if uses > 1:
        source = FewScenes(source, 8 * size, len(VIEWS), batch=plan.batch, seed=plan.seed, fresh=REPLACED)
    folder = args.out / f"whole-way-{uses}-{time.time():.0f}"
    _, done = fit(SornetTask(plan, source), folder, log_every=steps // 2, save_every=10**9)
    return {
        "size": "base",
        "views": "1 or 2",
        "batch": plan.batch,
        "precision": "bf16",
        "compiled": "by parts",
        "images_per_s": round(done.last["images_per_s"]),
        "uses": int(uses) if uses == int(uses) else uses,
        "steps": steps,
    }


def measured(size: str, views: int, batch: int, precision: str, compiled: str) -> dict[str, Any]:
    import numpy as np
    import torch

    from sightline.models.nets.sornet import Sornet, sornet_config
    from sightline.training.optimizers import optimizers
    from sightline.training.sornet.losses import FactsHead, predicate_loss
    from sightline.training.sornet.plan import SornetPlan
    from sightline.training.sornet.task import SornetTask

    device = "cuda"
    plan = SornetPlan(size=size, batch=batch, optimizer="adamw")
    net = Sornet(sornet_config(size, views=VIEWS[:views])).to(device)
    head = FactsHead(net.config.width).to(device)
    if compiled == "by parts":
        net.compile_parts()
    elif compiled:
        net.trace = torch.compile(net.trace, dynamic=False)  # type: ignore[method-assign]
    made = optimizers([net, head], plan, SornetTask.muon_prefix)
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
        "size": size,
        "views": views,
        "batch": batch,
        "precision": precision,
        "compiled": compiled,
        "images_per_s": round(rate),
        "first_s": round(first, 1),
        "uses": None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("throughput", "train", "examine"), help="nothing: only tell")
    parser.add_argument("names", nargs="*", help="plans: " + ", ".join(PLANS))
    parser.add_argument("--out", type=Path, default=Path("geospa-out"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--weights", type=Path, help="examine: the checkpoint")
    parser.add_argument("--glances", type=int, help="examine: at a scene, instead of the plan's")
    parser.add_argument("--steps", type=int, help="of throughput with drawing the second half is timed")
    parser.add_argument("--deadline", type=float, help="choose the steps so that all is done after so many seconds")
    parser.add_argument("--more", type=float, default=0.0, help="seconds of training that further calls will add")
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=SPLITS, help="examine: these alone")
    parser.add_argument("--scenes", type=int, default=SCENES, help="scenes a split")
    parser.add_argument("--network", action="store_true", help="throughput of the network alone, without drawing")
    parser.add_argument("--batch", type=int, help="throughput with drawing: scenes a batch, instead of the plan's")
    parser.add_argument(
        "--uses", type=float, nargs="+", default=[1, 2], help="times a picture is shown, with drawing"
    )
    parser.add_argument("--drawn", action="store_true", help="throughput with drawing, without the network alone")
    parser.add_argument("--workers", type=int, default=14)
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in PLANS]:
        parser.error(f"no plan {unknown[0]!r}; there are {', '.join(PLANS)}")
    if args.what is None:
        parser.print_help()
        return
    if args.what == "throughput":
        throughput(args)
    for name in args.names:
        if args.what == "examine":
            examine_again(name, args)
        else:
            train(name, args.out, args)


if __name__ == "__main__":
    main()
