"""From placed scenes to pixels: on a CUDA card while training goes on, or on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.render.canonical import SIZE, canonical_layouts, canonical_views, shrunk
from sightline.render.fast import FastRenderer
from sightline.render.frames import Frame
from sightline.training.placing import PlacedBatch, PlacedScenes, looks_of, shapes_of
from sightline.worlds import SIZES, World, arrange
from sightline.worlds.shapes import split_name

if TYPE_CHECKING:
    from sightline.render.fast.cuda import CudaRenderer

COARSE = 4
"""Of an id map every so many-th pixel is kept, both ways."""

_AT_ONCE = 256  # canonical pictures drawn in one batch


@dataclass(frozen=True, slots=True)
class SceneBatch:
    """Scenes ready for a network, on its device.

    Attributes:
        views: (B, V, H, W, 3) uint8.
        patches: (B, N, 32, 32, 3) uint8.
        present: (B, N) bool.
        labels: (B, N, N, 8) bool.
        facts: (B, N, 13) float32, or None where the source does not know them.
        looks: (B, N) int64: which of the source's objects each query is, or None.
        ids: (B, V, H / 4, W / 4) uint8: what every fourth pixel shows, 0 the table, i + 1 query i; or None.
        sizes: (B, N) float32: size of each query's object, 1 for medium; or None.
    """

    views: Tensor
    patches: Tensor
    present: Tensor
    labels: Tensor
    facts: Tensor | None = None
    looks: Tensor | None = None
    ids: Tensor | None = None
    sizes: Tensor | None = None

    def __len__(self) -> int:
        return len(self.present)


class Drawing(Protocol):
    """Draws placed scenes."""

    bank: Tensor

    def draw(self, batch: PlacedBatch, views: Sequence[int]) -> SceneBatch:
        """The scenes by some of their views, each query by one of its canonical views chosen at random."""


class _Drawn:
    """What drawing on either device has in common: canonical views kept ready, and everything but the pixels."""

    def __init__(self, world: World, bank: NDArray[np.uint8], device: str) -> None:
        self.device = torch.device(device)
        self.bank = torch.from_numpy(bank).to(self.device)
        factors = [SIZES[split_name(shape)[1]] for shape, _, _ in looks_of(world)]
        self._sizes = torch.tensor(factors, dtype=torch.float32, device=self.device)

    def scenes(self, batch: PlacedBatch, views: Tensor, ids: Tensor) -> SceneBatch:
        """Views with all that belongs to them."""

        def there(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(array).to(self.device, non_blocking=True)

        looks, present = there(batch.looks), there(batch.present)
        patches = chosen_patches(self.bank, looks, present)
        return SceneBatch(
            views, patches, present, there(batch.labels), there(batch.facts), looks, ids, self._sizes[looks]
        )


class CudaDrawing(_Drawn):
    """Scenes of a world drawn on the card, in batches."""

    def __init__(self, world: World, *, canonical: int, seed: int) -> None:
        from sightline.render.fast.cuda import CudaRenderer

        self._card = CudaRenderer()
        self._card.know(shapes_of(world))
        super().__init__(world, canonical_bank(world, self._card, count=canonical, seed=seed), "cuda")

    def draw(self, batch: PlacedBatch, views: Sequence[int]) -> SceneBatch:
        """The scenes by some of their views, each query by one of its canonical views chosen at random."""
        seen, ids = [], []
        for view in views:
            pictures = self._card.pictures(self._card.upload(batch.views[view]))
            seen.append(torch.as_tensor(pictures.image, device="cuda").clone())
            ids.append(coarse(torch.as_tensor(pictures.ids, device="cuda")))
        return self.scenes(batch, torch.stack(seen, dim=1), torch.stack(ids, dim=1))


class CpuDrawing(_Drawn):
    """Scenes drawn by the CPU's renderer, one after the other: the same pictures, much slower."""

    def __init__(self, stream: PlacedScenes, *, canonical: int, seed: int, device: str = "cpu") -> None:
        self._renderer, self._stream = FastRenderer(), stream
        world = stream.world
        views = canonical_views(stream.looks, count=canonical, seed=seed, renderer=self._renderer, world=world)
        super().__init__(world, views, device)

    def draw(self, batch: PlacedBatch, views: Sequence[int]) -> SceneBatch:
        """The scenes by some of their views, each query by one of its canonical views chosen at random."""
        world, seed = self._stream.world, self._stream.seed
        layouts = (arrange(world, seed, batch.first + i) for i in range(len(batch)))
        names = [self._stream.views[view] for view in views]
        frames = [self._renderer.frames(layout, names) for layout in layouts]
        pixels = np.stack([np.stack([_image(frame) for frame in scene]) for scene in frames])
        ids = np.stack([np.stack([frame.ids for frame in scene]) for scene in frames])
        return self.scenes(
            batch, torch.from_numpy(pixels).to(self.device), coarse(torch.from_numpy(ids).to(self.device))
        )


def coarse(ids: Tensor) -> Tensor:
    """Every fourth pixel of id maps (…, H, W), as uint8."""
    return ids[..., COARSE // 2 :: COARSE, COARSE // 2 :: COARSE].to(torch.uint8)


def chosen_patches(bank: Tensor, looks: Tensor, present: Tensor) -> Tensor:
    """One of its canonical views at random for each query, (B, N, 32, 32, 3); black where there is no object."""
    number = torch.randint(bank.shape[1], looks.shape, device=bank.device)
    return bank[looks, number] * present[..., None, None, None]


def canonical_bank(world: World, card: CudaRenderer, *, count: int, seed: int) -> NDArray[np.uint8]:
    """Canonical views of every object of a world in the order of `looks_of`, drawn on the card."""
    layouts = [one for look in looks_of(world) for one in canonical_layouts(look, world, count=count, seed=seed)]
    views: list[NDArray[np.uint8]] = []
    for at in range(0, len(layouts), _AT_ONCE):
        few = layouts[at : at + _AT_ONCE]
        full = [few[i % len(few)] for i in range(_AT_ONCE)]  # one size: the card's arrays are made only once
        views += [shrunk(image) for image in card.images(full, "canonical")[: len(few)]]
    return np.stack(views).reshape(-1, count, SIZE, SIZE, 3)


def _image(frame: Frame) -> NDArray[np.uint8]:
    assert frame.image is not None
    return frame.image
