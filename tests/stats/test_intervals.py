from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from sightline.errors import ConfigError
from sightline.plain import plain
from sightline.stats import Interval, bootstrap, intervals, macro_intervals
from sightline.stats.intervals import mid_p_at_0, percentile_limits, t_quantile, wilson


def ratio(totals):
    return totals[:, 0] / totals[:, 1]


def one(counts, **options):
    return intervals(np.array(counts).reshape(-1, 2), ratio, **options)[0]


def sample(n, p, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 9, n)
    return np.column_stack([rng.binomial(size, p), size])


@pytest.mark.parametrize(
    ("counts", "value", "low", "high", "n", "method"),
    [
        ([], math.nan, math.nan, math.nan, 0, "none"),  # no cluster
        ([[3, 4]], 0.75, math.nan, math.nan, 1, "none"),  # one cluster says nothing about clusters
        ([[0, 0]] * 9, math.nan, math.nan, math.nan, 0, "none"),  # never defined
        ([[3, 4], [0, 0]], 0.75, math.nan, math.nan, 1, "none"),  # only one cluster has a case
        ([[1, 1]] * 10, 1.0, 0.7411, 1.0, 10, "mid-p, effective n"),  # all right: 0.05 ** (1 / 10)
        ([[0, 7]] * 10, 0.0, 0.0, 0.2589, 10, "mid-p, effective n"),  # all wrong: clusters count, not judgements
        ([[1, 2]] * 10, 0.5, 0.2091, 0.7909, 10, "Wilson, effective n"),  # all alike: no variance seen
        ([[1, 1]] * 4000, 1.0, 0.99925, 1.0, 4000, "mid-p, effective n"),  # a bootstrap would say [1, 1]
    ],
)
def test_edge_cases(counts, value, low, high, n, method):
    found = one(counts)
    assert [found.value, found.low, found.high] == pytest.approx([value, low, high], abs=1e-4, nan_ok=True)
    assert (found.n, found.method) == (n, method)


@pytest.mark.parametrize(
    ("n", "p", "method"),
    [
        (199, 0.7, "Wilson, effective n"),  # just too few
        (200, 0.7, "percentile bootstrap"),  # enough
        (1000, 0.999, "Wilson, effective n"),  # many clusters, few errors
        (1000, 0.001, "Wilson, effective n"),  # many clusters, few hits
    ],
)
def test_the_rule_that_picks_the_method(n, p, method):
    assert one(sample(n, p)).method == method


def test_clusters_without_a_case_do_not_count_for_the_rule():
    counts = np.concatenate([sample(150, 0.7), np.zeros((4000, 2), dtype=int)])
    assert (one(counts).n, one(counts).method) == (150, "Wilson, effective n")


def f1_of_said_and_true(totals):
    """F1, undefined without a claim or without a positive: one scene alone often leaves it so."""
    tp, fp, fn = totals.T
    return np.where((tp + fp > 0) & (tp + fn > 0), 2 * tp / (2 * tp + fp + fn), np.nan)


def test_an_f1_of_0_is_judged_by_all_scenes_with_a_miss_or_a_false_claim():
    counts = np.zeros((100, 3), dtype=int)
    counts[:20, 1], counts[0, 1] = 1, 3  # 22 false claims
    counts[18:37, 2], counts[36, 2] = 1, 4  # 22 misses; two scenes have both
    found = intervals(counts, f1_of_said_and_true)[0]
    # half for a miss or a false claim alone, since a hit undoes one of each; at most one
    judgements = 33 / 2 + 2 + 2
    assert (found.n, found.low, found.method) == (37, 0, "mid-p, effective n")
    assert found.high == pytest.approx(1 - 0.05 ** (1 / judgements), rel=1e-4)


@pytest.mark.parametrize(
    ("both", "alone", "n", "high"),
    [
        (7, 15, 37, 0.1273),  # as spread over 37 scenes as they can be: 22 judgements
        (22, 0, 22, 0.1273),  # a miss and a false claim together in each of 22 scenes: 22 judgements
        (1, 9, 19, 0.2588),  # fewer: 10 judgements
    ],
)
def test_limits_of_an_f1_of_0(both, alone, n, high):
    counts = np.array([[0, 1, 1]] * both + [[0, 1, 0]] * alone + [[0, 0, 1]] * alone)
    found = intervals(counts, f1_of_said_and_true)[0]
    assert (found.n, found.low) == (n, 0)
    assert found.high == pytest.approx(high, abs=1e-3)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [2, 22, 400])
def test_mid_p_at_0_halves_the_chance_of_what_was_seen(n, level):
    high = mid_p_at_0(n, level)
    assert scipy_stats.binom.pmf(0, n, high) / 2 == pytest.approx((1 - level) / 2)
    exact = scipy_stats.beta.ppf((1 + level) / 2, 1, n)  # Clopper and Pearson
    assert scipy_stats.beta.ppf((1 + level) / 2, 0.5, n + 0.5) < high < exact  # Jeffreys' is narrower
    assert mid_p_at_0(0, level) == 1


