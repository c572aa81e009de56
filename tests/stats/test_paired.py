from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from reference import bootstrap as oracle
from sightline.errors import ConfigError
from sightline.plain import plain
from sightline.stats import bootstrap, compare, holm, holm_by_family
from sightline.stats.paired import minimum_detectable, sign_flip


def ratio(totals):
    return totals[:, :1] / totals[:, 1:]


def sample(n, p, seed):
    """Two models of accuracy p and p − 0.1 on the same clusters, correlated through them."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 9, n)
    ease = rng.uniform(-0.1, 0.1, n)
    a, b = rng.binomial(size, p + ease), rng.binomial(size, p - 0.1 + ease)
    return np.column_stack([a, size]), np.column_stack([b, size])


@pytest.mark.parametrize("seed", range(4))
def test_sign_flips_estimate_the_exact_test(seed):
    a, b = sample(8, 0.7, seed)
    exact = oracle.all_swaps_p(a, b, lambda t: t[0] / t[1])
    both = np.stack([a, b], axis=1)
    ours = sign_flip(both, lambda t: ratio(t[:, 0]) - ratio(t[:, 1]), flips=20_000, seed=seed)[0]
    assert ours == pytest.approx(exact, abs=0.012)


def test_p_value_counts_itself():
    a, b = np.array([[1, 1]] * 30), np.array([[0, 1]] * 30)
    assert compare(a, b, ratio, ["accuracy"], resamples=999)[0].p_value == 1 / 1000


@pytest.mark.parametrize("n", [160, 400])
def test_a_difference_is_found_with_its_interval(n):
    a, b = sample(n, 0.75, 1)
    found = compare(a, b, ratio, ["accuracy"])[0]
    assert found.difference == pytest.approx(found.a - found.b)
    assert found.a == pytest.approx(a[:, 0].sum() / a[:, 1].sum())
    assert found.low < found.difference < found.high
    assert found.low > 0
    assert found.p_value < 0.01
    assert found.n == n
    swapped = compare(b, a, ratio, ["accuracy"])[0]
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), abs=0.005)


def test_the_interval_is_paired():
    a, b = sample(400, 0.75, 2)
    found = compare(a, b, ratio, ["accuracy"], seed=3)[0]
    both = np.concatenate([a, b], axis=1)
    values = bootstrap(both, lambda t: ratio(t[:, :2]) - ratio(t[:, 2:]), seed=3)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


def test_equal_models():
    a, _ = sample(300, 0.75, 0)
    found = compare(a, a, ratio, ["accuracy"])[0]
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    assert math.isnan(found.mde)


@pytest.mark.parametrize(
    "counts",
    [np.zeros((0, 2)), np.zeros((5, 2)), np.array([[1, 2]])],  # no cluster; undefined; one cluster
)
def test_nothing_to_say_is_nan_and_null(counts):
    found = compare(counts, counts, ratio, ["accuracy"], resamples=20)[0]
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert json.loads(json.dumps(plain(found), allow_nan=False))["low"] is None


def test_limits_of_a_difference_of_proportions_stay_within_one():
    a, b = np.array([[1, 1]] * 2 + [[0, 1]]), np.array([[0, 1]] * 3)
    found = compare(a, b, ratio, ["accuracy"])[0]
    assert (found.low, found.high) == (pytest.approx(2 / 3 - 4.3027 / 3, abs=1e-3), 1.0)


def test_detectable_difference_from_the_paired_error():
    a, b = np.array([[1, 1]] * 7 + [[0, 1]] * 3), np.array([[1, 1]] * 4 + [[0, 1]] * 6)
    d = a[:, 0] - b[:, 0]
    factor = scipy_stats.norm.ppf(0.975) + scipy_stats.norm.ppf(0.8)
    assert compare(a, b, ratio, ["accuracy"])[0].mde == pytest.approx(factor * d.std(ddof=1) / np.sqrt(10))
    assert minimum_detectable(np.array([1.0]))[0] == pytest.approx(2.8016, abs=1e-4)


def test_holm_over_the_statistics_and_the_printed_table():
    a, b = (np.stack(model, axis=1) for model in zip(sample(250, 0.75, 4), sample(250, 0.6, 5), strict=True))
    names = ["first", "second", "average"]

    def statistic(t):
        first, second = ratio(t[:, 0]), ratio(t[:, 1])
        return np.column_stack([first, second, (first + second) / 2])

    rows = compare(a, b, statistic, names)
    assert [row.name for row in rows] == names
    assert [row.p_holm for row in rows] == pytest.approx(oracle.holm([row.p_value for row in rows]))
    assert [row.n for row in rows] == [250, 250, 250]
    text = str(rows)
    assert len(text.splitlines()) == 4
    assert "average" in text
    assert plain(rows)[2]["name"] == "average"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=7))
def test_holm(p):
    assert holm(p).tolist() == pytest.approx(oracle.holm(p))


def test_holm_leaves_nan_out():
    assert holm([0.02, math.nan, 0.03]) == pytest.approx([0.04, math.nan, 0.04], nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["", "labels", "slices"])), max_size=9))
def test_holm_by_family(tests):
    p, families = [p for p, _ in tests], [family for _, family in tests]
    expected = list(p)
    for family in ("labels", "slices"):
        rows = [i for i, own in enumerate(families) if own == family]
        for i, corrected in zip(rows, oracle.holm([p[i] for i in rows]), strict=True):
            expected[i] = corrected
    assert holm_by_family(p, families).tolist() == pytest.approx(expected)


def test_families_of_a_comparison():
    a, b = (np.stack([model, model, model], axis=1) for model in sample(60, 0.6, 4))

    def three(totals):
        return totals[..., 0] / totals[..., 1]

    asked = compare(a, b, three, ["overall", "x", "y"], ["", "labels", "labels"])
    assert asked[0].p_holm == asked[0].p_value
    assert [row.p_holm for row in asked[1:]] == [min(1, 2 * row.p_value) for row in asked[1:]]
    together = compare(a, b, three, ["overall", "x", "y"])
    assert [row.p_holm for row in together] == [min(1, 3 * row.p_value) for row in together]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare(np.ones((3, 2)), np.ones((3, 2)), ratio, ["x"], []), "0 families for 1"),  # families
        (lambda: compare(np.ones((3, 2)), np.ones((4, 2)), ratio, ["x"]), "same clusters"),  # other clusters
        (lambda: compare(np.ones((3, 2)), np.ones((3, 2)), ratio, ["x", "y"]), "2 names for 1"),  # names
    ],
)
def test_misuse_is_refused(call, message):
    with pytest.raises(ConfigError, match=message):
        call()
