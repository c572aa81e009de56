from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.relations.pair_tables import make_table, random_answers, random_table
from reference.relation_scores import slow_scores
from sightline.exams.relations.answers import Answers
from sightline.exams.relations.counting import components, joint_counts, joint_units
from sightline.exams.relations.protocols import Protocol
from sightline.exams.relations.scores import scores
from sightline.exams.relations.sheets import sheets_of
from sightline.scenes import words

SEEDS = st.integers(0, 10_000)
KINDS = ("precision", "recall", "f1")


def _both(seed):
    return {
        setting: random_answers(seed + 1, random_table(seed, setting=setting))
        for setting in ("within_image", "across_images")
    }


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from(["default", "paper"]))
def test_scores_equal_the_definitions(seed, protocol):
    answers = _both(seed)
    found = scores(answers, protocol=Protocol(protocol), resamples=20)
    assert [task.name for task in found.subtasks] == [
        "within_image/depth",
        "within_image/occlusion",
        "across_images/depth",
    ]
    means = []
    for task in found.subtasks:
        own = answers[task.setting]
        slow = slow_scores(own, task.aspect, protocol)
        names = {**dict(enumerate(words(task.aspect))), "all": "all"}
        for label, expected in slow.items():
            score = task.micro[names[label]]
            np.testing.assert_allclose([getattr(score, k).value for k in KINDS], expected)
        by_scene = [
            slow_scores(own, task.aspect, protocol, np.flatnonzero(own.table.cluster == c))["all"]
            for c in range(len(own.table.clusters))
        ]
        with np.errstate(invalid="ignore"):
            known = np.isfinite(by_scene)
            expected = np.where(known, by_scene, 0).sum(0) / known.sum(0)
        np.testing.assert_allclose([getattr(task.macro["all"], k).value for k in KINDS], expected)
        means.append(slow["all"][2])
    np.testing.assert_allclose(found.average.value, np.mean(means))


def test_clear_order_accuracy_counts_anything_else_as_wrong():
    table = make_table([(0, 1), (0, 2), (1, 2)], [1, 2, 3], scene_of=[0, 0, 0])
    said = np.array([1, 0, 3, 2, -1, 3], dtype=np.int8)  # right, unsure, not clear, right, silent, not clear
    task = scores({"within_image": Answers(table.ordered(), said, said)}).subtasks[0]
    assert task.clear.value == 0.5
    assert task.to_dict()["clear_order"]["macro"]["value"] == 0.5


def test_micro_and_macro_differ_as_they_should():
    # scene 0: one pair, right both ways; scene 1: three pairs, wrong both ways
    table = make_table([(0, 1), (2, 3), (2, 4), (3, 4)], [1, 1, 1, 1], scene_of=[0, 0, 1, 1, 1])
    said = np.array([1, 2, 2, 2, 2, 1, 1, 1], dtype=np.int8)
    task = scores({"within_image": Answers(table.ordered(), said, said)}).subtasks[0]
    assert task.micro["all"].f1.value == 0.25
    assert task.macro["all"].f1.value == 0.5
    assert task.macro["closer"].f1.value == 0.5


def test_official_never_looks_at_reversed_answers_across_images():
    table = make_table([(0, 2), (1, 2)], [1, 2], scene_of=[0, 0, 1], setting="across_images")
    ordered = table.ordered()
    perfect = Answers(ordered, ordered.depth, ordered.occlusion)
    task = scores({"across_images": perfect}, protocol=Protocol.OFFICIAL).subtasks[0]
    assert (task.micro["all"].precision.value, task.micro["all"].recall.value) == (1.0, 0.5)
    assert task.micro["same"].f1.value == 0.0  # the official 0 of an undefined score
    assert np.isnan(task.macro["same"].f1.value)  # but scenes without the label are no zeros in a mean


def test_average_needs_all_three_and_predicates_are_those_of_the_protocol():
    answers = _both(1)
    assert scores({"within_image": answers["within_image"]}, resamples=20).average is None
    rows = scores(answers, protocol=Protocol.PAPER, resamples=20).by_predicate()
    assert list(rows["within_image/depth"]) == ["closer", "farther", "same"]
    assert list(rows["across_images/depth"]) == ["closer", "farther"]
    assert len(rows["within_image/occlusion"]) == 4


@pytest.mark.parametrize("protocol", list(Protocol))
def test_a_perfect_answer_scores_one(protocol):
    table = make_table([(0, 1), (0, 2), (1, 2)], [1, 2, 3], scene_of=[0, 0, 0], occlusion=[0, 1, 3])
    ordered = table.ordered()
    found = scores({"within_image": Answers(ordered, ordered.depth, ordered.occlusion)}, protocol=protocol)
    assert [task.micro["all"].f1.value for task in found.subtasks] == [1.0, 1.0]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=15))
def test_components_equal_flood_fill(n, raw):
    edges = [(a % n, b % n) for a, b in raw]
    expected = []
    for node in range(n):
        seen, todo = {node}, [node]
        while todo:
            x = todo.pop()
            for a, b in edges:
                for near in ((b,) if a == x else ()) + ((a,) if b == x else ()):
                    if near not in seen:
                        seen.add(near)
                        todo.append(near)
        expected.append(min(seen))
    a, b = (np.array([e[k] for e in edges], dtype=np.int64) for k in (0, 1))
    assert components(a, b, n).tolist() == expected


def test_an_image_pair_and_its_images_are_one_unit():
    within = make_table([(0, 1), (2, 3), (4, 5)], [1, 1, 1], scene_of=[0, 0, 1, 1, 2, 2]).ordered()
    across = make_table([(0, 1), (2, 3)], [1, 2], scene_of=[0, 1, 3, 4], setting="across_images").ordered()
    answers = {t.setting: Answers(t, t.depth, t.occlusion) for t in (within, across)}
    units, n = joint_units({task: sheet.images for task, sheet in sheets_of(answers).items()})
    inside, between = units["within_image", "depth"], units["across_images", "depth"]
    assert n == 3  # {0, 1}, {2} and {3, 4}
    assert inside[0] == inside[1] == between[0]
    assert len({inside[0], inside[2], between[1]}) == 3


def test_joint_counts_keep_every_judgement():
    answers = _both(7)
    joint = joint_counts(sheets_of(answers), Protocol.DEFAULT)
    for i, (setting, aspect) in enumerate(joint.subtasks):
        own = answers[setting]
        known = getattr(own.table, aspect) >= 0
        right = known & (getattr(own.table, aspect) == getattr(own, aspect))
        assert joint.counts[:, i, 0, :, 0].sum() == right.sum()
        assert joint.counts[:, i, 0, :, 2].sum() == (known & ~right).sum()
