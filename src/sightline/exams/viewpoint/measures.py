"""Records of the viewpoint exam, and how they are counted.

A row is an object or, where the boxes are a model's own, a detection. Objects carry the answer that was given about
them: in given boxes the model's word, else that of the detection which took them under the script's rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.base import Measures, Name, RankedMeasures
from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.run_schema import RecordColumn
from sightline.exams.viewpoint.angles import Flags, Floats, flipped, rotation_gap, same_section
from sightline.exams.viewpoint.items import ViewpointItem
from sightline.exams.viewpoint.rankings import (
    ViewedBoxes,
    ViewMatches,
    ViewRules,
    match_class,
    matches_by_class,
    means_over,
    ranked_groups,
)
from sightline.geometry import azimuth_bins
from sightline.skills import Detections
from sightline.stats import Ranking, SortedErrors, sort_errors

COARSE, FINE = 30.0, 10.0
"""Degrees of rotation below which a view is right: π/6 and π/18."""
CONFUSED: Final = 8
"""Sections of the azimuth of the confusion matrix."""
THIRDS: Final = {"0–1/3": (0.0, 1 / 3), "1/3–2/3": (1 / 3, 2 / 3), "2/3–1": (2 / 3, 1.0)}
"""Occlusion ratios: (lower, upper end]; the first holds 0 too."""
UNANSWERED: Final = 180.0
"""Degrees of error of an object about which nothing was said: the worst."""

_ANGLES: Final = ("azimuth", "elevation", "theta")
_TRUTH: Final = ("truth", "truth_elevation", "truth_theta")
_ANSWER: Final = ("answer", "elevation", "theta")
_BOX: Final = ("x0", "y0", "x1", "y1")

RECORDS: Final[Mapping[str, RecordColumn]] = {
    "kind": RecordColumn(pl.String, words=("object", "detection")),
    "object": RecordColumn(pl.String, empty=True),
    "category": RecordColumn(pl.String),
    **{name: RecordColumn(pl.Float64) for name in _BOX},
    **{name: RecordColumn(pl.Float64, empty=True) for name in (*_TRUTH, *_ANSWER, "score", "occlusion")},
    "right": RecordColumn(pl.Boolean, empty=True),
    "difficult": RecordColumn(pl.Boolean),
    "symmetry": RecordColumn(pl.Int64),
}
"""Columns of the records: angles in degrees; the truth of a detection, and the score of an object, is null."""


def given_records(item: ViewpointItem, angles: Floats) -> ItemRecords:
    """Records of one picture whose boxes were given: a row an object whose viewpoint is known."""
    rows = item.asked
    return ItemRecords({}, _object_columns(item, rows, angles))


def detected_records(item: ViewpointItem, found: Detections, angles: Floats) -> ItemRecords:
    """Records of one picture whose boxes are the model's own: a row an object, then a row a detection."""
    said = angles if len(angles) else np.full((len(found.boxes), 3), np.nan)
    taken = np.full((len(item.objects), 3), np.nan)
    for name in dict.fromkeys(item.categories):
        matches = _match(item, found, said, name)
        hits = np.flatnonzero(matches.first)
        taken[np.flatnonzero(_of(item.categories, name))[matches.found[hits]]] = matches.detections.angles[hits]
    objects = _object_columns(item, np.arange(len(item.objects)), taken)
    n = len(found.boxes)
    detections: dict[str, list[Any]] = {
        "kind": ["detection"] * n,
        "object": [None] * n,
        "category": list(found.categories),
        **_columns(_BOX, found.boxes),
        **{name: [None] * n for name in _TRUTH},
        **_columns(_ANSWER, said),
        "score": found.scores.tolist(),
        "occlusion": [None] * n,
        "right": [None] * n,
        "difficult": [False] * n,
        "symmetry": [1] * n,
    }
    return ItemRecords({}, {name: [*objects[name], *detections[name]] for name in objects})


