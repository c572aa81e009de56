"""Pictures with holes and what belongs in them, made on the device from pairs of pictures.

Three kinds of holes: an object's own grown mask, to be filled with the scene without it; the mask of another
scene's object, mirrored; and irregular strokes. The last two are to be filled with the picture itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from sightline.training.inpainter.pairs import ScenePairs

MOST = 0.5
"""Largest share of a crop that a hole may have; a larger one is replaced by strokes."""

STROKES, TURNS = 4, 5
"""Strokes of an irregular hole, and straight parts of each."""


@dataclass(frozen=True, slots=True)
class FillExamples:
    """What an in-painter is shown and should paint, (B, 3, S, S) in [−1, 1].

    Attributes:
        pictures: The pictures; what lies in the hole is not to be looked at.
        targets: What should be there, equal to the pictures outside the hole.
        holes: (B, 1, S, S), 1 in the hole.
    """

    pictures: Tensor
    targets: Tensor
    holes: Tensor


def examples(pairs: ScenePairs, side: int, *, objects: float, moved: float, changed: bool = True) -> FillExamples:
    """Cut squares of `side` pixels out of pairs and give each a hole; torch's random numbers decide.

    Args:
        pairs: Pictures with and without an object.
        side: Of the squares; at most that of the pictures.
        objects: Share of the holes that are the object's own.
        moved: Share that have another object's shape; the rest are strokes.
        changed: Mirror pictures and swap their colours at random.
    """
    before, after, mask = _cut(pairs, min(side, *pairs.mask.shape[1:]))
    count, device = len(mask), mask.device
    radius = int(torch.randint(3, 9, ()))
    own = functional.max_pool2d(mask, 2 * radius + 1, stride=1, padding=radius)
    kind = torch.rand(count, 1, 1, 1, device=device)
    usable = _usable(own)
    is_own = (kind < objects) & usable
    other = own.roll(1, dims=0).flip(-1)
    is_moved = ~is_own & (kind < objects + moved) & _usable(other)
    holes = torch.where(is_own, own, torch.where(is_moved, other, strokes(count, own.shape[-1], device)))
    targets = torch.where(is_own & (holes > 0), after, before)
    if changed:
        mirrored = torch.rand(count, 1, 1, 1, device=device) < 0.5
        before, targets, holes = (torch.where(mirrored, x.flip(-1), x) for x in (before, targets, holes))
        order = torch.randperm(3, device=device)
        swapped = torch.rand(count, 1, 1, 1, device=device) < 0.5
        before, targets = (torch.where(swapped, x[:, order], x) for x in (before, targets))
    return FillExamples(before, targets, holes)


def strokes(count: int, side: int, device: torch.device) -> Tensor:
    """Irregular holes (count, 1, side, side): strokes of a brush that turns as it goes, 1 where it went."""
    grid = torch.arange(side, device=device) + 0.5
    y, x = grid[None, :, None], grid[None, None, :]
    nearest = torch.full((count, side, side), math.inf, device=device)
    for _ in range(STROKES):
        at = torch.rand(count, 2, device=device) * side
        heading = torch.rand(count, device=device) * (2 * math.pi)
        width = (0.02 + 0.05 * torch.rand(count, device=device)) * side
        for _ in range(TURNS):
            heading = heading + (torch.rand(count, device=device) - 0.5) * 2.0
            length = (0.05 + 0.15 * torch.rand(count, device=device)) * side
            step = torch.stack([heading.cos(), heading.sin()], dim=1) * length[:, None]
            (px, py), (dx, dy) = (part[:, :, None, None].unbind(1) for part in (at, step))
            along = (((x - px) * dx + (y - py) * dy) / (dx * dx + dy * dy)).clamp(0, 1)
            away = (x - px - along * dx).square() + (y - py - along * dy).square()
            nearest = torch.minimum(nearest, away / width[:, None, None].square())
            at = at + step
    drawn = (nearest < 1.0).float()[:, None]
    # Strokes that all left the square: a small disc in its middle.
    middle = ((x - side / 2).square() + (y - side / 2).square() < (side / 8) ** 2).float()[:, None]
    return torch.where(_usable(drawn), drawn, middle.expand_as(drawn))


def _usable(holes: Tensor) -> Tensor:
    share = holes.mean(dim=(1, 2, 3), keepdim=True)
    return (share > 0) & (share <= MOST)


def _cut(pairs: ScenePairs, side: int) -> tuple[Tensor, Tensor, Tensor]:
    """Squares around the objects, somewhat off the middle: pictures in [−1, 1] and masks (B, 1, S, S)."""
    mask = pairs.mask
    corners = []
    for axis in (1, 2):
        length = mask.shape[axis]
        seen = mask.any(dim=3 - axis).float()
        place = torch.arange(length, device=mask.device) + 0.5
        weight = seen.sum(dim=1)
        anywhere = torch.rand(len(mask), device=mask.device) * length
        middle = torch.where(weight > 0, (seen * place).sum(dim=1) / weight.clamp(min=1), anywhere)
        middle = middle + (torch.rand(len(mask), device=mask.device) - 0.5) * (side / 2)
        corners.append((middle - side / 2).long().clamp(0, length - side))
    step = torch.arange(side, device=mask.device)
    rows, columns = (corners[0][:, None] + step)[:, :, None], (corners[1][:, None] + step)[:, None, :]
    batch = torch.arange(len(mask), device=mask.device)[:, None, None]
    pictures = (one[batch, rows, columns].permute(0, 3, 1, 2) / 127.5 - 1.0 for one in (pairs.before, pairs.after))
    before, after = pictures
    return before, after, mask[batch, rows, columns].float()[:, None]
