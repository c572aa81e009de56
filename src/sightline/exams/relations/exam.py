"""The relations exam: is A closer than B, does A hide B, within an image and across two?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, get_args

import numpy as np
import polars as pl

from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.base import Entrants, Exam, Measures, check_split, option, split_named
from sightline.exams.hooks import model_call
from sightline.exams.relations.agreement import agreement_tables, consistency_document, left_out_sentences
from sightline.exams.relations.collection import ClassRules
from sightline.exams.relations.consistency import (
    COLUMNS,
    MEANING,
    box_tables,
    comparable_rows,
    consistency_measures,
    consistency_records,
)
from sightline.exams.relations.items import RelationsItem, relations_items, views_of
from sightline.exams.relations.marks import RECORDS, answer_words, confidences, mark_pairs, rightness
from sightline.exams.relations.measures import SUBTASK_TITLES, relations_measures
from sightline.exams.relations.pairs import (
    SETTING_WORDS,
    SETTINGS,
    PairTable,
    concat_pairs,
    has_pairs,
    no_pairs,
    tables_of,
)
from sightline.exams.relations.protocols import Protocol
from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.run_schema import RecordColumn
from sightline.hints import did_you_mean, hint
from sightline.scenes import View
from sightline.skills import Detections, Judgements, RelationsSpec, RelationsStudy, Setting
from sightline.store import Dataset
from sightline.store.formats.hierarchy import Hierarchy
from sightline.text import counted
from sightline.variations import VARIATIONS

if TYPE_CHECKING:
    from sightline.exams.scoring import RunResult
    from sightline.show.table import Table

BoxSource = Literal["truth", "detected", "perfect"]
StudyPlan = Literal["same", "within_image", "across_images", "joint"]
ProtocolName = Literal["default", "paper", "official"]

BASELINES: Final = (
    "majority",
    "object_class",
    "class_prior",
    "size",
    "size_tuned",
    "location",
    "location_tuned",
    "bottom_edge",
    "bottom_edge_tuned",
    "blind_mlp",
    "consistent",
)
"""Models that stand in every table."""

LEARNING: Final = frozenset({"majority", "object_class", "size_tuned", "location_tuned", "bottom_edge_tuned"})
"""Those of them that cannot answer without a training split."""

TRAINED: Final = ("blind_mlp", "consistent")
"""Those of them that come trained, on 2.5VRD's validation split."""

_UNFILTERED: Final = (
    "detected body parts, clothing and parts of things were not filtered, as the dataset's were: give Open Images' "
    "--hierarchy and --descriptions"
)
_NAMED: Final = 6  # classes in a sentence
_WITHOUT_TRUTH: Final = ("no_truth", "objects", "changes", "seed")
_CARD_WITHOUT_TRUTH: Final = "sightline.exams.relations.consistency_card"

BOXES_WORDS: Final = {"detected": "own boxes", "perfect": "own boxes, perfect predicates"}


