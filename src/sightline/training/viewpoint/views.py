"""Draw placed views: on a CUDA card as training goes on, or as the CPU drew them; with their boxes as tensors."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.training.batches import shuffled
from sightline.training.plan import BatchSource
from sightline.training.viewpoint.placed import (
    SLICE,
    PlacedViews,
    ViewStream,
    placed_ahead,
    rows_file,
    shelve_all,
    with_variants,
)

if TYPE_CHECKING:
    from sightline.render.fast.cuda import CudaRenderer


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


@lru_cache(maxsize=32)
def _card(shapes: tuple[str, ...], shelf: str) -> CudaRenderer:
    """A renderer that knows these solids; kept, since taking them in takes seconds."""
    from sightline.render.fast.cuda import CudaRenderer

    made = CudaRenderer()
    made.know(shapes)
    if shelf:
        rows_file(shelf, shapes).write_bytes(pickle.dumps(made.rows_alone()))
    return made


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
        shelf = shelve_all(stream.world.solids(), workers) if workers else ""
        self.stream = replace(stream, card=card, slices=slices, shelf=shelf)
        self.workers, self.device, self._cards = workers, torch.device(device), list[Any]()
        if card:
            self._cards = [_card(with_variants(stream.world, part).solids(), shelf) for part in slices]

    def loader(self, start: int, stop: int) -> Iterator[PlacedViews]:
        """Placed batches, made ahead by the workers."""
        return placed_ahead(self.stream, start, stop, self.workers)

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
