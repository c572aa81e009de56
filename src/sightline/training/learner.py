"""The learner: one optimiser step after another on the network of a task, as a Lightning module."""

from __future__ import annotations

from typing import Any

import lightning
import torch
from torch import Tensor, nn

from sightline.training.optimizers import JointOptimizer, optimizers
from sightline.training.plan import TrainingTask


class Learner(lightning.LightningModule):
    """The modules of a task under their own names, and the running mean of the network's weights.

    Every step seeds torch by plan and step number: a training that was interrupted goes on as if it had not been.
    """

    net: nn.Module

    def __init__(self, task: TrainingTask) -> None:
        super().__init__()
        torch.manual_seed(task.plan.seed)
        self.task, self.plan = task, task.plan
        self.parts = task.modules()
        for name, part in self.parts.items():
            self.add_module(name, part)
        self.mean = [weight.detach().clone() for weight in self.net.parameters()]
        self.metrics: dict[str, Tensor] = {}

    def training_step(self, loaded: Any, _: int) -> Tensor:
        """Loss of one batch."""
        torch.manual_seed((self.plan.seed * 1_000_003 + self.global_step) % 2**63)
        loss, metrics = self.task.loss(loaded, self.global_step)
        self.metrics = {name: value.detach() for name, value in metrics.items()}
        return loss

    def trained(self) -> list[Tensor]:
        """Weights of all modules."""
        return [weight for part in self.parts.values() for weight in part.parameters()]

    def averaged(self) -> dict[str, Tensor]:
        """The running mean under the names of the network's weights; without one the weights as they are."""
        weights = {name: weight.detach() for name, weight in self.net.named_parameters()}
        return dict(zip(weights, self.mean, strict=True)) if self.plan.average else weights

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW for all weights, or Muon for the matrices that the task names."""
        made = optimizers(self.parts.values(), self.plan, self.task.muon_prefix)
        self._made = made
        return made[0] if len(made) == 1 else JointOptimizer(made)

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:  # noqa: ARG002 - Lightning's
        """Set the rates of this step."""
        factor = self.plan.factor(self.global_step)
        for made in self._made:
            for group in made.param_groups:
                group["lr"] = group["highest"] * factor

    def configure_gradient_clipping(self, *_: Any, **__: Any) -> None:
        """Clip here: Lightning refuses to where the optimiser is a fused one."""
        if self.plan.clip:
            torch.nn.utils.clip_grad_norm_(self.trained(), self.plan.clip)

    def optimizer_step(self, *given: Any, **more: Any) -> None:
        """Step, and bring the running mean up to date: in a hook at the batch's end the log would save first."""
        super().optimizer_step(*given, **more)
        if not self.plan.average:
            return
        done = self.global_step + 1
        keep = min(self.plan.average, (1 + done) / (10 + done))
        with torch.no_grad():
            torch._foreach_lerp_(self.mean, list(self.net.parameters()), 1.0 - keep)

    def on_fit_start(self) -> None:
        """Bring the running mean to where the weights are."""
        self.mean = [mean.to(self.device) for mean in self.mean]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """The running mean belongs to the state."""
        checkpoint["mean"] = [mean.cpu() for mean in self.mean]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take the running mean back."""
        self.mean = [mean.to(self.device) for mean in checkpoint["mean"]]
