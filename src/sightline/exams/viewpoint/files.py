"""Marking a JSON file of detections with viewpoints against one of the truth, class by class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from sightline.documents import read_json
from sightline.errors import DataError
from sightline.exams.viewpoint.rankings import ViewedBoxes, ViewMatches, ViewRules, matches_by_class, ranked_groups
from sightline.plain import plain
from sightline.stats import Interval, Ranking, average_precision, ranked_intervals

_MEAN: Final = "mean"


@dataclass(frozen=True)
class ViewScores:
    """AP and AVP by class and their means over the classes for which they are defined.

    Attributes:
        rules: How detections were judged.
        matches: Class → its detections with the objects they went to.
        n_images: Images with an object or a detection.
        figures: Class, ``mean`` or ``mean without bottle`` → path (``("avp", "8")``) → score; no interval where
            none was asked for, and NaN where undefined.
    """

    rules: ViewRules
    matches: Mapping[str, ViewMatches] = field(repr=False)
    n_images: int
    figures: Mapping[str, Mapping[tuple[str, ...], Interval]]

    def to_dict(self) -> dict[str, Any]:
        """JSON values: class → ``ap`` and ``avp`` by number of views; ``mean`` likewise, null where undefined."""
        document: dict[str, Any] = {}
        for name, scores in self.figures.items():
            inner = document.setdefault(_MEAN, {}) if name.startswith(_MEAN) else document.setdefault(name, {})
            if name not in (_MEAN, *self.matches):
                inner = inner.setdefault("without_bottle", {})
            inner["avp"] = {}
            for path, score in scores.items():
                place = inner
                for key in path[:-1]:
                    place = place.setdefault(key, {})
                place[path[-1]] = plain(score.value)
                if score.method:
                    intervals = inner.setdefault("intervals", {})
                    intervals[" ".join(path)] = [plain(score.low), plain(score.high)]
        return document


def score_view_files(
    truth: Path, detections: Path, rules: ViewRules | None = None, *, resamples: int = 0, seed: int = 0
) -> ViewScores:
    """Score a file of detections with viewpoints.

    Args:
        truth: A JSON list of ``{"image", "class", "box": [x1, y1, x2, y2], "azimuth": degrees or null,
            "difficult"}``; both files may also have ``elevation`` and ``theta``, which ARP needs.
        detections: A list of ``{"image", "class", "box", "score", "azimuth"}``.
        rules: How detections are judged; by default as the script of PASCAL3D+ does.
        resamples: Bootstrap resamples by image behind the intervals; 0 for none.
        seed: Of the resampling.
    """
    judged = rules or ViewRules()
    images: dict[str, int] = {}
    objects = read_view_boxes(truth, images, detected=False)
    said = read_view_boxes(detections, images, detected=True)
    classes = sorted({*objects.category.tolist(), *said.category.tolist()})
    matches = dict(matches_by_class(objects, said, judged, classes))
    figures = view_figures(matches, judged, max(len(images), 1), resamples=resamples, seed=seed)
    return ViewScores(judged, matches, len(images), figures)


def view_figures(
    matches: Mapping[str, ViewMatches], rules: ViewRules, n_images: int, *, resamples: int = 0, seed: int = 0
) -> dict[str, dict[tuple[str, ...], Interval]]:
    """Every score of every class, the mean over classes, and that without bottle where there is bottle."""
    groups = ranked_groups(matches, rules, n_images)
    if resamples:
        named = {f"{i}": rankings for i, rankings in enumerate(groups.values())}
        found = list(ranked_intervals(named, points="all", resamples=resamples, seed=seed).values())
    else:
        found = [_without_limits(rankings) for rankings in groups.values()]
    figures: dict[str, dict[tuple[str, ...], Interval]] = {name: {} for name in matches}
    for (*path, label), interval in zip(groups, found, strict=True):
        figures.setdefault(label, {})[tuple(path)] = interval
    return figures


def _without_limits(rankings: list[Ranking]) -> Interval:
    values = [average_precision(one, points="all").item() for one in rankings]
    known = [value for value in values if not math.isnan(value)]
    return Interval(sum(known) / len(known) if known else math.nan, math.nan, math.nan, 0, "")


def read_view_boxes(path: Path, images: dict[str, int], *, detected: bool) -> ViewedBoxes:
    """Read boxes with viewpoints from a JSON list; DataError names the row, from 1, and the field that is wrong.

    Args:
        path: The file.
        images: Image → index; images that are new are added.
        detected: Rows have ``score``; else they may have ``difficult``.
    """
    rows = read_json(path)
    if not isinstance(rows, list):
        raise DataError("not a list of boxes", file=path, expected="[…]", found=rows)
    image, category, box, angles, score, difficult = [], [], [], [], [], []
    for number, given in enumerate(rows, start=1):
        row = _Row(given, path, number)
        image.append(images.setdefault(row.text("image"), len(images)))
        category.append(row.text("class"))
        box.append(row.box())
        angles.append([row.angle(name, needed=name == "azimuth") for name in ("azimuth", "elevation", "theta")])
        if detected:
            score.append(row.number("score"))
        else:
            difficult.append(row.flag("difficult"))
    return ViewedBoxes(
        np.array(image, dtype=np.int64),
        np.array(category, dtype=object),
        np.array(box, dtype=np.float64).reshape(-1, 4),
        np.array(angles, dtype=np.float64).reshape(-1, 3),
        score=np.array(score, dtype=np.float64) if detected else None,
        difficult=None if detected else np.array(difficult, dtype=bool),
    )


@dataclass(frozen=True)
class _Row:
    """One entry of a list of boxes, read field by field."""

    given: Any
    file: Path
    number_: int

    def __post_init__(self) -> None:
        if not isinstance(self.given, dict):
            raise DataError("not a box", file=self.file, row=self.number_, expected="{…}", found=self.given)

    def _fail(self, field_: str, expected: str) -> DataError:
        problem = "not fitting" if field_ in self.given else "field is missing"
        return DataError(
            problem, file=self.file, row=self.number_, field=field_, expected=expected, found=self.given.get(field_)
        )

    def text(self, name: str) -> str:
        value = self.given.get(name)
        if name == "image" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value or (name == "class" and value == _MEAN):
            raise self._fail(name, f"a text other than {_MEAN!r}" if value == _MEAN else "a text")
        return value

    def number(self, name: str) -> float:
        value = self.given.get(name)
        if not _is_number(value):
            raise self._fail(name, "a number")
        return float(value)

    def box(self) -> list[float]:
        value = self.given.get("box")
        if not isinstance(value, list) or len(value) != 4 or not all(map(_is_number, value)):
            raise self._fail("box", "[x1, y1, x2, y2]")
        if value[2] < value[0] or value[3] < value[1]:
            raise self._fail("box", "x1 ≤ x2 and y1 ≤ y2")
        return [float(v) for v in value]

    def angle(self, name: str, *, needed: bool = True) -> float:
        value = self.given.get(name)
        if value is None and (name in self.given or not needed):
            return math.nan
        if not _is_number(value):
            raise self._fail(name, "degrees or null")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self.given.get(name, False)
        if not isinstance(value, bool):
            raise self._fail(name, "true or false")
        return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
