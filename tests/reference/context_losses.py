"""Losses of training with removal, written from the seed's formulas, one number at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Scores = Mapping[str, float]


def hinge(images: Sequence[Mapping[str, Scores]]) -> float:
    """Formula (5), the mean over images with two edits and more; an image maps a removed class to its scores."""
    losses = []
    for edits in images:
        if len(edits) < 2:
            continue
        loss = 0.0
        for removed in edits:
            without = edits[removed][removed]
            others = [edits[other][removed] for other in edits if other != removed]
            loss += max(0.0, without - min(others))
        losses.append(loss)
    return sum(losses) / len(losses) if losses else 0.0


def violations(images: Sequence[Mapping[str, Scores]], kind: str) -> tuple[float | None, float | None]:
    """V^min (2) and V^mean (3) of one class, over images where it and another class can be removed."""
    least = mean = count = 0
    for edits in images:
        if kind not in edits or len(edits) < 2:
            continue
        others = [edits[other][kind] for other in edits if other != kind]
        count += 1
        least += min(others) < edits[kind][kind]
        mean += sum(others) / len(others) < edits[kind][kind]
    return (least / count, mean / count) if count else (None, None)


def probabilities(logits: Sequence[float]) -> list[float]:
    """Softmax."""
    total = sum(math.exp(one) for one in logits)
    return [math.exp(one) / total for one in logits]


def pixel_loss(logits: Sequence[Sequence[float]], truth: Sequence[int], counted: Sequence[bool]) -> float:
    """Mean of −log p(true class) over the pixels that count."""
    losses = [-math.log(probabilities(row)[t]) for row, t, c in zip(logits, truth, counted, strict=True) if c]
    return sum(losses) / len(losses)


def negative_loss(logits: Sequence[Sequence[float]], removed: Sequence[int], edited: Sequence[bool]) -> float:
    """Mean of −log(1 − p(removed class)) over edited pixels."""
    losses = [-math.log(1 - probabilities(row)[r]) for row, r, e in zip(logits, removed, edited, strict=True) if e]
    return sum(losses) / len(losses)
