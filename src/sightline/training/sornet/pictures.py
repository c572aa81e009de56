"""Render placed scenes and canonical views of their objects: on a CUDA card as training goes on, or by the CPU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.render.canonical import SIZE, canonical_layouts
from sightline.render.fast import FastRenderer
from sightline.render.frames import Frame
from sightline.render.tones import PER_RADIANCE, RADIANCES, TONES
from sightline.training.sornet.layouts import CanonicalStream, PlacedBatch, PlacedScenes, identities_of, items
from sightline.worlds import SIZES, World
from sightline.worlds.shapes import split_name

if TYPE_CHECKING:
    from sightline.render.fast.cuda import CudaRenderer

OnBank = Callable[[int, int], None]
"""Called with (canonical views drawn, canonical views in all)."""

COARSE = 2
"""Of an id map every so many-th pixel is kept, both ways."""


@dataclass(frozen=True, slots=True)
class SceneBatch:
    """Scenes ready for a network, on its device.

    Attributes:
        views: (B, V, H, W, 3) uint8.
        patches: (B, N, 32, 32, 3) uint8.
        present: (B, N) bool.
        labels: (B, N, N, 8) bool.
        facts: (B, N, 13) float32, or None where the source does not know them.
        identities: (B, N) int64: which of the source's objects each query is, or None.
        ids: (B, V, H / 2, W / 2) uint8: what every second pixel shows, 0 the table, i + 1 query i; or None.
        sizes: (B, N) float32: size of each query's object, 1 for medium; or None.
        outlines: (B, N, 32, 32) uint8: how much of a patch's pixel shows the object, 255 for all; or None.
    """

    views: Tensor
    patches: Tensor
    present: Tensor
    labels: Tensor
    facts: Tensor | None = None
    identities: Tensor | None = None
    ids: Tensor | None = None
    sizes: Tensor | None = None
    outlines: Tensor | None = None

    def __len__(self) -> int:
        return len(self.present)


class SceneRenderer(ABC):
    """Renders placed scenes; what either device has in common: canonical views ready, and all but the pixels."""

    def __init__(self, world: World, bank: CanonicalBank, device: str) -> None:
        self.device = torch.device(device)
        self.bank, self.outlines = (part.to(self.device) for part in bank)
        factors = [SIZES[split_name(shape)[1]] for shape, _, _ in identities_of(world)]
        self._sizes = torch.tensor(factors, dtype=torch.float32, device=self.device)

    @abstractmethod
    def draw(self, batch: PlacedBatch, views: Sequence[int]) -> SceneBatch:
        """The scenes by some of their views, each query by one of its canonical views chosen at random."""

    def scenes(self, batch: PlacedBatch, views: Tensor, ids: Tensor) -> SceneBatch:
        """Join rendered views and id maps with patches, labels and facts of a placed batch."""
        parts = (batch.identities, batch.present, batch.labels, batch.facts)
        identities, present, labels, facts = (sent(part, self.device) for part in parts)
        patches, outlines = chosen_patches(self.bank, identities, present, self.outlines)
        sizes = self._sizes[identities]
        return SceneBatch(views, patches, present, labels, facts, identities, ids, sizes, outlines)


class CudaSceneRenderer(SceneRenderer):
    """Scenes of a world drawn on the card, in batches.

    On streams of their own: a batch may be drawn while the step before it still trains, and the host waits for
    neither.
    """

    def __init__(
        self, world: World, *, canonical: int, seed: int, workers: int = 0, on_bank: OnBank | None = None
    ) -> None:
        from sightline.render.fast.cuda import CudaRenderer

        self._streams: Any = tuple(torch.cuda.Stream() for _ in range(2))  # type: ignore[no-untyped-call]
        self._card = CudaRenderer(streams=(self._streams[0].cuda_stream, self._streams[1].cuda_stream))
        self._card.know(world.solids())
        with torch.cuda.stream(self._streams[0]):
            bank = canonical_bank(world, self._card, count=canonical, seed=seed, workers=workers, on_bank=on_bank)
            super().__init__(world, bank, "cuda")
        torch.cuda.synchronize()  # from now on any stream may read them

    def draw(self, batch: PlacedBatch, views: Sequence[int]) -> SceneBatch:
        """The scenes by some of their views, each query by one of its canonical views chosen at random."""
        reader, writer = torch.cuda.current_stream(), self._streams[0]
        seen, ids = [], []
        with torch.cuda.stream(writer):
            for view in views:
                pictures = self._card.pictures(self._card.upload(batch.views[view], _on_card))
                seen.append(torch.as_tensor(pictures.image, device="cuda").clone())
                ids.append(coarse(torch.as_tensor(pictures.ids, device="cuda")))
            made = self.scenes(batch, torch.stack(seen, dim=1), torch.stack(ids, dim=1))
        reader.wait_stream(writer)
        for part in (getattr(made, field.name) for field in fields(made)):
            if part is not None:
                part.record_stream(reader)  # or its memory would be drawn into while it is read
        return made


def _on_card(array: NDArray[Any]) -> Any:
    """Copy an array to the card on torch's current stream, as numba reads it; no step that runs is waited for."""
    from numba import cuda

    if not array.size:  # torch's has no address
        return _empty(array.shape, array.dtype)
    return cuda.as_cuda_array(sent(array, torch.device("cuda")))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=8)
def _empty(shape: tuple[int, ...], kind: np.dtype[Any]) -> Any:
    """Make an empty array on the card, once: to free it would wait for all that runs."""
    from numba import cuda

    return cuda.device_array(shape, kind)


