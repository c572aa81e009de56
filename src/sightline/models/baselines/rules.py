"""Rules of thumb on boxes: the larger, or the lower, object is closer; of two that overlap, the closer occludes.

Every rule comes down to a *lead*: how much evidence says that the first object is closer than the second. The lead
of (b, a) is exactly minus that of (a, b), hence so are the answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Aspect, Protocol, rates, tally
from sightline.geometry import area, centre, intersection
from sightline.models.baselines.labels import no_training
from sightline.scenes import Depth, Occlusion
from sightline.skills import SILENT, Judgements, Pairs, RelationsStudy, Setting

Codes = NDArray[np.int8]
Floats = NDArray[np.float64]
Margin = float | Literal["tuned"]
Overlap = float | Literal["auto"]

# As int8, so that labels of a few pairs at a time need no conversion.
_UNSURE, _CLOSER, _FARTHER, _SAME = (np.int8(label) for label in Depth)
_NONE, _OCCLUDES, _OCCLUDED, _ = (np.int8(label) for label in Occlusion)


def depth_by_lead(lead: Floats, margin: float, setting: Setting) -> Codes:
    """Depth labels from leads.

    Args:
        lead: (n,) evidence that the first object is closer, any unit; NaN where there is none (*unsure*).
        margin: The first is closer above it, farther below its negative.
        setting: Between the two the objects are at the *same* depth within an image. Across images that label is
            not used: the sign of the lead is the better guess, and exactly 0 is *unsure*.

    >>> depth_by_lead(np.array([0.3, 0.01, -0.3]), 0.02, "within_image").tolist()
    [1, 3, 2]
    """
    if setting == "across_images":
        return np.where(lead > 0, _CLOSER, np.where(lead < 0, _FARTHER, _UNSURE))
    ordered = np.where(lead > margin, _CLOSER, np.where(lead < -margin, _FARTHER, _SAME))
    return np.where(np.isnan(lead), _UNSURE, ordered)


def occlusion_by_depth(depth: Codes, overlap: Floats, threshold: float) -> Codes:
    """The closer of two boxes that overlap by more than the threshold occludes the other; never *mutual*.

    Args:
        depth: (n,) depth labels; where they name no order there is no occlusion.
        overlap: (n,) shared area of the two boxes, fraction of the image.
        threshold: The overlap that is needed, same unit.

    >>> occlusion_by_depth(np.array([1, 2, 1], dtype=np.int8), np.array([0.1, 0.1, 0.0]), 0.05).tolist()
    [1, 2, 0]
    """
    order = np.where(depth == _CLOSER, _OCCLUDES, np.where(depth == _FARTHER, _OCCLUDED, _NONE))
    return np.where(overlap > threshold, order, _NONE)


class Rule(ABC):
    """A lead, a margin, and the coupled occlusion rule; within an image both thresholds can be tuned.

    Tuning picks what is best on the training split under the paper's protocol: the margin by pooled F1, then the
    overlap by mean F1 over the occlusion labels.

    Args:
        margin: In the unit of the lead, or ``tuned``, which needs a training split.
        overlap: Least overlap for an occlusion, fraction of the image, or ``auto``: tuned where there is a training
            split, else 0 (any overlap will do).
    """

    kind: ClassVar[str]

    def __init__(self, margin: Margin, overlap: Overlap) -> None:
        for option, value in (("margin", margin), ("overlap", overlap)):
            if not isinstance(value, str) and not 0.0 <= value < np.inf:
                raise ConfigError(f"{self.kind}: {option} must be at least 0, found {value}")
        self.margin = margin
        self.overlap = overlap
        self._margin: float | None = None if margin == "tuned" else float(margin)
        self._overlap = 0.0 if overlap == "auto" else float(overlap)
        self._tuned_on = 0

    @abstractmethod
    def lead(self, pairs: Pairs) -> Floats:
        """(n,) evidence that the first object of each pair is closer."""

    @abstractmethod
    def table_lead(self, table: PairTable) -> Floats:
        """The same for annotated pairs, to tune on."""

    def prepare_relations(self, study: RelationsStudy) -> None:
        """Tune what is to be tuned on the within-image pairs of the training split."""
        table = study.train.get("within_image")
        if table is None:
            if self.margin == "tuned" and "within_image" in study.test:
                raise no_training(f"{self.kind} with margin=tuned", "within_image")
            return
        if self.margin == "tuned" or self.overlap == "auto":
            self._tune(table)

    def _tune(self, table: PairTable) -> None:
        lead = self.table_lead(table)
        known = np.isfinite(lead)
        if not known.any():
            if self._margin is None:
                raise ConfigError(
                    f"{self.kind} with margin=tuned: none of the {len(table)} training pairs can be measured"
                )
            return
        lead, table = lead[known], table.take(known)
        margin = tuned_margin(lead, table.depth) if self.margin == "tuned" else float(self.margin)
        if self.overlap == "auto" and (table.occlusion >= 0).any():
            depth = depth_by_lead(lead, margin, "within_image")
            shared = intersection(table.boxes_a, table.boxes_b)
            self._overlap = tuned_overlap(depth, shared, table.occlusion)
        self._margin, self._tuned_on = margin, len(table)

    def relate(self, pairs: Pairs) -> Judgements:
        """Depth by the lead; within an image occlusion by depth and overlap."""
        lead = self.lead(pairs)
        if pairs.setting == "across_images":
            depth = depth_by_lead(lead, 0.0, pairs.setting)
            return Judgements(depth, np.full(len(pairs), SILENT, dtype=np.int8))
        if self._margin is None:
            raise no_training(f"{self.kind} with margin=tuned", pairs.setting)
        depth = depth_by_lead(lead, self._margin, pairs.setting)
        return Judgements(
            depth, occlusion_by_depth(depth, intersection(pairs.boxes_a, pairs.boxes_b), self._overlap)
        )

    def facts(self) -> dict[str, float | int | None]:
        """The margin and overlap in use, and on how many pairs they were tuned (0: as given)."""
        return {"margin": self._margin, "overlap": self._overlap, "tuned_on": self._tuned_on}


class BoxRule(Rule):
    """A rule whose lead is the difference of one number a box.

    Args:
        margin: See `Rule`; None takes the published one.
        overlap: See `Rule`.
    """

    published: ClassVar[float]

    def __init__(self, margin: Margin | None = None, overlap: Overlap = "auto") -> None:
        super().__init__(self.published if margin is None else margin, overlap)

    @staticmethod
    @abstractmethod
    def measure(boxes: Floats) -> Floats:
        """(n,) the number, larger for closer, from (n, 4) boxes in fractions of the image."""

    def lead(self, pairs: Pairs) -> Floats:
        """By how much the first object's number exceeds the second's."""
        return self.measure(pairs.boxes_a) - self.measure(pairs.boxes_b)

    def table_lead(self, table: PairTable) -> Floats:
        """The same for annotated pairs."""
        return self.measure(table.boxes_a) - self.measure(table.boxes_b)


class Size(BoxRule):
    """The larger box is closer. Published margin Δ_s = 0, in fractions of the image's area."""

    kind, published = "size", 0.0

    @staticmethod
    def measure(boxes: Floats) -> Floats:
        """Area of the box."""
        return area(boxes)


