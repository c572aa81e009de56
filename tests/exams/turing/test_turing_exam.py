"""The Turing exam: what is asked, what a model may know, deadlines, and runs on disk."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from exams.turing.turing_toy import toy_data, toy_scenes, toy_vocabulary
from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.base import Candidate, run_name
from sightline.exams.registry import exam_of_run
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.exams.scoring import Scores, compare_runs, score_records
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.annotations.columns import subset
from sightline.exams.turing.annotations.photos import half_of
from sightline.exams.turing.annotations.semantics import answer, walk
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.exam import TuringExam, TuringItem
from sightline.exams.turing.measures import asked_rows, stream_rows
from sightline.exams.turing.source import EngineStreams, TrainingStudy, WrittenStreams
from sightline.exams.turing.stream.written import write_test
from sightline.exams.turing.vocabulary.questions import Question, question_from_json
from sightline.skills import Asked
from sightline.store import Dataset
from sightline.store.convert import tables_from_scenes

VOCABULARY = toy_vocabulary()
TRAIN = toy_data(150, seed=1)
TEST = toy_data(12, seed=2)


def make(**options: Any) -> TuringExam:
    return TuringExam(
        train=TRAIN, vocabulary=VOCABULARY, **{"min_support": 10, "questions": 12, "seed": 3} | options
    )


@pytest.fixture(scope="module")
def exam() -> TuringExam:
    return make(streams=2)


def source(exam: TuringExam, data: Dataset = TEST) -> EngineStreams:
    streams = exam.source(data)
    assert isinstance(streams, EngineStreams)
    return streams


def scores(run: Run) -> Scores:
    return score_records(exam_of_run(run), run.read(), lambda: TEST, resamples=100)


def long_item(exam: TuringExam, questions: int) -> TuringItem:
    return next(item for item in exam.items(TEST) if len(item.stream.history) > questions)


class Keen:
    """Notes everything it is told, and says yes."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.heard: list[tuple[str, bool]] = []

    def answer(self, asked: Asked) -> str:
        self.asked.append(asked)
        return "Yes, certainly."

    def on_truth(self, asked: Asked, truth: bool) -> None:
        assert asked is self.asked[-1]
        self.heard.append((asked.text, truth))


def run(exam: TuringExam, model: object, folder: Path, data: Dataset = TEST, **how: Any) -> Run:
    return run_exam(exam, Candidate("m", "m", model), data, folder, **how)


def test_every_record_is_true_of_its_image(exam: TuringExam, tmp_path: Path) -> None:
    """Each question of a run, answered anew by the plain semantics from the history before it."""
    columns = annotate(TEST, VOCABULARY)
    images = {columns.image(i).id: columns.image(i) for i in range(len(columns))}
    made = run(exam, Keen(), tmp_path / "r")
    records = made.records()
    assert len(asked_rows(records)) > 100
    for (scene, _), rows in records.group_by(["scene_id", "item"], maintain_order=True):
        history = []
        for row in rows.iter_rows(named=True):
            question = question_from_json(json.loads(row["question"]), VOCABULARY)
            holds, labelled = walk(images[str(scene)], tuple(history), VOCABULARY)
            assert holds
            truth, _ = answer(images[str(scene)], question, labelled, VOCABULARY)
            assert truth.value == row["truth"]
            assert row["right"] == (row["answer"] == row["truth"])
            assert (row["type"], row["answer"]) == (question.kind, "" if truth.value == "ambiguous" else "yes")
            if row["p_yes"] is not None and truth.value != "ambiguous":
                assert 0.35 - 1e-9 <= row["p_yes"] <= 0.65 + 1e-9
                assert row["support"] >= 10
                history.append((question, truth.value == "yes"))
    streams = stream_rows(made.read())
    assert len(streams) == 24
    assert streams["length"].sum() == len(asked_rows(records))
    assert set(streams["halted"]) <= {"exhausted", "limit"}
    assert scores(made).facts["n_streams"] == 24


def test_the_first_images_are_a_fair_sample(exam: TuringExam) -> None:
    """Data is often stored by kind, so the exam has an order of its own; streams of an image stay together."""
    stored = annotate(TEST, VOCABULARY).ids.tolist()
    items = exam.items(TEST)
    assert [item.scene_id for item in items[::2]] != stored
    assert sorted(item.scene_id for item in items[::2]) == sorted(stored)
    assert [(item.scene_id, item.number) for item in items[1::2]] == [(item.scene_id, 1) for item in items[::2]]
    assert [item.stream.scene_id for item in items[:3]] == [item.scene_id for item in items[:3]]
    some = {scene.id for scene in list(TEST)[:5]}
    fewer = Dataset.from_tables(tables_from_scenes([scene for scene in TEST if scene.id in some]))
    own = [item.scene_id for item in make(streams=2).items(fewer)]
    assert own == [item.scene_id for item in items if item.scene_id in some]


