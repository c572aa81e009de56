"""What can be said of a pair of objects: the answers of a 2.5D question, and GeoSpa's predicates.

Outside codes become these at the border and nowhere else.

A label always speaks of the ordered pair (subject, object) as seen from the camera. As integers the labels
are the codes used in arrays; as text (`label.word`) they are what stands in Parquet, JSON and reports.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Self

SPATIAL = ("left", "right", "front", "behind")
GEOMETRIC = ("contains", "supports", "can_contain", "can_support")
PREDICATES = (*SPATIAL, *GEOMETRIC)
"""GeoSpa's predicates, in the order of every array of them. Each reads "subject predicate object"."""

CONVERSE = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
"""Predicate → the one that says the same of the swapped pair. The geometric ones have none: that *a* contains *b*
is no predicate of (b, a)."""

NO_MAJORITY = -1
"""Code of a pair whose raters found no strict majority; as text it is null, never a word."""


class _Label(IntEnum):
    """What is said of a pair, with the word that stands in files and the label of the swapped pair."""

    @property
    def word(self) -> str:
        """Lower-case name, the form used in files.

        >>> Depth.CLOSER.word, Occlusion.OCCLUDED.word
        ('closer', 'occluded')
        """
        return self.name.lower()

    @property
    def reverse(self) -> Self:
        """The same fact told of (object, subject).

        >>> Depth.CLOSER.reverse.word, Depth.SAME.reverse.word, Occlusion.OCCLUDES.reverse.word
        ('farther', 'same', 'occluded')
        """
        return type(self)(REVERSE[self])


class Depth(_Label):
    """Relative depth: which of the two is nearer to the camera."""

    UNSURE = 0
    CLOSER = 1
    FARTHER = 2
    SAME = 3


class Occlusion(_Label):
    """Who hides whom."""

    NONE = 0
    OCCLUDES = 1
    OCCLUDED = 2
    MUTUAL = 3


REVERSE = (0, 2, 1, 3, NO_MAJORITY)
"""Code of the swapped pair, indexed by code: both label sets keep 0 and 3 and swap 1 with 2; −1 stays −1."""

ASPECTS: dict[str, type[Depth] | type[Occlusion]] = {"depth": Depth, "occlusion": Occlusion}
"""What can be asked of a pair, and the labels that answer it."""


@cache
def words(aspect: str) -> tuple[str, ...]:
    """The words of an aspect's labels in code order.

    >>> words("occlusion")
    ('none', 'occludes', 'occluded', 'mutual')
    """
    return tuple(label.word for label in ASPECTS[aspect])
