"""Place invented scenes as arrays, batch by batch: what a card needs to draw them and a loss to know of them.

Batch k of a stream holds scenes k · size … (k + 1) · size − 1 of the world, so any batch can be made alone, by any
worker, in any order, and no scene comes twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.render.canonical import Identity, canonical_layouts
from sightline.render.fast.pack import Packed, Pool, packed
from sightline.render.fast.settings import Settings
from sightline.scenes.labels import PREDICATES
from sightline.training.batches import made_ahead
from sightline.worlds import World, arrange, relations, solid
from sightline.worlds.layout import Layout, Placed

_PLACE: Final = ("left", "behind", "base")
_MEASURES: Final = ("long", "short", "height", "cavity_long", "cavity_short", "cavity_depth")
FACTS: Final = (*_PLACE, *_MEASURES, "contained", "supported", "containing", "supporting")
"""What is known of each object besides its predicates: where it stands along the original camera's left and behind,
height of its base, half its longer and shorter side, its height, the same of its cavity (0 without one), all in
metres; whether it stands in or on another, and holds or carries one (0 or 1)."""

LENGTHS: Final = len(_PLACE + _MEASURES)
"""So many of them are lengths; the others are yes or no."""

ALIKE: Final = 4
"""Shapes of a scene of look-alikes."""

AT_ONCE: Final = 256
"""Canonical views packed together, or those of one object if it has more."""

_Item = TypeVar("_Item", covariant=True)

_ORDER: Final = {name: i for i, name in enumerate(PREDICATES)}


@dataclass(frozen=True)
class PlacedBatch:
    """Scenes that are placed but not drawn.

    Attributes:
        first: Number of the first scene.
        views: One packed set of views a camera.
        identities: (B, N) int64 into the stream's identities; 0 where there is no object.
        present: (B, N) bool.
        labels: (B, N, N, 8) bool, [subject, object, predicate].
        facts: (B, N, 13) float32, see `FACTS`.
    """

    first: int
    views: tuple[Packed, ...]
    identities: NDArray[np.int64]
    present: NDArray[np.bool_]
    labels: NDArray[np.bool_]
    facts: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.present)


@dataclass(eq=False)
class PlacedScenes:
    """A stream of batches of one world: a sequence, so that worker processes can be asked for any of them.

    Attributes:
        world: Where the scenes come from.
        views: Cameras that look.
        seed: Of the scenes.
        size: Scenes of a batch.
        batches: Length of the stream.
        most: Objects a scene may hold; 0 takes the world's own limit.
        first: Scene to begin with.
        crowded: Share of the scenes whose objects have only one or two of the world's colours: there shape and size
            must tell them apart.
        alike: Share of the scenes whose objects have, besides, one material and four shapes that stand side by side
            in the world's list: where that puts look-alikes together, little tells them apart.

    Raises:
        ConfigError: No views or unknown ones, shares below 0 or above 1 together.
    """

    world: World
    views: Sequence[str]
    _: KW_ONLY
    seed: int
    size: int
    batches: int
    most: int = 0
    first: int = 0
    crowded: float = 0.0
    alike: float = 0.0

    def __post_init__(self) -> None:
        cameras = [camera.name for camera in self.world.cameras]
        unknown = [view for view in self.views if view not in cameras]
        if unknown or not self.views:
            named = unknown[0] if unknown else "(none given)"
            raise ConfigError(f"{self.world.name} has no view {named!r}; it has {', '.join(cameras)}")
        crowded, alike = self.crowded, self.alike
        if not (crowded >= 0 and alike >= 0 and crowded + alike <= 1):
            raise ConfigError(f"crowded {crowded} and alike {alike} must be shares, together at most 1")
        self.views, self.most = tuple(self.views), self.most or self.world.objects[1]

    @cached_property
    def identities(self) -> tuple[Identity, ...]:
        """Every object the world can hold, in a fixed order."""
        return identities_of(self.world)

    def __len__(self) -> int:
        return self.batches

    def __getitem__(self, number: int) -> PlacedBatch:
        if not 0 <= number < self.batches:
            raise IndexError(number)
        start = self.first + number * self.size
        return self.batch([self.layout(start + i) for i in range(self.size)], start)

    def layout(self, index: int) -> Layout:
        """Scene number `index`; the world's own unless it is one of the crowded or alike ones."""
        if not self.crowded and not self.alike:
            return arrange(self.world, self.seed, index)
        draw = np.random.default_rng([self.seed, index, 3])
        chance = draw.random()
        if chance >= self.crowded + self.alike:
            return arrange(self.world, self.seed, index)
        few = draw.choice(len(self.world.colors), size=min(2, len(self.world.colors)), replace=False)
        colors = tuple(self.world.colors[i] for i in few[: draw.integers(1, 3)])
        world = replace(self.world, colors=colors)
        return arrange(world if chance < self.crowded else _alike(world, draw), self.seed, index)

    def batch(self, layouts: Sequence[Layout], first: int = 0) -> PlacedBatch:
        """Given layouts as one batch."""
        half = Settings().map_half
        numbers = {identity: i for i, identity in enumerate(self.identities)}
        shape = (len(layouts), self.most)
        identities, present = np.zeros(shape, np.int64), np.zeros(shape, bool)
        labels = np.zeros((*shape, self.most, len(PREDICATES)), bool)
        facts = np.zeros((*shape, len(FACTS)), np.float32)
        for s, layout in enumerate(layouts):
            n = len(layout.objects)
            present[s, :n] = True
            identities[s, :n] = [numbers[o.shape, o.color, o.material] for o in layout.objects]
            for i, predicate, j in relations(layout):
                labels[s, i, j, _ORDER[predicate]] = True
            facts[s, :n] = object_facts(layout)
        views = tuple(packed(_pool(self.world.solids()), layouts, self.views, half))
        return PlacedBatch(first, views, identities, present, labels, facts)


