"""Pooling of feature maps over boxes: bilinear (RoI align), by the largest value, and position-sensitive.

Boxes are (n, 4) xyxy in fractions of the map, so they need no scale of strides; `image` (n,) says which map of a
batch each lies in.
"""

from __future__ import annotations

import torch
from torch import Tensor

_SAMPLES = 2  # points of a cell along each side


def roi_align(maps: Tensor, boxes: Tensor, image: Tensor, cells: int) -> Tensor:
    """Average maps (B, C, H, W) over the cells × cells parts of boxes: (n, C, cells, cells).

    A part is read at 2 × 2 points, bilinearly; a point beyond the border has the value at the border.
    """
    values = _sampled(maps, boxes, image, cells * _SAMPLES)
    n, channels = values.shape[:2]
    return values.reshape(n, channels, cells, _SAMPLES, cells, _SAMPLES).mean(dim=(3, 5))


def roi_max(maps: Tensor, boxes: Tensor, image: Tensor, cells: int) -> Tensor:
    """The largest value of maps (B, C, H, W) at the points of each part of boxes: (n, C, cells, cells)."""
    values = _sampled(maps, boxes, image, cells * _SAMPLES)
    n, channels = values.shape[:2]
    return values.reshape(n, channels, cells, _SAMPLES, cells, _SAMPLES).amax(dim=(3, 5))


def position_sensitive(
    maps: Tensor, boxes: Tensor, image: Tensor, cells: int, inside: Tensor | None = None
) -> Tensor:
    """Average over boxes whose parts each have maps of their own: (n, C, cells, cells) of (B, C · cells², H, W).

    Channel c · cells² + y · cells + x of the maps belongs to part (y, x).

    Args:
        maps: The feature maps.
        boxes: (n, 4) boxes.
        image: (n,) the map of each.
        cells: Parts along a side.
        inside: (n, 4) boxes whose points alone count; a part without any of them is 0.
    """
    side = cells * _SAMPLES
    values = _sampled(maps, boxes, image, side)
    n, channels = len(boxes), maps.shape[1] // cells**2
    parts = values.reshape(n, channels, cells, cells, cells, _SAMPLES, cells, _SAMPLES)
    place = torch.arange(cells, device=maps.device)
    y, x = place[:, None], place[None, :]
    own = parts[:, :, y, x, y, :, x, :]  # advanced indices with slices between: (cells, cells, n, C, 2, 2)
    counted = torch.ones_like(own[:, :, :, :1])
    if inside is not None:
        across, down = _points(boxes, side)
        within_x = (across >= inside[:, None, 0]) & (across <= inside[:, None, 2])
        within_y = (down >= inside[:, None, 1]) & (down <= inside[:, None, 3])
        hit = (within_y[:, :, None] & within_x[:, None, :]).reshape(n, cells, _SAMPLES, cells, _SAMPLES)
        counted = hit[:, y, :, x, :][:, :, :, None].to(own.dtype)
    total = (own * counted).sum(dim=(4, 5)) / counted.sum(dim=(4, 5)).clamp(min=1.0)
    return total.permute(2, 3, 0, 1)


def union_boxes(a: Tensor, b: Tensor) -> Tensor:
    """(n, 4) the tight box of both boxes."""
    return torch.cat((torch.minimum(a[:, :2], b[:, :2]), torch.maximum(a[:, 2:], b[:, 2:])), 1)


def box_masks(boxes: Tensor, side: int) -> Tensor:
    """(n, side, side) 1 where the centre of a cell of the picture lies in the box, else 0."""
    centre = (torch.arange(side, device=boxes.device, dtype=boxes.dtype) + 0.5) / side
    in_x = (centre >= boxes[:, None, 0]) & (centre < boxes[:, None, 2])
    in_y = (centre >= boxes[:, None, 1]) & (centre < boxes[:, None, 3])
    return (in_y[:, :, None] & in_x[:, None, :]).to(boxes.dtype)


def _points(boxes: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """(n, side) horizontal and vertical places of side × side points spread evenly over boxes."""
    steps = (torch.arange(side, device=boxes.device, dtype=boxes.dtype) + 0.5) / side
    across = boxes[:, 0:1] + steps * (boxes[:, 2:3] - boxes[:, 0:1])
    down = boxes[:, 1:2] + steps * (boxes[:, 3:4] - boxes[:, 1:2])
    return across, down


def _sampled(maps: Tensor, boxes: Tensor, image: Tensor, side: int) -> Tensor:
    """(n, C, side, side) values of maps at points spread evenly over boxes."""
    across, down = _points(boxes, side)
    height, width = maps.shape[2:]
    x, y = (across * width - 0.5).clamp(0, width - 1), (down * height - 0.5).clamp(0, height - 1)
    x0, y0 = x.floor().long().clamp(max=max(width - 2, 0)), y.floor().long().clamp(max=max(height - 2, 0))
    x1, y1 = (x0 + 1).clamp(max=width - 1), (y0 + 1).clamp(max=height - 1)
    fx, fy = (x - x0)[:, None, None, :], (y - y0)[:, None, :, None]
    which = image[:, None, None]

    def at(rows: Tensor, columns: Tensor) -> Tensor:
        return maps[which, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)

    top = at(y0, x0) * (1 - fx) + at(y0, x1) * fx
    bottom = at(y1, x0) * (1 - fx) + at(y1, x1) * fx
    return top * (1 - fy) + bottom * fy
