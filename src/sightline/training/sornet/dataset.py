"""Scenes of a stored dataset as a source: all but the pictures as arrays, those decoded by worker processes.

Everything that could go wrong with the dataset but a damaged picture is found before training begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ConfigError, DataError
from sightline.exams.predicates.items import ASPECTS, FEWEST, Facts, facts_of
from sightline.generation import canonical_of
from sightline.scenes import Camera, Object
from sightline.scenes.labels import PREDICATES
from sightline.store import Blobs, Dataset, Tables
from sightline.store.encodings import Kind
from sightline.training.batches import made_ahead, shuffled
from sightline.training.sornet.layouts import FACTS, LENGTHS, measures
from sightline.training.sornet.pictures import SceneBatch, chosen_patches, coarse
from sightline.worlds.arrangement import directions

ORIGINAL: Final = "original"
"""The view whose camera says what is left and behind."""

_CONTAINS, _SUPPORTS = PREDICATES.index("contains"), PREDICATES.index("supports")


References = tuple[tuple[str, ...], ...]


class StoredSource:
    """Scenes of a dataset, epoch after epoch in an order of its own.

    Args:
        data: The dataset.
        views: Views to show, the original camera's first.
        batch: Scenes of a batch.
        seed: Of the orders.
        split: Only scenes of this split.
        most_objects: A scene with more is an error.
        workers: Processes that decode; 0 decodes in this one.
        device: Where scenes go.
    """

    def __init__(
        self,
        data: Dataset,
        views: Sequence[str],
        *,
        batch: int,
        seed: int,
        split: str | None = None,
        most_objects: int = 16,
        workers: int = 0,
        device: str = "cpu",
    ) -> None:
        self.stored = stored_scenes(data, views, split=split, most_objects=most_objects)
        self.batch, self.seed, self.workers, self.device = batch, seed, workers, torch.device(device)
        self.bank = torch.from_numpy(self.stored.bank).to(self.device)
        self.image, self.most = self.stored.image, int(self.stored.present.shape[1])  # room as in the fullest scene
        self.outlines: Tensor | None = None  # stored canonical views come without
        self._facts: dict[str, Any] = {
            "data": data.path.name,
            "fingerprint": data.fingerprint,
            "split": split,
            "scenes": len(self.stored),
            "left_out": self.stored.left_out,
            "seed": seed,
        }

    def part(self, rows: range) -> StoredSource:
        """The same over some of its scenes, by their numbers in stored order."""
        made = copy(self)
        made.stored = self.stored.part(rows)
        made._facts = {**self._facts, "scenes": len(rows), "part": [rows.start, rows.stop]}
        return made

    def loader(self, start: int, stop: int) -> Iterator[_DecodedBatch]:
        """Decoded batches, made ahead by the workers."""
        requests = (self._request(number) for number in range(start, stop))
        for loaded in made_ahead(_decoded, requests, self.workers):
            if isinstance(loaded, DataError):
                raise loaded
            yield loaded

    def _request(self, number: int) -> _PictureRequest:
        stored = self.stored
        rows = shuffled(number, self.batch, len(stored), self.seed)
        maps = None if stored.maps is None else tuple(stored.maps[i] for i in rows)
        return _PictureRequest(stored.blobs, rows, tuple(stored.pictures[i] for i in rows), maps, stored.image)

    def scenes(self, loaded: _DecodedBatch, views: Sequence[int]) -> SceneBatch:
        """The batch on the device, each query by one of its canonical views chosen at random."""
        stored, rows = self.stored, loaded.rows

        def sent(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(array).to(self.device, non_blocking=True)

        identities, present = sent(stored.identities[rows]), sent(stored.present[rows])
        bits = np.unpackbits(stored.labels[rows][..., None], axis=-1, bitorder="little")
        return SceneBatch(
            sent(loaded.views[:, list(views)]),
            chosen_patches(self.bank, identities, present)[0],
            present,
            sent(bits.astype(bool)),
            None if stored.facts is None else sent(stored.facts[rows]),
            identities,
            None if loaded.ids is None else sent(loaded.ids[:, list(views)]),
        )

    def facts(self) -> dict[str, Any]:
        """The dataset, its split and how many scenes."""
        return dict(self._facts)


@dataclass(frozen=True, slots=True)
class _DecodedBatch:
    rows: NDArray[np.int64]
    views: NDArray[np.uint8]
    ids: NDArray[np.uint8] | None


@dataclass(frozen=True, slots=True)
class _PictureRequest:
    """One batch to decode; what goes to a worker process."""

    blobs: Blobs
    rows: NDArray[np.int64]
    pictures: References
    maps: References | None
    image: tuple[int, int]


def _decoded(request: _PictureRequest) -> _DecodedBatch | DataError:
    """Decode a batch; a DataError as a value, for one that is raised does not come back whole from a worker."""
    try:
        views = _stacked(request, "image", request.pictures)
        if request.maps is None:
            return _DecodedBatch(request.rows, views, None)
        maps = coarse(torch.from_numpy(_stacked(request, "ids", request.maps))).numpy()
        return _DecodedBatch(request.rows, views, maps)
    except DataError as error:
        return error


def _stacked(request: _PictureRequest, kind: Kind, references: References) -> NDArray[Any]:
    """(B, V, H, W, …) pixels of so many references."""
    return np.stack([np.stack([_pixels(request, kind, ref) for ref in refs]) for refs in references])


def _pixels(request: _PictureRequest, kind: Kind, ref: str) -> NDArray[Any]:
    loader = request.blobs.loader(kind, ref)
    assert loader is not None
    pixels = loader()
    if pixels.shape[1::-1] != request.image:
        sizes = ["×".join(map(str, size)) for size in (request.image, pixels.shape[1::-1])]
        file = request.blobs.locate(ref)
        raise DataError("picture of another size", file=file, expected=sizes[0], found=sizes[1])
    return pixels


@dataclass(frozen=True)
class StoredScenes:
    """S scenes of a dataset, with room for N objects each.

    Attributes:
        blobs: Where the pictures are.
        pictures: S × views references.
        maps: The same of their id maps; None where one is missing.
        image: (width, height) of every picture, pixels.
        identities: (S, N) int64 into the bank; 0 where there is no object.
        present: (S, N) bool.
        labels: (S, N, N) uint8, bit p set where predicate p holds of [subject, object].
        facts: (S, N, 13) float32, see `layouts.FACTS`; None where the dataset does not tell all of them.
        bank: (identities, canonical views, 32, 32, 3) uint8.
        left_out: Scenes without a pair of objects.
    """

    blobs: Blobs
    pictures: References
    maps: References | None
    image: tuple[int, int]
    identities: NDArray[np.int64]
    present: NDArray[np.bool_]
    labels: NDArray[np.uint8]
    facts: NDArray[np.float32] | None
    bank: NDArray[np.uint8]
    left_out: int

    def __len__(self) -> int:
        return len(self.pictures)

    def part(self, rows: range) -> StoredScenes:
        """Some of the scenes."""
        each = ("pictures", "maps", "identities", "present", "labels", "facts")
        known = {name: value for name in each if (value := getattr(self, name)) is not None}
        return replace(self, **{name: value[rows.start : rows.stop] for name, value in known.items()})


def stored_scenes(
    data: Dataset, views: Sequence[str], *, split: str | None = None, most_objects: int = 16
) -> StoredScenes:
    """Read the scenes of a dataset that have a pair of objects.

    Raises:
        ConfigError: No such split or view.
        DataError: No scene, no predicates, views of several sizes, a view, a picture or its file missing, more
            objects than `most_objects`, or no canonical views of an object.
    """
    tables = _tables(data, split)
    scenes = [facts for facts in facts_of(tables, data) if len(facts.objects) >= FEWEST]
    if not scenes:
        raise DataError("no scene with two objects to learn from", file=data.path)
    most = max(scenes, key=lambda facts: len(facts.objects))
    if len(most.objects) > most_objects:
        raise DataError(
            "more objects than the network takes",
            file=data.path,
            row=most.scene_id,
            expected=f"at most {most_objects}",
            found=len(most.objects),
        )
    ids = [facts.scene_id for facts in scenes]
    pictures, maps, image = _pictures(tables.views.filter(pl.col("scene_id").is_in(ids)), ids, views, data)
    _check_files(data.blobs, ids, pictures, "image")
    if maps is not None:
        _check_files(data.blobs, ids, maps, "ids")
    objects = tables.objects.filter(pl.col("scene_id").is_in(ids))
    numbers, bank = _identities(objects, data)
    n = np.array([len(facts.objects) for facts in scenes])
    present = np.arange(n.max()) < n[:, None]
    identities = np.zeros(present.shape, np.int64)
    identities[present] = numbers
    labels, facts = _labels(scenes, present), _known_facts(scenes, objects, tables, data)
    left_out = tables.views["scene_id"].n_unique() - len(scenes)
    return StoredScenes(data.blobs, pictures, maps, image, identities, present, labels, facts, bank, left_out)


def _tables(data: Dataset, split: str | None) -> Tables:
    """What is needed of the scenes: no sightings, no relations but the predicates."""
    if split and split not in data.splits:
        raise ConfigError(f"{data.path} has no split {split!r}: it has {', '.join(data.splits) or 'none'}")
    views = data.scan("views").filter(pl.lit(True) if not split else pl.col("split") == split).collect()
    within = pl.col("scene_id").is_in(views["scene_id"].unique().to_list())
    objects = data.scan("objects").filter(within).collect()
    relations = data.scan("relations").filter(within, pl.col("aspect").is_in(ASPECTS)).collect()
    return Tables.build(views=views, objects=objects, relations=relations)


def _pictures(
    table: pl.DataFrame, ids: Sequence[str], views: Sequence[str], data: Dataset
) -> tuple[References, References | None, tuple[int, int]]:
    """References of the views of every scene and of their id maps, and their one size."""
    known = table["view_id"].unique(maintain_order=True).to_list()
    for view in views:
        if view not in known:
            raise ConfigError(f"{data.path} has no view {view!r}; it has {', '.join(known)}")
    shown = table.filter(pl.col("view_id").is_in(list(views)))
    rows = shown.select("scene_id", "view_id", "image", "ids").iter_rows()
    references = {(scene, view): refs for scene, view, *refs in rows}
    for scene in ids:
        for view in views:
            if references.get((scene, view), [None])[0] is None:
                lacks = "picture" if (scene, view) in references else "view"
                raise DataError(f"scene without this {lacks}", file=data.path, row=scene, field=view)
    sizes = shown.select("scene_id", "view_id", "width", "height").unique(["width", "height"], maintain_order=True)
    first, *others = sizes.iter_rows()
    if others or None in first:
        scene, view, width, height = others[0] if others else first
        raise DataError(
            "views must have one size",
            file=data.path,
            row=scene,
            field=view,
            expected=f"{first[2]}×{first[3]}" if others else "a size",
            found=f"{width}×{height}",
        )
    pictures, maps = (tuple(tuple(references[s, v][which] for v in views) for s in ids) for which in (0, 1))
    whole = not any(ref is None for scene in maps for ref in scene)
    return pictures, maps if whole else None, (first[2], first[3])


def _check_files(blobs: Blobs, ids: Sequence[str], references: References, kind: Kind) -> None:
    for scene, refs in zip(ids, references, strict=True):
        for file in map(blobs.locate, refs):
            if not file.is_file():
                raise DataError("picture is missing", file=file, row=scene, field=kind)


def _identities(objects: pl.DataFrame, data: Dataset) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Each object's place in the bank, and the bank: the canonical views of all distinct objects."""
    keys = ("color", "material")
    described = objects.select(
        "category", "shape", *(pl.col("attributes").str.json_path_match(f"$.{key}").alias(key) for key in keys)
    )
    rows = [(shape, color or "", material or "") for _, shape, color, material in described.iter_rows()]
    places = {identity: i for i, identity in enumerate(sorted(set(rows), key=str))}
    strips = [
        canonical_of(data, Object("", "", {"color": color, "material": material}, shape=shape), draw=0)
        for shape, color, material in places
    ]
    counts = [len(strip) for strip in strips]
    if min(counts) < max(counts):
        scarce = " ".join(filter(None, list(places)[int(np.argmin(counts))]))
        raise DataError(
            f"fewer canonical views of {scarce} than of others",
            file=data.path,
            expected=max(counts),
            found=min(counts),
        )
    return np.array([places[row] for row in rows], np.int64), np.stack(strips)