@dataclass(frozen=True)
class RelationsExam(Exam[RelationsItem]):
    """Which of two boxes is closer, and which hides the other, over one split.

    Attributes:
        split: The split to examine on; "" for data without splits, None for the usual one (see `default_split`).
        train_split: The split models may fit and tune on; "" for none, None for ``validation`` where there is one.
        settings: Within an image, across images, or both.
        boxes: ``truth``: judge annotated boxes. ``detected``: find the objects too. ``perfect``: detected boxes
            with perfect predicates, the ceiling the detector sets (the paper's Table 5).
        study_plan: Which setting's training pairs a model learns from, for the transfer table (the paper's
            Table 8); ``same`` is the setting it is asked about.
        protocol: How answers are counted.
        detections: CSV of boxes that are joined to models which find none themselves.
        hierarchy: Open Images' class hierarchy: detected body parts and clothing beside people go, and pairs of a
            thing and its part, as when the dataset was collected. `descriptions` has the classes' names.
        no_truth: Ask about pairs of whatever boxes there are, and count how consistent the answers are (see
            `exams.relations.consistency`); relations are not looked at.
        objects: Without truth, how many boxes of an image are asked about at most.
        changes: Without truth, the names of `variations.VARIATIONS` under which the same is asked again.
        seed: Without truth, of the sample of boxes, of the image pairs and of random changes.
    """

    split: str | None = option(None, "Split to examine on; by default test.", folder="")
    train_split: str | None = option(None, "Split to learn from; by default validation, '' for none.")
    settings: tuple[Setting, ...] = option(SETTINGS, command=False)
    boxes: BoxSource = option("truth", "Whose boxes are judged (the paper's Table 5).", folder="")
    study_plan: StudyPlan = option(
        "same", "Which setting's pairs models learn from (the paper's Table 8).", name="study"
    )
    protocol: ProtocolName = option(
        "default",
        "How answers are counted: by our protocol, as the paper's tables fit, or as its evaluator does.",
        scoring=True,
    )
    detections: Path | None = option(None, "CSV of boxes, instead of a model's own.", identity=False)
    hierarchy: Path | None = option(
        None,
        "Open Images' class hierarchy (JSON), for the filters of detected boxes that know classes.",
        identity=False,
    )
    descriptions: Path | None = option(None, "Its class descriptions (CSV), with --hierarchy.", identity=False)
    no_truth: bool = option(False, "Any photos with boxes: how consistent answers are, not whether they are right.")
    objects: int = option(8, "Without truth: most objects of an image that are asked about.", minimum=2)
    changes: tuple[str, ...] = option(
        tuple(VARIATIONS),
        f"Without truth: changes of the pictures to ask again under ({', '.join(VARIATIONS)}); '' for none.",
    )
    seed: int = option(0, "Without truth: seed of the sample and of the shifts.", minimum=0)

    name: ClassVar[str] = "relations"
    card: ClassVar[str] = "sightline.exams.relations.card"
    columns: ClassVar[Mapping[str, RecordColumn]] = RECORDS
    title: ClassVar[str] = "2.5D relations"
    judged_by: ClassVar[tuple[str, ...]] = ("subject", "object", "aspect")
    options_by: ClassVar[str] = "aspect"
    unit_of_items: ClassVar[str] = "item"
    baselines: ClassVar[Mapping[str, str]] = {name: name for name in BASELINES}

    def __post_init__(self) -> None:
        """Refuse a word that an option does not know."""
        for name, words in (("boxes", BoxSource), ("study_plan", StudyPlan), ("protocol", ProtocolName)):
            value, known = getattr(self, name), get_args(words)
            if value not in known:
                raise ConfigError(f"{name}: unknown {value!r}{hint(str(value), known)}")
        for change in self.changes:
            if change not in VARIATIONS:
                raise ConfigError(f"changes: unknown {change!r}{hint(change, VARIATIONS)}")
        if self.hierarchy is not None and (self.boxes == "truth" or self.descriptions is None):
            raise ConfigError("--hierarchy goes with --descriptions and --boxes detected or --boxes perfect")
        if self.no_truth:
            if self.boxes != "truth":
                raise ConfigError("--no-truth asks about the boxes of the data: it goes without --boxes")
            # Not properties: the classes of all exams have these without an object too.
            own = {"title": "2.5D relations, without truth", "card": _CARD_WITHOUT_TRUTH, "columns": COLUMNS}
            for name, value in own.items():
                object.__setattr__(self, name, value)

    @property
    def skills(self) -> tuple[tuple[str, ...], ...]:
        """*relate* on given boxes; *detect* where the boxes are the model's own."""
        return {"truth": (("relate",),), "detected": (("relate", "detect"),), "perfect": (("detect",),)}[self.boxes]

    def settled(self, data: Dataset) -> Self:
        """Fill in the split in the data's own words; without truth all scenes where there is no usual one."""
        split = default_split(data) if self.split is None else split_named(self.split, data)
        if self.split is None and self.no_truth and split not in data.splits:
            split = ""
        return replace(self, split=split, train_split=split_named(self.train_split, data))

    def identity(self, data: Dataset) -> dict[str, Any]:
        """All that changes items or records; what goes with an exam without truth only there."""
        identity = super().identity(data)
        if self.hierarchy is not None and self.descriptions is not None:
            files = self.hierarchy.read_bytes() + self.descriptions.read_bytes()
            identity["class_rules"] = hashlib.sha256(files).hexdigest()[:16]
        return identity if self.no_truth else {k: v for k, v in identity.items() if k not in _WITHOUT_TRUTH}

    def compared_options(self) -> frozenset[str]:
        """The split, and whether there was a truth and how its pairs were drawn."""
        return frozenset({"split", *_WITHOUT_TRUTH})

    def entrants(self, models: Sequence[object], data: Dataset, *, baselines: bool) -> Entrants:
        """Say who takes the exam, the given boxes joined to them; ConfigError where that makes no sense."""
        if self.detections is not None and self.boxes == "truth":
            raise ConfigError("--detections goes with --boxes detected or --boxes perfect")
        if self.detections is not None and self.detections.suffix.lower() != ".csv":
            raise ConfigError(f"--detections {self.detections}: expected a .csv file")
        if self.boxes == "detected" and baselines and self.detections is None:
            raise ConfigError("the baselines find no boxes of their own: give --detections, or --no-baselines")
        notes: tuple[str, ...] = (_UNFILTERED,) if self.boxes != "truth" and self.hierarchy is None else ()
        # With perfect predicates all depends on the boxes: nobody is asked, and all baselines would score alike.
        if self.boxes == "perfect" and self.detections is not None and not models:
            return Entrants((str(self.detections),), {}, notes)
        names = list(BASELINES) if baselines and self.boxes != "perfect" else []
        taught = not names or set(self.tables(data)) <= set(self.training(data))
        left_out = [name for name in names if name in LEARNING and not taught]
        if self.no_truth and names:
            left_out.append("class_prior")  # it learns from labels of the pairs that are asked
        if left_out:
            names = [name for name in names if name not in left_out]
            why = "no truth to learn from" if self.no_truth else "no training split for every setting"
            notes += (f"{why}, so left out: {', '.join(left_out)}",)
        if set(names) & set(TRAINED) and self.settled(data).split == "validation" and _is_25vrd(data):
            names = [name for name in names if name not in TRAINED]
            notes += (f"learned from these very labels, so left out: {', '.join(TRAINED)}",)
        rivals = {name: str(self._with_boxes(name)) for name in names}
        return Entrants(tuple(self._with_boxes(model) for model in models), rivals, notes)

    def _with_boxes(self, model: object) -> object:
        """A model's spec with the given boxes joined to it; an object must find its own."""
        return f"{model}+{self.detections}" if self.detections is not None and isinstance(model, str) else model

    @cached_property
    def class_rules(self) -> ClassRules | None:
        """What the filters of detected boxes must know about classes; None where no hierarchy was given."""
        if self.hierarchy is None:
            return None
        return ClassRules.from_hierarchy(Hierarchy.open(self.hierarchy, self.descriptions))

    def tables(self, data: Dataset) -> dict[Setting, PairTable]:
        """The annotated pairs of every setting that has some; DataError where none has."""
        split = self.settled(data).split
        assert split is not None
        if not self.no_truth and not has_pairs(data):
            raise no_pairs(data)
        if self.split is None and split and split not in data.splits:
            expected = " or ".join(f"--split {name}" for name in data.splits)
            raise DataError(f"no split called {split}, so say which", file=data.path, expected=expected)
        if split or not self.no_truth:
            check_split(split, data, none=False)
        if self.no_truth:
            return box_tables(data, split, self.settings, objects=self.objects, seed=self.seed)
        return _nonempty_tables(data, split, self.settings)

    def training(self, data: Dataset) -> dict[Setting, PairTable]:
        """The pairs models may learn from, by setting; empty where there is no such split."""
        split, test_split = self.train_split, default_split(data) if self.split is None else self.split
        if split is None:
            usual = "validation" in data.splits and test_split != "validation"
            return _tables(data, "validation", SETTINGS) if usual else {}
        if split and (split not in data.splits or split == test_split):
            others = [name for name in data.splits if name != test_split]
            near = did_you_mean(split, others)
            raise ConfigError(f"no training split {split!r}{near or ':'} there is {' or '.join(others) or 'none'}")
        return _nonempty_tables(data, split, SETTINGS) if split else {}

    def items(self, data: Dataset) -> list[RelationsItem]:
        """Every ordered pair, grouped by image or by image pair and direction."""
        return [item for t in self.tables(data).values() for item in relations_items(t, views_of(data, t))]

    def spec(self, model: Any, data: Dataset) -> RelationsSpec:  # noqa: ARG002 - a hook
        """Scenes, classes and boxes of the pairs to come."""
        tables = self.tables(data)
        ends = [table.object_scene[end] for table in tables.values() for end in (table.first, table.second)]
        of = [table.scenes for table in tables.values() for _ in range(2)]
        scenes = {scene for names, codes in zip(of, ends, strict=True) for scene in names[np.unique(codes)]}
        categories = {name for table in tables.values() for name in table.categories}
        views = data.scan("views").select("scene_id", "image").collect().filter(pl.col("image").is_not_null())
        pictures = {
            PurePosixPath(ref.removeprefix("blob:")).stem for scene, ref in views.iter_rows() if scene in scenes
        }
        pairs = {s: t.unlabelled() for s, t in tables.items()} if self.boxes == "truth" else {}
        return RelationsSpec(tuple(sorted(scenes)), tuple(sorted(categories)), tuple(sorted(pictures)), pairs)

    def check(self, model: Any, data: Dataset) -> dict[str, Any]:
        """Refuse a model that cannot answer over this data; the settings that it is not asked about, with why."""
        facts = dict(super().check(model, data))
        unable = _unable(model)
        if not unable:
            return facts
        asked = self.tables(data)
        not_asked = {setting: why for setting, why in unable.items() if setting in asked}
        if not_asked and len(not_asked) == len(asked):
            raise ModelError(f"{next(iter(not_asked.values()))}; the data has no other pairs")
        return facts | ({"not_asked": not_asked} if not_asked else {})

    def asked_of(self, model: Any, items: Sequence[RelationsItem]) -> Sequence[RelationsItem]:
        """The items of the settings that the model has an answer for."""
        unable = _unable(model)
        return [item for item in items if item.pairs.setting not in unable] if unable else items

    def study(self, model: Any, data: Dataset) -> RelationsStudy:
        """The training pairs as the study plan deals them out, and the pairs to come, by default without labels."""
        test = self.tables(data)
        shown = test if getattr(model, "cross_fits", False) else {s: t.unlabelled() for s, t in test.items()}
        train = planned(self.training(data), self.study_plan, tuple(test))
        return RelationsStudy(train=train, test=shown, view=TrainingViews(data, train))

    def ask(self, model: Any, item: RelationsItem) -> ItemRecords:
        """Ask about one image or image pair; mark depth, and within an image occlusion."""
        return self._ask(model, item, {})

    def asker(self, model: Any, data: Dataset) -> Callable[[RelationsItem], ItemRecords]:  # noqa: ARG002 - a hook
        """Ask item after item; on detected boxes no image is looked at twice."""
        detections: dict[str, Detections] = {}
        return lambda item: self._ask(model, item, detections)

    def _ask(self, model: Any, item: RelationsItem, detections: dict[str, Detections]) -> ItemRecords:
        if self.no_truth:
            return consistency_records(model, item, self.changes, self.seed)
        if self.boxes != "truth":
            from sightline.exams.relations.detected import detected_records

            how: dict[str, Any] = {"perfect": self.boxes == "perfect", "detections": detections}
            return detected_records(model, item, **how, classes=self.class_rules)
        with model_call(model, "relate"):
            given = model.relate(item.pairs)
        return item_records(item, Judgements.checked(given, len(item.pairs), type(model).__name__))

    def measures(self, records: RunRecords, data: Callable[[], Dataset]) -> Sequence[Measures]:
        """Precision, recall and F1 by label and sub-task, of all pairs and by scene, and the sub-tasks' average."""
        if self.no_truth:
            return tuple(consistency_measures(records.rows, records.items, self.tables(data())))
        foreign = sorted(set(records.rows["setting"].unique()) - set(self.settings)) if records.rows.height else []
        if foreign:
            expected = f"{' or '.join(self.settings)}, as the run says"
            raise DataError("not a setting of the run", field="setting", expected=expected, found=foreign[0])
        protocol = Protocol(self.protocol)
        boxes_matter = protocol is Protocol.OFFICIAL and "outcome" not in records.rows.columns
        tables = self.tables(data()) if boxes_matter else None
        marks = mark_pairs(records.rows, tables, protocol=protocol)
        return tuple(relations_measures(marks, protocol, unfiltered_classes(records.items)))

    def comparable(self, a: RunRecords, b: RunRecords) -> tuple[RunRecords, RunRecords]:
        """The items both runs have; without truth also only the changed pictures that both were shown."""
        one, other = super().comparable(a, b)
        if not self.no_truth or not (one.rows.height and other.rows.height):
            return one, other
        rows = comparable_rows(one.rows, other.rows)
        return replace(one, rows=rows[0]), replace(other, rows=rows[1])

    def across(self, results: Sequence[RunResult], *, resamples: int, seed: int) -> dict[str, Any]:
        """Without truth: how consistent every run is, and how far they agree; else nothing."""
        return {"consistency": consistency_document(results, resamples, seed)} if self.no_truth else {}

    def remarks(self, results: Sequence[RunResult], shared: Mapping[str, Any]) -> Iterator[str | Table]:
        """Name the sub-tasks that the data has no labels of; without truth say what the figures mean."""
        if self.no_truth:
            yield MEANING
            yield from (table for table in agreement_tables(shared["consistency"]["agreement"]) if table.rows)
            yield from left_out_sentences(results)
            return
        yield from not_scored(results)

    def notes(self, result: RunResult) -> Iterator[str]:
        """Say what a run was not asked about, where a file has no answer, which classes passed all filters."""
        yield from notes_of(result)

    def unvaried(self, kind: str) -> str:  # noqa: ARG002 - a hook
        """Without truth the exam changes pictures itself."""
        return "without truth the exam changes pictures itself: see --changes" if self.no_truth else ""

    def standard(self, options: Mapping[str, Any]) -> bool:
        """Whether a run judged given boxes and learned each setting from its own pairs."""
        return (options.get("boxes", "truth"), options.get("study", "same")) == ("truth", "same")

    def apart(self, options: Mapping[str, Any], facts: Mapping[str, Any]) -> Sequence[str]:  # noqa: ARG002 - a hook
        """Whose boxes a run judged, and from which setting it learned, where that is unusual."""
        plan = options.get("study", "same")
        learned = {"same": "", "joint": "learned from both"}.get(plan, f"learned {plan.replace('_', ' ')}")
        return [word for word in (BOXES_WORDS.get(options.get("boxes", "truth")), learned) if word]


