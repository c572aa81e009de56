"""One model out of two: ``A+B`` in a spec."""

from __future__ import annotations

from typing import Any

from sightline.errors import ModelError
from sightline.exams.hooks import call_hook
from sightline.scenes import View
from sightline.skills import (
    SKILLS,
    Detect,
    Detections,
    Judgements,
    Pairs,
    Relate,
    RelationsSpec,
    RelationsStudy,
    skills_of,
)


class Composite:
    """A model whose first part relates and whose second detects; hooks reach both parts, in either form.

    Raises:
        ModelError: Naming the part that lacks its skill.
    """

    def __init__(self, relater: Relate, detector: Detect) -> None:
        for part, skill in ((relater, "relate"), (detector, "detect")):
            if not isinstance(part, SKILLS[skill]):
                has = ", ".join(skills_of(part)) or "none"
                raise ModelError(f"{_name(part)} cannot {skill} (its skills: {has})")
        self.relater = relater
        self.detector = detector
        self.name = f"{_name(relater)} + {_name(detector)}"

    def relate(self, pairs: Pairs) -> Judgements:
        """What the relating part says."""
        return self.relater.relate(pairs)

    def detect(self, view: View) -> Detections:
        """What the detecting part finds."""
        return self.detector.detect(view)

    def check_relations(self, spec: RelationsSpec) -> None:
        """Let both parts check what they will be asked about."""
        for part in (self.relater, self.detector):
            call_hook(part, "check", "relations", lambda: spec)

    def prepare_relations(self, study: RelationsStudy) -> None:
        """Hand the study material to both parts."""
        for part in (self.relater, self.detector):
            call_hook(part, "prepare", "relations", lambda: study)

    def facts(self) -> dict[str, Any]:
        """What the relating part says of itself."""
        return dict(getattr(self.relater, "facts", dict)())


def _name(model: object) -> str:
    return str(getattr(model, "name", type(model).__name__))
