"""Scenes of worlds with the relations of their objects, drawn once and kept, for networks that look.

What a dataset of the same worlds, seed and pairs would tell (`sightline generate W --pairs`) is worked out without
one: scenes 2k and 2k + 1 are related across, truth is read off the frames, and a card draws the pictures where
there is one. Drawing that was cut short goes on where batches are kept in a folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ConfigError
from sightline.files import atomic_write
from sightline.models.relations.seen import squared_all
from sightline.render.fast import FastRenderer
from sightline.render.fast.pack import Packed, Pool, packed
from sightline.render.fast.settings import Settings
from sightline.render.frames import Frame
from sightline.render.truth import across_relations, tight_box, view_relations
from sightline.scenes.labels import NO_MAJORITY, words
from sightline.scenes.types import Relation, View
from sightline.training.batches import made_ahead, shuffled
from sightline.training.relations.examples import PairExamples
from sightline.training.relations.seen import KeptPictures, as_bytes
from sightline.training.viewpoint.views import ViewBatch
from sightline.worlds import World, arrange, solid
from sightline.worlds.layout import Layout
from sightline.worlds.looks import category_of
from sightline.worlds.shapes import split_name

if TYPE_CHECKING:
    from sightline.models.relations.objects import ObjectCues

VIEW: Final = "original"
_TRUTH: Final = ("categories", "scene", "boxes", "pixels", "pairs")
_CODES: Final = {
    aspect: {word: code for code, word in enumerate(words(aspect))} for aspect in ("depth", "occlusion")
}


@dataclass(frozen=True)
class RelatedBatch:
    """Placed scenes with all that is true of their pairs.

    Attributes:
        view: Their views, packed for a card; None where the CPU drew:
        pictures: (B, H, W, 3) uint8.
        categories: (m,) class of every object of which something is seen.
        scene: (m,) which of the scenes it stands in.
        boxes: (m, 4) of what is seen, fractions of the picture; pixels: (m,) how many are seen.
        pairs: (n, 4) int64: first object, second object, code of depth, code of occlusion, −1 for not asked.
    """

    view: Packed | None
    pictures: NDArray[np.uint8] | None
    categories: tuple[str, ...]
    scene: NDArray[np.int64]
    boxes: NDArray[np.float32]
    pixels: NDArray[np.int64]
    pairs: NDArray[np.int64]


@dataclass(eq=False)
class RelatedStream:
    """Scenes of a world, placed and related batch by batch; a batch is made alone, by any process.

    Attributes:
        world: The world; its view `VIEW` is looked at.
        seed: Of the scenes.
        size: Scenes of a batch, an even number.
        card: Whether a card draws; if not, this process does.
    """

    world: World
    seed: int
    size: int
    card: bool

    def __post_init__(self) -> None:
        if self.size % 2:
            raise ConfigError(f"scenes are related two by two: a batch has an even number of them, not {self.size}")

    @cached_property
    def pool(self) -> Pool:
        """The world's solids, in one order for all processes."""
        pool = Pool(solid)
        pool.know(self.world.solids())
        return pool

    @cached_property
    def renderer(self) -> FastRenderer:
        """What tells who is seen, and draws where no card does."""
        return FastRenderer()

    def __getstate__(self) -> dict[str, Any]:
        own = ("pool", "renderer")  # a worker makes its own
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __getitem__(self, number: int) -> RelatedBatch:
        layouts = [arrange(self.world, self.seed, number * self.size + i) for i in range(self.size)]
        shots = [next(shot for shot in layout.shots if shot.name == VIEW) for layout in layouts]
        if any(shot.sensor is not None for shot in shots):
            raise ConfigError(
                f"{self.world.name} has a camera with a sensor of its own: generate a dataset instead"
            )
        draw = self.renderer.frame
        frames = [draw(a, shot, shade=not self.card) for a, shot in zip(layouts, shots, strict=True)]
        focals = [shot.camera.k[0] / shot.size[0] for shot in shots]
        truth = related(layouts, frames, focals, self.world.depth_tolerance)
        if self.card:
            [view] = packed(self.pool, layouts, [VIEW], Settings().map_half)
            return RelatedBatch(view, None, *truth)
        return RelatedBatch(None, np.stack([f.image for f in frames if f.image is not None]), *truth)


