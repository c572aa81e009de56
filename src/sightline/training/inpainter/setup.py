"""From options to a training of an in-painter: plan and pairs, chosen as by ``sightline train inpainter``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from sightline.errors import ConfigError
from sightline.models.nets.inpainter import WIDTHS
from sightline.training.inpainter.pairs import KeptPairs, PairSource, PairStream
from sightline.training.inpainter.task import InpainterPlan
from sightline.worlds import load_world

WORLDS: Final = ("context/train", "geospa/diverse", "kitchen", "context/train", "room", "geospa/invented")
"""Learned from where none is named; one that is named twice comes twice as often."""
SIZES: Final = {"tiny": "small", "small": "narrow", "base": "seed"}
"""``--size`` → a name of `models.nets.inpainter.WIDTHS`; base is the paper's."""
SIDE: Final = 256


@dataclass(frozen=True, kw_only=True)
class InpainterOptions:
    """What an in-painter is to be trained on, and how; None stands for the usual setting.

    Attributes:
        worlds: Whose scenes, in turn.
        kept: Pairs that are drawn once and shown again; None or 0 draws new ones for every step.
        size: tiny, small or base, the paper's.
        workers: Processes that place scenes.
    """

    worlds: tuple[str, ...] = ()
    kept: int | None = None
    size: str | None = None
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    seed: int = 0
    workers: int = 0


def plan_of(options: InpainterOptions, device: str) -> InpainterPlan:
    """Make the plan.

    Raises:
        ConfigError: No such size.
    """
    size = options.size or "tiny"
    if size not in SIZES:
        raise ConfigError(f"an in-painter's size is {', '.join(SIZES)}, not {size}")
    asked = {key: getattr(options, key) for key in ("steps", "batch", "rate")}
    changes: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    changes.setdefault("batch", 64 if device == "cuda" else 4)
    changes["warmup"] = min(InpainterPlan().warmup, changes.get("steps", InpainterPlan().steps) // 10)
    precision = "bf16" if device == "cuda" else "fp32"
    return InpainterPlan(width=WIDTHS[SIZES[size]], side=SIDE, seed=options.seed, precision=precision, **changes)  # type: ignore[arg-type]


def source_of(options: InpainterOptions, plan: InpainterPlan, device: str) -> PairSource | KeptPairs:
    """Open the pairs to learn from; several worlds draw in the size of the first."""
    worlds = [load_world(name) for name in options.worlds or WORLDS]
    same = [replace(world, resolution=worlds[0].resolution) for world in worlds]
    stream = PairStream(same, seed=plan.seed, size=plan.batch, cuda=device == "cuda")
    source = PairSource(stream, workers=options.workers)
    return KeptPairs(source, -(-options.kept // plan.batch)) if options.kept else source
