"""Placing objects as GeoSpa does: on the table, in one another, on one another, always at rest.

For every object of a scene: draw a distinct combination of shape, size, colour and material; list the objects that
can take it now; draw the way of placing among those that are possible; draw a pose until one is free. An object is
a prism over its outline between its base and its top, less its cavity; the test is exact for prisms and errs
towards more room for everything else.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

import numpy as np

from sightline.errors import ConfigError
from sightline.text import counted
from sightline.worlds.bodies import body, carries, perches, turns_within
from sightline.worlds.cad import PREFIX
from sightline.worlds.company import ShapeSets, shape_sets
from sightline.worlds.layout import How, Placed
from sightline.worlds.poses import (
    COLLIDES,
    FALLS,
    UNSEEN,
    PlacementHost,
    PlacementRules,
    PlacementSearch,
    PlacementStage,
    empty,
    settle_inside,
    settle_on_table,
    settle_on_top,
)
from sightline.worlds.solids import SEGMENTS, Floats
from sightline.worlds.spec import World
from sightline.worlds.world import Cooccurrence, ShapeGroup, ZoneSpec

_BATCH = 50
"""Poses drawn at a time."""

_CHILD_TRIES = 50
"""Poses tried in or on one parent: all of them fit the parent, only neighbours can be in the way."""

_SAME_COMPANY = 20
"""Beginnings of a scene before shapes drawn together count as impossible together."""

_REDRAWS = 1000
"""Draws of a combination before the distinct ones count as used up."""


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """Shape, size, colour and material of an object, before it has a place."""

    shape: str
    solid: str
    color: str
    material: str


@dataclass(slots=True)
class Failures:
    """Why objects found no place: how often each solid did not, and what was wrong with the poses."""

    solids: Counter[str] = field(default_factory=Counter)
    wrong: np.ndarray = field(default_factory=lambda: np.zeros(3, np.int64))


Accept = Callable[[Sequence[Placed]], bool]
"""Whether the objects of a scene will do."""


def place(
    world: World, rng: np.random.Generator, rules: PlacementRules, accept: Accept | None = None
) -> tuple[Placed, ...]:
    """The objects of one scene, each at rest and clear of the others, and together as `accept` wants them.

    Raises:
        ConfigError: The world's rules leave no room, after `world.attempts` beginnings.
    """
    failures, deck = Failures(), _deck(world)
    wanted, company = 0 if world.groups else _between(world.objects, rng.random()), list[str]()
    kept: list[ObjectKind] = []
    for attempt in range(world.attempts):
        if attempt % _SAME_COMPANY == 0:
            company, kept = deck.company(world, wanted, rng), []
            wanted = len(company) if world.groups else wanted
        scene = _Scene(world, deck, rules, empty(wanted, deck.corners))
        while (n := len(scene.objects)) < wanted:
            given = company[n] if company else None
            kind = kept[n] if n < len(kept) else _draw(world, deck, rng, scene.kinds, given)
            if not scene.add(kind, rng, failures):
                break
        else:
            if accept is None or accept(scene.objects):
                return tuple(scene.objects)
            kept = scene.kinds  # other poses first: a model not met before takes long to build
    if not failures.solids:
        raise ConfigError(
            f"world {world.name!r}: none of {world.attempts} placements of {counted(wanted, 'object')} hides as "
            "much of the first as `hidden` says"
        )
    raise ConfigError(_impossible(world, wanted, failures))


def _draw(
    world: World, deck: _Deck, rng: np.random.Generator, present: list[ObjectKind], given: str | None
) -> ObjectKind:
    """A combination that is not there yet, of the given shape or else of one by the world's weights."""
    steps = deck.steps
    for _ in range(_REDRAWS):
        u, size, color, material = rng.random(4).tolist()
        shape = given or deck.shapes[min(bisect_right(steps, u * steps[-1]), len(steps) - 1)]
        sizes, colors, materials = deck.looks[shape]
        forms = deck.forms[shape]
        form = forms[int(rng.random() * len(forms))] if len(forms) > 1 else forms[0]
        kind = ObjectKind(
            shape,
            f"{form}:{sizes[int(size * len(sizes))]}",
            colors[int(color * len(colors))],
            materials[int(material * len(materials))],
        )
        if not world.distinct or kind not in present:
            return kind
    raise ConfigError(
        f"world {world.name!r}: after {len(present)} objects, {_REDRAWS:,} draws gave no distinct one; "
        "its weights or kinds leave too few combinations"
    )


