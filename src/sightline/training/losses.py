"""What training minimises: the predicates of every pair, and facts of every object that help to learn them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.training.placing import FACTS, LENGTHS

_TOUCHED = 0.02  # share of a patch from which on it shows the object
_SEEN = 0.01  # patches' worth of visible pixels below which an object cannot be pointed at


class FactsHead(nn.Module):
    """Tells the facts of an object (`placing.FACTS`) from its embedding; used in training only.

    Predicates say little about where an object is, a bit a pair. Asking for its place and measures as well makes
    training shorter; the network that is kept has no such head.
    """

    def __init__(self, width: int, hidden: int = 256) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, len(FACTS)))

    def forward(self, embeddings: Tensor) -> Tensor:
        """(B, N, 13)."""
        told: Tensor = self.layers(embeddings).float()
        return told


def predicate_loss(logits: Tensor, labels: Tensor, present: Tensor) -> Tensor:
    """Mean binary cross-entropy over the judgements of pairs of present, different objects.

    Args:
        logits: (B, N, N, P).
        labels: (B, N, N, P) bool.
        present: (B, N) bool.
    """
    each = functional.binary_cross_entropy_with_logits(logits, labels.float(), reduction="none")
    return masked_mean(each, pairs_of(present)[..., None])


def facts_loss(told: Tensor, facts: Tensor, present: Tensor) -> Tensor:
    """Lengths by Huber's loss at a tenth of a metre, yes and no by cross-entropy; mean over present objects."""
    lengths = functional.smooth_l1_loss(told[..., :LENGTHS], facts[..., :LENGTHS], beta=0.1, reduction="none")
    flags = functional.binary_cross_entropy_with_logits(told[..., LENGTHS:], facts[..., LENGTHS:], reduction="none")
    return masked_mean(torch.cat((lengths, flags), dim=-1), present[..., None])


def enlarged(facts: Tensor, zoom: Tensor | None) -> Tensor:
    """Facts (B, N, 13) of scenes whose views were enlarged (B,): all lengths grow."""
    if zoom is None:
        return facts
    return torch.cat((facts[..., :LENGTHS] * zoom[:, None, None], facts[..., LENGTHS:]), dim=-1)


def pointing_loss(looked: Sequence[Tensor], covers: Tensor, present: Tensor) -> Tensor:
    """How little of a query's attention falls on its object: mean −log of the share, over objects that are seen.

    To find the object is the first thing a network has to learn, and predicates alone teach it slowly. Half of the
    heads are asked, in all but the first third of the blocks; the others look where they like.

    Args:
        looked: For every block the attention of the queries over the image, (B, heads, N, T).
        covers: (B, N, T): share of each patch that shows the object.
        present: (B, N) bool.
    """
    on = (covers > _TOUCHED).float()
    seen = present & (covers.sum(dim=-1) > _SEEN)
    asked = looked[len(looked) // 3 :]
    shares = [(look[:, : (look.shape[1] + 1) // 2].float().mean(dim=1) * on).sum(dim=-1) for look in asked]
    return torch.stack([masked_mean(-torch.log(share + 1e-4), seen) for share in shares]).mean()


def pairs_of(present: Tensor) -> Tensor:
    """(B, N, N) bool: ordered pairs of different present objects."""
    different = ~torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
    return present[:, :, None] & present[:, None, :] & different


def masked_mean(each: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values whose mask is set; 0 where none is."""
    weight = mask.expand_as(each).float()
    return (each * weight).sum() / weight.sum().clamp(min=1.0)
