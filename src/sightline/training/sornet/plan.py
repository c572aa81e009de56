"""How a SORNet is trained: one frozen record, written beside the weights it led to; and what it begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np

from sightline.errors import ConfigError
from sightline.models.nets.checkpoints import Checkpoint, load_checkpoint
from sightline.models.nets.sornet import SIZES, Sornet, SornetConfig, sornet_config
from sightline.models.sornet import SHIPPED
from sightline.training.augmentation import Augmentation
from sightline.training.plan import TrainingPlan

OURS: Final = "sornet"
"""Stands for the checkpoint that comes with Sightline, as it does in an exam."""


@dataclass(frozen=True, slots=True)
class SornetPlan(TrainingPlan):
    """Everything the training of a SORNet depends on but its scenes.

    Attributes:
        size: ``tiny``, ``small``, ``base``, or with the published details ``paper-tiny``, ``paper``.
        views: Views the network can be shown, the original camera's first.
        near: Weight, in the loss on predicates, of directions between an object and what stands in or on it.
        facts: Weight of the auxiliary loss on facts of single objects, their poses above all; 0 leaves it out.
        pointing: Weight of the auxiliary loss on where queries look; 0 leaves it out.
        fewer_views: Share of the steps that show only one of several views; nine in ten of them the first.
        augmentation: How pictures are changed; None leaves them as they are.
        crowded: Share of a world's scenes whose objects have one or two colours only.
        canonical: Canonical views an object has to choose from.
        most_objects: Queries the network takes.
        compiled: Whether the network goes through torch.compile.
        start: Checkpoint to begin with, instead of random weights; ``sornet`` is the one that comes with Sightline.
    """

    size: str = "tiny"
    views: tuple[str, ...] = ("original", "top")
    near: float = 3.0
    facts: float = 1.0
    pointing: float = 0.3
    fewer_views: float = 0.4
    augmentation: Augmentation | None = field(default_factory=Augmentation)
    crowded: float = 0.3
    canonical: int = 32
    most_objects: int = 16
    compiled: bool = True
    start: str = ""

    LEAST: ClassVar[Mapping[str, int]] = {**TrainingPlan.LEAST, "canonical": 1, "most_objects": 2}
    SHARES: ClassVar[tuple[str, ...]] = (*TrainingPlan.SHARES, "fewer_views", "crowded")
    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = (*TrainingPlan.NOT_NEGATIVE, "near", "facts", "pointing")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SornetPlan:
        """Read a plan back from its JSON values."""
        unknown = sorted(values.keys() - {f.name for f in fields(cls)})
        if unknown:
            raise ConfigError(f"a training has no setting {unknown[0]!r}")
        changes = values.get("augmentation")
        augmentation = None if changes is None else Augmentation(**changes)
        views = tuple(values.get("views", ("original", "top")))
        return cls(**{**values, "augmentation": augmentation, "views": views})

    def shown(self, step: int) -> tuple[int, ...]:
        """Numbers of the views that a step shows; a function of seed and step.

        >>> SornetPlan(views=("original",)).shown(3)
        (0,)
        """
        every = tuple(range(len(self.views)))
        few, first, which = np.random.default_rng([self.seed, step, 1]).random(3)
        if len(every) == 1 or few >= self.fewer_views:
            return every
        return (0,) if first < 0.9 else (1 + int(which * (len(every) - 1)),)


PAPER: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "size": "paper",
        "steps": 160_000,
        "batch": 40,
        "rate": 1e-4,
        "warmup": 0,
        "schedule": "constant",
        "optimizer": "adam",
        "decay": 0.0,
        "clip": 0.0,
        "average": 0.0,
        "precision": "fp32",
        "views": ("original",),
        "near": 1.0,
        "facts": 0.0,
        "pointing": 0.0,
        "augmentation": None,
        "crowded": 0.0,
    }
)
"""GeoSpa's own training of its 1-view model, as settings of a `SornetPlan`: cross-entropy over predicates alone.

Its text names SORNet's design and leaves the section on training empty. Network, loss, Adam at a constant rate and
pictures as they are follow SORNet's published code; batch 40 and 80 epochs of 80,000 scenes are GeoSpa's own. Left
open: how many canonical views an object has (32 here, one drawn at random each time, as in that code), and which
weights were kept (the last ones here).
"""


def fine_plan(start: str | Path, **changes: Any) -> SornetPlan:
    """Plan how a checkpoint is fine-tuned: few steps at a low rate, with the augmentation of any training.

    Args:
        start: The checkpoint; ``sornet`` is the one that comes with Sightline.
        changes: Other settings than the usual ones.

    Raises:
        ModelError: No such checkpoint.
        ConfigError: It is of another size than asked for.
    """
    config = load_start(start).net.config
    size = size_of(config)
    if changes.get("size", size) != size:
        raise ConfigError(f"{start} is a network of size {size or 'unknown'}, not {changes['size']}")
    usual: dict[str, Any] = {
        "size": size,
        "views": config.views,
        "steps": 300,
        "batch": 32,
        "rate": 1e-4,
        "optimizer": "adamw",
        "warmup": 30,
        "most_objects": config.most_objects,
        "start": str(start),
        "compiled": False,  # takes longer than the steps do
        "crowded": 0.0,  # the scenes as they are: there are few of them
    }
    return SornetPlan(**{**usual, **changes})


def load_start(start: str | Path) -> Checkpoint[Sornet]:
    """Load the checkpoint in a file, or the one called ``sornet``.

    Raises:
        ModelError: No such checkpoint.
    """
    return load_checkpoint(SHIPPED if str(start) == OURS else start, Sornet)


def begin(plan: SornetPlan, image: tuple[int, int]) -> Sornet:
    """Make the network a plan begins with, for views of so many pixels (width, height).

    Raises:
        ConfigError: The checkpoint to begin with is of other views, of another size, or takes fewer objects.
    """
    if not plan.start:
        return Sornet(sornet_config(plan.size, views=plan.views, most_objects=plan.most_objects, image=image))
    net = load_start(plan.start).net.train()
    config = net.config
    if (config.views, config.image) != (plan.views, image) or config.most_objects < plan.most_objects:
        taken = _taken(config.views, config.image, config.most_objects)
        raise ConfigError(
            f"{plan.start} takes {taken}; the training has {_taken(plan.views, image, plan.most_objects)}"
        )
    return net


def size_of(config: SornetConfig) -> str:
    """The name of a network's size; empty where it has none.

    >>> size_of(sornet_config("small", views=("original", "top"))), size_of(SornetConfig(8, 1, 2, 4))
    ('small', '')
    """
    return next((name for name, known in SIZES.items() if _shape(known) == _shape(config)), "")


def _shape(config: SornetConfig) -> tuple[int, ...]:
    return config.width, config.depth, config.heads, config.hidden, config.published


def _taken(views: Sequence[str], image: tuple[int, int], objects: int) -> str:
    return f"views {', '.join(views)} of {image[0]}×{image[1]} pixels and up to {objects} objects"
