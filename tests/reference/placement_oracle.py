"""What is wrong with a layout as a physical situation, by shapely and trimesh, without the placement code."""

from __future__ import annotations

import itertools
from functools import cache

import trimesh
from shapely import Point, Polygon
from shapely.affinity import rotate, translate

from sightline.worlds import Layout, Placed, Solid, solid
from sightline.worlds.solids import Outline

DEEP = 1e-4  # metres of interpenetration that count


def faults(layout: Layout) -> list[str]:
    """Sentences, one per fault; none for a sound layout."""
    found = [f"{i} and {j} interpenetrate" for i, j in overlaps(layout)]
    for i, placed in enumerate(layout.objects):
        if placed.parent >= i:
            found.append(f"{i} stands on or in {placed.parent}, which came later")
        elif not rests(layout, i):
            found.append(f"{i} floats or is not where {placed.how!r} says")
        if not balanced(layout, i):
            found.append(f"{i} tips over")
    return found


def overlaps(layout: Layout) -> list[tuple[int, int]]:
    """Pairs whose matter overlaps by more than `DEEP` in every direction."""
    slabs = [matter(placed) for placed in layout.objects]
    return [
        (i, j)
        for i, j in itertools.combinations(range(len(slabs)), 2)
        if any(
            min(high_a, high_b) - max(low_a, low_b) > DEEP and a.buffer(-DEEP).intersects(b)
            for a, low_a, high_a in slabs[i]
            for b, low_b, high_b in slabs[j]
        )
    ]


def matter(placed: Placed) -> list[tuple[Polygon, float, float]]:
    """Flat slabs that hold an object's matter: region of the plane, from which height to which."""
    shape, z = solid(placed.shape), placed.position[2]
    outline = put(shape.outline, placed)
    if shape.cavity is None:
        return [(outline, z, z + shape.height)]
    floor = z + shape.height - shape.cavity.depth
    return [(outline, z, floor), (outline - put(shape.cavity.outline, placed), floor, z + shape.height)]


def rests(layout: Layout, i: int) -> bool:
    """The object's base is at the height of what it stands on, and over it."""
    placed = layout.objects[i]
    z = placed.position[2]
    if placed.how == "independent":
        return placed.parent == -1 and z == 0.0
    parent = layout.objects[placed.parent]
    below, low = solid(parent.shape), parent.position[2]
    if placed.how == "supported":
        return below.top is not None and abs(z - low - below.height) < 1e-9 and contact(layout, i).area > 0.0
    if below.cavity is None:
        return False
    inside = put(below.cavity.outline, parent).buffer(1e-7).contains(put(solid(placed.shape).outline, placed))
    half_in = solid(placed.shape).height / 2 <= below.cavity.depth + 1e-6
    return inside and half_in and abs(z - low - below.height + below.cavity.depth) < 1e-9


def balanced(layout: Layout, i: int) -> bool:
    """The common centre of mass of the object and all it holds or carries is over the hull of its contact."""
    family = [k for k in range(len(layout.objects)) if i in (k, *ancestors(layout, k))]
    weights = [weight(layout.objects[k]) for k in family]
    total = sum(mass for mass, _, _ in weights)
    x, y = (sum(w[0] * w[axis] for w in weights) / total for axis in (1, 2))
    return bool(contact(layout, i).convex_hull.contains(Point(x, y)))


def contact(layout: Layout, i: int) -> Polygon:
    """Where the object's base touches what is below it."""
    placed = layout.objects[i]
    base = put(solid(placed.shape).base, placed)
    if placed.how != "supported":
        return base
    parent = layout.objects[placed.parent]
    below = solid(parent.shape)
    assert below.top is not None
    shared = base & put(below.top, parent)
    return shared - put(below.cavity.outline, parent) if below.cavity else shared


def ancestors(layout: Layout, i: int) -> list[int]:
    """What the object stands on or in, the nearest first."""
    parent = layout.objects[i].parent
    return [] if parent < 0 else [parent, *ancestors(layout, parent)]


def put(outline: Outline, placed: Placed) -> Polygon:
    """An outline where the object has it."""
    turned = rotate(Polygon(outline.polygon()), placed.yaw, origin=(0, 0), use_radians=True)
    return translate(turned, placed.position[0], placed.position[1])


def weight(placed: Placed) -> tuple[float, float, float]:
    """Volume, and x and y of the centre of mass."""
    mass, x, y = _weight(placed.shape)
    middle = rotate(Point(x, y), placed.yaw, origin=(0, 0), use_radians=True)
    return mass, middle.x + placed.position[0], middle.y + placed.position[1]


@cache
def _weight(name: str) -> tuple[float, float, float]:
    shape: Solid = solid(name)
    mesh = trimesh.Trimesh(shape.vertices.astype(float), shape.faces, process=True)
    return float(mesh.volume), float(mesh.center_mass[0]), float(mesh.center_mass[1])
