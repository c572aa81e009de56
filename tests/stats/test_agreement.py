from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import agreement as oracle
from sightline.errors import ConfigError, DataError
from sightline.stats import (
    dawid_skene,
    fleiss_kappa,
    human_ceiling,
    intervals,
    krippendorff_alpha,
    leave_one_out_counts,
)
from sightline.stats.agreement import fleiss_counts, fleiss_of, krippendorff_counts, krippendorff_of

votes_of = st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=9)

# The example of Fleiss (1971) as worked in textbooks: 10 subjects, 14 raters, 5 categories, κ = 0.210.
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)


def test_fleiss_textbook_value():
    assert fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=5e-4)


@settings(max_examples=80, deadline=None)
@given(votes_of)
def test_kappa_and_alpha_equal_the_loops(votes):
    table = np.array(votes)
    pairable = [row for row in votes if sum(row) >= 2]
    if not pairable:
        assert np.isnan([fleiss_kappa(table), krippendorff_alpha(table)]).all()
        return
    assert fleiss_kappa(table) == pytest.approx(oracle.fleiss_kappa(votes), abs=1e-12, nan_ok=True)
    assert krippendorff_alpha(table) == pytest.approx(oracle.krippendorff_alpha(pairable), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("measure", [fleiss_kappa, krippendorff_alpha])
@pytest.mark.parametrize(
    ("votes", "value"),
    [
        ([[5, 0], [0, 5]], 1.0),  # all agree, both labels used
        ([[5, 0], [5, 0]], np.nan),  # nothing but one label: chance agreement is 1
        ([[1, 0], [0, 1]], np.nan),  # no pair of votes
        (np.zeros((0, 2)), np.nan),  # no item
        ([[5, 0], [0, 5], [1, 0]], 1.0),  # the single vote is left out
    ],
)
def test_edges(measure, votes, value):
    assert measure(np.array(votes)) == pytest.approx(value, nan_ok=True)


def test_alpha_exceeds_kappa_by_its_small_sample_term():
    votes = np.array([[3, 2], [5, 0], [1, 4]])
    assert krippendorff_alpha(votes) > fleiss_kappa(votes)
    many = np.tile(votes, (2000, 1))
    assert krippendorff_alpha(many) == pytest.approx(fleiss_kappa(many), abs=1e-4)


@pytest.mark.parametrize(
    ("counts", "statistic"), [(fleiss_counts, fleiss_of), (krippendorff_counts, krippendorff_of)]
)
def test_kappa_and_alpha_have_intervals(counts, statistic):
    votes = np.random.default_rng(0).multinomial(5, [0.7, 0.2, 0.1], 250)
    votes[::3] = [0, 0, 5]
    found = intervals(counts(votes), statistic, proportion=False)[0]
    assert found.low < found.value < found.high
    assert (found.n, found.method) == (250, "percentile bootstrap")


@settings(max_examples=40, deadline=None)
@given(votes_of.map(lambda rows: [row for row in rows if sum(row)] or [[1, 0, 0]]))
def test_dawid_skene_equals_the_loop(votes):
    fit = dawid_skene(np.array(votes), tolerance=-1, max_steps=4)
    prior, confusion, posterior, trace = oracle.dawid_skene(votes, 4)
    assert fit.prior == pytest.approx(prior, abs=1e-9)
    assert fit.posterior == pytest.approx(np.array(posterior), abs=1e-9)
    assert fit.log_likelihood == pytest.approx(trace, abs=1e-9)
    assert fit.confusion[fit.prior > 1e-9] == pytest.approx(np.array(confusion)[fit.prior > 1e-9], abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(votes_of.filter(lambda rows: any(map(sum, rows))))
def test_dawid_skene_never_loses_likelihood(votes):
    fit = dawid_skene(np.array(votes), max_steps=200)
    gain = np.diff(fit.log_likelihood)
    assert (gain >= -1e-9).all()
    assert fit.converged == (len(gain) > 0 and gain[-1] < 1e-8 * np.count_nonzero(np.array(votes).sum(axis=1)))
    assert fit.converged or len(gain) == 199
    assert fit.posterior.sum(axis=1) == pytest.approx(1)
    assert fit.confusion.sum(axis=1) == pytest.approx(1)
    silent = np.array(votes).sum(axis=1) == 0
    assert fit.posterior[silent] == pytest.approx(np.tile(fit.prior, (silent.sum(), 1)))


def test_dawid_skene_recovers_what_made_the_votes():
    rng = np.random.default_rng(1)
    prior, confusion = np.array([0.6, 0.3, 0.1]), np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.2, 0.1, 0.7]])
    truth = rng.choice(3, 4000, p=prior)
    size = rng.integers(3, 8, 4000)
    votes = np.array([rng.multinomial(n, confusion[z]) for n, z in zip(size, truth, strict=True)])
    fit = dawid_skene(votes)
    assert fit.converged
    assert fit.prior == pytest.approx(prior, abs=0.02)
    assert fit.confusion == pytest.approx(confusion, abs=0.025)
    assert (fit.posterior.argmax(axis=1) == truth).mean() >= (votes.argmax(axis=1) == truth).mean()


@pytest.mark.parametrize("undecided", ["leave_out", "split", "false_positive"])
@settings(max_examples=50, deadline=None)
@given(votes=votes_of)
def test_leaving_each_rater_out_equals_the_loop(undecided, votes):
    ours = leave_one_out_counts(np.array(votes), undecided=undecided)
    assert ours == pytest.approx(np.array(oracle.leave_one_out_counts(votes, undecided)), abs=1e-12)


@pytest.mark.parametrize(
    ("votes", "undecided", "accuracy"),
    [
        ([5, 0], "leave_out", 1.0),  # unanimous
        ([4, 1], "leave_out", 0.8),  # one dissenter
        ([3, 2], "leave_out", 0.0),  # the three meet a tie, the two a majority against them
        ([3, 2], "split", 0.3),  # the three are half right
        ([3, 2], "false_positive", 0.0),  # the three are wrong
        ([1, 0], "leave_out", np.nan),  # nobody else voted
        ([1, 1], "leave_out", 0.0),  # each has the other against it
    ],
)
def test_ceiling_of_one_item(votes, undecided, accuracy):
    found = human_ceiling(np.array([votes]), undecided=undecided).accuracy
    assert found.value == pytest.approx(accuracy, nan_ok=True)


def test_ceiling_sums_by_cluster():
    votes = np.array([[5, 0], [4, 1], [0, 5], [2, 2]])
    found = human_ceiling(votes, np.array([0, 2, 2, 0]), 4)
    items = leave_one_out_counts(votes)
    assert found.counts.shape == (4, 2, 3)
    assert found.counts[2] == pytest.approx(items[1] + items[2])
    assert found.counts.sum(axis=0) == pytest.approx(items.sum(axis=0))
    assert found.accuracy.n == 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fleiss_kappa(np.array([[1, -1]])), DataError, "item 0, label 1"),  # negative
        (lambda: fleiss_kappa(np.array([[1.0, np.nan]])), DataError, "not a vote count"),  # NaN
        (lambda: krippendorff_alpha(np.array([[1.5, 2]])), DataError, "whole number"),  # half a vote
        (lambda: dawid_skene(np.zeros((3, 2))), DataError, "no item has a vote"),  # nothing to fit
        (lambda: dawid_skene(np.ones(3)), DataError, "shape"),  # no table
        (lambda: leave_one_out_counts(np.ones((1, 2)), undecided="x"), ConfigError, "undecided"),  # option
        (lambda: human_ceiling(np.ones((2, 2)), np.zeros(3, int)), ConfigError, "cluster"),  # lengths
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