def _match(item: ViewpointItem, found: Detections, angles: Floats, name: str) -> ViewMatches:
    there, said = _of(item.categories, name), _of(found.categories, name)
    objects = _boxes(np.zeros(int(there.sum()), np.int64), name, item.boxes[there], item.angles[there])
    detections = _boxes(np.zeros(int(said.sum()), np.int64), name, found.boxes[said], angles[said])
    return match_class(objects, detections, ViewRules())


def _boxes(image: NDArray[np.int64], name: str, box: Floats, angles: Floats) -> ViewedBoxes:
    return ViewedBoxes(image, np.full(len(image), name, dtype=object), box, angles)


def _of(categories: Sequence[str], name: str) -> Flags:
    return np.array([category == name for category in categories], dtype=bool)


def _object_columns(item: ViewpointItem, rows: NDArray[np.int64], angles: Floats) -> dict[str, list[Any]]:
    truth, symmetry = item.angles[rows], item.symmetry[rows]
    right = rotation_gap(truth, angles, np.ones_like(symmetry)) < COARSE
    return {
        "kind": ["object"] * len(rows),
        "object": [item.objects[i] for i in rows],
        "category": [item.categories[i] for i in rows],
        **_columns(_BOX, item.boxes[rows]),
        **_columns(_TRUTH, truth),
        **_columns(_ANSWER, angles),
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
        rules: How they are judged.
    """

    units: tuple[str, ...]
    objects: ViewedBoxes
    detections: ViewedBoxes
    answers: Floats
    occlusion: Floats
    rules: ViewRules

    @classmethod
    def of(cls, records: RunRecords, rules: ViewRules) -> ViewRecords:
        """Read the records of a run."""
        units, _ = np.unique(records.items["cluster_id"].to_numpy().astype(object), return_inverse=True)
        rows = records.rows
        if not rows.height:
            rows = pl.DataFrame(schema={"cluster_id": pl.String} | {n: c.kind for n, c in RECORDS.items()})
        place = np.searchsorted(units, rows["cluster_id"].to_numpy().astype(object)).astype(np.int64)
        is_object = (rows["kind"] == "object").to_numpy()
        angles = {names: _floats(rows, names) for names in (_TRUTH, _ANSWER)}
        whole = ViewedBoxes(
            place,
            rows["category"].to_numpy().astype(object),
            _floats(rows, _BOX),
            np.where(is_object[:, None], angles[_TRUTH], angles[_ANSWER]),
            _floats(rows, ("score",))[:, 0],
            rows["difficult"].to_numpy().astype(bool),
            rows["symmetry"].to_numpy().astype(np.int64),
        )
        occlusion = _floats(rows, ("occlusion",))[:, 0]
        tables, answers = (whole.take(is_object), whole.take(~is_object)), angles[_ANSWER][is_object]
        return cls(tuple(units.tolist()), *tables, answers, occlusion[is_object], rules)

    @cached_property
    def classes(self) -> list[str]:
        """Classes of the objects, sorted."""
        return sorted(set(self.objects.category.tolist()))

    @cached_property
    def symmetry(self) -> NDArray[np.int64]:
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


def _floats(rows: pl.DataFrame, names: Sequence[str]) -> Floats:
    return rows.select(pl.col(list(names)).cast(pl.Float64).fill_null(float("nan"))).to_numpy()


def viewpoint_measures(
    records: RunRecords, rules: ViewRules, *, detected: bool
) -> Iterator[Measures | RankedMeasures]:
    """Count the records of a run.

    Args:
        records: Of the run.
        rules: How answers are judged.
        detected: The boxes were the model's own.
    """
    read = ViewRecords.of(records, rules)
    if detected:
        yield _ranked(read)
        if any(_third_of(read, name).any() for name in THIRDS):
            yield _thirds(read)
    else:
        yield _accuracy(read)
        yield _medians(read)
    yield _confusion(read, detected=detected)


def _ranked(read: ViewRecords) -> RankedMeasures:
    """AP, AVP and ARP by class and their means."""
    ranked = ranked_groups(read.matches, read.rules, len(read.units))
    words = titles(read.rules)
    names = tuple(_ranked_name(path[:-1], words[path[:-1]], path[-1], read.rules) for path in ranked)
    facts = {
        "n_images": len(read.units),
        "n_objects": len(read.objects),
        "n_detections": len(read.detections),
        "n_by_class": {name: int((read.objects.category == name).sum()) for name in read.classes},
    }
    return RankedMeasures(read.units, {"/".join(path): of for path, of in ranked.items()}, names, facts)


def titles(rules: ViewRules) -> dict[tuple[str, ...], str]:
    """Path of each score of detections → what tables call it."""
    words = {"ap": "AP", "avp": "AVP, {} views", "avp_within": "AVP, {}°", "arp": "ARP, {}°"}
    return {path: words[path[0]].format(*path[1:]) for path in rules.measures}


def _ranked_name(path: tuple[str, ...], title: str, label: str, rules: ViewRules) -> Name:
    main: tuple[str, ...] = ("avp", "8") if 8 in rules.views else ("ap",)
    is_mean, shown = label.startswith("mean"), path in (("ap",), main)
    return Name(
        (*path, label),
        label,
        title if shown or is_mean else "",
        ("" if label == "mean" else title) if shown else ("means" if label == "mean" else None),
        title if label == "mean" else f"  {label}",
        headline={main: 1, ("ap",): 2}.get(path, 0) if label == "mean" else 0,
        part=path == main and not is_mean,
        percent=True,
    )


def _third_of(read: ViewRecords, third: str) -> Flags:
    low, high = THIRDS[third]
    ratio = read.occlusion
    return ((ratio > low) | (low == 0.0)) & (ratio <= high)


def _thirds(read: ViewRecords) -> RankedMeasures:
    """Normalised AP by occlusion third: objects of the other thirds are ignored, N is a third of the class's."""
    c = len(read.units)
    groups: dict[str, list[Ranking | SortedErrors]] = {}
    names = []
    rankings: dict[tuple[str, str], Ranking] = {}
    for name in read.classes:
        rows = (read.objects.category == name) & read.rules.kept(read.objects)
        n = max(rows.sum() / len(THIRDS), 1.0)
        for third in THIRDS:
            only = _third_of(read, third)[rows]
            rankings[third, name] = read.matches[name].ranking(c, only=only, normal=n).at([0])
    for third in THIRDS:
        for label, classes in means_over(read.classes).items():
            groups[f"{third}/{label}"] = [rankings[third, name] for name in classes]
            title = "normalised AP by occlusion" if label == "mean" else ""
            names.append(Name(("normalised_ap", third, label), third, title, percent=True))
    return RankedMeasures(read.units, groups, tuple(names), detail=True)


def _accuracy(read: ViewRecords) -> Measures:
    """Accuracy at π/6 and π/18, flips and unanswered objects, by class, their means, and by occlusion third."""
    error, known = read.error, read.known
    with np.errstate(invalid="ignore"):
        hits = {
            "accuracy_pi_6": error < COARSE,
            "accuracy_pi_18": error < FINE,
            "flipped": flipped(read.objects.angles, read.answers, read.symmetry),
            "unanswered": np.isnan(read.answers[:, 0]),
        }
    parts = {name: read.objects.category == name for name in read.classes}
    thirds = {third: _third_of(read, third) for third in THIRDS}
    groups = {**parts, **{third: flags for third, flags in thirds.items() if flags.any()}}
    counts = np.zeros((len(read.units), len(groups), len(hits), 2))
    for g, inside in enumerate(groups.values()):
        for h, hit in enumerate(hits.values()):
            for k, flags in enumerate((hit & inside & known, inside & known)):
                counts[:, g, h, k] = np.bincount(read.objects.image[flags], minlength=len(read.units))
    columns, names = [], []
    for h, measure in enumerate(hits):
        for label, classes in means_over(read.classes).items():
            columns.append((h, [list(groups).index(name) for name in classes]))
            names.append(_accuracy_name(measure, label))
        for third in groups:
            if third in THIRDS:
                columns.append((h, [list(groups).index(third)]))
                title = "accuracy at π/6 by occlusion" if measure == "accuracy_pi_6" else ""
                names.append(Name((measure, "occlusion", third), third, title, percent=True))

    def statistic(totals: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = totals[..., 0] / totals[..., 1]
        return np.stack([_mean_known(shares[:, of, h]) for h, of in columns], axis=1)

    facts = {
        "n_images": len(read.units),
        "n_objects": int(known.sum()),
        "n_by_class": {name: int((flags & known).sum()) for name, flags in parts.items()},
    }
    return Measures(read.units, counts, statistic, tuple(names), facts)


def _mean_known(values: Floats) -> Floats:
    """Mean over the last axis, without what is undefined; NaN where all is."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1)
    return mean


ACCURACY: Final = {
    "accuracy_pi_6": "accuracy at π/6",
    "accuracy_pi_18": "accuracy at π/18",
    "flipped": "front taken for back",
    "unanswered": "unanswered",
}
"""Shares of objects → what tables call them."""


def _accuracy_name(measure: str, label: str) -> Name:
    title, is_mean, main = ACCURACY[measure], label.startswith("mean"), measure == "accuracy_pi_6"
    family = title if main else None
    if label == "mean" and measure != "unanswered":
        family = "" if main else "means"
    return Name(
        (measure, label),
        label,
        title if measure != "unanswered" and (main or is_mean) else "",
        family,
        title if label == "mean" else f"  {label}",
        headline=1 if main and label == "mean" else 0,
        part=main and not is_mean,
        percent=True,
    )


def _medians(read: ViewRecords) -> RankedMeasures:
    """Median geodesic error by class, and its mean over classes."""
    c = len(read.units)
    of_class = {}
    for name in read.classes:
        rows = (read.objects.category == name) & read.known
        of_class[name] = sort_errors(read.error[rows], read.objects.image[rows], c)
    groups: dict[str, list[Ranking | SortedErrors]] = {}
    names = []
    for label, classes in means_over(read.classes).items():
        groups[label] = [of_class[name] for name in classes]
        family = "means" if label == "mean" else None
        title = "median error, degrees" if label.startswith("mean") else ""
        names.append(Name(("median_error", label), label, title, family, "median error, degrees"))
    return RankedMeasures(read.units, groups, tuple(names), proportion=False)


def _confusion(read: ViewRecords, *, detected: bool) -> Measures:
    """Confusion of sections of the azimuth, by class: rows the truth; their mean diagonal.

    Of objects that were answered: where the boxes are a model's own, of those it found.
    """
    n, c = CONFUSED, len(read.units)
    truth, said = (azimuth_bins(of[:, 0], n) for of in (read.objects.angles, read.answers))
    alike = same_section(read.objects.angles[:, 0], read.answers[:, 0], read.symmetry, n)
    said = np.where(alike, truth, said)
    used = (truth >= 0) & (said >= 0)
    code = np.array([read.classes.index(name) for name in read.objects.category], dtype=np.int64)
    counts = np.zeros((c, len(read.classes), n, n))
    np.add.at(counts, (read.objects.image[used], code[used], truth[used], said[used]), 1)
    labels = means_over(read.classes)
    columns = [[read.classes.index(name) for name in classes] for classes in labels.values()]

    def statistic(totals: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            diagonal = np.einsum("bcii->bci", totals) / totals.sum(axis=3)
        of_class = _mean_known(diagonal)  # over sections that occur
        return np.stack([_mean_known(of_class[:, of]) for of in columns], axis=1)

    title = f"mean diagonal of the confusion of {n} views" + (", of what was found" if detected else "")
    names = tuple(
        Name(("confusion_diagonal", label), label, title if label.startswith("mean") else "", percent=True)
        for label in labels
    )
    table = counts.sum(axis=0).astype(int)
    facts = {"confusion": {name: table[i].tolist() for i, name in enumerate(read.classes)}}
    # No share of independent cases: whoever gives one answer has 1 in n, come what may.
    return Measures(read.units, counts, statistic, names, facts, proportion=False, detail=detected)
