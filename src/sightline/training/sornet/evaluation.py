"""Let a network answer about scenes of a source, as plain arrays for the exam's scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.models.nets.sornet import Sornet, consistent
from sightline.models.nets.sornet import glances as logits_of_glances
from sightline.training.sornet.sources import SceneSource


@dataclass(frozen=True, slots=True)
class SceneAnswers:
    """Truth of S scenes and what a network says of them.

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
    net: Sornet, source: SceneSource, batches: int, views: Sequence[int], *, seed: int = 0, glances: int = 1
) -> SceneAnswers:
    """Let a network answer about the first batches of a source, shown some of its views.

    Args:
        net: On the device of the source.
        source: Where the scenes come from.
        batches: How many of its batches.
        views: Numbers of the network's views to show.
        seed: Of the choice of canonical views.
        glances: At each scene.
    """
    return answers_by(net, source, batches, [views], seed=seed, glances=glances)[0]


def answers_by(
    net: Sornet,
    source: SceneSource,
    batches: int,
    shown: Sequence[Sequence[int]],
    *,
    seed: int = 0,
    glances: int = 1,
) -> list[SceneAnswers]:
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
                each = logits_of_glances(net, seen, scenes.patches, tuple(views), count=glances)
            mean, names = each.mean(dim=0), net.config.predicates
            said, once = consistent(mean, names) > 0, consistent(each[0], names) > 0
            columns = (scenes.present, scenes.labels, said, mean > 0, once)
            part.append([column.cpu().numpy() for column in columns])
    net.train(was)
    return [SceneAnswers(*(np.concatenate(column) for column in zip(*part, strict=True))) for part in parts]
