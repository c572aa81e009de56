"""ViewNet as a task of the training engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from sightline.errors import ConfigError, ModelError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.viewpoint import COARSE, ViewNet, viewnet_config
from sightline.training.augmentation import changed, draw_changes
from sightline.training.viewpoint.losses import (
    class_loss,
    heat_loss,
    reach_loss,
    share_named,
    share_right,
    spots,
    view_losses,
)
from sightline.training.viewpoint.plan import CLASSES, ViewNetPlan
from sightline.training.viewpoint.views import ViewBatch, ViewSource

WEIGHTS: Final = "viewnet.safetensors"
_LEFT: Final = 0.4  # share of a box that must still be in the picture once it was moved


class ViewNetTask:
    """Teach a ViewNet to find objects, and to judge their boxes."""

    name = "ViewNet"
    weights: str = WEIGHTS
    metrics: tuple[str, ...] = ("loss", "heat", "box", "class", "azimuth", "tilt", "right")
    muon_prefix = "box."

    def __init__(self, plan: ViewNetPlan, source: ViewSource, classes: tuple[str, ...] = CLASSES) -> None:
        self.plan, self.source, self._classes = plan, source, classes
        if not plan.viewpoints:
            self.metrics = ("loss", "heat", "box", "class", "right")

    def modules(self) -> dict[str, nn.Module]:
        """The network."""
        config = viewnet_config(self.plan.size, self._classes, side=self.plan.resolution_side)
        self.net = ViewNet(config if self.plan.viewpoints else replace(config, bins=0))
        if self.plan.compiled:
            self.net.compile()
        return {"net": self.net}

    def loss(self, loaded: Any, step: int) -> tuple[Tensor, dict[str, Tensor]]:  # noqa: ARG002 - the engine's
        """Loss of one batch; its parts, and the share of azimuths that are right to 30° (or of right classes)."""
        batch = self.source.views(loaded)
        pictures, batch = self.prepared(batch)
        counted = (batch.classes >= 0) & (batch.pixels >= self.plan.least)
        maps = self.net(pictures)
        near = spots(batch.boxes, counted, *maps.heat.shape[2:])
        heat = heat_loss(maps.heat, near, batch.classes, counted)
        box = reach_loss(maps.reach, near, batch.boxes)
        judged = self.net.judge(maps, self._jittered(batch.boxes))
        if not self.plan.viewpoints:
            named = class_loss(judged, batch.classes, counted)
            loss, right = heat + box + named, share_named(judged, batch.classes, counted)
            return loss, dict(zip(self.metrics, (loss, heat, box, named, right), strict=True))
        named, binned, inside, tilted = view_losses(
            judged, batch.classes, batch.angles, batch.symmetry, counted
        ).unbind()
        loss = heat + box + named + binned + inside + tilted
        said = judged.angles(batch.classes.clamp(min=0)).detach()
        right = share_right(said, batch.angles, batch.symmetry, counted)
        parts = (loss, heat, box, named, binned + inside, tilted, right)
        return loss, dict(zip(self.metrics, parts, strict=True))

    def prepared(self, batch: ViewBatch) -> tuple[Tensor, ViewBatch]:
        """Pictures (B, 3, H, W) as the network gets them, and the truth of the changed ones."""
        if any(side % COARSE for side in batch.pictures.shape[1:3]):
            found = "×".join(map(str, batch.pictures.shape[2:0:-1]))
            raise ConfigError(f"pictures to learn from have sides of whole multiples of {COARSE}, not {found}")
        how = self.plan.augmentation
        boxes, classes, angles = batch.boxes, batch.classes, batch.angles
        if how is None:
            pictures = batch.pictures.permute(0, 3, 1, 2).float() / 255.0
        else:
            change = draw_changes(how, len(batch), 1, batch.pictures.device)
            scales = change.zoom[:, None, None].expand(-1, 1, 2)
            pixels = changed(batch.pictures[:, None], change, scales, change.shift, change.blur)
            pictures = pixels[:, 0].permute(0, 3, 1, 2)
            boxes, left = _moved_boxes(boxes, change.zoom, change.shift[:, 0])
            classes = torch.where(left >= _LEFT, classes, -1)
        mirrored = torch.rand(len(batch), device=boxes.device) < self.plan.flips
        pictures = torch.where(mirrored[:, None, None, None], pictures.flip(3), pictures)
        boxes = torch.where(mirrored[:, None, None], _mirrored_boxes(boxes), boxes)
        sign = torch.tensor((-1.0, 1.0, -1.0), device=boxes.device)
        angles = torch.where(mirrored[:, None, None], angles * sign, angles)
        return pictures, replace(batch, boxes=boxes, classes=classes, angles=angles)

    def _jittered(self, boxes: Tensor) -> Tensor:
        sides = (boxes[..., 2:] - boxes[..., :2]).repeat(1, 1, 2)
        return boxes + (2.0 * torch.rand_like(boxes) - 1.0) * self.plan.jitter * sides

    def counts(self, step: int) -> dict[str, int]:  # noqa: ARG002 - the engine's
        """Images of a step."""
        return {"images": self.plan.batch}

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        """A checkpoint of the network, in half precision."""
        return dump_checkpoint(self.net, facts, weights=weights, half=True)

    def steps_of(self, file: Path) -> int | None:
        """After how many steps a checkpoint was written; None where it cannot be read."""
        try:
            steps: int | None = load_checkpoint(file, ViewNet).facts.get("steps")
        except ModelError:
            return None
        return steps


def _moved_boxes(boxes: Tensor, zoom: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
    """Boxes (B, N, 4) in pictures enlarged by `zoom` (B,) and shifted (B, 2), and the share left of each."""
    middle = (2.0 * boxes - 1.0 - shift.repeat(1, 2)[:, None]) * zoom[:, None, None]
    whole = (middle + 1.0) / 2.0
    inside = whole.clamp(0.0, 1.0)
    areas = [(one[..., 2:] - one[..., :2]).prod(dim=-1) for one in (inside, whole)]
    return inside, areas[0] / areas[1].clamp(min=1e-9)


def _mirrored_boxes(boxes: Tensor) -> Tensor:
    x0, y0, x1, y1 = boxes.unbind(dim=-1)
    return torch.stack((1.0 - x1, y0, 1.0 - x0, y1), dim=-1)
