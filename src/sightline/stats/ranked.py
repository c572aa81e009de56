"""Scores of ranked detections: precision–recall curves and average precision (AP), with intervals by cluster.

Detections are sorted once. A resample gives every cluster (image) a whole number of times it was drawn, and its
curve is two cumulative sums of those weights along the one order: what a new evaluation of the drawn images gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.stats.bootstrap import Floats, Linearised, multiplicities
from sightline.stats.intervals import Interval, bootstrap_serves, limits
from sightline.stats.paired import Comparisons, comparisons, p_values, swaps

Points = Literal["coco", "voc", "all"]
"""Where a curve is read: at 101 recalls (COCO), at 11 (VOC 2007), or everywhere (the area under it)."""

RECALLS: Mapping[str, Floats] = {"coco": np.linspace(0.0, 1.0, 101), "voc": np.linspace(0.0, 1.0, 11)}

_WEIGHTS_AT_ONCE = 4_000_000  # weights of detections held in memory, 32 MB each of a few arrays


@dataclass(frozen=True)
class Ranking:
    """Detections of one class in falling order of score, judged at T thresholds; made by `rank`.

    Attributes:
        score: (N,) falling.
        cluster: (N,) index of each detection's cluster, 0…C−1.
        hit: (T, N) whether the detection found a positive of its own.
        counted: (T, N) False where the detection is ignored: neither a hit nor a false alarm.
        positives: (C,) what there was to find in each cluster.
        credit: (T, N) hits that count for precision, where not all do (a viewpoint must be right too); recall
            counts all hits.
        normal: Precision is that of as many positives as this (Hoiem's normalised precision); None for the true
            number.
    """

    score: Floats
    cluster: NDArray[np.int64]
    hit: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    positives: Floats
    credit: NDArray[np.bool_]
    normal: float | None = None

    def at(self, thresholds: Sequence[int]) -> Ranking:
        """Keep some of the T thresholds, by index."""
        rows = list(thresholds)
        return replace(self, hit=self.hit[rows], counted=self.counted[rows], credit=self.credit[rows])

    @property
    def n_clusters(self) -> int:
        """C."""
        return len(self.positives)

    @property
    def speaks(self) -> NDArray[np.bool_]:
        """(C,) whether the cluster can say something: it has a positive, or a detection that is counted."""
        said = np.bincount(self.cluster[self.counted.any(axis=0)], minlength=len(self.positives)) > 0
        return said | (self.positives > 0)


def rank(
    score: NDArray[Any],
    cluster: NDArray[Any],
    hit: NDArray[Any],
    positives: NDArray[Any],
    *,
    ignored: NDArray[Any] | None = None,
    credit: NDArray[Any] | None = None,
) -> Ranking:
    """Sort detections by falling score; equal scores stay in the order given, as in COCO's evaluator.

    Args:
        score: (N,) higher is surer.
        cluster: (N,) index of the cluster, 0…C−1.
        hit: (N,) or (T, N) whether the detection found a positive of its own.
        positives: (C,) number of positives of each cluster.
        ignored: Like `hit`; an ignored detection counts as nothing.
        credit: Like `hit`; hits that count for precision, by default all.

    >>> ranking = rank(np.array([0.3, 0.9]), np.array([0, 1]), np.array([True, False]), np.array([1, 0]))
    >>> ranking.score.tolist(), ranking.hit.tolist()
    ([0.9, 0.3], [[False, True]])
    """
    given, of, hits = np.asarray(score, dtype=np.float64), np.asarray(cluster), np.atleast_2d(np.asarray(hit, bool))
    left_out = np.zeros_like(hits) if ignored is None else np.atleast_2d(np.asarray(ignored, bool))
    credited = hits if credit is None else np.atleast_2d(np.asarray(credit, bool))
    amount = np.asarray(positives, dtype=np.float64)
    shapes = [x.shape for x in (given, of, hits, left_out, credited)]
    if given.ndim != 1 or shapes[1:] != [given.shape, *[(len(hits), *given.shape)] * 3]:
        raise ConfigError(f"score, cluster, hit, ignored and credit differ in shape: {shapes}")
    if not np.isfinite(given).all():
        raise DataError("a score is no number", row=int(np.flatnonzero(~np.isfinite(given))[0]))
    if len(of) and not 0 <= of.min() <= of.max() < len(amount):
        raise ConfigError(f"a cluster index lies outside 0…{len(amount) - 1}")
    order = np.argsort(-given, kind="stable")
    counted = ~left_out[:, order]
    hits = hits[:, order] & counted
    return Ranking(given[order], of[order].astype(np.int64), hits, counted, amount, credited[:, order] & hits)


@dataclass(frozen=True)
class PrecisionRecall:
    """A precision–recall curve at one threshold, one point a counted detection; made by `curve`.

    Attributes:
        score: (P,) falling; the point is that of all detections down to this one.
        precision: (P,) hits that count for it among counted detections so far.
        recall: (P,) hits so far among all positives; NaN without a positive.
    """

    score: Floats
    precision: Floats
    recall: Floats

    @property
    def envelope(self) -> Floats:
        """(P,) interpolated precision: the highest at this recall or a higher one."""
        return np.maximum.accumulate(self.precision[::-1])[::-1]


def curve(ranking: Ranking, *, threshold: int = 0) -> PrecisionRecall:
    """Draw the precision–recall curve of a ranking at one of its thresholds, by index.

    >>> ranking = rank(np.array([0.9, 0.8, 0.7]), np.zeros(3, int), np.array([True, False, True]), np.array([2]))
    >>> curve(ranking).precision.round(2).tolist(), curve(ranking).recall.tolist()
    ([1.0, 0.5, 0.67], [0.5, 0.5, 1.0])
    """
    counted = ranking.counted[threshold]
    hits, credit = (np.cumsum(of[threshold][counted], dtype=np.float64) for of in (ranking.hit, ranking.credit))
    said, positives = np.arange(1.0, len(hits) + 1), ranking.positives.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = hits / positives
    return PrecisionRecall(ranking.score[counted], _precision(ranking, credit, hits, said, positives), recall)


def _precision(ranking: Ranking, credit: Floats, hits: Floats, said: Floats, positives: Floats) -> Floats:
    """Precision of `said` detections with so many hits and credited ones; 0 where nothing was said."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if ranking.normal is not None:
            scale = ranking.normal / positives
            credit, said = credit * scale, hits * scale + (said - hits)
        return np.where(said > 0, credit / said, 0.0)


def average_precision(ranking: Ranking, weights: NDArray[Any] | None = None, *, points: Points = "coco") -> Floats:
    """Average precision, in [0, 1]: the mean interpolated precision over recalls (B, T); NaN without a positive.

    Args:
        ranking: T thresholds.
        weights: (B, C) how often each cluster counts, whole numbers; without it once, and B is 1.
        points: Recalls the curve is read at. Above the highest recall reached precision is 0.

    >>> ranking = rank(np.array([0.9, 0.8, 0.7]), np.zeros(3, int), np.array([True, False, True]), np.array([2]))
    >>> [average_precision(ranking, points=p).round(3).item() for p in ("coco", "voc", "all")]
    [0.835, 0.848, 0.833]
    """
    if points not in ("coco", "voc", "all"):
        raise ConfigError(f"points must be coco, voc or all, not {points!r}")
    times = np.ones((1, len(ranking.positives))) if weights is None else np.asarray(weights, dtype=np.float64)
    positives = times @ ranking.positives
    times_of = times[:, ranking.cluster]
    values = np.empty((len(times), len(ranking.hit)))
    for t, (hit, counted) in enumerate(zip(ranking.hit, ranking.counted, strict=True)):
        at = np.flatnonzero(hit)  # precision is highest, and recall grows, at hits alone
        hits = np.cumsum(times_of[:, at], axis=1)
        said = np.cumsum(times_of * counted, axis=1)[:, at]
        credit = np.cumsum(times_of[:, at] * ranking.credit[t, at], axis=1)
        precision = _precision(ranking, credit, hits, said, positives[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            recall = hits / positives[:, None]
        envelope = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        if points != "all":  # each hit stands for the recalls first reached by it
            recall = np.searchsorted(RECALLS[points], recall, side="right") / len(RECALLS[points])
        values[:, t] = (envelope * np.diff(recall, axis=1, prepend=0.0)).sum(axis=1)
    values[~(positives > 0)] = np.nan
    return values


@dataclass(frozen=True)
class SortedErrors:
    """Errors in rising order, of which the median is the score; made by `sort_errors`.

    Attributes:
        value: (N,) rising.
        cluster: (N,) index of each error's cluster, 0…C−1.
        n_clusters: C.
    """

    value: Floats
    cluster: NDArray[np.int64]
    n_clusters: int

    @property
    def speaks(self) -> NDArray[np.bool_]:
        """(C,) whether the cluster has an error."""
        return np.bincount(self.cluster, minlength=self.n_clusters) > 0


def sort_errors(value: NDArray[Any], cluster: NDArray[Any], n_clusters: int) -> SortedErrors:
    """Sort errors (N,) of clusters (N,), 0…C−1, for their median."""
    order = np.argsort(value, kind="stable")
    return SortedErrors(np.asarray(value, np.float64)[order], np.asarray(cluster, np.int64)[order], n_clusters)


def median_error(errors: SortedErrors, weights: NDArray[Any] | None = None) -> Floats:
    """Median error (B, 1), each error counted as often as its cluster; NaN without any.

    >>> errors = sort_errors(np.array([4.0, 1.0, 2.0]), np.array([0, 1, 1]), 2)
    >>> median_error(errors, np.array([[1, 1], [2, 1]])).tolist()
    [[2.0], [3.0]]
    """
    times = np.ones((1, errors.n_clusters)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not len(errors.value):
        return np.full((len(times), 1), np.nan)
    below = np.cumsum(times[:, errors.cluster], axis=1)
    half = below[:, -1:] / 2
    first, second = ((of.argmax(axis=1)) for of in (below >= half, below > half))
    middle = (errors.value[first] + errors.value[second]) / 2
    return np.where(half[:, 0] > 0, middle, np.nan)[:, None]


Groups = Mapping[str, Sequence[Ranking | SortedErrors]]
"""Rankings by the name of the score that averages over them and their thresholds: over classes, say."""


def ranked_intervals(
    groups: Groups,
    *,
    points: Points = "coco",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    proportion: bool = True,
) -> dict[str, Interval]:
    """Estimate mean AP, in [0, 1], of each group of rankings over the same clusters, with intervals by cluster.

    The mean goes over a group's rankings and thresholds, without those that have no positive. Methods are those of
    `intervals`, the variance being that of the bootstrap: AP jumps with a cluster's weight, it has no derivative.

    Args:
        groups: Rankings by name, all over the same C clusters.
        points: Recalls the curves are read at.
        level: Confidence level.
        resamples: Bootstrap resamples.
        seed: Of the bootstrap.
        proportion: Values lie in [0, 1]; median errors do not.

    >>> flags = np.arange(40) % 3 > 0
    >>> ranking = rank(np.arange(40.0), np.arange(40), flags, np.ones(40))
    >>> print(ranked_intervals({"AP": [ranking]}, resamples=500)["AP"])
    0.436 [0.242, 0.651]
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, not {level}")
    n_clusters = _n_clusters(groups)
    statistic = _mean_of(groups, points)
    draws = _draws(n_clusters, groups, resamples, seed)
    values = np.concatenate([statistic(times) for times in draws])
    first_order = _first_order(statistic(np.ones((1, n_clusters)))[0], values, _speaking(groups))
    spread = first_order.value * (1 - first_order.value) if proportion else np.zeros_like(first_order.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = (spread > 0) & (first_order.variance > 0)
        judgements = np.where(seen, spread / first_order.variance, first_order.n)
    trusted = bootstrap_serves(first_order, proportion=proportion)
    return dict(zip(groups, limits(first_order, judgements, values, trusted, level, proportion), strict=True))


def resampled_scores(groups: Groups, *, points: Points = "coco", resamples: int = 2000, seed: int = 0) -> Floats:
    """Compute the mean AP of each group in resamples of clusters, (B, M); equal seeds draw the same clusters."""
    n_clusters, mean = _n_clusters(groups), _mean_of(groups, points)
    return np.concatenate([mean(times) for times in _draws(n_clusters, groups, resamples, seed)])


def compare_ranked(
    groups_a: Groups,
    groups_b: Groups,
    families: Sequence[str] | None = None,
    *,
    points: Points = "coco",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Comparisons:
    """Compare the mean AP of two models on the same clusters, group by group; see `compare`.

    For the p-value the two models swap their detections in a random half of the clusters, and the detections of
    both are ranked again: one sort of both together, each weighted 1 for the one and 0 for the other.

    Args:
        groups_a: Rankings of the first model by name.
        groups_b: Of the second: the same names, clusters and positives.
        families: One label a group for Holm's correction; see `compare`.
        points: Recalls the curves are read at.
        level: Of the interval.
        resamples: Bootstrap resamples, and as many swaps.
        seed: Of both.
    """
    n_clusters = _n_clusters(groups_a)
    pooled = _pooled(groups_a, groups_b)
    first, second, either = (_mean_of(groups, points) for groups in (groups_a, groups_b, pooled))
    whole = np.ones((1, n_clusters))
    a, b = first(whole)[0], second(whole)[0]
    draws = _draws(n_clusters, pooled, resamples, seed)
    values = np.concatenate([first(times) - second(times) for times in draws])
    speaking = _speaking(groups_a) | _speaking(groups_b)
    first_order = _first_order(a - b, values, speaking)
    trusted = bootstrap_serves(first_order, proportion=False)
    rows = limits(first_order, np.full(len(a), np.nan), values, trusted, level, False)
    rng = np.random.default_rng([seed, 1])  # a stream of its own, apart from the bootstrap's
    flipped = [
        either(np.hstack([kept, 1 - kept])) - either(np.hstack([1 - kept, kept]))
        for kept in swaps(n_clusters, resamples, rng, at_once=_at_once(n_clusters, pooled))
    ]
    p = p_values(a - b, np.concatenate(flipped))
    return comparisons(list(groups_a), a, b, rows, p, np.sqrt(first_order.variance), families)


def mean_known(values: Floats, axis: int = -1) -> Floats:
    """Mean along an axis without what is undefined; NaN where all of it is.

    >>> mean_known(np.array([[1.0, np.nan, 3.0], [np.nan] * 3])).tolist()
    [2.0, nan]
    """
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis)
    return mean


def _mean_of(groups: Groups, points: Points) -> Callable[[Floats], Floats]:
    """A function of weights (B, C) that gives the mean AP of each group (B, M), undefined ones left out."""

    def mean(weights: Floats) -> Floats:
        columns, scored = [], dict[int, Floats]()
        for rankings in groups.values():
            for one in rankings:  # a class stands in its own group and in that of the mean
                if id(one) in scored:
                    continue
                scored[id(one)] = (
                    median_error(one, weights)
                    if isinstance(one, SortedErrors)
                    else average_precision(one, weights, points=points)
                )
            columns.append(mean_known(np.hstack([scored[id(one)] for one in rankings])))
        return np.stack(columns, axis=1)

    return mean


def _first_order(value: Floats, values: Floats, speaking: NDArray[np.bool_]) -> Linearised:
    n = speaking.sum(axis=1)
    known = np.isfinite(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
        spread = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0) / known.sum(axis=0)
        # A bootstrap's variance lacks n/(n − 1).
        return Linearised(value, np.where((n > 1) & np.isfinite(value), spread * n / (n - 1), np.nan), n)


def _draws(n_clusters: int, groups: Groups, resamples: int, seed: int) -> Iterable[Floats]:
    if resamples < 1:
        raise ConfigError(f"resamples must be at least 1, not {resamples}")
    rng = np.random.default_rng(seed)
    return multiplicities(n_clusters, resamples, rng, at_once=_at_once(n_clusters, groups))


def _at_once(n_clusters: int, groups: Groups) -> int:
    """Draws of clusters whose weights of detections fit into memory together."""
    longest = max((len(one.cluster) for rankings in groups.values() for one in rankings), default=0)
    return _WEIGHTS_AT_ONCE * n_clusters // max(longest, n_clusters)


def _speaking(groups: Groups) -> NDArray[np.bool_]:
    """(M, C) clusters that can say something about each group."""
    return np.stack([np.any([one.speaks for one in rankings], axis=0) for rankings in groups.values()])


def _n_clusters(groups: Groups) -> int:
    sizes = {one.n_clusters for rankings in groups.values() for one in rankings}
    if len(sizes) != 1 or not all(groups.values()):
        raise ConfigError(f"rankings must be there in each group and over the same clusters, not {sorted(sizes)}")
    if sizes == {0}:
        raise ConfigError("there is no cluster to rank detections of")
    return sizes.pop()


def _pooled(groups_a: Groups, groups_b: Groups) -> dict[str, list[Ranking | SortedErrors]]:
    """The detections of both models in one order; those of the second have clusters C…2C−1."""
    if list(groups_a) != list(groups_b) or any(len(groups_a[name]) != len(groups_b[name]) for name in groups_a):
        raise ConfigError("the two models must be compared on the same groups of rankings")
    made: dict[tuple[int, int], Ranking | SortedErrors] = {}
    for name in groups_a:
        for pair in zip(groups_a[name], groups_b[name], strict=True):
            key = id(pair[0]), id(pair[1])
            made[key] = made[key] if key in made else _both(*pair)
    return {
        name: [made[id(a), id(b)] for a, b in zip(groups_a[name], groups_b[name], strict=True)] for name in groups_a
    }


def _both(a: Ranking | SortedErrors, b: Ranking | SortedErrors) -> Ranking | SortedErrors:
    if isinstance(a, SortedErrors) and isinstance(b, SortedErrors):
        shifted = np.concatenate([a.cluster, b.cluster + a.n_clusters])
        return sort_errors(np.concatenate([a.value, b.value]), shifted, a.n_clusters + b.n_clusters)
    if not isinstance(a, Ranking) or not isinstance(b, Ranking):
        raise ConfigError("the two models must be compared by the same scores")
    if not np.array_equal(a.positives, b.positives) or len(a.hit) != len(b.hit):
        raise ConfigError("the two models must be compared on the same clusters")
    score, positives = np.concatenate([a.score, b.score]), np.concatenate([a.positives, b.positives])
    cluster = np.concatenate([a.cluster, b.cluster + len(a.positives)])
    ignored = ~np.hstack([a.counted, b.counted])
    credit = np.hstack([a.credit, b.credit])
    both = rank(score, cluster, np.hstack([a.hit, b.hit]), positives, ignored=ignored, credit=credit)
    return replace(both, normal=a.normal)
