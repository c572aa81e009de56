"""The scores of the predicates exam, from truth and answers to counts a scene and on to accuracy and F1.

*Scene accuracy* is the mean over scenes of the share of right judgements in each (GeoSpa: 7 of 10 in one scene and
4 of 5 in another are 75 %), *scene-all accuracy* the share of scenes without a single wrong one, *F1* that of all
judgements of the exam together, with "it holds" as the positive class. An unknown is not right; for F1, one where
the predicate holds is a miss. Only NumPy is needed here, so that a network can be scored where it was trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.scenes.labels import GEOMETRIC, PREDICATES, SPATIAL
from sightline.stats import Interval, intervals

Floats = NDArray[np.float64]

Counts = NDArray[np.int64]

CELLS: Final = ("tp", "fp", "tn", "fn", "unknown_true", "unknown_false")
"""What becomes of a judgement; the last two are those a model cannot say, where it holds and where it does not."""
TP, FP, TN, FN, UNKNOWN_TRUE, UNKNOWN_FALSE = range(len(CELLS))

_CELL = np.array([[UNKNOWN_FALSE, TN, FP], [UNKNOWN_TRUE, FN, TP]])
"""Cell of [truth, answer + 1]."""


def tally_many(truth: NDArray[Any], answers: NDArray[Any], present: NDArray[Any]) -> Counts:
    """Counts (S, 8, 6) of many scenes, padded to the same number of places.

    Args:
        truth: (S, N, N, 8) bool.
        answers: (S, N, N, 8) 1 it holds, 0 it does not, −1 unknown; the diagonal and places without an object do
            not matter.
        present: (S, N) True where there is an object.

    >>> truth, answers = np.zeros((1, 2, 2, 8), dtype=bool), np.zeros((1, 2, 2, 8), dtype=np.int8)
    >>> truth[0, 0, 1, 0], answers[0, 0, 1, 0], answers[0, 1, 0, 0] = True, 1, -1
    >>> tally_many(truth, answers, np.ones((1, 2)))[0, :2].tolist()
    [[1, 0, 0, 0, 0, 1], [0, 0, 2, 0, 0, 0]]
    """
    occupied = np.asarray(present, dtype=bool)
    asked = occupied[:, :, None] & occupied[:, None, :] & ~np.eye(occupied.shape[1], dtype=bool)
    scene, subject, other = np.nonzero(asked)
    n = len(PREDICATES)
    return tally_flat(
        np.repeat(scene, n),
        np.tile(np.arange(n), len(scene)),
        np.asarray(truth)[scene, subject, other].reshape(-1),
        np.asarray(answers)[scene, subject, other].reshape(-1),
        len(occupied),
    )


def tally_flat(
    scene: NDArray[Any], predicate: NDArray[Any], truth: NDArray[Any], answer: NDArray[Any], n_scenes: int
) -> Counts:
    """Counts (n_scenes, 8, 6) of single judgements, one entry each in all four arrays."""
    cell = _CELL[truth.astype(np.int64), answer.astype(np.int64) + 1]
    rows = scene.astype(np.int64) * len(PREDICATES) + predicate
    size = (n_scenes, len(PREDICATES), len(CELLS))
    return np.bincount(rows * len(CELLS) + cell, minlength=int(np.prod(size))).reshape(size)


NAMES: Final = ("all", "spatial", "geometric", *PREDICATES)
"""What every score is given for, in the order of every array of them."""

KINDS: Final = ("scene_accuracy", "scene_all_by", "f1", "micro_accuracy", "unknown")
"""The scores, in the order of `statistics`."""

_OF: Final = {"all": PREDICATES, "spatial": SPATIAL, "geometric": GEOMETRIC} | {p: (p,) for p in PREDICATES}
_MEMBERS: Final = np.array([[p in _OF[name] for p in PREDICATES] for name in NAMES], dtype=np.float64)
_WIDTH: Final = len(PREDICATES) * len(CELLS)


@dataclass(frozen=True)
class PredicateScores:
    """How well a model knows the predicates; every mapping has the keys `NAMES`, every interval is by scene.

    Attributes:
        scene_accuracy: Mean over scenes of the share of right judgements (macro).
        scene_all_by: Share of scenes in which all of them are right.
        f1: Of all judgements together (micro); NaN where it says nothing: one answer throughout, nothing true, or
            nothing said to be true.
        micro_accuracy: Share of right judgements among all.
        unknown: Share of judgements the model could not make.
        n_scenes: Scenes with a judgement.
        n_judgements: Judgements.
    """

    scene_accuracy: Mapping[str, Interval]
    scene_all_by: Mapping[str, Interval]
    f1: Mapping[str, Interval]
    micro_accuracy: Mapping[str, Interval]
    unknown: Mapping[str, Interval]
    n_scenes: int
    n_judgements: int

    @property
    def scene_all(self) -> Interval:
        """Share of scenes in which every judgement of every predicate is right."""
        return self.scene_all_by["all"]

    def to_dict(self) -> dict[str, Any]:
        """JSON values, with the share of wholly right scenes by itself."""
        fields = {key: getattr(self, key) for key in (*KINDS, "n_scenes", "n_judgements")}
        return fields | {"scene_all_accuracy": self.scene_all}


def scores(counts: NDArray[Any], *, resamples: int = 2000, seed: int = 0) -> PredicateScores:
    """All scores from counts (S, 8, 6); scenes without a judgement are left out.

    Args:
        counts: As `tally_many` gives them, one row a scene.
        resamples: Bootstrap resamples behind the intervals.
        seed: Of the resampling.

    >>> counts = np.zeros((2, 8, 6), dtype=int)
    >>> counts[0, 4, [TP, FN]], counts[1, 4, [TP, FP]] = (7, 3), (4, 1)
    >>> both = scores(counts)
    >>> both.scene_accuracy["contains"].value, round(both.micro_accuracy["contains"].value, 3)
    (0.75, 0.733)
    """
    judged = np.asarray(counts)[np.asarray(counts).sum(axis=(1, 2)) > 0]
    values = intervals(features(judged), statistics, resamples=resamples, seed=seed)
    accuracy, whole, f1, micro, unknown = (
        dict(zip(NAMES, values[start : start + len(NAMES)], strict=True))
        for start in range(0, len(values), len(NAMES))
    )
    return PredicateScores(accuracy, whole, f1, micro, unknown, len(judged), int(judged.sum()))


def scene_accuracy_of(counts: NDArray[Any]) -> Floats:
    """(S, 11) share of right judgements in each scene, columns as in `NAMES`; NaN where there are none."""
    right, judged = _right_and_judged(np.asarray(counts, dtype=np.float64))
    return np.divide(right, judged, out=np.full_like(right, np.nan), where=judged > 0)


def features(counts: NDArray[Any]) -> Floats:
    """(S, F) what each scene adds to the totals that `statistics` looks at.

    The counts themselves, then for each of `NAMES` the scene's accuracy, whether all is right, and whether there is
    anything to be right about.
    """
    accuracy = scene_accuracy_of(counts)
    known = np.isfinite(accuracy)
    macro = [np.where(known, accuracy, 0.0), accuracy == 1.0, known]
    return np.hstack([np.asarray(counts, dtype=np.float64).reshape(len(counts), _WIDTH), *macro])


def statistics(totals: Floats) -> Floats:
    """(B, 5 · 11) of totals (B, F) of `features`: scene accuracy, scene-all, F1, micro accuracy, unknown share.

    NaN where undefined, so it is a `stats.Statistic`; the caller silences 0/0.
    """
    counts = totals[:, :_WIDTH].reshape(-1, len(PREDICATES), len(CELLS))
    accuracy, whole, known = np.split(totals[:, _WIDTH:], 3, axis=1)
    right, judged = _right_and_judged(counts)
    unknown = (counts[..., UNKNOWN_TRUE] + counts[..., UNKNOWN_FALSE]) @ _MEMBERS.T
    return np.hstack([accuracy / known, whole / known, f1_of(counts), right / judged, unknown / judged])


def f1_of(counts: Floats) -> Floats:
    """(B, 11) F1 of counts (B, 8, 6), columns as in `NAMES`.

    A group pools the judgements of its predicates, and is undefined where each of them is.
    """
    tp, fp = counts[..., TP], counts[..., FP]
    missed = counts[..., FN] + counts[..., UNKNOWN_TRUE]
    yes, no = tp + fp, counts[..., TN] + counts[..., FN]
    unknown = counts[..., UNKNOWN_TRUE] + counts[..., UNKNOWN_FALSE]
    said = np.stack([yes, no, unknown]) > 0
    defined = (said.sum(axis=0) > 1) & (yes > 0) & (tp + missed > 0)
    hits, misses = tp @ _MEMBERS.T, (fp + missed) @ _MEMBERS.T
    with np.errstate(invalid="ignore"):
        f1 = 2.0 * hits / (2.0 * hits + misses)
    return np.where(defined @ _MEMBERS.T > 0, f1, np.nan)


def _right_and_judged(counts: Floats) -> tuple[Floats, Floats]:
    """(…, 11) right judgements and all of them."""
    right: Floats = (counts[..., TP] + counts[..., TN]) @ _MEMBERS.T
    judged: Floats = counts.sum(axis=-1) @ _MEMBERS.T
    return right, judged
