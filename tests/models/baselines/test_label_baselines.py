from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.relations.pair_tables import make_table, random_table
from sightline.errors import ConfigError
from sightline.exams.relations.prior import ClassPrior
from sightline.models import load
from sightline.models.baselines.labels import class_pair_counts, likeliest
from sightline.scenes import REVERSE
from sightline.skills import SILENT, Judgements, RelationsStudy

LEFT, RIGHT = (0.0, 0.0, 0.4, 0.4), (0.5, 0.0, 0.9, 0.4)


@pytest.mark.parametrize(
    ("depth", "occlusion", "expected"),
    [
        ([1, 2, 3], [0, 0, 1], (1, 0)),  # both directions are counted: closer 2, farther 2, same 2
        ([3, 3, 1], [3, 3, 0], (3, 3)),  # same and mutual can win
        ([-1, -1, 0], [-1, -1, 2], (0, 1)),  # no majority does not count
        ([2, 2, 2], [2, 2, 2], (1, 1)),  # farther counts as closer too, a tie goes lower
    ],
)
def test_majority(ask: Any, depth: list[int], occlusion: list[int], expected: tuple[int, int]) -> None:
    table = make_table([(0, 1), (0, 2), (1, 2)], depth, scene_of=[0, 0, 0], occlusion=occlusion)
    model = load("majority")
    model.prepare_relations(RelationsStudy(train={"within_image": table}, test={"within_image": table}))
    said = model.relate(ask([LEFT, RIGHT], [RIGHT, LEFT]))
    assert (said.depth.tolist(), said.occlusion.tolist()) == ([expected[0]] * 2, [expected[1]] * 2)
    assert list(model.facts()) == ["within_image depth", "within_image occlusion"]


def test_each_setting_has_its_own_majority(ask: Any) -> None:
    within = make_table([(0, 1)], [3], scene_of=[0, 0], occlusion=[0])
    across = make_table([(0, 1)], [2], scene_of=[0, 1], setting="across_images")
    model = load("majority")
    model.prepare_relations(RelationsStudy(train={"within_image": within, "across_images": across}, test={}))
    said = model.relate(ask([LEFT], [RIGHT], setting="across_images"))
    assert (said.depth.tolist(), said.occlusion.tolist()) == ([1], [SILENT])
    assert model.facts() == {
        "within_image depth": "same",
        "within_image occlusion": "none",
        "across_images depth": "closer",
    }


@pytest.mark.parametrize("name", ["majority", "object_class"])
def test_learning_from_training_needs_training(name: str, ask: Any) -> None:
    model = load(name)
    table = random_table(1)
    with pytest.raises(ConfigError, match=f"{name} needs a training split with across_images pairs"):
        model.prepare_relations(RelationsStudy(train={"within_image": table}, test={"across_images": table}))
    with pytest.raises(ConfigError, match="needs a training split with within_image pairs"):
        load(name).relate(ask([LEFT], [RIGHT]))


def object_class(**labels: list[int]) -> Any:
    """Trained on pairs of a cat (object 0) with a dog (1), a cow (2), another cat (3) and a dog again (4)."""
    table = make_table(
        [(0, 1), (0, 2), (0, 3), (4, 0)],
        labels["depth"],
        scene_of=[0] * 5,
        classes=["cat", "dog", "cow", "cat", "dog"],
        occlusion=labels["occlusion"],
    )
    model = load("object_class")
    model.prepare_relations(RelationsStudy(train={"within_image": table}, test={}))
    return model


@pytest.mark.parametrize(
    ("classes", "depth", "occlusion"),
    [
        (("cat", "dog"), 1, 2),  # cat closer (1 and, reversed, 2), occluded
        (("dog", "cat"), 2, 1),  # told the other way round
        (("cat", "cow"), 3, 0),  # same, and no majority counts for nothing
        (("cat", "cat"), 1, 1),  # a tie: the left one is closer
        (("cat", "fox"), 0, 0),  # never seen: unsure and none
    ],
)
def test_object_class(ask: Any, classes: tuple[str, str], depth: int, occlusion: int) -> None:
    model = object_class(depth=[1, 3, 2, 2], occlusion=[2, -1, 1, 1])
    said = model.relate(ask([LEFT], [RIGHT], classes=([classes[0]], [classes[1]])))
    assert (said.depth.tolist(), said.occlusion.tolist()) == ([depth], [occlusion])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), aspect=st.sampled_from(["depth", "occlusion"]))
def test_class_pair_counts_equal_plain_counting(seed: int, aspect: Any) -> None:
    table = random_table(seed)
    slow: dict[tuple[str, str], Counter[int]] = {}
    names = [table.categories[c] for c in table.category]
    for a, b, label in zip(table.first, table.second, getattr(table, aspect), strict=True):
        if label >= 0:
            slow.setdefault((names[a], names[b]), Counter())[int(label)] += 1
            slow.setdefault((names[b], names[a]), Counter())[REVERSE[label]] += 1
    fast = class_pair_counts(table, aspect)
    assert {k: [v[c] for c in range(4)] for k, v in slow.items()} == {k: v.tolist() for k, v in fast.items()}


