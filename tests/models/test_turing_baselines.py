"""Those who answer without looking: constants, a coin, the engine's own estimate, and a learner of histories."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exams.turing.turing_toy import toy_data, toy_vocabulary
from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.base import Candidate
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.exams.turing.exam import TuringExam
from sightline.exams.turing.measures import asked_rows, kinds_of, rates_by_image
from sightline.exams.turing.monitor import monitor
from sightline.exams.turing.source import EngineStreams, TrainingStudy
from sightline.exams.turing.stream.steps import Step, Stream
from sightline.exams.turing.vocabulary.questions import Question, Truth
from sightline.models import load
from sightline.models.adapters.answers import TuringAnswers
from sightline.models.baselines.turing_features import features, instantiated
from sightline.models.baselines.turing_regression import Fit, Rows, fitted
from sightline.scenes import View
from sightline.skills import Asked, TuringSpec
from sightline.stats import Interval
from sightline.store import Dataset

VOCABULARY = toy_vocabulary()
TRAIN, TEST = toy_data(160, seed=1), toy_data(30, seed=2)


@pytest.fixture(scope="module")
def exam() -> TuringExam:
    return TuringExam(train=TRAIN, vocabulary=VOCABULARY, min_support=10, questions=12, seed=3)


def replies(exam: TuringExam, model: object, folder: Path) -> list[dict[str, Any]]:
    run = run_exam(exam, Candidate("m", "m", model), TEST, folder)
    return asked_rows(run.records()).rows(named=True)


def test_constants_and_the_coin(exam: TuringExam, tmp_path: Path) -> None:
    yes, no, coin = (load(name) for name in ("always_yes", "always_no", "coin"))
    assert {row["answer"] for row in replies(exam, yes, tmp_path / "yes")} == {"yes"}
    assert {row["answer"] for row in replies(exam, no, tmp_path / "no")} == {"no"}
    first = [row["answer"] for row in replies(exam, coin, tmp_path / "coin")]
    assert 0.35 < first.count("yes") / len(first) < 0.65
    assert first == [row["answer"] for row in replies(exam, load("coin"), tmp_path / "again")]
    assert first != [row["answer"] for row in replies(exam, load("coin:seed=1"), tmp_path / "other")]
    with pytest.raises(ConfigError, match="seed must not be negative"):
        load("coin:seed=-1")


def test_a_coin_is_thrown_anew_for_another_picture() -> None:
    coin: Any = load("coin")
    pictures = [np.full((2, 3, 3), value, np.uint8) for value in range(64)]

    def said(question: dict[str, Any], pixels: Any) -> bool:
        view = View("v", size=(3, 2), load_image=None if pixels is None else lambda: pixels)
        return bool(coin.answer(Asked("s", view, question, "Is there a mug?", "", None, {}, ())))

    removal = {"type": "exist", "class": "mug"}
    answers = [said(removal, pixels) for pixels in pictures]
    assert 16 < sum(answers) < 48
    assert answers == [said(removal, pixels) for pixels in pictures]
    for question in ({"type": "exist", "object_type": "mug"}, {"type": "statement"}):  # as ever in other exams
        assert {said(question, pixels) for pixels in pictures} == {said(removal, None)}


def test_the_engine_says_what_its_estimate_says(exam: TuringExam, tmp_path: Path) -> None:
    """Following the stream from what it is told, it comes to the very estimates the questions were chosen by."""
    rows = replies(exam, load("turing_engine"), tmp_path / "r")
    assert {row["type"] for row in rows} >= {"exist", "unique", "attribute"}
    assert [row["answer"] for row in rows] == ["yes" if row["p_yes"] > 0.5 else "no" for row in rows]


@pytest.mark.parametrize("name", ["turing_engine", "turing_history:images=20", "turing_logician:images=20"])
def test_withheld_answers_do_not_stop_them(name: str, exam: TuringExam, tmp_path: Path) -> None:
    withheld = TuringExam(train=TRAIN, vocabulary=VOCABULARY, min_support=10, questions=12, seed=3, withhold=True)
    rows = replies(withheld, load(name), tmp_path / "r")
    assert len(rows) == len(replies(exam, load("always_yes"), tmp_path / "s"))


@pytest.mark.parametrize("name", ["turing_engine", "turing_history", "turing_logician"])
def test_they_must_be_taught(name: str) -> None:
    asked = Asked("s", TEST.scene(next(iter(TEST)).id).views[0], {}, "", "", None, {}, ())
    with pytest.raises(ConfigError, match="answers only in an exam"):
        load(name).answer(asked)  # type: ignore[attr-defined]


def test_histories_of_fair_streams_teach_little(exam: TuringExam, tmp_path: Path) -> None:
    model: Any = load("turing_history")
    run = run_exam(exam, Candidate("m", "m", model), TEST, tmp_path / "r")
    assert 0.3 < accuracy(run).value < 0.7
    told = run.manifest["model"]
    assert told["practice_streams"] == len(TRAIN) // 4
    assert told["practice_questions"] > 200


def accuracy(run: Run) -> Interval:
    asked = asked_rows(run.records())
    return rates_by_image(asked["cluster_id"], resamples=200)(asked["right"].to_numpy(), kinds_of(asked))["all"]


class Leaky(TuringExam):
    """Streams whose answers follow from the history: yes and no in turn, as common as each other.

    Its truth has nothing to do with the images; the questions are those of searches only.
    """

    def source(self, data: Dataset) -> LeakyStreams:
        fair = super().source(data)
        assert isinstance(fair, EngineStreams)
        return LeakyStreams(fair.source, fair.training, fair.images)


class LeakyStreams(EngineStreams):
    def stream(self, scene_id: str, number: int) -> Stream:
        return alternating(scene_id, self.images.ids.tolist().index(scene_id))

    def study(self) -> TrainingStudy:
        return LeakyStudy(self.source, self.training, self.source.estimator)


class LeakyStudy(TrainingStudy):
    def practice(self, images: int) -> list[Stream]:
        return [alternating(f"p{i}", i) for i in range(images)]


def alternating(scene_id: str, row: int) -> Stream:
    kinds = [
        Question("exist", kind, (), region) for kind in ("ball", "cube") for region in ("image", "left", "right")
    ]
    turn = np.random.default_rng(row).permutation(len(kinds))
    first = row % 2
    return Stream(
        scene_id,
        0,
        0,
        tuple(
            Step(k + 1, kinds[q], 0.5, 100, Truth.YES if (k + first) % 2 else Truth.NO)
            for k, q in enumerate(turn.tolist())
        ),
        "limit",
    )


def test_a_stream_with_predictable_answers_is_flagged(
    exam: TuringExam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history learner finds that answers take turns, though yes and no are as common; the monitor says so."""
    monkeypatch.setattr("sightline.exams.turing.monitor.LEAST_IMAGES", 5)
    leaky = Leaky(train=TRAIN, vocabulary=VOCABULARY, min_support=10, seed=3)
    found = {}
    for made, folder in ((leaky, tmp_path / "leaky"), (exam, tmp_path / "fair")):
        run = run_exam(made, Candidate("m", "m", load("turing_history:images=60")), TEST, folder)
        asked = asked_rows(run.records())
        found[folder.name] = monitor(asked, {"turing_history": asked}, resamples=200)
    assert found["leaky"].overall["turing_history"].value > 0.7
    assert found["leaky"].leaky
    assert any("turing_history answers without looking" in reason for reason in found["leaky"].reasons)
    assert not found["fair"].leaky