def _alike(world: World, draw: np.random.Generator) -> World:
    """The world with one of its materials and four of its shapes, side by side; as it is, if that were too few."""
    first, material = draw.integers(len(world.shapes)), draw.integers(len(world.materials))
    shapes = tuple(world.shapes[(first + i) % len(world.shapes)] for i in range(min(ALIKE, len(world.shapes))))
    if world.distinct and len(shapes) * len(world.sizes) * len(world.colors) < world.objects[1]:
        return world
    return replace(world, shapes=shapes, materials=(world.materials[material],))


@dataclass(eq=False)
class CanonicalStream:
    """Canonical views of every object of a world, packed to be drawn: a sequence of batches of the same size.

    Attributes:
        world: Whose objects.
        count: Views of each.
        seed: Of the views.
        each: Objects of a batch; the last one is filled up with objects from the front.
    """

    world: World
    _: KW_ONLY
    count: int
    seed: int

    def __post_init__(self) -> None:
        self.identities, self.each = identities_of(self.world), max(1, AT_ONCE // self.count)

    def __len__(self) -> int:
        return -(-len(self.identities) // self.each)

    def __getitem__(self, number: int) -> Packed:
        if not 0 <= number < len(self):
            raise IndexError(number)
        numbers = [(number * self.each + i) % len(self.identities) for i in range(self.each)]
        layouts = [
            layout
            for i in numbers
            for layout in canonical_layouts(self.identities[i], self.world, count=self.count, seed=self.seed)
        ]
        [views] = packed(_pool(self.world.solids()), layouts, ["canonical"], Settings().map_half)
        return views


class _Numbered(Protocol[_Item]):
    def __getitem__(self, number: int) -> _Item: ...


def item_of(request: tuple[_Numbered[_Item], int]) -> _Item:
    """Make item `number` of a stream: what a worker process is asked for."""
    stream, number = request
    return stream[number]


def items(stream: _Numbered[_Item], start: int, stop: int, workers: int) -> Iterator[_Item]:
    """Make items start … stop − 1 of a stream, in order and ahead of time."""
    requests = ((stream, number) for number in range(start, stop))
    return made_ahead(item_of, requests, workers, preload=__name__)


@lru_cache(maxsize=8)
def _pool(shapes: tuple[str, ...]) -> Pool:
    """Knows the solids in that order."""
    pool = Pool(solid)
    pool.know(shapes)
    return pool


def identities_of(world: World) -> tuple[Identity, ...]:
    """Shape with size, colour and material of every object a world can hold."""
    return world.identities()


def object_facts(layout: Layout) -> NDArray[np.float32]:
    """(n, 13) float32: the facts of a layout's objects."""
    objects = layout.objects
    rows = np.array([(*_place(layout, o), *measures(o.shape), 0, 0, 0, 0) for o in objects], np.float32)
    for i, o in enumerate(objects):
        if o.parent >= 0:
            by = 0 if o.how == "contained" else 1
            rows[i, LENGTHS + by] = rows[o.parent, LENGTHS + 2 + by] = 1.0
    return rows


def _place(layout: Layout, o: Placed) -> tuple[float, float, float]:
    x, y, z = o.position
    return layout.left[0] * x + layout.left[1] * y, layout.behind[0] * x + layout.behind[1] * y, z


@lru_cache(maxsize=1024)
def measures(shape: str) -> tuple[float, ...]:
    """Half sides, height, half sides and depth of the cavity of a solid, by its name; metres."""
    made = solid(shape)
    outer = sorted(made.outline.half, reverse=True)
    if made.cavity is None:
        return *outer, made.height, 0.0, 0.0, 0.0
    return *outer, made.height, *sorted(made.cavity.outline.half, reverse=True), made.cavity.depth