class Location(BoxRule):
    """The box whose centre is lower is closer. Published margin Δ_l = 0.02, in image heights."""

    kind, published = "location", 0.02

    @staticmethod
    def measure(boxes: Floats) -> Floats:
        """Centre's y, down."""
        return centre(boxes)[:, 1]


class BottomEdge(BoxRule):
    """The box whose bottom edge is lower is closer: it stands on nearer ground. Margin in image heights."""

    kind, published = "bottom_edge", 0.0

    @staticmethod
    def measure(boxes: Floats) -> Floats:
        """Bottom edge's y, down."""
        return np.asarray(boxes[:, 3], dtype=np.float64)


def tuned_margin(lead: Floats, truth: Codes) -> float:
    """The margin with the best depth F1, searched over 0 and the percentiles of |lead|; a tie goes lower.

    Args:
        lead: (n,) as for `depth_by_lead`, all known.
        truth: (n,) depth labels, −1 where there is no majority.
    """
    answers = {m: depth_by_lead(lead, m, "within_image") for m in _grid(np.abs(lead))}
    return _best(answers, truth, "depth")


def tuned_overlap(depth: Codes, overlap: Floats, truth: Codes) -> float:
    """The overlap threshold with the best mean F1 over the occlusion labels.

    Not the pooled F1: *none* is four pairs in five, so that score is best for a rule that never says anything else.
    """
    answers = {t: occlusion_by_depth(depth, overlap, t) for t in _grid(overlap[overlap > 0])}
    return _best(answers, truth, "occlusion")


def _grid(values: Floats) -> list[float]:
    """0 and the percentiles of the values there are."""
    if not len(values):
        return [0.0]
    steps: list[float] = np.unique(np.quantile(values, np.linspace(0.01, 0.99, 99))).tolist()
    return sorted({0.0, *steps})


def _best(answers: dict[float, Codes], truth: Codes, aspect: Aspect) -> float:
    """The threshold with the best F1 to four digits, of equals the lowest; 0 where F1 is undefined.

    Depth: pooled over the labels. Occlusion: the mean over the four labels, 0 for one that nobody says.
    """
    together = np.zeros(len(truth), dtype=np.int64)
    how: Setting = "within_image"
    counts = [
        tally(truth, answer, together, 1, protocol=Protocol.PAPER, aspect=aspect, setting=how)[0]
        for answer in answers.values()
    ]
    f1 = rates(np.array(counts), protocol=Protocol.PAPER, aspect=aspect, setting=how)[..., -1]
    score = f1[:, -1] if aspect == "depth" else np.nan_to_num(f1[:, :-1]).mean(axis=1)
    return list(answers)[int(np.nan_to_num(score, nan=-1.0).round(4).argmax())]
