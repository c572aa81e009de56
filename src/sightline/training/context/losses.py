"""Losses of classifiers and segmenters that are taught with removed objects, and which class is removed.

S are logits. Of an image I the edits I − c are there for every class c that can be removed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.training.context.scenes import IGNORED


def removed_labels(labels: Tensor, gone: Tensor) -> Tensor:
    """Labels (E, C) bool of edits: those of the picture, without the class (E,) that was removed."""
    return labels & ~functional.one_hot(gone, labels.shape[1]).bool()


def hinge(logits: Tensor, source: Tensor, gone: Tensor) -> tuple[Tensor, Tensor]:
    """Hinge loss (5) and the share of classes that violate the order (1), of whole edit sets.

    An image's loss is the sum over its removable classes c of max(0, S_c(I − c) − min over c' ≠ c of S_c(I − c')),
    without a margin; images with one such class have none. The mean is over images with two and more.

    Args:
        logits: (E, C) of all edits of some images.
        source: (E,) the image of each edit.
        gone: (E,) the class removed.
    """
    companions = (source[:, None] == source[None]) & ~torch.eye(len(source), dtype=torch.bool, device=source.device)
    counted = companions.any(dim=1)
    if not bool(counted.any()):
        return logits.sum() * 0.0, logits.new_zeros(())
    theirs = logits[:, gone].T  # [edit, other edit]: score of the class this edit lacks, in the other one
    lowest = theirs.masked_fill(~companions, torch.inf).amin(dim=1)[counted]
    own = logits.gather(1, gone[:, None])[:, 0][counted]
    images = torch.unique(source[counted]).numel()
    return functional.relu(own - lowest).sum() / images, (own > lowest).float().mean()


def pixel_loss(logits: Tensor, maps: Tensor, holes: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of pixels, those in holes left out (*Ignore*).

    Args:
        logits: (B, C, H, W).
        maps: (B, H, W) classes; `IGNORED` counts for nothing.
        holes: (B, H, W) bool.
    """
    truth = maps.long() if holes is None else maps.long().masked_fill(holes, IGNORED)
    total = functional.cross_entropy(logits, truth, ignore_index=IGNORED, reduction="sum")
    return total / (truth != IGNORED).sum().clamp(min=1)


def negative_loss(logits: Tensor, gone: Tensor, holes: Tensor) -> Tensor:
    """Mean of −log(1 − p) over pixels in holes, p being the probability of the removed class (*Negative*).

    Args:
        logits: (E, C, H, W).
        gone: (E,) the class removed.
        holes: (E, H, W) bool.
    """
    if not len(logits):
        return logits.sum() * 0.0
    removed = functional.one_hot(gone, logits.shape[1]).bool()[:, :, None, None]
    own = logits.float().gather(1, gone[:, None, None, None].expand(-1, 1, *logits.shape[2:]))[:, 0]
    others = logits.float().masked_fill(removed, -torch.inf).logsumexp(dim=1)
    # −log(1 − p) = log(1 + e^(own − others)): no 1 − p that rounds to 0.
    return (functional.softplus(own - others) * holes).sum() / holes.sum().clamp(min=1)


class RunningLosses(nn.Module):
    """The average cross-entropy of each class over the batches so far: what HardNegative goes by.

    Args:
        classes: How many.
        keep: Share of the average that a batch leaves.
    """

    def __init__(self, classes: int, keep: float = 0.95) -> None:
        super().__init__()
        self.keep = keep
        self.mean: Tensor
        self.register_buffer("mean", torch.ones(classes))

    @torch.no_grad()
    def update(self, logits: Tensor, maps: Tensor) -> None:
        """Take a batch in; classes that it does not show stay as they are."""
        truth = maps.long()
        losses = functional.cross_entropy(logits.float(), truth, ignore_index=IGNORED, reduction="none")
        size, known = len(self.mean), truth != IGNORED
        sums = torch.zeros_like(self.mean).scatter_add_(0, truth[known], losses[known])
        counts = torch.bincount(truth[known], minlength=size)[:size]
        batch = sums / counts.clamp(min=1)
        self.mean.copy_(torch.where(counts > 0, self.mean * self.keep + batch * (1 - self.keep), self.mean))


def removal_weights(strategy: str, table: Tensor, gone: Tensor, areas: Tensor, losses: Tensor) -> Tensor:
    """(B, K) weights by which one edit of each image is drawn; 0 where there is none.

    Args:
        strategy: ``random`` (and ``rand``) all alike; ``sizebased`` ∝ 1 / area of the class in the image;
            ``hardnegative`` ∝ 1 / average loss of the class.
        table: (B, K) numbers of the edits, −1 for none.
        gone: (m,) the class that each edit lacks.
        areas: (B, C) share of the picture.
        losses: (C,) average losses.
    """
    there = table >= 0
    kinds = gone[table.clamp(min=0)]
    if strategy == "sizebased":
        return there / areas.gather(1, kinds).clamp(min=1e-6)
    if strategy == "hardnegative":
        return there / losses[kinds].clamp(min=1e-6)
    return there.float()


def drawn_edits(weights: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
    """Draw one edit of each image by weights: rows of the images that have one, and the edits' numbers."""
    rows = (weights.sum(dim=1) > 0).nonzero()[:, 0]
    if not len(rows):
        return rows, rows
    columns = torch.multinomial(weights[rows], 1)
    return rows, table[rows].gather(1, columns)[:, 0]