def related(
    layouts: Sequence[Layout], frames: Sequence[Frame], focals: Sequence[float], tolerance: float
) -> tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Objects and pairs of scenes, in the order of the last fields of `RelatedBatch`."""
    categories: list[str] = []
    scene, boxes, pixels, pairs = [], list[tuple[float, ...]](), [], list[tuple[int, int, int, int]]()
    rows: list[dict[str, int]] = []
    for number, (layout, frame) in enumerate(zip(layouts, frames, strict=True)):
        height, width = frame.ids.shape
        rows.append({})
        for i, placed in enumerate(layout.objects):
            shown = frame.ids == i + 1
            box = tight_box(shown)
            if box is None:
                continue
            rows[-1][str(i)] = len(categories)
            categories.append(category_of(split_name(placed.shape)[0]))
            scene.append(number)
            pixels.append(int(shown.sum()))
            boxes.append((box[0] / width, box[1] / height, box[2] / width, box[3] / height))
        names = [str(i) for i in range(len(layout.objects))]
        pairs += _coded(view_relations(frame, names, tolerance=tolerance), rows[-1], rows[-1])
        if number % 2:
            before, focal = frames[number - 1], focals[number - 1]
            relations = across_relations(frame, focals[number], names, before, focal, str(number - 1))
            pairs += _coded(relations, rows[-1], rows[-2])
    return (
        tuple(categories),
        np.array(scene, np.int64),
        np.array(boxes, np.float32).reshape(-1, 4),
        np.array(pixels, np.int64),
        np.array(pairs, np.int64).reshape(-1, 4),
    )


def _coded(
    relations: Sequence[Relation], first: Mapping[str, int], second: Mapping[str, int]
) -> list[tuple[int, int, int, int]]:
    """Pairs of objects that are seen, with the codes of what is said of them."""
    coded: dict[tuple[int, int], dict[str, int]] = {}
    for relation in relations:
        a, b = first.get(relation.subject), second.get(relation.object)
        if a is not None and b is not None:
            coded.setdefault((a, b), {})[relation.aspect] = _CODES[relation.aspect][relation.predicate or ""]
    return [
        (a, b, codes.get("depth", NO_MAJORITY), codes.get("occlusion", NO_MAJORITY))
        for (a, b), codes in coded.items()
    ]


_streams: dict[str, RelatedStream] = {}


def related_batch(request: tuple[RelatedStream, int]) -> RelatedBatch:
    """Place and relate batch `number` of a stream: what a worker process is asked for."""
    stream, number = request
    key = repr((stream.world.name, stream.seed, stream.size, stream.card))
    return _streams.setdefault(key, stream)[number]  # its pool and renderer are made once


@dataclass(frozen=True)
class RelatedScenes:
    """Pictures with related objects, ready to be learned from.

    Attributes:
        pictures: The pictures.
        examples: All pairs, within and across.
        picture: (m,) the picture of each object.
        pixels: (m,) how many pixels show it.
        facts: Where they come from, JSON values.
    """

    pictures: KeptPictures
    examples: PairExamples
    picture: NDArray[np.int64]
    pixels: NDArray[np.int64]
    facts: Mapping[str, Any]

    def of(self, study: str) -> PairExamples:
        """The pairs ``within`` an image or ``across`` two, or ``joint``: all."""
        across = self.examples.across
        rows = {"within": ~across, "across": across, "joint": np.ones_like(across)}[study]
        per_pair = ("first", "second", "across", "depth", "occlusion", "depth_label", "occlusion_label")
        return replace(self.examples, **{name: getattr(self.examples, name)[rows] for name in per_pair})

    def save(self, folder: Path) -> None:
        """Write everything; pictures lie apart, as an array that is read at once."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "pictures.npy", self.pictures.pictures.cpu().numpy())
        arrays = {f.name: getattr(self.examples, f.name) for f in fields(self.examples) if f.name != "classes"}
        arrays |= {"picture": self.picture, "pixels": self.pixels, "shares": self.pictures.shares.cpu().numpy()}
        np.savez(folder / "pairs.npz", **arrays)
        about = {"classes": self.examples.classes, "facts": dict(self.facts)}
        (folder / "facts.json").write_text(json.dumps(about))

    @classmethod
    def load(cls, folder: Path, device: str = "cpu") -> RelatedScenes:
        """Read what was written; the pictures come to the device, or stay on disk until they are looked at."""
        about = json.loads((folder / "facts.json").read_text())
        with np.load(folder / "pairs.npz") as file:
            arrays = dict(file)
        picture, pixels, shares = (arrays.pop(name) for name in ("picture", "pixels", "shares"))
        squares = torch.from_numpy(np.load(folder / "pictures.npy", mmap_mode="c")).to(device)
        pictures = KeptPictures(squares, torch.from_numpy(shares).to(device))
        return cls(pictures, PairExamples(tuple(about["classes"]), **arrays), picture, pixels, about["facts"])