def test_a_model_is_told_what_was_true_and_nothing_else(exam: TuringExam) -> None:
    model = Keen()
    for item in exam.items(TEST)[:4]:
        model.asked, model.heard = [], []
        exam.ask(model, item)
        stream = item.stream
        truths = [said for _, said in stream.history]
        assert [truth for _, truth in model.heard] == truths
        for k, asked in enumerate(model.asked):
            assert [answer for _, _, answer in asked.history] == truths[:k]
            assert [text for _, text, _ in asked.history] == [before.text for before in model.asked[:k]]
            assert asked.view.load_depth is asked.view.load_ids is None
            assert question_from_json(asked.question, VOCABULARY) == stream.history[k][0]
            whole = stream.history[k][0].region == "image"
            assert (asked.region is None) == (whole or asked.question["type"] in ("attribute", "relation"))
        given = [str(step.label) for step in stream.steps if step.label]
        assert list(model.asked[-1].labels) == given[: len(model.asked[-1].labels)]
        assert len(given) - len(model.asked[-1].labels) <= 1


def test_withheld_answers_stay_withheld() -> None:
    class Deaf(Keen):
        def on_truth(self, asked: Asked, truth: bool) -> None:
            raise AssertionError("told")

    exam, model = make(withhold=True), Deaf()
    for item in exam.items(TEST)[:5]:
        exam.ask(model, item)
    assert {answer for asked in model.asked for _, _, answer in asked.history} == {None}
    assert any(asked.labels for asked in model.asked)


def test_streams_do_not_depend_on_the_model_but_on_the_seed(tmp_path: Path) -> None:
    class Contrary(Keen):
        def answer(self, asked: Asked) -> str:
            super().answer(asked)
            return "no"

    a, b = run(make(), Keen(), tmp_path / "a"), run(make(), Contrary(), tmp_path / "b")
    other = run(make(seed=4), Keen(), tmp_path / "c")
    questions = [r.records().select("item", "step", "question", "truth").rows() for r in (a, b, other)]
    assert questions[0] == questions[1] != questions[2]
    compared = compare_runs(exam_of_run(a), a, b, lambda: TEST, resamples=100)
    assert compared.dropped == 0
    right = asked_rows(a.records())["right"].mean()
    assert compared.comparisons[0].a == pytest.approx(right)
    assert compared.comparisons[0].b == pytest.approx(1 - right)
    with pytest.raises(ConfigError, match="seed is 3 in one and 4 in the other"):
        compare_runs(exam_of_run(a), a, other, lambda: TEST)
    withheld = run(make(withhold=True), Keen(), tmp_path / "d")
    assert compare_runs(exam_of_run(a), a, withheld, lambda: TEST, resamples=100).comparisons[0].difference == 0


def test_a_stopped_run_goes_on(exam: TuringExam, tmp_path: Path) -> None:
    part = run(exam, Keen(), tmp_path / "r", limit=5)
    assert part.status == "stopped"
    whole = run(exam, Keen(), tmp_path / "r")
    assert (whole.status, len(whole.done)) == ("finished", 24)
    fresh = run(make(streams=2), Keen(), tmp_path / "s")
    timeless = [r.records().drop("seconds") for r in (whole, fresh)]
    assert timeless[0].equals(timeless[1])
    with pytest.raises(ConfigError, match="holds another run: its options"):
        run(make(seed=9, streams=2), Keen(), tmp_path / "r")


class Slow:
    """Answers some questions after a pause that anybody can end."""

    def __init__(self, slow: set[int], forever: bool = False) -> None:
        self.slow, self.forever, self.n, self.at_work, self.most = slow, forever, 0, 0, 0
        self.go_on = threading.Event()
        self.heard: list[int] = []

    def answer(self, asked: Asked) -> str:
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        self.n += 1
        if self.n in self.slow:
            self.go_on.wait(None if self.forever else 0.5)
        self.at_work -= 1
        return "no"

    def on_truth(self, asked: Asked, truth: bool) -> None:
        assert not self.at_work
        self.heard.append(len(asked.history))


