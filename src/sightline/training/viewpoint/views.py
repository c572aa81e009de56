"""Place views of CAD models batch by batch and draw them: on a CUDA card as training goes on, or by the CPU.

Batch k of a stream holds scenes k · size … (k + 1) · size − 1 of the world, so any batch can be made alone, by any
worker, in any order, and no scene comes twice. A renderer holds about two million triangles, fewer than all
variants of all CAD models have: so batches take turns among slices of the variants, each with its own renderer.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ConfigError
from sightline.render.fast import FastRenderer
from sightline.render.fast.pack import Packed, Pool, packed
from sightline.render.fast.settings import Settings
from sightline.render.landmarks import viewpoint_of
from sightline.training.batches import made_ahead, shuffled
from sightline.training.plan import BatchSource
from sightline.worlds import World, arrange
from sightline.worlds.layout import Layout
from sightline.worlds.looks import category_of, split_name
from sightline.worlds.shapes import shelve, solid, use_shelf

if TYPE_CHECKING:
    from sightline.render.fast.cuda import CudaRenderer

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
        world = _with_variants(self.world, self.slices[turn])
        layouts = [arrange(world, self.seed, number * self.size + i) for i in range(self.size)]
        truth = self._truth(layouts)
        if not self.card:
            renderer = _renderer(world.solids(), self.batches * self.size)
            drawn = [renderer.frame(layout, layout.shots[0]) for layout in layouts]
            renderer.forget()
            pictures = np.stack([frame.image for frame in drawn if frame.image is not None])
            return PlacedViews(turn, *truth, None, pictures, np.stack([f.ids for f in drawn]).astype(np.uint8))
        pool = _rows(self.shelf, turn) if self.shelf else _pool(world.solids())
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
def _with_variants(world: World, variants: tuple[int, int]) -> World:
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
def _rows(shelf: str, turn: int) -> Pool:
    made: Pool = pickle.loads((Path(shelf) / f"rows {turn}").read_bytes())  # noqa: S301 - written by our own run
    return made


def placed_views(request: tuple[ViewStream, int]) -> PlacedViews:
    """Make batch `number` of a stream: what a worker process is asked for."""
    stream, number = request
    return stream[number]


def _put_on_shelf(request: tuple[Sequence[str], str]) -> None:
    shelve(*request)


@dataclass(frozen=True, slots=True)
class ViewBatch:
    """Views ready for a network, on its device.

    Attributes:
        pictures: (B, H, W, 3) uint8.
        boxes: (B, N, 4) xyxy of what is visible, fractions of the picture; pixels: (B, N) how many are visible.
        classes: (B, N) int64, −1 where there is no object.
        angles: (B, N, 3) degrees; symmetry: (B, N) int64.
    """

    pictures: Tensor
    boxes: Tensor
    pixels: Tensor
    classes: Tensor
    angles: Tensor
    symmetry: Tensor

    def __len__(self) -> int:
        return len(self.pictures)

    def rows(self, chosen: Tensor) -> ViewBatch:
        """Some of the views, by index."""
        return ViewBatch(*(getattr(self, name)[chosen] for name in self.__slots__))


def visible_boxes(ids: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """(B, N, 4) tight boxes, in fractions, and (B, N) numbers of the pixels that show each of N objects in id maps.

    >>> boxes, pixels = visible_boxes(torch.tensor([[[0, 1, 1], [0, 0, 1]]]), 2)
    >>> (boxes[0, 0] * torch.tensor([3, 2, 3, 2])).tolist(), pixels.tolist()
    ([1.0, 0.0, 3.0, 2.0], [[3, 0]])
    """
    height, width = ids.shape[1:]
    boxes, pixels = [], []
    for i in range(count):
        mask = ids == i + 1
        sides = []
        for along, length in ((mask.any(dim=1), width), (mask.any(dim=2), height)):
            first = along.int().argmax(dim=1)
            last = length - along.flip(1).int().argmax(dim=1)
            sides.append((first / length, last / length))
        (x0, x1), (y0, y1) = sides
        boxes.append(torch.stack((x0, y0, x1, y1), dim=1))
        pixels.append(mask.sum(dim=(1, 2)))
    return torch.stack(boxes, dim=1), torch.stack(pixels, dim=1)


class ViewSource(BatchSource, Protocol):
    """Batches of views: what is loaded ahead becomes views on the device when their step comes."""

    def views(self, loaded: Any) -> ViewBatch:
        """What was loaded, as views on the device."""


class DrawnViews:
    """Draw views of a world while training goes on, placed by worker processes: none is seen twice.

    Args:
        stream: The placed views.
        workers: Processes that place, and draw where no card does; 0 does it in this one.
        device: Where the network is; views are drawn there if it is ``cuda``.
    """

    def __init__(self, stream: ViewStream, *, workers: int = 0, device: str = "cpu") -> None:
        low, high = stream.world.variants
        card = device == "cuda"
        slices = tuple((start, min(start + SLICE, high)) for start in range(low, high, SLICE))
        shelf = tempfile.mkdtemp(prefix="sightline-shapes-") if workers else ""
        self.stream = replace(stream, card=card, slices=slices, shelf=shelf)
        self.workers, self.device, self._cards = workers, torch.device(device), list[Any]()
        if shelf:
            weakref.finalize(self, shutil.rmtree, shelf, ignore_errors=True)
            names = stream.world.solids()
            parts = [(names[i : i + _SHELVED], shelf) for i in range(0, len(names), _SHELVED)]
            for _ in made_ahead(_put_on_shelf, parts, workers, preload=__name__):
                pass
            use_shelf(shelf)
        if card:
            self._cards = [self._card(turn) for turn in range(len(slices))]

    def _card(self, turn: int) -> CudaRenderer:
        from sightline.render.fast.cuda import CudaRenderer

        made = CudaRenderer()
        made.know(_with_variants(self.stream.world, self.stream.slices[turn]).solids())
        if self.stream.shelf:
            (Path(self.stream.shelf) / f"rows {turn}").write_bytes(pickle.dumps(made.rows_alone()))
        return made

    def loader(self, start: int, stop: int) -> Iterator[PlacedViews]:
        """Placed batches, made ahead by the workers."""
        requests = ((self.stream, number) for number in range(start, stop))
        return made_ahead(placed_views, requests, self.workers, preload=__name__)

    def views(self, loaded: PlacedViews) -> ViewBatch:
        """The batch drawn."""
        if loaded.views is not None:
            card = self._cards[loaded.turn]
            drawn = card.pictures(card.upload(loaded.views))
            pictures = torch.as_tensor(drawn.image, device=self.device).clone()
            ids = torch.as_tensor(drawn.ids, device=self.device)
        else:
            assert loaded.pictures is not None
            assert loaded.ids is not None
            pictures, ids = (torch.from_numpy(part).to(self.device) for part in (loaded.pictures, loaded.ids))
        boxes, pixels = visible_boxes(ids, loaded.classes.shape[1])
        truth = (
            torch.from_numpy(part).to(self.device) for part in (loaded.classes, loaded.angles, loaded.symmetry)
        )
        return ViewBatch(pictures, boxes, pixels, *truth)

    def facts(self) -> dict[str, Any]:
        """World, variants, seed, size of the pictures and how many there are."""
        stream = self.stream
        return {
            "world": stream.world.name,
            "variants": list(stream.world.variants),
            "seed": stream.seed,
            "resolution": list(stream.world.resolution),
            "scenes": stream.size * stream.batches,
        }


class KeptViews:
    """Keep the first views of another source on its device, drawn once and shown epoch after epoch.

    Args:
        base: Where they come from, a whole number of its batches.
        batches: How many of those.
        batch: Views of a batch.
        seed: Of the orders.
        progress: Called with (views drawn, views in all).
    """

    def __init__(self, base: ViewSource, batches: int, *, batch: int, seed: int, progress: Any = None) -> None:
        self._facts = base.facts()
        parts = []
        for loaded in base.loader(0, batches):
            parts.append(base.views(loaded))
            if progress is not None:
                progress(len(parts) * len(parts[0]), batches * len(parts[0]))
        self._whole = ViewBatch(*(torch.cat([getattr(p, n) for p in parts]) for n in ViewBatch.__slots__))
        self.batch, self.seed = batch, seed

    def loader(self, start: int, stop: int) -> Iterable[NDArray[np.int64]]:
        """Numbers of the views of each batch."""
        return (shuffled(step, self.batch, len(self._whole), self.seed) for step in range(start, stop))

    def views(self, loaded: NDArray[np.int64]) -> ViewBatch:
        """The batch."""
        return self._whole.rows(torch.from_numpy(loaded).to(self._whole.pictures.device))

    def facts(self) -> dict[str, Any]:
        """The other source, and how many of its views."""
        return {**self._facts, "kept": len(self._whole)}
