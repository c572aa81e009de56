"""Could A be moved into, or onto, B? GeoSpa's text read case by case, from lists of who stands where.

Whether shapes fit is decided by trying poses (`fits_oracle`), which proves most answers one way or the other and
leaves those near a tie open: None.
"""

from __future__ import annotations

from functools import cache

from reference import fits_oracle
from sightline.worlds import Layout, solid
from sightline.worlds.solids import Outline

WAYS = ("contained", "supported")
TIE = 1e-6
"""Metres by which a thing may be too large and still fit."""


def possible(layout: Layout, b: int, a: int, how: str) -> bool | None:
    """Whether object `a` can be ``contained`` in, or ``supported`` by, object `b`; None where trying cannot say."""
    if how == "contained" and not layout.containment:
        return False  # nobody in this world has heard of it
    objects = layout.objects
    residents = {w: {i for i, o in enumerate(objects) if o.how == w and o.parent == b} for w in WAYS}
    if a in residents[how]:
        return True  # it is there already
    if b in load(layout, a):
        return False  # b would have to move into what stands in it
    if any(o.parent == a and o.how == "supported" for o in objects):
        return False  # what a carries would fall off
    fits = can_contain if how == "contained" else can_support
    others = [objects[e].shape for e in residents[how]]
    answers = [fits(objects[b].shape, objects[a].shape, other) for other in others or [None]]
    return False if False in answers else None if None in answers else True


def load(layout: Layout, i: int) -> set[int]:
    """Everything that goes along if object `i` is lifted."""
    direct = {k for k, o in enumerate(layout.objects) if o.parent == i}
    return direct.union(*(load(layout, k) for k in direct))


@cache
def can_support(supporter: str, item: str, beside: str | None) -> bool | None:
    """Whether the bounding rectangles of one or two things fit that of the supporter, which needs a top."""
    if solid(supporter).top is None:
        return False
    outer = tuple(half + TIE for half in rectangle(supporter))
    things = [rectangle(name) for name in (item, beside) if name is not None]
    if not all(fits_oracle.box_in_box(outer, thing) for thing in things):
        return False
    if len(things) == 1:
        return True
    gap = fits_oracle.boxes_in_box(outer, *things)
    return True if gap >= 0.0 else False if gap < -0.02 * max(outer) else None


def rectangle(name: str) -> tuple[float, float]:
    """Half extents of a shape seen from above, by its corners."""
    x, y = abs(solid(name).vertices[:, :2].astype(float)).max(axis=0)
    return float(x), float(y)


@cache
def can_contain(container: str, item: str, beside: str | None) -> bool | None:
    """Whether the outlines of one or two things fit the cavity, with half of each one's height below the rim."""
    cavity = solid(container).cavity
    things = [solid(name) for name in (item, beside) if name is not None]
    if cavity is None or any(thing.height / 2.0 > cavity.depth + TIE for thing in things):
        return False
    unit = max(cavity.outline.half)  # the oracle's grain is for regions of this size
    room, bodies = cavity.outline.scaled(1.0 / unit), [thing.outline.scaled(1.0 / unit) for thing in things]
    answers = [_fits(room, body) for body in bodies]
    if len(bodies) == 2 and False not in answers:
        gap = fits_oracle.widest_gap(room.scaled(1.0 + TIE), *bodies)
        proven = 0.01 if "ellipse" in [body.kind for body in bodies] else 0.0  # a curve bulges out of its polygon
        answers.append(True if gap >= proven else False if gap < -2.0 * fits_oracle.GRAIN else None)
    return False if False in answers else None if None in answers else True


@cache
def _fits(room: Outline, body: Outline) -> bool | None:
    """A pose in a region proves that a body fits, none in a region grown by the grain that it does not."""
    if not fits_oracle.fits(room.scaled(1.0 + fits_oracle.GRAIN / min(room.half)), body):
        return False
    return True if fits_oracle.fits(room.scaled(1.0 + TIE), body) else None
