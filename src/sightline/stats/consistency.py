"""Do answers about pairs fit together? Symmetry and transitivity, counted per cluster.

Both need no truth, so they apply to a model and to the labels alike. Counts come per cluster as
(violations, cases), ready for `sightline.stats.intervals` with `rate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.scenes.labels import REVERSE, Depth
from sightline.stats.bootstrap import Floats

Ints = NDArray[np.int64]

_CELLS_AT_ONCE = 4_000_000  # of the dense matrices held in memory together


def rate(totals: Floats) -> Floats:
    """Violations over cases, (B, 1) of totals (B, 2): the `Statistic` of these counts; NaN without a case."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return totals[:, :1] / totals[:, 1:]


def symmetry(
    cluster: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    label: NDArray[Any],
    *,
    aspect: Literal["depth", "occlusion"] = "depth",
    exact: bool = False,
    n_clusters: int | None = None,
) -> Ints:
    """Ordered pairs whose two answers contradict each other.

    Depth, as the paper tests it: if a ≤ b is said (closer or same) then b ≥ a must be (farther or same). A case is
    an ordered pair with that premise whose reverse is answered too. Occlusion, or depth with `exact`: the answer
    to (b, a) must be the reverse of that to (a, b); every ordered pair answered both ways is a case. *Unsure* and
    silence are no answers.

    Args:
        cluster: (n,) index of the cluster of each ordered pair.
        first: (n,) any integer id of the subject, unique within its cluster; `second` (n,) of the object.
        second: See `first`.
        label: (n,) codes of `Depth` or `Occlusion`, −1 silent.
        aspect: What the codes mean.
        exact: Ask for the exact reverse of a depth too.
        n_clusters: C; one more than the largest cluster when None.

    Returns:
        (C, 2) violations and cases.

    >>> said = np.array([Depth.CLOSER, Depth.CLOSER, Depth.SAME, Depth.FARTHER])
    >>> symmetry(np.zeros(4, int), np.array([0, 1, 0, 2]), np.array([1, 0, 2, 0]), said).tolist()
    [[2, 3]]
    """
    if aspect not in ("depth", "occlusion"):
        raise ConfigError(f"aspect must be depth or occlusion, not {aspect!r}")
    pairs = _pairs(cluster, first, second, label, n_clusters, skip_unsure=aspect == "depth")
    n_objects = len(pairs.cluster_of)
    key = pairs.first * n_objects + pairs.second
    order = np.argsort(key)
    back = pairs.second * n_objects + pairs.first
    at = np.searchsorted(key, back, sorter=order)
    reverse = order[np.minimum(at, len(order) - 1)] if len(order) else order
    both = key[reverse] == back
    forth_label, back_label = pairs.label[both], pairs.label[reverse[both]]
    if aspect == "depth" and not exact:
        case = _not_farther(forth_label)
        violated = case & (back_label == Depth.CLOSER)
    else:
        case = np.ones(len(forth_label), dtype=bool)
        violated = back_label != np.array(REVERSE)[forth_label]
    of = pairs.cluster_of[pairs.first[both]]
    return np.column_stack([_tally(of, violated, pairs.n_clusters), _tally(of, case, pairs.n_clusters)])