def _rows(rng: np.random.Generator, lean: float) -> Rows:
    words = [{f"w{int(rng.integers(4))}": 1.0, "one": 1.0} for _ in range(10)]
    yes = np.array([rng.random() < (0.5 + lean * (1 if "w0" in told else -1)) for told in words])
    return Rows(words, np.full(10, 0.5), yes)


def test_the_fit_finds_a_word_that_tells_and_leaves_noise_alone() -> None:
    rng = np.random.default_rng(0)
    telling = fitted([_rows(rng, 0.3) for _ in range(60)])
    assert telling.ridge is not None
    assert telling.score({"w0": 1.0, "one": 1.0}, 0.5) > 0.5
    assert telling.score({"w1": 1.0, "one": 1.0}, 0.5) < -0.5
    assert telling.score({"new": 1.0}, 0.6) == pytest.approx(np.log(0.6 / 0.4))
    noise = fitted([_rows(rng, 0.0) for _ in range(60)])
    assert abs(noise.score({"w0": 1.0, "one": 1.0}, 0.5)) < 0.3
    few = fitted([_rows(rng, 0.3) for _ in range(5)])
    assert (few.ridge, few.questions, np.abs(few.weights).max()) == (None, 50, 0.0)
    assert isinstance(fitted([]), Fit)