def drawn_scenes(
    worlds: Sequence[World],
    scenes: int,
    *,
    seed: int,
    side: int,
    batch: int = 64,
    workers: int = 0,
    cuda: bool = False,
    cues: ObjectCues | None = None,
    threads: int = 8,
    keep: Path | None = None,
    on_drawn: Callable[[int, int], None] | None = None,
) -> RelatedScenes:
    """Draw scenes of worlds and say which of their objects is closer, and which hides which.

    Args:
        worlds: The worlds.
        scenes: Of each world; made up to whole batches.
        seed: Of the scenes.
        side: Side of the squares that pictures are kept at, pixels.
        batch: Scenes drawn at once.
        workers: Processes that place and relate.
        cuda: Draw on the card.
        cues: What makes further numbers of objects, from the pictures as they are drawn.
        threads: That ask it at once.
        keep: Folder of the batches that are drawn, for another call with the same arguments to go on with.
        on_drawn: Called with (scenes drawn, scenes in all).
    """
    size = min(batch, scenes + scenes % 2)
    each = -(-scenes // size)
    parts: list[_DrawnBatch] = []
    for world in worlds:
        draw = _card(world) if cuda else _as_drawn
        name = f"{world.name.replace('/', '-')}-{seed}-{side}-{size}"
        files = [keep / f"{name}-{n}.npz" if keep else None for n in range(each)]
        missing = [n for n, file in enumerate(files) if file is None or not file.exists()]
        requests = ((RelatedStream(world, seed, size, cuda), n) for n in missing)
        batches = made_ahead(related_batch, requests, workers, preload=__name__)
        for n, file in enumerate(files):
            if n not in missing and file is not None:
                parts.append(_DrawnBatch.load(file))
            else:
                placed = next(batches)
                whole = draw(placed)
                small, share = squared_all(whole.permute(0, 3, 1, 2).float() / 255.0, side)
                numbers = _numbers(whole, placed, cues, threads)
                parts.append(_DrawnBatch(as_bytes(small), share.expand(size, 2), placed, numbers))
                if file is not None:
                    parts[-1].save(file)
            if on_drawn is not None:
                on_drawn(len(parts) * size, len(worlds) * each * size)
    device = "cuda" if cuda else "cpu"
    pictures = KeptPictures(
        torch.cat([part.pictures.to(device) for part in parts]),
        torch.cat([part.shares.to(device) for part in parts]),
    )
    placed_batches = [part.placed for part in parts]
    objects = np.cumsum([0, *(len(one.scene) for one in placed_batches)])
    picture = np.concatenate([one.scene + i * size for i, one in enumerate(placed_batches)])
    examples = _examples(placed_batches, objects, picture, np.concatenate([part.numbers for part in parts]))
    counts = {world.name: each * size for world in worlds}
    facts = {"worlds": counts, "seed": seed, "side": side, "drawn_on": device}
    return RelatedScenes(pictures, examples, picture, np.concatenate([one.pixels for one in placed_batches]), facts)


class _DrawnBatch(NamedTuple):
    pictures: Tensor
    shares: Tensor
    placed: RelatedBatch
    numbers: NDArray[np.float32]

    def save(self, file: Path) -> None:
        """Write the batch whole or not at all."""
        placed = {name: getattr(self.placed, name) for name in _TRUTH}
        file.parent.mkdir(parents=True, exist_ok=True)
        pictures, shares = self.pictures.cpu().numpy(), self.shares.cpu().numpy()
        buffer = BytesIO()
        np.savez(buffer, pictures=pictures, shares=shares, numbers=self.numbers, **placed)
        atomic_write(file, buffer.getvalue(), sync=False)

    @classmethod
    def load(cls, file: Path) -> _DrawnBatch:
        """Read a batch that was written."""
        with np.load(file) as arrays:
            pictures, shares = (torch.from_numpy(arrays[name]) for name in ("pictures", "shares"))
            categories, *truth = (arrays[name] for name in _TRUTH)
            placed = RelatedBatch(None, None, tuple(categories.tolist()), *truth)
            return cls(pictures, shares, placed, arrays["numbers"])


def _as_drawn(placed: RelatedBatch) -> Tensor:
    assert placed.pictures is not None
    return torch.from_numpy(placed.pictures)


def _card(world: World) -> Callable[[RelatedBatch], Tensor]:
    """What draws scenes of a world on the card."""
    from sightline.render.fast.cuda import CudaRenderer

    card = CudaRenderer()
    card.know(world.solids())

    def draw(placed: RelatedBatch) -> Tensor:
        assert placed.view is not None
        return torch.as_tensor(card.pictures(card.upload(placed.view)).image, device="cuda").clone()

    return draw


def _numbers(pictures: Tensor, placed: RelatedBatch, cues: ObjectCues | None, threads: int) -> NDArray[np.float32]:
    """(m, F) further numbers of the objects of a batch."""
    if cues is None:
        return np.zeros((len(placed.scene), 0), np.float32)
    images = pictures.cpu().numpy()

    def numbers_of(scene: int) -> NDArray[np.float32]:
        view = View(str(scene), load_image=lambda: images[scene])
        return cues.numbers(view, placed.boxes[placed.scene == scene].astype(np.float64))

    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(numbers_of, range(len(images)))))  # objects are ordered by scene


