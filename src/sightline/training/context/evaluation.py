"""Figures of a trained classifier or segmenter on edited scenes, as arrays: where no dataset's packages are there.

The context exam counts the same from its records, with intervals (docs/howto/context.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.stats.ranked import average_precision, rank
from sightline.training.context.scenes import IGNORED, EditedScenes, batches_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EditScores:
    """Logits of pictures and of their edits.

    Attributes:
        labels: (n, C) bool.
        scores: (n, C) of the pictures.
        edited: (m, C) of the edits; `source` (m,) and `gone` (m,) as in `EditedScenes`.
    """

    labels: NDArray[np.bool_]
    scores: Floats
    edited: Floats
    source: NDArray[np.int64]
    gone: NDArray[np.int64]


def class_scores(net: Any, scenes: EditedScenes, at_once: int = 256) -> EditScores:
    """Ask a classifier about scenes and their edits."""
    own, edited = [], []
    with torch.inference_mode():
        for pictures, edits in batches_of(scenes, at_once):
            own.append(net(scenes.images[pictures]).float().cpu())
            edited.append(net(scenes.edits[edits]).float().cpu())
    source, gone, labels = (part.cpu().numpy() for part in (scenes.source, scenes.gone, scenes.labels))
    return EditScores(labels, torch.cat(own).double().numpy(), torch.cat(edited).double().numpy(), source, gone)


@dataclass(frozen=True)
class Cases:
    """One row a class that counts in an image: it and another class can be removed from it.

    Attributes:
        scene: (N,) the image; `kind` (N,) the class; `context` (N,) how many other classes can be removed.
        without: (N,) score of the class in the image without it.
        lowest: (N,) its lowest score with another class removed; `mean` (N,) the mean of those.
    """

    scene: NDArray[np.int64]
    kind: NDArray[np.int64]
    context: NDArray[np.int64]
    without: Floats
    lowest: Floats
    mean: Floats

    def outcomes(self) -> dict[str, NDArray[np.bool_]]:
        """(N,) each: is V^min's order violated, is V^mean's, and are the lowest and the own score equal?"""
        return {
            "v_min": self.lowest < self.without,
            "v_mean": self.mean < self.without,
            "ties": self.lowest == self.without,
        }


def cases(given: EditScores) -> Cases:
    """The cases of the violations (2) and (3)."""
    rows: list[tuple[int, int, int, float, float, float]] = []
    for scene in np.unique(given.source):
        edits = np.flatnonzero(given.source == scene)
        for edit in edits if len(edits) > 1 else ():
            kind = given.gone[edit]
            others = given.edited[edits[edits != edit], kind]
            rows.append((scene, kind, len(others), given.edited[edit, kind], others.min(), others.mean()))
    columns = np.array(rows, np.float64).reshape(-1, 6).T
    scene, kind, context = (column.astype(np.int64) for column in columns[:3])
    return Cases(scene, kind, context, columns[3], columns[4], columns[5])


def class_figures(given: EditScores, classes: Sequence[str]) -> dict[str, Any]:
    """V^min and V^mean by class and averaged over classes, ties apart, and mAP on Full, Co-occur and Single."""
    found = cases(given)
    by_class = {name: found.kind == place for place, name in enumerate(classes)}
    shown = given.labels.sum(axis=1)
    parts = {"full": shown >= 1, "cooccur": shown >= 2, "single": shown == 1}
    return {
        **{figure: _by_class(flags, by_class) for figure, flags in found.outcomes().items()},
        "chance": {"v_min": _mean(found.context / (found.context + 1.0)), "v_mean": 0.5},
        "map": {word: mean_precision(given.labels[rows], given.scores[rows]) for word, rows in parts.items()},
        "n_cases": len(found.scene),
        "n_scenes": len(given.labels),
    }


def mean_precision(labels: NDArray[np.bool_], scores: Floats) -> float | None:
    """Mean over classes of the average precision, the area under the curve; None without a positive."""
    each = []
    for truth, score in zip(labels.T, scores.T, strict=True):
        if truth.any():
            ranking = rank(score, np.arange(len(truth)), truth, truth.astype(float))
            each.append(float(np.ravel(average_precision(ranking, points="all"))[0]))
    return float(np.mean(each)) if each else None


@dataclass(frozen=True)
class PixelCounts:
    """Pixels by class that truth and answer agree on, and IoU with and without context.

    Attributes:
        both: (n, C) pixels of pictures that are and are said to be of the class; `either` (n, C) that are or are
            said to be; `pixels` (n,) all that are labelled.
        before: (m, C) IoU of pictures with the hole of each edit left out; `after` (m, C) of the edits, likewise;
            NaN where the class is not there.
    """

    both: NDArray[np.int64]
    either: NDArray[np.int64]
    pixels: NDArray[np.int64]
    before: Floats
    after: Floats


def pixel_counts(net: Any, scenes: EditedScenes, at_once: int = 32) -> PixelCounts:
    """Ask a segmenter about scenes and their edits."""
    assert scenes.maps is not None
    assert scenes.holes is not None
    size = len(scenes.classes)
    said = torch.empty_like(scenes.maps)
    both, either, before, after = [], [], [], []
    with torch.inference_mode():
        for start in range(0, len(scenes), at_once):
            rows = slice(start, start + at_once)
            said[rows] = net(scenes.images[rows]).argmax(dim=1).to(torch.uint8)
            counts = _overlaps(said[rows], scenes.maps[rows], size)
            both.append(counts[0].cpu())
            either.append(counts[1].cpu())
        for start in range(0, len(scenes.edits), at_once):
            rows = slice(start, start + at_once)
            source, hole = scenes.source[rows], scenes.holes[rows]
            truth = scenes.maps[source].masked_fill(hole, IGNORED)
            edited = net(scenes.edits[rows]).argmax(dim=1).to(torch.uint8)
            before.append(_iou(said[source], truth, size))
            after.append(_iou(edited, truth, size))
    parts = [torch.cat(one).numpy() for one in (both, either)]
    pixels = (scenes.maps != IGNORED).flatten(1).sum(dim=1).cpu().numpy()
    ious = [np.concatenate(one) if one else np.zeros((0, size)) for one in (before, after)]
    return PixelCounts(parts[0], parts[1], pixels, ious[0], ious[1])


def pixel_figures(
    given: PixelCounts, scenes: EditedScenes, among: Sequence[str] = (), alpha: float = 0.1
) -> dict[str, Any]:
    """IoU by class, mIoU and pixel accuracy on all, Co-occur and Single; AR(c_i, c_j) at α and its maxima.

    Args:
        given: The counts.
        scenes: What was asked about.
        among: Classes that count; all by default. Pictures of one of them are Single.
        alpha: Change of an IoU that counts as affected.
    """
    places = [scenes.classes.index(name) for name in among or scenes.classes]
    shown = scenes.labels[:, places].sum(dim=1).cpu().numpy()
    parts = {"full": shown >= 1, "cooccur": shown >= 2, "single": shown == 1}
    figures: dict[str, Any] = {"n_scenes": len(shown), "miou": {}, "accuracy": {}, "iou": {}}
    for word, rows in parts.items():
        with np.errstate(invalid="ignore", divide="ignore"):
            iou = given.both[rows].sum(axis=0) / given.either[rows].sum(axis=0)
        there = [place for place in places if scenes.labels[:, place][torch.from_numpy(rows)].any()]
        figures["iou"][word] = {scenes.classes[place]: float(iou[place]) for place in there}
        figures["miou"][word] = float(np.mean([iou[place] for place in there])) if there else None
        figures["accuracy"][word] = float(given.both[rows].sum() / max(1, given.pixels[rows].sum()))
    gone = scenes.gone.cpu().numpy()
    change = given.after - given.before
    rates: dict[str, dict[str, float]] = {}
    for place in places:
        for other in range(scenes.things):
            known = (gone == other) & np.isfinite(change[:, place])
            if place != other and known.sum() >= 10:
                rate = float((np.abs(change[known, place]) >= alpha - 1e-12).mean())
                rates.setdefault(scenes.classes[place], {})[scenes.classes[other]] = rate
    figures["ar"] = {
        "alpha": alpha,
        "pairs": rates,
        "max": {name: max(row.values()) for name, row in rates.items()},
    }
    return figures


def _overlaps(said: Any, truth: Any, size: int) -> tuple[Any, Any]:
    """(B, C) pixels in both and in either, of labelled pixels."""
    known = truth != IGNORED
    flat = torch.where(known, said.long(), size).flatten(1), torch.where(known, truth.long(), size).flatten(1)
    counts = [torch.zeros(len(said), size + 1, device=said.device, dtype=torch.long) for _ in range(3)]
    ones = torch.ones_like(flat[0])
    counts[0].scatter_add_(1, torch.where(flat[0] == flat[1], flat[0], size), ones)
    counts[1].scatter_add_(1, flat[0], ones)
    counts[2].scatter_add_(1, flat[1], ones)
    both = counts[0][:, :size]
    return both, counts[1][:, :size] + counts[2][:, :size] - both


def _iou(said: Any, truth: Any, size: int) -> Floats:
    """(B, C) IoU; NaN for a class that is not there."""
    both, either = (part.cpu().numpy().astype(np.float64) for part in _overlaps(said, truth, size))
    there = np.stack([(truth == place).flatten(1).any(dim=1).cpu().numpy() for place in range(size)], axis=1)
    return np.where(there, both / np.maximum(either, 1), np.nan)


def _by_class(flags: NDArray[np.bool_], by_class: dict[str, NDArray[np.bool_]]) -> dict[str, float | None]:
    each = {name: _mean(flags[of]) for name, of in by_class.items()}
    known = [value for value in each.values() if value is not None]
    return {"mean": float(np.mean(known)) if known else None, **each}


def _mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None
