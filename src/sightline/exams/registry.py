"""The exams by name: those of Sightline, and those of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from sightline.errors import ConfigError
from sightline.exams.base import Exam, exam_of, options_of, unknown_exam
from sightline.exams.run import MANIFEST, Run
from sightline.hints import did_you_mean

EXAMS: Final[Mapping[str, str]] = {
    "relations": "sightline.exams.relations.exam:RelationsExam",
    "predicates": "sightline.exams.predicates.exam:PredicatesExam",
    "turing": "sightline.exams.turing.exam:TuringExam",
    "statements": "sightline.exams.statements:StatementsExam",
    "viewpoint": "sightline.exams.viewpoint.exam:ViewpointExam",
    "context": "sightline.exams.context.exam:ContextExam",
}
"""Exams that come with Sightline: name → where the class is; nothing is imported until it is asked for."""

GROUP: Final = "sightline.exams"
"""Entry point group in which other packages announce their exams."""


def exam_names() -> list[str]:
    """Names of all exams, built in first."""
    return [*EXAMS, *sorted(point.name for point in entry_points(group=GROUP) if point.name not in EXAMS)]


def exam_class(name: str) -> type[Exam[Any]]:
    """The class of an exam; ConfigError for a name nobody knows, or one that is no exam."""
    if name in EXAMS:
        module, _, attribute = EXAMS[name].partition(":")
        kind: object = getattr(import_module(module), attribute)
    else:
        points = [point for point in entry_points(group=GROUP) if point.name == name]
        if not points:
            raise unknown_exam(name, exam_names())
        kind = points[0].load()
    if not (isinstance(kind, type) and issubclass(kind, Exam)):
        raise ConfigError(f"the exam {name!r} is no class that derives from sightline.Exam, but {kind!r}")
    return kind


def exam_of_run(run: Run, **scoring: Any) -> Exam[Any]:
    """The exam a run is of, with its options; `scoring` options say how to count, ConfigError for one it lacks."""
    kind = exam_class(run.exam)
    known = scoring_names(kind)
    for name in scoring:
        if name not in known:
            raise ConfigError(f"the {run.exam} exam has no --{name.replace('_', '-')}{did_you_mean(name, known)}")
    return exam_of(kind, run.options | scoring, str(run.folder / MANIFEST))


def scoring_names(kind: type[Exam[Any]]) -> frozenset[str]:
    """Names of an exam's options that say how records are counted."""
    return frozenset(option.name for option in options_of(kind).values() if option.scoring)
