"""The viewpoint exam on the report card: tables by class, confusion, errors, curves, and single pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np
import polars as pl

from sightline.errors import PictureError
from sightline.exams.base import Name
from sightline.exams.card import CardContext
from sightline.exams.runner import items_of
from sightline.exams.scoring import RunResult
from sightline.exams.viewpoint.exam import ViewpointExam
from sightline.exams.viewpoint.items import ViewpointItem
from sightline.exams.viewpoint.measures import ACCURACY, THIRDS, titles
from sightline.exams.viewpoint.records import ANSWER, BOX, COARSE, TRUTH, ViewRecords
from sightline.exams.viewpoint.segmentation import ROWS, VARIANTS, cad_library
from sightline.geometry.viewpoints import flipped, rotation_gap
from sightline.show.page import Example, Figure, FigureRow, Section
from sightline.show.table import Cell, Row, Table, scored, shared
from sightline.show.viewpoint_charts import confusion_chart, error_chart, precision_recall_charts, viewpoint_figures
from sightline.show.viewpoint_drawing import DrawnView, pose_outlines, view_drawing, view_frame
from sightline.stats.viewed_boxes import MEANS, means_over
from sightline.store.viewpoint_contents import viewpoint_contents
from sightline.text import counted

_ONE: Final = np.ones(1, dtype=np.int64)
MEDIAN: Final[tuple[str, ...]] = ("median_error",)

GIVEN_NOTE: Final = (
    "Accuracy is the share of objects whose rotation is wrong by less than π/6 (30°) or π/18 (10°); an answer "
    "takes front for back where it is wrong, and right to π/6 once turned by 180°. Means go over classes."
)
DETECTED_NOTE: Final = (
    "AP counts boxes alone. The precision of AVP counts only boxes whose azimuth lies in the right one of so many "
    "equal sections, that of ARP those whose rotation is wrong by less than so many degrees; both have the recall "
    "of AP."
)
THIRDS_NOTE: Final = (
    "Objects by the share of their landmarks that another object or the edge of the picture hides. Precision is "
    "normalised (Hoiem): R·N / (R·N + F) with N one third of the class’s objects; objects of other thirds are "
    "ignored."
)
SEGMENTATION_NOTE: Final = (
    "A CAD model is drawn from a viewpoint over what is seen of its object; IoU is pooled over the pixels of a "
    "class. Elevation, distance and theta are the true ones, and so is the azimuth but in the rows of models, "
    "which count the objects they found. Random models: mean ± standard deviation of five draws. The closest model "
    "is the other one of its class whose surface is nearest."
)


def words(name: Name) -> str:
    """The measure, and what it is over."""
    over = name.path[-1]
    measure = ACCURACY.get(name.path[0]) or (name.table or " ".join(name.path[:-1]).upper())
    return f"{measure}, mean over classes" if over == "mean" else over if name.part else f"{measure}, {over}"


def card_facts(card: CardContext) -> Iterator[tuple[str, str]]:
    """How much was asked, and in whose boxes."""
    facts = card.focus.scores.facts
    yield "asked", f"{counted(facts['n_images'], 'image')}, {counted(facts['n_objects'], 'object')}"
    detected = _exam(card).boxes == "detected"
    yield "boxes", f"the models’ own, {counted(facts['n_detections'], 'detection')}" if detected else "given"


def scores(card: CardContext) -> Iterator[Table]:
    """Every run in one line: means over classes."""
    shown = _measures(card)
    rows = [card.row(r, [_cell(r, path, MEANS[0]) for path in shown]) for r in card.answered]
    note = DETECTED_NOTE if _exam(card).boxes == "detected" else GIVEN_NOTE
    yield Table("Means over classes", ("model", *shown.values()), tuple(rows), note=note)


def sections(card: CardContext) -> Iterator[Section]:
    """Class by class, by occlusion, confusion and errors of the focus, and what the data looks like."""
    if not card.answered:
        return
    read = ViewRecords.of(card.focus.records, _exam(card).rules)
    detected = _exam(card).boxes == "detected"
    yield Section("classes", "Class by class", (), tuple(_class_tables(card, read.classes)))
    thirds = tuple(_third_tables(card, detected))
    if thirds:
        yield Section("occlusion", "By degree of occlusion", (THIRDS_NOTE,) if detected else (), thirds)
    if detected:
        charts = tuple(precision_recall_charts(read.matches, len(read.units)))
        shown = (FigureRow(card.focus.name, charts, small=True),) if charts else ()
        yield Section("curves", "Precision over recall", (), shown)
    yield Section("confusion", "Which views are taken for which", (), tuple(_confusion(card, read)))
    segmentation = tuple(_segmentation_tables(card))
    if segmentation:
        yield Section("segmentation", "Segmentation by pose", (SEGMENTATION_NOTE,), segmentation)
    contents = viewpoint_contents(card.data.tables(_exam(card).settled(card.data).split))
    if contents is not None:
        yield Section("data", "What is asked about", (), tuple(viewpoint_figures(contents)), folded=True)


def _exam(card: CardContext) -> ViewpointExam:
    return cast("ViewpointExam", card.exam)


def _measures(card: CardContext) -> dict[tuple[str, ...], str]:
    """Path of each measure by class → what tables call it."""
    if _exam(card).boxes == "detected":
        return titles(_exam(card).rules)
    return {**{(measure,): title for measure, title in ACCURACY.items()}, MEDIAN: "median error, degrees"}


def _cell(result: RunResult, path: Sequence[str], label: str) -> Cell:
    found = result.scores.at(*path, label)
    return scored(found, 1) if path == MEDIAN else shared(found)


def _class_tables(card: CardContext, classes: Sequence[str]) -> Iterator[Table]:
    labels = list(means_over(classes))
    for path, title in _measures(card).items():
        shown = [r for r in card.answered if path != ("unanswered",) or _any(r)]
        rows = [card.row(r, [_cell(r, path, label) for label in labels]) for r in shown]
        yield Table(title[0].upper() + title[1:], ("model", *labels), tuple(rows))


def _any(result: RunResult) -> bool:
    share = result.scores.at("unanswered", MEANS[0])
    return share is not None and share.value > 0


def _third_tables(card: CardContext, detected: bool) -> Iterator[Table]:
    def cells(r: RunResult, label: str = MEANS[0]) -> list[Cell]:
        paths = [("normalised_ap", t, label) if detected else ("accuracy_pi_6", "occlusion", t) for t in THIRDS]
        return [shared(r.scores.at(*path)) for path in paths]

    rows = [card.row(r, cells(r)) for r in card.answered]
    if not any(cell.text != "–" for row in rows for cell in row.cells):
        return
    title = "Normalised AP, mean over classes" if detected else "Accuracy at π/6"
    yield Table(title, ("model", *THIRDS), tuple(rows))
    if detected:
        labels = [name for name in card.parts("normalised_ap", next(iter(THIRDS))) if name not in MEANS]
        rows = [Row(label, tuple(cells(card.focus, label))) for label in labels]
        yield Table(f"Normalised AP of {card.focus.name}", ("class", *THIRDS), tuple(rows))


def _segmentation_tables(card: CardContext) -> Iterator[Table]:
    """One table a variant: the rows that need no model, then one a run; columns the means and classes."""
    for path, how in VARIANTS.items():
        facts = card.focus.scores.facts.get(path)
        if facts is None:
            continue
        spread = facts["random_sd"]
        fixed = []
        for row, name in ROWS.items():
            cells = [shared(card.focus.scores.at(path, row, label)) for label in spread]
            if row == "random":
                cells = [
                    replace(cell, text=f"{cell.text} ± {100 * spread[k]:.1f}")
                    for k, cell in zip(spread, cells, strict=True)
                ]
            fixed += [] if row == "predicted" else [Row(name, tuple(cells))]
        said = [
            card.row(r, [shared(r.scores.at(path, "predicted", label)) for label in spread]) for r in card.answered
        ]
        title = f"IoU over {counted(facts['n_images'], 'image')}{how}"
        yield Table(title, ("drawn", *spread), (*fixed, *said))


def _confusion(card: CardContext, read: ViewRecords) -> Iterator[Table | Figure | FigureRow]:
    tables = card.focus.scores.facts.get("confusion", {})
    total = np.sum([np.array(table) for table in tables.values()], axis=0) if tables else np.zeros((8, 8), int)
    title = f"Azimuths of all classes, {card.focus.name}"
    errors = read.error[np.isfinite(read.answers[:, 0])]
    figures = (
        Figure("Confusion of 8 views", confusion_chart(total, title=title)),
        Figure("Errors of rotation", error_chart(errors, title=f"Errors of {card.focus.name}")),
    )
    yield FigureRow("All classes", figures)
    labels = means_over(read.classes)
    rows = [
        card.row(r, [shared(r.scores.at("confusion_diagonal", name)) for name in labels]) for r in card.answered
    ]
    yield Table("Mean diagonal of the confusion of 8 views", ("model", *labels), tuple(rows))


def examples(card: CardContext, result: RunResult) -> Iterator[Example]:
    """Single pictures: boxes, which way each object faces, and which way the model says it does."""
    items = {item.id: item for item in items_of(card.exam.settled(card.data), card.data)}
    for kind, ids in card.chosen(result).items():
        for name in ids:
            records = result.records.rows.filter((pl.col("item") == name) & (pl.col("kind") == "object"))
            shown = drawn_views(cast("ViewpointItem", items[name]), records.to_dicts(), card)
            right = int(records["right"].sum() or 0)
            asked = int(records["right"].count())
            note = f"{right} of {counted(asked, 'object')} right to π/6"
            svg = view_drawing(view_frame(shown, items[name].view.size, _pixels(items[name])), shown, title=name)
            facts = {"right": right, "asked": asked, "objects": [one.words for one in shown]}
            yield Example(result.exam.name, result.name, kind, name, name, svg, note, facts)


def drawn_views(item: ViewpointItem, rows: Sequence[dict[str, Any]], card: CardContext) -> list[DrawnView]:
    """The objects of one picture as they are drawn."""
    scene = card.data.scene(item.scene_id)
    view = scene.view(item.view.id.removeprefix(f"{scene.id}/")) if len(scene.views) > 1 else scene.views[0]
    landmarks = {s.object_id: s.landmarks for s in scene.seen_in(view.id)}
    cad_library(card.data, _exam(card).cads)
    said = {row["object"]: row["answer"] for row in rows if row["answer"] is not None}
    outlines = pose_outlines(scene, view, said) if _exam(card).segmentation else {}
    made = []
    for row in rows:
        truth, answer = (np.array([row[name] for name in names], dtype=np.float64) for names in (TRUTH, ANSWER))
        x0, y0, x1, y1 = (row[side] for side in BOX)
        more = landmarks.get(row["object"], ()), outlines.get(row["object"], ((), ()))
        made.append(DrawnView(row["category"], (x0, y0, x1, y1), truth, answer, _words(truth, answer), *more))
    return made


def _words(truth: np.ndarray[Any, Any], answer: np.ndarray[Any, Any]) -> str:
    if np.isnan(truth).any() or np.isnan(answer[0]):
        return "not answered" if np.isfinite(truth).all() else "view unknown"
    gap = float(rotation_gap(truth[None], answer[None], _ONE)[0])
    if flipped(truth[None], answer[None], _ONE)[0]:
        return f"{gap:.0f}° off: flipped"
    return f"{gap:.0f}° off" + ("" if gap < COARSE else ": wrong")


def _pixels(item: ViewpointItem) -> Any:
    """The picture, or None where there is none or it cannot be read."""
    try:
        return item.view.image() if item.view.load_image is not None else None
    except PictureError:
        return None


def examples_page(card: CardContext) -> dict[str, Any]:  # noqa: ARG001 - a hook
    """What the page says of the pictures on show."""
    lead = (
        "Single pictures, mistakes first. The green arrow points where an object’s front points, the orange one "
        "where the model says it does; the thin lines point to its top. Below, each object from above, its front "
        "at the foot: the dots stand where the camera is (green) and where the model says it is (orange). "
        "Landmarks are yellow where they are seen. Where an object has a CAD model, its outlines are drawn as it "
        "stands and as it would with the model’s azimuth."
    )
    return {"examples_lead": (lead,)}
