"""The context exam: does a model see an object, or guess it from its surroundings?

Every picture is shown as it is and with one class after another removed (I − c). A classifier should score a class
higher wherever it still is than where it was removed; a segmenter should not change its mind about what stayed; who
answers questions should notice what is gone and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.edits import Fill, Removal, open_fill
from sightline.errors import ConfigError, naming
from sightline.exams.base import Exam, Measures, RankedMeasures, check_split, option, training_split
from sightline.exams.context.items import Ahead, ContextItem, Edits, context_items, edits_of
from sightline.exams.context.measures import context_measures
from sightline.exams.context.records import ALPHA, ASK, RECORDS, matched, presence_judgements
from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.run_schema import RecordColumn
from sightline.exams.scoring import RunResult
from sightline.hints import hint
from sightline.skills import ContextSpec, ContextStudy, skills_of
from sightline.store import Dataset
from sightline.store.label_maps import Same, own_names, same_names
from sightline.text import counted

Skill = Literal["any", "classify", "segment", "answer"]

BASELINES: Final[Mapping[str, tuple[str, ...]]] = {
    "classify": ("chance", "class_frequency", "cooccurrence"),
    "answer": ("always_yes", "always_no", "coin"),
}
"""Skill → the baselines that stand beside models examined in it; there is none for segmenters."""
_NAMED: Final = 8
"""Thin figures that are named in a line, at most."""
FEWEST: Final = 5
"""Images behind a figure below which it is called thin."""
EXACT: Final = ("exact", "exact-hole")
"""Fills that only generated scenes have; a control of theirs would be the picture itself."""


@dataclass(frozen=True)
class ContextExam(Exam[ContextItem]):
    """Does it see the object, or guess it from its surroundings?

    Attributes:
        fill: What fills the holes (see `sightline.edits.open_fill`); by default exact counterfactuals where scenes
            can be made again, else Telea's method.
        split: The split to examine on; None for all scenes.
        train_split: The split that blind baselines learn from; "" for none, None for a training split where there
            is one. Without one they learn from the other scenes of the examined split.
        skill: Which skill to examine, of a model that has several.
        labels: YAML file with rows of names of one class, before the built-in ones (`store.label_maps.same_names`),
            by which classifiers' and segmenters' classes are matched to the data's.
        radius: By how much the mask of what is removed grows, pixels.
        most: Largest share of a picture that may be removed.
        no_controls: Show no false edit and no empty region.
        alpha: Change of an IoU from which on a class is affected.
        fewest: Images behind a figure below which it is thin: given, but left out of maxima.
        companion: Class with and without which a segmenter's IoU of every other class is given; by default the one
            that each class stands with most often.
    """

    fill: str = option("", "telea, ns, exact, exact-hole, network:FILE or onnx:FILE; by default exact or telea.")
    split: str | None = option(None, "Split to examine on; by default all scenes.", folder="")
    train_split: str | None = option(None, "Split to learn from; by default train where there is one, '' for none.")
    skill: Skill = option("any", "Skill to examine, of a model that has several.", folder="")
    labels: Path | None = option(
        None, "YAML file with rows of names of one class, before the built-in ones.", identity=False
    )
    radius: int = option(5, "By how much masks of what is removed grow, pixels.", minimum=0)
    most: float = option(0.3, "Largest share of a picture that may be removed.")
    no_controls: bool = option(False, "Show no false edits and no empty regions.")
    alpha: float = option(ALPHA, "Change of an IoU from which on a class is affected.", scoring=True)
    fewest: int = option(FEWEST, "Images behind a figure below which it is thin.", scoring=True, minimum=1)
    companion: str = option("", "Class that IoUs are given with and without; by default each's own.", scoring=True)

    name: ClassVar[str] = "context"
    title: ClassVar[str] = "Context"
    card: ClassVar[str] = "sightline.exams.context.card"
    columns: ClassVar[Mapping[str, RecordColumn]] = RECORDS
    unit: ClassVar[str] = "image"
    unit_of_items: ClassVar[str] = "image"
    judged_by: ClassVar[tuple[str, ...]] = ("edit", "gone", "category")
    baselines: ClassVar[Mapping[str, str]] = {name: name for names in BASELINES.values() for name in names}

    def __post_init__(self) -> None:
        """Refuse a word or a number that an option does not know."""
        if self.skill not in get_args(Skill):
            raise ConfigError(f"skill: unknown {self.skill!r}{hint(str(self.skill), get_args(Skill))}")
        if not 0 < self.alpha <= 1:
            raise ConfigError(f"alpha must lie above 0 and at most at 1, found {self.alpha:g}")
        _ = self.removal

    @property
    def removal(self) -> Removal:
        """What may be removed, and how masks grow."""
        return Removal(self.radius, self.most)

    @property
    def same(self) -> Same | None:
        """Rows of names of one class, of the file given; None for the built-in ones."""
        return None if self.labels is None else same_names(self.labels)

    @property
    def skills(self) -> tuple[tuple[str, ...], ...]:
        """One of *classify*, *segment* and *answer*."""
        return tuple((name,) for name in ASK) if self.skill == "any" else ((self.skill,),)

    def settled(self, data: Dataset) -> Self:
        """Choose the fill where none was named: exact where scenes can be made again."""
        exam = super().settled(data)
        return exam if exam.fill else replace(exam, fill="telea" if data.recipe is None else "exact")

    def identity(self, data: Dataset) -> dict[str, Any]:
        """The options, of a fill that is a file what it holds, and rows of names of one's own."""
        fill = opened_fill(self.fill) if ":" in self.fill else None
        given = super().identity(data)
        if self.labels is not None:
            given["label_rows"] = [list(row) for row in own_names(self.labels)]
        return given if fill is None else given | {"fill_identity": getattr(fill, "identity", fill.name)}

    def items(self, data: Dataset) -> tuple[ContextItem, ...]:
        """All pictures; those without an object are asked about too."""
        check_split(self.split, data)
        return data.memo(("context items", self.split), lambda: context_items(data, self.split))

    def classes(self, data: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Classes of all objects, and of what is no object, sorted."""

        def make() -> tuple[tuple[str, ...], tuple[str, ...]]:
            items = self.items(data)
            things = {name for item in items for name in item.classes}
            stuff = {name for item in items for name in item.stuff if item.seen.load_stuff is not None}
            return tuple(sorted(things)), tuple(sorted(stuff - things))

        return data.memo(("context classes", self.split), make)

    def edits(self, item: ContextItem) -> Edits:
        """The picture and its edits, none of them filled yet."""
        return edits_of(
            item, self.removal, opened_fill(self.fill), controls=not self.no_controls and self.fill not in EXACT
        )

    def rivals(self, baselines: Mapping[str, str], models: Sequence[Any]) -> Mapping[str, str]:
        """The baselines of the skills that models are examined in; without models those of the first skill."""
        firsts = [next((name for (name,) in self.skills if name in skills_of(model)), "") for model in models]
        chosen = {name for skill in firsts or self.skills[0] for name in BASELINES.get(skill, ())}
        return {name: spec for name, spec in baselines.items() if name in chosen}

    def skill_of(self, model: Any) -> str:
        """The skill this model is examined in."""
        return next(name for (name,) in self.skills if name in skills_of(model))

    def spec(self, model: Any, data: Dataset) -> ContextSpec:  # noqa: ARG002 - a hook
        """Pictures and classes to come."""
        return ContextSpec(tuple(item.id for item in self.items(data)), *self.classes(data))

    def check(self, model: Any, data: Dataset) -> Mapping[str, Any]:
        """Refuse a fill that cannot be had and a model that knows no class of the data."""
        fill = opened_fill(self.fill)
        if self.fill in EXACT and self.items(data)[0].scene.load_without is None:
            raise ConfigError(f"the fill {self.fill} needs generated scenes; {data.path} holds others")
        super().check(model, data)
        known = getattr(model, "classes", None)
        things, stuff = self.classes(data)
        if self.companion and self.companion not in (*things, *stuff):
            near = hint(self.companion, (*things, *stuff))
            raise ConfigError(f"--companion: {data.path} has no class {self.companion!r}{near}")
        if not known or isinstance(known, str) or self.skill_of(model) == "answer":
            return {"filled_by": fill.name}
        wanted = things if self.skill_of(model) == "classify" else (*things, *stuff)
        match = matched(tuple(known), wanted, type(model).__name__, self.same)
        return {"filled_by": fill.name, "classes_not_known": sorted(set(wanted) - set(match.classes))}

    def study(self, model: Any, data: Dataset) -> ContextStudy | None:
        """Classes of the training split's pictures, else of those to come, for one that ``cross_fits``."""
        split, own = training_split(self, data), False
        items: Iterable[ContextItem] = ()
        if split is not None:
            items = data.memo(("context items", split), lambda: context_items(data, split))
        elif getattr(model, "cross_fits", False):
            items, own = self.items(data), True
        shown = self._shown(data) if getattr(model, "sees_truth", False) else None
        pairs = [(item.scene_id, frozenset(item.classes)) for item in items]
        if not pairs and shown is None:
            return None
        scenes, present = (tuple(of) for of in zip(*pairs, strict=True)) if pairs else ((), ())
        return ContextStudy(scenes, present, self.classes(data)[0], own, shown)

    def _shown(self, data: Dataset) -> Callable[[str], Mapping[str, int]]:
        items = {item.id: item for item in self.items(data)}
        edits = lru_cache(maxsize=2)(self.edits)

        def pixels(view_id: str) -> Mapping[str, int]:
            owner = view_id
            while owner not in items:  # the ids of edits begin with the item's
                owner = owner.rpartition("/")[0]
            return edits(items[owner]).pixels(view_id)

        return pixels

    def ask(self, model: Any, item: ContextItem) -> ItemRecords:
        """Ask about one picture and its edits, without making anything ahead; of its own classes."""
        return ASK[self.skill_of(model)](model, self.edits(item), (*item.classes, *item.stuff), self.same)

    def asker(self, model: Any, data: Dataset) -> Callable[[ContextItem], ItemRecords]:
        """Ask about one picture after another, while the edits of the next are made."""
        skill, (things, stuff) = self.skill_of(model), self.classes(data)
        at_once = getattr(model, "concurrency", 1) > 1  # other pictures are asked about meanwhile
        edits = self.edits if at_once else Ahead(self.edits, self.items(data)).edits
        classes, same = (*things, *stuff) if skill == "segment" else things, self.same

        def ask(item: ContextItem) -> ItemRecords:
            with naming(data.path):
                return ASK[skill](model, edits(item), classes, same)

        return ask

    def comparable(self, a: RunRecords, b: RunRecords) -> tuple[RunRecords, RunRecords]:
        """The items both have, and of them the classes that both models know."""
        ran = [set(of.items["skill"]) if "skill" in of.items.columns else set() for of in (a, b)]
        if ran[0] and ran[1] and ran[0] != ran[1]:
            said = " and ".join("/".join(sorted(of)) for of in ran)
            raise ConfigError(f"runs of different skills cannot be compared: {said}")
        a, b = super().comparable(a, b)
        if not (a.rows.height and b.rows.height):
            return a, b
        common = set(a.rows["category"]) & set(b.rows["category"])
        return tuple(replace(of, rows=of.rows.filter(of.rows["category"].is_in(list(common)))) for of in (a, b))  # type: ignore[return-value]

    def judgements(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Whether a class is in a picture, by logit or in words; of a segmenter how well it is found."""
        return presence_judgements(rows)

    def same_answers(self, before: pl.DataFrame, after: pl.DataFrame) -> NDArray[np.bool_]:
        """The same word; of a segmenter an IoU that changes by less than `ALPHA`."""
        if "overlap" not in before.columns:
            return super().same_answers(before, after)
        near: NDArray[np.bool_] = np.abs(before["overlap"].to_numpy() - after["overlap"].to_numpy()) < ALPHA
        return near

    def compared_options(self) -> frozenset[str]:
        """Split and how objects are removed; the fill may differ, so that fills can be compared."""
        return frozenset({"split", "radius", "most"})

    def remarks(self, results: Sequence[RunResult], shared: Mapping[str, Any]) -> Iterator[str]:  # noqa: ARG002
        """What could not be removed, what chance would score, and figures that rest on few images."""
        facts = next((r.scores.facts for r in results if r.scores.facts.get("n_not_removable")), None)
        if facts is not None:
            yield not_removable(facts)
        facts = next((r.scores.facts for r in results if r.scores.facts.get("n_cases")), None)
        if facts is not None:
            by_number = facts["chance_by_context"]["v_min"]
            said = ", ".join(f"{number}: {value:.3f}" for number, value in by_number.items())
            yield (
                f"chance: V^min {facts['chance']['v_min']:.3f}, that is k/(k+1) with k context classes ({said}); "
                "V^mean 0.5"
            )
            thin = sum(n < self.fewest for n in facts["n_cases_by_class"].values())
            if thin:
                yield f"thin: {counted(thin, 'class', 'classes')} with fewer than {counted(self.fewest, 'case')}"
        yield from dict.fromkeys(line for r in results for line in thin_figures(r.scores.facts, self.fewest))

    def measures(
        self,
        records: RunRecords,
        data: Callable[[], Dataset],  # noqa: ARG002 - a hook
    ) -> Sequence[Measures | RankedMeasures]:
        """V^min and V^mean, mAP; AR and mIoU; or BEAF's outcomes; and the controls, by image."""
        how = {"alpha": self.alpha, "fewest": self.fewest}
        return list(context_measures(records, **how, companion=self.companion))  # type: ignore[arg-type]


def not_removable(facts: Mapping[str, Any]) -> str:
    """How many classes of images could not be removed from them, and why."""
    reasons, every = facts["n_not_removable"], sum(facts["n_by_class"].values())
    listed = "; ".join(f"{why} ({n:,})" for why, n in reasons.items())
    return f"not removable: {sum(reasons.values()):,} of {counted(every, 'class', 'classes')} in images: {listed}"


def thin_figures(facts: Mapping[str, Any], fewest: int) -> Iterator[str]:
    """Which figures of segmenters and of models that answer rest on few images, and why there is no AR."""
    few = f"in fewer than {counted(fewest, 'image')}"
    if facts.get("n_thin_pairs"):
        pairs = counted(facts["n_pairs"], "pair of classes", "pairs of classes")
        yield f"thin: {facts['n_thin_pairs']:,} of {pairs} {few}, left out of AR, its maxima and heat maps"
    if facts.get("skill") == "segment" and facts.get("ar") is None:
        yield f"no AR: {facts['reasons']['ar']}"
    beside = {
        f"{name} {word} {facts['companions'][name]}": n
        for name, by in facts.get("n_by_companion", {}).items()
        for word, n in by.items()
    }
    removed = facts.get("n_removed_by_class", {})
    for times, what, plural in ((beside, "IoU by companion", "IoUs by companion"), (removed, "class", "classes")):
        thin = [f"{name} ({n})" for name, n in times.items() if n < fewest]
        if thin:
            listed = ", ".join([*thin[:_NAMED], *(["…"] if len(thin) > _NAMED else [])])
            yield f"thin: {len(thin):,} of {counted(len(times), what, plural)} {few}: {listed}"


@cache
def opened_fill(spec: str) -> Fill:
    """The fill of a spec, opened once in a process."""
    return open_fill(spec)
