"""How far raters agree, from vote counts alone: (n items, k labels), no rater ids, any number of votes an item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.stats.bootstrap import Floats
from sightline.stats.intervals import Interval, intervals

Undecided = Literal["leave_out", "split", "false_positive"]


def fleiss_kappa(votes: NDArray[Any]) -> float:
    """Fleiss' κ for a varying number of votes an item.

    κ = (P̄ − Pₑ)/(1 − Pₑ); P̄ is the mean over items of the share of agreeing vote pairs, Pₑ = Σ pⱼ² with pⱼ the
    share of label j among all votes. Items with fewer than two votes are left out. NaN without an item, or where
    all votes are equal.

    >>> round(fleiss_kappa(np.array([[5, 0], [4, 1], [0, 5]])), 3)
    0.722
    """
    return _value(fleiss_of, fleiss_counts(votes))


def fleiss_counts(votes: NDArray[Any]) -> Floats:
    """(n, k + 2) sums an item brings to κ: its agreement, its being there, its votes; see `fleiss_of`."""
    counted, size, pairs = _pairable(votes)
    agreement = np.divide(pairs, size * (size - 1), out=np.zeros(len(size)), where=size > 1)
    return np.column_stack([agreement, size > 1, counted])


def fleiss_of(totals: Floats) -> Floats:
    """κ (B, 1) of totals (B, k + 2): a `Statistic`, so κ can have an interval (`proportion=False`)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = totals[:, 0] / totals[:, 1]
        share = totals[:, 2:] / totals[:, 2:].sum(axis=1, keepdims=True)
        expected = (share**2).sum(axis=1)
        return _chance_corrected(observed, expected)[:, None]


def krippendorff_alpha(votes: NDArray[Any]) -> float:
    """Krippendorff's α for nominal labels.

    α = 1 − Dₒ/Dₑ from the coincidences of pairable votes: an item with m ≥ 2 votes brings each of its ordered vote
    pairs with weight 1/(m − 1). NaN without a pairable vote, or where all votes are equal.

    >>> round(krippendorff_alpha(np.array([[5, 0], [4, 1], [0, 5]])), 3)
    0.741
    """
    return _value(krippendorff_of, krippendorff_counts(votes))


def krippendorff_counts(votes: NDArray[Any]) -> Floats:
    """(n, k + 1) sums an item brings to α: its agreeing coincidences and its votes; see `krippendorff_of`."""
    counted, size, pairs = _pairable(votes)
    agreeing = np.divide(pairs, size - 1, out=np.zeros(len(size)), where=size > 1)
    return np.column_stack([agreeing, counted])


