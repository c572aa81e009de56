"""Sets of shapes that stand in a scene together, drawn from an exactly known distribution.

The probability of a set of k shapes is a product: a factor for each pair of companions in it, and a weight for each
shape. The weights are solved for, so that each shape is in as many scenes as it would be without factors: who is
together with whom is all that factors change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.worlds.solids import Floats

MOST_SETS: Final = 100_000
"""Sets that are listed for one number of shapes: 6 out of 23 are 100,947, one too many."""

_CLOSE: Final = 1e-10
_ROUNDS: Final = 10_000


class ShapeSets(NamedTuple):
    """All sets of k shapes: `members` (m, k) indices, `steps` (m,) their probabilities, summed up."""

    members: NDArray[np.int64]
    steps: Floats

    def draw(self, u: float) -> list[int]:
        """The set at u in [0, 1), its members in order."""
        at = min(int(np.searchsorted(self.steps, u * self.steps[-1], side="right")), len(self.steps) - 1)
        return [int(member) for member in self.members[at]]


def too_many(shapes: int, kinds: int) -> bool:
    """Whether there are more sets of so many shapes than can be listed."""
    return comb(shapes, kinds) > MOST_SETS


def shape_sets(weights: Sequence[float], kinds: int, factors: Mapping[tuple[int, int], float]) -> ShapeSets:
    """All sets of `kinds` shapes with their probabilities.

    Args:
        weights: Of the shapes: without factors the probability of a set is the product of its members' weights.
        kinds: How many shapes are in a set.
        factors: (shape, other shape) with the factor of the pair, the lower index first; 1 for pairs not listed.

    >>> shape_sets([1, 1, 1, 1], 2, {(0, 1): 8.0}).steps.round(3)  # 0 with 1, 2, 3; 1 with 2, 3; 2 with 3
    array([0.293, 0.396, 0.5  , 0.604, 0.707, 1.   ])
    """
    count = comb(len(weights), kinds)
    flat = np.fromiter((i for chosen in combinations(range(len(weights)), kinds) for i in chosen), np.int64)
    members = flat.reshape(count, kinds)
    own = np.log(np.asarray(weights, np.float64))
    plain = _normal(own[members].sum(axis=1))
    pairs = np.zeros((len(weights), len(weights)))
    for (a, b), factor in factors.items():
        pairs[a, b] = pairs[b, a] = np.log(factor)
    bond = sum((pairs[members[:, i], members[:, j]] for i, j in combinations(range(kinds), 2)), np.zeros(count))
    wanted = _present(members, plain, len(weights))
    for _ in range(_ROUNDS):
        chances = _normal(own[members].sum(axis=1) + bond)
        found = _present(members, chances, len(weights))
        if abs(found - wanted).max() <= _CLOSE or kinds == len(weights):
            break
        own += np.log(wanted / found * (1.0 - found) / (1.0 - wanted)) / kinds
    return ShapeSets(members, np.cumsum(chances))


def _normal(logs: Floats) -> Floats:
    odds = np.exp(logs - logs.max())
    chances: Floats = odds / odds.sum()
    return chances


def _present(members: NDArray[np.int64], chances: Floats, shapes: int) -> Floats:
    """The probability of each shape to be in the set."""
    counted = np.bincount(members.ravel(), np.repeat(chances, members.shape[1]), minlength=shapes)
    return counted.astype(np.float64)