def _unable(model: Any) -> Mapping[Setting, str]:
    """The settings that a model says it has no answer for, with why."""
    return getattr(model, "unable", None) or {}


def notes_of(result: RunResult) -> Iterator[str]:
    """Say what a run was not asked about, where a file has no answer, which classes passed all filters."""
    not_asked = result.run.manifest.get("not_asked") or {}
    unmatched = (result.run.manifest.get("model") or {}).get("unmatched_settings")
    for setting, words in SETTING_WORDS.items():
        if setting in not_asked:
            yield f"{result.name} was not asked about pairs {words}: {not_asked[setting]}"
        if isinstance(unmatched, list) and setting in unmatched:
            yield f"{result.name} has no row for any pair {words}: all of them count as unanswered"
    if names := result.scores.facts.get("unfiltered_classes"):
        those = f"{', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''}"
        many = counted(len(names), "class", "classes")
        where = "in the descriptions, neither by MID nor by name, and not filtered"
        yield f"{result.name}: {many} of its boxes not found {where}: {those}"


def not_scored(results: Sequence[RunResult]) -> Iterator[str]:
    """Name the sub-tasks that runs could not be scored in, and say why; nothing for none."""
    missing: dict[str, None] = {}
    for result in results:
        not_asked = result.run.manifest.get("not_asked") or {}
        tasks = result.scores.facts.get("not_scored", ())
        missing |= dict.fromkeys(task for task in tasks if task.partition("/")[0] not in not_asked)
    if missing and any(r.records.rows.height for r in results):
        named = ", ".join(SUBTASK_TITLES[task].lower() for task in missing)
        whole = all(r.run.status == "finished" and (r.asking is None or r.asking.items is None) for r in results)
        why = "the data has no such labels" if whole else "not all items were asked, or the data has no such labels"
        yield f"Not scored, since {why}: {named}."


