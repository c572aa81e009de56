from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import ranked as oracle
from reference import viewpoint_scores
from sightline.errors import ConfigError, DataError
from sightline.stats.ranked import (
    average_precision,
    compare_ranked,
    curve,
    median_error,
    rank,
    ranked_intervals,
    sort_errors,
)

POINTS = ["coco", "voc", "all"]


def rows_of(score, cluster, hit, ignored, times):
    """Detections for the oracle, each as often as its cluster was drawn."""
    each = zip(score, cluster, hit, ignored, strict=True)
    return [(s, h and not i, i) for s, c, h, i in each for _ in range(times[c])]


@st.composite
def detections(draw, n_clusters=4):
    """Scores with ties, clusters, hits, ignored ones, and at least as many positives as there are hits."""
    row = st.tuples(st.integers(0, 5), st.integers(0, n_clusters - 1), st.booleans(), st.booleans())
    score, cluster, hit, ignored = np.array(draw(st.lists(row, max_size=14)), dtype=int).reshape(-1, 4).T
    more = draw(st.lists(st.integers(0, 3), min_size=n_clusters, max_size=n_clusters))
    hit, ignored = hit.astype(bool), ignored.astype(bool)
    return score / 5, cluster, hit, ignored, np.bincount(cluster[hit & ~ignored], minlength=n_clusters) + more


