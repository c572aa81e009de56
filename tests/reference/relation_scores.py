"""Scores on given boxes straight from the definitions, one ordered pair at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sightline.exams.relations.marks import MarkedPairs

POOL = {
    ("default", "depth", "within_image"): (0, 1, 2, 3),
    ("default", "depth", "across_images"): (0, 1, 2, 3),
    ("default", "occlusion", "within_image"): (0, 1, 2, 3),
    ("paper", "depth", "within_image"): (1, 2, 3),
    ("paper", "depth", "across_images"): (1, 2),
    ("paper", "occlusion", "within_image"): (0, 1, 2, 3),
}


def f1(tp: int, fp: int, fn: int) -> float:
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else math.nan


def slow_scores(marked: MarkedPairs, protocol: str, rows: Iterable[int] | None = None) -> dict:
    """Label code or "all" → (precision, recall, F1); undefined is NaN."""
    labels = POOL[protocol, marked.aspect, marked.setting]
    counts = {label: [0, 0, 0] for label in labels}
    for i in range(len(marked.truth)) if rows is None else rows:
        truth, said = int(marked.truth[i]), int(marked.answer[i])
        if truth == -1 and protocol == "default":
            continue
        for label in labels:
            counts[label][0] += said == label and truth == label
            counts[label][1] += said == label and truth != label
            counts[label][2] += said != label and truth == label
    counts["all"] = [sum(c[k] for c in counts.values()) for k in range(3)]
    return {
        label: (tp / (tp + fp) if tp + fp else math.nan, tp / (tp + fn) if tp + fn else math.nan, f1(tp, fp, fn))
        for label, (tp, fp, fn) in counts.items()
    }
