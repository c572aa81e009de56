"""The learner: one optimiser step after another on a SORNet, as a Lightning module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lightning
import torch
from torch import Tensor, nn

from sightline.training.augment import Change, draw_changes
from sightline.training.drawing import COARSE, SceneBatch
from sightline.training.losses import (
    FactsHead,
    enlarged,
    facts_loss,
    masked_mean,
    pairs_of,
    pointing_loss,
    predicate_loss,
)
from sightline.training.muon import Muon
from sightline.training.pixels import prepared
from sightline.training.plan import Plan
from sightline.training.sources import Source
from sightline.training.starting import begin


class SornetLearner(lightning.LightningModule):
    """A SORNet with the head that tells facts, and the running mean of its weights.

    Every step seeds torch by plan and step number: a training that was interrupted goes on as if it had not been.
    """

    def __init__(self, plan: Plan, source: Source) -> None:
        super().__init__()
        torch.manual_seed(plan.seed)
        self.plan, self.source = plan, source
        self.net = begin(plan, source.image)
        self.head = FactsHead(self.net.config.width)
        self.mean = [weight.detach().clone() for weight in self.net.parameters()]
        self.told: dict[str, Tensor] = {}
        self._fast = torch.compile(prepared, dynamic=False) if plan.compiled else prepared
        if plan.compiled:
            self.net.compile_parts()

    def training_step(self, loaded: Any, _: int) -> Tensor:
        """Loss of one batch."""
        step, plan = self.global_step, self.plan
        torch.manual_seed((plan.seed * 1_000_003 + step) % 2**63)
        shown = plan.shown(step)
        scenes = self.source.scenes(loaded, shown)
        images, patches, covers, change = self._pixels(scenes, first=shown[0] == 0)
        embedded, looked = self.net.trace(images, patches, shown)
        logits = self.net.readout(embedded)
        loss = predicate_loss(logits, scenes.labels, scenes.present)
        self.told = {"predicates": loss.detach(), "right": _right(logits, scenes).detach()}
        if plan.facts and scenes.facts is not None:
            facts = scenes.facts if change is None else enlarged(scenes.facts, change.zoom, change.stretch)
            aside = facts_loss(self.head(embedded), facts, scenes.present)
            self.told["facts"] = aside.detach()
            loss = loss + plan.facts * aside
        if plan.pointing and covers is not None:
            aside = pointing_loss(looked, covers, scenes.present)
            self.told["pointing"] = aside.detach()
            loss = loss + plan.pointing * aside
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:  # noqa: ARG002 - Lightning's
        """Set the rates of this step."""
        factor = self.plan.factor(self.global_step)
        for made in self._made:
            for group in made.param_groups:
                group["lr"] = group["highest"] * factor

    def optimizer_step(self, *given: Any, **more: Any) -> None:
        """Step, and bring the running mean up to date: in a hook at the batch's end the log would save first."""
        super().optimizer_step(*given, **more)
        done = self.global_step + 1
        keep = min(self.plan.average, (1 + done) / (10 + done))
        with torch.no_grad():
            torch._foreach_lerp_(self.mean, list(self.net.parameters()), 1.0 - keep)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW for all weights, or Muon for the matrices of the blocks."""
        made = optimizers(self.net, self.head, self.plan)
        self._made = made
        return made[0] if len(made) == 1 else _Together(made)

    def on_fit_start(self) -> None:
        """Bring the running mean to where the weights are."""
        self.mean = [mean.to(self.device) for mean in self.mean]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """The running mean belongs to the state."""
        checkpoint["mean"] = [mean.cpu() for mean in self.mean]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take the running mean back."""
        self.mean = [mean.to(self.device) for mean in checkpoint["mean"]]

    def averaged(self) -> dict[str, Tensor]:
        """The running mean under the names of the network's weights."""
        return dict(zip(dict(self.net.named_parameters()), self.mean, strict=True))

    def _pixels(self, scenes: SceneBatch, *, first: bool) -> tuple[Tensor, Tensor, Tensor | None, Change | None]:
        """Views and patches as the network gets them, the share of each patch that shows an object, the change."""
        how, views = self.plan.augmentation, scenes.views
        change = None
        if how is not None:
            change = draw_changes(how, len(scenes), views.shape[1], views.device, first=first)
        dull = how is not None and how.matte > 0
        prepare = self._fast if views.is_cuda else prepared  # a CPU would compile longer than it trains
        made = prepare(
            change,
            views,
            scenes.patches,
            scenes.sizes,
            scenes.ids if self.plan.pointing or dull else None,
            scenes.outlines if dull else None,
            self.net.config.patch // COARSE,
        )
        return *made, change

    def configure_gradient_clipping(self, *_: Any, **__: Any) -> None:
        """Clip here: Lightning refuses to where the optimiser is a fused one."""
        torch.nn.utils.clip_grad_norm_([*self.net.parameters(), *self.head.parameters()], self.plan.clip)


class _Together(torch.optim.Optimizer):
    """Several optimisers that step together."""

    def __init__(self, parts: Sequence[torch.optim.Optimizer]) -> None:
        self.parts = list(parts)
        groups = [group for part in parts for group in part.param_groups]
        super().__init__([{"params": group["params"]} for group in groups], {})

    def step(self, closure: Any = None) -> Any:
        """One step of each; the loss is worked out once."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """State of each."""
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the states back."""
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)


def optimizers(net: nn.Module, head: nn.Module, plan: Plan) -> list[torch.optim.Optimizer]:
    """Weight decay for matrices alone; ``highest`` in every group is the rate the schedule starts from."""
    named = [*net.named_parameters(), *head.named_parameters()]
    inner = (
        [(n, w) for n, w in named if n.startswith("blocks.") and w.ndim == 2] if plan.optimizer == "muon" else []
    )
    taken = {n for n, _ in inner}
    rest = [(n, w) for n, w in named if n not in taken]
    groups = [
        {"params": [w for _, w in rest if w.ndim >= 2], "weight_decay": plan.decay, "highest": plan.rate},
        {"params": [w for _, w in rest if w.ndim < 2], "weight_decay": 0.0, "highest": plan.rate},
    ]
    fused = torch.cuda.is_available()
    made: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, lr=plan.rate, betas=(0.9, 0.98), fused=fused)]
    if inner:
        group = {"params": [w for _, w in inner], "highest": plan.rate}
        made.append(Muon([group], lr=plan.rate, weight_decay=plan.decay))
    return made


def _right(logits: Tensor, scenes: SceneBatch) -> Tensor:
    """Share of right judgements."""
    return masked_mean(((logits > 0) == scenes.labels).float(), pairs_of(scenes.present)[..., None])
