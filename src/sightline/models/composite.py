"""One model out of two, ``A+B`` in a spec, and skills that follow from others.

A detector and whoever relates, says viewpoints or answers: its boxes, their word. A detector and a depth estimator:
relations by the paper's Depth rule, in given boxes and in detected ones. ``best_box+DETECTOR`` and
``pixel_share+SEGMENTER`` make class scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.exams.hooks import call_hook
from sightline.models.adapters.pictures import log_odds
from sightline.scenes import View
from sightline.skills import (
    SKILLS,
    ClassScores,
    Detections,
    LabelMaps,
    RelationsSpec,
    RelationsStudy,
    ViewpointSpec,
    ViewpointStudy,
    skills_of,
)

_HOOKS: Final = (
    "usage",
    "rehearsal",
    "begin_sample",
    "concurrency",
    "stored_answers",
    "views",
    "any_views",
    "unable",
)
"""Hooks of the first part that the whole has too."""


class BestBox:
    """Class scores of a detector: the log-odds of the confidence of a class's best box. Skill *classify*, joined.

    Args:
        score: ``confidence`` in [0, 1], or ``margin``: a score that is a logit already.
        absent: Confidence, or margin, of a class that has no box; many such classes tie.
    """

    joins = "detect"

    def __init__(self, score: Literal["confidence", "margin"] = "confidence", absent: float | None = None) -> None:
        self.name, self.score = "best_box", score
        self.absent = absent if absent is not None else 0.0 if score == "confidence" else -10.0

    def classify(self, views: Sequence[View]) -> ClassScores:
        """Nothing alone."""
        raise ModelError(f"{self.name}: it needs a detector for {len(views)} pictures, as in best_box+DETECTOR")

    def scores(self, part: Any, views: Sequence[View], classes: Sequence[str], name: str) -> NDArray[np.float64]:
        """(n, C) logits of pictures by what a detector finds in them."""
        rows = [self.row(Detections.checked(part.detect(view), name), classes) for view in views]
        return np.array(rows, np.float64).reshape(len(rows), len(classes))

    def row(self, found: Detections, classes: Sequence[str]) -> NDArray[np.float64]:
        """(C,) logits of one picture by its boxes."""
        best = dict.fromkeys(classes, self.absent)
        for label, score in zip(found.categories, found.scores.tolist(), strict=True):
            best[label] = max(best.get(label, self.absent), score)
        row = np.array([best[label] for label in classes], np.float64)
        return log_odds(row, self.name) if self.score == "confidence" else row


class PixelShare:
    """Class scores of a segmenter: the log-odds of a class's share of the pixels. Skill *classify*, joined."""

    joins = "segment"

    def __init__(self) -> None:
        self.name = "pixel_share"

    def classify(self, views: Sequence[View]) -> ClassScores:
        """Nothing alone."""
        raise ModelError(
            f"{self.name}: it needs a segmenter for {len(views)} pictures, as in pixel_share+SEGMENTER"
        )

    def scores(self, part: Any, views: Sequence[View], classes: Sequence[str], name: str) -> NDArray[np.float64]:
        """(n, C) logits of pictures by the labels a segmenter gives them."""
        sizes = [view.image().shape[1::-1] for view in views]
        said = LabelMaps.checked(part.segment(views), [(int(w), int(h)) for w, h in sizes], name)
        place = {label: i for i, label in enumerate(classes)}
        rows = np.zeros((len(views), len(classes)))
        for row, labels in zip(rows, said.maps, strict=True):
            shares = np.bincount(labels[labels >= 0], minlength=len(said.classes)) / max(labels.size, 1)
            for label, share in zip(said.classes, shares.tolist(), strict=True):
                if label in place:
                    row[place[label]] = share
        return log_odds(rows, self.name)


