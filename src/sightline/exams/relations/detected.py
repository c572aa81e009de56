"""The exam on boxes the model found itself: match them to the annotated pairs, then mark.

Detections pass the filters the dataset was collected with, then as many are kept as the image has annotated
objects (the paper's leak, §3.2); pairs of one thing boxed twice, and of a thing and its part, go too. Those filters
that know what classes mean need class rules, and know a class by its MID or its name. Matching ignores classes.
Records tell failures apart: an object not found, both found but the predicate wrong, a pair that is not there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.hooks import model_call
from sightline.exams.relations.boxed import BoxedPairs
from sightline.exams.relations.collection import OVERLAP, ClassRules, filter_detections
from sightline.exams.relations.items import RelationsItem
from sightline.exams.relations.marks import answer_words, confidences, rightness, truth_words
from sightline.exams.relations.matching import MatchedPairs, MatchOutcome, match_boxed
from sightline.exams.relations.protocols import ABSENT, Aspect, Protocol
from sightline.exams.run import ItemRecords
from sightline.geometry import iou
from sightline.scenes import Depth, Occlusion, View
from sightline.skills import SILENT, Detections, Judgements, Pairs

_NEUTRAL: Final[dict[Aspect, int]] = {"depth": int(Depth.CLOSER), "occlusion": int(Occlusion.NONE)}
"""What a perfect predicate says of a pair that is not there: some counted label, so that it is a false positive."""


def detected_records(
    model: Any,
    item: RelationsItem,
    *,
    perfect: bool,
    detections: dict[str, Detections],
    classes: ClassRules | None = None,
) -> ItemRecords:
    """Records of one item on detected boxes: every predicted pair, then every annotated pair that none fitted.

    Args:
        model: Has *detect*, and *relate* unless `perfect`.
        item: Image or image pair, one direction.
        perfect: Take the true label wherever both boxes fit, instead of asking the model.
        detections: Detections by scene, so that no image is looked at twice; filled here.
        classes: What the filters must know about classes; None where nobody does.
    """
    objects_a = _detect(model, item.scene_id, item.pairs.view_a, len(item.truth_boxes_a), detections, classes)
    objects_b = _detect(model, item.other_scene, item.pairs.view_b, len(item.truth_boxes_b), detections, classes)
    pairs = all_pairs(item.pairs, objects_a, objects_b, classes)
    truth = _truth_rows(item)
    if perfect:
        silence = np.full(len(pairs), SILENT, dtype=np.int8)
        judgements = Judgements(silence, silence)
    else:
        with model_call(model, "relate"):
            given = model.relate(pairs)
        judgements = Judgements.checked(given, len(pairs), type(model).__name__)
    predictions = _boxed(pairs, judgements.depth, judgements.occlusion)
    columns: dict[str, list[Any]] = {}
    for aspect in item.rows:
        matched = match_boxed(truth, predictions, Protocol.DEFAULT, aspect)
        made = _rows(item, aspect, matched, perfect)
        rows = made.pop("prediction_row")
        if judgements.confidence:
            made["confidence"] = confidences(judgements, aspect, rows)
        for name, values in made.items():
            columns.setdefault(name, []).extend(values)
    shared: dict[str, Any] = {"setting": item.pairs.setting, "other_scene": item.other_scene}
    if classes is not None:
        shared["unfiltered"] = classes.unknown((*objects_a.categories, *objects_b.categories))
    return ItemRecords(shared, columns)


def all_pairs(asked: Pairs, a: Detections, b: Detections, classes: ClassRules | None = None) -> Pairs:
    """Every ordered pair of detections, in order of confidence.

    Within an image an object is paired neither with itself, nor with a box of the same thing (an IoU over
    `OVERLAP`), nor with what its class is a part of, or has as a part.
    """
    i, j = np.indices((len(a.boxes), len(b.boxes))).reshape(2, -1)
    if asked.setting == "within_image":
        rules = classes or ClassRules()
        ends = [[rules.class_of(name) for name in found.categories] for found in (a, b)]
        kinds = [(ends[0][k], ends[1][m]) for k, m in zip(i, j, strict=True)]
        part_of = rules.part_of
        apart = np.array([pair not in part_of and pair[::-1] not in part_of for pair in kinds], dtype=bool)
        apart &= (i != j) & (iou(a.boxes[i], b.boxes[j]) <= OVERLAP)
        i, j = i[apart], j[apart]
    return replace(
        asked,
        boxes_a=a.boxes[i],
        boxes_b=b.boxes[j],
        categories_a=tuple(a.categories[k] for k in i),
        categories_b=tuple(b.categories[k] for k in j),
    )


def _detect(
    model: Any, scene: str, view: View, keep: int, detections: dict[str, Detections], rules: ClassRules | None
) -> Detections:
    """The best `keep` detections of a scene that pass the filters, each scene looked at once."""
    if scene not in detections:
        with model_call(model, "detect"):
            answer = model.detect(view)
        given = Detections.checked(answer, type(model).__name__)
        how: dict[str, Any] = {"keep": keep, "categories": given.categories, "classes": rules}
        rows = filter_detections(given.boxes, given.scores, given.groups, **how)
        classes = tuple(given.categories[row] for row in rows)
        detections[scene] = Detections(given.boxes[rows], given.scores[rows], classes)
    return detections[scene]


def _truth_rows(item: RelationsItem) -> BoxedPairs:
    """The annotated pairs, each once: matching adds the reverses itself."""
    written = slice(None) if item.pairs.setting == "across_images" else slice(0, len(item.pairs) // 2)
    once = replace(item.pairs, boxes_a=item.pairs.boxes_a[written], boxes_b=item.pairs.boxes_b[written])
    return _boxed(once, item.table.depth[written], item.table.occlusion[written])


def _boxed(pairs: Pairs, depth: NDArray[np.int8], occlusion: NDArray[np.int8]) -> BoxedPairs:
    n, second = len(pairs), int(pairs.setting == "across_images")
    return BoxedPairs(
        images=np.array(["a", "b"], dtype=object),
        image_a=np.zeros(n, dtype=np.int32),
        image_b=np.full(n, second, dtype=np.int32),
        boxes_a=np.ascontiguousarray(pairs.boxes_a),
        boxes_b=np.ascontiguousarray(pairs.boxes_b),
        depth=depth,
        occlusion=occlusion,
    )


def _rows(item: RelationsItem, aspect: Aspect, matched: MatchedPairs, perfect: bool) -> dict[str, Any]:
    n = len(item.pairs) if item.pairs.setting == "across_images" else len(item.pairs) // 2
    asked = np.ones(len(matched.truth), dtype=bool)
    if item.pairs.setting == "across_images":
        asked = matched.truth_row < n  # the other direction is an item of its own
    # A pair nobody was asked about takes the predictions that fit it, and neither counts.
    asked &= (matched.truth_row < 0) | item.table.asked_of(aspect)[matched.truth_row % len(item.pairs)]
    truth, answer, row = matched.truth[asked], matched.answer[asked], matched.truth_row[asked]
    if perfect:
        predicted = matched.prediction_row[asked] >= 0
        ideal = np.where(truth == ABSENT, _NEUTRAL[aspect], np.maximum(truth, SILENT))
        answer = np.where(predicted, ideal, SILENT).astype(np.int8)
    subjects, objects = item.subjects, item.objects
    return {
        "subject": [subjects[r] if r >= 0 else None for r in row],
        "object": [objects[r] if r >= 0 else None for r in row],
        "reverse": np.where(row >= 0, item.reverse[row], item.reverse.all()).tolist(),
        "aspect": [aspect] * len(row),
        "truth": (truths := truth_words(aspect, truth)),
        "answer": (answers := answer_words(aspect, answer)),
        "right": rightness(truths, answers),
        "outcome": outcome_words(truth, answer, matched.outcome[asked]),
        "prediction_row": matched.prediction_row[asked],
    }


def outcome_words(truth: NDArray[Any], answer: NDArray[Any], outcome: NDArray[Any]) -> list[str]:
    """Words of matching outcomes, the answer having possibly been filled in since.

    >>> outcome_words(np.array([1, 1]), np.array([1, -1]), np.array([1, 2]))
    ['correct', 'missed_object']
    """
    final = np.where((truth == answer) & (truth >= 0), MatchOutcome.CORRECT, outcome)
    return [MatchOutcome(code).name.lower() for code in final.tolist()]
