"""Objects with viewpoints as tables: the rows of PASCAL3D+'s Table 1 for any dataset, and counts by class."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.show.table import Cell, Row, Table, percent
from sightline.store.viewpoint_contents import VIEWS, ClassViews, ViewpointContents

_DENSE = 36
"""Different azimuths from which on viewpoints are called dense."""


def viewpoint_tables(contents: ViewpointContents) -> Iterator[Table]:
    """What the dataset offers, as the paper compares datasets, and its objects by class."""
    yield _offers(contents)
    yield _classes(contents)


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