def test_effective_n_of_single_judgements_is_their_number():
    counts = [[1, 1]] * 60 + [[0, 1]] * 40
    low, high = wilson(0.6, 99, t_quantile(0.975, 99))  # n/(n−1) in the variance makes 100 into 99
    assert (one(counts).low, one(counts).high) == pytest.approx((low, high))


def test_identical_judgements_in_a_cluster_count_once():
    assert one([[5, 5]] * 60 + [[0, 5]] * 40).low == pytest.approx(one([[1, 1]] * 60 + [[0, 1]] * 40).low)


def test_percentiles_are_those_of_the_bootstrap():
    counts = sample(300, 0.6)
    found = one(counts, resamples=500, seed=9)
    values = bootstrap(counts, ratio, resamples=500, seed=9)[:, 0]
    assert [found.low, found.high] == pytest.approx(np.quantile(values, [0.025, 0.975]))
    wide = one(counts, resamples=500, seed=9, level=0.99)
    assert wide.low < found.low < found.value < found.high < wide.high


@pytest.mark.parametrize("p", [0.03, 0.5, 0.9])
def test_beyond_the_bootstrap_the_linearised_interval_is_as_good(p):
    counts = sample(20_001, p)
    found = one(counts)
    assert found.method == "Wilson, effective n"
    assert one(counts[1:]).method == "percentile bootstrap"
    low, high = percentile_limits(bootstrap(counts, ratio, resamples=1000), 0.95)[:, 0]
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.05 * (high - low))


def test_beyond_the_bootstrap_other_values_get_students_t():
    counts = np.concatenate([sample(20_001, 0.6, 1), sample(20_001, 0.5, 2)], axis=1)

    def difference(t):
        return ratio(t[:, :2]) - ratio(t[:, 2:])

    most = intervals(counts, difference, proportion=False)[0]
    assert most.method == "linearised, t"
    fewer = intervals(counts[1:], difference, proportion=False)[0]
    assert fewer.method == "percentile bootstrap"
    assert [most.low, most.high] == pytest.approx([fewer.low, fewer.high], abs=0.05 * (fewer.high - fewer.low))


def test_percentiles_leave_undefined_resamples_out():
    values = np.array([[0.1], [np.nan], [0.3]])
    assert percentile_limits(values, 0.5)[:, 0] == pytest.approx([0.15, 0.25])


def test_unbounded_statistics_get_students_t():
    y = np.array([0.2, -0.4, 1.9, 0.7])
    found = intervals(np.column_stack([y, np.ones(4)]), ratio, proportion=False)[0]
    half = scipy_stats.t.ppf(0.975, 3) * y.std(ddof=1) / 2
    assert (found.low, found.high) == pytest.approx((y.mean() - half, y.mean() + half), rel=1e-5)
    assert found.method == "linearised, t"


def test_macro_is_the_mean_over_clusters_not_over_judgements():
    table = np.array([[7 / 10, np.nan], [4 / 5, np.nan], [np.nan, np.nan]])
    first, second = macro_intervals(table)
    assert (first.value, first.n) == (0.75, 2)
    assert 0 <= first.low < 0.75 < first.high <= 1
    assert math.isnan(second.value)
    assert math.isnan(second.low)
    assert second.n == 0


def test_macro_with_many_clusters_is_a_bootstrap():
    values = np.random.default_rng(0).beta(3, 2, (400, 1))
    found = macro_intervals(values)[0]
    error = values.std(ddof=1) / 20
    assert found.method == "percentile bootstrap"
    assert (found.low, found.high) == pytest.approx(
        (values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.1 * error
    )


def test_json_has_null_for_nan():
    given = plain(Interval(math.nan, math.nan, math.nan, 0, "none"))
    assert json.loads(json.dumps(given, allow_nan=False)) == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "method": "none",
    }


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(0.5, 0.25, 0.75, 9, "x"), "0.500 [0.250, 0.750]"),  # whole
        (Interval(0.5, math.nan, math.nan, 1, "none"), "0.500"),  # no limits
        (Interval(math.nan, math.nan, math.nan, 0, "none"), "–"),  # undefined
    ],
)
def test_prints_itself(interval, text):
    assert str(interval) == text


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 49, 199, 1000, 1001, 50_000])
@pytest.mark.parametrize("probability", [0.9, 0.975, 0.995])
def test_t_quantile(freedom, probability):
    assert t_quantile(probability, freedom) == pytest.approx(scipy_stats.t.ppf(probability, freedom), abs=5e-5)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (1, 9), (30, 40), (17, 17)])
def test_wilson(hits, n):
    expected = scipy_stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits / n, n, scipy_stats.norm.ppf(0.975)) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(ConfigError, match="level"):
        one([[1, 2]], level=level)
