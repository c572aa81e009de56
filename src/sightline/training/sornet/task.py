"""SORNet as a task of the training engine: its network, its head for facts, its losses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from sightline.errors import ModelError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.sornet import Sornet
from sightline.training.augmentation import Change, draw_changes
from sightline.training.sornet.augmentation import prepared
from sightline.training.sornet.losses import (
    FactsHead,
    enlarged,
    facts_loss,
    pointing_loss,
    predicate_loss,
    share_right,
)
from sightline.training.sornet.pictures import COARSE, SceneBatch
from sightline.training.sornet.plan import SornetPlan, begin
from sightline.training.sornet.sources import SceneSource

WEIGHTS: Final = "sornet.safetensors"


class SornetTask:
    """Teach a SORNet by the predicates of its scenes, and by two auxiliary losses where their weights are not 0."""

    name = "SORNet"
    weights: str = WEIGHTS
    metrics: tuple[str, ...] = ("predicates", "right", "facts", "pointing")
    muon_prefix = "blocks."

    def __init__(self, plan: SornetPlan, source: SceneSource) -> None:
        self.plan, self.source = plan, source
        self._prepared = torch.compile(prepared, dynamic=False) if plan.compiled else prepared

    def modules(self) -> dict[str, nn.Module]:
        """The network, and the head that tells facts."""
        self.net = begin(self.plan, self.source.image)
        self.head = FactsHead(self.net.config.width)
        if self.plan.compiled:
            self.net.compile_parts()
        return {"net": self.net, "head": self.head}

    def loss(self, loaded: Any, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss of one batch; the losses it is made of, and the share of right judgements."""
        plan, shown = self.plan, self.plan.shown(step)
        scenes = self.source.scenes(loaded, shown)
        images, patches, covers, change = self._pixels(scenes, first=shown[0] == 0)
        embedded, looked = self.net.trace(images, patches, shown)
        logits = self.net.readout(embedded)
        loss = predicate_loss(logits, scenes.labels, scenes.present, plan.near)
        metrics = {"predicates": loss, "right": share_right(logits, scenes.labels, scenes.present)}
        if plan.facts and scenes.facts is not None:
            facts = scenes.facts if change is None else enlarged(scenes.facts, change.zoom, change.stretch)
            metrics["facts"] = facts_loss(self.head(embedded), facts, scenes.present)
            loss = loss + plan.facts * metrics["facts"]
        if plan.pointing and covers is not None:
            metrics["pointing"] = pointing_loss(looked, covers, scenes.present)
            loss = loss + plan.pointing * metrics["pointing"]
        return loss, metrics

    def counts(self, step: int) -> dict[str, int]:
        """Scenes and images of a step."""
        return {"scenes": self.plan.batch, "images": self.plan.batch * len(self.plan.shown(step))}

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        """A checkpoint of the network without its head."""
        return dump_checkpoint(self.net, facts, weights=weights)

    def steps_of(self, file: Path) -> int | None:
        """After how many steps a checkpoint was written; None where it cannot be read."""
        try:
            steps: int | None = load_checkpoint(file, Sornet).facts.get("steps")
        except ModelError:
            return None
        return steps

    def _pixels(self, scenes: SceneBatch, *, first: bool) -> tuple[Tensor, Tensor, Tensor | None, Change | None]:
        """Views and patches as the network gets them, the share of each patch that shows an object, the change."""
        how, views = self.plan.augmentation, scenes.views
        change = None
        if how is not None:
            change = draw_changes(how, len(scenes), views.shape[1], views.device, first=first)
        dull = how is not None and how.matte > 0
        prepare = self._prepared if views.is_cuda else prepared  # a CPU would compile longer than it trains
        made = prepare(
            change,
            views,
            scenes.patches,
            scenes.sizes,
            scenes.ids if self.plan.pointing or dull else None,
            scenes.outlines if dull else None,
            self.net.config.patch // COARSE,
        )
        return *made, change
