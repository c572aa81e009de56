"""Augmentation of a SORNet's pictures: the same change of a scene's views and of its query patches.

Nothing here draws an object that was held out: pictures of the training world are recoloured, made harsher or
softer, noisier, and seen from a little nearer or farther.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from sightline.render.canonical import FILLS
from sightline.training.augmentation import Change, changed, kind_there, middles
from sightline.worlds import SIZES

_ON_PATCHES: Final = 0.3  # a patch is a few pixels wide: what softens a view would wipe it out


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
        changed(views, change, _scales(change, views.shape[1]), change.shift, change.blur),
        changed(patches, change, both, still, _ON_PATCHES * change.blur),
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
    kind = kind_there(ids.device)
    columns, rows = (
        _counts(middles(side, scales[:, axis], shift[:, axis]), cell).to(kind)
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
