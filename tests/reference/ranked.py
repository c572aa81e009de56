"""Slow, obvious average precision and matching, written from their definitions."""

from __future__ import annotations

import itertools

# Multiples in floating point, as in the evaluators of COCO and VOC: a recall of 7/10 does not reach 70 · 0.01.
RECALLS = {"coco": [*(i * 0.01 for i in range(100)), 1.0], "voc": [*(i * 0.1 for i in range(10)), 1.0]}


def points_of(detections, positives):
    """(recall, precision) after each counted detection; detections are (score, hit, ignored) in the order given."""
    hits = counted = 0
    points = []
    for _, hit, ignored in sorted(detections, key=lambda row: -row[0]):  # stable
        if ignored:
            continue
        hits, counted = hits + hit, counted + 1
        points.append((hits / positives, hits / counted))
    return points


def average_precision(detections, positives, points="coco"):
    """Mean over recalls of the best precision at that recall or beyond; "all": its integral over recall."""
    if not positives:
        return float("nan")
    seen = points_of(detections, positives)

    def best(recall):
        return max((p for r, p in seen if r >= recall), default=0.0)

    if points in RECALLS:
        return sum(best(recall) for recall in RECALLS[points]) / len(RECALLS[points])
    steps = sorted({0.0, *(r for r, _ in seen)})
    return sum((right - left) * best(right) for left, right in itertools.pairwise(steps))


def match(overlaps, threshold, ignored, crowd):
    """Objects taken by detections in turn; the best that counts, else the best that does not; last of equals."""
    free = [True] * len(ignored)
    taken = []
    for row in overlaps:
        able = [g for g, o in enumerate(row) if o >= threshold and (free[g] or crowd[g])]
        able = [g for g in able if not ignored[g]] or able
        best = max(able, key=lambda g: (row[g], g), default=-1)
        if best >= 0:
            free[best] = False
        taken.append(best)
    return taken
