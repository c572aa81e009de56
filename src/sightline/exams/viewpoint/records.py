"""Records of the viewpoint exam: made of a picture's answers, and read back as arrays.

A row is an object or, where the boxes are a model's own, a detection. Objects carry the answer that was given about
them: in given boxes the model's word, else that of the detection which took them under the script's rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.run_schema import RecordColumn
from sightline.exams.viewpoint.items import ViewpointItem
from sightline.geometry.viewpoints import Flags, Floats, Turns, rotation_gap
from sightline.skills import Detections, ViewAngles
from sightline.stats.viewed_boxes import ViewedBoxes, ViewMatches, ViewRules, matches_by_class

COARSE: Final = 30.0
"""Degrees of rotation below which a view is right: π/6."""
UNANSWERED: Final = 180.0
"""Degrees of error of an object about which nothing was said: the worst."""

TRUTH: Final = ("truth", "truth_elevation", "truth_theta")
ANSWER: Final = ("answer", "elevation", "theta")
BOX: Final = ("x0", "y0", "x1", "y1")

RECORDS: Final[Mapping[str, RecordColumn]] = {
    "kind": RecordColumn(pl.String, words=("object", "detection")),
    "object": RecordColumn(pl.String, empty=True),
    "category": RecordColumn(pl.String),
    **{name: RecordColumn(pl.Float64) for name in BOX},
    **{name: RecordColumn(pl.Float64, empty=True) for name in (*TRUTH, *ANSWER, "score", "occlusion")},
    "right": RecordColumn(pl.Boolean, empty=True),
    "difficult": RecordColumn(pl.Boolean),
    "symmetry": RecordColumn(pl.Int64),
    "said": RecordColumn(pl.String, always=False),
    "confidence": RecordColumn(pl.Float64, empty=True, always=False),
}
"""Columns of the records: angles in degrees; the truth of a detection, and the score of an object, is null."""


def given_records(item: ViewpointItem, answer: ViewAngles) -> ItemRecords:
    """Records of one picture whose boxes were given: a row an object whose viewpoint is known."""
    columns = _object_columns(item, item.asked, answer.angles)
    if answer.said:
        columns["said"] = list(answer.said)
    if len(answer.confidence):
        columns["confidence"] = _nullable(np.asarray(answer.confidence).round(4))
    return ItemRecords({}, columns)


def detected_records(item: ViewpointItem, found: Detections, angles: Floats) -> ItemRecords:
    """Records of one picture whose boxes are the model's own: a row an object, then a row a detection."""
    n = len(found.boxes)
    said = angles if len(angles) else np.full((n, 3), np.nan)
    there = _in_one_picture(item.categories, item.boxes, item.angles)
    taken = np.full((len(there), 3), np.nan)
    detections = _in_one_picture(found.categories, found.boxes, said)
    for name, matches in matches_by_class(there, detections, ViewRules(), dict.fromkeys(item.categories)):
        hits = np.flatnonzero(matches.first)
        taken[np.flatnonzero(there.category == name)[matches.found[hits]]] = matches.detections.angles[hits]
    objects = _object_columns(item, np.arange(len(there)), taken)
    own: dict[str, list[Any]] = {
        "kind": ["detection"] * n,
        "category": list(found.categories),
        **_columns(BOX, found.boxes),
        **_columns(ANSWER, said),
        "score": found.scores.tolist(),
        "difficult": [False] * n,
        "symmetry": [1] * n,
    }
    return ItemRecords({}, {name: [*objects[name], *own.get(name, [None] * n)] for name in objects})


def _in_one_picture(categories: Sequence[str], boxes: Floats, angles: Floats) -> ViewedBoxes:
    return ViewedBoxes(np.zeros(len(boxes), np.int64), np.array(categories, dtype=object), boxes, angles)


def _object_columns(item: ViewpointItem, rows: NDArray[np.int64], angles: Floats) -> dict[str, list[Any]]:
    truth, symmetry = item.angles[rows], item.symmetry[rows]
    right = rotation_gap(truth, angles, np.ones_like(symmetry)) < COARSE
    return {
        "kind": ["object"] * len(rows),
        "object": [item.objects[i] for i in rows],
        "category": [item.categories[i] for i in rows],
        **_columns(BOX, item.boxes[rows]),
        **_columns(TRUTH, truth),
        **_columns(ANSWER, angles),
        "score": [None] * len(rows),
        "occlusion": _nullable(item.occlusion[rows]),
        "right": [bool(r) if known else None for r, known in zip(right, np.isfinite(truth[:, 0]), strict=True)],
        "difficult": item.difficult[rows].tolist(),
        "symmetry": symmetry.tolist(),
    }


