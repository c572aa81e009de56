"""Rows of pictures with what a model said of each: the original, and what an edit made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import SightlineError
from sightline.exams.context.counts import ContextRecords
from sightline.exams.context.items import ContextItem, EditKind, Edits, Flags, seen_things
from sightline.exams.context.records import TURNED, question
from sightline.geometry.masks import decode
from sightline.show.drawing import DARK, WHITE, chip, chip_size, rimmed
from sightline.show.raster import data_uri
from sightline.show.svg import INK, MUTED, document, element, shorten, text_line

OBJECT, CONTEXT = "#3d8bfd", "#d63fb4"
"""Colours of the class that is asked about, and of the context class."""
_WIDE: Final = 250.0
_GAP: Final = 8.0
_LONGEST: Final = 400

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Panel:
    """One picture of a row.

    Attributes:
        title: What it shows.
        pixels: (H, W, 3) uint8; None where it cannot be read.
        figure: What the model says of it, in bold.
        marks: (class, colour) of objects that get a box.
    """

    title: str
    pixels: Pixels | None
    figure: str
    marks: tuple[tuple[str, str], ...] = ()


def row_drawing(item: ContextItem, panels: Sequence[Panel], *, title: str) -> str:
    """Draw pictures side by side, each with a heading and what the model says of it."""
    width, height = item.view.require_size()
    scale = _WIDE / width
    body: list[str] = []
    for i, panel in enumerate(panels):
        x, y = i * (_WIDE + _GAP), 20.0
        body.append(text_line(x, 12, shorten(panel.title, _WIDE, 11), size=11, fill=MUTED))
        place = {"x": x, "y": y, "width": _WIDE, "height": height * scale}
        if panel.pixels is None:
            body.append(element("rect", **place, fill="none", stroke=MUTED))
        else:
            uri = data_uri(panel.pixels, longest=_LONGEST)
            body.append(element("image", href=uri, **place, preserveAspectRatio="none"))
        body += _boxes(item, panel.marks, scale, (x, y))
        shown = shorten(panel.figure, _WIDE, 13, bold=True)
        body.append(text_line(x, y + height * scale + 17, shown, size=13, fill=INK, bold=True))
    wide = len(panels) * (_WIDE + _GAP) - _GAP
    said = "; ".join(f"{panel.title}: {panel.figure}" for panel in panels)
    return document(wide, 20 + height * scale + 24, title, said, *body)


def _boxes(
    item: ContextItem, marks: Sequence[tuple[str, str]], scale: float, corner: tuple[float, float]
) -> Iterator[str]:
    width, height = item.view.require_size()
    unit = (width, height) if item.seen.units == "normalised" else (1, 1)
    for category, colour in marks:
        boxes = [seen.box for name, seen in seen_things(item.scene, item.seen) if name == category]
        for i, (x0, y0, x1, y1) in enumerate(boxes):
            x, y = corner[0] + x0 * unit[0] * scale, corner[1] + y0 * unit[1] * scale
            wide, high = (x1 - x0) * unit[0] * scale, (y1 - y0) * unit[1] * scale
            shape = {"x": x, "y": y, "width": wide, "height": high}
            yield rimmed("rect", shape, colour, 2.0, WHITE, 3.6, rim_opacity=0.6)
            if i == 0:
                inside = max(corner[0], min(x, corner[0] + _WIDE - chip_size(category, 10)[0]))
                yield chip((inside, max(corner[1], y - 15)), category, colour, ink=WHITE, size=10)


def tinted(pixels: Pixels, mask: Flags, colour: str = OBJECT) -> Pixels:
    """The picture with some of its pixels tinted in a colour, given as #rrggbb."""
    tint = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)
    made = pixels.astype(np.float64)
    made[mask] = 0.35 * made[mask] + 0.65 * tint
    return made.astype(np.uint8)


def outlined(pixels: Pixels, hole: Flags) -> Pixels:
    """The picture with the edge of a hole drawn dark, so that an edit can be found."""
    inner = hole.copy()
    inner[1:-1, 1:-1] = hole[:-2, 1:-1] & hole[2:, 1:-1] & hole[1:-1, :-2] & hole[1:-1, 2:]
    made = pixels.copy()
    made[hole & ~inner] = [int(DARK[i : i + 2], 16) for i in (1, 3, 5)]
    return made


