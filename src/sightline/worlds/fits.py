"""Can one thing contain or support another, alone or beside a third? Geometry, not tables.

The rules, with equality fitting (`TOLERANCE`):

- *contain*: the item's outline lies in the outline of the cavity at some position and turn, and at least half of
  the item's height is below the rim.
- *support*: the item's bounding rectangle lies in that of the supporter at some turn, or with
  ``footprints="true"`` the outlines themselves. What has no top carries nothing.
- *beside*: both fit alone, and together without overlap at some positions and turns; either may shift.

A margin is in metres and says by how much: 0 is a tie, −inf means there is no cavity or top at all. It is the
least of

- how far the walls could move in: half extents of a box or an ellipse, edges of a polygon (negative: must move
  out),
- for contain, how much higher the item's middle could be and still be below the rim,
- with a second one, the same for it, and the widest gap that can be left between the two (negative: how deep they
  overlap at best). If one does not fit alone, the gap is not asked for.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Final, Literal

from sightline.errors import ConfigError
from sightline.geometry import clearance
from sightline.worlds.margins import Question, stored
from sightline.worlds.shapes import solid
from sightline.worlds.solids import Outline, Solid

Footprints = Literal["boxes", "true"]

TOLERANCE: Final = 1e-6
"""Metres by which a thing may be too large and still fit."""

_SLACK = 1e-8  # walls move out by this much of their size, lest rounding turns a tie into an empty room
_CLEARLY = 1e-5  # metres: areas this near to a tie say nothing
_KINDS: Final = {"box": clearance.BOX, "ellipse": clearance.ELLIPSE, "polygon": clearance.POLYGON}
_KEPT = 1 << 17


def can_contain(container: str, item: str, beside: str | None = None) -> bool:
    """Whether the container can take the item, with `beside` already in it if given.

    >>> can_contain("cube_container:medium", "cube:medium")
    True
    >>> can_contain("cube_container:medium", "cube:small", beside="cube:medium")
    False
    """
    return _holds(solid(container), solid(item), None if beside is None else solid(beside))


def can_support(supporter: str, item: str, beside: str | None = None, *, footprints: Footprints = "boxes") -> bool:
    """Whether the supporter can carry the item, with `beside` already on it if given.

    >>> can_support("cylinder", "cube"), can_support("cylinder", "cube", footprints="true")
    (True, False)
    """
    return _carries(solid(supporter), solid(item), None if beside is None else solid(beside), footprints)


def contain_margin(container: str, item: str, beside: str | None = None) -> float:
    """By how many metres `can_contain` holds; negative where it does not.

    >>> round(contain_margin("cube_container", "cube:small"), 6)
    0.225
    """
    return contains_fit(solid(container), solid(item), None if beside is None else solid(beside))


def support_margin(
    supporter: str, item: str, beside: str | None = None, *, footprints: Footprints = "boxes"
) -> float:
    """By how many metres `can_support` holds; negative where it does not.

    >>> round(support_margin("rectangle", "cube", beside="thin_rectangle"), 6)
    0.05
    """
    second = None if beside is None else solid(beside)
    return supports_fit(solid(supporter), solid(item), second, footprints=footprints)


@lru_cache(maxsize=_KEPT)
def _holds(container: Solid, item: Solid, beside: Solid | None) -> bool:
    if beside is not None and container.cavity is not None:
        if min(contains_fit(container, item), contains_fit(container, beside)) < -TOLERANCE:
            return False
        fit = _plain_fit(container.cavity.outline, item.outline, beside.outline)
        if fit is not None:
            return fit
    return contains_fit(container, item, beside) >= -TOLERANCE


@lru_cache(maxsize=_KEPT)
def _carries(supporter: Solid, item: Solid, beside: Solid | None, footprints: Footprints) -> bool:
    if beside is not None:
        alone = (supports_fit(supporter, thing, footprints=footprints) for thing in (item, beside))
        if min(alone) < -TOLERANCE:
            return False
        outlines = (supporter.outline, item.outline, beside.outline)
        fit = _plain_fit(*(map(boxed, outlines) if footprints == "boxes" else outlines))
        if fit is not None:
            return fit
    return supports_fit(supporter, item, beside, footprints=footprints) >= -TOLERANCE


def _plain_fit(region: Outline, one: Outline, two: Outline) -> bool | None:
    """Whether two outlines fit a region together, where that is plain to see; None where it must be worked out.

    They do not if their areas are clearly more than the region's; they do if their boxes, side by side, lie about
    its middle.
    """
    if _area(one) + _area(two) > _area(region) + _CLEARLY * sum(region.half):
        return False
    for (a, b), (c, d) in product(*((o.half, o.half[::-1]) for o in (one, two))):
        for half in ((a + c, max(b, d)), (max(a, c), b + d)):
            if _has_box(region, half[0] - _SLACK, half[1] - _SLACK):
                return True
    return None


def _area(outline: Outline) -> float:
    a, b = outline.half
    if outline.kind == "polygon":
        corners = outline.points
        turns = (x * v - u * y for (x, y), (u, v) in zip(corners, (*corners[1:], corners[0]), strict=True))
        return sum(turns) / 2.0
    return (4.0 if outline.kind == "box" else math.pi) * a * b


def _has_box(region: Outline, a: float, b: float) -> bool:
    """Whether a box with these half extents about the middle lies in a region."""
    if region.kind == "box":
        return a <= region.half[0] and b <= region.half[1]
    if region.kind == "ellipse":
        return (a / region.half[0]) ** 2 + (b / region.half[1]) ** 2 <= 1.0
    edges = list(zip(region.points, (*region.points[1:], region.points[0]), strict=True))
    corners = ((-a, -b), (a, -b), (a, b), (-a, b))
    return all((u - x) * (q - y) >= (v - y) * (p - x) for (x, y), (u, v) in edges for p, q in corners)


@lru_cache(maxsize=_KEPT)
def contains_fit(container: Solid, item: Solid, beside: Solid | None = None) -> float:
    """`contain_margin` of solids."""
    cavity = container.cavity
    if cavity is None:
        return -math.inf
    things = (item,) if beside is None else (item, beside)
    sunk = min(cavity.depth - thing.height / 2.0 for thing in things)
    return _together(cavity.outline, [thing.outline for thing in things], sunk)


@lru_cache(maxsize=_KEPT)
def supports_fit(
    supporter: Solid, item: Solid, beside: Solid | None = None, *, footprints: Footprints = "boxes"
) -> float:
    """`support_margin` of solids."""
    if footprints not in ("boxes", "true"):
        raise ConfigError(f"footprints must be 'boxes' or 'true', not {footprints!r}")
    if supporter.top is None:
        return -math.inf
    outlines = [thing.outline for thing in (supporter, item, beside) if thing is not None]
    if footprints == "boxes":
        outlines = [boxed(outline) for outline in outlines]
    return _together(outlines[0], outlines[1:])


def boxed(outline: Outline) -> Outline:
    """The bounding rectangle of an outline."""
    return Outline("box", outline.half)


def _together(outer: Outline, inner: list[Outline], most: float = math.inf) -> float:
    """Margin of one or two outlines in `outer`, no more than `most`."""
    scale = max(outer.half)
    alone = min(most, *(scale * _margin(in_units(outer, outline)) for outline in inner))
    if len(inner) == 1 or alone < -TOLERANCE:
        return alone
    return min(alone, scale * _margin(in_units(outer, *inner)))


def in_units(outer: Outline, *inner: Outline) -> Question:
    """The outlines in units of the outer one's size: shapes in the same proportion ask the same question."""
    scale = max(outer.half)
    region, *bodies = (_in_units(outline, scale) for outline in (outer, *inner))
    return region, *sorted(bodies, key=repr)


