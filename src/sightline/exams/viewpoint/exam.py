"""The viewpoint exam: from which side is each object seen, in given boxes or in those a model finds itself?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np
import polars as pl

from sightline.errors import ConfigError, DataError
from sightline.exams.base import Entrants, Exam, Measures, RankedMeasures, check_split, option, training_split
from sightline.exams.hooks import model_call
from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.run_schema import RecordColumn
from sightline.exams.viewpoint.items import ViewpointItem, viewpoint_items
from sightline.exams.viewpoint.measures import viewpoint_measures
from sightline.exams.viewpoint.records import (
    ANSWER,
    COARSE,
    RECORDS,
    ViewRecords,
    detected_records,
    given_records,
    numbers,
)
from sightline.exams.viewpoint.segmentation import PosedPicture, posed_pictures, segmentation_measures
from sightline.geometry.viewpoints import Flags, rotation_gap
from sightline.hints import hint
from sightline.skills import BoxedObjects, Detections, ViewAngles, ViewpointSpec, ViewpointStudy, skills_of
from sightline.stats.viewed_boxes import VIEWS, Difficult, ViewRules
from sightline.store import Dataset

Boxes = Literal["given", "detected"]

BASELINES: Final = ("view_commonest", "view_mean", "view_uniform")
"""Blind priors that stand in every table."""


@dataclass(frozen=True)
class ViewpointExam(Exam[ViewpointItem]):
    """From which side is each object seen?

    Attributes:
        split: The split to examine on; None for all scenes.
        train_split: The split models and priors learn from; "" for none, None for a training split where there is
            one. Without one, priors are learned from the other scenes of the examined split.
        boxes: ``given``: say the viewpoint of annotated boxes. ``detected``: find the objects too.
        detections: CSV of boxes that are joined to models which find none themselves.
        views: Numbers of sections of the azimuth that AVP is given for; `within` degrees of azimuth likewise.
        difficult: See `ViewRules`, as for `overlap`, `literal` and `symmetry`.
        segmentation: Pictures with masks and CAD models that are segmented by pose, the first so many; 0 for none.
        cads: Shape library that random and closest models are taken from, and the true ones of PASCAL3D+.
    """

    split: str | None = option(None, "Split to examine on; by default all scenes.", folder="")
    train_split: str | None = option(None, "Split to learn from; by default train where there is one, '' for none.")
    boxes: Boxes = option(
        "given", "Whose boxes are looked into: the annotated ones, or the model's own.", folder=""
    )
    detections: Path | None = option(None, "CSV of boxes, instead of a model's own.", identity=False)
    views: tuple[int, ...] = option(VIEWS, "Numbers of sections of the azimuth, one AVP each.", scoring=True)
    within: tuple[float, ...] = option(
        (), "Degrees of azimuth below which a view is right, one AVP each.", scoring=True
    )
    difficult: Difficult = option(
        "remove",
        "Objects marked difficult: gone, so that a detection on one is wrong; or not counted.",
        scoring=True,
    )
    overlap: float = option(0.5, "Lowest intersection over union of a match.", scoring=True)
    literal: bool = option(False, "Recall of AVP too counts right views only, as the paper reads.", scoring=True)
    symmetry: bool = option(False, "A view that looks the same as the truth is right.", scoring=True)
    segmentation: int = option(
        200, "Pictures over which CAD models are drawn (Table 4), the first so many.", scoring=True, minimum=0
    )
    cads: Path | None = option(
        None, "Shape library whose CAD models are drawn, instead of the data's own.", identity=False
    )

    name: ClassVar[str] = "viewpoint"
    title: ClassVar[str] = "Viewpoint"
    card: ClassVar[str] = "sightline.exams.viewpoint.card"
    columns: ClassVar[Mapping[str, RecordColumn]] = RECORDS
    unit: ClassVar[str] = "image"
    unit_of_items: ClassVar[str] = "image"
    judged_by: ClassVar[tuple[str, ...]] = ("object",)
    baselines: ClassVar[Mapping[str, str]] = {name: name for name in BASELINES}

    def __post_init__(self) -> None:
        """Refuse a word or a number that an option does not know."""
        if self.boxes not in get_args(Boxes):
            raise ConfigError(f"boxes: unknown {self.boxes!r}{hint(str(self.boxes), get_args(Boxes))}")
        kinds: dict[str, Callable[[Any], float]] = {"views": int, "within": float}
        for name, kind in kinds.items():
            given = getattr(self, name)
            try:
                object.__setattr__(self, name, tuple(kind(n) for n in given))
            except ValueError:
                wanted = "whole numbers" if kind is int else "numbers"
                raise ConfigError(f"{name}: expected {wanted}, found {', '.join(map(str, given))}") from None
        _ = self.rules

    @property
    def skills(self) -> tuple[tuple[str, ...], ...]:
        """*viewpoint* in given boxes; *detect* where the boxes are the model's own."""
        return (("viewpoint",),) if self.boxes == "given" else (("detect",),)

    @property
    def rules(self) -> ViewRules:
        """How answers are judged."""
        return ViewRules(
            self.views,
            self.within,
            rotations=(30.0,),
            difficult=self.difficult,
            overlap=self.overlap,
            literal=self.literal,
            symmetry=self.symmetry,
        )

    def items(self, data: Dataset) -> tuple[ViewpointItem, ...]:
        """Pictures with objects; with the model's own boxes all pictures."""
        every = self._every(data)
        return every if self.boxes == "detected" else tuple(item for item in every if len(item.asked))

    def _every(self, data: Dataset) -> tuple[ViewpointItem, ...]:
        check_split(self.split, data)
        return data.memo(("viewpoint items", self.split), lambda: viewpoint_items(data, self.split))

    def entrants(self, models: Sequence[object], data: Dataset, *, baselines: bool) -> Entrants:
        """The models and the blind priors, the given boxes joined to them."""
        if self.detections is not None and (self.boxes == "given" or self.detections.suffix.lower() != ".csv"):
            raise ConfigError("--detections is a .csv file and goes with --boxes detected")
        notes: tuple[str, ...] = ()
        priors = dict(self.baselines) if baselines else {}
        if self.boxes == "detected" and self.detections is None and priors:
            priors, notes = {}, ("the blind priors find no boxes of their own, so left out: give --detections",)
        if self.detections is not None:
            priors = {name: f"{spec}+{self.detections}" for name, spec in priors.items()}
            if not models:
                models = (str(self.detections),)
        if self.symmetry and all((item.symmetry[item.asked] == 1).all() for item in self._every(data)):
            notes += ("no object has an attribute symmetry: --symmetry changes nothing",)
        bare, total = data.pictureless
        if bare and models:
            notes += (f"{bare:,} of {total:,} images have no photo: a model that looks cannot answer there",)
        return Entrants(tuple(models), priors, notes)

    def spec(self, model: Any, data: Dataset) -> ViewpointSpec:  # noqa: ARG002 - a hook
        """Pictures, classes and objects to come."""
        items = self.items(data)
        categories = sorted({name for item in items for name in item.categories})
        objects = {item.id: tuple(item.objects[i] for i in item.asked) for item in items}
        return ViewpointSpec(tuple(objects), tuple(categories), objects)

    def study(self, model: Any, data: Dataset) -> ViewpointStudy | None:
        """Objects of the training split; where there is none the objects to come, for one that ``cross_fits``."""
        split = training_split(self, data)
        own = split is None
        if own and not getattr(model, "cross_fits", False):
            return None
        try:
            items = (
                self._every(data)
                if own
                else data.memo(("viewpoint items", split), lambda: viewpoint_items(data, split))
            )
        except DataError:
            if own:
                raise
            return None  # a training split without viewpoints teaches nothing
        angles = np.concatenate([item.angles[item.asked] for item in items])
        scenes = tuple(item.scene_id for item in items for _ in item.asked)
        categories = tuple(item.categories[i] for item in items for i in item.asked)
        return ViewpointStudy(scenes, categories, angles, own)

    def ask(self, model: Any, item: ViewpointItem) -> ItemRecords:
        """Ask about one picture."""
        if self.boxes == "given":
            return given_records(item, _viewpoints(model, item.boxed()))
        with model_call(model, "detect"):
            given = model.detect(item.view)
        found = Detections.checked(given, type(model).__name__)
        angles = found.angles
        if not len(angles) and "viewpoint" in skills_of(model):
            boxed = BoxedObjects(item.scene_id, item.view, found.boxes, found.categories)
            angles = _viewpoints(model, boxed).angles
        return detected_records(item, found, angles)

    def measures(self, records: RunRecords, data: Callable[[], Dataset]) -> Sequence[Measures | RankedMeasures]:
        """AP, AVP and ARP of detections; accuracy, median error and flips of given boxes; segmentation by pose."""
        read = ViewRecords.of(records, self.rules)
        made = list(viewpoint_measures(read, detected=self.boxes == "detected"))
        asked = set(records.items["item"])
        pictures = [one for one in self._pictures(data) if one.item in asked]
        return [*made, segmentation_measures(read, pictures)] if pictures else made

    def scored_boxes(self, records: RunRecords) -> pl.DataFrame:
        """Every detection of a class that is asked about: its score, and whether it is on an object."""
        read = ViewRecords.of(records, self.rules)
        matches = read.matches.values()
        chosen = [of for of in matches if of.detections.score is not None and len(of.detections)]
        if self.boxes != "detected" or not chosen:
            return super().scored_boxes(records)
        units = np.array(read.units, dtype=object)
        parts = [(of.detections.score, of.hit, units[of.detections.image]) for of in chosen]
        score, hit, unit = (np.concatenate(column) for column in zip(*parts, strict=True))
        return pl.DataFrame({"confidence": score, "right": hit, "cluster_id": unit.astype(str)})

    def same_answers(self, before: pl.DataFrame, after: pl.DataFrame) -> Flags:
        """Whether two answers are less than 30° of rotation apart, or neither was given."""
        angles = [numbers(rows, ANSWER) for rows in (before, after)]
        silent = [np.isnan(of[:, 0]) for of in angles]
        gap = rotation_gap(angles[0], angles[1], np.ones(before.height, dtype=np.int64))
        return np.where(silent[0] | silent[1], silent[0] & silent[1], gap < COARSE)

    def _pictures(self, data: Callable[[], Dataset]) -> list[PosedPicture]:
        if not self.segmentation:
            return []
        try:
            opened = data()
        except DataError:
            return []  # runs are scored without their data too; only this needs it
        key = ("posed pictures", self.split, self.segmentation, self.cads)
        return opened.memo(key, lambda: posed_pictures(opened, self.split, self.segmentation, self.cads))


def _viewpoints(model: Any, objects: BoxedObjects) -> ViewAngles:
    """The model's checked answer."""
    with model_call(model, "viewpoint"):
        given = model.viewpoint(objects)
    return ViewAngles.checked(given, len(objects), type(model).__name__)
