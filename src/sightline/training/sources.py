"""Where a training's scenes come from: loaders that bring something, and what makes scenes of it on the device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from sightline.training.drawing import CpuDrawing, CudaDrawing, Drawing, SceneBatch, Told
from sightline.training.placing import PlacedBatch, PlacedScenes
from sightline.training.workers import placers
from sightline.worlds import World


class Source(Protocol):
    """Batches of scenes, number after number, the same for the same number."""

    @property
    def batch(self) -> int:
        """Scenes of a batch."""

    @property
    def bank(self) -> Tensor:
        """(looks, canonical views, 32, 32, 3) uint8: what queries are chosen from."""

    @property
    def outlines(self) -> Tensor | None:
        """(looks, canonical views, 32, 32) uint8: how much of each pixel shows the object; None where unknown."""

    @property
    def image(self) -> tuple[int, int]:
        """(width, height) of a view, pixels."""

    @property
    def most(self) -> int:
        """Objects that a scene of a batch has room for."""

    def loader(self, start: int, stop: int) -> Iterable[Any]:
        """Something for each of the batches start … stop − 1, in order."""

    def scenes(self, loaded: Any, views: Sequence[int]) -> SceneBatch:
        """What was loaded, as scenes on the device, with these views alone."""

    def facts(self) -> dict[str, Any]:
        """Where the scenes come from, as JSON values."""


class WorldSource:
    """Scenes of a world, placed by worker processes and drawn while training goes on: none is seen twice.

    Args:
        world: Its name or file also goes into the description.
        views: Views to draw.
        batch: Scenes of a batch; `batches` of them.
        canonical: Canonical views of each object.
        seed: Of the scenes.
        workers: Processes that place, canonical views too; 0 places in this one.
        cuda: Draw on the card.
        device: Where scenes drawn by the CPU go.
        crowded: Share of the scenes with one or two colours only; see `PlacedScenes`.
        alike: Share of the scenes with look-alikes only; see there.
        most: Objects that a scene of a batch has room for; by default the world's own limit.
        first: Scene to begin with.
        told: Hears how far the canonical views are, all of which are drawn at once.
    """

    def __init__(
        self,
        world: World,
        views: Sequence[str],
        *,
        batch: int,
        batches: int,
        canonical: int,
        seed: int,
        workers: int = 0,
        cuda: bool = False,
        device: str = "cpu",
        crowded: float = 0.0,
        alike: float = 0.0,
        most: int | None = None,
        first: int = 0,
        told: Told | None = None,
    ) -> None:
        self.stream = PlacedScenes(
            world,
            views,
            seed=seed,
            size=batch,
            batches=batches,
            most=most,
            first=first,
            crowded=crowded,
            alike=alike,
        )
        self.workers = workers
        self.drawing: Drawing = (
            CudaDrawing(world, canonical=canonical, seed=seed, workers=workers, told=told)
            if cuda
            else CpuDrawing(self.stream, canonical=canonical, seed=seed, device=device, told=told)
        )

    @property
    def batch(self) -> int:
        """Scenes of a batch."""
        return self.stream.size

    @property
    def image(self) -> tuple[int, int]:
        """(width, height) of a view, pixels."""
        return self.stream.world.resolution

    @property
    def most(self) -> int:
        """Objects that a scene of a batch has room for."""
        return self.stream.most

    @property
    def bank(self) -> Tensor:
        """(looks, canonical views, 32, 32, 3) uint8: what queries are chosen from."""
        return self.drawing.bank

    @property
    def outlines(self) -> Tensor | None:
        """(looks, canonical views, 32, 32) uint8: how much of each pixel shows the object."""
        return self.drawing.outlines

    def loader(self, start: int, stop: int) -> Iterable[PlacedBatch]:
        """Placed batches, made ahead by the workers."""
        return placers(self.workers).batches(self.stream, start, stop)

    def scenes(self, loaded: PlacedBatch, views: Sequence[int]) -> SceneBatch:
        """The batch drawn."""
        return self.drawing.draw(loaded, views)

    def facts(self) -> dict[str, Any]:
        """World, seed, how many scenes and, where it is not 0, what makes them others."""
        stream = self.stream
        told = {"world": stream.world.name, "seed": stream.seed, "scenes": stream.size * stream.batches}
        others = {"first": stream.first, "crowded": stream.crowded, "alike": stream.alike}
        return told | {name: value for name, value in others.items() if value}


def ahead(stream: Any, start: int, stop: int, workers: int) -> Iterable[Any]:
    """Items start … stop − 1 of a sequence, in order, made ahead by worker processes."""
    return DataLoader(
        stream,
        sampler=range(start, stop),
        batch_size=None,
        collate_fn=_as_it_is,
        num_workers=workers,
        prefetch_factor=4 if workers else None,
        multiprocessing_context="spawn" if workers else None,
    )


def shuffled(number: int, size: int, count: int, seed: int) -> NDArray[np.int64]:
    """Which of `count` scenes make up batch `number`: epoch after epoch each scene once, in an order of its own.

    >>> shuffled(0, 3, 4, seed=0).tolist(), shuffled(1, 3, 4, seed=0).tolist()
    ([1, 2, 3], [0, 1, 0])
    """
    places = np.arange(number * size, (number + 1) * size)
    epochs = np.unique(places // count)
    orders = np.stack([_order(count, seed, int(epoch)) for epoch in epochs])
    chosen: NDArray[np.int64] = orders[places // count - epochs[0], places % count]
    return chosen


@lru_cache(maxsize=4)
def _order(count: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, epoch, 2]).permutation(count)


def _as_it_is(batch: Any) -> Any:
    return batch
