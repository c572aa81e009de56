"""Answers of a network on scenes that are placed and drawn on the spot, as plain arrays for the exam's scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.models.nets.glances import glances
from sightline.models.nets.sornet import Sornet, consistent
from sightline.training.sources import Source


@dataclass(frozen=True, slots=True)
class Answers:
    """What is true of S scenes and what a network says.

    Attributes:
        present: (S, N) bool.
        truth: (S, N, N, 8) bool, [subject, object, predicate].
        said: (S, N, N, 8) bool.
        plain: The same before two ways to say one thing were made to agree.
        once: What is said after the first glance.
    """

    present: NDArray[np.bool_]
    truth: NDArray[np.bool_]
    said: NDArray[np.bool_]
    plain: NDArray[np.bool_]
    once: NDArray[np.bool_]


def answers(
    net: Sornet, source: Source, batches: int, views: Sequence[int], *, seed: int = 0, looks: int = 1
) -> Answers:
    """Let a network answer about the first batches of a source, shown some of its views.

    Args:
        net: On the device of the source.
        source: Where the scenes come from.
        batches: How many of its batches.
        views: Numbers of the network's views to show.
        seed: Of the choice of canonical views.
        looks: Glances at each scene.
    """
    return answers_by(net, source, batches, [views], seed=seed, looks=looks)[0]


def answers_by(
    net: Sornet, source: Source, batches: int, shown: Sequence[Sequence[int]], *, seed: int = 0, looks: int = 1
) -> list[Answers]:
    """The same for several choices of views of the same scenes, which are drawn once."""
    was = net.training
    net.eval()
    every = sorted({view for views in shown for view in views})
    parts: list[list[list[NDArray[np.bool_]]]] = [[] for _ in shown]
    device = next(net.parameters()).device
    cast = torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
    for number, loaded in enumerate(source.loader(0, batches)):
        torch.manual_seed(seed * 1_000_003 + number)
        scenes = source.scenes(loaded, every)
        for part, views in zip(parts, shown, strict=True):
            seen = scenes.views[:, [every.index(view) for view in views]]
            with torch.inference_mode(), cast:
                each = glances(net, seen, scenes.patches, tuple(views), count=looks)
            mean, names = each.mean(dim=0), net.config.predicates
            said, once = consistent(mean, names) > 0, consistent(each[0], names) > 0
            told = (scenes.present, scenes.labels, said, mean > 0, once)
            part.append([column.cpu().numpy() for column in told])
    net.train(was)
    return [Answers(*(np.concatenate(column) for column in zip(*part, strict=True))) for part in parts]
