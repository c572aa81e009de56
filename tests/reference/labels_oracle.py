"""Could A be moved into, or onto, B? GeoSpa's text read case by case, from lists of who stands where."""

from __future__ import annotations

from sightline.worlds import Layout, can_contain, can_support


def possible(layout: Layout, b: int, a: int, how: str) -> bool:
    """Whether object `a` can be ``contained`` in, or ``supported`` by, object `b`."""
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
    others = residents[how]
    if not others:
        return fits(objects[b].shape, objects[a].shape)
    return all(fits(objects[b].shape, objects[a].shape, beside=objects[e].shape) for e in others)


WAYS = ("contained", "supported")


def load(layout: Layout, i: int) -> set[int]:
    """Everything that goes along if object `i` is lifted."""
    direct = {k for k, o in enumerate(layout.objects) if o.parent == i}
    return direct.union(*(load(layout, k) for k in direct))
