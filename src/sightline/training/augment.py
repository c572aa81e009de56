"""Augmentation in image space: the same change of a scene's views and of its query patches.

Nothing here draws an object that was held out: pictures of the training world are recoloured, made harsher or
softer, noisier, and seen from a little nearer or farther.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from sightline.render.canonical import FILLS
from sightline.worlds import SIZES

_HIGHER: Final = 0.45  # of the stretch: tall things leave the picture
_ON_PATCHES: Final = 0.3  # a patch is a few pixels wide: what softens a view would wipe it out


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How far scenes are changed; each strength is the end of a range, 0 turns the change off.

    Attributes:
        share: Of the scenes that are recoloured at all; as many, chosen apart, are zoomed, blurred, made noisy.
        hue: Turn of all colours, in turns.
        saturation: Factor on colourfulness, between 0 and 1 + this.
        swap: Share of the scenes whose colour channels change places.
        contrast: Logarithm of the factor on the distance from mid-grey.
        brightness: Added, in units of white.
        gamma: Logarithm of the exponent.
        zoom: Logarithm of the factor by which views are enlarged, or made smaller, and objects with them.
        shift: Share of the side by which a view is moved.
        blur: Weight of a blurred copy.
        noise: Standard deviation in units of white.
        grey: Share of the scenes without any colour: there objects are told apart by shape alone.
        stretch: Logarithm of the factor by which the first view and the patches are made lower, or, less than half
            as far, higher: unfamiliar shapes, and no change to what is left of, behind, in or on what.
        matte: Share of the way from an object's pixels to their mean: shiny things look as if they were dull.
    """

    share: float = 0.8
    hue: float = 0.5
    saturation: float = 0.6
    swap: float = 0.3
    contrast: float = 0.35
    brightness: float = 0.12
    gamma: float = 0.35
    zoom: float = 0.25
    shift: float = 0.04
    blur: float = 1.0
    noise: float = 0.04
    grey: float = 0.2
    stretch: float = 0.5
    matte: float = 0.8

    @classmethod
    def light(cls) -> Augmentation:
        """Without the changes that help with things never seen, and cost a training of minutes more elsewhere."""
        return cls(grey=0.0, stretch=0.0, matte=0.0)


class Change(NamedTuple):
    """One change a scene, drawn at random.

    Attributes:
        colours: (B, 3, 3), `offset` (B, 3), `exponent` (B,): applied to pixels of [0, 1] in that order.
        zoom: (B,); `stretch` (B,) of the vertical beside it; `shift` (B, V, 2) in half sides.
        blur: (B,) weight; `noise` (B,) standard deviation.
        matte: (B,) share of the way to an object's mean colour.
    """

    colours: Tensor
    offset: Tensor
    exponent: Tensor
    zoom: Tensor
    stretch: Tensor
    shift: Tensor
    blur: Tensor
    noise: Tensor
    matte: Tensor


def draw_changes(how: Augmentation, scenes: int, views: int, device: torch.device | str = "cpu") -> Change:
    """Random changes of so many scenes, by torch's own random numbers: seed them to have the same again."""

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, device=device)

    def around(reach: float, *shape: int) -> Tensor:
        return (2.0 * uniform(*shape) - 1.0) * reach

    def some(share: float) -> Tensor:
        return (uniform(scenes) < share).float()

    coloured, shaped = some(how.share), some(how.share)
    turn = around(2.0 * math.pi * how.hue, scenes) * coloured
    saturation = 1.0 + coloured * (uniform(scenes) * (1.0 + how.saturation) - 1.0) * (how.saturation > 0)
    saturation = saturation * (1.0 - some(how.grey))
    contrast = torch.exp(around(how.contrast, scenes) * coloured)
    colours = contrast[:, None, None] * (_order(some(how.swap), uniform(scenes, 3)) @ _hue(turn, saturation))
    middle = 0.5 - 0.5 * contrast + around(how.brightness, scenes) * coloured
    return Change(
        colours,
        middle[:, None].expand(-1, 3),
        torch.exp(around(how.gamma, scenes) * coloured),
        torch.exp(around(how.zoom, scenes) * shaped),
        torch.exp((uniform(scenes) * (1.0 + _HIGHER) - 1.0) * how.stretch * some(how.share)),
        around(2.0 * how.shift, scenes, views, 2) * shaped[:, None, None],
        uniform(scenes) * how.blur * some(0.5 * how.share),
        uniform(scenes) * how.noise * some(how.share),
        uniform(scenes) * how.matte * some(0.5 * how.share),
    )


