"""Sightline examines what a vision model understands of a scene, not only what it can detect.

Data flows one way: sources → scenes → exam items → a model's answers → records → measures → report card.

>>> import sightline as sl
>>> sl.Depth.CLOSER.word
'closer'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # `x as x` says to a type checker that the name is meant for users
    from sightline.api import board as board
    from sightline.api import compare as compare
    from sightline.api import examine as examine
    from sightline.api import plan as plan
    from sightline.api import report as report
    from sightline.api import score as score
    from sightline.errors import ConfigError as ConfigError
    from sightline.errors import DataError as DataError
    from sightline.errors import ModelError as ModelError
    from sightline.errors import SightlineError as SightlineError
    from sightline.exams.base import Exam as Exam
    from sightline.exams.context.exam import ContextExam as ContextExam
    from sightline.exams.predicates.exam import PredicatesExam as PredicatesExam
    from sightline.exams.relations.exam import RelationsExam as RelationsExam
    from sightline.exams.statements import StatementsExam as StatementsExam
    from sightline.exams.turing.ask import ask as ask
    from sightline.exams.turing.exam import TuringExam as TuringExam
    from sightline.exams.viewpoint.exam import ViewpointExam as ViewpointExam
    from sightline.generation import generate as generate
    from sightline.generation import open_any
    from sightline.models import candidate as candidate
    from sightline.scenes import Depth as Depth
    from sightline.scenes import Object as Object
    from sightline.scenes import Occlusion as Occlusion
    from sightline.scenes import Relation as Relation
    from sightline.scenes import Scene as Scene
    from sightline.scenes import Sighting as Sighting
    from sightline.scenes import View as View
    from sightline.skills import BoxedObjects as BoxedObjects
    from sightline.skills import ClassScores as ClassScores
    from sightline.skills import Detections as Detections
    from sightline.skills import Judgements as Judgements
    from sightline.skills import LabelMaps as LabelMaps
    from sightline.skills import Pairs as Pairs
    from sightline.skills import Queries as Queries
    from sightline.skills import ScoredReply as ScoredReply
    from sightline.skills import Verdicts as Verdicts
    from sightline.skills import ViewAngles as ViewAngles
    from sightline.store import Dataset as Dataset
    from sightline.store import write as write

    open = open_any  # noqa: A001 - sightline.open opens datasets

_LAZY = {
    "sightline.api": "board compare examine plan report score",
    "sightline.errors": "ConfigError DataError ModelError SightlineError",
    "sightline.exams.base": "Exam",
    "sightline.exams.context.exam": "ContextExam",
    "sightline.exams.predicates.exam": "PredicatesExam",
    "sightline.exams.relations.exam": "RelationsExam",
    "sightline.exams.statements": "StatementsExam",
    "sightline.exams.turing.ask": "ask",
    "sightline.exams.turing.exam": "TuringExam",
    "sightline.exams.viewpoint.exam": "ViewpointExam",
    "sightline.generation": "generate open_any:open",
    "sightline.models": "candidate",
    "sightline.scenes": "Depth Object Occlusion Relation Scene Sighting View",
    "sightline.skills": (
        "BoxedObjects ClassScores Detections Judgements LabelMaps Pairs Queries ScoredReply Verdicts ViewAngles"
    ),
    "sightline.store": "Dataset write",
}
"""Module → its public names; ``a:b`` is called `a` there and `b` here."""

_HOME = {
    name.split(":")[-1]: (module, name.split(":")[0]) for module, names in _LAZY.items() for name in names.split()
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import sightline` stays instant."""
    if name not in _HOME:
        raise AttributeError(f"module 'sightline' has no attribute {name!r}")
    from sightline_exams import refuse_namesake

    refuse_namesake()
    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return list(__all__)
