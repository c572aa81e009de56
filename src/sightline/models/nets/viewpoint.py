"""A network that finds rigid objects and says from which side each is seen, in its own boxes or in given ones.

A residual backbone and a pyramid down to a quarter of the picture's resolution. Dense heads on the map of one
eighth say where the middle of an object of each class is, and how far from there its box reaches; what lies in a
box is then sampled from the finest map (`roi_align`) and judged alone: class, azimuth by bins with an offset in
each, elevation, theta. So the viewpoint of a found box and of a given one is the same function of picture and box.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.errors import ConfigError

MEAN, SPREAD = 0.45, 0.25
"""Pixels of [0, 1] become (pixel − MEAN) / SPREAD; what is added to a picture's edge is MEAN."""

COARSE: Final = 32
"""Sides of a picture are whole multiples of so many pixels."""
ROI: Final = 7
"""Cells along a side of what is sampled from a box, four samples in each."""
AROUND: Final = 0.1
"""Share of a box's sides that is looked at around it."""
_PRIOR: Final = 0.01  # chance of a class in a cell, before training
_TILT: Final = 45.0  # degrees of elevation and theta to the unit of their outputs


@dataclass(frozen=True, slots=True)
class ViewNetConfig:
    """The shape of a network.

    Attributes:
        classes: Names of the classes, in the order of its outputs.
        widths: Channels of the four stages, at 1/4, 1/8, 1/16 and 1/32 of the picture's resolution.
        depths: Residual blocks of each.
        neck: Channels of the pyramid.
        hidden: Units of the layer that describes a box.
        bins: Of the azimuth; the first is centred on 0°. 0 makes a detector alone, which says no viewpoints.
        side: Longer side of the pictures it is shown, pixels; others are resized.
    """

    classes: tuple[str, ...]
    widths: tuple[int, ...] = (48, 96, 192, 272)
    depths: tuple[int, ...] = (2, 2, 4, 2)
    neck: int = 96
    hidden: int = 256
    bins: int = 24
    side: int = 288

    def __post_init__(self) -> None:
        if len(self.widths) != 4 or len(self.depths) != 4:
            raise ConfigError(f"a ViewNet has four stages, not {len(self.widths)} and {len(self.depths)}")
        odd = [width for width in (*self.widths, self.neck) if width < 8 or width % 8]
        few = min(*self.depths, self.hidden) < 1 or self.bins < 0
        if odd or few or not self.classes or self.side < COARSE:
            raise ConfigError(f"a ViewNet has classes, widths in eighths, and at least one of the rest, not {self}")


SIZES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "tiny": {"widths": (24, 48, 96, 128), "depths": (1, 1, 2, 1), "neck": 64, "hidden": 160, "side": 192},
        "base": {},
        "large": {"widths": (64, 128, 256, 384), "depths": (2, 3, 9, 3), "neck": 128, "hidden": 384, "side": 384},
    }
)
"""Networks by name, as what differs from `ViewNetConfig`."""


def viewnet_config(size: str, classes: tuple[str, ...], **changes: Any) -> ViewNetConfig:
    """Make the config of a size, for some classes.

    >>> viewnet_config("tiny", ("car",)).side
    192
    """
    if size not in SIZES:
        raise ConfigError(f"unknown size {size!r} of a ViewNet; there are {', '.join(SIZES)}")
    return replace(ViewNetConfig(classes, **SIZES[size]), **changes)


class Maps(NamedTuple):
    """What the network makes of B pictures.

    Attributes:
        heat: (B, classes, h, w) logits, an eighth of the picture: an object of that class has its middle here.
        reach: (B, 4, h, w) from the middle of each cell to the box's left, top, right and lower edge, in fractions
            of the picture.
        fine: (B, neck, 2 h, 2 w) features that boxes are sampled from.
    """

    heat: Tensor
    reach: Tensor
    fine: Tensor


