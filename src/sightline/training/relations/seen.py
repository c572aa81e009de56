"""Pictures with labelled pairs to learn from, and the networks that look at them, as a task of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.relations.pairs import PairTable
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.vrd import UNION, SeenPairs, VrdNet, VrdNetConfig
from sightline.models.relations.seen import squared
from sightline.scenes.types import View
from sightline.training.augmentation import Augmentation, changed, draw_changes
from sightline.training.batches import shuffled
from sightline.training.plan import TrainingPlan
from sightline.training.relations.examples import PairExamples, examples_of
from sightline.training.relations.task import WEIGHTS, cross_entropy, jittered, turned_where

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
    """Pictures (B, S, S, 3) uint8, the rows of the pairs, and which picture each end of a pair lies in."""

    pictures: NDArray[np.uint8]
    shares: NDArray[np.float32]
    rows: NDArray[np.int64]
    image_a: NDArray[np.int64]
    image_b: NDArray[np.int64]


class SeenSource:
    """Batches of images, or image pairs, with some of their labelled pairs.

    Args:
        tables: The pairs.
        views: The pictures by scene.
        plan: Size of batches and pictures, and the seed.
        facts: Where the pairs come from, as JSON values.

    Raises:
        ConfigError: A network that needs a box around both objects, and pairs across images.
        DataError: A picture is not there.
    """

    def __init__(
        self, tables: Sequence[PairTable], views: Mapping[str, View], plan: SeenPlan, facts: Mapping[str, Any]
    ) -> None:
        if plan.architecture in UNION and any(table.setting == "across_images" for table in tables):
            raise ConfigError(f"{plan.architecture} learns from pairs within an image alone: --study within")
        self.examples: PairExamples = examples_of(tables)
        self._plan, self._facts = plan, dict(facts)
        ends = [
            [str(table.scenes[scene]) for scene in table.object_scene[end]]
            for table in tables
            for end in (table.first, table.second)
        ]
        firsts, seconds = list(chain.from_iterable(ends[::2])), list(chain.from_iterable(ends[1::2]))
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, both in enumerate(zip(firsts, seconds, strict=True)):
            groups.setdefault(tuple(sorted(set(both))), []).append(row)
        self._groups = [(scenes, np.array(rows)) for scenes, rows in groups.items()]
        self._firsts, self._seconds, self._views = firsts, seconds, views
        for scene in dict.fromkeys((*firsts, *seconds)):
            if scene not in views or views[scene].load_image is None:
                raise DataError("a picture to learn from is not there", row=scene)
        self._pictures: dict[str, tuple[NDArray[np.uint8], NDArray[np.float32]]] = {}

    def loader(self, start: int, stop: int) -> Iterator[SeenBatch]:
        """Batches start … stop − 1."""
        for number in range(start, stop):
            chosen = shuffled(number, self._plan.batch, len(self._groups), self._plan.seed)
            rng = np.random.default_rng([self._plan.seed, number, 3])
            scenes = list(dict.fromkeys(scene for group in chosen for scene in self._groups[group][0]))
            place = {scene: i for i, scene in enumerate(scenes)}
            rows = np.concatenate(
                [rng.permutation(self._groups[group][1])[:MOST_PAIRS] for group in dict.fromkeys(chosen.tolist())]
            )
            seen = [self._picture(scene) for scene in scenes]
            yield SeenBatch(
                np.stack([picture for picture, _ in seen]),
                np.stack([share for _, share in seen]),
                rows,
                np.array([place[self._firsts[row]] for row in rows]),
                np.array([place[self._seconds[row]] for row in rows]),
            )

    def _picture(self, scene: str) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        if scene not in self._pictures:
            picture, share = squared(self._views[scene].image(), self._plan.side)
            pixels = (picture[0].permute(1, 2, 0) * 255.0).round().to(torch.uint8).numpy()
            self._pictures[scene] = pixels, share.numpy()
        return self._pictures[scene]

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

    def modules(self) -> dict[str, nn.Module]:
        """The network."""
        plan = self.plan
        config = VrdNetConfig(self.source.examples.classes, plan.architecture, plan.width, plan.side)
        self.net = VrdNet(config)
        return {"net": self.net}

    def loss(self, loaded: SeenBatch, step: int) -> tuple[Tensor, dict[str, Tensor]]:  # noqa: ARG002 - the engine's
        """Loss of one batch, and the share of depth labels that are right."""
        pairs, targets = self.prepared(loaded, next(self.net.parameters()).device)
        said = self.net(pairs)
        parts = [cross_entropy(logits, target) for logits, target in zip(said, targets, strict=True)]
        loss = torch.stack(parts).sum()
        right = (said.depth.argmax(-1) == targets[0].argmax(-1)).float().mean()
        return loss, dict(zip(self.metrics, (loss, *parts, right), strict=True))

    def prepared(self, loaded: SeenBatch, device: torch.device) -> tuple[SeenPairs, tuple[Tensor, Tensor]]:
        """Pairs as the network gets them, half of them turned round, and their targets."""
        examples, rows = self.source.examples, loaded.rows
        pictures = torch.from_numpy(loaded.pictures).to(device)
        if self.plan.augmented:
            how = photometric()
            change = draw_changes(how, len(pictures), 1, device)
            scales = change.zoom[:, None, None].expand(-1, 1, 2)
            pixels = changed(pictures[:, None], change, scales, change.shift, change.blur)[:, 0]
        else:
            pixels = pictures.float() / 255.0
        swap = torch.rand(len(rows), device=device) < 0.5
        image_a, image_b = (torch.from_numpy(each).to(device) for each in (loaded.image_a, loaded.image_b))
        ends = [torch.from_numpy(end[rows]).to(device) for end in (examples.first, examples.second)]
        objects_a, objects_b = torch.where(swap, ends[1], ends[0]), torch.where(swap, ends[0], ends[1])
        image_a, image_b = torch.where(swap, image_b, image_a), torch.where(swap, image_a, image_b)
        boxes, category = (torch.from_numpy(each).to(device) for each in (examples.boxes, examples.category))
        shares = torch.from_numpy(loaded.shares).to(device).repeat(1, 2)
        boxes_a, boxes_b = (
            jittered(boxes[objects], self.plan.jitter) * shares[image]
            for objects, image in ((objects_a, image_a), (objects_b, image_b))
        )
        pairs = SeenPairs(
            pixels.permute(0, 3, 1, 2), image_a, image_b, boxes_a, boxes_b, category[objects_a], category[objects_b]
        )
        targets = [torch.from_numpy(each[rows]).to(device) for each in (examples.depth, examples.occlusion)]
        return pairs, (turned_where(swap, targets[0]), turned_where(swap, targets[1]))

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
