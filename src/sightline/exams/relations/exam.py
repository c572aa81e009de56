"""The relations exam: is A closer than B, does A hide B, within an image and across two?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sightline.errors import ConfigError, DataError
from sightline.exams.core import asking
from sightline.exams.relations.detected import judge_detected
from sightline.exams.relations.items import RelationsItem, relations_items, views_of
from sightline.exams.relations.pairs import SETTINGS, PairTable, concat_pairs, pair_table
from sightline.exams.relations.study import Prepares, Study
from sightline.exams.relations.words import answer_words, truth_words
from sightline.exams.run import ItemRecords
from sightline.skills import Detections, Judgements, Relate, Setting
from sightline.store import Dataset

BoxSource = Literal["truth", "detected", "perfect"]
StudyPlan = Literal["same", "within_image", "across_images", "joint"]


@dataclass
class RelationsExam:
    """2.5D relations over one split.

    Attributes:
        split: The split to sit; "" for data without splits.
        train_split: The split models may fit and tune on; "" for none, None for ``validation`` where there is one.
        settings: Within an image, across images, or both.
        boxes: ``truth``: judge annotated boxes. ``detected``: find the objects too. ``perfect``: detected boxes
            with perfect predicates, the ceiling the detector sets (the paper's Table 5).
        study: Which setting's training pairs a model learns from, for the transfer table (the paper's Table 8);
            ``same`` is the setting it is asked about.
    """

    split: str = "test"
    train_split: str | None = None
    settings: tuple[Setting, ...] = SETTINGS
    boxes: BoxSource = "truth"
    study: StudyPlan = "same"
    name: str = field(default="relations", init=False)
    _found: dict[str, Detections] = field(default_factory=dict, init=False, repr=False)

    @property
    def skills(self) -> tuple[str, ...]:
        """*relate* on given boxes; *detect* where the boxes are the model's own."""
        return {"truth": ("relate",), "detected": ("relate", "detect"), "perfect": ("detect",)}[self.boxes]

    def options(self) -> dict[str, Any]:
        """Split, settings, boxes and study plan."""
        return {
            "split": self.split,
            "train_split": self.train_split,
            "settings": list(self.settings),
            "boxes": self.boxes,
            "study": self.study,
        }

    def tables(self, data: Dataset) -> dict[Setting, PairTable]:
        """The annotated pairs of every setting that has some; DataError where none has."""
        if self.split not in (data.splits or ("",)):
            raise DataError(
                "no such split",
                file=data.path,
                field="split",
                expected=" or ".join(data.splits) or "none, the data has no splits",
                found=self.split,
            )
        return nonempty_tables(data, self.split, self.settings)

    def training(self, data: Dataset) -> dict[Setting, PairTable]:
        """The pairs models may learn from, by setting; empty where there is no such split."""
        split = self.train_split
        if split is None:
            usual = "validation" in data.splits and self.split != "validation"
            return _tables(data, "validation", SETTINGS) if usual else {}
        if split and (split not in data.splits or split == self.split):
            others = [name for name in data.splits if name != self.split]
            raise ConfigError(f"no training split {split!r}: there is {' or '.join(others) or 'none'}")
        return nonempty_tables(data, split, SETTINGS) if split else {}

    def items(self, data: Dataset) -> list[RelationsItem]:
        """Every ordered pair, grouped by image or by image pair and direction."""
        return [item for t in self.tables(data).values() for item in relations_items(t, views_of(data, t))]

    def prepare(self, model: object, data: Dataset) -> None:
        """Hand the study material to a model that wants it."""
        self._found.clear()
        if not isinstance(model, Prepares):
            return
        test = self.tables(data)
        shown = test if getattr(model, "cross_fits", False) else {s: t.unlabelled() for s, t in test.items()}
        study = Study(train=planned(self.training(data), self.study, tuple(test)), test=shown)
        with asking(model, "prepare"):
            model.prepare(study)

    def examine(self, model: object, item: RelationsItem) -> ItemRecords:
        """Ask about one image or image pair; mark depth, and within an image occlusion."""
        if self.boxes != "truth":
            return judge_detected(model, item, perfect=self.boxes == "perfect", found=self._found)
        assert isinstance(model, Relate)
        with asking(model, "relate"):
            given = model.relate(item.pairs)
        return mark(item, Judgements.checked(given, len(item.pairs), type(model).__name__))


def default_split(data: Dataset) -> str:
    """The split to sit where none is asked for: ``test``, else the only one, else "" for data without splits."""
    if "test" in data.splits or len(data.splits) > 1:
        return "test"
    return data.splits[0] if data.splits else ""


def nonempty_tables(data: Dataset, split: str, settings: tuple[Setting, ...]) -> dict[Setting, PairTable]:
    """Pair tables of a split by setting, those without pairs left out; DataError where none is left."""
    kept = _tables(data, split, settings)
    if not kept:
        raise DataError("no depth or occlusion relations", file=data.path, field=f"split {split}")
    return kept


def _tables(data: Dataset, split: str, settings: tuple[Setting, ...]) -> dict[Setting, PairTable]:
    stored = data.tables(split=split or None)
    tables = {setting: pair_table(stored, setting, split) for setting in settings}
    return {setting: table for setting, table in tables.items() if len(table)}


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


def mark(item: RelationsItem, said: Judgements) -> ItemRecords:
    """Records of one item on given boxes: one row per ordered pair and aspect."""
    asked = [(aspect, getattr(item, aspect), getattr(said, aspect)) for aspect in item.aspects]
    n = len(item.subjects)
    columns = {
        "subject": list(item.subjects) * len(asked),
        "object": list(item.objects) * len(asked),
        "reverse": item.reverse.tolist() * len(asked),
        "aspect": [aspect for aspect, _, _ in asked for _ in range(n)],
        "truth": [word for aspect, truth, _ in asked for word in truth_words(aspect, truth)],
        "answer": [word for aspect, _, answer in asked for word in answer_words(aspect, answer)],
    }
    return ItemRecords({"setting": item.pairs.setting, "other_scene": item.other_scene}, columns)
