"""Losses of a ViewNet: where objects are, how far their boxes reach, their classes and viewpoints.

Viewpoints count up to the symmetry of each shape: an azimuth is learned as one of those that look the same, and not
at all where every turn does.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from sightline.models.nets.viewpoint import BoxLogits, boxes_of, cell_middles

MOST_TURNS: Final = 8
"""Turns that look the same, at most; a shape with more looks the same from everywhere."""
_SPREAD: Final = 0.12  # standard deviation of an object's spot on the heat map, in sides of its box
_INNER: Final = 0.3  # cells of the spot that learn the box
_TILT: Final = 45.0


def spots(boxes: Tensor, present: Tensor, height: int, width: int) -> Tensor:
    """(B, N, height, width): how near each cell is to the middle of each object, 1 in the cell that holds it."""
    middles = cell_middles(height, width, boxes.device)
    centre, sides = (boxes[..., :2] + boxes[..., 2:]) / 2.0, boxes[..., 2:] - boxes[..., :2]
    cell = torch.tensor((1.0 / width, 1.0 / height), device=boxes.device)
    spread = torch.maximum(_SPREAD * sides, cell / 3.0)[..., None, None]
    away = (middles - centre[..., None, None]) / spread
    value = torch.exp(-0.5 * (away**2).sum(dim=2))
    holds = (centre / cell).floor().clamp(min=0.0).minimum(1.0 / cell - 1.0)
    own = (((middles / cell[:, None, None]) - 0.5 - holds[..., None, None]).abs() < 0.25).all(dim=2)
    return torch.where(own, 1.0, value) * present[..., None, None]


def heat_loss(heat: Tensor, near: Tensor, classes: Tensor, present: Tensor) -> Tensor:
    """Focal loss of the heat maps (B, C, h, w), a sum over cells for each object there is.

    Args:
        heat: Logits.
        near: (B, N, h, w) as `spots` makes them.
        classes: (B, N).
        present: (B, N) bool.
    """
    target = torch.zeros_like(heat, dtype=torch.float32)
    index = classes.clamp(min=0)[..., None, None].expand_as(near)
    target = target.scatter_reduce(1, index, near, "amax")
    logits = heat.float()
    chance = logits.sigmoid()
    hit = target >= 1.0
    found = (1.0 - chance) ** 2 * functional.logsigmoid(logits) * hit
    other = (1.0 - target) ** 4 * chance**2 * functional.logsigmoid(-logits) * ~hit
    return -(found + other).sum() / present.sum().clamp(min=1)


def reach_loss(reach: Tensor, near: Tensor, boxes: Tensor) -> Tensor:
    """1 − generalised IoU of the boxes that cells about an object's middle say; the nearer, the more one counts."""
    weight, owner = near.max(dim=1)
    weight = weight * (weight >= _INNER)
    said = boxes_of(reach).permute(0, 2, 3, 1)
    true = boxes.gather(1, owner.flatten(1)[..., None].expand(-1, -1, 4)).view(said.shape)
    return ((1.0 - generalised_iou(said, true)) * weight).sum() / weight.sum().clamp(min=1.0)


def generalised_iou(a: Tensor, b: Tensor) -> Tensor:
    """(…) intersection over union of boxes (…, 4), less the share of their common hull that neither covers."""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    shared = (high - low).clamp(min=0.0).prod(dim=-1)
    whole = (a[..., 2:] - a[..., :2]).prod(dim=-1) + (b[..., 2:] - b[..., :2]).prod(dim=-1) - shared
    hull = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).prod(dim=-1)
    return shared / whole.clamp(min=1e-9) - (hull - whole) / hull.clamp(min=1e-9)


def alike(azimuth: Tensor, symmetry: Tensor) -> tuple[Tensor, Tensor]:
    """(…, 8) azimuths in degrees that look like the given ones (…), and which of those columns count.

    None counts where any turn looks the same (symmetry 0, or more turns than there are columns).
    """
    k = torch.arange(MOST_TURNS, device=azimuth.device)
    turns = azimuth[..., None] + 360.0 * k / symmetry.clamp(min=1)[..., None]
    return turns.remainder(360.0), (k < symmetry[..., None]) & (symmetry[..., None] <= MOST_TURNS)


def view_losses(judged: BoxLogits, classes: Tensor, angles: Tensor, symmetry: Tensor, counted: Tensor) -> Tensor:
    """(4,) mean losses over boxes (B, N) that count: class, azimuth's bin, offset in it, elevation and theta."""
    many = counted.sum().clamp(min=1)
    bins, offsets, tilts = judged.of_class(classes.clamp(min=0))
    turns, same = alike(angles[..., 0], symmetry)
    place = turns * (bins.shape[-1] / 360.0)
    nearest = place.round()
    index = nearest.long() % bins.shape[-1]
    chances = bins.log_softmax(dim=-1).gather(-1, index).masked_fill(~same, -1e4)
    turned = same.any(dim=-1) & counted
    binned = -(torch.logsumexp(chances, dim=-1) * turned).sum() / turned.sum().clamp(min=1)
    gap = functional.smooth_l1_loss(offsets.gather(-1, index), place - nearest, reduction="none", beta=0.2)
    inside = ((gap * same).sum(dim=-1) / same.sum(dim=-1).clamp(min=1) * turned).sum() / turned.sum().clamp(min=1)
    tilted = functional.smooth_l1_loss(tilts, angles[..., 1:] / _TILT, reduction="none", beta=0.2).sum(dim=-1)
    named = class_loss(judged, classes, counted)
    return torch.stack((named, binned, inside, (tilted * counted).sum() / many))


def class_loss(judged: BoxLogits, classes: Tensor, counted: Tensor) -> Tensor:
    """Mean cross-entropy of the classes of boxes (B, N) that count."""
    named = functional.cross_entropy(judged.classes.flatten(0, 1), classes.clamp(min=0).flatten(), reduction="none")
    return (named.view_as(counted) * counted).sum() / counted.sum().clamp(min=1)


def share_named(judged: BoxLogits, classes: Tensor, counted: Tensor) -> Tensor:
    """Share of boxes (B, N) that count whose class is the likeliest."""
    return ((judged.classes.argmax(dim=-1) == classes) & counted).sum() / counted.sum().clamp(min=1)


def share_right(said: Tensor, angles: Tensor, symmetry: Tensor, counted: Tensor) -> Tensor:
    """Share of boxes whose azimuth, said (B, N, 3) and true, is off by less than 30°, up to the symmetry."""
    period = 360.0 / symmetry.clamp(min=1)
    gap = (said[..., 0] - angles[..., 0]).remainder(period)
    gap = torch.minimum(gap, period - gap) * (symmetry > 0)
    return ((gap < 30.0) & counted).sum() / counted.sum().clamp(min=1)
