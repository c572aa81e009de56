"""The default and the paper protocol, row by row in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reference.official import Counts, Row, cluster, doubled, fits, grouped


def score_default(
    truth: Sequence[Row], predictions: Sequence[Row], aspect: str, threshold: float = 0.5
) -> dict[tuple[str, str], Counts]:
    """No-majority pairs are left out: not missed, and whoever speaks of one is not wrong."""
    totals = {}
    said = grouped(predictions, cluster)
    for images, rows in grouped(truth, cluster).items():
        counts = [[0, 0, 0] for _ in range(4)]
        free = doubled(rows)
        for prediction in said.get(images, []):
            label = prediction.label(aspect)
            if label == -1:
                continue
            fitting = [t for t in free if fits(prediction, t, threshold)]
            right = [t for t in fitting if t.label(aspect) == label]
            undecided = [t for t in fitting if t.label(aspect) == -1]
            if right:
                counts[label][0] += 1
                drop(free, right[0])
            elif undecided:
                drop(free, undecided[0])
            else:
                counts[label][1] += 1
        for t in free:
            if t.label(aspect) != -1:
                counts[t.label(aspect)][2] += 1
        totals[images] = counts
    return totals


def score_paper(
    truth: Sequence[Row], predictions: Sequence[Row], aspect: str, threshold: float = 0.5
) -> dict[tuple[str, str], Counts]:
    """Labels outside the pool are neither truths nor predictions; what is said of such a pair is wrong."""
    counted = paper_pool(truth, aspect)
    totals = {}
    said = grouped([p for p in predictions if p.label(aspect) in counted], cluster)
    for images, rows in grouped(truth, cluster).items():
        counts = [[0, 0, 0] for _ in range(4)]
        free = [t for t in doubled(rows) if t.label(aspect) in counted]
        for prediction in said.get(images, []):
            label = prediction.label(aspect)
            right = [t for t in free if t.label(aspect) == label and fits(prediction, t, threshold)]
            if right:
                counts[label][0] += 1
                drop(free, right[0])
            else:
                counts[label][1] += 1
        for t in free:
            counts[t.label(aspect)][2] += 1
        totals[images] = counts
    return totals


def paper_pool(truth: Sequence[Row], aspect: str) -> set[int]:
    if aspect == "occlusion":
        return {0, 1, 2, 3}
    across = any(row.image_a != row.image_b for row in truth)
    return {1, 2} if across else {1, 2, 3}


def drop(rows: list[Row], one: Row) -> None:
    """Remove that very row, not an equal one."""
    del rows[next(i for i, row in enumerate(rows) if row is one)]


def metrics(tp: int, fp: int, fn: int) -> tuple[float, float, float]:
    """NaN where undefined; F1 is 0 as soon as anything was missed or wrongly said and nothing is right."""
    precision = tp / (tp + fp) if tp + fp else math.nan
    recall = tp / (tp + fn) if tp + fn else math.nan
    if tp:
        return precision, recall, 2 * precision * recall / (precision + recall)
    return precision, recall, 0.0 if fp + fn else math.nan


def table(totals: dict[tuple[str, str], Counts], counted: set[int]) -> list[tuple[float, float, float]]:
    by_label = [[sum(c[label][k] for c in totals.values()) for k in range(3)] for label in range(4)]
    everything = [sum(by_label[label][k] for label in counted) for k in range(3)]
    rows = [metrics(*row) if label in counted else (math.nan,) * 3 for label, row in enumerate(by_label)]
    return [*rows, metrics(*everything)]
