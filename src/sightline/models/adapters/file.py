"""Models that only read: predictions and detections made elsewhere, from CSV files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.geometry import iou_matrix
from sightline.models.adapters.answer_file import AnswerFile
from sightline.models.adapters.names import image_ids, names_of, scene_ids
from sightline.models.adapters.predicate_file import PredicateAnswers
from sightline.scenes import REVERSE, View
from sightline.skills import SILENT, Detect, Detections, Judgements, Pairs, Relate, RelationsStudy, skills_of
from sightline.store.formats.csvio import NUMBER, TEXT, read_csv, refuse_boxes
from sightline.store.formats.vrd25 import read_predictions

_DETECTION_COLUMNS = {"image_id": TEXT, "entity": TEXT} | dict.fromkeys(
    ("xmin", "xmax", "ymin", "ymax", "score"), NUMBER
)
_REVERSE = np.array(REVERSE, dtype=np.int8)
_TELLING: Final = {
    "predicate": "predicates",
    "step": "answer",
    "image_id": "detect",
    "score": "detect",
    "image_id_1": "relate",
}
"""Column by which a file is known → the skill it has."""


def open_csv(
    path: Path, wanted: Sequence[str] = ()
) -> Predictions | DetectionsFile | PredicateAnswers | AnswerFile:
    """What the header speaks of: predictions, detections, or answers to the predicates or the Turing exam.

    Args:
        path: The file.
        wanted: Skills that are looked for; they tell what a header should have been that speaks of nothing known.
    """
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        header = next(csv.reader(file), [])
    told = [skill for column, skill in _TELLING.items() if column in header]
    kinds: dict[str, Callable[[Path], Predictions | DetectionsFile | PredicateAnswers | AnswerFile]] = {
        "predicates": PredicateAnswers,
        "answer": AnswerFile,
        "detect": DetectionsFile,
        "relate": Predictions,
    }
    return next(kinds[skill] for skill in (*told, *wanted, "relate") if skill in kinds)(path)


class Predictions:
    """Answers from a 2.5VRD prediction CSV.

    A pair is answered by the row of the same two images, in the same order, whose boxes both overlap the asked
    ones with IoU > 0.5; the row with the best smaller IoU wins, then the one with the right classes, then the
    first. A pair without such a row is met with silence.

    Args:
        path: The file. An image is known by its scene id or the end of it after a slash.
        reverse: Also answer (b, a) from a row about (a, b), turned round, where (b, a) has no row of its own.
    """

    def __init__(self, path: Path, reverse: bool = False) -> None:
        self.path = path
        self.reverse = reverse
        frame = read_predictions(path)
        self._a = frame.select("a_x0", "a_y0", "a_x1", "a_y1").to_numpy()
        self._b = frame.select("b_x0", "b_y0", "b_x1", "b_y1").to_numpy()
        self._categories_a = frame["category_a"].to_numpy().astype(object)
        self._categories_b = frame["category_b"].to_numpy().astype(object)
        self._depth = frame["depth"].to_numpy().astype(np.int8)
        self._occlusion = frame["occlusion"].to_numpy().astype(np.int8)
        self._rows = _rows_by_key(frame.select("image_a", "image_b"))
        self._images = {image for pair in self._rows for image in pair}

    def relate(self, pairs: Pairs) -> Judgements:
        """What the file says about these pairs."""
        a, b = map(self._image, scene_ids(pairs))
        row = self._best_rows(pairs, self._rows.get((a, b)), swapped=False)
        depth, occlusion = (np.full(len(pairs), SILENT, dtype=np.int8) for _ in range(2))
        told = row >= 0
        depth[told], occlusion[told] = self._depth[row[told]], self._occlusion[row[told]]
        if self.reverse:
            back = self._best_rows(pairs, self._rows.get((b, a)), swapped=True)
            fill = ~told & (back >= 0)
            depth[fill] = _REVERSE[self._depth[back[fill]]]
            occlusion[fill] = _REVERSE[self._occlusion[back[fill]]]
        return Judgements(depth, occlusion)

    def _image(self, scene_id: str) -> str | None:
        """The file's name of a scene's image; None where it has none."""
        return next((name for name in image_ids(scene_id) if name in self._images), None)

    def _best_rows(self, pairs: Pairs, rows: NDArray[np.intp] | None, *, swapped: bool) -> NDArray[np.intp]:
        """(n,) row of the file that answers each pair, −1 where none does."""
        if rows is None or not len(pairs):
            return np.full(len(pairs), -1, dtype=np.intp)
        a, b, classes_a, classes_b = self._a, self._b, self._categories_a, self._categories_b
        if swapped:
            a, b, classes_a, classes_b = b, a, classes_b, classes_a
        quality = np.minimum(iou_matrix(pairs.boxes_a, a[rows]), iou_matrix(pairs.boxes_b, b[rows]))
        named_a = np.array(pairs.categories_a, dtype=object)[:, None] == classes_a[rows]
        named_b = np.array(pairs.categories_b, dtype=object)[:, None] == classes_b[rows]
        best = quality == quality.max(axis=1, keepdims=True)
        chosen = np.where(best, named_a.astype(np.int8) + named_b, -1).argmax(axis=1)
        enough = quality[np.arange(len(pairs)), chosen] > 0.5
        found: NDArray[np.intp] = np.where(enough, rows[chosen], -1)
        return found


class DetectionsFile:
    """Detections from a CSV with columns image_id, entity, xmin, xmax, ymin, ymax, score.

    Boxes are fractions of the image. An image is known by its scene id, the end of that id after a slash or its
    picture's stem; one that is not in the file has no detections.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        frame = read_csv(path, _DETECTION_COLUMNS)
        refuse_boxes(frame, ("xmin", "xmax", "ymin", "ymax"), file=path)
        self._boxes = frame.select("xmin", "ymin", "xmax", "ymax").to_numpy()
        self._scores = frame["score"].to_numpy()
        self._categories = frame["entity"].to_list()
        self._rows = _rows_by_key(frame.select("image_id"))

    def detect(self, view: View) -> Detections:
        """The file's detections in this view, in file order."""
        found = (self._rows[key] for key in ((name,) for name in names_of(view)) if key in self._rows)
        rows = next(found, np.zeros(0, dtype=np.intp))
        return Detections(
            boxes=self._boxes[rows],
            scores=self._scores[rows],
            categories=tuple(self._categories[row] for row in rows),
            groups=np.zeros(len(rows), dtype=bool),
        )


