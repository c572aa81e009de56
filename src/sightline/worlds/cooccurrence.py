"""Which shapes like to appear together: the bias that the context exam is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from sightline.worlds.fields import Field

_FIELDS = ("together", "factor", "pairs", "power")


@dataclass(frozen=True, slots=True)
class Cooccurrence:
    """Factors on the odds of a shape, one for every object that is there already.

    Attributes:
        factors: (present shape, new shape) with the factor, both ways round; 1 for pairs not listed.
        power: 1 takes the factors as they are, 0 switches them off, −1 turns them round.
    """

    factors: tuple[tuple[tuple[str, str], float], ...]
    power: float

    def rows(self, shapes: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
        """For a present shape the factors of all shapes, the power taken."""
        known = dict(self.factors)
        return {a: tuple(known.get((a, b), 1.0) ** self.power for b in shapes) for a in shapes}


def read_cooccurrence(prior: Field, shapes: Sequence[str]) -> Cooccurrence:
    """The prior of a world file: groups of shapes that belong together, and single pairs."""
    prior.only(_FIELDS)
    factors: dict[tuple[str, str], float] = {}
    if prior["together"].value is not None:
        factor = prior["factor"].number(above=0.0)
        for group in prior["together"].parts():
            factors.update(dict.fromkeys(permutations(group.some_of(shapes, "shape"), 2), factor))
    if prior["pairs"].value is not None:
        for a, row in prior["pairs"].items():
            Field(a, row.path, row.origins).one_of(shapes, "shape")
            for b, pair in row.items():
                Field(b, pair.path, pair.origins).one_of(shapes, "shape")
                factors[a, b] = factors[b, a] = pair.number(above=0.0)
    power = 1.0 if prior["power"].value is None else prior["power"].number()
    return Cooccurrence(tuple(factors.items()), power)
