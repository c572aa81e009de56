"""What a model says of a picture and its edits, as records: logits, overlaps with the true labels, or yes and no.

A record is of one class (``category``) in one picture: ``edit`` is its kind (see `items.EditKind`) and ``gone`` the
class that was removed from it, or whose hole a control has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.exams.context.items import UNLABELLED, Edit, Edits, Flags
from sightline.exams.hooks import model_call
from sightline.exams.run import ItemRecords
from sightline.exams.run_schema import RecordColumn
from sightline.exams.turing.conversation import NO, REPLIES, YES, more_than, read_reply
from sightline.geometry.masks import encode
from sightline.skills import Asked, ClassScores, LabelMaps
from sightline.store.label_maps import LabelMap, Same

ALPHA: Final = 0.1
"""Change of an IoU from which on a class counts as affected, unless told otherwise."""
ABSENT: Final = 2
"""Classes that are not in a picture and are asked about all the same."""
TURNED: Final = "turned"
"""Edit of a record that says into which class pixels turned when another class was removed."""
_FOUND: Final = 0.5
"""IoU from which on a segmenter has found a class."""
_SAMPLED: Final = 512
"""Pixels, at most, whose distance from a hole is measured."""

EDITS: Final = ("original", "removal", "false", "empty", TURNED)
RECORDS: Final[Mapping[str, RecordColumn]] = {
    "edit": RecordColumn(pl.String, words=EDITS),
    "gone": RecordColumn(pl.String),
    "category": RecordColumn(pl.String),
    "truth": RecordColumn(pl.String, empty=True, words=(YES, NO)),
    "answer": RecordColumn(pl.String, empty=True, words=REPLIES),
    "right": RecordColumn(pl.Boolean, empty=True),
    "score": RecordColumn(pl.Float64, empty=True, always=False),
    "left": RecordColumn(pl.Float64, empty=True, always=False),
    "confidence": RecordColumn(pl.Float64, empty=True, always=False),
    "iou": RecordColumn(pl.Float64, empty=True, always=False),
    "before": RecordColumn(pl.Float64, empty=True, always=False),
    "pixels": RecordColumn(pl.Int64, empty=True, always=False),
    "both": RecordColumn(pl.Int64, empty=True, always=False),
    "either": RecordColumn(pl.Int64, empty=True, always=False),
    "found": RecordColumn(pl.Float64, empty=True, always=False),
    "to": RecordColumn(pl.String, empty=True, always=False),
    "distance": RecordColumn(pl.Float64, empty=True, always=False),
    "where": RecordColumn(pl.String, empty=True, always=False),
}
"""Columns of the records. ``score``: logit. ``left``: share of the class's pixels that the hole of another class
does not cover. ``before`` and ``iou``: IoU outside the hole, of the original and the
edit. ``pixels``, ``both``, ``either``: true pixels of a class in the original, those also said, and those either.
``found``: share of a removed class's pixels that are still given that class. ``to``, ``distance``: the class that
``pixels`` turned into, their mean distance from the hole in shares of the picture's longer side, ``where`` they are
(COCO's run lengths)."""

Row = dict[str, Any]


def ask_classify(model: Any, edits: Edits, classes: tuple[str, ...], same: Same | None = None) -> ItemRecords:
    """Ask for the logits of all pictures at once; records of the classes that model and data share."""
    views = edits.views
    with model_call(model, "classify"):
        given = model.classify(views)
    said = ClassScores.checked(given, len(views), type(model).__name__)
    match = matched(said.classes, classes, type(model).__name__, same)
    scores, names = match.scores(said.scores), match.classes
    there, removable = set(edits.item.classes), set(edits.removable)
    rows: list[Row] = []
    masks = edits.item.masks()
    for i, edit in enumerate(edits.shown):
        left = edits.left(edit, masks) if edit.kind == "removal" else {}
        for j, name in enumerate(names):
            if edit.kind == "original" or name in there:
                has = name in there and not (edit.kind == "removal" and edit.gone == name)
                rows.append(_row(edit, name, has, score=float(scores[i, j]), left=left.get(name)))
    removed = [row for row in rows if row["edit"] == "removal"]
    for row in removed:
        others = [o["score"] for o in removed if o["category"] == row["category"] and o["gone"] != row["category"]]
        if row["gone"] == row["category"] and row["category"] in removable and others:
            row["right"] = min(others) > row["score"]
    return _records("classify", edits, rows, ("score", "left"))


def ask_segment(model: Any, edits: Edits, classes: tuple[str, ...], same: Same | None = None) -> ItemRecords:
    """Ask for the labels of all pictures at once; records of overlaps with the truth, outside the holes.

    A model that can is held to those of its classes that stand for one of the data's.
    """
    views, who = edits.views, type(model).__name__
    known, among = tuple(getattr(model, "classes", None) or ()), getattr(model, "segment_among", None)
    if known and callable(among):
        shared = [name for names in matched(known, classes, who, same).theirs.values() for name in names]
        with model_call(model, "segment_among"):
            given = among(views, tuple(shared))
    else:
        with model_call(model, "segment"):
            given = model.segment(views)
    size = edits.item.view.require_size()
    said = LabelMaps.checked(given, [size] * len(views), who)
    match = matched(said.classes, classes, who, same)
    maps, names = [match.labels(labels) for labels in said.maps], match.classes
    truth = edits.item.labels(names)
    rows: list[Row] = []
    both, either, pixels = _overlaps(truth, maps[0], len(names))
    for i, name in enumerate(names):
        if either[i]:
            counts = {"both": int(both[i]), "either": int(either[i]), "pixels": int(pixels[i])}
            rows.append(_row(edits.shown[0], name, bool(pixels[i])) | counts)
    for edit, labels in zip(edits.shown[1:], maps[1:], strict=True):
        rows += _changes(edit, truth, maps[0], labels, names)
    columns = ("iou", "before", "pixels", "both", "either", "found", "to", "distance", "where")
    labelled = tuple(name for i, name in enumerate(names) if pixels[i])
    return _records("segment", edits, rows, columns, labelled)


def _changes(
    edit: Edit, truth: NDArray[np.int32], before: NDArray[np.int32], after: NDArray[np.int32], names: Sequence[str]
) -> list[Row]:
    """Records of one edit: how each class fares outside the hole, and where the removed one is still found."""
    assert edit.hole is not None
    rows: list[Row] = []
    outside = np.where(edit.hole, UNLABELLED, truth)
    was, now = (_overlaps(outside, labels, len(names)) for labels in (before, after))
    for i, name in enumerate(names):
        if edit.kind == "removal" and name == edit.gone:
            mask = truth == i
            rows.append(_row(edit, name, False, found=float((after[mask] == i).mean()) if mask.any() else None))
        elif was[2][i]:
            ious = {"before": was[0][i] / was[1][i], "iou": now[0][i] / now[1][i]}
            gap = abs(ious["iou"] - ious["before"])
            rows.append(_row(edit, name, True, gap < ALPHA) | {key: float(v) for key, v in ious.items()})
            turned = (outside == i) & (before == i) & (after != i)
            if edit.kind == "removal" and gap >= ALPHA and turned.any():
                for code, count in zip(*np.unique(after[turned], return_counts=True), strict=True):
                    to = "" if code == UNLABELLED else names[code]
                    there = turned & (after == code)
                    row = _row(edit, name, None, to=to, pixels=int(count), distance=_distance(there, edit.hole))
                    rows.append(row | {"edit": TURNED, "where": encode(there).decode()})
    return rows


def _overlaps(
    truth: NDArray[np.int32], said: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(n,) pixels of each class in both maps, in either, and in the truth; unlabelled ones left out."""
    known = truth != UNLABELLED
    true, given = truth[known], said[known]
    both = np.bincount(true[true == given], minlength=n)
    pixels, claimed = np.bincount(true, minlength=n), np.bincount(given[given != UNLABELLED], minlength=n)
    return both, pixels + claimed - both, pixels


def _distance(changed: Flags, hole: Flags) -> float:
    """Mean distance of pixels from the nearest of a hole, in shares of the longer side; of many, of some."""
    spots, edge = np.argwhere(changed), np.argwhere(hole)
    spots = spots[:: max(1, len(spots) // _SAMPLED)]
    edge = edge[:: max(1, len(edge) // (4 * _SAMPLED))]
    gaps = np.sqrt(((spots[:, None] - edge[None]) ** 2).sum(axis=2).min(axis=1))
    return float(gaps.mean() / max(hole.shape))


def ask_answer(model: Any, edits: Edits, classes: tuple[str, ...], same: Same | None = None) -> ItemRecords:  # noqa: ARG001
    """Ask of every picture whether each class is there: those of the original, and a few that are nowhere."""
    item, rows = edits.item, list[Row]()
    absent = sorted(set(classes) - set(item.classes), key=lambda name: _order(item.id, name))[:ABSENT]
    for edit in edits.shown:
        for name in (*item.classes, *absent):
            text = question(name)
            asked = Asked(item.scene_id, edit.view, {"type": "exist", "class": name}, text, text, None, {}, ())
            with model_call(model, "answer"):
                given = model.answer(asked)
            reply = read_reply(given)
            has = name in item.classes and not (edit.kind == "removal" and edit.gone == name)
            row = _row(edit, name, has, reply == (YES if has else NO), said=more_than(reply, given))
            rows.append(row | {"answer": reply, "confidence": getattr(given, "confidence", None)})
    sure = ("confidence",) if any(row["confidence"] is not None for row in rows) else ()
    return _records("answer", edits, rows, ("said", *sure))


def question(category: str) -> str:
    """Ask for a class in English.

    >>> question("milk_carton"), question("apple")
    ('Is there a milk carton?', 'Is there an apple?')
    """
    words = category.replace("_", " ")
    return f"Is there {'an' if words[:1].lower() in 'aeiou' else 'a'} {words}?"


ASK: Final[Mapping[str, Callable[[Any, Edits, tuple[str, ...], Same | None], ItemRecords]]] = {
    "classify": ask_classify,
    "segment": ask_segment,
    "answer": ask_answer,
}
"""Skill → asks a model about a picture and its edits, by the data's classes and rows of names of one class."""


def presence_judgements(rows: pl.DataFrame) -> pl.DataFrame:
    """Single judgements of a run: truth, answer and right of each class in each picture.

    A logit above 0 says yes; ``confidence`` is the sigmoid of its size. A segmenter finds a class that is in the
    original where their IoU is one half or more; ``overlap`` is that IoU.
    """
    if not rows.height:
        return rows
    skill = rows["skill"][0]
    if skill == "segment":
        whole = rows.filter((pl.col("edit") == "original") & (pl.col("pixels") > 0))
        whole = whole.with_columns(overlap=pl.col("both") / pl.col("either"))
        found = pl.when(pl.col("overlap") >= _FOUND).then(pl.lit(YES)).otherwise(pl.lit(NO))
        return whole.with_columns(answer=found, right=pl.col("overlap") >= _FOUND)
    if skill == "classify":
        answer = pl.when(pl.col("score") > 0).then(pl.lit(YES)).otherwise(pl.lit(NO))
        sure = 1 / (1 + (-pl.col("score").abs()).exp())
        said = rows.with_columns(answer=answer, confidence=sure)
        return said.with_columns(right=pl.col("answer") == pl.col("truth"))
    return rows.filter(pl.col("right").is_not_null())


def _order(item: str, name: str) -> bytes:
    return blake2b(f"{item}|{name}".encode(), digest_size=8).digest()


@lru_cache(maxsize=16)
def matched(said: tuple[str, ...], classes: tuple[str, ...], model: str, same: Same | None = None) -> LabelMap:
    """Which of a model's classes stand for each of the data's; a ModelError where none does."""
    match = LabelMap.between(classes, said, same)
    if not match.classes:
        ours, theirs = (", ".join(sorted(of)[:5]) + (", …" if len(of) > 5 else "") for of in (said, classes))
        raise ModelError(
            f"{model}: the classes do not match: the model knows {ours or 'none'}; the data has {theirs or 'none'}"
        )
    return match


def _row(edit: Edit, category: str, has: bool | None, right: bool | None = None, **more: Any) -> Row:
    truth = None if has is None else YES if has else NO
    right = None if right is None else bool(right)
    return {"edit": edit.kind, "gone": edit.gone, "category": category, "truth": truth, "right": right, **more}


def _records(
    skill: str, edits: Edits, rows: Sequence[Row], more: Sequence[str], labelled: Sequence[str] = ()
) -> ItemRecords:
    names = ("edit", "gone", "category", "truth", "answer", "right", *more)
    shared = {
        "skill": skill,
        "classes": list(edits.item.classes),
        "labelled": list(labelled),
        "removable": list(edits.removable),
        "kept": [f"{name}: {why}" for name, why in edits.kept.items()],
    }
    return ItemRecords(shared, {name: [row.get(name) for row in rows] for name in names})
