"""The relations exam end to end on simulated labels: items, marks, resuming, the three kinds of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reference import official
from sightline.api.examination import run_models
from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.base import Candidate, exam_of, run_name
from sightline.exams.relations import Protocol, RelationsExam, mark_pairs
from sightline.exams.relations.exam import BASELINES, LEARNING, StudyPlan
from sightline.exams.relations.marks import SUBTASKS, MarkedPairs
from sightline.exams.relations.pairs import PairTable, concat_pairs
from sightline.exams.run import RunRecords
from sightline.exams.runner import items_of, run_exam
from sightline.exams.scoring import Scores, compare_runs, score_records
from sightline.models import candidate, needs_training
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.skills import SILENT, Detections, Judgements, Pairs, RelationsSpec, RelationsStudy
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


def scores_of(exam: RelationsExam, model: object, data: Dataset, folder: Path) -> Scores:
    run = run_exam(exam, Candidate("m", "m", model), data, folder)
    return score_records(exam, run.read(), lambda: data, resamples=100)


def figures(scores: Scores, figure: str = "f1") -> list[float]:
    """One figure of all labels together, of the three sub-tasks."""
    found = [scores.at("subtasks", f"{setting}/{aspect}", "micro", "all", figure) for setting, aspect in SUBTASKS]
    return [interval.value for interval in found if interval is not None]


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
        majority = item.table.depth_votes.max(axis=1) * 2 > item.table.depth_votes.sum(axis=1)
        assert (majority == (item.table.depth >= 0)).all()
        assert (item.table.depth_votes.argmax(axis=1)[majority] == item.table.depth[majority]).all()


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


class Pupil:
    """Keeps what it is given to learn from."""

    def prepare(self, study: RelationsStudy) -> None:
        self.seen = study

    def relate(self, pairs: Pairs) -> Judgements:
        return Judgements(np.zeros(len(pairs), np.int8), np.zeros(len(pairs), np.int8))


def studied(exam: RelationsExam, data: Dataset, folder: Path, **more: bool) -> RelationsStudy:
    pupil = Pupil()
    for name, value in more.items():
        setattr(pupil, name, value)
    run_exam(exam, Candidate("p", "p", pupil), data, folder, limit=1)
    return pupil.seen


@pytest.mark.parametrize("cross_fits", [False, True])  # an ordinary model, one that promises to cross-fit
def test_test_labels_are_for_cross_fitting_only(data: Dataset, tmp_path: Path, cross_fits: bool) -> None:
    study = studied(RelationsExam(), data, tmp_path, **({"cross_fits": True} if cross_fits else {}))
    for setting, table in study.test.items():
        labelled = bool((table.depth >= 0).any() or table.depth_votes.any())
        assert labelled == cross_fits
        assert (study.train[setting].depth >= 0).any()


def test_who_knows_everything_scores_one(data: Dataset, tmp_path: Path) -> None:
    scores = scores_of(RelationsExam(), Oracle(data), data, tmp_path)
    assert figures(scores) == [1.0, 1.0, 1.0]
    average = scores.at("average")
    assert average is not None
    assert average.value == 1.0


def test_marks_are_the_same_with_and_without_the_tables(data: Dataset, tmp_path: Path) -> None:
    records = run_exam(RelationsExam(), candidate("location"), data, tmp_path).records()
    tables = RelationsExam().tables(data)
    alone, joined = mark_pairs(records), mark_pairs(records, tables)
    assert list(alone) == list(joined) == list(SUBTASKS)
    for task, marked in joined.items():
        assert (marked.clusters == alone[task].clusters).all()
        assert (marked.counts(Protocol.DEFAULT) == alone[task].counts(Protocol.DEFAULT)).all()
        assert (marked.clear_counts() == alone[task].clear_counts()).all()
        assert (marked.truth == getattr(marked.pairs, marked.aspect)).all()
        assert (marked.cluster == marked.pairs.cluster).all()
        with pytest.raises(ConfigError, match="tables"):
            alone[task].pairs.boxes_a  # noqa: B018


def test_records_say_what_is_right(data: Dataset, tmp_path: Path) -> None:
    for boxes, spec in (("truth", "location"), ("detected", None)):
        who = Candidate("m", "m", Oracle(data, shift=1e-4)) if spec is None else candidate(spec)
        records = run_exam(RelationsExam(boxes=boxes), who, data, tmp_path / boxes).records()
        undecided = records["truth"] == "no_majority"
        assert records["right"].is_null().to_list() == undecided.to_list()  # nobody can be right about these
        same = (records["truth"] == records["answer"]).fill_null(value=False)
        assert records.filter(~undecided)["right"].to_list() == same.filter(~undecided).to_list()


def test_a_record_of_another_dataset_is_refused(data: Dataset, tmp_path: Path) -> None:
    records = run_exam(RelationsExam(), candidate("location"), data, tmp_path).records()
    tables = RelationsExam(split="validation").tables(data)
    with pytest.raises(DataError, match="does not have"):
        mark_pairs(records, tables)


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
    half = run_exam(exam, candidate("bottom_edge"), data, tmp_path, limit=1).records()
    assert half.height > 0
    assert mark_pairs(half) == mark_pairs(half, exam.tables(data)) == {}
    whole = run_exam(exam, candidate("bottom_edge"), data, tmp_path, limit=2).records()
    assert whole["cluster_id"].n_unique() == 1  # the two directions are asked one after the other
    assert mark_pairs(whole, exam.tables(data))["across_images", "depth"].judgements == whole.height


def test_official_on_given_boxes_is_the_evaluator(data: Dataset, tmp_path: Path) -> None:
    records = run_exam(RelationsExam(), candidate("location"), data, tmp_path).records()
    tables = RelationsExam().tables(data)
    aligned, matched = mark_pairs(records, tables), mark_pairs(records, tables, protocol=Protocol.OFFICIAL)
    assert list(aligned) == list(matched) == list(SUBTASKS)
    for task, marked in matched.items():
        ours = marked.counts(Protocol.OFFICIAL).sum(axis=(0, 1))
        assert ours.tolist() == evaluator_counts(aligned[task])


def test_clear_order_accuracy_and_clusters_do_not_hang_on_the_protocol(data: Dataset, tmp_path: Path) -> None:
    for limit in (None, 20):
        run = run_exam(RelationsExam(), candidate("location"), data, tmp_path / str(limit), limit=limit)
        records = run.read()
        found = [
            score_records(RelationsExam(protocol=p), records, lambda: data, resamples=200)
            for p in ("default", "paper", "official")
        ]
        for name in found[0].facts["subtasks"]:
            clear = [scores.at("subtasks", name, "clear_order", "micro") for scores in found]
            assert len({(i.value, i.n) if i else None for i in clear}) == 1
            assert len({scores.facts["subtasks"][name]["pairs"] for scores in found}) == 1
            asked = records.rows.filter(pl.col("setting") == name.split("/")[0])["cluster_id"].n_unique()
            for scores in found:
                f1 = scores.at("subtasks", name, "micro", "all", "f1")
                assert f1 is not None
                assert f1.n <= asked


def evaluator_counts(marked: MarkedPairs) -> list[list[int]]:
    """tp, fp, fn a label by the per-row oracle, from rows as its files would have them."""
    table = marked.pairs
    image_a, image_b = (table.scenes[table.object_scene[end]].tolist() for end in (table.first, table.second))
    boxes = [map(tuple, array.tolist()) for array in (table.boxes_a, table.boxes_b)]
    ends = list(zip(image_a, image_b, *boxes, strict=True))
    truth, said = (
        [official.Row(*end, code, code) for end, code in zip(ends, codes.tolist(), strict=True)]
        for codes in (marked.truth, marked.answer)
    )
    spoken = [row for row in said if row.label(marked.aspect) != SILENT]
    totals = official.score(truth[: len(truth) // 2], spoken, marked.aspect)
    return [[sum(c[label][k] for c in totals.values()) for k in range(3)] for label in range(4)]


def test_detected_boxes_that_fit_score_as_the_true_ones(data: Dataset, tmp_path: Path) -> None:
    model = Oracle(data, shift=1e-4)
    for boxes in ("detected", "perfect"):
        scores = scores_of(RelationsExam(boxes=boxes), model, data, tmp_path / boxes)
        # The filters drop near-duplicates; what is left must be judged right wherever it fits.
        assert min(figures(scores, "precision")) > 0.9, boxes
        assert min(figures(scores, "recall")) > 0.9, boxes


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
    assert max(figures(score_records(RelationsExam(), run.read(), lambda: data, resamples=100))) < 0.02


@pytest.mark.parametrize("plan", ["within_image", "across_images", "joint"])
def test_the_study_plan_deals_out_the_training_pairs(data: Dataset, tmp_path: Path, plan: StudyPlan) -> None:
    study = studied(RelationsExam(study_plan=plan), data, tmp_path)
    train = RelationsExam(split="validation").tables(data)
    expected = concat_pairs(list(train.values())) if plan == "joint" else train[plan]  # type: ignore[index]
    for setting, table in study.train.items():
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


def test_where_no_split_is_called_test_one_must_be_named(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dataset, "splits", ("train", "validation"))
    with pytest.raises(
        DataError, match=r"no split called test, so say which .*--split train or --split validation"
    ):
        RelationsExam().tables(open_dataset(data.path))


@pytest.mark.parametrize("train", ["valdation", "test"])  # misspelt, the split being sat
def test_a_training_split_that_cannot_be_is_refused(data: Dataset, train: str) -> None:
    with pytest.raises(ConfigError, match="training split"):
        RelationsExam(train_split=train).training(data)


def test_a_study_plan_without_material_is_refused(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="joint"):
        studied(RelationsExam(split="validation", study_plan="joint"), data, tmp_path)


def test_the_split_is_settled_by_the_data_and_stands_in_the_manifest(data: Dataset, tmp_path: Path) -> None:
    exam = RelationsExam(study_plan="joint", protocol="paper", detections=Path("boxes.csv"))
    assert exam.settled(data).split == "test"
    assert exam.settled(data).identity(data) == {
        "split": "test",
        "train_split": None,
        "settings": ["within_image", "across_images"],
        "boxes": "truth",
        "study": "joint",
    }
    assert run_name(exam.settled(data), "size", data) == "size@test@study-joint"
    run = run_exam(exam, candidate("size"), data, tmp_path, limit=1)
    assert exam_of(RelationsExam, run.options, "manifest.json") == RelationsExam(split="test", study_plan="joint")


def test_tables_and_items_are_made_once(data: Dataset) -> None:
    assert RelationsExam().tables(data)["within_image"] is RelationsExam(split="test").tables(data)["within_image"]
    assert items_of(RelationsExam(split="test"), data) is items_of(RelationsExam(split="test"), data)


def test_baselines_that_learn_are_those_of_the_registry() -> None:
    assert {name for name in BASELINES if needs_training(name)} == LEARNING


def test_who_takes_part(data: Dataset, tmp_path: Path) -> None:
    boxes = tmp_path / "boxes.csv"
    assert list(RelationsExam().entrants(["mine"], data, baselines=True).baselines) == list(BASELINES)
    assert RelationsExam().entrants(["mine"], data, baselines=False).baselines == {}
    untaught = RelationsExam(train_split="").entrants([], data, baselines=True)
    assert not set(untaught.baselines) & LEARNING
    assert all(name in untaught.notes[0] for name in LEARNING)
    found = RelationsExam(boxes="detected", detections=boxes).entrants(["mine", Pupil], data, baselines=True)
    assert found.models == (f"mine+{boxes}", Pupil)
    assert found.baselines["size"] == f"size+{boxes}"
    perfect = RelationsExam(boxes="perfect", detections=boxes)
    assert perfect.entrants([], data, baselines=True).models == (str(boxes),)
    assert perfect.entrants(["mine"], data, baselines=True).baselines == {}


@pytest.mark.parametrize(
    ("exam", "message"),
    [
        (RelationsExam(detections=Path("a.csv")), "goes with"),  # boxes that nobody would look at
        (RelationsExam(boxes="detected", detections=Path("a.json")), "expected a .csv"),  # another kind of file
        (RelationsExam(boxes="detected"), "find no boxes"),  # baselines cannot detect
    ],
)
def test_boxes_that_make_no_sense_are_refused(data: Dataset, exam: RelationsExam, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        exam.entrants([], data, baselines=True)


def test_a_model_is_told_what_is_to_come(data: Dataset, tmp_path: Path) -> None:
    class Choosy(Pupil):
        def check_relations(self, spec: RelationsSpec) -> None:
            assert set(spec.scenes) == {item.scene_id for item in RelationsExam().items(data)}
            raise ModelError(f"{len(spec.categories)} classes are too many")

    with pytest.raises(ModelError, match="too many"):
        run_exam(RelationsExam(), Candidate("c", "c", Choosy()), data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


class WithinOnly(Oracle):
    """Knows everything, but has no answer across images."""

    unable = {"across_images": "it looks at one image"}  # noqa: RUF012

    def relate(self, pairs: Pairs) -> Judgements:
        assert pairs.setting == "within_image"
        return super().relate(pairs)


def test_a_model_is_not_asked_what_it_has_no_answer_for(data: Dataset, tmp_path: Path) -> None:
    results = run_models(RelationsExam(), [WithinOnly(data), "bottom_edge"], data, tmp_path, baselines=False)
    partly, whole = results.models
    assert partly.finished
    assert "m was not" not in str(results.notes)
    assert results.notes[0].endswith("was not asked about pairs across two images: it looks at one image")
    assert partly.scores.at("average") is None
    assert partly.scores.facts["average"] is None
    assert partly.scores.facts["not_scored"] == ["across_images/depth"]
    assert partly.to_dict()["not_asked"] == {"across_images": "it looks at one image"}
    assert results.to_dict()["not_asked"] == {"across_images": "it looks at one image"}
    assert figures(partly.scores) == [1.0, 1.0]
    assert "Not scored" not in str(results)  # the data has these labels
    assert whole.rank > partly.rank  # an average is no figure of one sub-task
    table = str(results.tables()[0])
    assert table.count("–") == 2  # across images, and the average
    compared = compare_runs(RelationsExam(), partly.run, whole.run, lambda: data, resamples=50)
    assert {row.name.strip() for row in compared.comparisons} >= {"within_image depth", "within_image occlusion"}
    assert not any("across" in row.name for row in compared.comparisons)
    again = run_models(RelationsExam(), [WithinOnly(data)], data, tmp_path, baselines=False)
    assert again.notes == results.notes[:1]  # also of a run that is there already


def test_a_model_without_an_answer_to_anything_is_refused(data: Dataset, tmp_path: Path) -> None:
    exam = RelationsExam(settings=("across_images",))
    with pytest.raises(ModelError, match="it looks at one image; the data has no other pairs"):
        run_exam(exam, Candidate("w", "w", WithinOnly(data)), data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_without_truth_a_model_is_asked_what_it_can_answer(data: Dataset, tmp_path: Path) -> None:
    exam = RelationsExam(no_truth=True, changes=())

    class Closer(WithinOnly):
        def relate(self, pairs: Pairs) -> Judgements:
            assert pairs.setting == "within_image"
            return Judgements(np.ones(len(pairs), np.int8), np.zeros(len(pairs), np.int8))

    results = run_models(exam, [Closer(data), "bottom_edge"], data, tmp_path, baselines=False)
    assert "was not asked about pairs across two images" in results.notes[0]
    assert results.models[0].scores.at("contradictions", "across_images/depth", "symmetry", "share") is None
    assert str(results)


def test_records_of_a_setting_the_run_did_not_ask_are_refused() -> None:
    """A spoilt manifest, found by `make fuzz`: the card then lacked the boxes of these pairs."""
    rows = pl.DataFrame({"item": ["a"], "setting": ["across_images"]})
    with pytest.raises(
        DataError, match=r"setting: not a setting of the run .*expected within_image, as the run says"
    ):
        RelationsExam(settings=("within_image",)).measures(RunRecords(rows, rows), pytest.fail)
