"""Blind answers to the predicates exam against counting by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sightline.errors import ConfigError
from sightline.models import is_blind, load, needs_training
from sightline.skills import PredicatesStudy, Queries

SHAPES, SIZES = ("cube", "mug", "plate"), ("small", "large")
KEYS = {"shape_prior": ("shape",), "size_prior": ("size",), "shape_size_prior": ("shape", "size")}


def made(seed: int, scenes: int = 30) -> PredicatesStudy:
    """Scenes in which shapes and sizes tell something, but not all."""
    rng = np.random.default_rng(seed)
    looks, truths = [], []
    for _ in range(scenes):
        own = tuple({"shape": str(rng.choice(SHAPES)), "size": str(rng.choice(SIZES))} for _ in range(4))
        chance = np.array(
            [[0.2 + 0.5 * (a["shape"] == "mug") + 0.2 * (b["size"] == "small") for b in own] for a in own]
        )
        looks.append(own)
        truths.append(rng.random((4, 4, 8)) < chance[:, :, None])
    return PredicatesStudy(tuple(f"s{i}" for i in range(scenes)), tuple(looks), tuple(truths))


def asked(scene: str, looks: Sequence[dict[str, str]]) -> Queries:
    return Queries(scene, (), np.zeros((len(looks), 32, 32, 3), dtype=np.uint8), tuple(looks))


def slow_answers(
    study: PredicatesStudy, scenes: set[str], keys: tuple[str, ...] | None, a: dict, b: dict
) -> list[int]:
    """The commoner answers among all ordered pairs of some scenes, of the same looks where there are such."""
    alike, every = [], []
    for scene, looks, truth in zip(study.scenes, study.appearance, study.truth, strict=True):
        for i in range(len(looks)):
            for j in range(len(looks)):
                if i == j or scene not in scenes:
                    continue
                every.append(truth[i, j])
                if keys and all(looks[i][k] == a[k] and looks[j][k] == b[k] for k in keys):
                    alike.append(truth[i, j])
    counted = np.array(alike or every)
    return [int(2 * column.sum() > len(column)) for column in counted.T]


def test_majority_is_that_of_the_data_examined() -> None:
    study, model = made(1), load("predicates_majority")
    model.prepare_predicates(study)
    said = model.predicates(asked("s0", study.appearance[0])).answers
    expected = slow_answers(study, set(study.scenes), None, {}, {})
    assert (said == np.array(expected)).all()
    assert list(model.facts().values()) == expected


@pytest.mark.parametrize("name", KEYS)
def test_a_prior_answers_from_other_folds(name: str) -> None:
    study, model = made(2), load(f"{name}:folds=3,seed=4")
    model.prepare_predicates(study)
    for scene, looks in list(zip(study.scenes, study.appearance, strict=True))[:6]:
        others = {s for s, fold in model._fold.items() if fold != model._fold[scene]}
        said = model.predicates(asked(scene, looks)).answers
        for i in range(4):
            for j in range(4):
                if i != j:
                    assert said[i, j].tolist() == slow_answers(study, others, KEYS[name], looks[i], looks[j])


@pytest.mark.parametrize("name", KEYS)
def test_a_scenes_own_truth_never_answers_for_it(name: str) -> None:
    study = made(3, scenes=6)
    model, lied = load(name), load(name)
    model.prepare_predicates(study)
    lied.prepare_predicates(PredicatesStudy(study.scenes, study.appearance, (~study.truth[0], *study.truth[1:])))
    question = asked("s0", study.appearance[0])
    np.testing.assert_array_equal(model.predicates(question).answers, lied.predicates(question).answers)
    elsewhere = asked("elsewhere", study.appearance[0])
    assert (model.predicates(elsewhere).answers != lied.predicates(elsewhere).answers).any()
    folds = np.bincount(list(model._fold.values()))
    assert folds.max() - folds.min() <= 1
    assert len(folds) == 5


def test_looks_and_scenes_never_seen() -> None:
    study, model = made(4), load("shape_prior")
    model.prepare_predicates(study)
    strange = [{"shape": "teapot"}, {"shape": "teapot"}, {"shape": "mug"}]
    said = model.predicates(asked("elsewhere", strange)).answers
    every = set(study.scenes)
    assert said[0, 1].tolist() == slow_answers(study, every, None, {}, {})
    told = model.predicates(asked("elsewhere", [{"shape": "mug"}, {"shape": "plate"}])).answers
    assert told[0, 1].tolist() == slow_answers(study, every, ("shape",), {"shape": "mug"}, {"shape": "plate"})


def test_an_even_split_is_a_no() -> None:
    truth = np.zeros((2, 2, 8), dtype=bool)
    truth[0, 1] = True
    looks = ({"shape": "cube"}, {"shape": "cube"})
    study = PredicatesStudy(("a", "b"), (looks, looks), (truth, truth))
    for name in ("predicates_majority", "shape_prior:folds=2"):
        model = load(name)
        model.prepare_predicates(study)
        assert not model.predicates(asked("a", looks)).answers.any()


@pytest.mark.parametrize("name", ["predicates_majority", *KEYS])
def test_blind_and_of_no_use_unprepared(name: str) -> None:
    assert is_blind(name)
    assert not needs_training(name)
    with pytest.raises(ConfigError, match="answers only in an exam"):
        load(name).predicates(asked("s", [{"shape": "cube"}] * 2))
