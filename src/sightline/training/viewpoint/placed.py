"""Place views of CAD models batch by batch: what a card needs to draw them, or the pictures that the CPU drew.

Batch k of a stream holds scenes k · size … (k + 1) · size − 1 of the world, so any batch can be made alone, by any
worker, in any order, and no scene comes twice. A renderer holds about two million triangles, fewer than all
variants of all CAD models have: so batches take turns among slices of the variants, each with its own renderer.
Workers need no torch, and find solids that any of them built in a folder of the run.
"""

from __future__ import annotations

import atexit
import pickle
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.render.fast import FastRenderer
from sightline.render.fast.pack import Packed, Pool, packed
from sightline.render.fast.settings import Settings
from sightline.render.landmarks import viewpoint_of
from sightline.training.batches import made_ahead
from sightline.worlds import World, arrange
from sightline.worlds.layout import Layout
from sightline.worlds.looks import category_of, split_name
from sightline.worlds.shapes import shelve, solid, use_shelf

SLICE: Final = 8
"""Variants of each sub-type that one renderer knows."""
_SHELVED: Final = 16  # solids that a worker builds at a time


@dataclass(frozen=True)
class PlacedViews:
    """Views that are placed; drawn too where the CPU draws.

    Attributes:
        turn: Which slice of the variants they are of.
        classes: (B, N) int64 into the classes; −1 where there is no object.
        angles: (B, N, 3) float32: azimuth, elevation, theta, degrees.
        symmetry: (B, N) int64, see `Solid.symmetry`.
        views: What a card draws; None where the CPU drew:
        pictures: (B, H, W, 3) uint8; ids: (B, H, W) uint8, 0 for none, i + 1 object i.
    """

    turn: int
    classes: NDArray[np.int64]
    angles: NDArray[np.float32]
    symmetry: NDArray[np.int64]
    views: Packed | None = None
    pictures: NDArray[np.uint8] | None = None
    ids: NDArray[np.uint8] | None = None


@dataclass(eq=False)
class ViewStream:
    """A stream of batches of one world: a sequence, so that worker processes can be asked for any of them.

    Attributes:
        world: Where the scenes come from; its first camera looks.
        classes: Names that objects are counted by; ConfigError for an object of none of them.
        seed: Of the scenes.
        size: Scenes of a batch; batches: length of the stream.
        card: Whether a card draws them; if not, this process does.
        slices: Ranges of variants that batches take turns among.
        shelf: Folder of solids that were built before; "" builds them here.
    """

    world: World
    classes: tuple[str, ...]
    seed: int
    size: int
    batches: int
    card: bool = False
    slices: tuple[tuple[int, int], ...] = field(default=())
    shelf: str = ""

    def __post_init__(self) -> None:
        self.slices = self.slices or (self.world.variants,)

    def __len__(self) -> int:
        return self.batches

    def __getitem__(self, number: int) -> PlacedViews:
        if not 0 <= number < self.batches:
            raise IndexError(number)
        if self.shelf:
            use_shelf(self.shelf)
        turn = number % len(self.slices)
        world = with_variants(self.world, self.slices[turn])
        layouts = [arrange(world, self.seed, number * self.size + i) for i in range(self.size)]
        truth = self._truth(layouts)
        if not self.card:
            renderer = _renderer(world.solids(), self.batches * self.size)
            drawn = [renderer.frame(layout, layout.shots[0]) for layout in layouts]
            renderer.forget()
            pictures = np.stack([frame.image for frame in drawn if frame.image is not None])
            return PlacedViews(turn, *truth, None, pictures, np.stack([f.ids for f in drawn]).astype(np.uint8))
        pool = _rows(self.shelf, world.solids()) if self.shelf else _pool(world.solids())
        [views] = packed(pool, layouts, [layouts[0].shots[0].name], Settings().map_half)
        return PlacedViews(turn, *truth, views)

    def _truth(self, layouts: Sequence[Layout]) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        shape = (len(layouts), self.world.objects[1])
        classes, symmetry = np.full(shape, -1, np.int64), np.ones(shape, np.int64)
        angles = np.zeros((*shape, 3), np.float32)
        for s, layout in enumerate(layouts):
            for i, placed in enumerate(layout.objects):
                name = category_of(split_name(placed.shape)[0])
                if name not in self.classes:
                    raise ConfigError(f"{self.world.name} has a {name}, and the network no such class")
                seen = viewpoint_of(placed, layout.shots[0])
                if seen is not None:
                    classes[s, i], symmetry[s, i] = self.classes.index(name), solid(placed.shape).symmetry
                    angles[s, i] = seen.azimuth, seen.elevation, seen.theta
        return classes, angles, symmetry


@lru_cache(maxsize=16)
def with_variants(world: World, variants: tuple[int, int]) -> World:
    """The world with other variants of its CAD models."""
    return world if world.variants == variants else replace(world, variants=variants)


@lru_cache(maxsize=8)
def _renderer(shapes: tuple[str, ...], scenes: int) -> FastRenderer:
    """A renderer of its own for every slice; it takes the solids in at once where most will be met."""
    renderer = FastRenderer()
    if scenes > len(shapes):
        renderer.know(shapes)
    return renderer


@lru_cache(maxsize=8)
def _pool(shapes: tuple[str, ...]) -> Pool:
    pool = Pool(solid)
    pool.know(shapes)
    return pool


@lru_cache(maxsize=32)
def _rows(shelf: str, shapes: tuple[str, ...]) -> Pool:
    made: Pool = pickle.loads(rows_file(shelf, shapes).read_bytes())  # noqa: S301 - written by our own run
    return made


def rows_file(shelf: str, shapes: tuple[str, ...]) -> Path:
    """Where the pool that packs these solids for a card lies, without their meshes."""
    return Path(shelf) / f"rows {blake2b(' '.join(shapes).encode(), digest_size=12).hexdigest()}"


@lru_cache(maxsize=1)
def shelf_folder() -> str:
    """The folder in which all sources of this process keep solids that were built, until it ends."""
    folder = tempfile.mkdtemp(prefix="sightline-shapes-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _placed_views(request: tuple[ViewStream, int]) -> PlacedViews:
    """Make batch `number` of a stream: what a worker process is asked for."""
    stream, number = request
    return stream[number]


def _put_on_shelf(request: tuple[Sequence[str], str]) -> None:
    shelve(*request)


def shelve_all(names: Sequence[str], workers: int) -> str:
    """Let workers build solids, each its share; the folder where all of them find all."""
    folder = shelf_folder()
    parts = [(names[i : i + _SHELVED], folder) for i in range(0, len(names), _SHELVED)]
    for _ in made_ahead(_put_on_shelf, parts, workers, preload=__name__):
        pass
    use_shelf(folder)
    return folder


def placed_ahead(stream: ViewStream, start: int, stop: int, workers: int) -> Iterator[PlacedViews]:
    """Make batches start … stop − 1 of a stream, in order and ahead of time."""
    requests = ((stream, number) for number in range(start, stop))
    return made_ahead(_placed_views, requests, workers, preload=__name__)