def transitivity(
    cluster: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    label: NDArray[Any],
    *,
    n_clusters: int | None = None,
) -> Ints:
    """Ordered triples of depth answers that contradict each other.

    If a ≤ b and b ≤ c are said (closer or same) then a ≤ c must be. A case is an ordered triple of distinct objects
    with both premises whose (a, c) is answered; *unsure* and silence are no answers. Arguments as for `symmetry`.

    Returns:
        (C, 2) violations and cases.

    >>> a, b = np.array([0, 1, 0]), np.array([1, 2, 2])
    >>> transitivity(np.zeros(3, int), a, b, np.array([Depth.CLOSER, Depth.SAME, Depth.FARTHER])).tolist()
    [[1, 1]]
    """
    pairs = _pairs(cluster, first, second, label, n_clusters, skip_unsure=True)
    counts = np.zeros((pairs.n_clusters, 2), dtype=np.int64)
    size = np.bincount(pairs.cluster_of, minlength=pairs.n_clusters)
    start = np.cumsum(size) - size
    of_pair = pairs.cluster_of[pairs.first]
    for m in np.unique(size[size > 2]):
        same_size = np.flatnonzero(size == m)
        at_once = max(1, _CELLS_AT_ONCE // int(m * m))
        for i in range(0, len(same_size), at_once):
            some = same_size[i : i + at_once]
            slot = np.full(pairs.n_clusters, -1)
            slot[some] = np.arange(len(some))
            rows = np.flatnonzero(slot[of_pair] >= 0)
            of = of_pair[rows]
            at = slot[of], pairs.first[rows] - start[of], pairs.second[rows] - start[of]
            counts[some] = _triples(at, pairs.label[rows], (len(some), int(m), int(m)))
    return counts


def _triples(at: tuple[Ints, Ints, Ints], label: Ints, shape: tuple[int, int, int]) -> Ints:
    """Violations and cases (G, 2) of G clusters of equally many objects, by products of dense matrices."""
    answered = np.zeros(shape, dtype=bool)
    not_farther = np.zeros(shape, dtype=np.float32)
    answered[at] = True
    not_farther[at] = _not_farther(label)
    ways = not_farther @ not_farther  # over b; exact below 2^24 objects
    cases = np.where(answered, ways, 0.0).sum(axis=(1, 2), dtype=np.float64)
    kept = (ways * not_farther).sum(axis=(1, 2), dtype=np.float64)
    return np.column_stack([cases - kept, cases]).astype(np.int64)


def _not_farther(label: Ints) -> NDArray[np.bool_]:
    return np.isin(label, (Depth.CLOSER, Depth.SAME))


@dataclass(frozen=True)
class _Pairs:
    """Answered ordered pairs over objects numbered 0…m−1, cluster after cluster; `cluster_of` (m,)."""

    first: Ints
    second: Ints
    label: Ints
    cluster_of: Ints
    n_clusters: int


def _pairs(
    cluster: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    label: NDArray[Any],
    n_clusters: int | None,
    *,
    skip_unsure: bool,
) -> _Pairs:
    given = [np.asarray(x, dtype=np.int64) for x in (cluster, first, second, label)]
    if len({x.shape for x in given}) != 1 or given[0].ndim != 1:
        raise ConfigError(f"cluster, first, second and label differ in shape: {[x.shape for x in given]}")
    of, a, b, said = given
    size = (int(of.max()) + 1 if len(of) else 0) if n_clusters is None else n_clusters
    if len(of) and not 0 <= of.min() <= of.max() < size:
        raise ConfigError(f"a cluster index lies outside 0…{size - 1}")
    if (a == b).any():
        raise DataError("a pair of an object with itself", row=int(np.flatnonzero(a == b)[0]))
    answered = said > (0 if skip_unsure else -1)
    of, a, b, said = of[answered], a[answered], b[answered], said[answered]
    ends = np.column_stack([np.concatenate([of, of]), np.concatenate([a, b])])
    order = np.lexsort(ends.T[::-1])
    fresh = np.ones(len(ends), dtype=bool)
    fresh[1:] = (ends[order][1:] != ends[order][:-1]).any(axis=1)
    number = np.empty(len(ends), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    pairs = _Pairs(number[: len(of)], number[len(of) :], said, ends[order][fresh, 0], size)
    key = np.sort(pairs.first * max(len(pairs.cluster_of), 1) + pairs.second)
    if (key[1:] == key[:-1]).any():
        raise DataError("an ordered pair is answered twice")
    return pairs


def _tally(cluster: Ints, flag: NDArray[np.bool_], n_clusters: int) -> Ints:
    return np.bincount(cluster[flag], minlength=n_clusters).astype(np.int64)
