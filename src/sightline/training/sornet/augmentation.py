"""Augmentation in image space: the same change of a scene's views and of its query patches.

Nothing here draws an object that was held out: pictures of the training world are recoloured, made harsher or
softer, noisier, and seen from a little nearer or farther. A change is drawn first, then done to the pixels by plain
operations on tensors of fixed shape, of which Inductor makes a few kernels. Matrices are multiplied where few
digits are enough: autocast leaves no more.
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


def draw_changes(
    how: Augmentation, scenes: int, views: int, device: torch.device | str = "cpu", *, first: bool = True
) -> Change:
    """Random changes of so many scenes, by torch's own random numbers: seed them to have the same again.

    Args:
        how: How far.
        scenes: How many, of so many `views`.
        views: Of each.
        device: Where they are.
        first: Whether the first view is the original camera's. Only that one is stretched: up and down in another
            are not what they are in a patch.
    """

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
    colours = contrast[:, None, None] * _swapped(_hue(turn, saturation), some(how.swap), uniform(scenes, 3))
    middle = 0.5 - 0.5 * contrast + around(how.brightness, scenes) * coloured
    return Change(
        colours,
        middle[:, None].expand(-1, 3),
        torch.exp(around(how.gamma, scenes) * coloured),
        torch.exp(around(how.zoom, scenes) * shaped),
        torch.exp((uniform(scenes) * (1.0 + _HIGHER) - 1.0) * how.stretch * some(how.share) * first),
        around(2.0 * how.shift, scenes, views, 2) * shaped[:, None, None],
        uniform(scenes) * how.blur * some(0.5 * how.share),
        uniform(scenes) * how.noise * some(how.share),
        uniform(scenes) * how.matte * some(0.5 * how.share),
    )


def _hue(turn: Tensor, saturation: Tensor) -> Tensor:
    """(B, 3, 3): turns colours about the grey axis and stretches them away from it."""
    c, s = torch.cos(turn) * saturation, torch.sin(turn) * saturation
    grey = torch.full((3, 3), 1.0 / 3.0, device=turn.device)
    plane = torch.eye(3, device=turn.device) - grey
    across = torch.eye(3, device=turn.device)
    across = across.roll(2, dims=1) - across.roll(1, dims=1)
    return grey + c[:, None, None] * plane + s[:, None, None] * across / math.sqrt(3.0)


def _swapped(colours: Tensor, which: Tensor, keys: Tensor) -> Tensor:
    """(B, 3, 3): what makes each channel, in a random order where `which` (B,) is 1."""
    places = torch.where(which[:, None] > 0.0, keys.argsort(dim=1), torch.arange(3, device=keys.device))
    return colours.gather(1, places[..., None].expand(-1, -1, 3))


def prepared(
    change: Change | None,
    views: Tensor,
    patches: Tensor,
    sizes: Tensor | None,
    ids: Tensor | None,
    outlines: Tensor | None,
    cell: int,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Change views and patches to what a network gets, and give what `covers` tells where id maps are given.

    Where outlines are given too, objects are dulled; `apply` says the rest.
    """
    objects = patches.shape[1]
    shares = None if ids is None else covers(ids, objects, cell, change)
    if change is None:
        return *unchanged(views, patches), shares
    if ids is not None and outlines is not None:
        views = dulled_views(views, ids, objects, change.matte)
        patches = dulled_patches(patches, outlines, change.matte)
    return *apply(change, views, patches, sizes), shares


