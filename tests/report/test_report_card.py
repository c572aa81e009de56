"""The card's figures: those of the exam, from the records on disk; focus, warnings, worst scenes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from made_runs import Contrary, Mute, boxes_by_scene, dataset, runs
from sightline.exams.relations.answers import answers_from_records
from sightline.exams.relations.scores import scores
from sightline.report import ReportCard, card
from sightline.report.facts import human_f1
from sightline.report.failures import unanimity, worst
from sightline.report.sentences import headline

from sightline.errors import ConfigError
from sightline.exams.base import Candidate
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.protocols import Protocol
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.models.registry import candidate
from sightline.stats import human_ceiling
from sightline.store import Dataset

RESAMPLES = 100


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def sat(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return runs(data, tmp_path_factory.mktemp("runs"), ("majority", "bottom_edge"), Contrary())


@pytest.fixture(scope="module")
def made(sat: list[Run], data: Dataset) -> ReportCard:
    return card(sat, data, resamples=RESAMPLES)


def test_scores_are_those_of_the_records(made: ReportCard, sat: list[Run], data: Dataset) -> None:
    tables = RelationsExam().tables(data)
    answers = {s: answers_from_records(sat[1].records(), t) for s, t in tables.items()}
    expected = scores(answers, resamples=RESAMPLES)
    found = next(s for s in made.sittings if s.spec == "bottom_edge")
    assert found.scores.to_dict() == expected.to_dict()


def test_blind_rules_are_told_from_models(made: ReportCard) -> None:
    assert {s.label: s.blind for s in made.sittings} == {"majority": True, "bottom_edge": True, "contrary": False}


def test_focus_is_the_best_model_that_looks(made: ReportCard) -> None:
    assert made.focus == "contrary"
    assert made.sittings[0].label != "contrary"  # although it is not the best of all


@pytest.mark.parametrize(
    ("wanted", "label"),
    [
        ("bottom_edge", "bottom_edge"),  # by name
        ("mine.py:contrary", "contrary"),  # by spec
    ],
)
def test_focus_on_request(sat: list[Run], data: Dataset, wanted: str, label: str) -> None:
    assert card(sat, data, focus=wanted, resamples=RESAMPLES).focus == label


def test_best_blind_rule_is_the_focus_where_nobody_looks(sat: list[Run], data: Dataset) -> None:
    assert card(sat[:2], data, resamples=RESAMPLES).focus == "bottom_edge"


def test_headline_is_computed(made: ReportCard, sat: list[Run], data: Dataset) -> None:
    said = " ".join(headline(made))
    best = next(s for s in made.sittings if s.label == "bottom_edge")
    assert best.scores.average is not None
    assert f"bottom_edge, reaches {best.scores.average.value:.3f}" in said
    assert "more than contrary does" in said
    assert "Only blind rules have sat" in headline(card(sat[:2], data, resamples=RESAMPLES))[0]


@pytest.mark.parametrize("aspect", ["depth", "occlusion"])
def test_human_f1_is_the_ceiling_of_the_default_protocol(data: Dataset, aspect: str) -> None:
    table = RelationsExam().tables(data)["within_image"]
    expected = human_ceiling(getattr(table, f"{aspect}_votes")).accuracy.value
    found = human_f1(table, aspect, Protocol.DEFAULT, resamples=10, seed=0)  # type: ignore[arg-type]
    assert found.value == pytest.approx(expected)


def test_no_human_reference_under_the_official_protocol(sat: list[Run], data: Dataset) -> None:
    official = card(sat[:1], data, protocol="official", resamples=RESAMPLES)
    assert not official.data.human
    assert math.isnan(official.data.human_value("average"))


def test_unfinished_run_is_said_so(data: Dataset, tmp_path: Path) -> None:
    whole = runs(data, tmp_path, ("majority",))
    part = run_exam(RelationsExam(), candidate("bottom_edge"), data, tmp_path / "part", limit=5)
    made = card([*whole, part], data, resamples=RESAMPLES)
    assert any("bottom_edge is unfinished (stopped): 5 of" in warning for warning in made.warnings)
    assert made.focus == "majority"  # a finished one goes before


def test_killed_run_without_a_record(data: Dataset, tmp_path: Path) -> None:
    whole = runs(data, tmp_path, ("majority",))
    stopped = run_exam(RelationsExam(), candidate("size"), data, tmp_path / "none", limit=0)
    made = card([*whole, stopped], data, resamples=RESAMPLES)
    empty = next(s for s in made.sittings if s.spec == "size")
    assert (empty.done, empty.scores.subtasks, empty.difficulty) == (0, (), None)


def test_runs_of_one_name_are_told_apart(data: Dataset, tmp_path: Path) -> None:
    model = Contrary(boxes=boxes_by_scene(data))
    exams = [RelationsExam(), RelationsExam(boxes="detected"), RelationsExam(study="joint"), RelationsExam()]
    sat = [
        run_exam(exam, Candidate("mine.py:net", "contrary", model), data, tmp_path / str(i))
        for i, exam in enumerate(exams)
    ]
    made = card(sat, data, resamples=RESAMPLES)
    labels = {s.label for s in made.sittings}
    assert labels == {"contrary", "contrary · own boxes", "contrary · learned from both", "contrary (2)"}
    assert [s.label for s in made.detected] == ["contrary · own boxes"]
    outcomes = made.detected[0].outcomes["within_image/depth"]
    assert outcomes["wrong_predicate"] > 0
    assert sum(outcomes.values()) == made.detected[0].scores.subtasks[0].pairs


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"exam": "turing"}, "exam 'turing'"),  # another exam
        ({"data_fingerprint": "0" * 64}, "other data"),  # another dataset
        ({"options": {"split": "validation"}}, "several splits"),  # another split
    ],
)
def test_runs_that_do_not_belong_together(
    sat: list[Run], data: Dataset, change: dict[str, object], words: str
) -> None:
    other = Run(sat[0].folder, {**sat[0].manifest, "identity": {**sat[0].manifest["identity"], **change}})
    with pytest.raises(ConfigError, match=words):
        card([sat[1], other], data, resamples=RESAMPLES)


def test_no_runs_and_no_such_focus(sat: list[Run], data: Dataset) -> None:
    with pytest.raises(ConfigError, match="no runs"):
        card([], data)
    with pytest.raises(ConfigError, match="no run of 'nobody'"):
        card(sat[:1], data, focus="nobody", resamples=RESAMPLES)


def test_worst_scenes_are_mistakes_the_raters_agree_on(made: ReportCard, sat: list[Run], data: Dataset) -> None:
    tables = RelationsExam().tables(data)
    answers = {s: answers_from_records(sat[2].records(), t) for s, t in tables.items()}
    assert [f.to_dict() for f in worst(answers, data)] == [f.to_dict() for f in made.failures]  # the same ones
    assert len(made.failures) > 6
    for failure in made.failures:
        assert failure.truth not in ("unsure", failure.answer)
        assert next(iter(failure.votes)) == failure.truth
        assert 0 < failure.weight <= failure.wrong <= failure.asked
        setting = failure.subtask.split("/")[0]
        assert len(failure.images) == (1 if setting == "within_image" else 2)
        assert all(i < len(image.boxes) for image, i in zip(failure.images, failure.pair, strict=False))


def test_silence_is_no_mistake(data: Dataset, tmp_path: Path) -> None:
    made = card(runs(data, tmp_path, ("majority",), Mute()), data, resamples=RESAMPLES)
    assert made.focus == "mute"
    assert made.failures == ()


def test_unanimity_without_votes_is_full() -> None:
    assert unanimity(np.zeros((1, 4), dtype=np.int16)).tolist() == [1.0]


def test_json_has_no_nan(data: Dataset, tmp_path: Path) -> None:
    made = card(runs(data, tmp_path, ("majority",), Mute()), data, resamples=RESAMPLES)
    text = json.dumps(made.to_dict(), allow_nan=False)
    mute = next(run for run in json.loads(text)["runs"] if run["label"] == "mute")
    assert mute["scores"]["subtasks"]["within_image/depth"]["micro"]["all"]["precision"]["value"] is None