def best_box_scores(classes: Sequence[str], found: Sequence[Detections], name: str) -> ClassScores:
    """Class scores of a detector by the confidence of each class's best box."""
    rule = BestBox()
    rule.name = name
    rows = [rule.row(one, classes) for one in found]
    return ClassScores(tuple(classes), np.array(rows, np.float64).reshape(len(rows), len(classes)))


def with_depth_rule(model: Any) -> Any:
    """A model that estimates depth and relates nothing, under the Depth rule; any other as it is."""
    skills = skills_of(model)
    if "estimate_depth" not in skills or "relate" in skills:
        return model
    from sightline.models.baselines.depth import DepthRule

    inverse, name = bool(getattr(model, "inverse", False)), str(getattr(model, "name", "") or "")
    return DepthRule(model, inverse=inverse, name=name or type(model).__name__)


def own_model(model: Any) -> Any:
    """The model that `with_depth_rule` put under the Depth rule; any other as it is."""
    return model.source if getattr(model, "kind", "") == "depth" and hasattr(model, "source") else model


class Composite:
    """A model of two parts, the second of which detects or segments for the first.

    A detector may also stand first, before whoever relates or estimates depth. Hooks reach both parts.

    Raises:
        ModelError: Naming the part that lacks its skill.
    """

    def __init__(self, first: Any, second: Any) -> None:
        self.parts = (first, second)
        self.name = f"{_name(first)} + {_name(second)}"
        wanted: str = getattr(first, "joins", "detect")
        if wanted == "detect" and "detect" in skills_of(first) and "detect" not in skills_of(second):
            first, second = second, first
        first = with_depth_rule(first)
        judging = ("relate", "viewpoint", "classify", "answer", "predicates")
        for part, needs in ((second, (wanted,)), (first, judging)):
            has = skills_of(part)
            if not set(has) & set(needs):
                raise ModelError(f"{_name(part)} cannot {needs[0]} (its skills: {', '.join(has) or 'none'})")
        self.first, self.detector = first, second
        skills = skills_of(first)
        for skill in SKILLS:
            if skill in skills and skill not in ("detect", "classify"):
                setattr(self, skill, getattr(first, skill))
        for hook in _HOOKS:
            if hasattr(first, hook):
                setattr(self, hook, getattr(first, hook))
        if "viewpoint" in skills:
            self.cross_fits = getattr(first, "cross_fits", False)
        if wanted == "detect":
            self.detect = self._detect
        scorer = first if "classify" in skills else second
        self.classes: tuple[str, ...] = ()
        if hasattr(first, "joins"):
            self.classify, self.classes = self._classify, tuple(getattr(second, "classes", ()))
        elif "classify" in skills_of(scorer):
            self.classify, self.classes = scorer.classify, tuple(getattr(scorer, "classes", ()))

    @property
    def budget(self) -> Any:
        """What the parts take their requests from."""
        return next((part.budget for part in (self.first, self.detector) if hasattr(part, "budget")), None)

    @budget.setter
    def budget(self, budget: Any) -> None:
        for part in (self.first, self.detector):
            if hasattr(part, "budget"):
                part.budget = budget

    def _detect(self, view: View) -> Detections:
        """What the detecting part finds, without viewpoints where the first part says them."""
        found: Detections = self.detector.detect(view)
        if hasattr(self, "viewpoint") and isinstance(found, Detections) and len(found.angles):
            return Detections(found.boxes, found.scores, found.categories, found.groups)
        return found

    def _classify(self, views: Sequence[View]) -> ClassScores:
        return ClassScores(self.classes, self.first.scores(self.detector, views, self.classes, self.name))

    def check_context(self, spec: Any) -> None:
        """Let both parts check; take the classes to be asked about, where the second does not name its own."""
        self._call("check", "context", spec)
        if hasattr(self.first, "joins"):
            self.classes = tuple(getattr(self.detector, "classes", ())) or tuple(spec.classes)

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
    return str(getattr(model, "name", "") or type(model).__name__)
