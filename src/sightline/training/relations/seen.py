"""Pictures with labelled pairs to learn from, and the networks that look at them, as a task of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sightline.errors import ConfigError, DataError, ModelError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.vrd import UNION, SeenPairs, VrdNet, VrdNetConfig
from sightline.models.relations.seen import squared
from sightline.scenes.types import View
from sightline.training.augmentation import Augmentation, changed, draw_changes
from sightline.training.batches import shuffled
from sightline.training.plan import TrainingPlan
from sightline.training.relations.examples import PairExamples
from sightline.training.relations.task import WEIGHTS, cross_entropy, jittered, share_right, turned_where

MOST_PAIRS: Final = 8
"""Pairs of an image, or of two, that are learned from in a step; others when its turn comes again."""


def photometric() -> Augmentation:
    """The paper's changes of pictures: saturation, contrast, brightness and hue."""
    return Augmentation(
        hue=0.05, swap=0.0, gamma=0.0, zoom=0.0, shift=0.0, blur=0.0, noise=0.0, grey=0.0, stretch=0.0, matte=0.0
    )


@dataclass(frozen=True, slots=True)
class SeenPlan(TrainingPlan):
    """Everything the training of a network that looks depends on but its pictures.

    Attributes:
        architecture: ``vipcnn``, ``pprfcn``, ``drnet`` or ``vtranse``.
        width: Channels of the backbone's first stage.
        side: Longer side of the pictures, pixels.
        jitter: Share of its sides by which a box's centre, width and height are changed, at most.
        augmented: Whether saturation, contrast, brightness and hue are changed.
    """

    steps: int = 4000
    batch: int = 16
    rate: float = 5e-4
    warmup: int = 200
    optimizer: Literal["adam", "adamw", "muon"] = "adamw"
    architecture: str = "drnet"
    width: int = 32
    side: int = 224
    jitter: float = 0.1
    augmented: bool = True

    LEAST: ClassVar[Mapping[str, int]] = {**TrainingPlan.LEAST, "width": 4, "side": 32}
    SHARES: ClassVar[tuple[str, ...]] = (*TrainingPlan.SHARES, "jitter")


class SeenBatch(NamedTuple):
    """Which pictures are looked at, the rows of the pairs, and which of those pictures each end lies in."""

    numbers: NDArray[np.int64]
    rows: NDArray[np.int64]
    image_a: NDArray[np.int64]
    image_b: NDArray[np.int64]