def apply(
    change: Change, views: Tensor, patches: Tensor, sizes: Tensor | None = None, *, first: bool = True
) -> tuple[Tensor, Tensor]:
    """Changed views (B, V, H, W, 3) and patches (B, N, side, side, 3), floats of [0, 1], from uint8.

    A nearer view shows larger objects, and the canonical view of a larger object fills more of its square: patches
    are enlarged by what their objects' sizes (B, N) would have grown to, or as the views where nobody knows sizes.

    Args:
        change: What to do.
        views: Pictures.
        patches: Query patches.
        sizes: Sizes of the queries' objects, 1 for medium.
        first: Whether the first view is the original camera's. Only that one is stretched: up and down in another
            are not what they are in a patch.
    """
    still = torch.zeros(*patches.shape[:2], 2, device=patches.device)
    zoom = change.zoom[:, None]
    grown = zoom.expand(patches.shape[:2]) if sizes is None else fill(zoom * sizes) / fill(sizes)
    higher = grown * change.stretch[:, None] if first else grown
    return (
        _changed(views, change, _scales(change, views.shape[1], first), change.shift, change.blur),
        _changed(patches, change, torch.stack((grown, higher), dim=-1), still, _ON_PATCHES * change.blur),
    )


def _scales(change: Change, views: int, first: bool) -> Tensor:
    """(B, V, 2): by how much each view is enlarged along x and y."""
    scales = change.zoom[:, None, None].repeat(1, views, 2)
    if first:
        scales[:, 0, 1] *= change.stretch
    return scales


def fill(size: Tensor) -> Tensor:
    """Share of its canonical view that an object of some size takes up: through small, medium and large.

    >>> [round(float(fill(torch.tensor(SIZES[name]))), 3) for name in FILLS] == list(FILLS.values())
    True
    """
    (small, low), (large, high) = ((SIZES[name], FILLS[name]) for name in ("small", "large"))
    return low + (size - small) * ((high - low) / (large - small))


