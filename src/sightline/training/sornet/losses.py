"""What training minimises: the predicates of every pair, and facts of every object that help to learn them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.scenes.labels import PREDICATES, SPATIAL
from sightline.training.sornet.layouts import FACTS, LENGTHS

_CONTAINS, _SUPPORTS = (PREDICATES.index(predicate) for predicate in ("contains", "supports"))
_UPRIGHT = [name in ("behind", "base", "height", "cavity_depth") for name in FACTS[:LENGTHS]]
_TOUCHED = 0.02  # share of a patch from which on it shows the object
_SEEN = 0.01  # patches' worth of visible pixels below which an object cannot be pointed at


class FactsHead(nn.Module):
    """Tells the facts of an object (`layouts.FACTS`) from its embedding; used in training only.

    Predicates say little about where an object is, a bit a pair; its place and measures say more. The network that
    is kept has no such head.
    """

    def __init__(self, width: int, hidden: int = 256) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, len(FACTS)))

    def forward(self, embeddings: Tensor) -> Tensor:
        """Facts of embedded objects: (B, N, 13)."""
        facts: Tensor = self.layers(embeddings).float()
        return facts


def predicate_loss(logits: Tensor, labels: Tensor, present: Tensor, near: float = 3.0) -> Tensor:
    """Mean binary cross-entropy over the judgements of pairs of present, different objects.

    Args:
        logits: (B, N, N, P), predicates in the order of `PREDICATES`.
        labels: (B, N, N, P) bool.
        present: (B, N) bool.
        near: Weight of a direction between two objects one of which stands in or on the other: their middles are
            centimetres apart, and half of the mistakes are made there.
    """
    each = functional.binary_cross_entropy_with_logits(logits, labels.float(), reduction="none")
    asked = pairs_of(present).float()
    held = labels[..., _CONTAINS] | labels[..., _SUPPORTS]
    spatial = torch.where(held | held.transpose(1, 2), near, 1.0) * asked
    weight = torch.stack([spatial if predicate in SPATIAL else asked for predicate in PREDICATES], dim=-1)
    return (each * weight).sum() / weight.sum().clamp(min=1.0)


def facts_loss(predicted: Tensor, facts: Tensor, present: Tensor) -> Tensor:
    """Lengths by Huber's loss, yes and no by cross-entropy; mean over present objects.

    Where an object stands must be known to centimetres: there Huber's loss turns at 3 cm and counts three times;
    elsewhere at 10 cm.
    """
    place = functional.smooth_l1_loss(predicted[..., :2], facts[..., :2], beta=0.03, reduction="none")
    measures = functional.smooth_l1_loss(
        predicted[..., 2:LENGTHS], facts[..., 2:LENGTHS], beta=0.1, reduction="none"
    )
    flags = functional.binary_cross_entropy_with_logits(
        predicted[..., LENGTHS:], facts[..., LENGTHS:], reduction="none"
    )
    return masked_mean(torch.cat((3.0 * place, measures, flags), dim=-1), present[..., None])


def enlarged(facts: Tensor, zoom: Tensor | None, stretch: Tensor | None = None) -> Tensor:
    """Facts (B, N, 13) of scenes whose views were enlarged (B,): all lengths grow, upright ones by the stretch too.

    In a view from the side what is farther stands higher, so *behind* is among the upright ones.
    """
    if zoom is None:
        return facts
    higher = zoom if stretch is None else zoom * stretch
    factors = torch.stack([higher if upright else zoom for upright in _UPRIGHT], dim=1)
    return torch.cat((facts[..., :LENGTHS] * factors[:, None], facts[..., LENGTHS:]), dim=-1)


def pointing_loss(looked: Sequence[Tensor], covers: Tensor, present: Tensor) -> Tensor:
    """How little of a query's attention falls on its object: mean −log of the share, over objects that are seen.

    To find the object is the first thing a network has to learn, and predicates alone teach it slowly. Three of
    four heads are asked, in all but the first third of the blocks; the others look where they like.

    Args:
        looked: For every block the attention of the queries over the image, (B, heads, N, T).
        covers: (B, N, T): share of each patch that shows the object.
        present: (B, N) bool.
    """
    # in memory by token first, as `looked` is
    on = (covers.mT.contiguous() > _TOUCHED).mT[:, None].to(looked[0].dtype)
    seen = present & (covers.sum(dim=-1) > _SEEN)
    shares = torch.stack([(look * on).sum(dim=-1, dtype=torch.float32) for look in looked[len(looked) // 3 :]])
    asked = (3 * shares.shape[2] + 3) // 4
    return masked_mean(-torch.log(shares[:, :, :asked].mean(dim=2) + 1e-4), seen)


def share_right(logits: Tensor, labels: Tensor, present: Tensor) -> Tensor:
    """Share of right judgements of pairs of present, different objects."""
    return masked_mean(((logits > 0) == labels).float(), pairs_of(present)[..., None])


def pairs_of(present: Tensor) -> Tensor:
    """(B, N, N) bool: ordered pairs of different present objects."""
    different = ~torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
    return present[:, :, None] & present[:, None, :] & different


def masked_mean(each: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values whose mask is set; 0 where none is."""
    weight = mask.expand_as(each).float()
    return (each * weight).sum() / weight.sum().clamp(min=1.0)
