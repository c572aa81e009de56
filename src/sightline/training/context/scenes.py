"""Scenes of worlds with every class removed in turn, drawn once and kept on the device.

All trainings of a comparison are shown the same scenes, so these are drawn before the first: the picture, and for
every class that can be removed the picture without it. On the card bodies are switched off and the view drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sightline.edits.removal import Removal
from sightline.errors import ConfigError
from sightline.models.nets.classifier import resized
from sightline.render.fast import FastRenderer
from sightline.render.fast import columns as col
from sightline.render.fast.pack import Packed, Pool, packed
from sightline.render.fast.settings import Settings
from sightline.training.batches import made_ahead
from sightline.worlds import World, arrange, solid
from sightline.worlds.layout import Layout
from sightline.worlds.looks import category_of
from sightline.worlds.shapes import split_name

VIEW: Final = "original"
IGNORED: Final = 255
"""Label of a pixel that counts for nothing."""
OTHER: Final = "other"
"""Class of every pixel that shows none of the classes asked for."""

Painter = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Fills: (pictures (E, H, W, 3) uint8, holes (E, H, W) bool, the scenes drawn without) → pictures."""


@dataclass(frozen=True)
class EditedScenes:
    """Pictures, their classes, and the same pictures with one class removed, all on one device.

    Attributes:
        classes: C names; things first, then what the ground, walls and sky show.
        things: How many of them are things.
        images: (n, H, W, 3) uint8.
        labels: (n, C) bool, which classes are seen.
        areas: (n, C) share of the picture.
        edits: (m, H, W, 3) uint8, ordered by scene.
        source: (m,) int64, the scene of each edit; `gone` (m,) int64, the class that was removed.
        table: (n, K) int64, the edits of each scene; −1 where it has fewer.
        maps: (n, H, W) uint8, the class of every pixel, for segmenters; else None.
        holes: (m, H, W) bool, what was removed, grown; else None.
        facts: Where they come from, JSON values.
    """

    classes: tuple[str, ...]
    things: int
    images: Tensor
    labels: Tensor
    areas: Tensor
    edits: Tensor
    source: Tensor
    gone: Tensor
    table: Tensor
    maps: Tensor | None
    holes: Tensor | None
    facts: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.images)

    def kinds(self) -> NDArray[np.int64]:
        """(n,) how many classes of things each scene shows."""
        shown: NDArray[np.int64] = self.labels[:, : self.things].sum(dim=1).cpu().numpy()
        return shown


@dataclass(frozen=True)
class LayoutBatch:
    """Placed scenes of one world.

    Attributes:
        layouts: The scenes.
        view: Their views, packed for the card; None where the CPU draws.
        kinds: (B, N) int64, the class of each object; −1 where there is none.
    """

    layouts: tuple[Layout, ...]
    view: Packed | None
    kinds: NDArray[np.int64]


@dataclass(eq=False)
class LayoutStream:
    """Scenes of a world, placed batch by batch.

    Attributes:
        world: The world.
        classes: Names of the things it may hold.
        seed: Of the scenes.
        size: Scenes of a batch.
        pack: Pack views for the card.
    """

    world: World
    classes: tuple[str, ...]
    seed: int
    size: int
    pack: bool

    @cached_property
    def pool(self) -> Pool:
        """The world's solids, in one order for all processes."""
        made = Pool(solid)
        made.know(self.world.solids())
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "pool"}  # a worker makes its own

    def __getitem__(self, number: int) -> LayoutBatch:
        layouts = tuple(arrange(self.world, self.seed, number * self.size + i) for i in range(self.size))
        most = max(1, *(len(layout.objects) for layout in layouts))
        kinds = np.full((self.size, most), -1, np.int64)
        for row, layout in zip(kinds, layouts, strict=True):
            row[: len(layout.objects)] = [self.classes.index(thing_class(o.shape)) for o in layout.objects]
        view = packed(self.pool, layouts, [VIEW], Settings().map_half)[0] if self.pack else None
        return LayoutBatch(layouts, view, kinds)


_streams: dict[str, LayoutStream] = {}


