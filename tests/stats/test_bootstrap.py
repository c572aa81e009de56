from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reference import bootstrap as oracle
from sightline.errors import ConfigError
from sightline.stats import bootstrap, intervals, mean_known
from sightline.stats.bootstrap import judgements_unmoved, linearise, resampled_totals


def ratio(totals):
    return totals[:, 0] / totals[:, 1]


def hits_of(*rows):
    return np.array(rows)


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 7), st.integers(1, 3)), elements=st.integers(0, 9)))
def test_totals_equal_the_loop(counts):
    ours = resampled_totals(counts, 6, np.random.default_rng(3))
    assert np.array_equal(ours, oracle.resampled_totals(counts, 6, np.random.default_rng(3)))


@pytest.mark.parametrize("at_once", [1, 7, 100, 10**6])
def test_the_chunk_does_not_change_the_result(at_once):
    counts = np.random.default_rng(0).integers(0, 9, (13, 2, 3))
    whole = resampled_totals(counts, 20, np.random.default_rng(1))
    assert whole.shape == (20, 2, 3)
    assert np.array_equal(resampled_totals(counts, 20, np.random.default_rng(1), at_once=at_once), whole)


@pytest.mark.parametrize(
    "counts",
    [
        np.arange(60).reshape(30, 2),  # whole and small: single precision
        np.arange(60).reshape(30, 2) * 600_001,  # whole, but single precision would round
        np.arange(60).reshape(30, 2) / 7,  # no whole numbers
    ],
)
def test_totals_are_added_up_without_rounding(counts):
    exact = oracle.resampled_totals(counts, 9, np.random.default_rng(2))
    ours = bootstrap(counts, lambda totals: totals, resamples=9, seed=2)
    assert np.allclose(ours, exact, rtol=1e-15, atol=0)
    if counts.dtype.kind == "i":
        assert np.array_equal(ours, exact)


def test_same_seed_same_bits_and_other_seed_other_draws():
    counts = np.random.default_rng(0).integers(0, 9, (50, 2)) + 1
    assert np.array_equal(bootstrap(counts, ratio, seed=4), bootstrap(counts, ratio, seed=4))
    assert not np.array_equal(bootstrap(counts, ratio, seed=4), bootstrap(counts, ratio, seed=5))


def test_spread_is_that_of_the_linearised_variance():
    rng = np.random.default_rng(5)
    size = rng.integers(1, 9, 500)
    counts = np.column_stack([rng.binomial(size, rng.beta(2, 1, 500)), size])
    spread = bootstrap(counts, ratio, resamples=4000).std()
    assert spread == pytest.approx(np.sqrt(linearise(counts, ratio).variance[0]), rel=0.05)


def test_undefined_resamples_are_nan_without_a_warning():
    values = bootstrap(hits_of([1, 1], [0, 0]), ratio, resamples=50)
    assert np.isnan(values).any()
    assert np.nanmax(values) == 1


def test_trailing_axes_are_flattened_and_a_wrong_length_is_refused():
    counts = np.ones((4, 2))
    assert bootstrap(counts, lambda t: np.ones((len(t), 5, 3)), resamples=7).shape == (7, 15)
    with pytest.raises(ConfigError, match="shape"):
        bootstrap(counts, lambda t: np.ones((2, 7)), resamples=7)
    with pytest.raises(ConfigError, match="resamples"):
        bootstrap(counts, ratio, resamples=0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=9))
def test_linearised_variance_is_the_ratio_estimators(rows):
    counts = np.array([(min(y, x), x) for y, x in rows])
    used = int((counts[:, 1] > 0).sum())
    found = linearise(counts, ratio)
    assert found.n[0] == (used if used else 0)
    if used > 1:
        expected = oracle.ratio_variance(counts[:, 0], counts[:, 1])
        assert found.variance[0] == pytest.approx(expected, rel=1e-5, abs=1e-18)
    else:
        assert np.isnan(found.variance[0])


def f1(totals):
    tp, fp, fn = totals[:, :3].T
    return 2 * tp / (2 * tp + fp + fn)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.int64, st.tuples(st.integers(2, 9), st.just(3)), elements=st.integers(0, 3)), st.booleans())
def test_judgements_behind_an_f1_of_0_or_1(counts, hits):
    counts[:, 1 if hits else 0] = 0
    counts[:, 2] *= not hits
    if counts.any():
        clusters, judgements = judgements_unmoved(counts, f1)
        assert clusters[0] == counts.any(axis=1).sum()
        assert judgements[0] == pytest.approx(oracle.judgements_of_f1(*counts.T), rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=9), st.sampled_from([0, 1]), st.integers(1, 10**5))
def test_a_share_that_is_0_or_1_counts_each_cluster_with_a_case_once(cases, value, times):
    counts = np.repeat(np.array([(value * x, x) for x in cases]), min(times, 50), axis=0) * times
    if counts.any():
        used = (counts[:, 1] > 0).sum()
        assert [x[0] for x in judgements_unmoved(counts, ratio)] == [used, used]


def test_judgements_do_not_depend_on_how_many_cells_are_moved_at_once():
    counts = np.zeros((5, 3, 3), dtype=int)
    counts[:, :, 1] = np.arange(15).reshape(5, 3) % 2

    def three(totals):
        return 2 * totals[..., 0] / (2 * totals[..., 0] + totals[..., 1] + totals[..., 2])

    whole = judgements_unmoved(counts, three)
    assert np.array_equal(judgements_unmoved(counts, three, at_once=1), whole)
    assert whole[1] == pytest.approx([1.0, 1.5, 1.0], rel=1e-4)


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("at_once", [1, 10**6])
def test_a_class_without_a_case_does_not_count_in_a_mean_that_is_0_or_1(value, at_once):
    counts = np.ones((50, 3, 2))
    counts[:, :, 1] = value

    def mean_over_classes(totals):
        return mean_known(totals[..., 1] / totals[..., 0])[:, None]

    counts[:, 2] = 0  # stepping its number of cases would make it a third class with the value 0
    clusters, judgements = judgements_unmoved(counts, mean_over_classes, at_once=at_once)
    assert [clusters[0], judgements[0]] == [50, 50]
    (ours,) = intervals(counts, mean_over_classes)
    (without,) = intervals(counts[:, :2], mean_over_classes)
    assert (ours.low, ours.high) == (without.low, without.high)
    assert ours.high - ours.low < 0.06


def test_a_hit_counts_also_where_no_class_has_one():
    counts = np.zeros((40, 2, 2))
    counts[:, 0, 0] = 1  # the other class has no case, and neither a hit
    _, judgements = judgements_unmoved(counts, lambda t: mean_known(t[..., 1] / t[..., 0])[:, None])
    assert judgements[0] == 40
