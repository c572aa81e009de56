from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import consistency as oracle
from sightline.errors import ConfigError, DataError
from sightline.stats import intervals, rate, symmetry, transitivity

CLOSER, FARTHER, SAME, UNSURE, SILENT = 1, 2, 3, 0, -1


@st.composite
def answers(draw):
    """Ordered pairs of up to three clusters, in any order, object ids shared between clusters."""
    pairs = [(c, a, b) for c in range(3) for a in range(5) for b in range(5) if a != b]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=45))
    labels = draw(st.lists(st.integers(-1, 3), min_size=len(chosen), max_size=len(chosen)))
    table = np.array([(*p, code) for p, code in zip(chosen, labels, strict=True)], dtype=np.int64)
    return table.reshape(-1, 4).T


@settings(max_examples=150, deadline=None)
@given(answers())
def test_counts_equal_the_loops(table):
    told = oracle.said(*table.tolist(), 3)
    assert symmetry(*table, n_clusters=3).tolist() == oracle.symmetry_depth(told)
    assert symmetry(*table, exact=True, n_clusters=3).tolist() == oracle.symmetry_equal(told, (1, 2, 3))
    assert symmetry(*table, aspect="occlusion", n_clusters=3).tolist() == oracle.symmetry_equal(told, (0, 1, 2, 3))
    assert transitivity(*table, n_clusters=3).tolist() == oracle.transitivity(told)
    assert transitivity(*table, every=True, n_clusters=3).tolist() == oracle.transitivity(told, every=True)


def pair_counts(there, back, **options):
    return symmetry(np.zeros(2, int), np.array([7, 9]), np.array([9, 7]), np.array([there, back]), **options)[0]


@pytest.mark.parametrize(
    ("there", "back", "violations", "cases"),
    [
        (CLOSER, FARTHER, 0, 1),  # agrees; the reverse has no premise
        (CLOSER, CLOSER, 2, 2),  # both claim to be closer
        (CLOSER, SAME, 1, 2),  # a ≤ b then b ≥ a holds; b ≤ a then a ≥ b does not
        (SAME, SAME, 0, 2),  # agrees
        (FARTHER, FARTHER, 0, 0),  # no premise, as the paper states the test
        (CLOSER, UNSURE, 0, 0),  # unsure is no answer
        (CLOSER, SILENT, 0, 0),  # silence is none
    ],
)
def test_depth_symmetry_cases(there, back, violations, cases):
    assert pair_counts(there, back).tolist() == [violations, cases]


@pytest.mark.parametrize(
    ("there", "back", "violations", "cases"),
    [
        (0, 0, 0, 2),  # none both ways
        (1, 2, 0, 2),  # occludes, occluded
        (1, 1, 2, 2),  # both occlude: should have been mutual
        (0, 3, 2, 2),  # none against mutual
        (0, -1, 0, 0),  # silent
    ],
)
def test_occlusion_symmetry_cases(there, back, violations, cases):
    assert pair_counts(there, back, aspect="occlusion").tolist() == [violations, cases]


@pytest.mark.parametrize(
    ("ab", "bc", "ac", "counts"),
    [
        (CLOSER, CLOSER, CLOSER, [0, 1]),  # fits
        (CLOSER, SAME, FARTHER, [1, 1]),  # contradicts
        (SAME, SAME, CLOSER, [0, 1]),  # ≤ holds
        (CLOSER, FARTHER, FARTHER, [0, 0]),  # a premise fails
        (CLOSER, CLOSER, UNSURE, [0, 0]),  # (a, c) unanswered
        (UNSURE, CLOSER, FARTHER, [0, 0]),  # a premise unanswered
    ],
)
def test_transitivity_cases(ab, bc, ac, counts):
    cluster, first, second = np.zeros(3, int), np.array([0, 1, 0]), np.array([1, 2, 2])
    assert transitivity(cluster, first, second, np.array([ab, bc, ac])).tolist() == [counts]


@pytest.mark.parametrize("test", [symmetry, transitivity])
def test_answers_from_true_depths_never_contradict(test):
    rng = np.random.default_rng(0)
    depth = rng.integers(0, 12, 35)  # ties included; more objects than any real image has
    first, second = (x.ravel() for x in np.meshgrid(range(35), range(35)))
    first, second = first[first != second], second[first != second]
    label = np.select([depth[first] < depth[second], depth[first] > depth[second]], [CLOSER, FARTHER], SAME)
    violations, cases = test(np.zeros(len(first), int), first, second, label)[0]
    assert violations == 0
    assert cases > 500


@pytest.mark.parametrize("test", [symmetry, transitivity])
def test_empty_and_pairless_clusters(test):
    nothing = np.zeros(0, int)
    assert test(nothing, nothing, nothing, nothing).shape == (0, 2)
    assert test(nothing, nothing, nothing, nothing, n_clusters=3).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        (([0], [1], [1], [1]), DataError, "itself"),  # a pair of one object
        (([0, 0], [1, 1], [2, 2], [1, 2]), DataError, "twice"),  # two answers to one question
        (([0, 0], [1], [2], [1]), ConfigError, "shape"),  # lengths
        (([-1], [1], [2], [1]), ConfigError, "outside"),  # cluster index
    ],
)
@pytest.mark.parametrize("test", [symmetry, transitivity])
def test_bad_input(test, arrays, error, message):
    with pytest.raises(error, match=message):
        test(*(np.array(x) for x in arrays))


def test_unknown_aspect_is_refused():
    with pytest.raises(ConfigError, match="aspect"):
        pair_counts(1, 2, aspect="size")


def test_fifty_thousand_pairs_in_a_second_and_their_interval():
    rng = np.random.default_rng(1)
    cluster, first, second = [], [], []
    for c, m in enumerate([40, 35, *rng.integers(2, 7, 4000)]):
        a, b = (x.ravel() for x in np.meshgrid(range(m), range(m)))
        cluster += [c] * (m * m - m)
        first += a[a != b].tolist()
        second += b[a != b].tolist()
    arrays = [np.array(x) for x in (cluster, first, second)]
    label = rng.integers(-1, 4, len(cluster))
    counts = [symmetry(*arrays, label), transitivity(*arrays, label)]
    assert len(cluster) > 50_000
    for found in (intervals(c, rate, resamples=300)[0] for c in counts):
        assert found.low < found.value < found.high
