"""Augmentation in image space: recolour, blur and make noisy, enlarge and move pictures of any training.

A change is drawn first, then done to the pixels by plain operations on tensors of fixed shape, of which Inductor
makes a few kernels. Matrices are multiplied where few digits are enough: autocast leaves no more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

_HIGHER: Final = 0.45  # of the stretch: tall things leave the picture


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


def changed(pixels: Tensor, change: Change, scales: Tensor, shift: Tensor, blur: Tensor) -> Tensor:
    """Pictures (B, P, H, W, 3) changed; in place where that is possible.

    Colours are linear, and neither moving nor blurring changes a plain colour: so they may come first, where pixels
    have to become floats anyway. Compiled for a card, planes in between have 16 bits, eleven of them digits: more
    than a byte has, and half as much to read and write.
    """
    scenes, pictures = pixels.shape[:2]
    compiled = torch.compiler.is_compiling()
    between = torch.float16 if compiled and pixels.is_cuda else torch.float32

    def each(value: Tensor) -> Tensor:
        return value.repeat_interleave(pictures, dim=0)[..., None, None]

    colours, planes = each(change.colours / 255.0), each(change.offset)
    for channel, source in enumerate(pixels.flatten(0, 1).unbind(dim=-1)):
        planes = torch.addcmul(planes, colours[:, :, channel], source.float()[:, None])
    planes = moved(planes.to(between), scales.flatten(0, 1), shift.flatten(0, 1))
    soft = functional.avg_pool2d(planes, 3, 1, 1, count_include_pad=False)
    soft = functional.avg_pool2d(soft, 3, 1, 1, count_include_pad=False)
    planes.lerp_(soft, each(blur[:, None]).to(between)).clamp_(1e-4, 1.0)
    kind, exponent = kind_there(pixels.device), each(change.exponent[:, None])
    if compiled:  # one kernel: what counts is how much it works out
        made = planes.float().log_().mul_(exponent).exp_()
        noise = nearly_normal(made.shape, made.device)
    else:  # a pass over memory for every operation: few of them, and few bits
        made = planes.to(kind).pow_(exponent)
        noise = torch.randn_like(made)
    made = made.addcmul_(noise, each(change.noise[:, None])).clamp_(0.0, 1.0).to(kind)
    return made.view(scenes, pictures, *made.shape[1:]).permute(0, 1, 3, 4, 2)


def nearly_normal(shape: Sequence[int], device: torch.device | str = "cpu") -> Tensor:
    """Random numbers of mean 0 and variance 1 for pictures (n, …), within ±3.46: each the sum of four random bytes.

    The bytes are a hash of an element's number in its picture and of two random numbers a picture. Compiled, that
    is less work than torch's normal numbers; not compiled it is more.
    """
    whole, each = math.prod(shape[1:]), (shape[0], *(1 for _ in shape[1:]))
    first, second = torch.randint(-(2**31), 2**31 - 1, (2, *each), dtype=torch.int32, device=device)
    x: Tensor = torch.arange(whole, dtype=torch.int32, device=device).view(1, *shape[1:]) ^ first
    for bits, factor in ((16, 0x7FEB352D), (15, 0x35A2D1A9)):  # odd factors, so that no two numbers become one
        x = (x ^ _shifted(x, bits)) * factor
    x = x ^ second
    x = (x ^ _shifted(x, 16)) * 0x7FEB352D
    x = x ^ _shifted(x, 16)
    total = (x & 255) + ((x >> 8) & 255) + ((x >> 16) & 255) + ((x >> 24) & 255)
    noise: Tensor = (total.float() - 4 * 127.5) / math.sqrt(4 * (256**2 - 1) / 12)
    return noise


def _shifted(x: Tensor, bits: int) -> Tensor:
    """The upper bits of 32, moved down; zeros come in, not copies of the sign."""
    moved_down: Tensor = (x >> bits) & (2 ** (32 - bits) - 1)
    return moved_down


def kind_there(device: torch.device) -> torch.dtype:
    """What the network works with there: autocast's type where that is on."""
    on = torch.is_autocast_enabled(device.type)
    return torch.get_autocast_dtype(device.type) if on else torch.float32


def moved(planes: Tensor, scales: Tensor, shift: Tensor) -> Tensor:
    """(pictures, 3, H, W) read where the change says; outside the border is repeated.

    Not by `affine_grid`: that multiplies matrices, which autocast does in eight digits, and half a pixel is lost.
    """
    height, width = planes.shape[2:]
    x, y = (middles(side, scales[:, axis], shift[:, axis]) for axis, side in enumerate((width, height)))
    if torch.compiler.is_compiling():
        return read_at(planes, x, y)
    grid = torch.stack((x[:, None].expand(-1, height, -1), y[:, :, None].expand(-1, -1, width)), dim=-1)
    return functional.grid_sample(planes, grid, padding_mode="border", align_corners=False)


def read_at(planes: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """(pictures, 3, H, W) read at columns x (pictures, W) and rows y (pictures, H), in half sides from the middle.

    As `grid_sample` with a repeated border, but one x a column and one y a row instead of two for every pixel.
    Compiled it takes less time than that; not compiled, more.
    """
    height, width = planes.shape[2:]
    (left, right, along), (top, bottom, down) = (_neighbours(at, side) for at, side in ((x, width), (y, height)))
    number = torch.arange(len(planes), device=planes.device)[:, None, None, None]
    channel = torch.arange(planes.shape[1], device=planes.device)[:, None, None]

    def row(at: Tensor) -> Tensor:
        one, two = (planes[number, channel, at[:, None, :, None], to[:, None, None]] for to in (left, right))
        return one.float() + along[:, None, None] * (two.float() - one.float())

    above = row(top)
    return (above + down[:, None, :, None] * (row(bottom) - above)).to(planes.dtype)


def _neighbours(at: Tensor, side: int) -> tuple[Tensor, Tensor, Tensor]:
    """Pixels on both sides of places in half sides, kept inside; how far from the first to the other each is."""
    place = (((at + 1.0) * side - 1.0) / 2.0).clamp(0.0, side - 1.0)
    low = place.floor()
    return low.long(), (low + 1.0).clamp(max=side - 1.0).long(), place - low


def middles(side: int, scale: Tensor, shift: Tensor) -> Tensor:
    """(pictures, side): where pixels of a side are read, in half sides from its middle; enlarged, then shifted."""
    middles = (2.0 * torch.arange(side, device=scale.device) + 1.0) / side - 1.0
    return middles / scale[:, None] + shift[:, None]
