"""Do answers about pairs fit together? Symmetry and transitivity, counted per cluster.

Both need no truth, so they apply to a model and to the labels alike. Counts come per cluster as
(violations, cases), ready for `sightline.stats.intervals` with `rate`.
"""

from __future__ import annotations

from functools import cached_property
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
    return OrderedPairs(cluster, first, second, n_clusters).symmetry(label, aspect=aspect, exact=exact)


def transitivity(
    cluster: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    label: NDArray[Any],
    *,
    every: bool = False,
    n_clusters: int | None = None,
) -> Ints:
    """Ordered triples of depth answers that contradict each other.

    If a ≤ b and b ≤ c are said (closer or same) then a ≤ c must be. A case is an ordered triple of distinct objects
    with both premises whose (a, c) is answered, or, with `every`, any one whose (a, b), (b, c) and (a, c) are
    answered; *unsure* and silence are no answers. Arguments as for `symmetry`.

    Returns:
        (C, 2) violations and cases.

    >>> a, b = np.array([0, 1, 0]), np.array([1, 2, 2])
    >>> transitivity(np.zeros(3, int), a, b, np.array([Depth.CLOSER, Depth.SAME, Depth.FARTHER])).tolist()
    [[1, 1]]
    """
    return OrderedPairs(cluster, first, second, n_clusters).transitivity(label, every=every)


class OrderedPairs:
    """Ordered pairs about which several models answer, or one model several times: numbered once for all.

    Args:
        cluster: (n,) index of the cluster of each ordered pair.
        first: (n,) any integer id of the subject, unique within its cluster; `second` (n,) of the object.
        second: See `first`.
        n_clusters: C; one more than the largest cluster when None.
    """

    def __init__(
        self, cluster: NDArray[Any], first: NDArray[Any], second: NDArray[Any], n_clusters: int | None = None
    ) -> None:
        of, a, b = (np.asarray(x, dtype=np.int64) for x in (cluster, first, second))
        if len({x.shape for x in (of, a, b)}) != 1 or of.ndim != 1:
            raise ConfigError(f"cluster, first and second differ in shape: {[x.shape for x in (of, a, b)]}")
        self.n_clusters = (int(of.max()) + 1 if len(of) else 0) if n_clusters is None else n_clusters
        if len(of) and not 0 <= of.min() <= of.max() < self.n_clusters:
            raise ConfigError(f"a cluster index lies outside 0…{self.n_clusters - 1}")
        if (a == b).any():
            raise DataError("a pair of an object with itself", row=int(np.flatnonzero(a == b)[0]))
        ends = np.column_stack([np.concatenate([of, of]), np.concatenate([a, b])])
        order = np.lexsort(ends.T[::-1])
        fresh = np.ones(len(ends), dtype=bool)
        fresh[1:] = (ends[order][1:] != ends[order][:-1]).any(axis=1)
        number = np.empty(len(ends), dtype=np.int64)
        number[order] = np.cumsum(fresh) - 1
        self._cluster, self._first, self._second = of, number[: len(of)], number[len(of) :]
        self._objects = np.bincount(ends[order][fresh, 0], minlength=self.n_clusters)
        key, back = (x * len(number) + y for x, y in ((self._first, self._second), (self._second, self._first)))
        by_key = np.argsort(key)
        if (np.diff(key[by_key]) == 0).any():
            raise DataError("an ordered pair is answered twice")
        at = by_key[np.minimum(np.searchsorted(key, back, sorter=by_key), max(len(by_key) - 1, 0))]
        self._forth = np.flatnonzero(key[at] == back)
        self._back = at[self._forth]

    def symmetry(
        self, label: NDArray[Any], *, aspect: Literal["depth", "occlusion"] = "depth", exact: bool = False
    ) -> Ints:
        """Ordered pairs whose two answers contradict each other, (C, 2) violations and cases; see `symmetry`."""
        if aspect not in ("depth", "occlusion"):
            raise ConfigError(f"aspect must be depth or occlusion, not {aspect!r}")
        said = self._checked(label)
        forth, back = said[self._forth], said[self._back]
        lowest = 1 if aspect == "depth" else 0
        case = (forth >= lowest) & (back >= lowest)
        if aspect == "depth" and not exact:
            case &= _not_farther(forth)
            violated = case & (back == Depth.CLOSER)
        else:
            violated = case & (back != np.array(REVERSE)[forth])
        of = self._cluster[self._forth]
        return np.column_stack([np.bincount(of[flag], minlength=self.n_clusters) for flag in (violated, case)])

    def transitivity(self, label: NDArray[Any], *, every: bool = False) -> Ints:
        """Ordered triples of depth answers that contradict each other, (C, 2); see `transitivity`."""
        said = self._checked(label)
        counts = np.zeros((self.n_clusters, 2), dtype=np.int64)
        for clusters, rows, at, shape in self._equally_many:
            counts[clusters] = _triples(at, said[rows], shape, every)
        return counts

    @cached_property
    def _equally_many(self) -> list[tuple[Ints, Ints, tuple[Ints, Ints, Ints], tuple[int, int, int]]]:
        """Some clusters of equally many objects: their rows, the place of each in dense matrices, their shape."""
        parts, size = [], self._objects
        start = np.cumsum(size) - size
        for m in np.unique(size[size > 2]).tolist():
            same_size = np.flatnonzero(size == m)
            at_once = max(1, _CELLS_AT_ONCE // (m * m))
            for i in range(0, len(same_size), at_once):
                some = same_size[i : i + at_once]
                slot = np.full(self.n_clusters, -1)
                slot[some] = np.arange(len(some))
                rows = np.flatnonzero(slot[self._cluster] >= 0)
                of = self._cluster[rows]
                at = slot[of], self._first[rows] - start[of], self._second[rows] - start[of]
                parts.append((some, rows, at, (len(some), m, m)))
        return parts

    def _checked(self, label: NDArray[Any]) -> Ints:
        said = np.asarray(label, dtype=np.int64)
        if said.shape != self._first.shape:
            raise ConfigError(f"{len(self._first)} ordered pairs, but labels of shape {said.shape}")
        return said


def _triples(at: tuple[Ints, Ints, Ints], label: Ints, shape: tuple[int, int, int], every: bool) -> Ints:
    """Violations and cases (G, 2) of G clusters of equally many objects, by products of dense matrices."""
    answered = np.zeros(shape, dtype=bool)
    not_farther = np.zeros(shape, dtype=np.float32)
    answered[at] = label > Depth.UNSURE
    not_farther[at] = _not_farther(label)
    ways = not_farther @ not_farther  # over b; exact below 2^24 objects
    cases = np.where(answered, ways, 0.0).sum(axis=(1, 2), dtype=np.float64)
    broken = cases - (ways * not_farther).sum(axis=(1, 2), dtype=np.float64)
    if every:
        there = answered.astype(np.float32)
        cases = ((there @ there) * there).sum(axis=(1, 2), dtype=np.float64)
    return np.column_stack([broken, cases]).astype(np.int64)


def _not_farther(label: Ints) -> NDArray[np.bool_]:
    said: NDArray[np.bool_] = (label == Depth.CLOSER) | (label == Depth.SAME)
    return said
