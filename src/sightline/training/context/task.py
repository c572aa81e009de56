"""Classifiers and segmenters as tasks of the training engine, taught by edited scenes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sightline.errors import ConfigError, ModelError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.classifier import Classifier, ClassifierConfig
from sightline.models.nets.segmenter import SIZES, SegmenterConfig, Upernet
from sightline.training.batches import shuffled
from sightline.training.context.losses import (
    RunningLosses,
    drawn_edits,
    hinge,
    negative_loss,
    pixel_loss,
    removal_weights,
    removed_labels,
)
from sightline.training.context.plan import ClassifierPlan, SegmenterPlan
from sightline.training.context.scenes import EditedScenes

Part = Literal["full", "cooccur"]
"""Scenes to learn from: all, or those that show two classes and more."""


class EditedSource:
    """Numbers of the scenes of each batch, each scene once an epoch.

    Args:
        scenes: Where they come from.
        batch: Scenes of a batch.
        seed: Of the order.
        part: Which of the scenes.
        among: Classes that count for the part; all things by default.
    """

    def __init__(
        self, scenes: EditedScenes, *, batch: int, seed: int, part: Part = "full", among: tuple[str, ...] = ()
    ) -> None:
        places = [scenes.classes.index(name) for name in among or scenes.classes[: scenes.things]]
        kinds = scenes.labels[:, places].sum(dim=1).cpu().numpy()
        self.rows = np.flatnonzero(kinds >= (2 if part == "cooccur" else 0))
        if not len(self.rows):
            raise ConfigError(f"no scene to learn from: none of {len(scenes)} shows two classes and more")
        self.scenes, self.batch, self.seed, self.part = scenes, batch, seed, part
        self.edits: NDArray[np.int64] = (scenes.table >= 0).sum(dim=1).cpu().numpy()

    def loader(self, start: int, stop: int) -> Iterator[NDArray[np.int64]]:
        """Numbers of the scenes of batches start … stop − 1."""
        return (self.numbers(step) for step in range(start, stop))

    def numbers(self, step: int) -> NDArray[np.int64]:
        """Numbers of the scenes of one batch."""
        return np.asarray(self.rows[shuffled(step, self.batch, len(self.rows), self.seed)])

    def facts(self) -> dict[str, Any]:
        """Where the scenes come from, and how many are learned from."""
        return {**self.scenes.facts, "part": self.part, "scenes": len(self.rows), "order": self.seed}


class ClassifierTask:
    """Teach a classifier by binary cross-entropy, on pictures and on edits of them.

    Args:
        plan: How.
        source: What from.
    """

    name = "classifier"
    weights: str = "classifier.safetensors"
    metrics: tuple[str, ...] = ("bce", "hinge", "violated")
    muon_prefix = "backbone."

    def __init__(self, plan: ClassifierPlan, source: EditedSource) -> None:
        self.plan, self.source = plan, source

    def modules(self) -> dict[str, nn.Module]:
        """The network."""
        plan, scenes = self.plan, self.source.scenes
        config = ClassifierConfig(scenes.classes, plan.backbone, plan.width, scenes.images.shape[1], plan.shrink)
        self.net = Classifier(config)
        if plan.start:
            self.net.load_imagenet(plan.start)
        self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return {"net": self.net}

    def loss(self, loaded: NDArray[np.int64], step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Cross-entropy and hinge loss of a batch; the share of violations among its edit sets."""
        del step
        plan, scenes = self.plan, self.source.scenes
        rows = torch.from_numpy(loaded).to(scenes.images.device)
        flipped = torch.rand(len(rows), device=rows.device) < 0.5 * plan.flips
        owner, edits = self._edits(rows)
        pictures = torch.cat([scenes.images[rows], scenes.edits[edits]])
        shown = evened(len(pictures), max(1, plan.batch // 4), rows.device)
        logits = self.net(mirrored(pictures, torch.cat([flipped, flipped[owner]]))[shown])[: len(pictures)].float()
        own, theirs = logits[: len(rows)], logits[len(rows) :]
        labels = scenes.labels[rows]
        dropped = removed_labels(labels[owner], scenes.gone[edits])
        counted = plan.removal == "rand" or plan.edited
        loss = functional.binary_cross_entropy_with_logits(
            logits if counted else own, (torch.cat([labels, dropped]) if counted else labels).float()
        )
        metrics = {"bce": loss}
        if plan.removal == "const":
            metrics["hinge"], metrics["violated"] = hinge(theirs, owner, scenes.gone[edits])
            loss = loss + plan.hinge * metrics["hinge"]
        return loss, metrics

    def counts(self, step: int) -> dict[str, int]:
        """Scenes and pictures of a step."""
        plan, edits = self.plan, self.source.edits[self.source.numbers(step)]
        extra = {"none": 0, "rand": int((edits > 0).sum()), "const": int(edits[: plan.edit_sets()].sum())}
        return {"scenes": plan.batch, "images": plan.batch + extra[plan.removal]}

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        """The network's file."""
        return dumped(self.net, weights, facts)

    def steps_of(self, file: Path) -> int | None:
        """After how many steps a file was written; None where it cannot be read."""
        return steps_in(file, Classifier)

    def _edits(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Edits to be shown: the place in the batch of the picture each is of, and its number."""
        plan, table = self.plan, self.source.scenes.table
        if plan.removal == "rand":
            return drawn_edits((table[rows] >= 0).float(), table[rows])
        sets = table[rows[: plan.edit_sets()]]
        owner, column = (sets >= 0).nonzero(as_tuple=True)
        return owner, sets[owner, column]


class SegmenterTask:
    """Teach a segmenter by the cross-entropy of pixels, on pictures and on edits of them.

    Args:
        plan: How.
        source: What from; its scenes are labelled.
    """

    name = "segmenter"
    weights: str = "segmenter.safetensors"
    metrics: tuple[str, ...] = ("pixels", "edited", "negative", "right")
    muon_prefix = "net."

    def __init__(self, plan: SegmenterPlan, source: EditedSource) -> None:
        if source.scenes.maps is None:
            raise ConfigError("scenes to teach a segmenter must be labelled")
        self.plan, self.source = plan, source

    def modules(self) -> dict[str, nn.Module]:
        """The network, and the average loss of each class."""
        scenes = self.source.scenes
        height, width = scenes.images.shape[1:3]
        self.net = Upernet(SegmenterConfig(scenes.classes, (width, height), **SIZES[self.plan.size]))
        self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.losses = RunningLosses(len(scenes.classes))
        return {"net": self.net, "losses": self.losses}

    def loss(self, loaded: NDArray[np.int64], step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Losses of a batch; the share of right pixels of the pictures."""
        del step
        plan, scenes = self.plan, self.source.scenes
        assert scenes.maps is not None
        assert scenes.holes is not None
        rows = torch.from_numpy(loaded).to(scenes.images.device)
        flipped = torch.rand(len(rows), device=rows.device) < 0.5 * plan.flips
        owner, edits = self._edits(rows)
        flips = torch.cat([flipped, flipped[owner]])
        logits = self.net(mirrored(torch.cat([scenes.images[rows], scenes.edits[edits]]), flips)).float()
        maps, holes = mirrored(scenes.maps[rows], flipped), mirrored(scenes.holes[edits], flipped[owner])
        none = torch.zeros_like(maps, dtype=torch.bool)
        own, theirs = logits[: len(rows)], logits[len(rows) :]
        loss = pixel_loss(logits, torch.cat([maps, maps[owner]]), torch.cat([none, holes]))
        self.losses.update(own, maps)
        metrics = {"pixels": loss, "right": (own.argmax(dim=1) == maps).float().mean()}
        if len(edits):
            metrics["edited"] = pixel_loss(theirs.detach(), maps[owner], holes)
            if plan.negative:
                metrics["negative"] = negative_loss(theirs, scenes.gone[edits], holes)
                loss = loss + plan.negative * metrics["negative"]
        return loss, metrics

    def counts(self, step: int) -> dict[str, int]:
        """Scenes and pictures of a step."""
        edits = self.source.edits[self.source.numbers(step)]
        shown = 0 if self.plan.removal == "none" else int((edits > 0).sum())
        return {"scenes": self.plan.batch, "images": self.plan.batch + shown}

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        """The network's file."""
        return dumped(self.net, weights, facts)

    def steps_of(self, file: Path) -> int | None:
        """After how many steps a file was written; None where it cannot be read."""
        return steps_in(file, Upernet)

    def _edits(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        scenes, strategy = self.source.scenes, self.plan.removal
        if strategy == "none":
            nothing = rows[:0]
            return nothing, nothing
        table = scenes.table[rows]
        return drawn_edits(
            removal_weights(strategy, table, scenes.gone, scenes.areas[rows], self.losses.mean), table
        )


def evened(count: int, multiple: int, device: torch.device) -> Tensor:
    """Numbers of the pictures of a batch, then of some once more, evenly spread, up to a multiple.

    Edit sets make batches of every size, and a card prepares its convolutions anew for each size it meets.
    Batch normalisation sees the repeated pictures twice; their outputs are dropped.
    """
    more = -count % multiple
    return torch.cat(
        [torch.arange(count, device=device), torch.arange(more, device=device) * count // max(1, more)]
    )


def mirrored(pictures: Tensor, flipped: Tensor) -> Tensor:
    """Pictures or maps (B, H, W, …), some of them mirrored left to right."""
    places = flipped.view(-1, *(1 for _ in pictures.shape[1:]))
    return torch.where(places, pictures.flip(2), pictures)


def dumped(net: Any, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
    """The file of a network with these weights; statistics of its batch norms are its own."""
    return dump_checkpoint(net, facts, weights={**net.state_dict(), **weights})


def steps_in(file: Path, kind: type[Any]) -> int | None:
    """After how many steps a file was written; None where it cannot be read."""
    try:
        steps: int | None = load_checkpoint(file, kind).facts.get("steps")
    except ModelError:
        return None
    return steps