@pytest.mark.parametrize(
    ("weights", "aspect", "coin", "code"),
    [
        ((1, 5, 2, 3), "depth", 0, 1),  # the greatest
        ((1, 2, 2, 1), "depth", 1, 1),  # coin
        ((1, 2, 2, 1), "depth", -1, 2),  # coin, other side
        ((1, 2, 2, 1), "depth", 0, 0),  # not even a coin
        ((2, 2, 1, 2), "depth", 0, 1),  # depth prefers an order
        ((2, 1, 1, 2), "depth", 0, 3),  # then same to unsure
        ((2, 2, 1, 2), "occlusion", 0, 0),  # occlusion prefers none
        ((1, 2, 1, 2), "occlusion", 0, 1),  # then an order to mutual
    ],
)
def test_likeliest(weights: tuple[float, ...], aspect: Any, coin: float, code: int) -> None:
    forth, back = np.array([weights], dtype=float), np.array([weights], dtype=float)[:, [0, 2, 1, 3]]
    assert likeliest(forth, aspect, np.array([float(coin)])).tolist() == [code]
    assert likeliest(back, aspect, np.array([-float(coin)])).tolist() == [REVERSE[code]]


def asked_by_cluster(table: Any, ask: Any) -> Any:
    """(rows, question) for every cluster of a within-image table."""
    names = np.array(table.categories, dtype=object)[table.category]
    for c in np.unique(table.cluster):
        rows = np.flatnonzero(table.cluster == c)
        ends = names[table.first[rows]], names[table.second[rows]]
        pairs = ask(table.boxes_a[rows], table.boxes_b[rows], classes=ends)
        yield rows, replace(pairs, cluster_id=str(table.clusters[c]))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_cluster_never_answers_for_itself(ask: Any, turned: Any, seed: int) -> None:
    """Whatever the labels of a cluster are, the class prior's answers about it stay the same."""
    table = random_table(seed, scenes=8)
    other = np.random.default_rng(seed)
    model = load("class_prior:folds=3")
    model.prepare_relations(RelationsStudy(train={}, test={"within_image": table}))
    for rows, pairs in list(asked_by_cluster(table, ask))[:3]:
        said = Judgements.checked(model.relate(pairs), len(pairs), "class_prior")
        depth, occlusion = table.depth.copy(), table.occlusion.copy()
        depth[rows], occlusion[rows] = other.integers(0, 4, (2, len(rows)))
        again = load("class_prior:folds=3")
        again.prepare_relations(
            RelationsStudy(train={}, test={"within_image": replace(table, depth=depth, occlusion=occlusion)})
        )
        np.testing.assert_array_equal(again.relate(pairs).depth, said.depth)
        np.testing.assert_array_equal(again.relate(pairs).occlusion, said.occlusion)
        back = model.relate(turned(pairs))
        np.testing.assert_array_equal(back.depth, np.array(REVERSE)[said.depth])
        np.testing.assert_array_equal(back.occlusion, np.array(REVERSE)[said.occlusion])


def test_class_prior_learns_from_other_clusters(ask: Any) -> None:
    """In every scene the cat is closer and hides the dog; cows come only once, so their cluster is on its own."""
    scenes = 12
    pairs = [(2 * s, 2 * s + 1) for s in range(scenes)]
    classes = ["cat", "dog"] * (scenes - 1) + ["dog", "cow"]
    table = make_table(
        pairs,
        [1] * scenes,
        scene_of=[s for s in range(scenes) for _ in "ab"],
        classes=classes,
        occlusion=[1] * scenes,
        boxes=[LEFT, RIGHT] * scenes,
    )
    model = load("class_prior")
    model.prepare_relations(RelationsStudy(train={}, test={"within_image": table}))
    first = replace(ask([RIGHT], [LEFT], classes=(["cat"], ["dog"])), cluster_id=str(table.clusters[0]))
    assert model.relate(first).depth.tolist() == [1]
    assert model.relate(first).occlusion.tolist() == [1]
    stranger = ask([RIGHT], [LEFT], classes=(["dog"], ["cow"]))
    whole = ClassPrior.fit(table)
    expected = whole.direction(whole.codes(["dog"]), whole.codes(["cow"]))[0] > 0.5
    assert model.relate(stranger).depth.tolist() == [1 if expected else 2]


def test_class_prior_across_images_and_unprepared(ask: Any) -> None:
    table = random_table(3, setting="across_images")
    model = load("class_prior")
    model.prepare_relations(RelationsStudy(train={}, test={"across_images": table}))
    said = model.relate(ask([LEFT], [RIGHT], setting="across_images", classes=(["c0"], ["c1"])))
    assert said.depth[0] in (0, 1, 2)
    assert said.occlusion.tolist() == [SILENT]
    with pytest.raises(ConfigError, match="class_prior needs labelled within_image pairs"):
        model.relate(ask([LEFT], [RIGHT]))


def test_random_is_fair_and_repeats_itself(ask: Any, turned: Any) -> None:
    within = ask([LEFT] * 3000, [RIGHT] * 3000)
    across = ask([LEFT] * 3000, [RIGHT] * 3000, setting="across_images")
    said = load("random").relate(within)
    np.testing.assert_array_equal(load("random").relate(within).depth, said.depth)
    for other in (load("random:seed=1").relate(within), load("random").relate(replace(within, cluster_id="z"))):
        assert (other.depth != said.depth).any()
    assert np.bincount(said.depth, minlength=4) / 3000 == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3], abs=0.05)
    assert np.bincount(said.occlusion) / 3000 == pytest.approx([1 / 4] * 4, abs=0.05)
    forth, back = load("random").relate(across), load("random").relate(turned(across))
    assert np.bincount(forth.depth) / 3000 == pytest.approx([0, 1 / 2, 1 / 2], abs=0.05)
    assert (forth.depth == back.depth).mean() == pytest.approx(0.5, abs=0.05)
    assert (forth.occlusion == SILENT).all()
