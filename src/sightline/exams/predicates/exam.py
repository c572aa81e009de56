"""The predicates exam: each object of a scene is shown as a patch, and the model says what holds between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.core import asking
from sightline.exams.predicates.items import PredicatesItem, Questions, questions
from sightline.exams.predicates.records import mark
from sightline.exams.predicates.study import LearnsFromTruth, PredicateStudy
from sightline.exams.run import ItemRecords
from sightline.hints import did_you_mean
from sightline.skills import Predicates, QuerySpec, Verdicts
from sightline.store import Dataset

BASELINES: Final[Mapping[str, str]] = {
    "majority": "predicates_majority",
    "shape_prior": "shape_prior",
    "size_prior": "size_prior",
    "shape_size_prior": "shape_size_prior",
}
"""What stands in every table: the name there → the model's name."""


@dataclass
class PredicatesExam:
    """The eight predicates between all objects of a scene, over one split.

    Attributes:
        views: Ids of the views to show, in this order; None leaves it to the model: its own `views`, else all.
        split: The split to sit; None for all scenes.
    """

    views: tuple[str, ...] | None = None
    split: str | None = None
    name: str = field(default="predicates", init=False)
    _asked: dict[str, Questions] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def skills(self) -> tuple[str, ...]:
        """*predicates*."""
        return ("predicates",)

    def options(self) -> dict[str, Any]:
        """Split and views."""
        return {"split": self.split, "views": None if self.views is None else list(self.views)}

    def questions(self, data: Dataset) -> Questions:
        """All scenes with a pair; DataError where there is none, or the dataset is of another kind."""
        if data.fingerprint not in self._asked:
            _refuse_split(self.split, data)
            self._asked = {data.fingerprint: questions(data.tables(split=self.split), data)}  # one at a time
        return self._asked[data.fingerprint]

    def check(self, model: object, data: Dataset) -> dict[str, Any]:
        """Refuse a model that cannot sit over this data; views shown and scenes left out, for the manifest."""
        asked = self.questions(data)
        shown = self.views_for(model, data)
        _let_refuse(model, "check", lambda: _syllabus(asked.items, shown))
        _let_refuse(model, "check_scenes", lambda: _sizes(data))
        return {"views": list(shown), "left_out": asked.left_out}

    def views_for(self, model: object, data: Dataset) -> tuple[str, ...]:
        """The views this model is shown; an error where a scene lacks one, or its picture."""
        items = self.questions(data).items
        there = tuple(items[0].views)
        wanted = self._wanted(model, there)
        for view in wanted:
            if view not in there:
                raise self._missing(model, view, there)
        _refuse_blank(wanted, items, data)
        return wanted

    def items(self, data: Dataset) -> tuple[PredicatesItem, ...]:
        """One a scene, in stored order."""
        return self.questions(data).items

    def prepare(self, model: object, data: Dataset) -> None:
        """Hand the truth to a baseline that says it learns from it; nobody else gets it."""
        if not (isinstance(model, LearnsFromTruth) and model.sees_truth):
            return
        items = self.items(data)
        study = PredicateStudy(
            scenes=tuple(item.scene_id for item in items),
            looks=tuple(item.looks for item in items),
            truth=tuple(item.facts.truth for item in items),
        )
        with asking(model, "prepare"):
            model.prepare(study)

    def examine(self, model: object, item: PredicatesItem) -> ItemRecords:
        """Ask about one scene; mark every predicate of every ordered pair."""
        assert isinstance(model, Predicates)
        views = self._wanted(model, tuple(item.views))
        with asking(model, "predicates"):
            given = model.predicates(item.queries(views))
        said = Verdicts.checked(given, len(item.patches), type(model).__name__)
        return mark(item.facts, said, views)

    def _wanted(self, model: object, there: tuple[str, ...]) -> tuple[str, ...]:
        """Views to show where those are there: the exam's, the model's, or all."""
        if self.views is not None:
            return self.views
        own = getattr(model, "views", None)
        if own is None:
            return there
        wanted = (own,) if isinstance(own, str) else tuple(own)
        if not getattr(model, "any_views", False):
            return wanted
        return tuple(view for view in wanted if view in there) or wanted

    def _missing(self, model: object, view: str, there: tuple[str, ...]) -> ConfigError | ModelError:
        """What to say of a view that not every scene has."""
        near = did_you_mean(view, there) or f"; all scenes share {', '.join(there) or 'none'}"
        if self.views is not None:
            return ConfigError(f"no view {view!r} in the data{near}")
        return ModelError(f"{type(model).__name__} wants the view {view!r}, which the data lacks{near}")


def _let_refuse(model: object, method: str, told: Callable[[], object]) -> None:
    """Let a model that has the method raise, if it cannot sit over what it is told."""
    refuse = getattr(model, method, None)
    if callable(refuse):
        with asking(model, method):
            refuse(told())


def _sizes(data: Dataset) -> dict[str, int]:
    """How many objects each scene has, of all splits and those without a pair too."""
    scenes = data.scan("views").select("scene_id").unique().collect()
    counts = data.scan("objects").group_by("scene_id").len().collect()
    return dict.fromkeys(scenes["scene_id"], 0) | dict(counts.iter_rows())


def _syllabus(items: tuple[PredicatesItem, ...], shown: tuple[str, ...]) -> QuerySpec:
    return QuerySpec(
        views=shown,
        most_objects=max(len(item.facts.objects) for item in items),
        patch=items[0].patches[0].shape[0],
        sizes=frozenset(size for item in items for view in shown if (size := item.views[view].size)),
    )


def _refuse_split(split: str | None, data: Dataset) -> None:
    if split is not None and split not in (data.splits or ("",)):
        raise DataError(
            "no such split",
            file=data.path,
            field="split",
            expected=" or ".join(data.splits) or "none, the data has no splits",
            found=split,
        )


def _refuse_blank(views: tuple[str, ...], items: tuple[PredicatesItem, ...], data: Dataset) -> None:
    for item in items:
        for view in views:
            ref = item.views[view].image_ref
            if ref is None:
                raise DataError("view has no picture", file=data.path, row=item.scene_id, field=view)
            if not data.blobs.locate(ref).is_file():
                raise DataError("picture is missing", file=data.blobs.locate(ref), row=item.scene_id, field=view)