def krippendorff_of(totals: Floats) -> Floats:
    """α (B, 1) of totals (B, k + 1): a `Statistic`, so α can have an interval (`proportion=False`)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        labels = totals[:, 1:]
        n = labels.sum(axis=1)
        observed = totals[:, 0] / n
        expected = (labels * (labels - 1)).sum(axis=1) / (n * (n - 1))
        return _chance_corrected(observed, expected)[:, None]


@dataclass(frozen=True)
class DawidSkene:
    """A fitted model of votes: each item has one true label, each vote is drawn from that label's row.

    Attributes:
        prior: (k,) share of each true label.
        confusion: (k, k) row: true label, column: vote; one matrix for all raters, since votes carry no rater ids.
        posterior: (n, k) probability of each true label of each item; the prior for an item without votes.
        log_likelihood: Of the votes (without the multinomial constant) after each step; never decreases.
        converged: Whether the last step gained less than the tolerance.
    """

    prior: Floats
    confusion: Floats
    posterior: Floats
    log_likelihood: tuple[float, ...]
    converged: bool


def dawid_skene(votes: NDArray[Any], *, tolerance: float = 1e-8, max_steps: int = 1000) -> DawidSkene:
    """Dawid and Skene's EM with one pooled confusion matrix, started from the majority of each item's votes.

    Args:
        votes: (n, k) vote counts.
        tolerance: Stop when a step gains less than this per item in log-likelihood.
        max_steps: Stop after so many steps at the latest.

    >>> fit = dawid_skene(np.array([[5, 0], [4, 1], [5, 0], [0, 5], [1, 4]]))
    >>> fit.prior.round(2).tolist(), fit.confusion.round(2).tolist()
    ([0.6, 0.4], [[0.93, 0.07], [0.1, 0.9]])
    """
    counted = _checked(votes)
    # Items with equal votes are equal: a few dozen patterns stand for any number of items.
    patterns, inverse, times = np.unique(counted, axis=0, return_inverse=True, return_counts=True)
    voted = patterns.sum(axis=1) > 0
    if not voted.any():
        raise DataError("no item has a vote", expected="vote counts with at least one vote")
    weight = times * voted
    top = patterns == patterns.max(axis=1, keepdims=True)
    posterior = top / top.sum(axis=1, keepdims=True)
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < max_steps:
        prior, confusion = _maximise(patterns, weight, posterior)
        posterior, fit = _expect(patterns, weight, prior, confusion)
        converged = bool(trace and fit - trace[-1] < tolerance * weight.sum())
        trace.append(fit)
    return DawidSkene(prior, confusion, posterior[inverse.reshape(-1)], tuple(trace), converged)


def _maximise(patterns: Floats, weight: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    mass = posterior * weight[:, None]
    prior = mass.sum(axis=0) / weight.sum()
    joint = mass.T @ patterns
    votes = joint.sum(axis=1, keepdims=True)
    # A label no item has is given raters who always see it; its prior is 0, so nothing depends on this.
    return prior, np.where(votes > 0, joint / np.where(votes > 0, votes, 1.0), np.eye(len(prior)))


def _expect(patterns: Floats, weight: Floats, prior: Floats, confusion: Floats) -> tuple[Floats, float]:
    tiny = np.finfo(np.float64).tiny  # keeps 0 · log 0 at 0
    joint = np.log(np.maximum(prior, tiny)) + patterns @ np.log(np.maximum(confusion, tiny)).T
    highest = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - highest)
    evidence = shares.sum(axis=1, keepdims=True)
    return shares / evidence, float(weight @ (highest + np.log(evidence))[:, 0])


@dataclass(frozen=True)
class HumanCeiling:
    """One rater judged by the others, as a model would be.

    Attributes:
        accuracy: Share of decided votes that agree with the others.
        counts: (C, k, 3) tp, fp, fn per label and cluster, for any score a model gets.
    """

    accuracy: Interval
    counts: Floats


def human_ceiling(
    votes: NDArray[Any],
    cluster: NDArray[Any] | None = None,
    n_clusters: int | None = None,
    *,
    undecided: Undecided = "leave_out",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> HumanCeiling:
    """Score of one rater's vote against the majority of the other raters of the same item.

    Args:
        votes: (n, k) vote counts.
        cluster: (n,) cluster of each item; without it each item is its own.
        n_clusters: C; one more than the largest cluster when None.
        undecided: What to do where the others have no strict majority; see `leave_one_out_counts`.
        level: Of the interval.
        resamples: Of its bootstrap.
        seed: Of its bootstrap.

    >>> human_ceiling(np.array([[5, 0], [4, 1]])).accuracy.value
    0.9
    """
    items = leave_one_out_counts(votes, undecided=undecided)
    of_item = np.arange(len(items)) if cluster is None else np.asarray(cluster)
    if of_item.shape != (len(items),):
        raise ConfigError(f"cluster has shape {of_item.shape}, expected ({len(items)},)")
    size = (int(of_item.max()) + 1 if len(of_item) else 0) if n_clusters is None else n_clusters
    counts = np.zeros((size, *items.shape[1:]))
    np.add.at(counts, of_item, items)

    def accuracy(totals: Floats) -> Floats:
        right, wrong = totals[:, :, 0].sum(axis=1), totals[:, :, 1].sum(axis=1)
        return np.asarray(right / (right + wrong))

    interval = intervals(counts, accuracy, level=level, resamples=resamples, seed=seed)[0]
    return HumanCeiling(interval, counts)


def leave_one_out_counts(votes: NDArray[Any], *, undecided: Undecided = "leave_out") -> Floats:
    """Expected tp, fp, fn (n, k, 3) of a random rater of each item against the others.

    Every vote of an item is left out in turn with equal weight (an exact expectation, nothing is drawn). Where it
    meets the truth t of the others it is a tp of t; else an fp of its label and an fn of t. An item with one vote
    has no others and counts nothing.

    Args:
        votes: (n, k) vote counts.
        undecided: Where the others have no strict majority: ``leave_out`` that vote; ``split`` the truth evenly
            among their most frequent labels; or, as the paper's protocol does with a model's predictions on
            no-majority pairs, count a ``false_positive``. ``leave_out`` flatters on the whole, since it drops
            votes on hard items, though of 3 : 2 it keeps only the two that miss.

    >>> leave_one_out_counts(np.array([[4, 1]]))[0].tolist()
    [[0.8, 0.0, 0.2], [0.0, 0.2, 0.0]]
    """
    if undecided not in ("leave_out", "split", "false_positive"):
        raise ConfigError(f"undecided must be leave_out, split or false_positive, not {undecided!r}")
    counted = _checked(votes)
    n, k = counted.shape
    size = counted.sum(axis=1)
    counts = np.zeros((n, k, 3))
    for label in range(k):
        weight = np.where(size > 1, counted[:, label] / np.maximum(size, 1), 0.0)
        others = counted.copy()
        others[:, label] -= 1
        truth = _truth(others, size - 1, undecided == "split")
        meets = truth[:, label]
        judged = 1.0 if undecided == "false_positive" else truth.sum(axis=1)
        counts[:, label, 0] += weight * meets
        counts[:, label, 1] += weight * (judged - meets)
        missed = weight[:, None] * truth
        missed[:, label] = 0.0
        counts[:, :, 2] += missed
    return counts


def _truth(others: Floats, size: Floats, split: bool) -> Floats:
    """(n, k) share of each label in the truth the others stand for; all 0 where they are undecided."""
    if not split:
        return (2 * others > size[:, None]).astype(np.float64)
    top = others == others.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def _chance_corrected(observed: Floats, expected: Floats) -> Floats:
    return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def _value(statistic: Any, counts: Floats) -> float:
    return float(statistic(counts.sum(axis=0)[None])[0, 0])


def _pairable(votes: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Votes (n, k) with items of fewer than two emptied; of each item (n,) its votes and agreeing ordered pairs."""
    counted = _checked(votes)
    counted = np.where(counted.sum(axis=1, keepdims=True) > 1, counted, 0.0)
    return counted, counted.sum(axis=1), (counted * (counted - 1)).sum(axis=1)


def _checked(votes: NDArray[Any]) -> Floats:
    given = np.asarray(votes)
    if given.ndim != 2 or given.shape[1] == 0:
        raise DataError("votes must be counts of items by labels", expected="shape (n, k)", found=given.shape)
    counted = given.astype(np.float64)
    wrong = ~(np.isfinite(counted) & (counted >= 0) & (counted == np.floor(counted)))
    if wrong.any():
        row, label = np.argwhere(wrong)[0]
        where = {"row": f"item {row}", "field": f"label {label}"}
        raise DataError("not a vote count", **where, expected="a whole number ≥ 0", found=given[row, label].item())
    return counted
