"""Scenes that show their own number in every pixel, each view one brighter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from sightline.training.sornet.pictures import SceneBatch, chosen_patches


class NumberedSource:
    """Scene s of a source is s in all it has; its queries are objects s and s + 1, by one of their patches."""

    image = (4, 2)

    def __init__(
        self, size: int, scenes: int, *, identities: int = 5, canonical: int = 3, lit: int = 0, objects: int = 2
    ) -> None:
        self.batch, self.count, self.most = size, scenes, objects
        self.bank: Tensor = (
            (lit + torch.arange(identities * canonical)).to(torch.uint8).view(-1, canonical, 1, 1, 1)
        )
        self.outlines: Tensor | None = 255 - self.bank[..., 0]
        self.asked: list[int] = []

    def loader(self, start: int, stop: int) -> Iterator[int]:
        for number in range(start, stop):
            assert number < self.count // self.batch
            self.asked.append(number)
            yield number

    def scenes(self, loaded: int, views: Sequence[int]) -> SceneBatch:
        scene = torch.arange(loaded * self.batch, (loaded + 1) * self.batch)
        shown = scene[:, None] + torch.tensor(list(views))
        identities = (scene[:, None] + torch.arange(self.most)) % len(self.bank)
        present = torch.ones(identities.shape, dtype=torch.bool)
        present[:, 1] = scene % 2 == 0
        identities = identities * present
        patches, outlines = chosen_patches(self.bank, identities, present, self.outlines)
        return SceneBatch(
            shown.to(torch.uint8)[..., None, None, None].expand(-1, -1, 2, 4, 3),
            patches,
            present,
            (scene % 3 == 0)[:, None, None, None].expand(-1, self.most, self.most, 8),
            scene[:, None, None].expand(-1, self.most, 13).float(),
            identities,
            shown.to(torch.uint8)[..., None, None].expand(-1, -1, 1, 2),
            identities.float(),
            outlines,
        )

    def facts(self) -> dict[str, Any]:
        return {"numbered": True, "scenes": self.count}
