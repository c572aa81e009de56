"""Answers made elsewhere, of any exam, and detections: models that only read a file.

A CSV is known by its header, a JSONL by the keys of its first line (`open_answers`). Whatever is wrong with a file
is a DataError with the file, the row, the field, what was expected and what stood there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.documents import read_json_lines
from sightline.errors import DataError, ModelError
from sightline.exams.relations.unmatched import no_rows, other_boxes, other_images, other_pairs
from sightline.exams.turing.conversation import LATE, RecordedReply
from sightline.geometry import iou_matrix
from sightline.hints import did_you_mean
from sightline.models.adapters.answer_fields import (
    ANGLES,
    PREDICATE_FIELDS,
    TURING_FIELDS,
    VIEWPOINT_FIELDS,
    column_names,
    read_answers,
    require_file,
    rows_by_key,
)
from sightline.models.adapters.image_names import image_ids, names_of, scene_ids
from sightline.models.adapters.picture_answers import PresenceAnswers, ScoreAnswers, StatementAnswers
from sightline.scenes import REVERSE, View
from sightline.scenes.labels import PREDICATES
from sightline.skills import (
    ABSTAIN,
    SILENT,
    UNKNOWN,
    Asked,
    BoxedObjects,
    Detections,
    Judgements,
    Pairs,
    Queries,
    QuerySpec,
    RelationsSpec,
    Setting,
    TuringSpec,
    Verdicts,
    ViewAngles,
    ViewpointSpec,
)
from sightline.store.formats.csvio import NUMBER, TEXT, code, read_csv, refuse, refuse_boxes
from sightline.store.formats.vrd25 import read_predictions

_REVERSE: Final = np.array(REVERSE, dtype=np.int8)
_DETECTION_COLUMNS: Final = {"image_id": TEXT, "entity": TEXT} | dict.fromkeys(
    ("xmin", "xmax", "ymin", "ymax", "score"), NUMBER
)


class Predictions:
    """Answers to the relations exam from a 2.5VRD prediction CSV.

    A pair is answered by the row of the same two images, in the same order, whose boxes both overlap the asked
    ones with IoU > 0.5; the row with the best smaller IoU wins, then the one with the right classes, then the
    first. A pair without such a row is met with silence.

    Args:
        path: The file. An image is known by its scene id or the end of it after a slash.
        reverse: Also answer (b, a) from a row about (a, b), turned round, where (b, a) has no row of its own.
    """

    stored_answers: ClassVar[bool] = True

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
        self._rows = rows_by_key(frame.select("image_a", "image_b"))
        self._images = {image for pair in self._rows for image in pair}
        self._unmatched: tuple[Setting, ...] = ()

    def check_relations(self, spec: RelationsSpec) -> None:
        """DataError that says why, where no row of the file answers any pair to come."""
        self._unmatched = ()
        if not len(self._depth):
            raise no_rows(self.path)
        known = {scene: image for scene in spec.scenes if (image := self._image(scene)) is not None}
        if not known:
            raise other_images(
                self.path, dict.fromkeys(image_ids(scene)[-1] for scene in spec.scenes), self._images
            )
        asked: dict[tuple[str, str], None] = {}
        nearest, matched = None, set[Setting]()
        for setting, table in spec.pairs.items():
            ordered, rows_of = table.ordered(), defaultdict[tuple[str | None, str | None], list[int]](list)
            ends = [ordered.scenes[ordered.object_scene[end]] for end in (ordered.first, ordered.second)]
            for row, (a, b) in enumerate(zip(*ends, strict=True)):
                rows_of[known.get(a), known.get(b)].append(row)
                asked[image_ids(a)[-1], image_ids(b)[-1]] = None
            for key, rows in rows_of.items():
                said = self._rows.get(key)
                turned = said is None and self.reverse
                said = self._rows.get(key[::-1]) if turned else said
                if said is None:
                    continue
                pairs, found = ordered.take(np.array(rows)), (self._a[said], self._b[said])
                boxes = (pairs.boxes_b, pairs.boxes_a) if turned else (pairs.boxes_a, pairs.boxes_b)
                if (np.minimum(iou_matrix(boxes[0], found[0]), iou_matrix(boxes[1], found[1])) > 0.5).any():
                    matched.add(setting)
                    break
                nearest = nearest or (boxes, found)
        if matched:
            self._unmatched = tuple(setting for setting in spec.pairs if setting not in matched)
            return
        if nearest is not None:
            raise other_boxes(self.path, *nearest, 0.5)
        if spec.pairs:
            raise other_pairs(self.path, asked, self._rows)

    def facts(self) -> dict[str, Any]:
        """The settings of which the file answers no pair; nothing where there is none such."""
        return {"unmatched_settings": list(self._unmatched)} if self._unmatched else {}

    def relate(self, pairs: Pairs) -> Judgements:
        """What the file says about these pairs."""
        a, b = map(self._image, scene_ids(pairs))
        row = self._best_rows(pairs, self._rows.get((a, b)), swapped=False)
        depth, occlusion = (np.full(len(pairs), SILENT, dtype=np.int8) for _ in range(2))
        answered = row >= 0
        depth[answered], occlusion[answered] = self._depth[row[answered]], self._occlusion[row[answered]]
        if self.reverse:
            back = self._best_rows(pairs, self._rows.get((b, a)), swapped=True)
            fill = ~answered & (back >= 0)
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
        answering: NDArray[np.intp] = np.where(enough, rows[chosen], -1)
        return answering


class DetectionsFile:
    """Detections from a CSV with columns image_id, entity, xmin, xmax, ymin, ymax, score and, optionally, group.

    With azimuth, elevation and theta, in degrees, it also says from which side each object is seen. Boxes are
    fractions of the image. An image is known by its scene id, the end of that id after a slash or its picture's
    stem; one that is not in the file has no detections. A group, 1 and not 0, is a box around several things.
    """

    stored_answers: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self.path = path
        names = column_names(path)
        grouped = {"group": code({"0": 0, "1": 1}, problem="not a flag")} if "group" in names else {}
        turned = dict.fromkeys(ANGLES, NUMBER) if set(ANGLES) & set(names) else {}
        frame = read_csv(path, _DETECTION_COLUMNS | grouped | turned)
        refuse_boxes(frame, ("xmin", "xmax", "ymin", "ymax"), file=path)
        self._boxes = frame.select("xmin", "ymin", "xmax", "ymax").to_numpy()
        self._groups = frame["group"].to_numpy().astype(bool) if "group" in frame.columns else np.zeros(0, bool)
        self._angles = frame.select(ANGLES).to_numpy() if turned else np.zeros((0, 3))
        self._scores = frame["score"].to_numpy()
        self._categories = frame["entity"].to_list()
        self._rows = rows_by_key(frame.select("image_id"))

    def check_relations(self, spec: RelationsSpec) -> None:
        """DataError where the file has no box in any image to be asked about."""
        self._check(spec.scenes, spec.pictures)

    def check_viewpoint(self, spec: ViewpointSpec) -> None:
        """DataError where the file has no box in any picture to be looked at."""
        self._check(spec.scenes)

    def _check(self, scenes: Sequence[str], pictures: Sequence[str] = ()) -> None:
        names = {name for scene in scenes for name in image_ids(scene)} | set(pictures)
        found = [image for (image,) in self._rows]
        if names.isdisjoint(found):
            raise other_images(self.path, dict.fromkeys(image_ids(scene)[-1] for scene in scenes), found)

    def detect(self, view: View) -> Detections:
        """The file's detections in this view, in file order."""
        known = (self._rows[key] for key in ((name,) for name in names_of(view)) if key in self._rows)
        rows = next(known, np.zeros(0, dtype=np.intp))
        return Detections(
            boxes=self._boxes[rows],
            scores=self._scores[rows],
            categories=tuple(self._categories[row] for row in rows),
            groups=self._groups[rows] if len(self._groups) else np.zeros(len(rows), dtype=bool),
            angles=self._angles[rows] if len(self._angles) else np.zeros((0, 3)),
        )