@dataclass(frozen=True)
class TrainingViews:
    """Gives views of training scenes by id; all are read when the first is asked for."""

    data: Dataset
    train: Mapping[Setting, PairTable]

    @cached_property
    def _views(self) -> dict[str, View]:
        return {name: view for table in self.train.values() for name, view in views_of(self.data, table).items()}

    def __call__(self, scene: str) -> View:
        """The view of a scene, without truth."""
        return self._views[scene]


def unfiltered_classes(items: pl.DataFrame) -> dict[str, list[str]]:
    """Classes of detected boxes that the filters did not know, as the records of items name them; {} for none."""
    if not isinstance(items.schema.get("unfiltered"), pl.List):
        return {}
    names = items["unfiltered"].explode().drop_nulls().cast(pl.String).unique().sort().to_list()
    return {"unfiltered_classes": names} if names else {}


def _is_25vrd(data: Dataset) -> bool:
    """Whether scenes are told apart by setting, as those of 2.5VRD are."""
    return data.scan("views").filter(pl.col("source").is_in(SETTINGS)).limit(1).collect().height > 0


def default_split(data: Dataset) -> str:
    """The split to examine on where none is asked for: ``test``, else the only one, else "" without splits."""
    if "test" in data.splits or len(data.splits) > 1:
        return "test"
    return data.splits[0] if data.splits else ""