def apply(change: Change, views: Tensor, patches: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Changed views (B, V, H, W, 3) and patches (B, N, side, side, 3), floats of [0, 1], from uint8.

    A nearer view shows larger objects, and the canonical view of a larger object fills more of its square: patches
    are enlarged by what their objects' sizes (B, N) would have grown to, or as the views where nobody knows sizes.

    Args:
        change: What to do.
        views: Pictures.
        patches: Query patches.
        sizes: Sizes of the queries' objects, 1 for medium.
    """
    still = torch.zeros(*patches.shape[:2], 2, device=patches.device)
    zoom = change.zoom[:, None]
    grown = zoom.expand(patches.shape[:2]) if sizes is None else fill(zoom * sizes) / fill(sizes)
    both = torch.stack((grown, grown * change.stretch[:, None]), dim=-1)
    return (
        _changed(views, change, _scales(change, views.shape[1]), change.shift, change.blur),
        _changed(patches, change, both, still, _ON_PATCHES * change.blur),
    )


def _scales(change: Change, views: int) -> Tensor:
    """(B, V, 2): by how much each view is enlarged along x and y."""
    scales = change.zoom[:, None, None].repeat(1, views, 2)
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


def covers(ids: Tensor, objects: int, cell: int, change: Change | None = None) -> Tensor:
    """(B, N, T): share of each patch that shows an object, in changed views; nothing comes in from outside.

    What a pixel counts in a patch is the product of what its row and its column count: so no mask has to be moved
    and made smaller, pixel by pixel.

    Args:
        ids: (B, V, h, w) uint8: 0 the table, i + 1 object i.
        objects: N.
        cell: Side of a patch, in pixels of `ids`.
        change: None leaves views as they are.
    """
    scenes, views, height, width = ids.shape
    same = torch.ones(scenes, views, 2, device=ids.device)
    scales = (same if change is None else _scales(change, views)).flatten(0, 1)
    shift = (0.0 * same if change is None else change.shift).flatten(0, 1)
    kind = _kind(ids.device)
    columns, rows = (
        _counts(_middles(side, scales[:, axis], shift[:, axis]), cell).to(kind)
        for axis, side in enumerate((width, height))
    )
    numbers = torch.arange(1, objects + 1, device=ids.device)
    masks = (ids.flatten(0, 1)[:, None] == numbers[:, None, None]).to(kind)
    across = masks.flatten(1, 2) @ columns.mT
    shares = rows[:, None] @ across.view(scenes * views, objects, height, -1)
    return shares.float().view(scenes, views, objects, -1).transpose(1, 2).flatten(2)


def _counts(middles: Tensor, cell: int) -> Tensor:
    """(pictures, cells, side): what each pixel of a side counts in a cell; `middles` tells where that is read."""
    pictures, side = middles.shape
    places = ((middles + 1.0) * side - 1.0) / 2.0
    away = places[..., None] - torch.arange(side, device=middles.device)
    return (1.0 - away.abs()).clamp(min=0.0).view(pictures, -1, cell, side).mean(dim=2)


def _changed(pixels: Tensor, change: Change, scales: Tensor, shift: Tensor, blur: Tensor) -> Tensor:
    """Pictures (B, P, H, W, 3) changed; in place where that is possible.

    Colours are linear, and neither moving nor blurring changes a plain colour: so they may come first, where pixels
    have to become floats anyway. Past the blur nothing needs more digits than the network works with.
    """
    scenes, pictures = pixels.shape[:2]

    def each(value: Tensor) -> Tensor:
        return value.repeat_interleave(pictures, dim=0)[..., None, None]

    colours, planes = each(change.colours / 255.0), each(change.offset)
    for channel, source in enumerate(pixels.flatten(0, 1).unbind(dim=-1)):
        planes = torch.addcmul(planes, colours[:, :, channel], source.float()[:, None])
    planes = _moved(planes, scales.flatten(0, 1), shift.flatten(0, 1))
    soft = functional.avg_pool2d(planes, 3, 1, 1, count_include_pad=False)
    soft = functional.avg_pool2d(soft, 3, 1, 1, count_include_pad=False)
    noisy = planes.lerp_(soft, each(blur[:, None])).to(_kind(pixels.device))
    noisy.clamp_(1e-4, 1.0).pow_(each(change.exponent[:, None]))
    noisy.addcmul_(torch.randn_like(noisy), each(change.noise[:, None])).clamp_(0.0, 1.0)
    return noisy.view(scenes, pictures, *noisy.shape[1:]).permute(0, 1, 3, 4, 2)


def _kind(device: torch.device) -> torch.dtype:
    """What the network works with there: autocast's type where that is on."""
    on = torch.is_autocast_enabled(device.type)
    return torch.get_autocast_dtype(device.type) if on else torch.float32


def _moved(planes: Tensor, scales: Tensor, shift: Tensor) -> Tensor:
    """(pictures, 3, H, W) read where the change says; outside the border is repeated.

    Not by `affine_grid`: that multiplies matrices, which autocast does in eight digits, and half a pixel is lost.
    """
    height, width = planes.shape[2:]
    x, y = (_middles(side, scales[:, axis], shift[:, axis]) for axis, side in enumerate((width, height)))
    grid = torch.stack((x[:, None].expand(-1, height, -1), y[:, :, None].expand(-1, -1, width)), dim=-1)
    return functional.grid_sample(planes, grid, padding_mode="border", align_corners=False)


def _middles(side: int, scale: Tensor, shift: Tensor) -> Tensor:
    """(pictures, side): where pixels of a side are read, in half sides from its middle; enlarged, then shifted."""
    middles = (2.0 * torch.arange(side, device=scale.device) + 1.0) / side - 1.0
    return middles / scale[:, None] + shift[:, None]
