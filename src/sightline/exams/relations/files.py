"""Marking a predictions file against 2.5VRD's own files, as its evaluator does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from sightline.errors import ConfigError
from sightline.exams.relations.boxed import BoxedPairs, BoxWindow, boxed_blocks, group_by_images
from sightline.exams.relations.matching import BoxedCounts, count_boxed
from sightline.exams.relations.protocols import Aspect, Protocol, lenient, rates, rules
from sightline.exams.relations.unmatched import no_rows, other_boxes, other_classes, other_images, other_pairs
from sightline.plain import plain
from sightline.scenes import words
from sightline.stats import Interval, intervals, macro_intervals
from sightline.store.formats.bulk import give_back
from sightline.store.formats.vrd25 import DISTANCE, OCCLUSION, prediction_blocks, scoring_truth_blocks

_CODES: Final[Mapping[Aspect, tuple[str, Mapping[str, Any]]]] = {
    "occlusion": ("occlusion", OCCLUSION),
    "depth": ("distance", DISTANCE),
}
"""What the evaluator calls each aspect, and its codes of the labels."""


@dataclass(frozen=True)
class FileRow:
    """One row of the evaluator's table.

    Attributes:
        relationship: ``occlusion`` or ``distance``.
        label: The outside code ``0`` … ``3``, or ``all``.
        word: What it means; empty for ``all``.
        precision: Of all pairs together (micro), like `recall` and `f1`.
        macro_f1: Mean over images, or image pairs, of each one's F1; those where it is undefined are left out.
    """

    relationship: str
    label: str
    word: str
    precision: Interval
    recall: Interval
    f1: Interval
    macro_f1: Interval

    def figures(self) -> dict[str, Any]:
        """The row without intervals; null where undefined."""
        scores = {name: plain(getattr(self, name).value) for name in ("precision", "recall", "f1")}
        return {"relationship": self.relationship, "label": self.label, **scores}


@dataclass(frozen=True)
class FileScores:
    """Ten rows, and how the depth judgements ended.

    Attributes:
        protocol: How they were counted.
        rows: Occlusion 0…3 and all, then distance 0…3 and all.
        outcomes: `MatchOutcome` name → depth judgements; both directions of every pair.
        unseen: Predictions on image pairs that have no truth, or outside the window; never looked at.
        nothing: Where the window leaves no pair, that it does, and which values there are.
    """

    protocol: Protocol
    rows: tuple[FileRow, ...]
    outcomes: Mapping[str, int]
    unseen: int
    nothing: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Values for JSON: ``rows`` has the evaluator's own columns, ``intervals`` ours."""
        return {
            "protocol": self.protocol.value,
            "rows": [row.figures() for row in self.rows],
            "intervals": plain(self.rows),
            "outcomes": dict(self.outcomes),
            "unseen_predictions": self.unseen,
        }


def score_files(
    objects: Path,
    truth: Path,
    predictions: Path,
    *,
    protocol: Protocol = Protocol.DEFAULT,
    iou: float = 0.5,
    classes: bool = False,
    window: BoxWindow | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> FileScores:
    """Score a predictions CSV; intervals are by image, or by image pair across images.

    Args:
        objects: 2.5VRD's objects file.
        truth: Its labels.
        predictions: The file to score; DataError where it has no row, or none that fits a pair, which says why.
        protocol: How to count.
        iou: Overlap that both boxes must exceed.
        classes: Both classes must be right too.
        window: Look only at ordered pairs inside it.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    if not 0 <= iou < 1:
        raise ConfigError(f"the IoU to exceed must be at least 0 and below 1, found {iou:g}")
    blocks = scoring_truth_blocks(objects, truth, entities=classes), prediction_blocks(predictions)
    pairs = boxed_blocks(*blocks, classes=classes)
    give_back()
    if not len(pairs[1]):
        raise no_rows(predictions)
    nothing = window.nothing_left(pairs[0]) if window is not None else ""
    match: dict[str, Any] = {"threshold": iou, "classes": classes, "window": window}
    occlusion = count_boxed(*pairs, protocol, "occlusion", **match)
    give_back()
    depth = count_boxed(*pairs, protocol, "depth", **match, explain=True)
    if not depth.n_paired:
        _refuse_unmatched(*pairs, protocol, match, predictions)
    del pairs  # before the intervals, which need room of their own
    how: dict[str, Any] = {"protocol": protocol, "resamples": resamples, "seed": seed}
    rows = [*_rows("occlusion", occlusion, **how), *_rows("depth", depth, **how)]
    outcomes = {outcome.name.lower(): number for outcome, number in depth.outcomes.items()}
    return FileScores(protocol, tuple(rows), outcomes, depth.n_unseen, nothing)


def _refuse_unmatched(
    truth: BoxedPairs, said: BoxedPairs, protocol: Protocol, match: Mapping[str, Any], path: Path
) -> None:
    """DataError that says why no prediction fits; none where some would, were it not for the window."""
    if count_boxed(truth, said, protocol, "depth", **{**match, "window": None}, explain=True).n_paired:
        return
    if (
        match["classes"]
        and count_boxed(truth, said, protocol, "depth", threshold=match["threshold"], explain=True).n_paired
    ):
        raise other_classes(
            path, *(dict.fromkeys(pairs.class_names[pairs.class_a].tolist()) for pairs in (truth, said))
        )
    named = [dict.fromkeys([*pairs.images[pairs.image_a], *pairs.images[pairs.image_b]]) for pairs in (truth, said)]
    if not set(named[0]) & set(named[1]):
        raise other_images(path, *named)
    group = group_by_images(truth, said, directed=rules(protocol).directed_groups)
    seen = np.flatnonzero(group.prediction >= 0)
    if not len(seen):
        together = [
            dict.fromkeys(zip(p.images[p.image_a], p.images[p.image_b], strict=True)) for p in (truth, said)
        ]
        raise other_pairs(path, *together)
    there, given = truth.take(group.truth == group.prediction[seen[0]]), said.take(seen[:1])
    given = said.take((said.image_a == given.image_a[0]) & (said.image_b == given.image_b[0]))
    as_written, turned = (
        (a == given.image_a[0]) & (b == given.image_b[0])
        for a, b in ((there.image_a, there.image_b), (there.image_b, there.image_a))
    )
    first = np.concatenate([there.boxes_a[as_written], there.boxes_b[turned]])
    second = np.concatenate([there.boxes_b[as_written], there.boxes_a[turned]])
    raise other_boxes(path, (first, second), (given.boxes_a, given.boxes_b), match["threshold"])


def _rows(aspect: Aspect, counted: BoxedCounts, *, protocol: Protocol, resamples: int, seed: int) -> list[FileRow]:
    how: dict[str, Any] = {"protocol": protocol, "aspect": aspect, "setting": counted.setting}
    counts, (relationship, codes) = counted.counts, _CODES[aspect]
    micro = intervals(counts, lambda t: rates(t, **how).reshape(len(t), -1), resamples=resamples, seed=seed)
    # An image that lacks a label says nothing about it; the official 0 would be an average of absences.
    per_cluster = rates(counts, **(how | {"protocol": lenient(protocol)}))[..., 2]
    macro = macro_intervals(per_cluster, resamples=resamples, seed=seed)
    named = [*((cell, label.word, int(label)) for cell, label in codes.items()), ("all", "", len(words(aspect)))]
    by_label = [(micro[3 * i], micro[3 * i + 1], micro[3 * i + 2], macro[i]) for i in range(len(macro))]
    return [FileRow(relationship, cell, word, *by_label[i]) for cell, word, i in named]
