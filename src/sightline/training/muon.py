"""Muon: momentum whose matrices are made nearly orthogonal before they are applied.

All singular values of a step become about equal, so that directions which the gradient hardly ever shows are
learned too. Steps are scaled to the size of AdamW's, so both take the same learning rate.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

_QUINTIC = (3.4445, -4.7750, 2.0315)
_ROUNDS = 5


class Muon(torch.optim.Optimizer):
    """For matrices; matrices of one shape are worked on together.

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
        means = [self._mean(weight) for weight in weights]
        keep = group["momentum"]
        torch._foreach_lerp_(means, gradients, 1.0 - keep)
        steps = orthogonal(torch.stack(torch._foreach_lerp(gradients, means, keep))).to(weights[0].dtype)
        torch._foreach_mul_(weights, 1.0 - group["lr"] * group["weight_decay"])
        far = -0.2 * group["lr"] * math.sqrt(max(weights[0].shape))
        torch._foreach_add_(weights, list(steps.unbind()), alpha=far)

    def _mean(self, weight: Tensor) -> Tensor:
        state = self.state[weight]
        if "mean" not in state:
            state["mean"] = torch.zeros_like(weight)
        mean: Tensor = state["mean"]
        return mean


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