def _score(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _case_rows(read: ContextRecords, edits: Edits) -> Iterator[tuple[str, str]]:
    """Original, object without context, context without object, worst first; each with words."""
    item = edits.item
    cases = read.cases.filter(pl.col("item") == item.id).sort(pl.col("lowest") - pl.col("without"), "category")
    whole = read.rows.filter((pl.col("item") == item.id) & (pl.col("edit") == "original"))
    before = dict(whole.select("category", "score").iter_rows())
    for row in cases.iter_rows(named=True):
        name, context, lowest, without = (row[key] for key in ("category", "context", "lowest", "without"))
        blue, magenta = (name, OBJECT), (context, CONTEXT)
        panels = (
            Panel("original", _pixels(edits, "original"), _score(before[name]), (blue, magenta)),
            Panel(f"{name} without {context}", _pixels(edits, "removal", context), _score(lowest), (blue,)),
            Panel(f"{context} without {name}", _pixels(edits, "removal", name), _score(without), (magenta,)),
        )
        verdict = "violated" if lowest < without else "kept" if lowest > without else "a tie"
        said = f"{name}: {verdict}, {_score(lowest)} without {context}, {_score(without)} without {name}"
        yield row_drawing(item, panels, title=f"{item.id}: {said}"), said


def _change_rows(read: ContextRecords, edits: Edits) -> Iterator[tuple[str, str]]:
    """Original, without a class and with what changed tinted, and the false edit, the largest change first."""
    item = edits.item
    of_item = read.rows.filter(pl.col("item") == item.id)
    changes = of_item.filter((pl.col("edit") == "removal") & pl.col("iou").is_not_null())
    width, height = item.view.require_size()
    for row in changes.sort((pl.col("iou") - pl.col("before")).abs(), descending=True).iter_rows(named=True):
        name, gone = row["category"], row["gone"]
        same = (pl.col("category") == name) & (pl.col("gone") == gone)
        turned = of_item.filter((pl.col("edit") == TURNED) & same).sort("pixels", descending=True)
        shown, to = _pixels(edits, "removal", gone), [word or "none" for word in turned["to"]]
        if shown is not None:
            for where in turned["where"]:
                shown = tinted(shown, decode(where.encode(), height, width))
        now = f"{row['iou']:.2f}" + (f", taken for {to[0]}" if to else "")
        first = f"IoU of {name} {row['before']:.2f}"
        panels = [
            Panel("original", _pixels(edits, "original"), first, ((gone, CONTEXT),)),
            Panel(f"without {gone}", shown, now),
        ]
        false = of_item.filter((pl.col("edit") == "false") & same)
        if false.height:
            panels.append(Panel("false edit", _pixels(edits, "false", gone), f"{false['iou'][0]:.2f}"))
        said = f"{first}, without {gone} {row['iou']:.2f}"
        yield row_drawing(item, panels, title=f"{item.id}: {said}"), said


def _reply_rows(read: ContextRecords, edits: Edits) -> Iterator[tuple[str, str]]:
    """Original and without a class, with the replies about it, wrong ones first."""
    item = edits.item
    of_item = read.rows.filter(pl.col("item") == item.id)
    before = dict(of_item.filter(pl.col("edit") == "original").select("category", "answer").iter_rows())
    removed = (pl.col("edit") == "removal") & (pl.col("gone") == pl.col("category"))
    for row in of_item.filter(removed).sort("right", "gone").iter_rows(named=True):
        name = row["gone"]
        panels = (
            Panel(question(name), _pixels(edits, "original"), str(before[name]), ((name, OBJECT),)),
            Panel(f"without {name}", _pixels(edits, "removal", name), str(row["answer"])),
        )
        said = f"{question(name)} {before[name]}, without it {row['answer']}"
        yield row_drawing(item, panels, title=f"{item.id}: {said}"), said


EXAMPLES: Final[Mapping[str, Callable[[ContextRecords, Edits], Iterator[tuple[str, str]]]]] = {
    "classify": _case_rows,
    "segment": _change_rows,
    "answer": _reply_rows,
}
"""Skill → rows of pictures of one item, each with words."""


def _pixels(edits: Edits, kind: EditKind, gone: str = "") -> Pixels | None:
    """A picture of those a model was shown, the edge of its hole drawn; None where it cannot be had."""
    edit = next((edit for edit in edits.shown if (edit.kind, edit.gone) == (kind, gone)), None)
    try:
        pixels = None if edit is None else edit.view.image()
    except SightlineError:
        return None
    return pixels if pixels is None or edit is None or edit.hole is None else outlined(pixels, edit.hole)