def _labels(scenes: Sequence[Facts], present: NDArray[np.bool_]) -> NDArray[np.uint8]:
    labels = np.zeros((*present.shape, present.shape[1]), np.uint8)
    for of, facts in zip(labels, scenes, strict=True):
        n = len(facts.objects)
        of[:n, :n] = np.packbits(facts.truth, axis=-1, bitorder="little")[..., 0]
    return labels


def _known_facts(
    scenes: Sequence[Facts], objects: pl.DataFrame, tables: Tables, data: Dataset
) -> NDArray[np.float32] | None:
    """`layouts.FACTS` of every object; None where a pose, a shape or the original camera is not known.

    A mesh of the world's own counts as not known: another one may go by its name here.
    """
    cameras = dict(tables.views.filter(view_id=ORIGINAL).select("scene_id", "camera").iter_rows())
    poses, shapes = objects["pose"], objects["shape"]
    meshes = ((data.recipe or {}).get("settings") or {}).get("meshes")
    if meshes or poses.null_count() or any(cameras.get(facts.scene_id) is None for facts in scenes):
        return None
    try:
        lengths = np.array([measures(shape or "") for shape in shapes.to_list()], np.float64)
    except ConfigError:
        return None
    places = np.array(poses.to_list(), np.float64).reshape(-1, 4, 4)[:, :3, 3]
    n = [len(facts.objects) for facts in scenes]
    made = np.zeros((len(scenes), max(n), len(FACTS)), np.float32)
    start = 0
    for of, facts, many in zip(made, scenes, n, strict=True):
        left, behind = directions(_camera(cameras[facts.scene_id]))
        x, y, z = places[start : start + many].T
        of[:many, 0], of[:many, 1] = left[0] * x + left[1] * y, behind[0] * x + behind[1] * y
        of[:many, 2], of[:many, 3:LENGTHS] = z, lengths[start : start + many]
        for by, code in enumerate((_CONTAINS, _SUPPORTS)):
            of[:many, LENGTHS + by] = facts.truth[:, :, code].any(axis=0)
            of[:many, LENGTHS + 2 + by] = facts.truth[:, :, code].any(axis=1)
        start += many
    return made


def _camera(text: str) -> Camera:
    values = json.loads(text)
    return Camera(tuple(values["k"]), tuple(values["world_to_camera"]))
