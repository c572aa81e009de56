"""Settings every training has, and the protocol of what can be trained."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from sightline.errors import ConfigError


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How any network is trained; a network's own plan adds to it.

    Attributes:
        steps: Optimiser steps.
        batch: Examples of a step.
        rate: Highest learning rate; reached after `warmup` steps.
        warmup: Steps of the rise.
        schedule: From there down to a hundredth along a ``cosine``, or ``constant``.
        optimizer: ``adam`` with torch's own betas and without decay, ``adamw``, or ``muon`` for the matrices the
            task names and AdamW for the rest.
        decay: Weight decay.
        clip: Largest norm of the gradient; 0 leaves it as it is.
        average: Decay of the running mean of the weights; the mean is what is kept.
        seed: Of weights and batches.
        precision: ``bf16`` or ``fp32``.
    """

    steps: int = 2000
    batch: int = 256
    rate: float = 1e-3
    warmup: int = 200
    schedule: Literal["cosine", "constant"] = "cosine"
    optimizer: Literal["adam", "adamw", "muon"] = "muon"
    decay: float = 0.05
    clip: float = 1.0
    average: float = 0.998
    seed: int = 0
    precision: Literal["bf16", "fp32"] = "bf16"

    LEAST: ClassVar[Mapping[str, int]] = {"steps": 1, "batch": 1, "warmup": 0}
    SHARES: ClassVar[tuple[str, ...]] = ("average",)
    ABOVE_ZERO: ClassVar[tuple[str, ...]] = ("rate",)
    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = ("decay", "clip")

    def __post_init__(self) -> None:
        for name, least in self.LEAST.items():
            if getattr(self, name) < least:
                raise ConfigError(f"{name} of a training must be at least {least}, not {getattr(self, name)}")
        for name in self.SHARES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} of a training must lie in [0, 1], not {getattr(self, name)}")
        for name in self.ABOVE_ZERO:
            if not 0.0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} of a training must be a number above 0, not {getattr(self, name)}")
        for name in self.NOT_NEGATIVE:
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"{name} of a training must be a number ≥ 0, not {getattr(self, name)}")

    def factor(self, step: int) -> float:
        """Share of the highest learning rate at a step.

        >>> plan = TrainingPlan(steps=1000, warmup=100)
        >>> [round(plan.factor(step), 3) for step in (0, 99, 550, 1000)]
        [0.01, 1.0, 0.505, 0.01]
        """
        if step < self.warmup:
            return (step + 1) / self.warmup
        if self.schedule == "constant":
            return 1.0
        along = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return 0.01 + 0.99 * 0.5 * (1.0 + float(np.cos(np.pi * along)))


def chosen_device(asked: Literal["auto", "cpu", "cuda"]) -> Literal["cpu", "cuda"]:
    """Choose where to train: ``auto`` takes the card where there is one."""
    there = torch.cuda.is_available()
    if asked == "cuda" and not there:
        raise ConfigError("--device cuda: torch sees no card here")
    return ("cuda" if there else "cpu") if asked == "auto" else asked


class BatchSource(Protocol):
    """Batches by number, the same for the same number: that is what makes an interrupted training go on exactly."""

    def loader(self, start: int, stop: int) -> Iterable[Any]:
        """What is loaded of each of the batches start … stop − 1, in order."""

    def facts(self) -> dict[str, Any]:
        """Where the batches come from, as JSON values: part of a training's identity."""


class TrainingTask(Protocol):
    """A network to train, on what, and by which loss.

    Attributes:
        name: What messages call the network.
        weights: Name of the file of the finished network.
        metrics: Columns of the log that `loss` fills; the first is told where a training diverges.
        muon_prefix: How the names of the weights begin whose matrices Muon takes.
    """

    name: str
    weights: str
    metrics: tuple[str, ...]
    muon_prefix: str

    @property
    def plan(self) -> TrainingPlan:
        """How to train."""

    @property
    def source(self) -> BatchSource:
        """What to learn from."""

    def modules(self) -> dict[str, nn.Module]:
        """Make what is trained: the network as ``net``, then what is left behind after training.

        Called once, before any `loss`, torch being seeded by the plan.
        """

    def loss(self, loaded: Any, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss of a loaded batch, and metrics for the log; torch is seeded by plan and step."""

    def counts(self, step: int) -> dict[str, int]:
        """What a step works through, by its plural name: logged as so many a second."""

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        """The file of the network with these weights, and with what is to be said of its training."""

    def steps_of(self, file: Path) -> int | None:
        """After how many steps such a file was written; None where it cannot be read."""
