"""The eight predicates of a layout, with GeoSpa's rules. Every one reads "subject predicate object".

*left, right, front, behind* follow CLEVR: the offset between the middles of the two bases along the original
camera's left and behind on the table; less than `EPSILON` is neither.

*contains, supports* are direct: the object stands in, or on, the subject itself.

*can_contain, can_support*: could the object be moved into, or onto, the subject without disturbing anything else?
The subject is B and the object A in GeoSpa's words. The first rule that applies decides:

1. B holds A in this very way: true. What is, can be.
2. A holds or carries B, directly or through others: false. A would have to enter what it carries along.
3. A supports something: false; that would likely fall off. (A being in or on something hinders nothing.)
4. B holds others E in this very way: A must fit together with each E, as shapes, wherever they stand: E may shift.
5. Else: A alone must fit B. What A contains goes along and changes nothing.

For containing GeoSpa looks at what B contains already, for supporting at what it supports; so here: a thing in B
does not count when B's rim is asked about, nor a thing on the rim when the inside is.

A world without containment (`Layout.containment`) knows only what stands on something: there no thing can contain
another, as in GeoSpa's kitchen, whose table of what contains what is all zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sightline.scenes.labels import PREDICATES
from sightline.worlds.fits import can_contain, can_support
from sightline.worlds.layout import Layout, Placed

__all__ = ["EPSILON", "PREDICATES", "relations"]

EPSILON: Final = 0.001
"""Offsets of the middles below this are no direction, metres."""

Relation = tuple[int, str, int]
Fits = Callable[[str, str, str | None], bool]


def relations(layout: Layout) -> list[Relation]:
    """All true predicates: (subject's index, predicate, object's index), ordered by subject, object, predicate.

    >>> from sightline.worlds import arrange, load_world
    >>> layout = arrange(load_world("geospa/train"), seed=0, index=0)
    >>> facts = set(relations(layout))
    >>> all((j, "right", i) in facts for i, predicate, j in facts if predicate == "left")
    True
    """
    objects = layout.objects
    inside = _children(objects, "contained")
    above = _children(objects, "supported")
    below = [_ancestors(objects, i) for i in range(len(objects))]
    lefts = [_along(layout.left, o) for o in objects]
    behinds = [_along(layout.behind, o) for o in objects]
    facts: list[Relation] = []
    for i, subject in enumerate(objects):
        for j, other in enumerate(objects):
            if i == j:
                continue
            left, behind = lefts[i] - lefts[j], behinds[i] - behinds[j]
            if abs(left) > EPSILON:
                facts.append((i, "left" if left > 0.0 else "right", j))
            if abs(behind) > EPSILON:
                facts.append((i, "behind" if behind > 0.0 else "front", j))
            if other.parent == i:
                facts.append((i, "contains" if other.how == "contained" else "supports", j))
            movable = j not in below[i] and not above[j]
            enters = movable and layout.containment
            if j in inside[i] or (enters and _fits(can_contain, subject, other, objects, inside[i])):
                facts.append((i, "can_contain", j))
            if j in above[i] or (movable and _fits(can_support, subject, other, objects, above[i])):
                facts.append((i, "can_support", j))
    return facts


def _fits(can: Fits, subject: Placed, item: Placed, objects: tuple[Placed, ...], residents: list[int]) -> bool:
    """Rules 4 and 5."""
    if not residents:
        return can(subject.shape, item.shape, None)
    return all(can(subject.shape, item.shape, objects[e].shape) for e in residents)


def _children(objects: tuple[Placed, ...], how: str) -> list[list[int]]:
    """For every object the ones directly in, or on, it."""
    children: list[list[int]] = [[] for _ in objects]
    for i, placed in enumerate(objects):
        if placed.parent >= 0 and placed.how == how:
            children[placed.parent].append(i)
    return children


def _ancestors(objects: tuple[Placed, ...], i: int) -> list[int]:
    """The objects that object i stands in or on, the nearest first."""
    below: list[int] = []
    while objects[i].parent >= 0:
        i = objects[i].parent
        below.append(i)
    return below


def _along(direction: tuple[float, float], placed: Placed) -> float:
    return direction[0] * placed.position[0] + direction[1] * placed.position[1]
