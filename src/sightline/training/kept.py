"""Scenes drawn once and kept on the device: to learn from a few, or where drawing costs more than it teaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ConfigError
from sightline.training.drawing import SceneBatch, chosen_patches
from sightline.training.sources import Source, shuffled


class FewScenes:
    """The first scenes of another source, drawn once and kept on its device; shown epoch after epoch.

    Args:
        base: Where they come from.
        scenes: How many.
        views: How many views each.
        batch: Scenes of a batch; with fewer scenes than that some are in it twice, each changed in its own way.
        seed: Of the orders.
    """

    def __init__(self, base: Source, scenes: int, views: int, *, batch: int, seed: int) -> None:
        require(base, scenes)
        self._told, self.image, self.bank = base.describe(), base.image, base.bank
        self.outlines = base.outlines
        self.count, self.batch, self.seed = scenes, batch, seed
        parts = []
        for number, loaded in enumerate(base.loader(0, -(-scenes // base.batch))):
            drawn = base.scenes(loaded, range(views))
            if number == 0:  # all at once: joining parts would need the room twice
                self._views = drawn.views.new_empty(scenes, *drawn.views.shape[1:])
            here = self._views[number * base.batch : (number + 1) * base.batch]
            here.copy_(drawn.views[: len(here)])
            parts.append(replace(drawn, views=here[:, :0]))
        self._looks = torch.cat([_known(part.looks) for part in parts])[:scenes]
        self._present = torch.cat([part.present for part in parts])[:scenes]
        self._labels = torch.cat([part.labels for part in parts])[:scenes]
        self._facts = _whole([part.facts for part in parts], scenes)
        self._ids = _whole([part.ids for part in parts], scenes)
        self._sizes = _whole([part.sizes for part in parts], scenes)

    def loader(self, start: int, stop: int) -> Iterator[NDArray[np.int64]]:
        """Numbers of the scenes of each batch."""
        return (shuffled(number, self.batch, self.count, self.seed) for number in range(start, stop))

    def scenes(self, loaded: NDArray[np.int64], views: Sequence[int]) -> SceneBatch:
        """The batch, each query by one of its canonical views chosen at random."""
        rows = torch.from_numpy(loaded).to(self._views.device)
        looks, present = self._looks[rows], self._present[rows]
        patches, outlines = chosen_patches(self.bank, looks, present, self.outlines)
        return SceneBatch(
            self._views[rows][:, list(views)],
            patches,
            present,
            self._labels[rows],
            None if self._facts is None else self._facts[rows],
            looks,
            None if self._ids is None else self._ids[rows][:, list(views)],
            None if self._sizes is None else self._sizes[rows],
            outlines,
        )

    def describe(self) -> dict[str, Any]:
        """The other source, and how many of its scenes."""
        return {**self._told, "first_scenes": self.count}


def _whole(parts: Sequence[Tensor | None], scenes: int) -> Tensor | None:
    """The parts as one, or None where one of them is missing."""
    known = [part for part in parts if part is not None]
    return torch.cat(known)[:scenes] if len(known) == len(parts) else None


def require(source: Source, wanted: int) -> None:
    """ConfigError unless the source has so many scenes."""
    there = source.describe()["scenes"]
    if wanted > there:
        raise ConfigError(f"{wanted} scenes are asked for, there are {there}")


def _known(looks: Tensor | None) -> Tensor:
    if looks is None:
        raise ConfigError("these scenes do not tell which objects their queries are")
    return looks
