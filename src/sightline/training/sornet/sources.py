"""Sources of a training's scenes: drawn from a world, kept on the device, or of several sources in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, count
from typing import Any, Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ConfigError
from sightline.text import counted
from sightline.training.batches import shuffled
from sightline.training.plan import BatchSource
from sightline.training.sornet.layouts import PlacedBatch, PlacedScenes, items
from sightline.training.sornet.pictures import (
    CpuSceneRenderer,
    CudaSceneRenderer,
    OnBank,
    SceneBatch,
    SceneRenderer,
    chosen_patches,
    sent,
)


class SceneSource(BatchSource, Protocol):
    """Batches of scenes: what is loaded ahead becomes scenes on the device when their step comes.

    Attributes:
        batch: Scenes of a batch.
        image: (width, height) of a view, pixels.
        most: Objects that a scene of a batch has room for.
        bank: (identities, canonical views, 32, 32, 3) uint8: what queries are chosen from.
        outlines: (identities, canonical views, 32, 32) uint8: how much of a pixel shows the object; None where
            unknown.
    """

    batch: int
    image: tuple[int, int]
    most: int
    bank: Tensor
    outlines: Tensor | None

    def scenes(self, loaded: Any, views: Sequence[int]) -> SceneBatch:
        """What was loaded, as scenes on the device, with these views alone."""


class WorldSource:
    """Render scenes of a world while training goes on, placed by worker processes: none is seen twice.

    Args:
        stream: The placed scenes; of their world the description tells the name.
        canonical: Canonical views of each object.
        workers: Processes that place, canonical views too; 0 places in this one.
        cuda: Draw on the card.
        device: Where scenes drawn by the CPU go.
        on_bank: Called as canonical views are drawn, all of them at once.
    """

    def __init__(
        self,
        stream: PlacedScenes,
        *,
        canonical: int,
        workers: int = 0,
        cuda: bool = False,
        device: str = "cpu",
        on_bank: OnBank | None = None,
    ) -> None:
        world, seed, self.stream = stream.world, stream.seed, stream
        self.workers = workers
        self.renderer: SceneRenderer = (
            CudaSceneRenderer(world, canonical=canonical, seed=seed, workers=workers, on_bank=on_bank)
            if cuda
            else CpuSceneRenderer(stream, canonical=canonical, seed=seed, device=device, on_bank=on_bank)
        )
        self.batch, self.image, self.most = stream.size, world.resolution, stream.most
        self.bank: Tensor = self.renderer.bank
        self.outlines: Tensor | None = self.renderer.outlines

    def loader(self, start: int, stop: int) -> Iterable[PlacedBatch]:
        """Placed batches, made ahead by the workers."""
        return items(self.stream, start, stop, self.workers)

    def scenes(self, loaded: PlacedBatch, views: Sequence[int]) -> SceneBatch:
        """The batch drawn."""
        return self.renderer.draw(loaded, views)

    def facts(self) -> dict[str, Any]:
        """World, seed, how many scenes and, where it is not 0, what makes them others."""
        stream = self.stream
        facts = {"world": stream.world.name, "seed": stream.seed, "scenes": stream.size * stream.batches}
        others = {"first": stream.first, "crowded": stream.crowded, "alike": stream.alike}
        return facts | {name: value for name, value in others.items() if value}


Incoming = tuple[int, Any]
"""Number of a batch of the other source, and what was loaded of it."""

_STORED: Final = ("views", "identities", "present", "labels", "facts", "ids", "sizes")


class FewScenes:
    """Keep scenes of another source on its device, drawn once and shown epoch after epoch.

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

    def __init__(
        self, base: SceneSource, scenes: int, views: int, *, batch: int, seed: int, fresh: int = 0
    ) -> None:
        require(base, scenes)
        if fresh < 0 or (fresh and scenes % base.batch):
            raise ConfigError(
                f"{scenes} scenes of which {base.batch} are replaced every {fresh} steps: give a multiple of "
                f"{base.batch}, and steps ≥ 0"
            )
        self._facts, self.image, self.bank = base.facts(), base.image, base.bank
        self.outlines, self.most = base.outlines, base.most
        self.count, self.batch, self.seed, self.fresh = scenes, batch, seed, fresh
        self._shown, self._size = views, base.batch
        self._numbers = [-1] * -(-scenes // base.batch)  # which of the source's batches are where; -1 for none
        self._tensors: dict[str, Tensor] = {}
        self._base = base if fresh else None  # a source that is no longer needed gives its memory back
        if not fresh:
            self._fill(base, 0)

    def loader(self, start: int, stop: int) -> Iterator[tuple[NDArray[np.int64], Incoming | None]]:
        """Numbers of the scenes of each batch, and the source's batch that comes in before it, if one does."""
        if self._base is None:
            return ((self._rows(step), None) for step in range(start, stop))
        require(self._base, ((stop - 1) // self.fresh + len(self._numbers)) * self._size)
        return self._moving(self._base, start, stop)

    def scenes(self, loaded: tuple[NDArray[np.int64], Incoming | None], views: Sequence[int]) -> SceneBatch:
        """The batch, each query by one of its canonical views chosen at random."""
        numbers, incoming = loaded
        if incoming is not None:
            assert self._base is not None
            self._draw(self._base, *incoming)
        device = self._tensors["views"].device
        rows, places = sent(numbers, device), sent(numbers[:, None] * self._shown + np.array(views), device)
        parts = {  # of pictures one copy, of these views alone
            name: tensor.flatten(0, 1)[places] if name in ("views", "ids") else tensor[rows]
            for name, tensor in self._tensors.items()
        }
        patches, outlines = chosen_patches(self.bank, parts["identities"], parts["present"], self.outlines)
        return SceneBatch(**parts, patches=patches, outlines=outlines)

    def facts(self) -> dict[str, Any]:
        """The other source, how many of its scenes, and how often some are replaced."""
        return {**self._facts, "kept": self.count} | ({"fresh": self.fresh} if self.fresh else {})

    def _rows(self, step: int) -> NDArray[np.int64]:
        return shuffled(step, self.batch, self.count, self.seed)

    def _moving(
        self, base: SceneSource, start: int, stop: int
    ) -> Iterator[tuple[NDArray[np.int64], Incoming | None]]:
        first, last = (step // self.fresh + len(self._numbers) for step in (start, stop - 1))
        if start < stop:
            self._fill(base, start // self.fresh)
        coming = zip(count(first), base.loader(first, last), strict=False)
        for step in range(start, stop):
            yield self._rows(step), next(coming) if step > start and step % self.fresh == 0 else None

    def _fill(self, base: SceneSource, first: int) -> None:
        """Let those kept be the source's batches from `first` on, whichever there are now."""
        wanted = range(first, first + len(self._numbers))
        missing = [number for number in wanted if self._numbers[number % len(wanted)] != number]
        if not missing:
            return
        for number, loaded in zip(count(missing[0]), base.loader(missing[0], missing[-1] + 1), strict=False):
            self._draw(base, number, loaded)

    def _draw(self, base: SceneSource, number: int, loaded: Any) -> None:
        """Draw a batch of the source to its place. Torch's random numbers go on as if nothing had been drawn."""
        devices = [self.bank.device] if self.bank.device.type == "cuda" else []
        with torch.random.fork_rng(devices):
            drawn = base.scenes(loaded, range(self._shown))
        parts = {name: getattr(drawn, name) for name in _STORED if getattr(drawn, name) is not None}
        if "identities" not in parts:
            raise ConfigError("these scenes do not tell which objects their queries are")
        if not self._tensors:  # all at once: joining parts would need the room twice
            self._tensors = {name: part.new_empty(self.count, *part.shape[1:]) for name, part in parts.items()}
        self._tensors = {name: tensor for name, tensor in self._tensors.items() if name in parts}  # what all have
        at = number % len(self._numbers)
        self._numbers[at] = -1  # interrupted while copying, it is neither the old batch nor the new one
        for name, tensor in self._tensors.items():
            rows = tensor[at * self._size : (at + 1) * self._size]
            rows.copy_(parts[name][: len(rows)])
        self._numbers[at] = number


class MixedSource:
    """Take batches of several sources in turn; each source's own come in order, and none is left out.

    Args:
        sources: Of the same batches and pictures, and with room for as many objects.
        turns: Which of them each batch is of, over and over: ``(0, 0, 1)`` takes two of the first, then one of the
            second. By default one of each.

    Raises:
        ConfigError: Sources that do not go together, kept scenes among them, or turns that name no source or leave
            one out.
    """

    def __init__(self, sources: Sequence[SceneSource], turns: Sequence[int] | None = None) -> None:
        self.sources = tuple(sources)
        self.turns = tuple(range(len(self.sources)) if turns is None else turns)
        if not self.sources or set(self.turns) != set(range(len(self.sources))):
            raise ConfigError(f"turns {list(self.turns)} must name each of {len(self.sources)} sources, from 0 on")
        if any(isinstance(source, FewScenes) for source in self.sources):
            raise ConfigError("kept scenes do not mix: mix their sources and keep scenes of the mixture")
        self.batch = _agreed("scenes of a batch", [source.batch for source in self.sources])
        self.image = _agreed("sizes of a view", [source.image for source in self.sources])
        self.most = _agreed("room for objects (`most`)", [source.most for source in self.sources])
        banks = [source.bank for source in self.sources]
        outlines = [source.outlines for source in self.sources]
        self._before = tuple(accumulate((len(bank) for bank in banks), initial=0))
        canonical = max(bank.shape[1] for bank in banks)
        self.bank = torch.cat([_tiled(bank, canonical) for bank in banks])
        known = [_tiled(one, canonical) for one in outlines if one is not None]
        self.outlines: Tensor | None = torch.cat(known) if len(known) == len(outlines) else None

    def loader(self, start: int, stop: int) -> Iterator[tuple[int, Any]]:
        """Which source each batch is of, and what that one loaded; all of them load ahead.

        Raises:
            ConfigError: A source has too few scenes; those of a stored dataset count once.
        """
        require(self, stop * self.batch)
        return self._in_turn(start, stop)

    def _in_turn(self, start: int, stop: int) -> Iterator[tuple[int, Any]]:
        spans = [
            (turns_before(self.turns, j, start), turns_before(self.turns, j, stop))
            for j in range(len(self.sources))
        ]
        loaders = [iter(source.loader(*span)) for source, span in zip(self.sources, spans, strict=True)]
        for number in range(start, stop):
            turn = self.turns[number % len(self.turns)]
            yield turn, next(loaders[turn])

    def scenes(self, loaded: tuple[int, Any], views: Sequence[int]) -> SceneBatch:
        """The batch as its source makes it, its identities counted in the whole bank."""
        turn, content = loaded
        made = self.sources[turn].scenes(content, views)
        if made.identities is None:
            return made
        return replace(made, identities=made.identities + self._before[turn] * made.present)

    def facts(self) -> dict[str, Any]:
        """The sources, their turns, and how many scenes there are before one of the sources has no more."""
        facts = [source.facts() for source in self.sources]
        ends = [first_after(self.turns, j, one["scenes"] // self.batch) for j, one in enumerate(facts)]
        return {"sources": facts, "turns": list(self.turns), "scenes": min(ends) * self.batch}


def turns_before(turns: Sequence[int], which: int, number: int) -> int:
    """How many of the first `number` batches are those of one source.

    >>> [turns_before((0, 0, 1), 0, number) for number in range(7)]
    [0, 1, 2, 2, 3, 4, 4]
    """
    rounds, rest = divmod(number, len(turns))
    return rounds * list(turns).count(which) + list(turns[:rest]).count(which)


def first_after(turns: Sequence[int], which: int, batches: int) -> int:
    """Number of the batch that asks one source for its batch number `batches`.

    >>> [first_after((0, 0, 1), 0, batches) for batches in range(5)]
    [0, 1, 3, 4, 6]
    """
    places = [i for i, turn in enumerate(turns) if turn == which]
    rounds, rest = divmod(batches, len(places))
    return rounds * len(turns) + places[rest]


def _agreed(what: str, values: Sequence[Any]) -> Any:
    if len(set(values)) > 1:
        raise ConfigError(f"sources of different {what} do not mix: {', '.join(map(str, dict.fromkeys(values)))}")
    return values[0]


def _tiled(bank: Tensor, count: int) -> Tensor:
    """(identities, views, …) with so many views, by showing each equally often."""
    times, rest = divmod(count, bank.shape[1])
    if rest:
        raise ConfigError(f"{bank.shape[1]} canonical views of one source do not go evenly into another's {count}")
    return bank.repeat(1, times, *(1 for _ in bank.shape[2:]))


def require(source: BatchSource, wanted: int) -> None:
    """ConfigError unless the source has so many scenes."""
    available = source.facts()["scenes"]
    if wanted > available:
        verb = "is" if wanted == 1 else "are"
        raise ConfigError(f"{counted(wanted, 'scene')} {verb} asked for, there are {available}")