def test_a_late_answer_is_recorded_and_the_run_goes_on() -> None:
    exam, model = make(deadline=0.3), Slow({2})
    item = long_item(exam, 5)
    marks = exam.ask(model, item)
    asked = [reply for reply in marks.columns["answer"] if reply]
    assert asked[:4] == ["no", "late", "no", "no"]
    assert model.most == 1
    assert model.heard == sorted(model.heard)
    assert len(model.heard) == len(asked)  # what it missed while it was busy it heard later
    late = marks.columns["answer"].index("late")
    assert not marks.columns["right"][late]
    assert marks.columns["seconds"][late] >= 0.3


def test_a_model_that_hangs_is_late_for_ever_and_never_called_twice_at_once() -> None:
    exam, model = make(deadline=0.02), Slow({1}, forever=True)
    start = time.perf_counter()
    ask = exam.asker(model, TEST)
    replies = [ask(item).columns["answer"] for item in exam.items(TEST)[:2]]
    assert {reply for of in replies for reply in of if reply} == {"late"}
    assert (model.n, model.most) == (1, 1)
    assert time.perf_counter() - start < 0.02 * 2 * 24 + 2
    model.go_on.set()


def test_a_model_that_hangs_while_it_hears_is_late_from_then_on() -> None:
    class Stunned(Slow):
        def on_truth(self, asked: Asked, truth: bool) -> None:
            self.go_on.wait()

    exam, model = make(deadline=0.05), Stunned(set())
    item = long_item(exam, 3)
    waiting = threading.Timer(20, model.go_on.set)  # else this test would hang where the exam does
    waiting.start()
    asked = [reply for reply in exam.ask(model, item).columns["answer"] if reply]
    assert not model.go_on.is_set()
    waiting.cancel()
    assert asked == ["no", *["late"] * (len(asked) - 1)]
    assert model.n == 1
    model.go_on.set()


BROKEN = """
class Broken:
    def answer(self, asked):
        return self.helper(asked)
    def helper(self, asked):
        raise ValueError("no eyes")
class Sullen:
    def answer(self, asked):
        return "yes"
    def on_truth(self, asked, truth):
        raise KeyError(truth)
class Lazy:
    def prepare(self, study):
        raise RuntimeError("no wish to learn")
    def answer(self, asked):
        return "yes"
"""


@pytest.mark.parametrize("deadline", [None, 5.0])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Broken", r"answer\(\) failed: ValueError: no eyes \(models.py, line 6\)"),  # where it is raised
        ("Sullen", r"on_truth\(\) failed: KeyError: (True|False) \(models.py, line 11\)"),
        ("Lazy", r"prepare\(\) failed: RuntimeError: no wish to learn \(models.py, line 14\)"),
    ],
)
def test_a_model_that_raises(name: str, says: str, deadline: float | None, tmp_path: Path) -> None:
    from sightline.models import load

    (tmp_path / "models.py").write_text(BROKEN)
    with pytest.raises(ModelError, match=says):
        run(make(deadline=deadline), load(f"{tmp_path / 'models.py'}:{name}"), tmp_path / "r")
    assert Run.open(tmp_path / "r").status == "failed"


def test_replies_nobody_can_read_are_kept() -> None:
    class Vague(Keen):
        def answer(self, asked: Asked) -> Any:
            super().answer(asked)
            return [None, "perhaps", "abstain"][len(asked.history) % 3]

    exam = make()
    item = long_item(exam, 3)
    marks = exam.ask(Vague(), item)
    asked = [(r, s) for r, s in zip(marks.columns["answer"], marks.columns["said"], strict=True) if r]
    assert asked[:3] == [("unparsed", "NoneType: None"), ("unparsed", "perhaps"), ("abstain", "")]


