from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.relations.pair_tables import make_table, random_table
from reference.class_prior import SlowPrior
from sightline.exams.relations.prior import UNSEEN, ClassPrior, cluster_folds, cross_fit

SEEDS = st.integers(0, 10_000)


def _triples(table, aspect):
    names = [table.categories[c] for c in table.category]
    labels = getattr(table, aspect).tolist()
    return [(names[a], names[b], y) for a, b, y in zip(table.first, table.second, labels, strict=True)]


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from(["depth", "occlusion"]))
def test_probabilities_equal_the_formula(seed, aspect):
    table = random_table(seed)
    prior, slow = ClassPrior.fit(table, aspect=aspect), SlowPrior(_triples(table, aspect))
    names = [*table.categories, "never seen"]
    grid = [(a, b) for a in names for b in names]
    a, b = prior.codes([a for a, _ in grid]), prior.codes([b for _, b in grid])
    np.testing.assert_allclose(prior.direction(a, b), [slow.direction(*p) for p in grid], rtol=1e-12)
    np.testing.assert_allclose(prior.pair_habit(a, b), [slow.habit(*p) for p in grid], rtol=1e-12)
    found = prior.probabilities(a, b)
    np.testing.assert_allclose(found, [slow.probabilities(*p) for p in grid], rtol=1e-12)
    np.testing.assert_allclose(found.sum(1), 1.0)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_the_other_way_round_mirrors_exactly(seed):
    table = random_table(seed)
    prior = ClassPrior.fit(table)
    a, b = table.category[table.first], table.category[table.second]
    np.testing.assert_allclose(prior.probabilities(a, b)[:, [0, 2, 1, 3]], prior.probabilities(b, a), rtol=1e-12)
    np.testing.assert_allclose(prior.direction(a, b), 1 - prior.direction(b, a), atol=1e-12)
    assert (prior.direction(a, a) == 0.5).all()


def test_fit_does_not_depend_on_the_annotated_direction():
    table = random_table(3)
    one, two = ClassPrior.fit(table), ClassPrior.fit(table.reversed())
    assert (one.counts == two.counts).all()
    assert (one.rating == two.rating).all()


def test_evidence_of_the_pair_beats_that_of_its_classes():
    # dog loses to everything else, but is always closer than the cat
    rest = [(1, 2)] * 30
    table = make_table(
        [(0, 1)] * 30 + rest, [1] * 30 + [1] * 30, scene_of=[0, 0, 0], classes=["dog", "cat", "wall"]
    )
    prior = ClassPrior.fit(table)
    dog, cat, wall = prior.codes(["dog", "cat", "wall"])
    ahead = prior.direction([dog, cat, dog], [cat, dog, wall])
    assert (ahead > 0.5).tolist() == [True, False, True]


def test_unseen_classes_and_no_pairs_at_all():
    empty = random_table(0).take(np.array([], dtype=int))
    prior = ClassPrior.fit(empty)
    assert prior.codes(["c0", "?"]).tolist() == [0, UNSEEN]
    np.testing.assert_allclose(prior.probabilities([0, -1], [-1, -1]), [[1 / 3, 1 / 6, 1 / 6, 1 / 3]] * 2)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(2, 5))
def test_folds_split_by_cluster_and_evenly(seed, folds):
    table = random_table(seed, scenes=11)
    one_each = dataclasses.replace(table, cluster=np.arange(11, dtype=np.int32))
    assert np.ptp(np.bincount(cluster_folds(one_each, folds, seed), minlength=folds)) <= 1
    fold = cluster_folds(table, folds, seed)
    by_cluster = {}
    for c, f in zip(table.cluster.tolist(), fold.tolist(), strict=True):
        assert by_cluster.setdefault(c, f) == f
    assert set(fold.tolist()) <= set(range(folds))


def test_cross_fit_never_sees_the_own_cluster():
    table = random_table(5, scenes=10)
    flipped = table.cluster == table.cluster[0]
    changed = make_changed(table, flipped)
    assert (cross_fitted(table)[flipped] == cross_fitted(changed)[flipped]).all()
    assert (cross_fitted(table)[~flipped] != cross_fitted(changed)[~flipped]).any()
    rows = np.concatenate([rows for rows, _ in cross_fit(table, folds=3)])
    assert sorted(rows.tolist()) == list(range(len(table)))


def cross_fitted(table):
    """Probabilities of each pair from priors that never saw its cluster."""
    found = np.full((len(table), 4), np.nan)
    for rows, prior in cross_fit(table):
        held = table.take(rows)
        found[rows] = prior.probabilities(table.category[held.first], table.category[held.second])
    return found


def make_changed(table, rows):
    """The same table with other labels on the given rows."""
    other = np.where(rows, 3 - table.depth.clip(1, 2), table.depth)
    return dataclasses.replace(table, depth=other.astype(np.int8))
