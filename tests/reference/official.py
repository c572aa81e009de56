"""The authors' way of counting 2.5D predictions, row by row in plain Python: slow and obvious."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Box = tuple[float, float, float, float]  # xmin, ymin, xmax, ymax
Counts = list[list[int]]  # [label][tp, fp, fn]


@dataclass(frozen=True)
class Row:
    image_a: str
    image_b: str
    box_a: Box
    box_b: Box
    depth: int
    occlusion: int
    class_a: str = ""
    class_b: str = ""

    def label(self, aspect: str) -> int:
        return self.depth if aspect == "depth" else self.occlusion

    def reversed(self) -> Row:
        labels = swap(self.depth), swap(self.occlusion)
        return Row(self.image_b, self.image_a, self.box_b, self.box_a, *labels, self.class_b, self.class_a)


def swap(label: int) -> int:
    return {1: 2, 2: 1}.get(label, label)


def area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def iou(p: Box, q: Box) -> float:
    overlap = area((max(p[0], q[0]), max(p[1], q[1]), min(p[2], q[2]), min(p[3], q[3])))
    union = area(p) + area(q) - overlap
    return overlap / union if union else 0.0


def fits(prediction: Row, truth: Row, threshold: float, check_entity: bool = False) -> bool:
    """Same images, both boxes overlap enough, and, where that is checked, the same classes."""
    if check_entity and (prediction.class_a, prediction.class_b) != (truth.class_a, truth.class_b):
        return False
    return (
        prediction.image_a == truth.image_a
        and prediction.image_b == truth.image_b
        and iou(prediction.box_a, truth.box_a) > threshold
        and iou(prediction.box_b, truth.box_b) > threshold
    )


def cluster(row: Row) -> tuple[str, str]:
    return min(row.image_a, row.image_b), max(row.image_a, row.image_b)


def grouped(rows: Iterable[Row], key: Callable[[Row], tuple[str, str]]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def doubled(rows: Sequence[Row]) -> list[Row]:
    return [*rows, *(row.reversed() for row in rows)]


def count_group(
    predictions: list[Row], truths: list[Row], aspect: str, threshold: float, check_entity: bool = False
) -> Counts:
    counts = [[0, 0, 0] for _ in range(4)]
    taken = [False] * len(truths)
    for prediction in predictions:
        label = prediction.label(aspect)
        for i, truth in enumerate(truths):
            if not taken[i] and fits(prediction, truth, threshold, check_entity) and truth.label(aspect) == label:
                taken[i] = True
                counts[label][0] += 1
                break
        else:
            counts[label][1] += 1
    for truth, found in zip(truths, taken, strict=True):
        if not found:
            counts[truth.label(aspect)][2] += 1  # −1 is the last label
    return counts


def score(
    truth: Sequence[Row],
    predictions: Sequence[Row],
    aspect: str,
    threshold: float = 0.5,
    keep: Callable[[Row], bool] = lambda row: True,
    check_entity: bool = False,
) -> dict[tuple[str, str], Counts]:
    """Counts of each unordered image pair; `keep` looks at predictions and at truths that are already doubled."""
    totals: dict[tuple[str, str], Counts] = {}
    said = grouped(predictions, lambda row: (row.image_a, row.image_b))
    for images, rows in grouped(truth, lambda row: (row.image_a, row.image_b)).items():
        counts = count_group(
            [row for row in said.get(images, []) if keep(row)],
            [row for row in doubled(rows) if keep(row)],
            aspect,
            threshold,
            check_entity,
        )
        add(totals, cluster(rows[0]), counts)
    return totals


def add(totals: dict[tuple[str, str], Counts], key: tuple[str, str], counts: Counts) -> None:
    before = totals.get(key, [[0, 0, 0] for _ in range(4)])
    totals[key] = [[x + y for x, y in zip(p, q, strict=True)] for p, q in zip(before, counts, strict=True)]


def metrics(tp: int, fp: int, fn: int) -> tuple[float, float, float]:
    precision = tp / (tp + fp) if tp + fp > 0 else 0.0
    recall = tp / (tp + fn) if tp + fn > 0 else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return precision, recall, f1


def table(totals: dict[tuple[str, str], Counts]) -> list[tuple[float, float, float]]:
    """Precision, recall, F1 of labels 0…3 and of all together."""
    by_label = [[sum(c[label][k] for c in totals.values()) for k in range(3)] for label in range(4)]
    everything = [sum(column) for column in zip(*by_label, strict=True)]
    return [metrics(*row) for row in [*by_label, everything]]