@lru_cache(maxsize=1 << 14)
def _in_units(outline: Outline, scale: float) -> Outline:
    """Rounded, so that sizes in the same proportion come out the same."""
    half = (round(outline.half[0] / scale, 12), round(outline.half[1] / scale, 12))
    points = tuple((round(x / scale, 12), round(y / scale, 12)) for x, y in outline.points)
    return Outline(outline.kind, half, points)


@lru_cache(maxsize=_KEPT)
def _margin(question: Question) -> float:
    known = stored(question)
    return work_out(question) if known is None else known


def work_out(question: Question) -> float:
    """How far the walls of a region could move in around one outline, or the widest gap that two leave in it."""
    region, *bodies = question
    return _room(region, bodies[0])[0] if len(bodies) == 1 else _gap(region, *bodies)


@lru_cache(maxsize=1 << 14)
def _footprint(outline: Outline) -> clearance.Footprint:
    return clearance.Footprint(_KINDS[outline.kind], *outline.half, outline.polygon(segments=0))


@lru_cache(maxsize=1 << 14)
def _room(region: Outline, body: Outline) -> tuple[float, float]:
    margin, turn = clearance.room(_footprint(region), _footprint(body))
    return margin, turn


@lru_cache(maxsize=1 << 13)
def _kept(region: Outline, body: Outline) -> clearance.SideReach:
    """Made for bodies that fit alone, if only within the tolerance."""
    margin, turn = _room(region, body)
    grow = max(0.0, -margin) + _SLACK
    made: clearance.SideReach = clearance.table(_footprint(region), grow, _footprint(body), turn)
    return made


def _gap(region: Outline, one: Outline, two: Outline) -> float:
    return clearance.widest_gap(_footprint(region), _kept(region, one), _kept(region, two))