class PredicateAnswers:
    """Answers to the predicates exam: rows of scene_id, subject, object, predicate and answer, one a judgement.

    Subject and object are places in the scene's stored order from 0, which in a generated dataset are the objects'
    ids. The answer is ``yes``, ``no`` or ``unknown``; what has no row is unknown.

    Args:
        path: A ``.csv`` with these columns in any order, or a ``.jsonl`` with one object of these keys a line.
    """

    views: tuple[str, ...] = ()

    stored_answers: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self.path = path
        types = dict.fromkeys(PREDICATE_FIELDS, pl.Int64) | {"scene_id": pl.String}
        first, frame = read_answers(path, PREDICATE_FIELDS, types)
        itself = pl.col("subject") == pl.col("object")
        problem = "subject and object are the same"
        refuse(frame, itself, problem, file=path, field="object", found=pl.col("object"), line=first)
        again = ~pl.struct("scene_id", "subject", "object", "predicate").is_first_distinct()
        name = pl.col("predicate").replace_strict(dict(enumerate(PREDICATES)), return_dtype=pl.String)
        refuse(frame, again, "answered twice", file=path, field="predicate", found=name, line=first)
        self._rows = {
            str(key): group.select("subject", "object", "predicate", "answer", "line").to_numpy()
            for (key,), group in frame.with_row_index("line", offset=first).group_by(
                "scene_id", maintain_order=True
            )
        }

    def check_predicates(self, spec: QuerySpec) -> None:
        """DataError for a row about a scene or an object that is not there."""
        for scene, rows in self._rows.items():
            if scene not in spec.objects:
                raise DataError(
                    f"no such scene in the data{did_you_mean(scene, spec.objects)}",
                    file=self.path,
                    row=int(rows[0, -1]),
                    field="scene_id",
                    found=scene,
                )
            self._refuse_strangers(rows, spec.objects[scene])

    def predicates(self, queries: Queries) -> Verdicts:
        """What the file says about this scene."""
        n = len(queries)
        answers = np.full((n, n, len(PREDICATES)), UNKNOWN, dtype=np.int8)
        rows = self._rows.get(queries.scene_id)
        if rows is not None:
            self._refuse_strangers(rows, n)
            subject, other, predicate, answer, _ = rows.T
            answers[subject, other, predicate] = answer
        return Verdicts(answers)

    def _refuse_strangers(self, rows: NDArray[np.int64], n: int) -> None:
        for column, field in enumerate(("subject", "object")):
            beyond = rows[rows[:, column] >= n]
            if len(beyond):
                raise DataError(
                    "no such object in the scene",
                    file=self.path,
                    row=int(beyond[0, -1]),
                    field=field,
                    expected=f"0…{n - 1}" if n else "none, it is empty",
                    found=int(beyond[0, column]),
                )