def _examples(
    placed: Sequence[RelatedBatch],
    objects: NDArray[np.int64],
    picture: NDArray[np.int64],
    numbers: NDArray[np.float32],
) -> PairExamples:
    classes = tuple(sorted({name for one in placed for name in one.categories}))
    place = {name: i + 1 for i, name in enumerate(classes)}
    ends = [one.pairs[:, :2] + start for one, start in zip(placed, objects, strict=False)]
    first, second = np.concatenate(ends).T
    depth, occlusion = np.concatenate([one.pairs[:, 2:] for one in placed]).T
    codes = np.arange(4)
    return PairExamples(
        classes,
        np.concatenate([one.boxes for one in placed]),
        np.array([place[name] for one in placed for name in one.categories], np.int64),
        numbers,
        first,
        second,
        picture[first] != picture[second],
        (depth[:, None] == codes).astype(np.float32),
        (occlusion[:, None] == codes).astype(np.float32),
        depth,
        occlusion,
    )


class FoundViews:
    """Kept scenes as what a detector learns from: pictures with the boxes and classes of what they show.

    Args:
        scenes: The scenes.
        batch: Pictures of a batch.
        seed: Of the orders.
    """

    def __init__(self, scenes: RelatedScenes, *, batch: int, seed: int) -> None:
        self._scenes, self._batch, self._seed = scenes, batch, seed
        device = scenes.pictures.pictures.device
        count = np.bincount(scenes.picture, minlength=len(scenes.pictures))
        column = np.concatenate([np.arange(n) for n in count])
        shape = (len(scenes.pictures), int(count.max()))
        boxes, classes, pixels = np.zeros((*shape, 4), np.float32), np.full(shape, -1), np.zeros(shape, np.int64)
        boxes[scenes.picture, column] = scenes.examples.boxes
        classes[scenes.picture, column] = scenes.examples.category - 1
        pixels[scenes.picture, column] = scenes.pixels
        self._truth = [torch.from_numpy(part).to(device) for part in (boxes, pixels, classes)]
        self.rows = filled_rows(scenes.pictures)

    def loader(self, start: int, stop: int) -> Iterator[NDArray[np.int64]]:
        """Numbers of the pictures of each batch."""
        for step in range(start, stop):
            yield shuffled(step, self._batch, len(self._scenes.pictures), self._seed)

    def views(self, loaded: NDArray[np.int64]) -> ViewBatch:
        """The batch; of viewpoints nothing is known."""
        squares, shares = self._scenes.pictures.pictures, self._scenes.pictures.shares
        rows = torch.from_numpy(loaded).to(squares.device)
        share = shares[rows] * torch.tensor((1.0, squares.shape[1] / self.rows), device=rows.device)
        boxes, pixels, classes = (part[rows] for part in self._truth)
        angles, symmetry = torch.zeros(*classes.shape, 3, device=rows.device), torch.zeros_like(classes)
        boxes = boxes * share.repeat(1, 2)[:, None]
        return ViewBatch(squares[rows, : self.rows], boxes, pixels, classes, angles, symmetry)

    def facts(self) -> dict[str, Any]:
        """The scenes."""
        return dict(self._scenes.facts)


def filled_rows(pictures: KeptPictures) -> int:
    """Rows of the squares, in whole multiples of 32, that wide pictures fill; all where some are high."""
    side = pictures.pictures.shape[1]
    return min(side, -(-round(float(pictures.shares[:, 1].max()) * side) // 32) * 32)
