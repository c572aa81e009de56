"""The relations exam end to end on simulated labels: items, marks, resuming, the three kinds of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reference import official
from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.base import Candidate
from sightline.exams.runner import run_exam
from sightline.exams.relations import Protocol, RelationsExam, score_sheets, scores, sheets, sheets_of_records
from sightline.exams.relations.answers import Answers, answers_from_records
from sightline.exams.relations.official import official_sheet
from sightline.exams.relations.pairs import PairTable, concat_pairs
from sightline.exams.relations.study import Study
from sightline.models import candidate
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.skills import SILENT, Detections, Judgements, Pairs
from sightline.store import Dataset, open_dataset, write_scenes


@pytest.fixture(scope="module")
def data(simulated: Path) -> Dataset:
    return open_dataset(simulated)


class Oracle:
    """Knows the labels of every pair of boxes; finds every annotated box."""

    def __init__(self, data: Dataset, shift: float = 0.0) -> None:
        self.truth: dict[tuple[str, bytes, bytes], tuple[int, int]] = {}
        self.boxes: dict[str, np.ndarray] = {}
        self.shift = shift
        for table in RelationsExam().tables(data).values():
            both = table.ordered()
            for k in range(len(both)):
                a, b = both.boxes_a[k], both.boxes_b[k]
                self.truth[table.setting, a.tobytes(), b.tobytes()] = (int(both.depth[k]), int(both.occlusion[k]))
            for s, scene in enumerate(table.scenes):
                self.boxes[scene] = table.boxes[table.object_scene == s]

    def relate(self, pairs: Pairs) -> Judgements:
        ends = zip(pairs.boxes_a - self.shift, pairs.boxes_b - self.shift, strict=True)
        known = [self.truth.get((pairs.setting, a.tobytes(), b.tobytes()), (SILENT, SILENT)) for a, b in ends]
        depth, occlusion = np.array(known, dtype=np.int8).reshape(-1, 2).T
        return Judgements(depth, occlusion)

    def detect(self, view: View) -> Detections:
        boxes = self.boxes[view.id] + self.shift
        return Detections(boxes, np.linspace(1, 0.5, len(boxes)), ("thing",) * len(boxes))


def sat(exam: RelationsExam, model: object, data: Dataset, folder: Path, **more: int) -> dict:
    run = run_exam(exam, Candidate("m", "m", model), data, folder, **more)
    return sheets(run.records())


def test_every_ordered_pair_is_asked_once(data: Dataset) -> None:
    for item in RelationsExam().items(data):
        asked = list(zip(item.subjects, item.objects, strict=True))
        assert len(set(asked)) == len(asked) == len(item.pairs)
        if item.pairs.setting == "within_image":
            ids = sorted({*item.subjects})
            assert set(asked) <= set(permutations(ids, 2))
            assert {(b, a) for a, b in asked} == set(asked)
        else:
            assert item.scene_id != item.other_scene
            assert item.cluster_id == "|".join(sorted([item.scene_id, item.other_scene]))


def test_items_carry_the_votes_of_their_labels(data: Dataset) -> None:
    for item in RelationsExam().items(data):
        majority = item.depth_votes.max(axis=1) * 2 > item.depth_votes.sum(axis=1)
        assert (majority == (item.depth >= 0)).all()
        assert (item.depth_votes.argmax(axis=1)[majority] == item.depth[majority]).all()


def test_a_model_is_never_shown_truth(tmp_path: Path) -> None:
    view = View("0", size=(4, 4), load_depth=lambda: np.ones((4, 4), np.float32))
    scene = Scene(
        "s",
        split="test",
        views=(view,),
        objects=(Object("a", "cup"), Object("b", "cup")),
        sightings=(Sighting("0", "a", (0, 0, 2, 2)), Sighting("0", "b", (1, 1, 4, 4))),
        relations=(Relation("a", "b", "depth", "closer", ("closer",)),),
    )
    stored = write_scenes([scene], tmp_path / "d")
    assert next(iter(stored)).views[0].depth().shape == (4, 4)
    shown = RelationsExam().items(stored)[0].pairs
    with pytest.raises(DataError, match="no depth map"):
        shown.view_a.depth()
    assert not {"depth", "occlusion", "votes"} & set(Pairs.__dataclass_fields__)


@pytest.mark.parametrize("cross_fits", [False, True])  # an ordinary model, one that promises to cross-fit
def test_test_labels_are_for_cross_fitting_only(data: Dataset, cross_fits: bool) -> None:
    seen: list[Study] = []

    class Pupil:
        def prepare(self, study: Study) -> None:
            seen.append(study)

    pupil = Pupil()
    if cross_fits:
        pupil.cross_fits = True  # type: ignore[attr-defined]
    RelationsExam().prepare(pupil, data)
    for setting, table in seen[0].test.items():
        labelled = bool((table.depth >= 0).any() or table.depth_votes.any())
        assert labelled == cross_fits
        assert (seen[0].train[setting].depth >= 0).any()


def test_who_knows_everything_scores_one(data: Dataset, tmp_path: Path) -> None:
    found = score_sheets(sat(RelationsExam(), Oracle(data), data, tmp_path))
    assert [task.micro["all"].f1.value for task in found.subtasks] == [1.0, 1.0, 1.0]
    assert found.average is not None
    assert found.average.value == 1.0


@pytest.mark.parametrize("protocol", ["default", "paper", "official"])
def test_scores_from_records_equal_scores_from_arrays(data: Dataset, tmp_path: Path, protocol: str) -> None:
    run = run_exam(RelationsExam(), candidate("location"), data, tmp_path)
    records = run.records()
    answers = {t.setting: answers_from_records(records, t) for t in RelationsExam().tables(data).values()}
    tables = RelationsExam().tables(data)
    stored = score_sheets(sheets_of_records(records, Protocol(protocol), tables), protocol=protocol)
    direct = scores(answers, protocol=protocol)
    for a, b in zip(direct.subtasks, stored.subtasks, strict=True):
        for label in a.micro:
            assert a.micro[label].f1.value == pytest.approx(b.micro[label].f1.value, abs=0, nan_ok=True)


def test_a_limited_run_stops_and_goes_on(data: Dataset, tmp_path: Path) -> None:
    exam, folder = RelationsExam(), tmp_path / "limited"
    first = run_exam(exam, candidate("bottom_edge"), data, folder, limit=5)
    assert first.status == "stopped"
    assert first.records()["item"].n_unique() == 5
    whole = run_exam(exam, candidate("bottom_edge"), data, folder)
    straight = run_exam(exam, candidate("bottom_edge"), data, tmp_path / "straight")
    assert whole.status == "finished"
    assert whole.records().equals(straight.records())


def test_a_half_recorded_image_pair_is_left_out(data: Dataset, tmp_path: Path) -> None:
    exam = RelationsExam(settings=("across_images",))
    table = exam.tables(data)["across_images"]
    half = run_exam(exam, candidate("bottom_edge"), data, tmp_path, limit=1).records()
    assert half.height > 0
    assert len(answers_from_records(half, table).table) == 0
    assert sheets(half) == {}
    whole = run_exam(exam, candidate("bottom_edge"), data, tmp_path, limit=2).records()
    assert whole["cluster_id"].n_unique() == 1  # the two directions are asked one after the other
    assert len(answers_from_records(whole, table).table) == whole.height


def test_official_on_given_boxes_is_the_evaluator(data: Dataset, tmp_path: Path) -> None:
    records = run_exam(RelationsExam(), candidate("location"), data, tmp_path).records()
    for setting, table in RelationsExam().tables(data).items():
        answers = answers_from_records(records, table)
        for aspect in ("depth", "occlusion") if setting == "within_image" else ("depth",):
            ours = official_sheet(answers, aspect).counts(Protocol.OFFICIAL).sum(axis=(0, 1))
            assert ours.tolist() == evaluator_counts(answers, aspect)


def test_clear_order_accuracy_and_clusters_do_not_hang_on_the_protocol(data: Dataset, tmp_path: Path) -> None:
    tables = RelationsExam().tables(data)
    for limit in (None, 20):
        records = run_exam(RelationsExam(), candidate("location"), data, tmp_path / str(limit), limit=limit).records()
        found = [
            score_sheets(sheets_of_records(records, protocol, tables), protocol=protocol, resamples=200)
            for protocol in Protocol
        ]
        for tasks in zip(*(scored.subtasks for scored in found), strict=True):
            assert len({(t.pairs, t.clear and t.clear.value, t.clear and t.clear.n) for t in tasks}) == 1
            asked = records.filter(pl.col("setting") == tasks[0].setting)["cluster_id"].n_unique()
            assert all(t.micro["all"].f1.n <= asked for t in tasks)


def evaluator_counts(answers: Answers, aspect: str) -> list[list[int]]:
    """tp, fp, fn a label by the per-row oracle, from rows as its files would have them."""
    table = answers.table
    image_a, image_b = (table.scenes[table.object_scene[end]].tolist() for end in (table.first, table.second))
    boxes = [map(tuple, array.tolist()) for array in (table.boxes_a, table.boxes_b)]
    ends = list(zip(image_a, image_b, *boxes, strict=True))
    truth, said = (
        [official.Row(*end, d, o) for end, d, o in zip(ends, t.depth.tolist(), t.occlusion.tolist(), strict=True)]
        for t in (table, answers)
    )
    spoken = [row for row in said if row.label(aspect) != SILENT]
    totals = official.score(truth[: len(truth) // 2], spoken, aspect)
    return [[sum(c[label][k] for c in totals.values()) for k in range(3)] for label in range(4)]


def test_detected_boxes_that_fit_score_as_the_true_ones(data: Dataset, tmp_path: Path) -> None:
    model = Oracle(data, shift=1e-4)
    for boxes in ("detected", "perfect"):
        found = score_sheets(sat(RelationsExam(boxes=boxes), model, data, tmp_path / boxes))
        for task in found.subtasks:
            # The filters drop near-duplicates; what is kept must be judged right wherever it fits.
            assert task.micro["all"].precision.value > 0.9, (boxes, task.name)
            assert task.micro["all"].recall.value > 0.9, (boxes, task.name)


@dataclass
class HalfBlind:
    """Finds every other box and never says anything right."""

    oracle: Oracle

    def detect(self, view: View) -> Detections:
        found = self.oracle.detect(view)
        return Detections(found.boxes[::2], found.scores[::2], found.categories[::2])

    def relate(self, pairs: Pairs) -> Judgements:
        right = self.oracle.relate(pairs)
        wrong = [np.where(code < 0, 1, (code + 1) % 4).astype(np.int8) for code in (right.depth, right.occlusion)]
        return Judgements(*wrong)


def test_failures_are_told_apart(data: Dataset, tmp_path: Path) -> None:
    run = run_exam(RelationsExam(boxes="detected"), Candidate("h", "h", HalfBlind(Oracle(data))), data, tmp_path)
    records = run.records()
    outcomes = dict(records["outcome"].value_counts().iter_rows())
    # A wrong label may be right for another pair of boxes that overlap these: rare, but not never.
    assert outcomes["wrong_predicate"] > 10 * outcomes.get("correct", 0)
    assert outcomes["missed_object"] > outcomes["wrong_predicate"]
    truths = records.filter(records["truth"] != "absent")
    given = run_exam(RelationsExam(), candidate("bottom_edge"), data, tmp_path / "given").records()
    assert truths.height == given.height  # every annotated ordered pair stands in the records once
    tallied = score_sheets(sheets(records))
    assert all(task.micro["all"].f1.value < 0.02 for task in tallied.subtasks)


@pytest.mark.parametrize("study", ["within_image", "across_images", "joint"])
def test_the_study_plan_deals_out_the_training_pairs(data: Dataset, study: str) -> None:
    seen: list[Study] = []

    class Pupil:
        def prepare(self, study: Study) -> None:
            seen.append(study)

    RelationsExam(study=study).prepare(Pupil(), data)  # type: ignore[arg-type]
    train = RelationsExam(split="validation").tables(data)
    expected = concat_pairs(list(train.values())) if study == "joint" else train[study]  # type: ignore[index]
    for setting, table in seen[0].train.items():
        assert table.setting == setting
        assert len(table) == len(expected)
        assert (table.boxes_a == expected.boxes_a).all()


def test_joined_tables_keep_every_pair(data: Dataset) -> None:
    parts = list(RelationsExam().tables(data).values())
    joined: PairTable = concat_pairs(parts)
    assert len(joined) == sum(map(len, parts))
    names = [t.categories[c] for t in parts for c in t.category[t.first]]
    assert [joined.categories[c] for c in joined.category[joined.first]] == names
    assert (joined.boxes_b == np.concatenate([t.boxes_b for t in parts])).all()
    assert len(np.unique(joined.cluster)) == sum(len(np.unique(t.cluster)) for t in parts)


class TooShort:
    def relate(self, pairs: Pairs) -> Judgements:
        return Judgements(np.zeros(1, np.int8), np.zeros(1, np.int8))


class OutOfRange:
    def relate(self, pairs: Pairs) -> Judgements:
        return Judgements(np.full(len(pairs), 4), np.zeros(len(pairs), np.int8))


class WrongType:
    def relate(self, pairs: Pairs) -> str:
        return "closer"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (object(), "needs the skill 'relate'"),  # no skill
        (TooShort(), "shape"),  # one answer for all pairs
        (OutOfRange(), "outside"),  # a code that is no label
        (WrongType(), "must return Judgements"),  # words instead of codes
    ],
)
def test_a_model_that_breaks_the_protocol_is_told_how(
    data: Dataset, tmp_path: Path, model: object, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        run_exam(RelationsExam(), Candidate("bad", "bad", model), data, tmp_path)


def test_an_unknown_split_is_named(data: Dataset) -> None:
    with pytest.raises(DataError, match="no such split"):
        RelationsExam(split="tset").tables(data)


@pytest.mark.parametrize("train", ["valdation", "test"])  # misspelt, the split being sat
def test_a_training_split_that_cannot_be_is_refused(data: Dataset, train: str) -> None:
    with pytest.raises(ConfigError, match="training split"):
        RelationsExam(train_split=train).training(data)


def test_a_study_plan_without_material_is_refused(data: Dataset) -> None:
    class Pupil:
        def prepare(self, study: Study) -> None: ...

    with pytest.raises(ConfigError, match="joint"):
        RelationsExam(split="validation", study="joint").prepare(Pupil(), data)
