"""Scenes of several sources, batch by batch in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from sightline.errors import ConfigError
from sightline.training.drawing import SceneBatch
from sightline.training.kept import FewScenes, require
from sightline.training.sources import Source


class MixedSource:
    """Batches of several sources in turn; each source's own come in order, and none is left out.

    Args:
        sources: Of the same batches and pictures, and with room for as many objects.
        turns: Which of them each batch is of, over and over: ``(0, 0, 1)`` takes two of the first, then one of the
            second. By default one of each.

    Raises:
        ConfigError: Sources that do not go together, kept scenes among them, or turns that name no source or leave
            one out.
    """

    def __init__(self, sources: Sequence[Source], turns: Sequence[int] | None = None) -> None:
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
        spans = [(own(self.turns, j, start), own(self.turns, j, stop)) for j in range(len(self.sources))]
        loaders = [iter(source.loader(*span)) for source, span in zip(self.sources, spans, strict=True)]
        for number in range(start, stop):
            turn = self.turns[number % len(self.turns)]
            yield turn, next(loaders[turn])

    def scenes(self, loaded: tuple[int, Any], views: Sequence[int]) -> SceneBatch:
        """The batch as its source makes it, its looks counted in the whole bank."""
        turn, given = loaded
        made = self.sources[turn].scenes(given, views)
        return made if made.looks is None else replace(made, looks=made.looks + self._before[turn] * made.present)

    def facts(self) -> dict[str, Any]:
        """The sources, their turns, and how many scenes there are before one of the sources has no more."""
        told = [source.facts() for source in self.sources]
        ends = [first_after(self.turns, j, one["scenes"] // self.batch) for j, one in enumerate(told)]
        return {"sources": told, "turns": list(self.turns), "scenes": min(ends) * self.batch}


def own(turns: Sequence[int], which: int, number: int) -> int:
    """How many of the first `number` batches are those of one source.

    >>> [own((0, 0, 1), 0, number) for number in range(7)]
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


def _agreed(what: str, found: Sequence[Any]) -> Any:
    if len(set(found)) > 1:
        raise ConfigError(f"sources of different {what} do not mix: {', '.join(map(str, dict.fromkeys(found)))}")
    return found[0]


def _tiled(bank: Tensor, count: int) -> Tensor:
    """(looks, views, …) with so many views, by showing each equally often."""
    times, rest = divmod(count, bank.shape[1])
    if rest:
        raise ConfigError(f"{bank.shape[1]} canonical views of one source do not go evenly into another's {count}")
    return bank.repeat(1, times, *(1 for _ in bank.shape[2:]))
