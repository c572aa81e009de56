"""Placing objects as GeoSpa does: on the table, in one another, on one another, always at rest.

For every object of a scene: draw a distinct combination of shape, size, colour and material; list the objects that
can take it now; draw the way of placing among those that are possible; draw a pose until one is free. An object is
a prism over its outline between its base and its top, less its cavity; the test is exact for prisms and errs
towards more room for everything else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

import numpy as np

from sightline.errors import ConfigError
from sightline.worlds.bodies import body, perches, turns_within
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
from sightline.worlds.solids import Floats
from sightline.worlds.spec import World

_BATCH = 50
"""Poses drawn at a time."""

_CHILD_TRIES = 50
"""Poses tried in or on one parent: all of them fit the parent, only neighbours can be in the way."""

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


def place(world: World, rng: np.random.Generator, rules: PlacementRules) -> tuple[Placed, ...]:
    """The objects of one scene, each at rest and clear of the others.

    Raises:
        ConfigError: The world's rules leave no room, after `world.attempts` beginnings.
    """
    low, high = world.objects
    wanted = low + int(rng.random() * (high - low + 1))
    failures, deck = Failures(), _deck(world)
    for _ in range(world.attempts):
        scene = _Scene(world, rules, empty(wanted, deck.corners))
        while len(scene.objects) < wanted:
            if not scene.add(_draw(world, deck, rng, scene.kinds), rng, failures):
                break
        else:
            return tuple(scene.objects)
    raise ConfigError(_impossible(world, wanted, failures))


def _draw(world: World, deck: _Deck, rng: np.random.Generator, present: list[ObjectKind]) -> ObjectKind:
    """A combination that is not there yet, by the world's weights and co-occurrence."""
    weights = deck.weights
    if deck.factors is not None:
        for kind in present:
            weights = [w * f for w, f in zip(weights, deck.factors[kind.shape], strict=True)]
    steps = list(accumulate(weights))
    for _ in range(_REDRAWS):
        u, size, color, material = rng.random(4).tolist()
        shape = deck.shapes[min(bisect_right(steps, u * steps[-1]), len(steps) - 1)]
        kind = ObjectKind(
            shape,
            f"{shape}:{world.sizes[int(size * len(world.sizes))]}",
            world.colors[int(color * len(world.colors))],
            world.materials[int(material * len(world.materials))],
        )
        if not world.distinct or kind not in present:
            return kind
    raise ConfigError(
        f"world {world.name!r}: after {len(present)} objects, {_REDRAWS:,} draws gave no distinct one; "
        "its weights or co-occurrence leave too few combinations"
    )


@dataclass(frozen=True, slots=True)
class _Deck:
    """What objects are drawn from."""

    shapes: tuple[str, ...]
    weights: list[float]
    factors: Mapping[str, tuple[float, ...]] | None
    corners: int


@lru_cache(maxsize=64)
def _deck(world: World) -> _Deck:
    shapes = tuple(shape for shape, _ in world.shapes)
    factors = None if world.cooccurrence is None else world.cooccurrence.rows(shapes)
    polygons = (p for name in world.solids() for p in (body(name).outline, body(name).cavity, body(name).top))
    return _Deck(shapes, [w for _, w in world.shapes], factors, max(map(len, polygons)))


class _Scene:
    """A scene that is being laid."""

    def __init__(self, world: World, rules: PlacementRules, stage: PlacementStage) -> None:
        self.world, self.rules, self.stage = world, rules, stage
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
        return holders, [i for i, host in free if len(perches(host, solid, world.stability))]

    def _on_table(self, kind: ObjectKind, rng: np.random.Generator, wrong: np.ndarray) -> bool:
        search = PlacementSearch(self.stage, len(self.objects), body(kind.solid), self.rules, wrong)
        for start in range(0, self.world.tries, _BATCH):
            pose = settle_on_table(search, rng.random((min(_BATCH, self.world.tries - start), 3)))
            if len(pose):
                self._enter(kind, pose, "independent", -1)
                return True
        return False

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
        UNSEEN: f"leave the original camera's picture (in_view: {world.in_view})",
        FALLS: f"tip what is below (stability {world.stability:g})",
    }
    counts = {why: int(failures.wrong[why]) for why in sorted(reasons, key=lambda why: -failures.wrong[why])}
    causes = ", ".join(f"{n:,} {reasons[why]}" for why, n in counts.items() if n)
    return (
        f"world {world.name!r} cannot be filled with {wanted} objects in {world.attempts} attempts; most often "
        f"there was no free place for {worst} ({times} times, {world.tries:,} tries each). "
        f"Of {sum(counts.values()):,} poses {causes}"
    )
