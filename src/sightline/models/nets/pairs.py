"""Networks that judge ordered pairs of objects by boxes, classes, depth and appearance.

`PairNet` cannot contradict itself when a pair is turned round: its units come in couples that change places with
the two objects. `PaperMlp` is the network of the 2.5VRD paper, which can.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.errors import ConfigError
from sightline.models.relations.cues import (
    ANTISYMMETRIC,
    PAPER_BOXES,
    SYMMETRIC,
    box_cues,
    checked_cues,
    paper_boxes,
)

EVEN: Final = 6
"""Outputs that stay when a pair is turned: depth unsure, ordered, same; occlusion none, one-sided, mutual."""
ODD: Final = 2
"""Outputs that change sign: which of the two is closer, which occludes."""


class PairInputs(NamedTuple):
    """Ordered pairs of objects as a network sees them, with any dimensions in front.

    Attributes:
        boxes_a: (…, n, 4) xyxy, fractions of the image; `boxes_b` likewise.
        classes_a: (…, n) places of the classes, 0 for one that is not known; `classes_b` likewise.
        across: (…, n) 1 where the two objects stand in two images, else 0.
        objects_a: (…, n, F) further numbers of each object (cues D and A), F may be 0; `objects_b` likewise.
    """

    boxes_a: Tensor
    boxes_b: Tensor
    classes_a: Tensor
    classes_b: Tensor
    across: Tensor
    objects_a: Tensor
    objects_b: Tensor

    def turned(self) -> PairInputs:
        """The same pairs the other way round."""
        return PairInputs(
            self.boxes_b, self.boxes_a, self.classes_b, self.classes_a, self.across, self.objects_b, self.objects_a
        )


class PairLogits(NamedTuple):
    """(…, n, 4) logits of the codes of `Depth` and of `Occlusion`."""

    depth: Tensor
    occlusion: Tensor


@dataclass(frozen=True, slots=True)
class PairNetConfig:
    """Shape of a PairNet, and how its chances become answers.

    Attributes:
        classes: Class names it knows; any other shares one embedding.
        members: Networks whose chances are averaged.
        cues: Which of boxes (b), classes (c), depth (d), appearance (a) it has; b always.
        hidden: Couples of units in each of the two layers.
        embedding: Numbers of a class.
        objects: Further numbers of an object, for cues d and a.
        unsure: Chance below which no depth label is given within an image; `unsure_across` across two.
        ordered: Answers follow a total preorder of the objects (see `models.relations.order`).
    """

    classes: tuple[str, ...]
    members: int = 6
    cues: str = "bc"
    hidden: int = 64
    embedding: int = 8
    objects: int = 0
    unsure: float = 0.38
    unsure_across: float = 0.3
    ordered: bool = False

    def __post_init__(self) -> None:
        checked_cues(self.cues)
        for name in ("members", "hidden", "embedding"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} of a PairNet must be at least 1, not {getattr(self, name)}")
        if self.objects < 0 or (self.objects > 0) != bool(set(self.cues) & {"d", "a"}):
            raise ConfigError(f"cues {self.cues} do not go with {self.objects} numbers of an object")


class PairNet(nn.Module):
    """Several small networks side by side, each swap-equivariant: (K, n, …) in, (K, n, 4) logits out.

    A layer holds couples (p, q) of units; p = f(even + odd) and q = f(even − odd), so that turning a pair makes p
    and q change places. Sums of couples feed what stays, differences what turns.
    """

    kind: ClassVar[str] = "sightline-pairs-1"

    def __init__(self, config: PairNetConfig) -> None:
        super().__init__()
        self.config = config
        members, hidden, width, more = config.members, config.hidden, config.embedding, config.objects
        stays, turns = SYMMETRIC + 1 + width + more, ANTISYMMETRIC + width + more
        names = len(config.classes) + 1
        self.embedding = _drawn(members, names, width, scale=0.1)
        self.rating = nn.Parameter(torch.zeros(members, names, EVEN + ODD))
        self.first_even = _drawn(members, stays, hidden, scale=1 / math.sqrt(stays + turns))
        self.first_odd = _drawn(members, turns, hidden, scale=1 / math.sqrt(stays + turns))
        self.first_bias = nn.Parameter(torch.zeros(members, hidden))
        self.second_even = _drawn(members, hidden, hidden, scale=1 / math.sqrt(2 * hidden))
        self.second_odd = _drawn(members, hidden, hidden, scale=1 / math.sqrt(2 * hidden))
        self.second_bias = nn.Parameter(torch.zeros(members, hidden))
        self.last_even = _drawn(members, hidden, EVEN, scale=0.5 / math.sqrt(hidden))
        self.last_odd = _drawn(members, hidden, ODD, scale=0.5 / math.sqrt(hidden))
        self.last_bias = nn.Parameter(torch.zeros(members, EVEN))
        self.middle: Tensor
        self.even_scale: Tensor
        self.odd_scale: Tensor
        self.object_middle: Tensor
        self.object_scale: Tensor
        self.register_buffer("middle", torch.zeros(SYMMETRIC))
        self.register_buffer("even_scale", torch.ones(SYMMETRIC))
        self.register_buffer("odd_scale", torch.ones(ANTISYMMETRIC))
        self.register_buffer("object_middle", torch.zeros(more))
        self.register_buffer("object_scale", torch.ones(more))

    @torch.no_grad()
    def standardise(self, boxes_a: Tensor, boxes_b: Tensor, objects: Tensor) -> None:
        """Take the usual middle and spread of the inputs from pairs (n, 4) and objects (m, F) to learn from."""
        even, odd = box_cues(boxes_a, boxes_b)
        self.middle.copy_(even.mean(0))
        self.even_scale.copy_(1.0 / even.std(0, correction=0).clip(1e-3))
        self.odd_scale.copy_(1.0 / odd.square().mean(0).sqrt().clip(1e-3))
        if objects.shape[-1]:
            self.object_middle.copy_(objects.mean(0))
            self.object_scale.copy_(1.0 / objects.std(0, correction=0).clip(1e-6))

    def forward(self, pairs: PairInputs, dropout: float = 0.0) -> PairLogits:
        """Logits of every member; `dropout` of the couples of each layer while training."""
        stays, turns = box_cues(pairs.boxes_a, pairs.boxes_b)
        member = torch.arange(self.config.members, device=stays.device)[:, None]
        known_a, known_b = self._known(pairs.classes_a), self._known(pairs.classes_b)
        named_a, named_b = self.embedding[member, known_a], self.embedding[member, known_b]
        more_a, more_b = ((given - self.object_middle) * self.object_scale for given in pairs[5:])
        across = pairs.across[..., None].to(stays.dtype)
        stays = torch.cat(((stays - self.middle) * self.even_scale, across, named_a + named_b, more_a + more_b), -1)
        turns = torch.cat((turns * self.odd_scale, named_a - named_b, more_a - more_b), -1)
        even, odd = stays, turns
        layers = (
            (self.first_even, self.first_odd, self.first_bias),
            (self.second_even, self.second_odd, self.second_bias),
        )
        for weight_even, weight_odd, bias in layers:
            same, turning = torch.baddbmm(bias[:, None], even, weight_even), torch.bmm(odd, weight_odd)
            one, other = functional.relu(same + turning), functional.relu(same - turning)
            if dropout and self.training:
                mask = (torch.rand_like(one) >= dropout) / (1.0 - dropout)
                one, other = one * mask, other * mask
            even, odd = one + other, one - other
        rated_a, rated_b = self.rating[member, known_a], self.rating[member, known_b]
        even = torch.baddbmm(self.last_bias[:, None], even, self.last_even) + (rated_a + rated_b)[..., :EVEN]
        odd = torch.bmm(odd, self.last_odd) + (rated_a - rated_b)[..., EVEN:]
        return PairLogits(_four(even[..., :3], odd[..., 0]), _four(even[..., 3:], odd[..., 1]))

    def _known(self, classes: Tensor) -> Tensor:
        return classes if "c" in self.config.cues else torch.zeros_like(classes)


def _four(even: Tensor, odd: Tensor) -> Tensor:
    """Logits of the codes 0…3 from (…, 3) of 0, ordered and 3, and (…,) how far the first leads."""
    return torch.stack((even[..., 0], even[..., 1] + odd, even[..., 1] - odd, even[..., 2]), -1)


def _drawn(*shape: int, scale: float) -> nn.Parameter:
    return nn.Parameter(torch.randn(*shape) * scale)


@dataclass(frozen=True, slots=True)
class PaperMlpConfig:
    """Shape of the paper's MLP.

    Attributes:
        classes: Class names it knows.
        cues: Which of boxes (b), classes (c), depth (d), appearance (a) it has; b always.
        hidden: Units of each of the two layers.
        objects: Further numbers of an object, for cues d and a.
    """

    classes: tuple[str, ...]
    cues: str = "bc"
    hidden: int = 1024
    objects: int = 0

    def __post_init__(self) -> None:
        checked_cues(self.cues)
        if self.hidden < 1:
            raise ConfigError(f"hidden of an MLP must be at least 1, not {self.hidden}")
        if self.objects < 0 or (self.objects > 0) != bool(set(self.cues) & {"d", "a"}):
            raise ConfigError(f"cues {self.cues} do not go with {self.objects} numbers of an object")


class PaperMlp(nn.Module):
    """The 2.5VRD paper's MLP (§3.1.2): all cues side by side, two layers, two heads of four.

    Nothing makes (a, b) and (b, a) agree but training on both.
    """

    kind: ClassVar[str] = "sightline-paper-mlp-1"

    def __init__(self, config: PaperMlpConfig) -> None:
        super().__init__()
        self.config = config
        names = len(config.classes) + 1 if "c" in config.cues else 0
        self.first = nn.Linear(PAPER_BOXES + 2 * (names + config.objects), config.hidden)
        self.second = nn.Linear(config.hidden, config.hidden)
        self.last = nn.Linear(config.hidden, 8)

    def forward(self, pairs: PairInputs, dropout: float = 0.0) -> PairLogits:
        """Logits of pairs (n, …); one-hot classes, of which the first is any class it does not know."""
        parts = [paper_boxes(pairs.boxes_a, pairs.boxes_b)]
        if "c" in self.config.cues:
            names = len(self.config.classes) + 1
            parts += [functional.one_hot(of, names).to(parts[0].dtype) for of in (pairs.classes_a, pairs.classes_b)]
        given = torch.cat((*parts, pairs.objects_a, pairs.objects_b), -1)
        seen = functional.dropout(functional.relu(self.first(given)), dropout, self.training)
        seen = functional.dropout(functional.relu(self.second(seen)), dropout, self.training)
        depth, occlusion = self.last(seen).split(4, -1)
        return PairLogits(depth, occlusion)