class Composite:
    """One model out of two: the first relates, the second detects."""

    def __init__(self, relater: Relate, detector: Detect) -> None:
        self.relater = relater
        self.detector = detector
        self.name = f"{_name(relater)} + {_name(detector)}"

    def relate(self, pairs: Pairs) -> Judgements:
        """What the relating model says."""
        return self.relater.relate(pairs)

    def detect(self, view: View) -> Detections:
        """What the detecting model finds."""
        return self.detector.detect(view)

    def prepare(self, study: RelationsStudy) -> None:
        """Hand the study material to whichever of the two wants it."""
        for part in (self.relater, self.detector):
            prepare = getattr(part, "prepare", None)
            if callable(prepare):
                prepare(study)

    def facts(self) -> dict[str, Any]:
        """What the relating model chose, if it says so."""
        return dict(getattr(self.relater, "facts", dict)())


def combine(relater: object, detector: object) -> Composite:
    """One model with the skills *relate* and *detect*, or a ModelError naming the part that lacks its skill."""
    if not isinstance(relater, Relate):
        raise ModelError(f"{_name(relater)} cannot relate (its skills: {', '.join(skills_of(relater)) or 'none'})")
    if not isinstance(detector, Detect):
        raise ModelError(
            f"{_name(detector)} cannot detect (its skills: {', '.join(skills_of(detector)) or 'none'})"
        )
    return Composite(relater, detector)


def _name(model: object) -> str:
    return str(getattr(model, "name", type(model).__name__))


def _rows_by_key(keys: pl.DataFrame) -> dict[tuple[Any, ...], NDArray[np.intp]]:
    """Rows of each distinct key, in file order."""
    named = keys.columns
    grouped = keys.with_row_index("row").group_by(named, maintain_order=True).agg("row")
    return {tuple(key): np.asarray(rows, dtype=np.intp) for *key, rows in grouped.iter_rows()}