def test_what_was_learned_is_not_asked(tmp_path: Path) -> None:
    both = Dataset.from_tables(
        tables_from_scenes([*toy_scenes(20, seed=1, split="test"), *toy_scenes(60, seed=1, split="train")])
    )
    with pytest.raises(ConfigError, match=r"80 photos would be learned from .* \(test, train\), .*\(--halves\)"):
        run(TuringExam(train=both, vocabulary=VOCABULARY), Keen(), tmp_path / "r", both)
    with pytest.raises(ConfigError, match="20 photos would be learned from"):
        run(TuringExam(train=both, vocabulary=VOCABULARY, split="test"), Keen(), tmp_path / "r", both)
    apart = TuringExam(train=both, vocabulary=VOCABULARY, min_support=10, split="test", train_split="train")
    assert apart.check(None, both) == {"images": 20, "train_images": 60, "shared_ids": 0}
    halves = TuringExam(train=both, vocabulary=VOCABULARY, min_support=10, halves=True)
    noted = halves.check(None, both)
    assert noted["images"] + noted["train_images"] == 80
    assert noted["shared_ids"] == 0
    assert {half_of(item.scene_id) for item in halves.items(both)} == {1}
    with pytest.raises(ConfigError, match="halves are of one dataset"):
        make(halves=True).items(TEST)
    with pytest.raises(DataError, match="no such split"):
        TuringExam(train=both, vocabulary=VOCABULARY, split="tset", train_split="train").items(both)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"streams": 0},  # none
        {"questions": 0},
        {"min_support": 0},
        {"seed": -1},
        {"epsilon": 0.0},  # nothing would be unpredictable
        {"epsilon": 0.6},
        {"smoothing": -1.0},
        {"assume": ("forget_everything",)},
        {"deadline": 0.0},
        {"deadline": float("nan")},
        {"deadline": float("inf")},  # no clock goes on that long
        {"deadline": 1e10},
    ],
)
def test_options_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        make(**wrong)


def test_data_of_other_words_is_refused() -> None:
    scenes = toy_scenes(3, seed=4, split="test")
    strange = [replace(s, objects=tuple(replace(o, category="fog") for o in s.objects)) for s in scenes]
    with pytest.raises(DataError, match="no object belongs to a type"):
        make().check(None, Dataset.from_tables(tables_from_scenes(strange)))


def test_a_subset_of_the_columns_holds_the_same_images() -> None:
    columns = annotate(TEST, VOCABULARY)
    rows = np.array([7, 0, 3])
    some = subset(columns, rows)
    assert len(some) == 3
    for i, row in enumerate(rows.tolist()):
        mine, theirs = some.image(i), columns.image(row)
        assert (mine.id, mine.objects) == (theirs.id, theirs.objects)
        for name in ("types", "crowd", "yes", "no", "seen", "holds", "fails"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name))


def test_practice_streams_are_about_training_images_the_estimator_has_not_seen(exam: TuringExam) -> None:
    study = exam.study(None, TEST)
    streams = study.practice(1000)
    assert len(streams) == len(TRAIN) // 4
    assert {stream.scene_id for stream in streams} <= set(study.columns.ids.tolist())
    assert study.practice(3) == exam.study(None, TEST).practice(3)
    assert len(study.practice(3)) == 3


def written_test(exam: TuringExam, folder: Path) -> TuringExam:
    """The exam's streams as a written test, to be taken from its folder."""
    streams = [item.stream for item in exam.items(TEST)]
    about = {"settings": {"min_support": 10, "epsilon": 0.2}}
    key = folder / "key.jsonl"
    write_test(folder / "t", streams, TEST, VOCABULARY, source(exam).training, key=key, about=about)
    return TuringExam(test=folder / "t", key=key)