def test_the_fit_reaches_the_least_loss() -> None:
    """Against scipy on the same penalised likelihood."""
    from scipy.optimize import minimize

    from sightline.models.baselines import turing_regression as regression

    design = regression.Design([_rows(np.random.default_rng(1), 0.3) for _ in range(30)])
    used, place = np.unique(design.column, return_inverse=True)
    dense = np.zeros((len(design.yes), len(used)))
    dense[design.row, place] = design.value

    def loss(w: Any) -> float:
        z = design.offset + dense @ w
        return float(np.sum(np.logaddexp(0, z) - design.yes * z) + 3.0 / 2 * w @ w)

    best = minimize(loss, np.zeros(len(used)), tol=1e-10)
    found = regression.regress(design, 3.0, np.zeros(regression.BUCKETS))
    assert found[used] == pytest.approx(best.x, abs=1e-3)


def test_features_speak_of_overlapping_questions_and_known_facts(exam: TuringExam) -> None:
    stream = max((item.stream for item in exam.items(TEST)), key=lambda s: len(s.history))
    history = list(stream.history)
    given = instantiated(history)
    assert [str(label) for label in given] == [str(step.label) for step in stream.steps if step.label]
    left = (Question("exist", "ball", (), "left"), True)
    words = features(Question("unique", "ball", ("red",), "image"), [left], 0.5, VOCABULARY)
    assert "unique|exist True around more" in words
    labelled = (Question("unique", "ball", ("red",), "left"), True)
    (label,) = instantiated([labelled])
    asked = Question("attribute", attributes=("rough",), subject=label)
    assert "attribute|ball|rough|is red True" in features(asked, [labelled], 0.5, VOCABULARY)
    assert features(asked, [labelled], 0.5, VOCABULARY) != features(asked, [labelled, left], 0.5, VOCABULARY)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_answers_from_a_file(suffix: str, exam: TuringExam, tmp_path: Path) -> None:
    import json

    rows = replies(exam, load("always_yes"), tmp_path / "truth")
    told = [{"scene_id": r["scene_id"], "stream": 0, "step": r["step"], "answer": r["truth"]} for r in rows[3:]]
    file = tmp_path / f"answers.{suffix}"
    if suffix == "csv":
        lines = [",".join(map(str, r.values())) for r in told]
        file.write_text("\n".join(["scene_id,stream,step,answer", *lines]) + "\n")
    else:
        file.write_text("".join(json.dumps(r | {"text": "?"}) + "\n" for r in told))
    found = replies(exam, load(str(file)), tmp_path / "r")
    assert [r["answer"] for r in found[:3]] == ["abstain"] * 3
    assert all(r["right"] for r in found[3:])
    assert load(f"answers:path={file}")


GOOD = '{"scene_id": "s", "stream": 0, "step": 1, "answer": "yes"}\n'


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.jsonl", GOOD + GOOD, "row 2, step: answered twice"),  # twice
        ("a.jsonl", '{"scene_id": "s", "step": 1, "answer": "yes"}\n', "expected an object with scene_id, stream"),
        ("a.jsonl", GOOD + "{\n", "row 2: not JSON"),
        ("a.jsonl", GOOD.replace("1", "-1"), "row 1, step: not a step"),
        ("a.jsonl", GOOD.replace('"yes"', "1"), "row 1, answer: not a valid answer"),
        ("a.csv", "scene_id,stream,step,answer\ns,0,one,yes\n", "row 2, step: not a step"),
        ("a.csv", "scene_id,stream,step,answer\n", "no rows"),
    ],
)
def test_bad_answer_files(name: str, text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=says):
        TuringAnswers(tmp_path / name)


def test_a_line_of_an_answer_file_ends_where_json_says(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD.replace('"s"', '"s\u2028t"') + GOOD, encoding="utf-8")
    model = TuringAnswers(tmp_path / "a.jsonl")
    model.seek("s\u2028t", 0, 1)
    assert model.answer(Asked("s", next(iter(TEST)).views[0], {}, "", "", None, {}, ())) == "yes"


def test_an_answer_file_must_be_there_and_be_told_the_place(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        load(str(tmp_path / "none.jsonl"))
    (tmp_path / "a.jsonl").write_text(GOOD)
    model = TuringAnswers(tmp_path / "a.jsonl")
    view = dataclasses.replace(next(iter(TEST)).views[0])
    with pytest.raises(ModelError, match="which stream and step"):
        model.answer(Asked("s", view, {}, "", "", None, {}, ()))


def test_answers_to_other_images_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD)
    model = TuringAnswers(tmp_path / "a.jsonl")
    model.check_turing(TuringSpec(("s", "elsewhere")))
    with pytest.raises(ModelError, match=r"none of its answers is about an image of this exam.*'elsewhere'"):
        model.check_turing(TuringSpec(("elsewhere",)))