def placed_batch(request: tuple[LayoutStream, int]) -> LayoutBatch:
    """Place batch `number` of a stream: what a worker process is asked for."""
    stream, number = request
    key = repr((stream.world.name, stream.seed, stream.size, stream.pack))
    return _streams.setdefault(key, stream)[number]  # its pool is made once


class ViewRenderer(Protocol):
    """Draws placed scenes, whole or with some bodies switched off."""

    def draw(self, batch: LayoutBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Pictures (B, H, W, 3) uint8, ids (B, H, W) int64 and stuff (B, H, W) int64."""

    def without(self, batch: LayoutBatch, scenes: NDArray[np.int64], gone: NDArray[np.int64]) -> Tensor:
        """Pictures (E, H, W, 3) uint8 of scenes of the batch, each without the things of one class."""


class CudaViewRenderer:
    """Draws on the card; edits in batches of the same size, since every size takes room of its own.

    Args:
        worlds: Whose scenes.
        device: Where torch finds the card's pictures.
    """

    def __init__(self, worlds: Sequence[World], device: str = "cuda") -> None:
        from sightline.render.fast.cuda import CudaRenderer

        self._device, self._cards = device, {}
        for world in worlds:  # rows mean something to the pool that made them alone
            self._cards[world.solids()] = CudaRenderer()
            self._cards[world.solids()].know(world.solids())

    def draw(self, batch: LayoutBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Pictures, ids and stuff."""
        assert batch.view is not None
        card = self._cards[batch.view.shapes]
        pictures = card.pictures(card.upload(batch.view))
        image, ids, stuff = (torch.as_tensor(part, device=self._device) for part in pictures[:2] + pictures[4:])
        return image.clone(), ids.long(), stuff.long()

    def without(self, batch: LayoutBatch, scenes: NDArray[np.int64], gone: NDArray[np.int64]) -> Tensor:
        """Bodies of the class have the column PRESENT 0."""
        assert batch.view is not None
        card, size = self._cards[batch.view.shapes], len(batch.layouts)
        made = []
        for start in range(0, len(scenes), size):
            rows = np.resize(scenes[start : start + size], size)  # filled up with the first ones
            view = batch.view._replace(
                bodies=switched_off(batch, rows, np.resize(gone[start : start + size], size)),
                env=batch.view.env[rows],
                cams=batch.view.cams[rows],
                skies=batch.view.skies[rows] if len(batch.view.skies) else batch.view.skies,
            )
            image = torch.as_tensor(card.pictures(card.upload(view)).image, device=self._device)
            made.append(image[: len(scenes) - start].clone())
        return torch.cat(made)


class CpuViewRenderer:
    """Draws on the CPU, one scene after the other; an edit costs what the things touched."""

    def __init__(self) -> None:
        self._renderer = FastRenderer()

    def draw(self, batch: LayoutBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Pictures, ids and stuff."""
        frames = [self._renderer.frames(layout, [VIEW])[0] for layout in batch.layouts]
        parts = ([frame.image for frame in frames], [frame.ids for frame in frames], [f.stuff for f in frames])
        image, ids, stuff = (torch.from_numpy(np.stack([one for one in part if one is not None])) for part in parts)
        return image, ids.long(), stuff.long()

    def without(self, batch: LayoutBatch, scenes: NDArray[np.int64], gone: NDArray[np.int64]) -> Tensor:
        """Counterfactual frames."""
        made = []
        for scene, kind in zip(scenes.tolist(), gone.tolist(), strict=True):
            layout = batch.layouts[scene]
            shot = next(shot for shot in layout.shots if shot.name == VIEW)
            frame = self._renderer.counterfactual(
                layout, shot, *np.flatnonzero(batch.kinds[scene] == kind).tolist()
            )
            assert frame.image is not None
            made.append(torch.from_numpy(frame.image))
        return torch.stack(made)


def switched_off(batch: LayoutBatch, scenes: NDArray[np.int64], gone: NDArray[np.int64]) -> NDArray[np.float32]:
    """Rows of the bodies of some scenes, those of a class not present."""
    assert batch.view is not None
    bodies = batch.view.bodies[scenes].copy()
    kinds = batch.kinds[scenes]
    off = np.zeros(bodies.shape[:2], bool)
    off[:, : kinds.shape[1]] = kinds == gone[:, None]
    bodies[off, col.PRESENT] = 0.0
    return bodies


def thing_class(shape: str) -> str:
    """The class of a solid by its name.

    >>> thing_class("mug:small"), thing_class("cad/car/sedan#3:large")
    ('mug', 'car')
    """
    return category_of(split_name(shape)[0])


def thing_classes(worlds: Sequence[World]) -> tuple[str, ...]:
    """Classes of everything that worlds may hold, sorted."""
    return tuple(sorted({thing_class(name) for world in worlds for name in world.solids()}))


def edited_scenes(
    worlds: Mapping[str, int],
    loaded: Sequence[World],
    *,
    seed: int,
    painter: Painter,
    fill: str,
    removal: Removal | None = None,
    classes: Sequence[str] = (),
    size: tuple[int, int] | None = None,
    labelled: bool = False,
    batch: int = 64,
    workers: int = 0,
    cuda: bool = False,
    on_drawn: Callable[[int, int], None] | None = None,
) -> EditedScenes:
    """Draw scenes of worlds and, for every class that can be removed, the picture without it.

    Args:
        worlds: Name of a world → how many of its scenes.
        loaded: Those worlds.
        seed: Of the scenes.
        painter: Fills what was removed; `painters` has some.
        fill: What that is called.
        removal: How masks grow, and the largest share of the picture.
        classes: Things that are told and removed, all by default; for segmenters also stuff, the rest is `OTHER`.
        size: (height, width) pictures are kept at, where not as drawn; not for segmenters.
        labelled: Keep the class of every pixel and the holes, for segmenters.
        batch: Scenes drawn at once.
        workers: Processes that place.
        cuda: Draw on the card.
        on_drawn: Called with (scenes drawn, scenes in all).

    Raises:
        ConfigError: Classes that no world has, or a size for segmenters.
    """
    if labelled and size is not None:
        raise ConfigError("pictures to segment are kept as they are drawn")
    how = removal or Removal()
    things, every = _class_lists(loaded, classes, labelled)
    renderer: ViewRenderer = CudaViewRenderer(loaded) if cuda else CpuViewRenderer()
    known = thing_classes(loaded)
    parts: list[_Drawn] = []
    done = 0
    for world, count in zip(loaded, worlds.values(), strict=True):
        stream = LayoutStream(world, known, seed, min(batch, count), cuda)
        requests = ((stream, number) for number in range(-(-count // stream.size)))
        for placed in made_ahead(placed_batch, requests, workers, preload=__name__):
            parts.append(_drawn(placed, renderer, known, things, every, how, painter, size, labelled))
            done += len(placed.layouts)
            if on_drawn is not None:
                on_drawn(done, sum(worlds.values()))
    facts = {"worlds": dict(worlds), "seed": seed, "fill": fill, "radius": how.radius, "most": how.most}
    return _joined(parts, every, len(things), facts)


@dataclass(frozen=True)
class _Drawn:
    images: Tensor
    labels: Tensor
    areas: Tensor
    edits: Tensor
    source: Tensor
    gone: Tensor
    maps: Tensor | None
    holes: Tensor | None


def _class_lists(
    loaded: Sequence[World], classes: Sequence[str], labelled: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Things that are told, and all classes: things first, then stuff, then what is neither."""
    known = thing_classes(loaded)
    stuff = tuple(dict.fromkeys(name for world in loaded for name in arrange(world, 0, 0).surroundings.classes))
    odd = [name for name in classes if name not in known + (stuff if labelled else ())]
    if odd:
        raise ConfigError(f"no such class in these worlds: {odd[0]}; there are {', '.join(known + stuff)}")
    things = tuple(name for name in known if not classes or name in classes)
    if not labelled:
        return things, things
    grounds = tuple(name for name in stuff if not classes or name in classes)
    return things, things + grounds + ((OTHER,) if classes else ())


def _drawn(
    placed: LayoutBatch,
    renderer: ViewRenderer,
    known: tuple[str, ...],
    things: tuple[str, ...],
    every: tuple[str, ...],
    how: Removal,
    painter: Painter,
    size: tuple[int, int] | None,
    labelled: bool,
) -> _Drawn:
    images, ids, stuff = renderer.draw(placed)
    device, place = images.device, {name: i for i, name in enumerate(every)}
    other = place.get(OTHER, IGNORED)
    named = np.array([place.get(name, other) for name in known] + [other], np.int64)  # −1 is the last
    kinds = torch.from_numpy(named[placed.kinds]).to(device)
    grounds = [place.get(name, other) for name in placed.layouts[0].surroundings.classes]
    on_ground = torch.tensor([other, *grounds], device=device)[stuff]
    batch = torch.arange(len(ids), device=device)[:, None, None]
    maps = torch.where(ids > 0, kinds[batch, (ids - 1).clamp(min=0)], on_ground)
    counts = torch.zeros(len(ids), IGNORED + 1, device=device)
    counts.scatter_add_(1, maps.flatten(1), torch.ones_like(maps.flatten(1), dtype=torch.float32))
    areas = counts[:, : len(every)] / maps[0].numel()
    removable = (areas[:, : len(things)] > 0) & (areas[:, : len(things)] <= how.most)
    source, gone = removable.nonzero(as_tuple=True)
    holes = grown(maps[source] == gone[:, None, None], how.radius)
    whole = ~holes.flatten(1).all(dim=1)
    source, gone, holes = source[whole], gone[whole], holes[whole]
    numbers = torch.tensor([known.index(name) for name in things], device=device)
    if len(source):
        bare = renderer.without(placed, source.cpu().numpy(), numbers[gone].cpu().numpy()).to(device)
        edits = painter(images[source], holes, bare)
    else:
        edits = images[:0]
    if size is not None:
        images, edits = resized(images, size), resized(edits, size) if len(edits) else images[:0]
    kept = (maps.to(torch.uint8), holes) if labelled else (None, None)
    return _Drawn(images, areas > 0, areas, edits, source, gone, *kept)


def grown(masks: Tensor, radius: int) -> Tensor:
    """Masks (E, H, W) bool grown by a square of 2·radius + 1 pixels a side."""
    if not len(masks) or not radius:
        return masks
    wide = functional.max_pool2d(masks[:, None].float(), 2 * radius + 1, stride=1, padding=radius)
    return wide[:, 0] > 0


def _joined(
    parts: Sequence[_Drawn], classes: tuple[str, ...], things: int, facts: Mapping[str, Any]
) -> EditedScenes:
    starts = np.cumsum([0, *(len(part.images) for part in parts)])
    source = torch.cat([part.source + int(start) for part, start in zip(parts, starts, strict=False)])

    def whole(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else torch.cat(values)

    names = ("images", "labels", "areas", "edits", "gone", "maps", "holes")
    table = edit_table(source, int(starts[-1]))
    joined = {name: whole(name) for name in names}
    return EditedScenes(classes=classes, things=things, source=source, table=table, facts=facts, **joined)


def edit_table(source: Tensor, scenes: int) -> Tensor:
    """(n, K) numbers of the edits of each scene, −1 after the last; `source` rises.

    >>> edit_table(torch.tensor([0, 0, 2]), 3).tolist()
    [[0, 1], [-1, -1], [2, -1]]
    """
    counts = torch.bincount(source, minlength=scenes)
    first = counts.cumsum(0) - counts
    most = max(1, int(counts.max())) if scenes else 1
    steps = torch.arange(most, device=source.device)[None]
    return torch.where(steps < counts[:, None], first[:, None] + steps, -1)


def batches_of(scenes: EditedScenes, size: int) -> Iterator[tuple[slice, slice]]:
    """Slices of pictures and of edits, so many at once, for asking a network about all of them."""
    for start in range(0, max(len(scenes), len(scenes.edits)), size):
        yield slice(start, min(start + size, len(scenes))), slice(start, min(start + size, len(scenes.edits)))
