"""Sightline examines what a vision model understands of a scene, not only what it can detect.

The way through the house: sources → scenes → exam items → a model's answers → records → statistics → report card.

>>> import sightline
>>> sightline.Depth.CLOSER.word
'closer'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.errors import ConfigError, DataError, ModelError, SightlineError
    from sightline.exams.core import sit
    from sightline.exams.predicates.exam import PredicatesExam
    from sightline.exams.relations import RelationsExam
    from sightline.generate.open import open_any as open  # noqa: A004 - sightline.open is the front door
    from sightline.models import candidate
    from sightline.scenes import Depth, Object, Occlusion, Relation, Scene, Sighting, View
    from sightline.skills import Detections, Judgements, Pairs, Queries, Verdicts
    from sightline.store import Dataset, write

_HOMES = {
    "open": ("sightline.generate.open", "open_any"),
    "write": ("sightline.store", "write"),
    "Dataset": ("sightline.store", "Dataset"),
    "Scene": ("sightline.scenes", "Scene"),
    "View": ("sightline.scenes", "View"),
    "Object": ("sightline.scenes", "Object"),
    "Sighting": ("sightline.scenes", "Sighting"),
    "Relation": ("sightline.scenes", "Relation"),
    "Depth": ("sightline.scenes", "Depth"),
    "Occlusion": ("sightline.scenes", "Occlusion"),
    "Pairs": ("sightline.skills", "Pairs"),
    "Judgements": ("sightline.skills", "Judgements"),
    "Detections": ("sightline.skills", "Detections"),
    "Queries": ("sightline.skills", "Queries"),
    "Verdicts": ("sightline.skills", "Verdicts"),
    "PredicatesExam": ("sightline.exams.predicates.exam", "PredicatesExam"),
    "RelationsExam": ("sightline.exams.relations", "RelationsExam"),
    "candidate": ("sightline.models", "candidate"),
    "sit": ("sightline.exams.core", "sit"),
    "SightlineError": ("sightline.errors", "SightlineError"),
    "DataError": ("sightline.errors", "DataError"),
    "ConfigError": ("sightline.errors", "ConfigError"),
    "ModelError": ("sightline.errors", "ModelError"),
}

__all__ = [
    "ConfigError",
    "DataError",
    "Dataset",
    "Depth",
    "Detections",
    "Judgements",
    "ModelError",
    "Object",
    "Occlusion",
    "Pairs",
    "PredicatesExam",
    "Queries",
    "Relation",
    "RelationsExam",
    "Scene",
    "Sighting",
    "SightlineError",
    "Verdicts",
    "View",
    "candidate",
    "open",
    "sit",
    "write",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import sightline` stays instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sightline' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