class NumberedPictures(Protocol):
    """Pictures by number, all of one size."""

    def __len__(self) -> int: ...

    def chosen(self, numbers: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
        """Pictures (B, S, S, 3) uint8, filled up to squares, and (B, 2) the shares of their sides they take."""


class ViewPictures:
    """Pictures of views, read when they are first asked for and kept.

    Args:
        views: The views, in the order of their numbers; None for one that is not there.
        names: What messages call them.
        side: Side of the squares, pixels.

    Raises:
        DataError: A picture is not there.
    """

    def __init__(self, views: Sequence[View | None], names: Sequence[str], side: int) -> None:
        for view, name in zip(views, names, strict=True):
            if view is None or view.load_image is None:
                raise DataError("a picture to learn from is not there", row=name)
        self._views, self._side = views, side
        self._read = lru_cache(maxsize=None)(self._picture)

    def __len__(self) -> int:
        return len(self._views)

    def chosen(self, numbers: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
        """Pictures and shares."""
        seen = [self._read(number) for number in numbers.tolist()]
        return (
            torch.stack([picture for picture, _ in seen]).to(device),
            torch.stack([share for _, share in seen]).to(device),
        )

    def _picture(self, number: int) -> tuple[Tensor, Tensor]:
        view = self._views[number]
        assert view is not None
        picture, share = squared(view.image(), self._side)
        return as_bytes(picture)[0], share


@dataclass(frozen=True)
class KeptPictures:
    """Pictures that lie in memory, of the machine or of a card: (n, S, S, 3) uint8, and (n, 2) shares."""

    pictures: Tensor
    shares: Tensor

    def __len__(self) -> int:
        return len(self.pictures)

    def chosen(self, numbers: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
        """Pictures and shares."""
        rows = torch.from_numpy(numbers).to(self.pictures.device)
        return self.pictures[rows].to(device), self.shares[rows].to(device)


def as_bytes(pictures: Tensor) -> Tensor:
    """Pictures (B, 3, H, W) of [0, 1] as (B, H, W, 3) uint8."""
    return (pictures.permute(0, 2, 3, 1) * 255.0).round().to(torch.uint8)


class SeenSource:
    """Batches of images, or image pairs, with some of their labelled pairs.

    Args:
        examples: The pairs.
        picture: (m,) the number of the picture in which each object stands.
        pictures: The pictures.
        plan: Size of batches, and the seed.
        facts: Where the pairs come from, as JSON values.

    Raises:
        ConfigError: A network that needs a box around both objects, and pairs across images.
    """

    def __init__(
        self,
        examples: PairExamples,
        picture: NDArray[np.int64],
        pictures: NumberedPictures,
        plan: SeenPlan,
        facts: Mapping[str, Any],
    ) -> None:
        if plan.architecture in UNION and examples.across.any():
            raise ConfigError(f"{plan.architecture} learns from pairs within an image alone: --study within")
        self.examples, self.pictures = examples, pictures
        self._plan, self._facts = plan, dict(facts)
        self._ends = picture[examples.first], picture[examples.second]
        both = np.sort(np.stack(self._ends, 1), axis=1)
        groups, group = np.unique(both, axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        starts = np.flatnonzero(np.diff(group.ravel()[order])) + 1
        self._groups = list(zip(groups, np.split(order, starts), strict=True))

    def loader(self, start: int, stop: int) -> Iterator[SeenBatch]:
        """Batches start … stop − 1."""
        for number in range(start, stop):
            chosen = shuffled(number, self._plan.batch, len(self._groups), self._plan.seed)
            rng = np.random.default_rng([self._plan.seed, number, 3])
            groups = [self._groups[group] for group in dict.fromkeys(chosen.tolist())]
            rows = np.concatenate([rng.permutation(rows)[:MOST_PAIRS] for _, rows in groups])
            numbers = np.unique(np.concatenate([pictures for pictures, _ in groups]))
            ends = (np.searchsorted(numbers, end[rows]) for end in self._ends)
            yield SeenBatch(numbers, rows, *ends)

    def facts(self) -> dict[str, Any]:
        """Where the pairs come from."""
        return {**self._facts, "pairs": len(self.examples), "images": len(self._groups)}


class SeenTask:
    """Teach ViP-CNN, PPR-FCN, DRNet or VTransE: the sum of two cross-entropies."""

    weights: str = WEIGHTS
    metrics: tuple[str, ...] = ("loss", "depth", "occlusion", "right")
    muon_prefix = "-"

    def __init__(self, plan: SeenPlan, source: SeenSource) -> None:
        self.plan, self.source, self.name = plan, source, plan.architecture
        self._columns: dict[str, Tensor] = {}

    def modules(self) -> dict[str, nn.Module]:
        """The network."""
        plan = self.plan
        config = VrdNetConfig(self.source.examples.classes, plan.architecture, plan.width, plan.side)
        self.net = VrdNet(config)
        return {"net": self.net}

    def loss(self, loaded: SeenBatch, step: int) -> tuple[Tensor, dict[str, Tensor]]:  # noqa: ARG002 - the engine's
        """Loss of one batch, and the share of depth labels that are right."""
        pairs, targets = self.prepared(loaded, next(self.net.parameters()).device)
        logits = self.net(pairs)
        parts = [cross_entropy(*pair) for pair in zip(logits, targets, strict=True)]
        loss = torch.stack(parts).sum()
        labelled = self._columns["depth_label"][torch.from_numpy(loaded.rows).to(logits.depth.device)] >= 0
        right = share_right(logits.depth, targets[0], labelled)
        return loss, dict(zip(self.metrics, (loss, *parts, right), strict=True))

    def prepared(self, loaded: SeenBatch, device: torch.device) -> tuple[SeenPairs, tuple[Tensor, Tensor]]:
        """Pairs as the network gets them, half of them turned round, and their targets."""
        columns, rows = self._on(device), torch.from_numpy(loaded.rows).to(device)
        pictures, shares = self.source.pictures.chosen(loaded.numbers, device)
        if self.plan.augmented:
            how = photometric()
            change = draw_changes(how, len(pictures), 1, device)
            scales = change.zoom[:, None, None].expand(-1, 1, 2)
            pixels = changed(pictures[:, None], change, scales, change.shift, change.blur)[:, 0]
        else:
            pixels = pictures.float() / 255.0
        swap = torch.rand(len(rows), device=device) < 0.5
        image_a, image_b = (torch.from_numpy(each).to(device) for each in (loaded.image_a, loaded.image_b))
        ends = [columns[end][rows] for end in ("first", "second")]
        objects_a, objects_b = torch.where(swap, ends[1], ends[0]), torch.where(swap, ends[0], ends[1])
        image_a, image_b = torch.where(swap, image_b, image_a), torch.where(swap, image_a, image_b)
        category, shares = columns["category"], shares.repeat(1, 2)
        boxes_a, boxes_b = (
            jittered(columns["boxes"][objects], self.plan.jitter) * shares[image]
            for objects, image in ((objects_a, image_a), (objects_b, image_b))
        )
        pairs = SeenPairs(
            pixels.permute(0, 3, 1, 2), image_a, image_b, boxes_a, boxes_b, category[objects_a], category[objects_b]
        )
        targets = [columns[aspect][rows] for aspect in ("depth", "occlusion")]
        return pairs, (turned_where(swap, targets[0]), turned_where(swap, targets[1]))

    def _on(self, device: torch.device) -> dict[str, Tensor]:
        """The pairs' columns on a device, brought there once."""
        if not self._columns or self._columns["boxes"].device != device:
            names = ("boxes", "category", "first", "second", "depth", "occlusion", "depth_label")
            self._columns = {n: torch.from_numpy(getattr(self.source.examples, n)).to(device) for n in names}
        return self._columns

    def counts(self, step: int) -> dict[str, int]:  # noqa: ARG002 - the engine's
        """Images, or image pairs, of a step."""
        return {"images": self.plan.batch}

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        """A checkpoint of the network, in half precision."""
        return dump_checkpoint(self.net, facts, weights={**self.net.state_dict(), **weights}, half=True)

    def steps_of(self, file: Path) -> int | None:
        """After how many steps a checkpoint was written; None where it cannot be read."""
        try:
            steps: int | None = load_checkpoint(file, VrdNet).facts.get("steps")
        except ModelError:
            return None
        return steps
