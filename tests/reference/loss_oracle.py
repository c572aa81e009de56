"""The losses of training in plain loops."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numpy.typing import NDArray


def cross_entropy(logit: float, label: bool) -> float:
    share = 1.0 / (1.0 + exp(-logit))
    return -log(share if label else 1.0 - share)


def huber(difference: float, beta: float) -> float:
    size = abs(difference)
    return 0.5 * size * size / beta if size < beta else size - 0.5 * beta


def predicate_loss(logits: NDArray[np.float64], labels: NDArray[np.bool_], present: NDArray[np.bool_]) -> float:
    """Directions (the first four) between an object and what it contains or supports (4, 5) count three times."""
    total = weights = 0.0
    scenes, places, _, predicates = logits.shape
    for s in range(scenes):
        for i in range(places):
            for j in range(places):
                if i != j and present[s, i] and present[s, j]:
                    near = labels[s, i, j, 4:6].any() or labels[s, j, i, 4:6].any()
                    for p in range(predicates):
                        weight = 3.0 if near and p < 4 else 1.0
                        total += weight * cross_entropy(logits[s, i, j, p], labels[s, i, j, p])
                        weights += weight
    return total / weights if weights else 0.0


def facts_loss(
    told: NDArray[np.float64], facts: NDArray[np.float64], present: NDArray[np.bool_], lengths: int
) -> float:
    found = []
    for s, i in zip(*np.nonzero(present), strict=True):
        for k in range(told.shape[2]):
            if k < 2:  # where it stands: three times, and to centimetres
                found.append(3.0 * huber(told[s, i, k] - facts[s, i, k], 0.03))
            elif k < lengths:
                found.append(huber(told[s, i, k] - facts[s, i, k], 0.1))
            else:
                found.append(cross_entropy(told[s, i, k], bool(facts[s, i, k])))
    return sum(found) / len(found) if found else 0.0


def pointing_loss(
    looked: list[NDArray[np.float64]], covers: NDArray[np.float64], present: NDArray[np.bool_]
) -> float:
    """Per block from the first third on: mean over seen objects of −log of three quarters of the heads' share."""
    blocks = []
    for look in looked[len(looked) // 3 :]:
        heads = -(-3 * look.shape[1] // 4)
        found = []
        for s, i in zip(*np.nonzero(present), strict=True):
            if covers[s, i].sum() > 0.01:
                share = (
                    sum(look[s, h, i, t] for h in range(heads) for t in np.nonzero(covers[s, i] > 0.02)[0]) / heads
                )
                found.append(-log(share + 1e-4))
        blocks.append(sum(found) / len(found) if found else 0.0)
    return sum(blocks) / len(blocks)
