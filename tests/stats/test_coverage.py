"""Do the intervals hold what they promise? Simulated; benchmarks/interval_coverage.py repeats this at length."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from reference import simulated_clusters as simulated
from sightline.stats import bootstrap, compare, intervals
from sightline.stats.intervals import percentile_limits
from sightline.stats.paired import sign_flip


@pytest.mark.parametrize(
    ("n", "repeats", "accuracy", "method"),
    [
        (50, 3000, 0.85, "Wilson, effective n"),  # few
        (120, 3000, 0.85, "Wilson, effective n"),  # some
        (120, 3000, 0.97, "Wilson, effective n"),  # near the edge
        (400, 1500, 0.85, "percentile bootstrap"),  # many
        (400, 1500, 0.985, "Wilson, effective n"),  # many, but few errors
    ],
)
def test_intervals_cover_the_truth(n, repeats, accuracy, method):
    samples = simulated.clusters(np.random.default_rng(n), (n, repeats), accuracy)
    found = intervals(samples, simulated.statistics, resamples=1000)
    share = simulated.coverage(found, simulated.truth(accuracy))
    assert np.mean([interval.method == method for interval in found]) > 0.95
    assert (share >= 0.93).all(), share
    assert (share <= 0.97).all(), share


@pytest.mark.parametrize(
    ("n", "prevalence", "recall", "precision"),
    [
        (200, 0.01, 0.7, 0.6),  # 12 positives
        (100, 0.03, 0.7, 0.6),  # 18 positives
        (100, 0.03, 0.1, 0.1),  # often no hit at all
        (50, 0.1, 0.1, 0.1),  # some scenes, sometimes no hit
        (37, 0.1, 0.2, 0.2),  # 22 positives in the mean, one sample in thirty without a hit
        (500, 0.01, 0.12, 0.12),  # 30 positives in as many scenes: hits are hardly correlated
    ],
)
def test_intervals_of_f1_cover_the_truth_where_positives_are_rare(n, prevalence, recall, precision):
    rng, found = np.random.default_rng(n), []
    for _ in range(40):
        samples = simulated.rare(rng, (n, 50), prevalence, recall, precision)
        found += intervals(samples, simulated.rare_statistics, resamples=1)[2::3]
    share = simulated.coverage(found, simulated.rare_truth(recall, precision)[2:])[0]
    assert 0.93 <= share <= 0.975


@pytest.mark.parametrize(
    "high",
    [
        pytest.param(lambda scenes, errors: 1 - 0.05 ** (1 / scenes), id="each scene a judgement"),
        pytest.param(lambda scenes, errors: 1 - 0.05 ** (1 / errors), id="each error a judgement"),
    ],
)
def test_narrower_limits_of_an_f1_of_0_cover_too_little(high):
    """22 misses and 22 false claims in 37 scenes would have 0–8 % or 0–7 % by these: no such rule can hold."""
    truth = 0.09
    counts = simulated.rare(np.random.default_rng(0), (500, 3000), 0.01, truth, truth, likeness=0.02)
    tp, fp, fn = np.moveaxis(counts.sum(axis=0), -1, 0)
    scenes, none = (counts.sum(axis=-1) > 0).sum(axis=0), tp == 0
    hold = high(scenes, fp + fn)[none] >= truth
    assert 1 - (~hold).sum() / len(none) < 0.93  # even if every sample with a hit were covered


def test_intervals_by_judgement_cover_too_little():
    samples = simulated.clusters(np.random.default_rng(0), (400, 50))
    found = [intervals(simulated.by_judgement(c), simulated.statistics, resamples=300) for c in samples]
    share = simulated.coverage(list(chain.from_iterable(found)), simulated.truth())
    assert (share < 0.91).all(), share


def test_percentiles_alone_cover_too_little_near_one():
    """The reason for Wilson among many clusters with few errors."""
    samples = simulated.clusters(np.random.default_rng(400), (400, 600), 0.995)
    low, high = percentile_limits(bootstrap(samples, simulated.statistics, resamples=500), 0.95)
    expected = np.tile(simulated.truth(0.995), 600)
    assert ((low <= expected) & (expected <= high)).mean() < 0.92


def accuracy(totals):
    return totals[..., 0] / totals[..., 1]


def difference(totals):
    return accuracy(totals[:, 0]) - accuracy(totals[:, 1])


def rejections(a, b):
    """Share of p-values up to 5 % over the columns of (C, R, 2) counts; 50 columns share their flips."""
    both = np.stack([a, b], axis=1)
    starts = range(0, both.shape[2], 50)
    p = [sign_flip(both[:, :, i : i + 50], difference, flips=299, seed=i) for i in starts]
    return (np.concatenate(p) <= 0.05).mean()


def test_sign_flip_rejects_five_percent_of_equal_models():
    a, b = simulated.two_models(np.random.default_rng(1), (150, 3000))
    assert 0.04 <= rejections(a, b) <= 0.06


def test_sign_flip_by_judgement_rejects_too_many():
    a, b = simulated.two_models(np.random.default_rng(2), (300, 60))
    singles = [simulated.judgements_of_two(*pair) for pair in zip(a, b, strict=True)]
    assert np.mean([rejections(x[:, None], y[:, None]) for x, y in singles]) > 0.1


def test_power_at_the_minimum_detectable_difference():
    rng = np.random.default_rng(3)
    a, b = simulated.two_models(rng, (100, 200))
    pilot = compare(a, b, accuracy, [""] * 200, resamples=1)
    advantage = np.mean([row.mde for row in pilot])
    assert 0.76 <= rejections(*simulated.two_models(rng, (100, 2000), advantage)) <= 0.84


@pytest.mark.parametrize("n", [60, 250])  # Student's t; percentiles
def test_intervals_of_a_difference_cover_it(n):
    a, b = simulated.two_models(np.random.default_rng(n), (n, 2000), 0.05)
    found = compare(a, b, accuracy, [""] * 2000, resamples=1000)
    assert 0.93 <= np.mean([row.low <= 0.05 <= row.high for row in found]) <= 0.97
