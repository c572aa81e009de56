"""The predicates exam: each object of a scene is shown as a patch, and the model says what holds between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import polars as pl

from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.base import Exam, Measures, check_split, option
from sightline.exams.hooks import call_hook, model_call
from sightline.exams.predicates.items import PredicatesItem, Questions, questions
from sightline.exams.predicates.measures import RECORDS, item_records, predicate_measures
from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.run_schema import RecordColumn
from sightline.hints import did_you_mean
from sightline.skills import PredicatesStudy, QuerySpec, Verdicts
from sightline.store import Dataset

if TYPE_CHECKING:
    pass

BASELINES: Final[Mapping[str, str]] = {
    "majority": "predicates_majority",
    "shape_prior": "shape_prior",
    "size_prior": "size_prior",
    "shape_size_prior": "shape_size_prior",
}


@dataclass(frozen=True)
class PredicatesExam(Exam[PredicatesItem]):
    """The eight predicates between all objects of a scene, over one split."""

    views: tuple[str, ...] | None = option(
        None, "Views to show, as in original,top; by default those the model wants."
    )
    split: str | None = option(None, "Split to examine on; by default all scenes.", folder="")

    name: ClassVar[str] = "predicates"
    card: ClassVar[str] = "sightline.exams.predicates.card"
    columns: ClassVar[Mapping[str, RecordColumn]] = RECORDS
    title: ClassVar[str] = "Geometric predicates"
    baselines: ClassVar[Mapping[str, str]] = BASELINES
    shows_attention: ClassVar[bool] = True
    judged_by: ClassVar[tuple[str, ...]] = ("subject", "object", "predicate")
    options_by: ClassVar[str] = "predicate"
    skills: ClassVar[tuple[tuple[str, ...], ...]] = (("predicates",),)

    def questions(self, data: Dataset) -> Questions:
        """All scenes with a pair; DataError where there is none, or the dataset is of another kind."""

        def make() -> Questions:
            check_split(self.split, data)
            return questions(data.tables(split=self.split), data)

        return data.memo(("predicates questions", self.split), make)

    def items(self, data: Dataset) -> tuple[PredicatesItem, ...]:
        """One a scene, in stored order."""
        return self.questions(data).items

    def check(self, model: Any, data: Dataset) -> dict[str, Any]:
        """Refuse a model that cannot answer over this data; views shown and scenes left out, for the manifest."""
        shown = self.views_for(model, data)
        call_hook(model, "check", self.name, lambda: self.spec(model, data))
        made = self.questions(data)
        cut = {"patches": "cut from the photos"} if made.cropped else {}
        return {"views": list(shown), "left_out": made.left_out, **cut}

    def spec(self, model: Any, data: Dataset) -> QuerySpec:
        """What the queries will be like."""
        items, shown = self.items(data), self.views_for(model, data)
        return QuerySpec(
            views=shown,
            most_objects=max(len(item.facts.objects) for item in items),
            patch=items[0].patches[0].shape[0],
            sizes=frozenset(size for item in items for view in shown if (size := item.views[view].size)),
            objects=_objects_by_scene(data),
        )

    def views_for(self, model: Any, data: Dataset) -> tuple[str, ...]:
        """The views this model is shown; an error where a scene lacks one, or no scene has its picture."""
        items = self.items(data)
        common = tuple(items[0].views)
        wanted = self._wanted(model, common)
        for view in wanted:
            if view not in common:
                raise self._missing(model, view, common)
        _refuse_blank(wanted, items, data)
        return wanted

    def study(self, model: Any, data: Dataset) -> PredicatesStudy | None:
        """The truth, for a baseline that says by ``sees_truth`` that it learns from it; nobody else gets it."""
        if not getattr(model, "sees_truth", False):
            return None
        items = self.items(data)
        return PredicatesStudy(
            scenes=tuple(item.scene_id for item in items),
            appearance=tuple(item.appearance for item in items),
            truth=tuple(item.facts.truth for item in items),
        )

    def ask(self, model: Any, item: PredicatesItem) -> ItemRecords:
        """Ask about one scene; judge every predicate of every ordered pair."""
        views = self._wanted(model, tuple(item.views))
        with model_call(model, "predicates"):
            given = model.predicates(item.queries(views))
        verdicts = Verdicts.checked(given, len(item.patches), type(model).__name__)
        return item_records(item.facts, verdicts, views)

    def measures(self, records: RunRecords, data: Callable[[], Dataset]) -> Sequence[Measures]:  # noqa: ARG002
        """Scene accuracy, scene-all accuracy, F1, micro accuracy and unknowns; as details by slices."""
        return tuple(predicate_measures(records.rows))

    def judgements(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Every predicate of every ordered pair, the truth in the words of the answers."""
        truth = pl.when(pl.col("truth")).then(pl.lit("yes")).otherwise(pl.lit("no"))
        return super().judgements(rows).with_columns(truth=truth)

    def apart(self, options: Mapping[str, Any], facts: Mapping[str, Any]) -> Sequence[str]:  # noqa: ARG002
        """The views a run was shown, and where patches are no canonical views."""
        views = facts.get("views")
        shown = [", ".join(map(str, views))] if views and isinstance(views, list) else []
        return [*shown, f"patches {facts['patches']}"] if facts.get("patches") else shown

    def _wanted(self, model: Any, common: tuple[str, ...]) -> tuple[str, ...]:
        """Views to show of those that all scenes have: the exam's, the model's, or all."""
        if self.views is not None:
            return self.views
        asked = getattr(model, "views", None)
        if asked is None:
            return common
        wanted = (asked,) if isinstance(asked, str) else tuple(asked)
        if not getattr(model, "any_views", False):
            return wanted
        return tuple(view for view in wanted if view in common) or wanted

    def _missing(self, model: Any, view: str, common: tuple[str, ...]) -> ConfigError | ModelError:
        """What to say of a view that not every scene has."""
        near = did_you_mean(view, common) or f"; all scenes share {', '.join(common) or 'none'}"
        if self.views is not None:
            return ConfigError(f"no view {view!r} in the data{near}")
        return ModelError(f"{type(model).__name__} wants the view {view!r}, which the data lacks{near}")


def _objects_by_scene(data: Dataset) -> dict[str, int]:
    """How many objects each scene has, of all splits and those without a pair too."""
    scenes = data.scan("views").select("scene_id").unique().collect()
    counts = data.scan("objects").group_by("scene_id").len().collect()
    return dict.fromkeys(scenes["scene_id"], 0) | dict(counts.iter_rows())


def _refuse_blank(views: tuple[str, ...], items: tuple[PredicatesItem, ...], data: Dataset) -> None:
    """DataError for a view without a picture, or where every picture is missing; single ones are left out later."""
    missing: DataError | None = None
    for item in items:
        for view in views:
            ref = item.views[view].image_ref
            if ref is None:
                raise DataError("view has no picture", file=data.path, row=item.scene_id, field=view)
            if data.blobs.locate(ref).is_file():
                return
            missing = missing or DataError(
                "picture is missing", file=data.blobs.locate(ref), row=item.scene_id, field=view
            )
    if missing is not None:
        raise missing
