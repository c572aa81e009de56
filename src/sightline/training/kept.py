"""Scenes drawn once and kept on the device: to learn from a few, or where drawing costs more than it teaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ConfigError
from sightline.training.drawing import SceneBatch, chosen_patches
from sightline.training.sources import Source, shuffled

Incoming = tuple[int, Any]
"""Number of a batch of the other source, and what was loaded of it."""

_KEPT: Final = ("views", "looks", "present", "labels", "facts", "ids", "sizes")


class FewScenes:
    """Scenes of another source, drawn once and kept on its device; shown epoch after epoch.

    They are its first ones and stay; or every `fresh` steps its next batch takes the place of the oldest: at step t
    those kept are its batches t // fresh and following. What a step shows depends on seed and step alone.

    Args:
        base: Where they come from.
        scenes: How many.
        views: How many views each.
        batch: Scenes of a batch; with fewer scenes than that some are in it twice, each changed in its own way.
        seed: Of the orders.
        fresh: Steps after which one of the source's batches is replaced; 0 keeps them all.

    Raises:
        ConfigError: Fewer scenes than asked for, or not whole batches of them where they are replaced.
    """

    def __init__(self, base: Source, scenes: int, views: int, *, batch: int, seed: int, fresh: int = 0) -> None:
        require(base, scenes)
        if fresh < 0 or (fresh and scenes % base.batch):
            raise ConfigError(
                f"{scenes} scenes of which {base.batch} are replaced every {fresh} steps: give a multiple of "
                f"{base.batch}, and steps ≥ 0"
            )
        self._told, self.image, self.bank = base.facts(), base.image, base.bank
        self.outlines, self.most = base.outlines, base.most
        self.count, self.batch, self.seed, self.fresh = scenes, batch, seed, fresh
        self._shown, self._size = views, base.batch
        self._there = [-1] * -(-scenes // base.batch)  # which of the source's batches are where; -1 for none
        self._rooms: dict[str, Tensor] = {}
        self._base = base if fresh else None  # a source that is no longer needed gives its memory back
        if not fresh:
            self._fill(base, 0)

    def loader(self, start: int, stop: int) -> Iterator[tuple[NDArray[np.int64], Incoming | None]]:
        """Numbers of the scenes of each batch, and the source's batch that comes in before it, if one does."""
        if self._base is None:
            return ((self._rows(step), None) for step in range(start, stop))
        require(self._base, ((stop - 1) // self.fresh + len(self._there)) * self._size)
        return self._moving(self._base, start, stop)

    def scenes(self, loaded: tuple[NDArray[np.int64], Incoming | None], views: Sequence[int]) -> SceneBatch:
        """The batch, each query by one of its canonical views chosen at random."""
        numbers, incoming = loaded
        if incoming is not None:
            assert self._base is not None
            self._draw(self._base, *incoming)
        rooms, device = self._rooms, self._rooms["views"].device
        rows, places = _sent(numbers, device), _sent(numbers[:, None] * self._shown + np.array(views), device)
        looks, present = rooms["looks"][rows], rooms["present"][rows]
        patches, outlines = chosen_patches(self.bank, looks, present, self.outlines)
        return SceneBatch(
            rooms["views"].flatten(0, 1)[places],  # one copy, of these views alone
            patches,
            present,
            rooms["labels"][rows],
            rooms["facts"][rows] if "facts" in rooms else None,
            looks,
            rooms["ids"].flatten(0, 1)[places] if "ids" in rooms else None,
            rooms["sizes"][rows] if "sizes" in rooms else None,
            outlines,
        )

    def facts(self) -> dict[str, Any]:
        """The other source, how many of its scenes, and how often some are replaced."""
        return {**self._told, "kept": self.count} | ({"fresh": self.fresh} if self.fresh else {})

    def _rows(self, step: int) -> NDArray[np.int64]:
        return shuffled(step, self.batch, self.count, self.seed)

    def _moving(self, base: Source, start: int, stop: int) -> Iterator[tuple[NDArray[np.int64], Incoming | None]]:
        first, last = (step // self.fresh + len(self._there) for step in (start, stop - 1))
        if start < stop:
            self._fill(base, start // self.fresh)
        coming = zip(count(first), base.loader(first, last), strict=False)
        for step in range(start, stop):
            yield self._rows(step), next(coming) if step > start and step % self.fresh == 0 else None

    def _fill(self, base: Source, first: int) -> None:
        """Let those kept be the source's batches from `first` on, whichever there are now."""
        wanted = range(first, first + len(self._there))
        missing = [number for number in wanted if self._there[number % len(wanted)] != number]
        if not missing:
            return
        for number, loaded in zip(count(missing[0]), base.loader(missing[0], missing[-1] + 1), strict=False):
            self._draw(base, number, loaded)

    def _draw(self, base: Source, number: int, loaded: Any) -> None:
        """Draw a batch of the source to its place. Torch's random numbers go on as if nothing had been drawn."""
        devices = [self.bank.device] if self.bank.device.type == "cuda" else []
        with torch.random.fork_rng(devices):
            drawn = base.scenes(loaded, range(self._shown))
        parts = {name: getattr(drawn, name) for name in _KEPT if getattr(drawn, name) is not None}
        if "looks" not in parts:
            raise ConfigError("these scenes do not tell which objects their queries are")
        if not self._rooms:  # all at once: joining parts would need the room twice
            self._rooms = {name: part.new_empty(self.count, *part.shape[1:]) for name, part in parts.items()}
        self._rooms = {name: room for name, room in self._rooms.items() if name in parts}  # what all have
        at = number % len(self._there)
        self._there[at] = -1  # interrupted while copying, it is neither the old batch nor the new one
        for name, room in self._rooms.items():
            here = room[at * self._size : (at + 1) * self._size]
            here.copy_(parts[name][: len(here)])
        self._there[at] = number


def _sent(numbers: NDArray[np.int64], device: torch.device) -> Tensor:
    """Numbers on a device; from pinned memory, so that a card's steps before this one need not be waited for."""
    here = torch.from_numpy(numbers)
    return here.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else here.to(device)


def require(source: Source, wanted: int) -> None:
    """ConfigError unless the source has so many scenes."""
    there = source.facts()["scenes"]
    if wanted > there:
        raise ConfigError(f"{wanted} scenes are asked for, there are {there}")
