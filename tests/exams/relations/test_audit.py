from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exams.relations.pair_tables import make_table, random_table, real_tables
from sightline.exams.relations.audit import audit, credit, evidence, se_ratio
from sightline.plain import plain

RULES = ["bottom_edge", "location", "area", "class_pair", "class_prior", "majority"]

# deep: bottom 0.9, centre 0.85, small; tall: bottom 0.9, centre 0.45, large; top: bottom 0.3, centre 0.2, middle
BOXES = [[0.0, 0.8, 0.2, 0.9], [0.0, 0.0, 0.5, 0.9], [0.0, 0.1, 0.4, 0.3]]


@pytest.mark.parametrize(
    ("pair", "rule", "sign"),
    [
        ((0, 2), "bottom_edge", 1),  # lower bottom edge
        ((0, 1), "bottom_edge", 0),  # equal bottom edges tie
        ((0, 1), "location", 1),  # lower centre
        ((2, 1), "location", -1),  # higher centre
        ((0, 1), "area", -1),  # smaller
        ((2, 0), "area", 1),  # larger
    ],
)
def test_evidence_of_boxes(pair, rule, sign):
    table = make_table([pair], [1], scene_of=[0, 0, 0], boxes=BOXES)
    assert np.sign(evidence(table)[rule].round(9)).tolist() == [sign]


def test_majority_takes_the_commoner_order():
    table = make_table([(0, 1), (0, 2), (1, 2)], [2, 2, 1], scene_of=[0, 0, 0])
    assert plain(audit({"within_image": table}))["within_image"]["majority"]["accuracy"] == pytest.approx(2 / 3)


def test_pairs_without_a_clear_order_are_not_asked():
    table = make_table([(0, 1), (0, 2), (1, 2)], [0, 3, 1], scene_of=[0, 0, 0], boxes=BOXES)
    found = plain(audit({"within_image": table}))["within_image"]
    assert list(found) == RULES
    assert {rule["n"] for rule in found.values()} == {1}
    assert found["bottom_edge"]["accuracy"] == 1.0


def test_without_any_clear_pair_all_is_null():
    table = make_table([(0, 1)], [3], scene_of=[0, 0])
    rule = plain(audit({"within_image": table}))["within_image"]["area"]
    assert rule == {"accuracy": None, "low": None, "high": None, "n": 0, "se_ratio": None}


def test_the_class_prior_learns_from_other_clusters_only():
    # the first class is closer in every scene but the last, which stands alone against the habit
    scenes = 20
    table = make_table(
        [(2 * s, 2 * s + 1) for s in range(scenes)],
        [1] * (scenes - 1) + [2],
        scene_of=np.repeat(np.arange(scenes), 2).tolist(),
        classes=["cup", "wall"] * scenes,
    )
    found = audit({"within_image": table}, folds=scenes)
    assert found["within_image"]["class_prior"].accuracy.value == 0.95


def test_a_tie_counts_one_half():
    table = make_table([(0, 1)], [1], scene_of=[0, 0])  # equal boxes, one class
    found = plain(audit({"within_image": table}))["within_image"]
    assert {found[rule]["accuracy"] for rule in RULES[:5]} == {0.5}


def test_a_pair_of_classes_that_never_met_is_decided_by_their_rating_alone():
    # cup beats plate, and plate beats wall, again and again; cup and wall meet once, in the last scene
    kinds = [("cup", "plate"), ("plate", "wall")] * 10 + [("cup", "wall")]
    table = make_table(
        [(2 * s, 2 * s + 1) for s in range(len(kinds))],
        [1] * len(kinds),
        scene_of=np.repeat(np.arange(len(kinds)), 2).tolist(),
        classes=[name for pair in kinds for name in pair],
    )
    found = audit({"within_image": table}, folds=len(kinds))["within_image"]
    assert found["class_prior"].accuracy.value == 1.0
    assert found["class_pair"].accuracy.value == pytest.approx(1 - 0.5 / len(kinds))


def test_pairs_without_depth_are_not_audited():
    table = make_table([(0, 1)], [-1], scene_of=[0, 0], occlusion=[1])
    assert audit({"within_image": replace(table, asked=np.array([[False, True]]))}) == {}


def test_se_ratio_is_one_for_single_pairs_and_root_m_for_copies():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 2, 4000).astype(float)
    alone = se_ratio(scores, np.arange(4000, dtype=np.int32), 4000)
    assert alone == pytest.approx(1.0)
    copies = se_ratio(np.repeat(scores, 4), np.repeat(np.arange(4000, dtype=np.int32), 4), 4000)
    assert copies == pytest.approx(2.0, rel=1e-3)
    assert np.isnan(se_ratio(np.ones(5), np.arange(5, dtype=np.int32), 5))


def test_same_seed_same_figures():
    table = random_table(4, scenes=30)
    assert audit({"within_image": table}) == audit({"within_image": table})
    assert (credit(np.array([1.0, -1.0]), np.array([2, 2], dtype=np.int8)) == [0, 1]).all()


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("rule", "within", "across", "tolerance"),
    [
        ("bottom_edge", 0.857, 0.597, 0.0006),
        ("area", 0.686, 0.612, 0.0006),
        ("class_pair", 0.556, 0.649, 0.006),  # the folds differ
        ("class_prior", 0.569, 0.744, 0.01),
        ("majority", 0.501, 0.504, 0.0006),
    ],
)
def test_real_blind_rules(real_data, rule, within, across, tolerance):
    tables = real_tables(real_data)
    found = audit({s: tables[s, "test"] for s in ("within_image", "across_images")}, resamples=400)
    for setting, expected, pairs in (("within_image", within, 18_414), ("across_images", across, 21_595)):
        measured = found[setting][rule]
        assert measured.accuracy.value == pytest.approx(expected, abs=tolerance)
        assert measured.accuracy.low < measured.accuracy.value < measured.accuracy.high
        assert measured.pairs == pairs
        if rule in ("bottom_edge", "area"):
            assert 1.65 < measured.se_ratio < 2.15
