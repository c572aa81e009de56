"""What a training begins with: random weights, a checkpoint, or the network that comes with Sightline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sightline.errors import ConfigError
from sightline.models.nets.checkpoints import Checkpoint, load_sornet
from sightline.models.nets.sornet import SIZES, Sornet, SornetConfig, sornet_config
from sightline.models.sornet import SHIPPED
from sightline.training.plan import Plan

OURS: Final = "sornet"
"""Stands for the checkpoint that comes with Sightline, as it does in an exam."""


def load_start(start: str | Path) -> Checkpoint:
    """The checkpoint in a file, or the one called ``sornet``.

    Raises:
        ModelError: No such checkpoint.
    """
    return load_sornet(SHIPPED if str(start) == OURS else start)


def begin(plan: Plan, image: tuple[int, int]) -> Sornet:
    """The network a plan begins with, for views of so many pixels.

    Raises:
        ConfigError: The checkpoint to begin with is of other views, of another size, or takes fewer objects.
    """
    if not plan.start:
        return Sornet(sornet_config(plan.size, views=plan.views, most_objects=plan.most_objects, image=image))
    net = load_start(plan.start).net.train()
    config = net.config
    if (config.views, config.image) != (plan.views, image) or config.most_objects < plan.most_objects:
        there = _taken(config.views, config.image, config.most_objects)
        raise ConfigError(
            f"{plan.start} takes {there}; the training has {_taken(plan.views, image, plan.most_objects)}"
        )
    return net


def size_of(config: SornetConfig) -> str:
    """The name of a network's size; empty where it has none.

    >>> size_of(sornet_config("small", views=("original", "top"))), size_of(SornetConfig(8, 1, 2, 4))
    ('small', '')
    """
    return next((name for name, known in SIZES.items() if _shape(known) == _shape(config)), "")


def _shape(config: SornetConfig) -> tuple[int, int, int, int]:
    return config.width, config.depth, config.heads, config.hidden


def _taken(views: Sequence[str], image: tuple[int, int], objects: int) -> str:
    return f"views {', '.join(views)} of {image[0]}×{image[1]} pixels and up to {objects} objects"