def test_a_written_test_asks_the_same(tmp_path: Path) -> None:
    exam = make()
    written = written_test(exam, tmp_path)
    data = written.open(None)
    assert written.identity(data)["epsilon"] == 0.2  # the report looks it up there
    online = run(exam, Keen(), tmp_path / "a")
    offline = run(written, Keen(), tmp_path / "b", data)
    told = ("scene_id", "stream", "step", "type", "story", "question", "text", "p_yes", "support", "truth", "right")
    keyed_rows = map(json.loads, (tmp_path / "key.jsonl").read_text().splitlines())
    named = {row["image"]: row["scene_id"] for row in keyed_rows}
    asked = offline.records().with_columns(pl.col("scene_id").replace(named))  # images have an order of their own
    assert online.records().select(told).sort(told[:3]).rows() == asked.select(told).sort(told[:3]).rows()
    assert isinstance(written.study(None, data), TrainingStudy)
    assert exam_of_run(offline).open(tmp_path / "t").fingerprint == data.fingerprint  # for a report
    lines = (tmp_path / "key.jsonl").read_text().splitlines(keepends=True)

    def keyed(name: str, *rows: str) -> WrittenStreams:
        (tmp_path / name).write_text("".join(rows))
        changed = TuringExam(test=tmp_path / "t", key=tmp_path / name).source(data)
        assert isinstance(changed, WrittenStreams)
        return changed

    streams = keyed("same.jsonl", *lines).streams
    turned = keyed("turned.jsonl", *lines[::-1]).streams  # order does not matter, but what was asked does
    assert sorted(map(str, turned)) == sorted(map(str, streams))
    assert {stream.halted for stream in streams} == {i.stream.halted for i in exam.items(TEST) if i.stream.steps}
    with pytest.raises(DataError, match=f"row {len(lines) + 1}, step: answered twice"):
        keyed("double.jsonl", *lines, lines[0])
    other = json.loads(lines[0]) | {"question": json.loads(lines[1])["question"]}
    with pytest.raises(DataError, match="row 1, question: not a question of the test"):
        keyed("other.jsonl", json.dumps(other) + "\n", *lines[1:])
    with pytest.raises(DataError):
        TuringExam(test=tmp_path / "t", key=tmp_path / "none.jsonl").open(None)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"key": None}, "marked with its key: give --key"),
        ({"streams": 2}, "--streams was settled when the test was written"),
        ({"train_split": "train"}, "--train-split was settled"),
        ({"assume": ("negatives",)}, "--assume was settled"),
        ({"test": None}, "--key goes with --test"),
        ({"test": None, "key": None}, "nothing to ask about"),
    ],
)
def test_what_a_written_test_has_settled(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        TuringExam(**{"test": Path("t"), "key": Path("k")} | options).open(None)
    with pytest.raises(ConfigError, match="--data was settled"):
        TuringExam(test=Path("t"), key=Path("k")).open(Path("data"))


def test_streams_without_a_question_are_counted(tmp_path: Path) -> None:
    made = run(make(min_support=150, epsilon=1e-9), Keen(), tmp_path / "r")
    found = scores(made).to_dict()
    assert (found["n_streams"], found["n_questions"], found["streams"]["empty"]) == (12, 0, 12)
    assert found["streams"]["halted"] == {"exhausted": 12}


def test_too_little_training_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"150 images to learn from, .* rest on 151: .* a smaller --min-support"):
        make(min_support=151).items(TEST)


def test_a_corpus_is_laid_out_once_and_mapped_by_all(tmp_path: Path) -> None:
    question = [Question("exist", VOCABULARY.types[0].name)]
    chances = source(make(corpora=tmp_path)).source.estimator().chances(question)
    [folder] = tmp_path.iterdir()
    made = (folder / "corpus.json").stat().st_mtime_ns
    for again in (make(corpora=tmp_path, streams=3), make()):
        assert source(again).source.estimator().chances(question) == chances
    assert (folder / "corpus.json").stat().st_mtime_ns == made
    other = TuringExam(train=TEST, vocabulary=VOCABULARY, corpora=tmp_path, min_support=5)
    assert len(source(other, TRAIN).source.corpus) == len(TEST)
    assert len(list(tmp_path.iterdir())) == 2


def test_smoothing_reaches_the_estimate() -> None:
    question = [Question("exist", VOCABULARY.types[0].name)]
    plain, smooth = (source(make(smoothing=s)).source.estimator().chances(question)[0] for s in (0.0, 1000.0))
    assert abs(smooth.p_yes - 0.5) < abs(plain.p_yes - 0.5)
    assert make(smoothing=1.0).identity(TEST) != make().identity(TEST)


def test_practice_does_not_tell_the_exam_s_seed() -> None:
    """Who knew it could replay the engine, and read withheld answers off the next question."""
    studied = {make(seed=seed).study(None, TEST).source.seed for seed in (3, 4)}
    assert len(studied) == 1
    assert not studied & {3, 4}


def test_images_come_whole_and_folders_tell_options_apart(exam: TuringExam) -> None:
    items = exam.items(TEST)
    assert exam.limited(items, 2) == list(items[:4])
    names = {run_name(e, "m", TEST) for e in (exam, make(), make(seed=4), make(deadline=1.0))}
    assert len(names) == 4
    assert run_name(make(corpora=Path("c")), "m", TEST) == run_name(make(), "m", TEST)


def test_two_processes_lay_out_the_same_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Corpus.build

    def outrun(columns: Any, vocabulary: Any, folder: Path | None = None) -> Corpus:
        build(columns, vocabulary, folder)  # the other process, which ends first
        return build(columns, vocabulary, folder)

    monkeypatch.setattr(Corpus, "build", outrun)
    assert len(source(make(corpora=tmp_path, seed=77)).source.corpus) == len(TRAIN)