@dataclass(frozen=True, slots=True)
class _Deck:
    """What objects are drawn from."""

    shapes: tuple[str, ...]
    steps: list[float]
    sets: Mapping[int, ShapeSets]
    looks: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]
    forms: Mapping[str, tuple[str, ...]]
    zones: Mapping[str, tuple[ZoneSpec, ...]]
    corners: int

    def company(self, world: World, wanted: int, rng: np.random.Generator) -> list[str]:
        """The shapes of a scene, by group or of so many objects drawn together; none where each is drawn by itself.

        A scene that finds no room keeps them: were they drawn anew, large ones would be rarer, and rarer in the
        company of large ones.
        """
        if world.groups:
            return [shape for group in world.groups for shape in _members(group, rng)]
        if not self.sets:
            return []
        fewest, most = (min(wanted, len(self.shapes), kinds) for kinds in world.kinds or (wanted, wanted))
        kinds = _between((fewest, most), rng.random())
        members = self.sets[kinds].draw(rng.random())
        members += [members[int(u * kinds)] for u in rng.random(wanted - kinds).tolist()]
        return [self.shapes[members[i]] for i in rng.permutation(wanted)]


def _between(ends: tuple[int, int], u: float) -> int:
    """The whole number at u in [0, 1) between two, both included."""
    return ends[0] + int(u * (ends[1] - ends[0] + 1))


def _members(group: ShapeGroup, rng: np.random.Generator) -> list[str]:
    """The shapes of a group in one scene."""
    steps = list(accumulate(weight for _, weight in group.shapes))
    draws = rng.random(_between(group.objects, rng.random())).tolist()
    return [group.shapes[min(bisect_right(steps, u * steps[-1]), len(steps) - 1)][0] for u in draws]


@lru_cache(maxsize=64)
def _deck(world: World) -> _Deck:
    shapes, weights = tuple(shape for shape, _ in world.shapes), [weight for _, weight in world.shapes]
    looks = {shape: world.looks(shape) for shape in shapes}
    forms = {shape: world.forms(shape) for shape in shapes}
    zones = {shape: tuple(zone for zone in world.zones if shape in zone.shapes) for shape in shapes}
    sets = _sets(world, shapes, weights)
    return _Deck(shapes, list(accumulate(weights)), sets, looks, forms, zones, _corners(world))


def _corners(world: World) -> int:
    """Corners of the largest polygon; CAD models keep below a limit, and need not all be built to know."""
    listed = [body(name) for name in world.solids() if not name.startswith(PREFIX)]
    sizes = [len(polygon) for one in listed for polygon in (one.outline, one.cavity, one.top)]
    return max(sizes) if len(listed) == len(world.solids()) else max([SEGMENTS, *sizes])


def _sets(world: World, shapes: tuple[str, ...], weights: list[float]) -> dict[int, ShapeSets]:
    """For each number of different shapes that a scene may hold, the sets of them."""
    if world.kinds is None and world.cooccurrence is None:
        return {}
    fewest, most = (min(k, len(shapes)) for k in world.kinds or world.objects)
    fewest, place = min(fewest, world.objects[0]), {shape: i for i, shape in enumerate(shapes)}
    bonds = world.cooccurrence or Cooccurrence((), 0.0)
    pairs = (((a, b), factor) for (a, b), factor in bonds.factors if a in place and b in place)
    factors = {(place[a], place[b]): factor**bonds.power for (a, b), factor in pairs}
    return {k: shape_sets(weights, k, factors) for k in range(fewest, most + 1)}