@settings(max_examples=150, deadline=None)
@given(detections(), st.lists(st.integers(0, 3), min_size=4, max_size=4), st.sampled_from(POINTS))
def test_weights_along_one_order_are_a_new_evaluation_of_the_drawn_images(made, times, points):
    score, cluster, hit, ignored, positives = made
    ranking = rank(score, cluster, hit, positives, ignored=ignored)
    expected = [
        oracle.average_precision(rows_of(score, cluster, hit, ignored, t), int(np.dot(t, positives)), points)
        for t in ([1] * 4, times)
    ]
    weighted = average_precision(ranking, np.array([[1] * 4, times]), points=points)
    assert weighted[:, 0] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    alone = average_precision(ranking, points=points)
    assert alone[0] == pytest.approx(expected[:1], abs=1e-12, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(detections())
def test_curve(made):
    score, cluster, hit, ignored, positives = made
    if positives.sum():
        ranking = rank(score, cluster, hit, positives, ignored=ignored)
        drawn = curve(ranking)
        expected = oracle.points_of(rows_of(score, cluster, hit, ignored, [1] * 4), positives.sum())
        assert np.column_stack([drawn.recall, drawn.precision]) == pytest.approx(np.reshape(expected, (-1, 2)))
        assert (np.diff(drawn.score) <= 0).all()
        assert (np.diff(drawn.envelope) <= 0).all()
        assert (drawn.envelope >= drawn.precision).all()


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize(
    ("hit", "positives", "expected"),
    [
        ([True, True], 2, 1.0),  # all found, nothing else
        ([False, False], 2, 0.0),  # nothing found
        ([], 2, 0.0),  # nothing said
        ([False, False], 0, math.nan),  # nothing to find
    ],
)
def test_edge_cases(hit, positives, expected, points):
    ranking = rank(np.arange(len(hit)), np.zeros(len(hit), int), np.array(hit, bool), np.array([positives]))
    value = average_precision(ranking, points=points).item()
    assert value == pytest.approx(expected, nan_ok=True)


def sample(n, seed, skill=1.0, shift=0):
    """One detection or several an image, hits scored higher by `skill`; two thresholds, the second harder."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n), rng.integers(1, 5, n))
    ease = rng.normal(size=n)[cluster]
    hit = np.stack([rng.random(len(cluster)) < p for p in (0.6, 0.4)])
    score = skill * hit.mean(axis=0) + np.random.default_rng(seed + shift).normal(size=len(cluster)) + 0.3 * ease
    return rank(score, cluster, hit & hit[:1], np.bincount(cluster, minlength=n))


def test_thresholds_and_rankings_are_averaged_without_undefined_ones():
    one, other = sample(30, 0), sample(30, 1)
    nothing = rank(np.ones(1), np.zeros(1, int), np.zeros(1, bool), np.zeros(30))
    found = ranked_intervals({"both": [one, nothing, other], "first": [one.at([0])]}, resamples=50)
    assert found["both"].value == pytest.approx(np.hstack([average_precision(r) for r in (one, other)]).mean())
    assert found["first"].value == average_precision(one)[0, 0]


@pytest.mark.parametrize(("n", "method"), [(60, "Wilson, effective n"), (250, "percentile bootstrap")])
def test_intervals_by_image(n, method):
    ranking = sample(n, 3)
    found = ranked_intervals({"AP": [ranking]}, resamples=400, seed=5)["AP"]
    rng = np.random.default_rng(5)
    draws = [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(400)]
    values = average_precision(ranking, np.array(draws)).mean(axis=1)
    assert (found.n, found.method) == (n, method)
    close = 1e-9 if method == "percentile bootstrap" else 0.02
    assert [found.low, found.high] == pytest.approx(np.quantile(values, [0.025, 0.975]).tolist(), abs=close)


@pytest.mark.parametrize("hit", [True, False])
def test_no_variance_seen_counts_each_image_once(hit):
    ranking = rank(np.ones(30), np.arange(10).repeat(3), np.full(30, hit), np.full(10, 3))
    found = ranked_intervals({"AP": [ranking]}, resamples=50)["AP"]
    assert found.value == hit
    assert (found.low, found.high) == pytest.approx((0.7411, 1.0) if hit else (0.0, 0.2589), abs=1e-4)


def test_intervals_cover_the_truth():
    truth = average_precision(sample(20_000, 7)).mean()
    found = [ranked_intervals({"AP": [sample(80, 100 + i)]}, resamples=150)["AP"] for i in range(400)]
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.98


def test_a_worse_model_is_found_and_equal_ones_are_not():
    good, bad = sample(150, 2, skill=2.0), sample(150, 2, skill=0.2)
    one, same = compare_ranked({"x": [good], "y": [good]}, {"x": [bad], "y": [good]}, ["", "labels"], resamples=300)
    assert one.difference == pytest.approx(one.a - one.b)
    assert 0 < one.low < one.difference < one.high
    assert one.p_value == one.p_holm == 1 / 301
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    back = compare_ranked({"x": [bad]}, {"x": [good]}, resamples=300)[0]
    assert (back.low, back.high) == pytest.approx((-one.high, -one.low))


def test_the_interval_of_a_difference_is_paired():
    a, b = sample(250, 4), sample(250, 4, shift=9)
    found = compare_ranked({"AP": [a]}, {"AP": [b]}, resamples=300, seed=1)[0]
    rng = np.random.default_rng(1)
    draws = np.array([np.bincount(rng.integers(0, 250, 250), minlength=250) for _ in range(300)])
    values = average_precision(a, draws).mean(axis=1) - average_precision(b, draws).mean(axis=1)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
    assert found.mde == pytest.approx(2.8016 * values.std() * math.sqrt(250 / 249), rel=1e-3)


def test_swaps_estimate_the_exact_test():
    a, b = sample(7, 1, skill=2.5), sample(7, 1, skill=0.0, shift=3)
    a, b = a.at([0]), b.at([0])

    def difference(kept):
        """AP of the first model less that of the second, after images not kept have changed sides."""
        values = []
        for one, other in ((a, b), (b, a)):
            sides = (
                (m, [i for i in range(len(m.score)) if (m is one) == kept[m.cluster[i]]]) for m in (one, other)
            )
            rows = [(m.score[i], m.hit[0, i], False) for m, chosen in sides for i in chosen]
            values.append(oracle.average_precision(rows, a.positives.sum()))
        return values[0] - values[1]

    seen = abs(difference([True] * 7))
    large = [abs(difference(kept)) >= seen - 1e-12 for kept in itertools.product([True, False], repeat=7)]
    found = compare_ranked({"AP": [a]}, {"AP": [b]}, resamples=8000)[0]
    assert found.p_value == pytest.approx(np.mean(large), abs=0.02)


def test_memory_is_bounded_without_changing_the_result(monkeypatch):
    groups = {"AP": [sample(40, 0)]}
    whole = (
        ranked_intervals(groups, resamples=30),
        compare_ranked(groups, {"AP": [sample(40, 0, 0.1)]}, resamples=30),
    )
    monkeypatch.setattr("sightline.stats.ranked._WEIGHTS_AT_ONCE", 200)
    assert whole[0] == ranked_intervals(groups, resamples=30)
    assert whole[1] == compare_ranked(groups, {"AP": [sample(40, 0, 0.1)]}, resamples=30)


ONE = sample(5, 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rank(np.ones(2), np.zeros(3, int), np.ones(2, bool), np.ones(1)), ConfigError, "shape"),  # lengths
        (lambda: rank(np.ones(1), np.ones(1, int), np.ones(1, bool), np.ones(1)), ConfigError, "0…0"),  # cluster
        (
            lambda: rank(np.array([np.nan]), np.zeros(1, int), np.ones(1, bool), np.ones(1)),
            DataError,
            "score",
        ),  # NaN
        (lambda: average_precision(ONE, points="trec"), ConfigError, "coco, voc or all"),  # points
        (lambda: ranked_intervals({"x": [ONE]}, level=95), ConfigError, "level"),  # no probability
        (lambda: ranked_intervals({"x": [ONE]}, resamples=0), ConfigError, "resamples"),  # none
        (lambda: ranked_intervals({"x": [ONE, sample(6, 0)]}), ConfigError, "same clusters"),  # other clusters
        (lambda: ranked_intervals({"x": []}), ConfigError, "each group"),  # no ranking
        (lambda: compare_ranked({"x": [ONE]}, {"y": [ONE]}), ConfigError, "same groups"),  # other names
        (lambda: compare_ranked({"x": [ONE]}, {"x": [sample(5, 8)]}), ConfigError, "same clusters"),  # positives
        (lambda: compare_ranked({"x": [ONE]}, {"x": [ONE]}, []), ConfigError, "0 families"),  # families
    ],
)
def test_misuse_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@settings(max_examples=60, deadline=None)
@given(detections(), st.lists(st.integers(0, 3), min_size=4, max_size=4), st.sampled_from([None, 2.5]), st.data())
def test_credit_and_a_normal_number_along_one_order(made, times, normal, data):
    score, cluster, hit, ignored, positives = made
    credit = np.array(data.draw(st.lists(st.booleans(), min_size=len(hit), max_size=len(hit))), dtype=bool)
    ranking = replace(rank(score, cluster, hit, positives, ignored=ignored, credit=credit), normal=normal)
    amount = int(np.dot(times, positives))
    drawn = [
        (s, h, c, times[of])  # copies of a detection in a resample are said at once: they have one score
        for s, of, h, i, c in zip(score, cluster, hit, ignored, credit, strict=True)
        if not i and times[of]
    ]
    recalls, precisions, said, hits, right = [], [], 0, 0, 0
    for _, is_hit, credited, copies in sorted(drawn, key=lambda row: -row[0]):
        said, hits, right = said + copies, hits + copies * is_hit, right + copies * (is_hit and credited)
        scale = 1.0 if normal is None or not amount else normal / amount
        recalls.append(hits / amount if amount else 0.0)
        whole = hits * scale + said - hits
        precisions.append(right * scale / whole if whole else 0.0)
    expected = viewpoint_scores.area(recalls, precisions) if amount else math.nan
    assert average_precision(ranking, np.array([times]), points="all").item() == pytest.approx(
        expected, nan_ok=True
    )


def test_limits_of_a_median_error_are_errors_that_can_be():
    errors = sort_errors(np.array([2.0, 20.0, 175.0]), np.arange(3), 3)  # so few that t's limits lie far outside
    (wide,) = ranked_intervals({"m": [errors]}, proportion=False).values()
    assert (wide.low < 0, wide.high > 180) == (True, True)
    within = wide.within(0.0, 180.0)
    assert (within.value, within.low, within.high) == (20.0, 0.0, 180.0)
    unknown = replace(wide, low=math.nan, high=math.nan).within(0.0, 180.0)
    assert math.isnan(unknown.low + unknown.high)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=9),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_median_errors_count_as_often_as_their_clusters(errors, times):
    value, cluster = np.array(errors, dtype=int).reshape(-1, 2).T
    drawn = [v for v, c in errors for _ in range(times[c])]
    found = median_error(sort_errors(value, cluster, 4), np.array([times])).item()
    assert found == pytest.approx(np.median(drawn) if drawn else math.nan, nan_ok=True)