def _columns(names: Sequence[str], values: Floats) -> dict[str, list[float | None]]:
    return {name: _nullable(values[:, i]) for i, name in enumerate(names)}


def _nullable(values: Floats) -> list[float | None]:
    return [value if value == value else None for value in values.tolist()]


@dataclass(frozen=True)
class ViewRecords:
    """Records of a run as arrays.

    Attributes:
        units: C ids of images (clusters), sorted.
        objects: G objects.
        detections: N detections; none where the boxes were given.
        answers: (G, 3) degrees; what was said about each object.
        occlusion: (G,) occlusion ratio, NaN where unknown.
        azimuths: Picture → object → azimuth that was said about it, degrees.
        rules: How they are judged.
    """

    units: tuple[str, ...]
    objects: ViewedBoxes
    detections: ViewedBoxes
    answers: Floats
    occlusion: Floats
    azimuths: Mapping[str, Mapping[str, float]]
    rules: ViewRules

    @classmethod
    def of(cls, records: RunRecords, rules: ViewRules) -> ViewRecords:
        """Read the records of a run."""
        units, _ = np.unique(records.items["cluster_id"].to_numpy().astype(object), return_inverse=True)
        rows = records.rows
        if not rows.height:
            rows = pl.DataFrame(
                schema={"cluster_id": pl.String, "item": pl.String} | {n: c.kind for n, c in RECORDS.items()}
            )
        place = np.searchsorted(units, rows["cluster_id"].to_numpy().astype(object)).astype(np.int64)
        is_object = (rows["kind"] == "object").to_numpy()
        angles = {names: numbers(rows, names) for names in (TRUTH, ANSWER)}
        whole = ViewedBoxes(
            place,
            rows["category"].to_numpy().astype(object),
            numbers(rows, BOX),
            np.where(is_object[:, None], angles[TRUTH], angles[ANSWER]),
            numbers(rows, ("score",))[:, 0],
            rows["difficult"].to_numpy().astype(bool),
            rows["symmetry"].to_numpy().astype(np.int64),
        )
        occlusion = numbers(rows, ("occlusion",))[:, 0]
        tables, answers = (whole.take(is_object), whole.take(~is_object)), angles[ANSWER][is_object]
        azimuths: dict[str, dict[str, float]] = {}
        for item, thing, answer in (
            rows.filter(is_object).select("item", "object", "answer").drop_nulls().iter_rows()
        ):
            azimuths.setdefault(item, {})[thing] = answer
        return cls(tuple(units.tolist()), *tables, answers, occlusion[is_object], azimuths, rules)

    @cached_property
    def classes(self) -> list[str]:
        """Classes of the objects, sorted."""
        return sorted(set(self.objects.category.tolist()))

    @cached_property
    def symmetry(self) -> Turns:
        """(G,) turns that are taken to look the same: one where symmetry does not count."""
        given = self.objects.symmetry
        return given if self.rules.symmetry and given is not None else np.ones(len(self.objects), dtype=np.int64)

    @cached_property
    def error(self) -> Floats:
        """(G,) geodesic error in degrees, `UNANSWERED` where nothing was said; NaN where no truth is known."""
        gap = rotation_gap(self.objects.angles, self.answers, self.symmetry)
        return np.where(self.known & np.isnan(gap), UNANSWERED, gap)

    @cached_property
    def known(self) -> Flags:
        """(G,) whether the true viewpoint is known."""
        return np.isfinite(self.objects.angles[:, 0])

    @cached_property
    def matches(self) -> dict[str, ViewMatches]:
        """Class → its detections with the objects they went to."""
        return dict(matches_by_class(self.objects, self.detections, self.rules, self.classes))


def numbers(rows: pl.DataFrame, names: Sequence[str]) -> Floats:
    """Columns of numbers, (n, k); NaN where there is none."""
    return rows.select(pl.col(list(names)).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
