"""Counts and scores of the predicates exam against the text's own arithmetic."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import predicate_scores as reference
from sightline.exams.predicates.counts import CELLS, NAMES, Counts, scene_accuracy_of, scores, tally_many
from sightline.plain import plain
from sightline.scenes.labels import PREDICATES

KINDS = {
    "scene_accuracy": reference.scene_accuracy,
    "scene_all_by": reference.scene_all,
    "f1": reference.f1,
    "micro_accuracy": reference.micro_accuracy,
    "unknown": reference.unknown,
}
ANSWER = {True: 1, False: 0, None: -1}


@st.composite
def exams(draw: st.DrawFn) -> list[tuple[np.ndarray, np.ndarray]]:
    """(truth, answers) of a few scenes; some answers so one-sided that F1 says nothing."""
    made = []
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    answers = draw(st.sampled_from([(0,), (1,), (-1,), (0, 1), (0, -1), (1, -1), (-1, 0, 1)]))
    holds = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
    care = draw(st.sampled_from([0.0, 0.7, 1.0]))
    for n in draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)):
        truth = rng.random((n, n, 8)) < holds
        said = rng.choice(answers, (n, n, 8)).astype(np.int8)
        made.append((truth, np.where(rng.random(said.shape) < care, truth, said).astype(np.int8)))
    return made


def tally(truth: np.ndarray, answers: np.ndarray) -> Counts:
    """Counts of one scene."""
    return tally_many(truth[None], answers[None], np.ones((1, len(truth)), dtype=bool))[0]


def told(truth: np.ndarray, answers: np.ndarray) -> list[reference.Judgement]:
    words = {1: True, 0: False, -1: None}
    return [
        (predicate, bool(truth[i, j, k]), words[int(answers[i, j, k])])
        for i in range(len(truth))
        for j in range(len(truth))
        if i != j
        for k, predicate in enumerate(PREDICATES)
    ]


@settings(max_examples=60, deadline=None)
@given(exams())
def test_every_score_is_the_texts(made: list[tuple[np.ndarray, np.ndarray]]) -> None:
    found = scores(np.stack([tally(*scene) for scene in made]), resamples=10)
    scenes = [told(*scene) for scene in made]
    for kind, slow in KINDS.items():
        for name in NAMES:
            assert getattr(found, kind)[name].value == pytest.approx(slow(scenes, name), nan_ok=True), (kind, name)
    assert found.n_scenes == sum(len(truth) > 1 for truth, _ in made)
    assert found.n_judgements == sum(map(len, scenes))


def one_predicate(predicate: str, *scenes: list[tuple[bool, bool | None]]) -> np.ndarray:
    """Counts of scenes in which only one predicate was asked about."""
    counts = np.zeros((len(scenes), 8, 6), dtype=int)
    place = {
        (True, True): 0,
        (False, True): 1,
        (False, False): 2,
        (True, False): 3,
        (True, None): 4,
        (False, None): 5,
    }
    for scene, judged in zip(counts, scenes, strict=True):
        for judgement in judged:
            scene[PREDICATES.index(predicate), place[judgement]] += 1
    return counts


def test_the_texts_examples() -> None:
    right, wrong = (True, True), (True, False)
    accuracy = scores(one_predicate("contains", [right] * 7 + [wrong] * 3, [right] * 4 + [wrong]))
    assert accuracy.scene_accuracy["contains"].value == pytest.approx(0.75)
    assert accuracy.scene_accuracy["all"].value == accuracy.scene_accuracy["geometric"].value == pytest.approx(0.75)
    assert math.isnan(accuracy.scene_accuracy["spatial"].value)
    assert accuracy.micro_accuracy["contains"].value == pytest.approx(11 / 15)
    whole = scores(one_predicate("contains", [right] * 3 + [wrong], [right] * 2))
    assert whole.scene_all.value == 0.5


@pytest.mark.parametrize(
    ("judged", "f1"),
    [
        ([(True, True), (False, False)], 1.0),  # all right
        ([(True, True), (False, True)], None),  # always yes
        ([(True, False), (False, False)], None),  # always no
        ([(True, None), (False, None)], None),  # always unknown
        ([(True, None), (False, False)], None),  # nothing said to be true
        ([(False, True), (False, False)], None),  # nothing true
        ([(True, False), (False, True)], 0.0),  # all wrong
        ([(True, True), (True, None), (False, False)], 2 / 3),  # unknown where it holds is a miss
        ([(True, True), (False, None)], 1.0),  # unknown where it does not hold is no false alarm
    ],
)
def test_f1(judged: list[tuple[bool, bool | None]], f1: float | None) -> None:
    document = plain(scores(one_predicate("left", judged, judged)))
    assert document["f1"]["left"]["value"] == (None if f1 is None else pytest.approx(f1))


def test_a_group_counts_the_mistakes_of_predicates_without_an_f1() -> None:
    counts = one_predicate("left", [(True, True), (False, False)])
    counts += one_predicate("right", [(True, False), (True, False)])
    found = scores(counts)
    assert math.isnan(found.f1["right"].value)
    assert found.f1["spatial"].value == pytest.approx(2 / 4)


@settings(max_examples=40, deadline=None)
@given(exams())
def test_padding_changes_nothing(made: list[tuple[np.ndarray, np.ndarray]]) -> None:
    most = 1 + max(len(truth) for truth, _ in made)
    truth, answers = np.ones((len(made), most, most, 8), dtype=bool), np.full((len(made), most, most, 8), 1)
    present = np.zeros((len(made), most), dtype=bool)
    places = [np.sort(np.random.default_rng(n).permutation(most)[: len(t)]) for n, (t, _) in enumerate(made)]
    for i, (scene, place) in enumerate(zip(made, places, strict=True)):
        present[i, place] = True
        for padded, own in ((truth, scene[0]), (answers, scene[1])):
            padded[i][np.ix_(place, place)] = own
    np.testing.assert_array_equal(tally_many(truth, answers, present), np.stack([tally(*s) for s in made]))


def test_the_diagonal_is_not_looked_at() -> None:
    truth, answers = np.zeros((3, 3, 8), dtype=bool), np.zeros((3, 3, 8), dtype=np.int8)
    before = tally(truth, answers)
    for k in range(3):
        truth[k, k], answers[k, k] = True, -1
    np.testing.assert_array_equal(tally(truth, answers), before)
    assert before.sum() == 6 * 8
    assert before[:, CELLS.index("tn")].tolist() == [6] * 8


def test_scenes_without_a_pair_do_not_count() -> None:
    counts = one_predicate("left", [(True, True)], [], [(True, False)])
    assert scores(counts).n_scenes == 2
    assert scores(counts).scene_accuracy["all"].value == 0.5
    assert np.isnan(scene_accuracy_of(counts)[1]).all()
    assert math.isnan(scores(counts[:0]).scene_all.value)


def test_intervals_are_by_scene() -> None:
    """Ten times as many judgements in each scene tell no more about other scenes."""
    rng = np.random.default_rng(0)
    judged = [[(True, bool(right))] for right in rng.random(300) < 0.7]
    few, many = (scores(one_predicate("left", *([j * k for j in judged])), seed=1) for k in (1, 10))
    for kind in ("scene_accuracy", "micro_accuracy"):
        a, b = getattr(few, kind)["left"], getattr(many, kind)["left"]
        assert (a.low, a.high, a.n) == (b.low, b.high, b.n)
        assert a.high - a.low == pytest.approx(2 * 1.96 * math.sqrt(a.value * (1 - a.value) / 300), rel=0.1)


def test_json_is_whole() -> None:
    document: dict[str, Any] = plain(scores(one_predicate("left", [(True, True), (False, False)])))
    kinds = ("scene_accuracy", "scene_all_by", "f1", "micro_accuracy", "unknown")
    assert all(tuple(document[kind]) == NAMES for kind in kinds)
    assert document["scene_all_accuracy"] == document["scene_all_by"]["all"]
    assert {"value", "low", "high"} <= set(document["scene_all_accuracy"])
    assert document["f1"]["right"]["value"] is None
    assert (document["n_scenes"], document["n_judgements"]) == (1, 2)


def test_scores_need_numpy_alone() -> None:
    code = (
        "import sys, sightline.exams.predicates.counts; "
        "print([m for m in ('polars', 'pyarrow', 'PIL', 'typer', 'rich', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
