"""Scenes of a stored dataset as a source: pictures decoded by worker processes, the rest kept ready as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import DataError
from sightline.store import Blobs, Dataset
from sightline.store.encodings import Kind
from sightline.training.drawing import SceneBatch, chosen_patches, coarse
from sightline.training.sources import ahead, shuffled
from sightline.training.stored_scenes import References, stored_scenes


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
        self.scenes_there = stored_scenes(data, views, split=split, most_objects=most_objects)
        self.batch, self.seed, self.workers, self.device = batch, seed, workers, torch.device(device)
        self.bank = torch.from_numpy(self.scenes_there.bank).to(self.device)
        self.outlines: Tensor | None = None  # stored canonical views come without
        self._told: dict[str, Any] = {
            "data": data.path.name,
            "fingerprint": data.fingerprint,
            "split": split,
            "scenes": len(self.scenes_there),
            "left_out": self.scenes_there.left_out,
            "seed": seed,
        }

    @property
    def image(self) -> tuple[int, int]:
        """(width, height) of a view, pixels."""
        return self.scenes_there.image

    @property
    def most(self) -> int:
        """Objects of the fullest scene: every one has room for as many."""
        return int(self.scenes_there.present.shape[1])

    def part(self, rows: range) -> StoredSource:
        """The same over some of its scenes, by their numbers in stored order."""
        made = copy(self)
        made.scenes_there = self.scenes_there.part(rows)
        made._told = {**self._told, "scenes": len(rows), "part": [rows.start, rows.stop]}
        return made

    def loader(self, start: int, stop: int) -> Iterator[_Loaded]:
        """Decoded batches, made ahead by the workers."""
        there = self.scenes_there
        pictures = _Pictures(there.blobs, there.pictures, there.maps, there.image, self.batch, self.seed)
        for loaded in ahead(pictures, start, stop, self.workers):
            if isinstance(loaded, DataError):
                raise loaded
            yield loaded

    def scenes(self, loaded: _Loaded, views: Sequence[int]) -> SceneBatch:
        """The batch on the device, each query by one of its canonical views chosen at random."""
        there, rows = self.scenes_there, loaded.rows

        def sent(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(array).to(self.device, non_blocking=True)

        looks, present = sent(there.looks[rows]), sent(there.present[rows])
        bits = np.unpackbits(there.labels[rows][..., None], axis=-1, bitorder="little")
        return SceneBatch(
            sent(loaded.views[:, list(views)]),
            chosen_patches(self.bank, looks, present)[0],
            present,
            sent(bits.astype(bool)),
            None if there.facts is None else sent(there.facts[rows]),
            looks,
            None if loaded.ids is None else sent(loaded.ids[:, list(views)]),
        )

    def facts(self) -> dict[str, Any]:
        """The dataset, its split and how many scenes."""
        return dict(self._told)


@dataclass(frozen=True, slots=True)
class _Loaded:
    rows: NDArray[np.int64]
    views: NDArray[np.uint8]
    ids: NDArray[np.uint8] | None


@dataclass(frozen=True)
class _Pictures:
    """Decodes any batch; what goes to a worker process."""

    blobs: Blobs
    pictures: References
    maps: References | None
    image: tuple[int, int]
    batch: int
    seed: int

    def __getitem__(self, number: int) -> _Loaded | DataError:
        rows = shuffled(number, self.batch, len(self.pictures), self.seed)
        try:
            views = np.stack([np.stack([self._decoded("image", ref) for ref in self.pictures[i]]) for i in rows])
            return _Loaded(rows, views, None if self.maps is None else self._coarse_maps(self.maps, rows))
        except DataError as error:  # as a value: torch would wrap one raised in a worker into its traceback
            return error

    def _coarse_maps(self, maps: References, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        whole = np.stack([np.stack([self._decoded("ids", ref) for ref in maps[i]]) for i in rows])
        return coarse(torch.from_numpy(whole)).numpy()

    def _decoded(self, kind: Kind, ref: str) -> NDArray[Any]:
        loader = self.blobs.loader(kind, ref)
        assert loader is not None
        pixels = loader()
        if pixels.shape[1::-1] != self.image:
            found = "×".join(map(str, pixels.shape[1::-1]))
            expected = "×".join(map(str, self.image))
            raise DataError("picture of another size", file=self.blobs.locate(ref), expected=expected, found=found)
        return pixels
