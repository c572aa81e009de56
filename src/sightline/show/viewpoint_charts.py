"""Viewpoints: PASCAL3D+'s Table 1 and Figures 2 to 4 for any dataset; curves, confusion and errors of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from sightline.geometry.viewpoints import Floats
from sightline.show.chart import bars, heat_grid, histogram, stacked_bars
from sightline.show.curves import DrawnCurve, curve_chart, rose
from sightline.show.page import Figure, FigureRow
from sightline.show.table import Cell, Row, Table, percent
from sightline.stats import curve
from sightline.stats.viewed_boxes import ViewMatches
from sightline.store.viewpoint_contents import ELEVATIONS, VIEWS, ClassViews, ViewpointContents

_DENSE = 36
"""Different azimuths from which on viewpoints are called dense."""


def viewpoint_tables(contents: ViewpointContents) -> Iterator[Table]:
    """What the dataset offers, as the paper compares datasets, and its objects by class."""
    yield _offers(contents)
    yield _classes(contents)


def viewpoint_figures(contents: ViewpointContents) -> Iterator[FigureRow]:
    """Azimuths round a circle, class by class; elevations of all classes; how much of the landmarks is hidden."""
    roses = (Figure(name, rose(of.azimuths, title=f"Azimuths of {name}")) for name, of in contents.classes.items())
    yield FigureRow("Azimuths", tuple(roses), "0° is the front; areas are as the counts.", small=True)
    title = "Objects by elevation"
    heights = np.sum([of.elevations for of in contents.classes.values()], axis=0)
    ends = [f"{low}° to {low + 10}°".replace("-", "−") for low in ELEVATIONS]
    kept = np.flatnonzero(heights)
    shown = slice(int(kept[0]), int(kept[-1]) + 1)
    figures = [Figure(title, bars(ends[shown], heights[shown].tolist(), title=title))]
    hidden = {name: of.occlusion for name, of in contents.classes.items() if sum(of.occlusion)}
    if hidden:
        title = "Share of landmarks that something else hides"
        thirds = ("up to 1/3", "up to 2/3", "more")
        rows = {name: dict(zip(thirds, map(float, counts), strict=True)) for name, counts in hidden.items()}
        counts = {name: sum(of) for name, of in hidden.items()}
        figures.append(Figure(title, stacked_bars(rows, categories=thirds, counts=counts, title=title)))
    yield FigureRow("", tuple(figures))


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


def _offers(contents: ViewpointContents) -> Table:
    hidden = sum(of.occluded + of.truncated for of in contents.classes.values())
    dense = f"{contents.azimuths} different azimuths in whole degrees"
    rows = {
        "categories": f"{len(contents.classes)}",
        "objects a category, mean": f"{contents.objects / len(contents.classes):,.0f}",
        "indoor or outdoor": "not told",
        "cluttered background": "not told",
        "objects off the centre": "sizes of images unknown"
        if contents.off_centre is None
        else f"{percent(contents.off_centre)} of boxes do not cover the middle of their image",
        "occlusion label": "yes" if hidden or contents.landmarks else "no",
        "orientation label": f"yes, {percent(contents.objects / contents.boxes)} of boxes",
        "dense viewpoint": f"yes, {dense}" if contents.azimuths >= _DENSE else f"no, {dense}",
    }
    lines = tuple(Row(name, (Cell(text),)) for name, text in rows.items())
    note = "; ".join(contents.against_paper())
    return Table("Viewpoints, as Table 1 of PASCAL3D+ compares", ("", "here"), lines, note=note, words=("here",))


def _classes(contents: ViewpointContents) -> Table:
    sources = sorted(contents.sources) if len(contents.sources) > 1 else []
    columns = (
        "class",
        "objects",
        "images",
        *(source or "no source" for source in sources),
        "sub-types",
        "occluded",
    )
    columns = (*columns, "truncated", "difficult", "angles alone", f"commonest of {VIEWS} views", "from below")

    def row(name: str, of: ClassViews) -> Row:
        counts = (of.objects, of.images, *(of.sources.get(source, 0) for source in sources), len(of.subtypes))
        counts = (*counts, of.occluded, of.truncated, of.difficult, of.coarse)
        shares = (percent(of.commonest), percent(of.below))
        return Row(name, tuple(Cell(text) for text in (*(f"{n:,}" for n in counts), *shares)))

    rows = tuple(row(name, of) for name, of in contents.classes.items())
    note = "Objects with a viewpoint. From below: elevation under 0. Angles alone: no distance."
    return Table("Objects with viewpoints by class", columns, rows, note=note)
