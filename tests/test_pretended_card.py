"""What stands for a card in tests refuses what a card would refuse, and computes the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pretended_card import pretended_card


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda there, here: there + here, "same device"),
        (lambda there, here: torch.cat([here, there]), "same device"),
        (lambda there, here: here[there.long()], "same device"),  # the CPU takes no indices from a card
        (lambda there, here: here.scatter(0, there.long(), 1.0), "same device"),
        (lambda there, here: functional.conv2d(there[None, None, None], here[None, None, None]), "same device"),
        (lambda there, _: there.numpy(), "numpy"),
        (lambda there, _: np.asarray(there), "numpy"),
        (lambda there, _: torch.nn.Linear(3, 1)(there), "same device"),
    ],
)
def test_what_a_card_refuses(wrong: Callable[[Tensor, Tensor], object], words: str) -> None:
    with pretended_card():
        there, here = torch.tensor([0.0, 1.0, 2.0], device="cuda"), torch.ones(3)
        with pytest.raises((RuntimeError, TypeError), match=words):
            wrong(there, here)


def test_what_a_card_takes() -> None:
    with pretended_card() as card:
        there = torch.arange(6, device="cuda").view(2, 3).float()
        there[1] += torch.tensor(10.0)  # a number alone may come from the CPU
        there[0, :2] = torch.tensor([7.0, 8.0])  # what is copied may, too
        assert there.device == there[[1]].device == torch.nn.Linear(3, 1).to("cuda")(there).device == card
        assert there.new_zeros(1).device == torch.rand(2, device=there.device).device == card
        assert there[torch.tensor([1])].tolist() == [[13.0, 14.0, 15.0]]
        back = there.cpu()
    assert type(back) is Tensor
    assert back.numpy().tolist() == [[7.0, 8.0, 2.0], [13.0, 14.0, 15.0]]
    assert torch.zeros(1).device.type == "cpu"


def test_gradients_stay_on_the_card() -> None:
    with pretended_card() as card:
        layer = torch.nn.Linear(3, 1).to("cuda")
        layer(torch.ones(2, 3, device="cuda")).sum().backward()
        assert layer.weight.grad is not None
        assert layer.weight.grad.device == card
        assert layer.weight.grad.tolist() == [[2.0, 2.0, 2.0]]
