"""The scores of the predicates exam, from counts a scene.

*Scene accuracy* is the mean over scenes of the share of right judgements in each (GeoSpa: 7 of 10 in one scene and
4 of 5 in another are 75 %), *scene-all accuracy* the share of scenes without a single wrong one, *F1* that of all
judgements of the exam together, with "it holds" as the positive class. An unknown is not right; for F1, one where
the predicate holds is a miss. Only NumPy is needed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.predicates.tally import CELLS, FN, FP, TN, TP, UNKNOWN_FALSE, UNKNOWN_TRUE
from sightline.scenes.labels import GEOMETRIC, PREDICATES, SPATIAL
from sightline.stats import Interval, intervals

Floats = NDArray[np.float64]

NAMES: Final = ("all", "spatial", "geometric", *PREDICATES)
"""What every score is told of, in the order of every array of them."""

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
        """Plain values for JSON; undefined ones are null."""
        plain: dict[str, Any] = {"scene_accuracy": _plain(self.scene_accuracy)}
        plain["scene_all_accuracy"] = self.scene_all.to_dict()
        for kind in ("scene_all_by", "f1", "micro_accuracy", "unknown"):
            plain[kind] = _plain(getattr(self, kind))
        return plain | {"n_scenes": self.n_scenes, "n_judgements": self.n_judgements}


def scores(counts: NDArray[Any], *, resamples: int = 2000, seed: int = 0) -> PredicateScores:
    """All scores from counts (S, 8, 6); scenes without a judgement are left out.

    Args:
        counts: As `tally` gives them, one row a scene.
        resamples: Bootstrap resamples behind the intervals.
        seed: Of the resampling.

    >>> counts = np.zeros((2, 8, 6), dtype=int)
    >>> counts[0, 4, [TP, FN]], counts[1, 4, [TP, FP]] = (7, 3), (4, 1)
    >>> found = scores(counts)
    >>> found.scene_accuracy["contains"].value, round(found.micro_accuracy["contains"].value, 3)
    (0.75, 0.733)
    """
    judged = np.asarray(counts)[np.asarray(counts).sum(axis=(1, 2)) > 0]
    found = intervals(features(judged), statistics, resamples=resamples, seed=seed)
    accuracy, whole, f1, micro, unknown = (
        dict(zip(NAMES, found[start : start + len(NAMES)], strict=True))
        for start in range(0, len(found), len(NAMES))
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


def _plain(scored: Mapping[str, Interval]) -> dict[str, Any]:
    return {name: interval.to_dict() for name, interval in scored.items()}