class BoxLogits(NamedTuple):
    """What the network says of boxes (…); of viewpoints nothing where it has no bins.

    Attributes:
        classes: (…, classes) logits.
        bins: (…, classes, bins) logits of the azimuth, were the object of that class.
        offsets: (…, classes, bins) how far from the middle of each bin, in bins.
        tilts: (…, classes, 2) elevation and theta, in units of 45°.
    """

    classes: Tensor
    bins: Tensor
    offsets: Tensor
    tilts: Tensor

    def of_class(self, classes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Bins, offsets and tilts were each object of the class of that index (…)."""
        each = classes[..., None, None]
        bins, offsets, tilts = (
            part.gather(-2, each.expand(*classes.shape, 1, part.shape[-1])).squeeze(-2)
            for part in (self.bins, self.offsets, self.tilts)
        )
        return bins, offsets, tilts

    def angles(self, classes: Tensor) -> Tensor:
        """(…, 3) azimuth, elevation and theta in degrees, were each object of the class of that index."""
        bins, offsets, tilts = self.of_class(classes)
        best = bins.argmax(dim=-1, keepdim=True)
        turn = (best + offsets.gather(-1, best)).squeeze(-1) * (360.0 / bins.shape[-1])
        tilted = (tilts * _TILT).clamp(-90.0, 90.0)
        return torch.cat((turn.remainder(360.0)[..., None], tilted), dim=-1)

    def certainty(self, classes: Tensor, within: float) -> Tensor:
        """(…) chance of the azimuths less than so many degrees from the one told, were each of that class."""
        bins, offsets, _ = self.of_class(classes)
        width = 360.0 / bins.shape[-1]
        turns = (torch.arange(bins.shape[-1], device=bins.device) + offsets) * width
        best = bins.argmax(dim=-1, keepdim=True)
        gap = (turns - turns.gather(-1, best) + 180.0).remainder(360.0) - 180.0
        near = bins.softmax(dim=-1) * (gap.abs() < within)
        chance: Tensor = near.sum(dim=-1).clamp(max=1.0)
        return chance


class _Norm(nn.GroupNorm):
    def __init__(self, width: int) -> None:
        super().__init__(8, width)


class _Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm_1, self.conv_1 = _Norm(width), nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm_2, self.conv_2 = _Norm(width), nn.Conv2d(width, width, 3, padding=1, bias=False)
        nn.init.zeros_(self.conv_2.weight)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.conv_1(functional.silu(self.norm_1(x)))
        both: Tensor = x + self.conv_2(functional.silu(self.norm_2(inner)))
        return both


class ViewNet(nn.Module):
    """The network; pictures (B, 3, H, W) of [0, 1], sides multiples of 32, boxes in fractions of them."""

    kind: ClassVar[str] = "sightline-viewnet-1"

    def __init__(self, config: ViewNetConfig) -> None:
        super().__init__()
        self.config = config
        widths, neck, classes = config.widths, config.neck, len(config.classes)
        self.stem = nn.Sequential(
            nn.Conv2d(3, widths[0], 3, stride=2, padding=1, bias=False),
            _Norm(widths[0]),
            nn.SiLU(),
            nn.Conv2d(widths[0], widths[0], 3, stride=2, padding=1, bias=False),
        )
        self.stages = nn.ModuleList()
        for i, (width, depth) in enumerate(zip(widths, config.depths, strict=True)):
            narrower = [_Norm(widths[i - 1]), nn.Conv2d(widths[i - 1], width, 3, 2, 1, bias=False)] if i else []
            self.stages.append(nn.Sequential(*narrower, *(_Block(width) for _ in range(depth))))
        self.laterals = nn.ModuleList(nn.Sequential(_Norm(w), nn.Conv2d(w, neck, 1)) for w in widths)
        self.middle, self.fine = _Block(neck), _Block(neck)
        self.dense = nn.Sequential(_Norm(neck), nn.Conv2d(neck, neck, 3, padding=1), nn.SiLU())
        self.heat, self.reach = nn.Conv2d(neck, classes, 3, padding=1), nn.Conv2d(neck, 4, 3, padding=1)
        nn.init.normal_(self.heat.weight, std=0.01)
        nn.init.constant_(self.heat.bias, math.log(_PRIOR / (1.0 - _PRIOR)))  # type: ignore[arg-type]
        nn.init.normal_(self.reach.weight, std=0.01)
        inside = neck * 3 // 2
        self.box = nn.Sequential(
            _Norm(neck),
            nn.Conv2d(neck, inside, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Flatten(),
            nn.Linear(inside * ((ROI + 1) // 2) ** 2, config.hidden),
            nn.SiLU(),
        )
        self.classes = nn.Linear(config.hidden, classes)
        self.views = nn.Linear(config.hidden, classes * (2 * config.bins + 2)) if config.bins else None

    def forward(self, pictures: Tensor) -> Maps:
        """Look at pictures."""
        x = self.stem(((pictures - MEAN) / SPREAD).to(memory_format=torch.channels_last))
        seen = []
        for stage in self.stages:
            x = stage(x)
            seen.append(x)
        top = self.laterals[3](seen[3])
        for level in (2, 1):
            below = self.laterals[level](seen[level])
            top = below + functional.interpolate(top, size=below.shape[2:], mode="nearest")
        middle = self.middle(top)
        below = self.laterals[0](seen[0])
        fine = self.fine(below + functional.interpolate(middle, size=below.shape[2:], mode="nearest"))
        dense = self.dense(middle)
        # Half the picture's sides at most; about a seventh before training.
        reach = torch.exp(self.reach(dense).float().clamp(-6.0, 2.0) - 2.0)
        return Maps(self.heat(dense), reach, fine)

    def judge(self, maps: Maps, boxes: Tensor) -> BoxLogits:
        """Say class and viewpoint of boxes (B, N, 4), xyxy in fractions of the pictures."""
        sides = (boxes[..., 2:] - boxes[..., :2]) * AROUND
        wide = torch.cat((boxes[..., :2] - sides, boxes[..., 2:] + sides), dim=-1)
        described = self.box(roi_align(maps.fine, wide, ROI).flatten(0, 1))
        shape, bins = (*boxes.shape[:2], len(self.config.classes)), self.config.bins
        classes = self.classes(described).float().view(shape)
        if self.views is None:
            nothing = classes[..., None][..., :0]
            return BoxLogits(classes, nothing, nothing, nothing)
        views = self.views(described).float().view(*shape, 2 * bins + 2)
        return BoxLogits(classes, *views.split((bins, bins, 2), dim=-1))


def roi_align(features: Tensor, boxes: Tensor, size: int) -> Tensor:
    """Sample features (B, C, h, w) in boxes (B, N, 4), fractions of them: (B, N, C, size, size).

    Each cell is the mean of four samples, which are read between the four values around them; beyond the edge the
    edge's values go on.
    """
    batch, count = boxes.shape[:2]
    steps = (torch.arange(2 * size, device=boxes.device, dtype=torch.float32) + 0.5) / (2 * size)
    x, y = (
        2.0 * (boxes[..., i, None].float() * (1.0 - steps) + boxes[..., i + 2, None].float() * steps) - 1.0
        for i in (0, 1)
    )
    wide = (batch, count, 2 * size, 2 * size)
    grid = torch.stack((x[:, :, None].expand(wide), y[..., None].expand(wide)), dim=-1).flatten(1, 2)
    samples = functional.grid_sample(features.float(), grid, padding_mode="border", align_corners=False)
    cells: Tensor = functional.avg_pool2d(samples, 2)
    return cells.view(batch, -1, count, size, size).transpose(1, 2)


def cell_middles(height: int, width: int, device: torch.device | str = "cpu") -> Tensor:
    """(2, height, width) x and y of the cells' middles, in fractions of the map."""
    y = (torch.arange(height, device=device, dtype=torch.float32) + 0.5) / height
    x = (torch.arange(width, device=device, dtype=torch.float32) + 0.5) / width
    return torch.stack((x[None, :].expand(height, -1), y[:, None].expand(-1, width)))


def boxes_of(reach: Tensor) -> Tensor:
    """(B, 4, h, w) boxes, xyxy in fractions, from how far they reach from each cell."""
    middles = cell_middles(reach.shape[2], reach.shape[3], reach.device)
    return torch.cat((middles - reach[:, :2], middles + reach[:, 2:]), dim=1)


class Peaks(NamedTuple):
    """The likeliest objects of B pictures: (B, k) scores and classes, (B, k, 4) boxes in fractions."""

    scores: Tensor
    classes: Tensor
    boxes: Tensor


def peaks(maps: Maps, most: int) -> Peaks:
    """Find the cells that are likelier than their neighbours, the likeliest `most` of each picture."""
    heat = maps.heat.float().sigmoid()
    heat = heat * (heat == functional.max_pool2d(heat, 3, 1, 1))
    scores, places = heat.flatten(1).topk(min(most, heat[0].numel()), dim=1)
    cells = heat.shape[2] * heat.shape[3]
    classes, cell = places // cells, places % cells
    boxes = boxes_of(maps.reach).flatten(2).transpose(1, 2).clamp(0.0, 1.0)
    return Peaks(scores, classes, boxes.gather(1, cell[..., None].expand(-1, -1, 4)))


def kept(boxes: Tensor, scores: Tensor, classes: Tensor, overlap: float = 0.5) -> Tensor:
    """Indices (m,) of boxes that no likelier one of their class overlaps by more than this, likeliest first."""
    near = ((overlaps(boxes, boxes) > overlap) & (classes[:, None] == classes)).tolist()
    chosen: list[int] = []
    for i in scores.argsort(descending=True, stable=True).tolist():
        if not any(near[i][j] for j in chosen):
            chosen.append(i)
    return torch.tensor(chosen, dtype=torch.int64)


def overlaps(a: Tensor, b: Tensor) -> Tensor:
    """(n, m) intersection over union of boxes (n, 4) and (m, 4); 0 for empty ones."""
    low, high = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = (high - low).clamp(min=0.0).prod(dim=-1)
    whole = (a[:, None, 2:] - a[:, None, :2]).prod(dim=-1) + (b[None, :, 2:] - b[None, :, :2]).prod(dim=-1) - shared
    return shared / whole.clamp(min=1e-12)
