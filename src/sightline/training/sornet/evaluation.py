"""Let a network answer about scenes of a source, as plain arrays for the exam's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.models.nets.sornet import Sornet, consistent
from sightline.models.nets.sornet import glances as logits_of_glances
from sightline.scenes.labels import GEOMETRIC, PREDICATES
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
        logits: (S, N, N, 8) float32 of what is said, before thresholds.
    """

    present: NDArray[np.bool_]
    truth: NDArray[np.bool_]
    said: NDArray[np.bool_]
    plain: NDArray[np.bool_]
    once: NDArray[np.bool_]
    logits: NDArray[np.float32]


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
    thresholds: Mapping[str, float] | None = None,
) -> list[SceneAnswers]:
    """The same for several choices of views of the same scenes, which are drawn once.

    With `thresholds` a predicate is said to hold where its logit is above its own; without, above 0.
    """
    was = net.training
    net.eval()
    every = sorted({view for views in shown for view in views})
    parts: list[list[list[NDArray[Any]]]] = [[] for _ in shown]
    device = next(net.parameters()).device
    least = torch.tensor([(thresholds or {}).get(name, 0.0) for name in net.config.predicates], device=device)
    cast = torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
    for number, loaded in enumerate(source.loader(0, batches)):
        torch.manual_seed(seed * 1_000_003 + number)
        scenes = source.scenes(loaded, every)
        for part, views in zip(parts, shown, strict=True):
            seen = scenes.views[:, [every.index(view) for view in views]]
            with torch.inference_mode(), cast:
                each = logits_of_glances(net, seen, scenes.patches, tuple(views), count=glances)
            mean, names = each.mean(dim=0), net.config.predicates
            agreed, once = consistent(mean, names), consistent(each[0], names)
            columns = (scenes.present, scenes.labels, agreed > least, mean > least, once > least, agreed)
            part.append([column.cpu().numpy() for column in columns])
    net.train(was)
    return [SceneAnswers(*(np.concatenate(column) for column in zip(*part, strict=True))) for part in parts]


_TRIED: Final = np.arange(-48, 49) / 8.0  # logits
_AS_GOOD: Final = 0.001  # F1


def best_thresholds(answered: SceneAnswers) -> dict[str, float]:
    """Choose the logit above which each geometric predicate is said to hold, by the answers about some scenes.

    One rule for all: of the thresholds −6, −5.875, … 6 take the one with the highest F1, then the middle of the
    unbroken range around it whose F1 is at most 0.001 lower; 0 where nothing was true. Directions keep 0: "a is
    left of b" and "b is right of a" must agree.
    """
    pairs = (
        answered.present[:, :, None] & answered.present[:, None] & ~np.eye(answered.present.shape[1], dtype=bool)
    )
    return {
        name: _best(answered.logits[..., i][pairs], answered.truth[..., i][pairs])
        for i, name in enumerate(PREDICATES)
        if name in GEOMETRIC
    }


def _best(logits: NDArray[np.float32], truth: NDArray[np.bool_]) -> float:
    if not truth.any():
        return 0.0
    said = logits[:, None] > _TRIED
    score = 2.0 * (said & truth[:, None]).sum(axis=0) / (said.sum(axis=0) + truth.sum())
    low = high = int(score.argmax())
    while low and score[low - 1] >= score.max() - _AS_GOOD:
        low -= 1
    while high + 1 < len(score) and score[high + 1] >= score.max() - _AS_GOOD:
        high += 1
    return float((_TRIED[low] + _TRIED[high]) / 2.0)
