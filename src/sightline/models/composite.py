"""One model out of two: ``A+B`` in a spec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.exams.hooks import call_hook
from sightline.scenes import View
from sightline.skills import (
    ClassScores,
    Detections,
    RelationsSpec,
    RelationsStudy,
    ViewpointSpec,
    ViewpointStudy,
    skills_of,
)


class BestBox:
    """Class scores of a detector: the log-odds of the confidence of a class's best box. Skill *classify*, joined.

    Args:
        score: ``confidence`` in [0, 1], or ``margin``: a score that is a logit already.
        absent: Confidence, or margin, of a class that has no box; many such classes tie.
    """

    def __init__(self, score: Literal["confidence", "margin"] = "confidence", absent: float | None = None) -> None:
        self.name, self.score = "best_box", score
        self.absent = absent if absent is not None else 0.0 if score == "confidence" else -10.0

    def classify(self, views: Sequence[View]) -> ClassScores:
        """Nothing alone."""
        raise ModelError(f"{self.name}: it needs a detector for {len(views)} pictures, as in best_box+DETECTOR")

    def row(self, found: Detections, classes: Sequence[str]) -> NDArray[np.float64]:
        """(C,) logits of one picture by its boxes."""
        from sightline.models.adapters.pictures import log_odds

        best = dict.fromkeys(classes, self.absent)
        for label, score in zip(found.categories, found.scores.tolist(), strict=True):
            best[label] = max(best.get(label, self.absent), score)
        row = np.array([best[label] for label in classes], np.float64)
        return log_odds(row, self.name) if self.score == "confidence" else row


class Composite:
    """A model whose first part relates, says viewpoints or scores classes, and whose second detects.

    Hooks reach both parts.

    Raises:
        ModelError: Naming the part that lacks its skill.
    """

    def __init__(self, first: Any, detector: Any) -> None:
        skills = skills_of(first)
        for part, wanted in ((first, ("relate", "viewpoint", "classify")), (detector, ("detect",))):
            has = skills_of(part)
            if not set(has) & set(wanted):
                raise ModelError(f"{_name(part)} cannot {wanted[0]} (its skills: {', '.join(has) or 'none'})")
        self.first = first
        self.detector = detector
        self.name = f"{_name(first)} + {_name(detector)}"
        if "relate" in skills:
            self.relate = first.relate
        if "viewpoint" in skills:
            self.viewpoint = first.viewpoint
            self.cross_fits = getattr(first, "cross_fits", False)
        if isinstance(first, BestBox):
            self.classes: tuple[str, ...] = tuple(getattr(detector, "classes", ()))
            self.classify = self._classify

    def detect(self, view: View) -> Detections:
        """What the detecting part finds, without viewpoints where the first part says them."""
        found: Detections = self.detector.detect(view)
        if hasattr(self, "viewpoint") and isinstance(found, Detections) and len(found.angles):
            return Detections(found.boxes, found.scores, found.categories, found.groups)
        return found

    def _classify(self, views: Sequence[View]) -> ClassScores:
        rows = [
            self.first.row(Detections.checked(self.detector.detect(view), self.name), self.classes)
            for view in views
        ]
        return ClassScores(self.classes, np.array(rows, np.float64).reshape(len(rows), len(self.classes)))

    def check_context(self, spec: Any) -> None:
        """Take the classes to be asked about, where the detector does not name its own; let both parts check."""
        if not getattr(self.detector, "classes", ()):
            self.classes = tuple(spec.classes)
        self._call("check", "context", spec)

    def check_relations(self, spec: RelationsSpec) -> None:
        """Let both parts check what they will be asked about."""
        self._call("check", "relations", spec)

    def prepare_relations(self, study: RelationsStudy) -> None:
        """Hand the study material to both parts."""
        self._call("prepare", "relations", study)

    def check_viewpoint(self, spec: ViewpointSpec) -> None:
        """Let both parts check what they will be asked about."""
        self._call("check", "viewpoint", spec)

    def prepare_viewpoint(self, study: ViewpointStudy) -> None:
        """Hand the study material to both parts."""
        self._call("prepare", "viewpoint", study)

    def _call(self, hook: str, exam: str, argument: object) -> None:
        for part in (self.first, self.detector):
            call_hook(part, hook, exam, lambda: argument)

    def facts(self) -> dict[str, Any]:
        """What the first part says of itself."""
        return dict(getattr(self.first, "facts", dict)())


def _name(model: object) -> str:
    return str(getattr(model, "name", type(model).__name__))
