"""Muon: nearly orthogonal steps, of AdamW's size. Adam as published: no decay, torch's own betas."""

from __future__ import annotations

import pytest
import torch

from sightline.training.optimizers import Muon, optimizers, orthogonal
from sightline.training.plan import TrainingPlan


@pytest.mark.parametrize("shape", [(8, 8), (6, 20), (20, 6)])  # square, wide, tall
def test_singular_values_are_near_one(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    made = orthogonal(torch.randn(3, *shape))
    values = torch.linalg.svdvals(made)
    assert made.shape == (3, *shape)
    assert values.min() > 0.4
    assert values.max() < 1.3


def test_singular_vectors_stay() -> None:
    torch.manual_seed(1)
    u, _, v = torch.linalg.svd(torch.randn(6, 6))
    made = orthogonal((u @ torch.diag(torch.linspace(1.0, 3.0, 6)) @ v)[None])[0]
    inner = u.T @ made @ v.T
    assert (inner - torch.diag(inner.diagonal())).abs().max() < 1e-3


def test_matrices_together_move_as_each_alone() -> None:
    torch.manual_seed(2)
    starts, gradients = torch.randn(3, 5, 7), torch.randn(2, 3, 5, 7)

    def moved(which: list[int]) -> torch.Tensor:
        weights = [torch.nn.Parameter(starts[i].clone()) for i in which]
        made = Muon(weights, lr=0.1, weight_decay=0.2)
        for step in gradients:
            for i, weight in zip(which, weights, strict=True):
                weight.grad = step[i].clone()
            made.step()
        return torch.stack([weight.detach() for weight in weights])

    torch.testing.assert_close(moved([0, 1, 2]), torch.cat([moved([i]) for i in range(3)]))


def test_size_of_a_step() -> None:
    """0.2 · rate · √(longer side) times a matrix of singular values near 1: its entries are of AdamW's size."""
    torch.manual_seed(3)
    weight = torch.nn.Parameter(torch.zeros(16, 64))
    weight.grad = 1e-4 * torch.randn(16, 64)
    Muon([weight], lr=0.01).step()
    assert float(weight.detach().square().mean().sqrt()) == pytest.approx(0.2 * 0.01, rel=0.25)


def test_weights_without_a_gradient_stay() -> None:
    weight = torch.nn.Parameter(torch.ones(3, 3))
    Muon([weight], lr=0.1, weight_decay=0.5).step()
    assert torch.equal(weight.detach(), torch.ones(3, 3))


def test_plain_adam_is_torchs_own() -> None:
    torch.manual_seed(3)
    start, gradient = torch.randn(4, 3), torch.randn(4, 3)
    ours, theirs = (torch.nn.Linear(3, 4, bias=False) for _ in range(2))
    for layer in (ours, theirs):
        layer.weight.data.copy_(start)
        layer.weight.grad = gradient.clone()
    [made] = optimizers([ours], TrainingPlan(optimizer="adam", rate=1e-4, decay=0.3), "")
    made.step()
    torch.optim.Adam(theirs.parameters(), lr=1e-4).step()
    assert torch.equal(ours.weight, theirs.weight)
    assert (ours.weight.detach() - start).abs().max().item() == pytest.approx(1e-4, rel=1e-3)
