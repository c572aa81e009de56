"""What the user of ``sightline train`` asked for, and the plan that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sightline.errors import ConfigError

if TYPE_CHECKING:
    from sightline.training.plan import Plan


@dataclass(frozen=True)
class Wishes:
    """What the user asked for."""

    to: Path
    worlds: tuple[str, ...]
    data: Path | None
    split: str | None
    size: str | None
    views: tuple[str, ...] | None
    steps: int | None
    batch: int | None
    rate: float | None
    optimizer: str | None
    seed: int
    augmentation: Literal["full", "light", "none"]
    canonical: int
    start: str | None
    workers: int
    device: str
    save_every: int
    tensorboard: bool
    json: bool


def device_of(asked: str) -> str:
    """The device that is meant: ``cpu`` or ``cuda``."""
    import torch

    if asked == "cuda" and not torch.cuda.is_available():
        raise ConfigError("--device cuda: torch sees no card here")
    return asked if asked != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def plan_of(wish: Wishes, device: str) -> Plan:
    """The plan; where it begins with a checkpoint, the usual settings of fine-tuning."""
    from sightline.training.augment import Augmentation
    from sightline.training.finetuning import fine_plan
    from sightline.training.plan import Plan

    card = device == "cuda"
    given = {name: getattr(wish, name) for name in ("size", "views", "steps", "batch", "rate", "optimizer")}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    changes |= {
        "seed": wish.seed,
        "canonical": wish.canonical,
        "precision": "bf16" if card else "fp32",
        "augmentation": {"full": Augmentation(), "light": Augmentation.light(), "none": None}[wish.augmentation],
        "crowded": Plan().crowded if wish.augmentation == "full" else 0.0,
    }
    if wish.start is not None:
        return fine_plan(wish.start, **changes)
    usual = Plan()
    return Plan(warmup=min(usual.warmup, changes.get("steps", usual.steps) // 10), compiled=card, **changes)
