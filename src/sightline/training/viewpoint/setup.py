"""From options to a training: plan and views of a ViewNet, chosen as by ``sightline train``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from sightline.errors import ConfigError
from sightline.models.nets.viewpoint import COARSE, SIZES
from sightline.training.viewpoint.placed import ViewStream
from sightline.training.viewpoint.plan import CLASSES, ViewNetPlan
from sightline.training.viewpoint.views import DrawnViews, KeptViews, ViewSource
from sightline.worlds import World, load_world

CPU_KEPT: Final = 2000
"""Views that a CPU draws once and shows epoch after epoch: each takes it longer than a step."""
BATCHES: Final = {"cpu": 32, "cuda": 128}
_AT_ONCE: Final = 50  # views drawn together to be kept


@dataclass(frozen=True, kw_only=True)
class ViewNetOptions:
    """What a ViewNet is to be trained on, and how; None stands for the usual setting.

    Attributes:
        world: Whose views are drawn, in the network's resolution.
        kept: Views that are drawn once; 0 draws each for one use. By default 2,000 on a CPU, 0 on a card.
        augmented: Whether pictures are changed.
        workers: Processes that place views, and draw them where no card does.
    """

    world: str = "cad/train"
    size: str | None = None
    side: int | None = None
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    optimizer: Literal["adamw", "muon"] | None = None
    seed: int = 0
    augmented: bool = True
    kept: int | None = None
    workers: int = 0


def plan_of(options: ViewNetOptions, device: str) -> ViewNetPlan:
    """Make the plan."""
    if options.size is not None and options.size not in SIZES:
        raise ConfigError(f"a ViewNet's size is {', '.join(SIZES)}, not {options.size}")
    names = ("size", "side", "steps", "batch", "rate", "optimizer")
    changes: dict[str, Any] = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    changes.setdefault("batch", BATCHES[device])
    changes["warmup"] = min(ViewNetPlan().warmup, changes.get("steps", ViewNetPlan().steps) // 10)
    if not options.augmented:
        changes["augmentation"] = None
    return ViewNetPlan(seed=options.seed, precision="bf16" if device == "cuda" else "fp32", **changes)


def resized(world: World, side: int) -> World:
    """The world with pictures whose longer side has so many pixels, and whose shorter one is a multiple of 32.

    >>> resized(load_world("cad/train"), 288).resolution
    (288, 192)
    """
    width, height = world.resolution
    if side % COARSE:
        raise ConfigError(f"the longer side of pictures to learn from is a multiple of {COARSE} pixels, not {side}")
    short = max(COARSE, round(side * min(width, height) / max(width, height) / COARSE) * COARSE)
    return replace(world, resolution=(side, short) if width >= height else (short, side))


def source_of(
    options: ViewNetOptions, plan: ViewNetPlan, device: str, progress: Callable[[int, int], None] | None = None
) -> ViewSource:
    """Open the views to learn from."""
    world = resized(load_world(options.world), plan.resolution_side)
    kept = (CPU_KEPT if device == "cpu" else 0) if options.kept is None else options.kept
    if not kept:
        stream = ViewStream(world, CLASSES, plan.seed, plan.batch, plan.steps)
        return DrawnViews(stream, workers=options.workers, device=device)
    each = next(n for n in range(min(_AT_ONCE, kept), 0, -1) if kept % n == 0)
    stream = ViewStream(world, CLASSES, plan.seed, each, kept // each)
    base = DrawnViews(stream, workers=options.workers, device=device)
    return KeptViews(base, kept // each, batch=plan.batch, seed=plan.seed, progress=progress)
