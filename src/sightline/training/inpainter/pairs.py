"""Pictures of scenes with and without one object, drawn while training goes on: on the card or by the CPU.

Batch k of a stream is of world k modulo their number, and none of its scenes comes twice, so any batch can be made
alone, by any worker, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ConfigError
from sightline.render.fast import FastRenderer
from sightline.render.fast import columns as col
from sightline.render.fast.pack import Packed, Pool, packed
from sightline.render.fast.settings import Settings
from sightline.training.batches import made_ahead, shuffled
from sightline.worlds import World, arrange, load_world, solid
from sightline.worlds.layout import Layout

VIEW = "original"


@dataclass(frozen=True)
class PlacedPairs:
    """Placed scenes of one world, each with the number of an object to take away.

    Attributes:
        layouts: The scenes.
        view: Their views, packed for the card; None where the CPU draws.
        gone: (B,) int64, which object of each goes.
    """

    layouts: tuple[Layout, ...]
    view: Packed | None
    gone: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScenePairs:
    """Pictures with and without an object, on the device.

    Attributes:
        before: (B, H, W, 3) uint8.
        after: The same scenes without the object.
        mask: (B, H, W) bool, where the object is seen.
    """

    before: Tensor
    after: Tensor
    mask: Tensor


class PairStream:
    """Scenes of several worlds in turn, placed batch by batch.

    Args:
        worlds: Names of worlds, or worlds; one that is named twice comes twice as often.
        seed: Of the scenes.
        size: Scenes of a batch.
        cuda: Pack views for the card.
    """

    def __init__(self, worlds: Sequence[str | World], *, seed: int, size: int, cuda: bool = False) -> None:
        if not worlds:
            raise ConfigError("no world to train an in-painter on")
        self.worlds = tuple(load_world(one) if isinstance(one, str) else one for one in worlds)
        self.seed, self.size, self.cuda = seed, size, cuda

    @cached_property
    def pool(self) -> Pool:
        """Solids of all worlds, in one order for all processes."""
        made = Pool(solid)
        made.know(self.solids)
        return made

    @property
    def solids(self) -> tuple[str, ...]:
        """Names of the solids of all worlds."""
        return tuple(dict.fromkeys(name for world in self.worlds for name in world.solids()))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "pool"}  # a worker makes its own

    def __getitem__(self, number: int) -> PlacedPairs:
        turn, which = divmod(number, len(self.worlds))
        world, first = self.worlds[which], turn * self.size
        layouts = tuple(arrange(world, self.seed, first + i) for i in range(self.size))
        draw = np.random.default_rng([self.seed, number, 5])
        gone = np.array([draw.integers(len(layout.objects)) for layout in layouts], np.int64)
        view = packed(self.pool, layouts, [VIEW], Settings().map_half)[0] if self.cuda else None
        return PlacedPairs(layouts, view, gone)


_streams: dict[str, PairStream] = {}


def placed(request: tuple[PairStream, int]) -> PlacedPairs:
    """Place batch `number` of a stream: what a worker process is asked for."""
    stream, number = request
    key = repr((stream.worlds, stream.seed, stream.size, stream.cuda))
    return _streams.setdefault(key, stream)[number]  # its pool is made once


class PairSource:
    """Batches of a stream, drawn when their step comes.

    Args:
        stream: The placed scenes.
        workers: Processes that place; 0 places in this one.
    """

    def __init__(self, stream: PairStream, *, workers: int = 0) -> None:
        self.stream, self.workers, self.batch = stream, workers, stream.size
        self.device = torch.device("cuda" if stream.cuda else "cpu")
        if stream.cuda:
            from sightline.render.fast.cuda import CudaRenderer

            self._card = CudaRenderer()
            self._card.know(stream.solids)
        else:
            self._renderer = FastRenderer()

    def loader(self, start: int, stop: int) -> Iterator[PlacedPairs]:
        """Placed batches, made ahead by the workers."""
        requests = ((self.stream, number) for number in range(start, stop))
        return made_ahead(placed, requests, self.workers, preload=__name__)

    def facts(self) -> dict[str, Any]:
        """Worlds and seed."""
        return {"worlds": [world.name for world in self.stream.worlds], "seed": self.stream.seed}

    def pairs(self, loaded: PlacedPairs) -> ScenePairs:
        """Draw the scenes with and without their object."""
        if loaded.view is not None:
            return self._on_card(loaded.view, loaded.gone)
        before, after, masks = [], [], []
        for layout, gone in zip(loaded.layouts, loaded.gone.tolist(), strict=True):
            shot = next(shot for shot in layout.shots if shot.name == VIEW)
            whole, without = self._renderer.frame(layout, shot), self._renderer.counterfactual(layout, shot, gone)
            before.append(whole.image)
            after.append(without.image)
            masks.append(whole.ids == gone + 1)
        return ScenePairs(*(torch.from_numpy(np.stack(part)) for part in (before, after, masks)))  # type: ignore[arg-type]

    def _on_card(self, view: Packed, gone: NDArray[np.int64]) -> ScenePairs:
        drawn = self._card.pictures(self._card.upload(view))
        before = torch.as_tensor(drawn.image, device="cuda").clone()
        number = torch.from_numpy(gone).to(self.device)[:, None, None]
        mask = torch.as_tensor(drawn.ids, device="cuda") == number + 1
        bodies = view.bodies.copy()
        bodies[np.arange(len(gone)), gone, col.PRESENT] = 0.0
        drawn = self._card.pictures(self._card.upload(view._replace(bodies=bodies)))
        return ScenePairs(before, torch.as_tensor(drawn.image, device="cuda").clone(), mask)


class KeptPairs:
    """Pairs that are drawn once and shown epoch after epoch, each time cut and holed anew.

    Args:
        source: Draws them.
        batches: How many of its batches; its worlds must draw pictures of one size.
    """

    def __init__(self, source: PairSource, batches: int) -> None:
        self.source, self.batches, self.batch, self.device = source, batches, source.batch, source.device
        drawn = [source.pairs(loaded) for loaded in source.loader(0, batches)]
        sizes = {tuple(one.mask.shape[1:]) for one in drawn}
        if len(sizes) != 1:
            raise ConfigError(f"pairs that are kept must be of one size, not of {sorted(sizes)} pixels")
        self._pairs = ScenePairs(
            *(torch.cat([getattr(one, part) for one in drawn]) for part in ("before", "after", "mask"))
        )

    def loader(self, start: int, stop: int) -> Iterator[NDArray[np.int64]]:
        """Numbers of the pairs of batches start … stop − 1, each pair once an epoch."""
        count = len(self._pairs.mask)
        return (shuffled(step, self.batch, count, self.source.stream.seed) for step in range(start, stop))

    def facts(self) -> dict[str, Any]:
        """Worlds, seed, and how many pairs are kept."""
        return {**self.source.facts(), "kept": len(self._pairs.mask)}

    def pairs(self, loaded: NDArray[np.int64]) -> ScenePairs:
        """The pairs of a batch."""
        rows = torch.from_numpy(loaded).to(self.device)
        return ScenePairs(self._pairs.before[rows], self._pairs.after[rows], self._pairs.mask[rows])
