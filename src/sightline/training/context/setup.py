"""From options to a training with removed objects, as ``sightline train context`` chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from sightline.errors import ConfigError
from sightline.text import one_of
from sightline.training.context.options import ContextNet, ContextOptions
from sightline.training.context.painters import painter_of
from sightline.training.context.plan import ClassifierPlan, SegmenterPlan
from sightline.training.context.scenes import edited_scenes
from sightline.training.context.task import ClassifierTask, EditedSource, SegmenterTask
from sightline.worlds import World, load_world

WORLDS: Final = {"upernet": ("context/street/train",)}
"""Where to learn, by network; classifiers learn from `CLASSES`."""
CLASSES: Final = ("context/train", "context/single")
REMOVALS: Final = {"light": ("none", "rand", "const"), "vgg19": ("none", "rand", "const")}
"""Strategies of classifiers; UperNet has the others."""
KEPT: Final = ("sizebased", "random", "hardnegative")
"""Strategies of segmenters that leave labels out and need nothing to be gone; the first is the paper's Table 7."""
USUAL: Final[dict[ContextNet, dict[str, Any]]] = {
    "light": {"backbone": "mobilenet_v2", "width": 256, "batch": 64, "steps": 500, "rate": 1e-3},
    "vgg19": {"backbone": "vgg19", "width": 512, "batch": 64, "steps": 900, "rate": 6e-4},
    "upernet": {"batch": 16, "steps": 500, "rate": 4e-4},
}
CPU_BATCH: Final = {"light": 16, "vgg19": 4, "upernet": 4}
SEGMENTER_SIZES: Final = {"tiny": "tiny", "small": "r18", "base": "r50"}
SIDE: Final = 256
"""Pixels of the squares that classifiers see."""
SCENES: Final = {"cpu": 500, "cuda": 10_000}


def plan_of(options: ContextOptions, device: str) -> ClassifierPlan | SegmenterPlan:
    """Make the plan.

    Raises:
        ConfigError: A strategy, size or start of another network, or one that learns that an object is gone that
            the fill keeps.
    """
    net, kept = options.net, options.fill == "kept"
    known = REMOVALS.get(net)
    removal = options.removal or ("rand" if known else KEPT[0] if kept else "hardnegative-negative")
    if known and removal not in known:
        raise ConfigError(f"a classifier's removal is {', '.join(known)}, not {removal}")
    if not known and removal in ("rand", "const"):
        raise ConfigError(
            f"{removal} is for classifiers; UperNet takes random, sizebased, hardnegative, …-negative"
        )
    if kept and known and removal != "none":
        raise ConfigError(
            f"the fill kept removes nothing, so {removal} would teach that a class is absent which is there to be "
            "seen; it is for upernet, which leaves the labels of those pixels out"
        )
    if kept and removal.endswith("-negative"):
        raise ConfigError(
            f"the fill kept removes nothing, so the negative loss of {removal} would unlearn a class where it is "
            f"there to be seen; --removal {one_of(KEPT)} leaves its label out"
        )
    if options.start is not None and net != "light":
        raise ConfigError("ImageNet's weights (--start) are for the light network")
    if options.classes and known:
        raise ConfigError(f"--classes is for upernet; {net} learns every class of its worlds")
    if options.size is not None and (known or options.size not in SEGMENTER_SIZES):
        raise ConfigError(f"--size is for upernet: {', '.join(SEGMENTER_SIZES)}; not {options.size} for {net}")
    changes = {
        key: getattr(options, key) for key in ("steps", "batch", "rate") if getattr(options, key) is not None
    }
    whole = {**USUAL[net], **({"batch": CPU_BATCH[net]} if device == "cpu" else {}), **changes}
    whole |= {"seed": options.seed, "precision": "bf16" if device == "cuda" else "fp32"}
    whole["warmup"] = whole["steps"] // 10
    if known:
        return ClassifierPlan(**whole, removal=removal, start=options.start or "")  # type: ignore[arg-type]
    kind, _, loss = removal.partition("-")
    size = SEGMENTER_SIZES[options.size or ("base" if device == "cuda" else "tiny")]
    return SegmenterPlan(**whole, removal=kind, negative=float(loss == "negative"), size=size)  # type: ignore[arg-type]


def task_of(
    options: ContextOptions,
    plan: ClassifierPlan | SegmenterPlan,
    device: str,
    progress: Callable[[int, int], None] | None = None,
) -> ClassifierTask | SegmenterTask:
    """Draw the scenes with every class removed in turn, and make the task."""
    names = options.worlds or WORLDS.get(options.net, CLASSES)
    worlds: list[World] = [load_world(name) for name in names]
    scenes = SCENES[device] if options.scenes is None else options.scenes
    if scenes < len(worlds):
        raise ConfigError(f"--scenes {scenes}: at least one of each of {len(worlds)} worlds")
    if len({world.resolution for world in worlds}) > 1:
        worlds = [replace(world, resolution=worlds[0].resolution) for world in worlds]
    segments = isinstance(plan, SegmenterPlan)
    drawn = edited_scenes(
        dict.fromkeys(names, scenes // len(worlds)),
        worlds,
        seed=plan.seed,
        painter=painter_of(options.fill),
        fill=options.fill,
        classes=options.classes,
        size=None if segments else (SIDE, SIDE),
        labelled=segments,
        workers=options.workers,
        cuda=device == "cuda",
        on_drawn=progress,
    )
    if options.classes:
        drawn = replace(drawn, facts={**drawn.facts, "classes": sorted(options.classes)})
    source = EditedSource(drawn, batch=plan.batch, seed=plan.seed, part=options.part, among=options.classes)
    return SegmenterTask(plan, source) if isinstance(plan, SegmenterPlan) else ClassifierTask(plan, source)