def _nonempty_tables(data: Dataset, split: str, settings: tuple[Setting, ...]) -> dict[Setting, PairTable]:
    """Pair tables of a split by setting, those without pairs left out; DataError where none is left."""
    tables = _tables(data, split, settings)
    if not tables:
        raise no_pairs(data, split)
    return tables


def _tables(data: Dataset, split: str, settings: tuple[Setting, ...]) -> dict[Setting, PairTable]:
    tables = tables_of(data, split)
    return {setting: tables[setting] for setting in settings if len(tables[setting])}


def planned(
    train: dict[Setting, PairTable], plan: StudyPlan, asked: tuple[Setting, ...]
) -> dict[Setting, PairTable]:
    """Training tables as the study plan deals them out to the settings that will be asked."""
    if plan == "same":
        return train
    material = train.get(plan) if plan != "joint" else concat_pairs(list(train.values())) if train else None
    if material is None:
        raise ConfigError(f"study plan {plan!r} needs training pairs of that setting, and there are none")
    return {setting: replace(material, setting=setting) for setting in asked}


def item_records(item: RelationsItem, judgements: Judgements) -> ItemRecords:
    """Records of one item on given boxes: one row per ordered pair and aspect."""
    said = {aspect: getattr(judgements, aspect)[of] for aspect, of in item.rows.items()}
    answers = [word for aspect, codes in said.items() for word in answer_words(aspect, codes)]
    columns = item.asked | {"answer": answers, "right": rightness(item.asked["truth"], answers)}
    if judgements.said:
        columns["said"] = [judgements.said[aspect][row] for aspect, rows in item.rows.items() for row in rows]
    if judgements.confidence:
        columns["confidence"] = [
            sure for aspect, rows in item.rows.items() for sure in confidences(judgements, aspect, rows)
        ]
    return ItemRecords({"setting": item.pairs.setting, "other_scene": item.other_scene}, columns)
