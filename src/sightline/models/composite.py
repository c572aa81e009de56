"""One model out of two: ``A+B`` in a spec."""

from __future__ import annotations

from typing import Any

from sightline.errors import ModelError
from sightline.exams.hooks import call_hook
from sightline.scenes import View
from sightline.skills import Detections, RelationsSpec, RelationsStudy, ViewpointSpec, ViewpointStudy, skills_of


class Composite:
    """A model whose first part relates or says viewpoints, and whose second detects; hooks reach both parts.

    Raises:
        ModelError: Naming the part that lacks its skill.
    """

    def __init__(self, first: Any, detector: Any) -> None:
        skills = skills_of(first)
        for part, wanted in ((first, ("relate", "viewpoint")), (detector, ("detect",))):
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

    def detect(self, view: View) -> Detections:
        """What the detecting part finds, without viewpoints where the first part says them."""
        found: Detections = self.detector.detect(view)
        if hasattr(self, "viewpoint") and isinstance(found, Detections) and len(found.angles):
            return Detections(found.boxes, found.scores, found.categories, found.groups)
        return found

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