def dulled_views(views: Tensor, ids: Tensor, objects: int, matte: Tensor) -> Tensor:
    """Views (B, V, H, W, 3) uint8 with each object's pixels moved towards their mean; (B,) how far.

    Coarse id maps (B, V, H / c, W / c) tell whose a pixel is; at the edge of an object that is true to a cell.
    """
    cell = views.shape[2] // ids.shape[2]
    seen = views[:, :, cell // 2 :: cell, cell // 2 :: cell].float()
    numbers = torch.arange(objects + 1, device=ids.device)
    owners = (ids.flatten(2)[..., None] == numbers).float()  # (B, V, cells, ids)
    total = owners.transpose(2, 3) @ seen.flatten(2, 3)
    means = total / owners.sum(dim=2)[..., None].clamp(min=1.0)
    wanted = means.gather(2, ids.long().flatten(2)[..., None].expand(-1, -1, -1, 3)).view(seen.shape)
    weight = (ids > 0).float() * matte.view(-1, 1, 1, 1)

    def finer(cells: Tensor) -> Tensor:
        return cells.repeat_interleave(cell, dim=2).repeat_interleave(cell, dim=3)

    far = finer(weight)[..., None]
    return (views + far * (finer(wanted) - views)).round().to(torch.uint8)


def dulled_patches(patches: Tensor, outlines: Tensor, matte: Tensor) -> Tensor:
    """Patches (B, N, side, side, 3) uint8 likewise; outlines (B, N, side, side) uint8 tell where the object is."""
    share = outlines.float()[..., None] / 255.0
    mean = (patches * share).sum(dim=(2, 3), keepdim=True) / share.sum(dim=(2, 3), keepdim=True).clamp(min=1e-6)
    far = share * matte.view(-1, 1, 1, 1, 1)
    return (patches + far * (mean - patches)).round().to(torch.uint8)


def unchanged(views: Tensor, patches: Tensor) -> tuple[Tensor, Tensor]:
    """The same pixels as floats of [0, 1]."""
    return views.float() / 255.0, patches.float() / 255.0


def moved_masks(change: Change, masks: Tensor, *, first: bool = True) -> Tensor:
    """Masks (B, N, V, h, w) where zoomed and shifted views show them; nothing comes in from outside."""
    scenes, objects, cameras = masks.shape[:3]
    frames = (
        _frames(_scales(change, cameras, first), change.shift)
        .view(scenes, 1, cameras, 2, 3)
        .expand(-1, objects, -1, -1, -1)
    )
    planes = masks.reshape(-1, 1, *masks.shape[3:])
    return _sampled(planes, frames.reshape(-1, 2, 3), "zeros").view(masks.shape)


def _changed(pixels: Tensor, change: Change, zoom: Tensor, shift: Tensor, blur: Tensor) -> Tensor:
    """Pictures (B, P, H, W, 3) changed; one pass over them after the other, in place where that is possible."""
    scenes, pictures, height, width, _ = pixels.shape
    planes = pixels.flatten(0, 1).permute(0, 3, 1, 2).float().div_(255.0)
    planes = _sampled(planes, _frames(zoom, shift), "border")
    soft = functional.avg_pool2d(planes, 3, 1, 1, count_include_pad=False)
    soft = functional.avg_pool2d(soft, 3, 1, 1, count_include_pad=False)
    planes = planes.lerp_(soft, _each(blur, pictures).view(-1, 1, 1, 1))
    told = torch.baddbmm(
        _each(change.offset, pictures)[..., None], _each(change.colours, pictures), planes.flatten(2)
    )
    told.clamp_(1e-4, 1.0).pow_(_each(change.exponent, pictures).view(-1, 1, 1))
    told.addcmul_(torch.randn_like(told), _each(change.noise, pictures).view(-1, 1, 1)).clamp_(0.0, 1.0)
    return told.view(scenes, pictures, 3, height, width).permute(0, 1, 3, 4, 2)


def _each(value: Tensor, pictures: int) -> Tensor:
    """What is told of a scene, for each of its pictures."""
    return value.repeat_interleave(pictures, dim=0)


def _frames(zoom: Tensor, shift: Tensor) -> Tensor:
    """(scenes · pictures, 2, 3): where each picture is read, enlarged about the middle and shifted."""
    frames = torch.zeros(zoom.numel() // 2, 2, 3, device=zoom.device)
    frames[:, 0, 0], frames[:, 1, 1] = (1.0 / zoom.flatten(0, 1)).unbind(dim=1)
    frames[:, :, 2] = shift.flatten(0, 1)
    return frames


def _sampled(planes: Tensor, frames: Tensor, outside: str) -> Tensor:
    grid = functional.affine_grid(frames, list(planes.shape), align_corners=False)
    return functional.grid_sample(planes, grid, padding_mode=outside, align_corners=False)


def _hue(turn: Tensor, saturation: Tensor) -> Tensor:
    """(B, 3, 3): turns colours about the grey axis and stretches them away from it."""
    c, s = torch.cos(turn) * saturation, torch.sin(turn) * saturation
    grey = torch.full((3, 3), 1.0 / 3.0, device=turn.device)
    plane = torch.eye(3, device=turn.device) - grey
    across = torch.tensor(((0.0, -1.0, 1.0), (1.0, 0.0, -1.0), (-1.0, 1.0, 0.0)), device=turn.device)
    return grey + c[:, None, None] * plane + s[:, None, None] * across / math.sqrt(3.0)


def _order(swapped: Tensor, keys: Tensor) -> Tensor:
    """(B, 3, 3): a random order of the channels where `swapped` is 1."""
    places = keys.argsort(dim=1)
    eye = torch.eye(3, device=keys.device)
    keep = 1.0 - swapped[:, None, None]
    return keep * eye + (1.0 - keep) * eye[places]
