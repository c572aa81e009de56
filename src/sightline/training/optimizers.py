"""Optimisers: Adam, AdamW, or Muon for some matrices and AdamW for the rest, stepping together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sightline.training.plan import TrainingPlan

_QUINTIC = (3.4445, -4.7750, 2.0315)
_ROUNDS = 5


def optimizers(parts: Iterable[nn.Module], plan: TrainingPlan, muon_prefix: str) -> list[torch.optim.Optimizer]:
    """Make the optimisers of a plan; ``highest`` in every group is the rate the schedule starts from.

    Weight decay is for matrices alone; plain Adam has none.

    Args:
        parts: Modules to train.
        plan: Which optimiser, its rate and decay.
        muon_prefix: How the names of the weights begin whose matrices Muon takes.
    """
    if plan.optimizer == "adam":
        whole = {"params": [w for part in parts for w in part.parameters()], "highest": plan.rate}
        return [torch.optim.Adam([whole], lr=plan.rate, fused=True)]
    named = [pair for part in parts for pair in part.named_parameters()]
    muon = plan.optimizer == "muon"
    inner = [w for name, w in named if muon and name.startswith(muon_prefix) and w.ndim == 2]
    taken = set(map(id, inner))
    rest = [w for _, w in named if id(w) not in taken]
    groups = [
        {"params": [w for w in rest if w.ndim >= 2], "weight_decay": plan.decay, "highest": plan.rate},
        {"params": [w for w in rest if w.ndim < 2], "weight_decay": 0.0, "highest": plan.rate},
    ]
    made: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, lr=plan.rate, betas=(0.9, 0.98), fused=True)]
    if inner:
        group = {"params": inner, "highest": plan.rate}
        made.append(Muon([group], lr=plan.rate, weight_decay=plan.decay))
    return made


class JointOptimizer(torch.optim.Optimizer):
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


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are made nearly orthogonal before they are applied.

    All singular values of a step become about equal, so that directions which the gradient hardly ever shows are
    learned too. Steps are scaled to the size of AdamW's, so both take the same learning rate. Matrices of one shape
    are worked on together.

    Args:
        params: Matrices, or groups of them.
        lr: Learning rate.
        momentum: Of the gradient, Nesterov's.
        weight_decay: Decoupled, as in AdamW.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0.95, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    alike[weight.shape].append(weight)
            for weights in alike.values():
                self._move(weights, group)
        return loss

    def _move(self, weights: list[Tensor], group: dict[str, Any]) -> None:
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        for weight in weights:
            if "mean" not in self.state[weight]:
                self.state[weight]["mean"] = torch.zeros_like(weight)
        means = [self.state[weight]["mean"] for weight in weights]
        keep = group["momentum"]
        torch._foreach_lerp_(means, gradients, 1.0 - keep)
        steps = orthogonal(torch.stack(torch._foreach_lerp(gradients, means, keep))).to(weights[0].dtype)
        torch._foreach_mul_(weights, 1.0 - group["lr"] * group["weight_decay"])
        far = -0.2 * group["lr"] * math.sqrt(max(weights[0].shape))
        torch._foreach_add_(weights, list(steps.unbind()), alpha=far)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices (n, a, b) with the same singular vectors and all singular values near 1, by Newton and Schulz."""
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x.to(torch.bfloat16 if x.is_cuda else torch.float32)
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    a, b, c = _QUINTIC
    for _ in range(_ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    done: Tensor = x.mT if tall else x
    return done