class _Scene:
    """A scene that is being laid."""

    def __init__(self, world: World, deck: _Deck, rules: PlacementRules, stage: PlacementStage) -> None:
        self.world, self.zones, self.rules, self.stage = world, deck.zones, rules, stage
        self.kinds: list[ObjectKind] = []
        self.objects: list[Placed] = []
        self.poses: list[Floats] = []
        self.depth: list[int] = []
        self.children: list[int] = []
        self.carries: list[bool] = []

    def add(self, kind: ObjectKind, rng: np.random.Generator, failures: Failures) -> bool:
        """Place one more object; False if there was no place for it."""
        odds = self.world.placement
        ways: dict[How, float] = {"independent": odds.independent}
        containers, supporters = self._takers(kind.solid)
        if containers:
            ways["contained"] = odds.contained
        if supporters:
            ways["supported"] = odds.supported
        wrong = failures.wrong
        while ways and sum(ways.values()) > 0.0:
            way = _choose(ways, rng.random())
            del ways[way]
            if way == "independent":
                placed = self._on_table(kind, rng, wrong)
            else:
                placed = self._at_parent(kind, rng, wrong, way, containers if way == "contained" else supporters)
            if placed:
                return True
        failures.solids[kind.solid] += 1
        return False

    def _takers(self, solid: str) -> tuple[list[int], list[int]]:
        """Objects that can hold the solid now, and those that can carry it."""
        world = self.world
        free = [
            (i, self.kinds[i].solid)
            for i, n in enumerate(self.children)
            if n < world.children and self.depth[i] < world.depth
        ]
        hollow = [(i, host) for i, host in free if world.containment and not self.carries[i]]
        holders = [i for i, host in hollow if len(turns_within(host, solid, world.clearance))]
        return holders, [i for i, host in free if carries(host, solid, world.stability)]

    def _on_table(self, kind: ObjectKind, rng: np.random.Generator, wrong: np.ndarray) -> bool:
        rules = self._zoned(self.zones[kind.shape], rng)
        search = PlacementSearch(self.stage, len(self.objects), body(kind.solid), rules, wrong)
        for start in range(0, self.world.tries, _BATCH):
            pose = settle_on_table(search, rng.random((min(_BATCH, self.world.tries - start), 3)))
            if len(pose):
                self._enter(kind, pose, "independent", -1)
                return True
        return False

    def _zoned(self, zones: tuple[ZoneSpec, ...], rng: np.random.Generator) -> PlacementRules:
        """The rules of one of the shape's zones, by their area; nothing is drawn where it may stand anywhere."""
        if not zones:
            return self.rules
        steps = list(accumulate((z.x[1] - z.x[0]) * (z.y[1] - z.y[0]) for z in zones))
        u, which = rng.random(2).tolist()
        zone = zones[min(bisect_right(steps, u * steps[-1]), len(zones) - 1)]
        low, high = map(math.radians, zone.turn.range_at(which))
        return self.rules._replace(area=(*zone.x, *zone.y), turn=(low, high - low))

    def _at_parent(
        self, kind: ObjectKind, rng: np.random.Generator, wrong: np.ndarray, way: How, parents: list[int]
    ) -> bool:
        search = PlacementSearch(self.stage, len(self.objects), body(kind.solid), self.rules, wrong)
        rest = list(parents)
        while rest:
            parent = rest.pop(int(rng.random() * len(rest)))
            name = self.kinds[parent].solid
            host, draws = PlacementHost(parent, body(name), self.poses[parent]), rng.random((_CHILD_TRIES, 5))
            if way == "contained":
                pose = settle_inside(search, draws, host, turns_within(name, kind.solid, self.world.clearance))
            else:
                pose = settle_on_top(search, draws, host, perches(name, kind.solid, self.world.stability))
            if len(pose):
                self._enter(kind, pose, way, parent)
                return True
        return False

    def _enter(self, kind: ObjectKind, pose: Floats, how: How, parent: int) -> None:
        x, y, z, yaw = pose.tolist()
        self.objects.append(Placed(kind.solid, kind.color, kind.material, (x, y, z), yaw, how, parent))
        self.kinds.append(kind)
        self.poses.append(pose)
        self.depth.append(self.depth[parent] + 1 if parent >= 0 else 0)
        self.children.append(0)
        self.carries.append(False)
        if parent >= 0:
            self.children[parent] += 1
            self.carries[parent] |= how == "supported"


def _choose(ways: Mapping[How, float], u: float) -> How:
    left = u * sum(ways.values())
    for way, weight in ways.items():
        left -= weight
        if left < 0.0:
            return way
    return way


def _impossible(world: World, wanted: int, failures: Failures) -> str:
    (worst, times), *_ = failures.solids.most_common(1)
    (x0, x1), (y0, y1) = world.area
    reasons = {
        COLLIDES: f"collide (gap {world.gap:g} m, area {x1 - x0:g} × {y1 - y0:g} m)",
        UNSEEN: f"leave a camera's picture (in_view: {world.in_view})",
        FALLS: f"tip what is below (stability {world.stability:g})",
    }
    counts = {why: int(failures.wrong[why]) for why in sorted(reasons, key=lambda why: -failures.wrong[why])}
    causes = ", ".join(f"{n:,} {reasons[why]}" for why, n in counts.items() if n)
    return (
        f"world {world.name!r} cannot be filled with {counted(wanted, 'object')} in {world.attempts} attempts; "
        f"most often there was no free place for {worst} ({times} times, {world.tries:,} tries each). "
        f"Of {sum(counts.values()):,} poses {causes}"
    )
