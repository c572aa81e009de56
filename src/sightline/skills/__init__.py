"""What a model may be able to do: the protocols an exam asks for, and the plain data they exchange.

A model is any object with one or more skills (`Relate`, `Predicates`, `Answer`, `Detect`, `SeeViewpoint`,
`Classify`, `Segment`, `EstimateDepth`); nothing to inherit. What is handed to a skill never contains truth: views
come without depth and id maps, pairs without labels.

A model may also have hooks, all of them optional. Where one is given for a single exam (``prepare_turing``), that
one is called, else the one for all (``prepare``):

- ``check_<exam>(spec)`` or ``check(spec)``: called before anything is written; raise a ModelError where the model
  could not answer. The spec is a `RelationsSpec`, `QuerySpec`, `TuringSpec`, `ViewpointSpec` or `ContextSpec`.
- ``prepare_<exam>(study)`` or ``prepare(study)``: called before the first question, with what the model may learn
  from: a `RelationsStudy`, `PredicatesStudy`, `StatementsStudy`, `TuringStudy`, `ViewpointStudy` or `ContextStudy`.
- ``facts()``: a dict of JSON values to be kept with the run (weights, chosen margins).
- ``usage()``: a dict of numbers since it was loaded (requests, tokens), kept with the run and summed up.
- ``concurrency`` (int): items it may be asked at once, each from a thread of its own.
- ``begin_sample(number)``: called before an item is asked for the first, second… time (``--samples``).
- ``budget``: where it can be set, what requests are taken from (`exams.budget.Budget`).
- ``name`` (str): how tables call the model. ``seed`` (int): kept with the run.

Hooks of single exams: ``views`` and ``any_views`` (predicates: ids of the views to be shown; whether those that the
data has will do), ``sees_truth`` (predicates, context: a baseline that is handed the truth as its study),
``cross_fits`` (relations, statements, viewpoint, context: its study has the labels of what is to come, and it
promises never to use a cluster's own labels to answer about it), ``stored_answers`` (its answers, or
what they rest on, are read from files, so that it is not asked about changed pictures), ``unable`` (relations: a
mapping of the settings that it has no answer for to why; it is not asked about their pairs), ``attention(queries)``
(predicates: where it looks, for the report), ``varied(kind)`` (of a model that makes its prompts itself: the same
model with other words, ``paraphrase``, or options in another order, ``circular``; None for any other kind; see
`exams.variants`), ``on_truth(asked, truth)`` (Turing: the true answer after each
question) and ``seek(scene_id, stream, step)`` (Turing: the place of the next question, for a model that reads its
answers from a file).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightline.scenes import View
from sightline.skills.exchange import (
    ABSTAIN,
    SILENT,
    UNKNOWN,
    UNPARSED,
    Asked,
    BoxedObjects,
    ClassScores,
    Detections,
    Judgements,
    LabelMaps,
    Pairs,
    Queries,
    ScoredReply,
    Setting,
    Verdicts,
    ViewAngles,
)
from sightline.skills.preparation import (
    ContextSpec,
    ContextStudy,
    PredicatesStudy,
    QuerySpec,
    RelationsSpec,
    RelationsStudy,
    StatementsStudy,
    TuringSpec,
    TuringStudy,
    ViewpointSpec,
    ViewpointStudy,
)

__all__ = [
    "ABSTAIN",
    "SILENT",
    "SKILLS",
    "UNKNOWN",
    "UNPARSED",
    "Answer",
    "Asked",
    "BoxedObjects",
    "ClassScores",
    "Classify",
    "ContextSpec",
    "ContextStudy",
    "Detect",
    "Detections",
    "EstimateDepth",
    "Judgements",
    "LabelMaps",
    "Pairs",
    "Predicates",
    "PredicatesStudy",
    "Queries",
    "QuerySpec",
    "Relate",
    "RelationsSpec",
    "RelationsStudy",
    "ScoredReply",
    "SeeViewpoint",
    "Segment",
    "Setting",
    "StatementsStudy",
    "TuringSpec",
    "TuringStudy",
    "Verdicts",
    "ViewAngles",
    "ViewpointSpec",
    "ViewpointStudy",
    "skills_of",
]


@runtime_checkable
class Answer(Protocol):
    """Skill *answer*: answer yes–no questions about an image, one at a time."""

    def answer(self, asked: Asked) -> str | bool:
        """``yes``, ``no`` or ``abstain``; a bool will do, as will a sentence that begins with one of the words.

        A `ScoredReply` also says how sure the model is.
        """


@runtime_checkable
class Predicates(Protocol):
    """Skill *predicates*: say which of the eight predicates hold between the objects of a scene."""

    def predicates(self, queries: Queries) -> Verdicts:
        """Every predicate of every ordered pair."""


@runtime_checkable
class Relate(Protocol):
    """Skill *relate*: judge ordered pairs of given boxes."""

    def relate(self, pairs: Pairs) -> Judgements:
        """Depth and occlusion of every pair."""


@runtime_checkable
class Detect(Protocol):
    """Skill *detect*: find objects in a view."""

    def detect(self, view: View) -> Detections:
        """All objects found."""


@runtime_checkable
class SeeViewpoint(Protocol):
    """Skill *viewpoint*: say from which side objects in given boxes are seen."""

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        """Azimuth, elevation and theta of every object."""


@runtime_checkable
class EstimateDepth(Protocol):
    """Skill *estimate_depth*: say how far everything in a picture is.

    An attribute ``inverse = True`` says that larger is closer, as in disparity. By itself the skill takes no exam:
    the Depth rule makes relations of it (`models.composite`).
    """

    def estimate_depth(self, view: View) -> NDArray[np.float64]:
        """(H, W) depth in the model's own unit and size, smaller is closer; NaN where unknown."""


@runtime_checkable
class Classify(Protocol):
    """Skill *classify*: say how sure each class is to be in a picture."""

    def classify(self, views: Sequence[View]) -> ClassScores:
        """A logit for every picture and class; the classes are the model's own, the same in every call."""


@runtime_checkable
class Segment(Protocol):
    """Skill *segment*: say which class every pixel of a picture shows.

    A model that scores every class may have ``segment_among(views, classes)`` too, and its classes as an attribute
    ``classes``: the best of some of its classes at every pixel. An exam that knows not all of them calls that
    instead. What stands for no class at all (background) stays an answer.
    """

    def segment(self, views: Sequence[View]) -> LabelMaps:
        """A map of classes for every picture; the classes are the model's own, the same in every call."""


SKILLS: dict[str, type[Any]] = {
    "relate": Relate,
    "detect": Detect,
    "predicates": Predicates,
    "answer": Answer,
    "viewpoint": SeeViewpoint,
    "classify": Classify,
    "segment": Segment,
    "estimate_depth": EstimateDepth,
}


def skills_of(model: object) -> tuple[str, ...]:
    """Names of the skills an object has.

    >>> class Mute:
    ...     def relate(self, pairs): ...
    >>> skills_of(Mute())
    ('relate',)
    """
    return tuple(name for name, protocol in SKILLS.items() if isinstance(model, protocol))