class CpuSceneRenderer(SceneRenderer):
    """Scenes drawn by the CPU's renderer, one after the other: the same pictures, much slower."""

    def __init__(
        self, stream: PlacedScenes, *, canonical: int, seed: int, device: str = "cpu", on_bank: OnBank | None = None
    ) -> None:
        self._renderer, self._stream = FastRenderer(), stream
        bank = cpu_bank(stream.world, self._renderer, count=canonical, seed=seed, on_bank=on_bank)
        super().__init__(stream.world, bank, device)

    def draw(self, batch: PlacedBatch, views: Sequence[int]) -> SceneBatch:
        """The scenes by some of their views, each query by one of its canonical views chosen at random."""
        layouts = (self._stream.layout(batch.first + i) for i in range(len(batch)))
        names = [self._stream.views[view] for view in views]
        frames = [self._renderer.frames(layout, names) for layout in layouts]
        pixels = np.stack([np.stack([_image(frame) for frame in scene]) for scene in frames])
        ids = np.stack([np.stack([frame.ids for frame in scene]) for scene in frames])
        return self.scenes(
            batch, torch.from_numpy(pixels).to(self.device), coarse(torch.from_numpy(ids).to(self.device))
        )


def sent(array: NDArray[Any], device: torch.device) -> Tensor:
    """Copy numbers to a device; from pinned memory, so that a card's steps before need not be waited for."""
    rows = torch.from_numpy(array)
    return rows.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else rows.to(device)


def coarse(ids: Tensor) -> Tensor:
    """Every second pixel of id maps (…, H, W), as uint8."""
    return ids[..., COARSE // 2 :: COARSE, COARSE // 2 :: COARSE].to(torch.uint8)


def chosen_patches(
    bank: Tensor, identities: Tensor, present: Tensor, outlines: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """One of its canonical views at random for each query, (B, N, 32, 32, 3), and its outline (B, N, 32, 32).

    Both are black where there is no object.
    """
    number = torch.randint(bank.shape[1], identities.shape, device=bank.device)
    patches = bank[identities, number] * present[..., None, None, None]
    return patches, None if outlines is None else outlines[identities, number] * present[..., None, None]


class CanonicalBank(NamedTuple):
    """Canonical views of every object of a world, in the order of `identities_of`.

    Attributes:
        views: (identities, count, 32, 32, 3) uint8.
        outlines: (identities, count, 32, 32) uint8: how much of a pixel shows the object, 255 for all.
    """

    views: Tensor
    outlines: Tensor


def canonical_bank(
    world: World,
    card: CudaRenderer,
    *,
    count: int,
    seed: int,
    workers: int = 0,
    device: str = "cuda",
    on_bank: OnBank | None = None,
) -> CanonicalBank:
    """Render a bank on the card, many views at a time, while workers pack the next ones; it knows the solids."""
    stream = CanonicalStream(world, count=count, seed=seed)
    at_once, whole = stream.each * count, len(stream.identities) * count
    views = torch.empty(len(stream) * at_once, SIZE, SIZE, 3, dtype=torch.uint8, device=device)
    outlines = torch.empty(views.shape[:3], dtype=torch.uint8, device=device)
    for number, packed in enumerate(items(stream, 0, len(stream), workers)):
        pictures = card.pictures(card.upload(packed, _on_card))
        rows = slice(number * at_once, (number + 1) * at_once)
        views[rows] = small_views(torch.as_tensor(pictures.image, device=device))
        outlines[rows] = small_outlines(torch.as_tensor(pictures.ids, device=device))
        if on_bank is not None:
            on_bank(min(rows.stop, whole), whole)
    return _banked(views[:whole], outlines[:whole], count)


def cpu_bank(
    world: World, renderer: FastRenderer, *, count: int, seed: int, on_bank: OnBank | None = None
) -> CanonicalBank:
    """Render a bank on the CPU, one view after the other."""
    identities = identities_of(world)
    layouts = (one for each in identities for one in canonical_layouts(each, world, count=count, seed=seed))
    small = []
    for layout in layouts:
        frame = renderer.frame(layout, layout.shots[0])
        small.append((small_views(_tensor(_image(frame))), small_outlines(_tensor(frame.ids))))
        if on_bank is not None:
            on_bank(len(small), len(identities) * count)
    views, outlines = (torch.cat(part) for part in zip(*small, strict=True))
    return _banked(views, outlines, count)


def small_views(images: Tensor) -> Tensor:
    """Pictures (B, H, W, 3) of canonical layouts at the size of a patch: `render.canonical.shrunk`, of many."""
    radiances, tones = (torch.from_numpy(table).to(images.device) for table in (RADIANCES, TONES))
    steps = _mean(radiances[images.int()]).float() * PER_RADIANCE
    return tones[steps.int().clamp(max=len(TONES) - 1)]


def small_outlines(ids: Tensor) -> Tensor:
    """Id maps (B, H, W) at the size of a patch: how much of each pixel is object, 255 for all."""
    return (255.0 * _mean((ids > 0).double())).round().to(torch.uint8)


def _mean(fine: Tensor) -> Tensor:
    """(B, H, W, …) averaged down to (B, 32, 32, …).

    Added up one by one, as numpy does it: in dark pictures many means lie halfway between two bytes.
    """
    across, down = fine.shape[2] // SIZE, fine.shape[1] // SIZE
    whole = torch.zeros_like(fine[:, ::down, ::across])
    for y, x in product(range(down), range(across)):
        whole += fine[:, y::down, x::across]
    return whole / (down * across)


def _banked(views: Tensor, outlines: Tensor, count: int) -> CanonicalBank:
    return CanonicalBank(views.view(-1, count, *views.shape[1:]), outlines.view(-1, count, *outlines.shape[1:]))


def _tensor(one: NDArray[Any]) -> Tensor:
    """A batch of one."""
    return torch.from_numpy(one)[None]


def _image(frame: Frame) -> NDArray[np.uint8]:
    assert frame.image is not None
    return frame.image
