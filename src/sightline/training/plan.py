"""How a SORNet is trained: one frozen record, written beside the weights it led to."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np

from sightline.errors import ConfigError
from sightline.training.augment import Augmentation


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a training depends on but its scenes.

    Attributes:
        size: ``tiny``, ``small`` or ``base``.
        views: Views the network can be shown, the original camera's first.
        steps: Optimiser steps.
        batch: Scenes of a step.
        rate: Highest learning rate; reached after `warmup` steps, then down to a hundredth along a cosine.
        optimizer: ``adamw``, or ``muon`` for the matrices of the blocks and AdamW for the rest.
        decay: Weight decay.
        clip: Largest norm of the gradient.
        average: Decay of the running mean of the weights; the mean is what is kept.
        facts: Weight of the loss on facts of single objects; 0 leaves it out.
        pointing: Weight of the loss on where queries look; 0 leaves it out.
        fewer_views: Share of the steps that show only one of several views; nine in ten of them the first.
        augmentation: How pictures are changed; None leaves them as they are.
        crowded: Share of a world's scenes whose objects have one or two colours only.
        canonical: Canonical views an object has to choose from.
        most_objects: Queries the network takes.
        seed: Of weights, scenes and changes.
        precision: ``bf16`` or ``fp32``.
        compiled: Whether the network goes through torch.compile.
        start: Checkpoint to begin with, instead of random weights; ``sornet`` is the one that comes with Sightline.
    """

    size: str = "tiny"
    views: tuple[str, ...] = ("original", "top")
    steps: int = 2000
    batch: int = 256
    rate: float = 1e-3
    warmup: int = 200
    optimizer: Literal["adamw", "muon"] = "muon"
    decay: float = 0.05
    clip: float = 1.0
    average: float = 0.998
    facts: float = 1.0
    pointing: float = 0.3
    fewer_views: float = 0.4
    augmentation: Augmentation | None = field(default_factory=Augmentation)
    crowded: float = 0.3
    canonical: int = 32
    most_objects: int = 16
    seed: int = 0
    precision: Literal["bf16", "fp32"] = "bf16"
    compiled: bool = True
    start: str = ""

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("batch", 1), ("canonical", 1), ("most_objects", 2), ("warmup", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} of a training must be at least {least}, not {getattr(self, name)}")
        for name in ("average", "fewer_views", "crowded"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} of a training must lie in [0, 1], not {getattr(self, name)}")
        for name in ("rate", "clip"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} of a training must be a number above 0, not {getattr(self, name)}")
        for name in ("decay", "facts", "pointing"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"{name} of a training must be a number ≥ 0, not {getattr(self, name)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Plan:
        """The plan told by `to_dict`."""
        unknown = sorted(values.keys() - {f.name for f in fields(cls)})
        if unknown:
            raise ConfigError(f"a training has no setting {unknown[0]!r}")
        changes = values.get("augmentation")
        told = {**values, "augmentation": None if changes is None else Augmentation(**changes)}
        return cls(**{**told, "views": tuple(values.get("views", ("original", "top")))})

    def factor(self, step: int) -> float:
        """Share of the highest learning rate at a step.

        >>> plan = Plan(steps=1000, warmup=100)
        >>> [round(plan.factor(step), 3) for step in (0, 99, 550, 1000)]
        [0.01, 1.0, 0.505, 0.01]
        """
        if step < self.warmup:
            return (step + 1) / self.warmup
        along = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return 0.01 + 0.99 * 0.5 * (1.0 + float(np.cos(np.pi * along)))

    def shown(self, step: int) -> tuple[int, ...]:
        """Numbers of the views that a step shows; a function of seed and step.

        >>> Plan(views=("original",)).shown(3)
        (0,)
        """
        every = tuple(range(len(self.views)))
        few, first, which = np.random.default_rng([self.seed, step, 1]).random(3)
        if len(every) == 1 or few >= self.fewer_views:
            return every
        return (0,) if first < 0.9 else (1 + int(which * (len(every) - 1)),)
