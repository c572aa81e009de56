"""Plots of viewpoints: azimuths round a circle, elevations, degrees of occlusion, precision over recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.viewpoint.angles import Floats
from sightline.exams.viewpoint.items import ViewpointItem
from sightline.exams.viewpoint.rankings import ViewMatches
from sightline.geometry import azimuth_bins
from sightline.show.chart import SMALL, bars, heat_grid, histogram
from sightline.show.curves import DrawnCurve, curve_chart, rose
from sightline.show.page import Figure
from sightline.stats import curve

DIRECTIONS: Final = 24
"""Wedges of a rose of azimuths."""


def azimuth_roses(items: Sequence[ViewpointItem]) -> Iterator[Figure]:
    """Draw from where objects are seen, one rose a class (the paper's Figure 2)."""
    for name, angles in _by_class(items).items():
        counts = np.bincount(azimuth_bins(angles[:, 0], DIRECTIONS), minlength=DIRECTIONS)
        yield Figure(name, rose(counts, title=f"Azimuths of {name}"))


def elevation_chart(items: Sequence[ViewpointItem]) -> str:
    """Draw how often objects are seen from each elevation, in degrees (the paper's Figure 3)."""
    angles = np.concatenate([*_by_class(items).values(), np.zeros((0, 3))])
    counts = Counter(np.round(angles[np.isfinite(angles[:, 1]), 1]).astype(int).tolist())
    return histogram(counts, title="Elevations", x_label="degrees of elevation", counted="object", width=SMALL)


def occlusion_chart(items: Sequence[ViewpointItem]) -> str:
    """Draw how many objects have each share of their landmarks hidden (the paper's Figure 4)."""
    ratios = np.concatenate([np.zeros(0), *(item.occlusion for item in items)])
    ratios = ratios[np.isfinite(ratios)]
    tenths = np.bincount(np.minimum((10 * ratios + 1e-9).astype(int), 9), minlength=10)
    shown = tenths.tolist() if len(ratios) else []
    labels = [f"{10 * i}–{10 * i + 10} %" for i in range(len(shown))]
    title = "Objects by the share of their landmarks that something else hides"
    return bars(labels, shown, title=title, width=SMALL)


def precision_recall_charts(matches: Mapping[str, ViewMatches], n_images: int) -> Iterator[Figure]:
    """Draw PR and VPR curves, one chart a class: of boxes alone, and of boxes whose view is right too."""
    for name, found in matches.items():
        if not len(found.detections) or not len(found.objects):
            continue
        ranking, unknown = found.ranking(n_images), found.undefined()
        curves: list[DrawnCurve] = []
        for t, path in enumerate(found.rules.measures):
            if unknown[t] or path[0] not in ("ap", "avp"):
                continue
            drawn = curve(ranking, threshold=t)
            label = "boxes" if path == ("ap",) else f"with the right of {path[1]} views"
            curves.append(DrawnCurve(label, drawn.recall, drawn.precision, path != ("ap",), len(curves)))
        yield Figure(name, curve_chart(curves, title=f"Precision over recall, {name}"))


def confusion_chart(counts: NDArray[np.int64], *, title: str) -> str:
    """Draw a confusion matrix of sections of the azimuth: rows the truth, shares of the row."""
    n = len(counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = counts / counts.sum(axis=1, keepdims=True)
    labels = [f"{360 * i / n:.0f}°" for i in range(n)]
    return heat_grid(shares, counts, labels, labels, title, row_name="truth", col_name="answer")


def error_chart(errors: Floats, *, title: str) -> str:
    """Draw how often each error of rotation, in degrees, occurs."""
    known = errors[np.isfinite(errors)]
    counts = Counter(np.floor(known).astype(int).tolist())
    return histogram(counts, title=title, x_label="degrees of error", counted="object")


def _by_class(items: Sequence[ViewpointItem]) -> dict[str, Floats]:
    """Class → (n, 3) known viewpoints, classes sorted."""
    made: dict[str, list[Floats]] = {}
    for item in items:
        for i in item.asked.tolist():
            made.setdefault(item.categories[i], []).append(item.angles[i])
    return {name: np.array(made[name]) for name in sorted(made)}