class TuringAnswers:
    """Answers to the Turing exam: rows of scene_id, stream, step and answer, one a question.

    These are the names a written test gives its questions by, and those of a run made with the same seed. Answers
    are read as those of any model; a question without a row is met with an abstention.

    Args:
        path: A ``.csv`` with these columns in any order, or a ``.jsonl`` with one object a line, which may have
            other keys too: a test's own lines with an answer added will do.
    """

    stored_answers: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[tuple[str, int, int], str | bool] = {}
        timed = _times(path)
        self._place: tuple[str, int, int] | None = None
        first, frame = read_answers(path, TURING_FIELDS, dict.fromkeys(TURING_FIELDS, pl.Object), others=True)
        for row, (scene, stream, step, answer) in enumerate(frame.iter_rows(), start=first):
            if (scene, stream, step) in self._answers:
                place = f"{scene}, stream {stream}, step {step}"
                raise DataError("answered twice", file=path, row=row, field="step", found=place)
            self._answers[scene, stream, step] = answer
            if (scene, stream, step) in timed:
                seconds, late = timed[scene, stream, step]
                self._answers[scene, stream, step] = RecordedReply(str(answer), seconds=seconds, late=late)

    def check_turing(self, spec: TuringSpec) -> None:
        """ModelError unless some answer is about one of the exam's images."""
        about = {scene for scene, _, _ in self._answers}
        if about.isdisjoint(spec.images):
            raise ModelError(
                f"{self.path}: none of its answers is about an image of this exam: they are about {min(about)!r} "
                f"…, the exam about {min(spec.images)!r} …"
            )

    def seek(self, scene_id: str, stream: int, step: int) -> None:
        """Remember which question comes next."""
        self._place = (scene_id, stream, step)

    def answer(self, asked: Asked) -> str | bool:  # noqa: ARG002 — the skill's protocol
        """What the file says to the question that `seek` named."""
        if self._place is None:
            raise ModelError(f"{self.path}: nobody told which stream and step the question is of")
        return self._answers.get(self._place, ABSTAIN)


