"""Networks that relate two objects, as a task of the training engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from sightline.errors import ModelError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.pairs import PairInputs, PairLogits, PairNet, PairNetConfig, PaperMlp, PaperMlpConfig
from sightline.training.relations.examples import RelationSource
from sightline.training.relations.plan import RelationsPlan

WEIGHTS: Final = "relations.safetensors"
_TURNED: Final = [0, 2, 1, 3]


class RelationsTask:
    """Teach a network which of two objects is closer and which occludes: the sum of two cross-entropies."""

    name = "relations network"
    weights: str = WEIGHTS
    metrics: tuple[str, ...] = ("loss", "depth", "occlusion", "right")
    muon_prefix = "-"

    def __init__(self, plan: RelationsPlan, source: RelationSource) -> None:
        self.plan, self.source = plan, source
        arrays = {field.name: getattr(source.examples, field.name) for field in fields(source.examples)}
        self._columns = {name: torch.from_numpy(a) for name, a in arrays.items() if isinstance(a, np.ndarray)}
        for aspect in ("depth", "occlusion"):
            self._columns[aspect] = self._targets(aspect)

    def _targets(self, aspect: str) -> Tensor:
        """(n, 4) targets: votes and label mixed as the plan says; all 0 where nobody was asked."""
        votes, label = self._columns[aspect], self._columns[f"{aspect}_label"]
        one = nn.functional.one_hot(label.clamp(min=0), 4).to(votes.dtype)
        decided = torch.where((label >= 0)[:, None], one, votes)
        mixed = self.plan.votes * votes + (1.0 - self.plan.votes) * decided
        smooth = (1.0 - self.plan.smoothing) * mixed + self.plan.smoothing / 4
        return smooth * (votes.sum(1, keepdim=True) > 0)

    def modules(self) -> dict[str, nn.Module]:
        """The network."""
        plan, examples = self.plan, self.source.examples
        numbers = examples.numbers.shape[1]
        self.net: PairNet | PaperMlp
        if plan.network == "paper":
            config = PaperMlpConfig(examples.classes, cues=plan.cues, hidden=plan.hidden, objects=numbers)
            self.net = PaperMlp(config)
            for weight in self.net.parameters() if plan.l2 else ():
                weight.register_post_accumulate_grad_hook(self._add_l2)  # type: ignore[no-untyped-call]
            return {"net": self.net}
        shape = {"members": plan.members, "hidden": plan.hidden, "embedding": plan.embedding, "objects": numbers}
        self.net = PairNet(
            PairNetConfig(
                examples.classes,
                cues=plan.cues,
                unsure=plan.unsure,
                unsure_across=min(plan.unsure, 0.3),
                ordered=plan.ordered,
                **shape,
            )
        )
        c = self._columns
        self.net.standardise(c["boxes"][c["first"]], c["boxes"][c["second"]], c["numbers"])
        return {"net": self.net}

    def _add_l2(self, weight: Tensor) -> None:
        """Add the gradient of L2: as a part of the loss it would cost more passes over all weights."""
        assert weight.grad is not None
        weight.grad.add_(weight.detach(), alpha=self.plan.l2)

    def loss(self, loaded: Any, step: int) -> tuple[Tensor, dict[str, Tensor]]:  # noqa: ARG002 - the engine's
        """Loss of one batch, summed over the members; and the share of depth labels that are right."""
        device = next(self.net.parameters()).device
        if self._columns["boxes"].device != device:
            self._columns = {name: column.to(device) for name, column in self._columns.items()}
        rows = torch.from_numpy(loaded).to(device)
        if self.plan.network == "paper":
            rows = rows[0]
        pairs, targets = self._changed(rows)
        logits: PairLogits = self.net(pairs, self.plan.dropout)
        parts = [cross_entropy(*pair) for pair in zip(logits, targets, strict=True)]
        loss = torch.stack(parts).sum()
        right = share_right(logits.depth, targets[0], self._columns["depth_label"][rows] >= 0)
        members = self.plan.members
        return loss, dict(zip(self.metrics, (loss / members, *(p / members for p in parts), right), strict=True))

    def _changed(self, rows: Tensor) -> tuple[PairInputs, tuple[Tensor, Tensor]]:
        """The pairs of some rows as the plan changes them: mirrored, boxes moved, classes withheld, turned."""
        c, plan = self._columns, self.plan
        first, second, across = c["first"][rows], c["second"][rows], c["across"][rows]
        flips = torch.rand(2, *rows.shape, device=rows.device) < plan.mirrored
        flips[1] = torch.where(across, flips[1], flips[0])  # within an image both objects stand in one picture
        ends = []
        for objects, flip in zip((first, second), flips, strict=True):
            boxes = jittered(c["boxes"][objects], plan.jitter)
            boxes = torch.where(flip[..., None], _mirrored(boxes), boxes)
            withheld = torch.rand(rows.shape, device=rows.device) < plan.unnamed
            ends.append((boxes, torch.where(withheld, 0, c["category"][objects]), c["numbers"][objects]))
        (boxes_a, classes_a, more_a), (boxes_b, classes_b, more_b) = ends
        pairs = PairInputs(boxes_a, boxes_b, classes_a, classes_b, across, more_a, more_b)
        targets = c["depth"][rows], c["occlusion"][rows]
        if not plan.swapped:
            return pairs, targets
        swap = torch.rand(rows.shape, device=rows.device) < 0.5
        mixed = PairInputs(*(_where(swap, back, one) for one, back in zip(pairs, pairs.turned(), strict=True)))
        return mixed, (turned_where(swap, targets[0]), turned_where(swap, targets[1]))

    def counts(self, step: int) -> dict[str, int]:  # noqa: ARG002 - the engine's
        """Pairs of a step, each member's own."""
        return {"pairs": self.plan.batch * self.plan.members}

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        """A checkpoint of the network, in half precision unless it has cues d or a: those have any unit."""
        blind = not self.source.examples.numbers.shape[1]
        return dump_checkpoint(self.net, facts, weights={**self.net.state_dict(), **weights}, half=blind)

    def steps_of(self, file: Path) -> int | None:
        """After how many steps a checkpoint was written; None where it cannot be read."""
        try:
            steps: int | None = load_checkpoint(file).facts.get("steps")
        except ModelError:
            return None
        return steps


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean over pairs, summed over members in front; a target of all 0 costs nothing."""
    cost = -(targets * logits.log_softmax(-1)).sum(-1)
    return cost.mean(-1).sum()


def share_right(logits: Tensor, targets: Tensor, labelled: Tensor) -> Tensor:
    """Share of labelled pairs whose likeliest code is the target's; NaN where none is labelled.

    Args:
        logits: (…, 4).
        targets: (…, 4).
        labelled: (…) whether a pair has a label: of one nobody was asked about the target is all 0.
    """
    right = (logits.argmax(-1) == targets.argmax(-1)) & labelled
    return right.sum() / labelled.sum()  # a selection would wait for the card


def turned_where(which: Tensor, targets: Tensor) -> Tensor:
    """Targets (…, 4), those of some pairs the other way round."""
    return torch.where(which[..., None], targets[..., _TURNED], targets)


def _where(which: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return torch.where(which[..., None] if yes.ndim > which.ndim else which, yes, no)


def jittered(boxes: Tensor, share: float) -> Tensor:
    """Boxes whose centre, width and height were changed by up to a share of their sides."""
    if not share:
        return boxes
    sides, middle = boxes[..., 2:] - boxes[..., :2], (boxes[..., 2:] + boxes[..., :2]) / 2
    middle = middle + (2.0 * torch.rand_like(middle) - 1.0) * share * sides
    half = sides * (1.0 + (2.0 * torch.rand_like(sides) - 1.0) * share) / 2
    return torch.cat((middle - half, middle + half), -1).clip(0.0, 1.0)


def _mirrored(boxes: Tensor) -> Tensor:
    x0, y0, x1, y1 = boxes.unbind(-1)
    return torch.stack((1.0 - x1, y0, 1.0 - x0, y1), -1)