def _times(path: Path) -> dict[tuple[object, object, object], tuple[float, bool]]:
    """Seconds and lateness of the answers in a proctor's log; empty for any other file."""
    if path.suffix.lower() != ".jsonl":
        return {}
    return {
        (row.get("scene_id"), row.get("stream"), row.get("step")): (float(row["seconds"]), row["status"] == LATE)
        for _, row in read_json_lines(path)
        if row.get("status") in ("accepted", LATE) and isinstance(row.get("seconds"), int | float)
    }


class ViewpointAnswers:
    """Answers to the viewpoint exam in given boxes: rows of scene_id, object, azimuth, elevation and theta.

    The object is its id in the scene; angles are degrees. Where a scene has several views, ``scene_id`` is followed
    by a slash and the view's id. What has no row is met with silence.

    Args:
        path: A ``.csv`` with these columns in any order, or a ``.jsonl`` with one object of these keys a line.
    """

    stored_answers: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self.path = path
        types = dict.fromkeys(VIEWPOINT_FIELDS, pl.Float64) | dict.fromkeys(("scene_id", "object"), pl.String)
        self._first, frame = read_answers(path, VIEWPOINT_FIELDS, types)
        again = ~pl.struct("scene_id", "object").is_first_distinct()
        refuse(frame, again, "answered twice", file=path, field="object", found=pl.col("object"), line=self._first)
        keys = zip(frame["scene_id"], frame["object"], strict=True)
        self._rows = {key: row for row, key in enumerate(keys)}
        self._angles = frame.select(ANGLES).to_numpy()

    def check_viewpoint(self, spec: ViewpointSpec) -> None:
        """DataError for a row about a picture or an object that is not asked about."""
        for (scene, thing), row in self._rows.items():
            field, known = ("object", spec.objects[scene]) if scene in spec.objects else ("scene_id", spec.scenes)
            found = thing if field == "object" else scene
            if found not in known:
                problem = f"nothing of that name is asked about{did_you_mean(found, known)}"
                raise DataError(problem, file=self.path, row=row + self._first, field=field, found=found)

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        """What the file says about these objects."""
        rows = [self._rows.get((objects.view.id, thing), -1) for thing in objects.objects]
        return ViewAngles(np.vstack([self._angles, np.full(3, np.nan)])[rows].reshape(-1, 3))


AnswersModel = (
    Predictions
    | DetectionsFile
    | PredicateAnswers
    | TuringAnswers
    | ViewpointAnswers
    | StatementAnswers
    | PresenceAnswers
    | ScoreAnswers
)

_MODELS: Final[Mapping[str, Callable[[Path], AnswersModel]]] = {
    "relate": Predictions,
    "detect": DetectionsFile,
    "predicates": PredicateAnswers,
    "answer": TuringAnswers,
    "viewpoint": ViewpointAnswers,
    "statements": StatementAnswers,
    "presence": PresenceAnswers,
    "classify": ScoreAnswers,
}
_KNOWN_BY: Final = {
    ".csv": {
        "statement": "statements",
        "predicate": "predicates",
        "step": "answer",
        "image_id": "detect",
        "picture": "presence",
        "score": "detect",
        "azimuth": "viewpoint",
        "image_id_1": "relate",
    },
    # Lines of a Turing test may have any other key.
    ".jsonl": {
        "step": "answer",
        "statement": "statements",
        "picture": "presence",
        "azimuth": "viewpoint",
        "predicate": "predicates",
    },
}
"""Column or key by which a file is known → whose model it is; the first that a file has decides."""


def open_answers(path: Path, wanted: Sequence[str] = ()) -> AnswersModel:
    """Open a file of answers or detections, whichever its header or its first line speaks of.

    Args:
        path: A ``.csv`` or ``.jsonl``.
        wanted: Skills that are looked for; they tell what a file should have been that speaks of nothing known.
    """
    require_file(path)
    known, names = _KNOWN_BY[path.suffix.lower()], column_names(path)
    skills = [skill for name, skill in known.items() if name in names]
    if skills[:1] == ["presence"] and "score" in names:
        return ScoreAnswers(path)
    usual = list(known.values())[-1]
    return next(_MODELS[skill] for skill in (*skills, *wanted, usual) if skill in known.values())(path)
