"""Losses against loops, and that padding teaches nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import loss_oracle as oracle
from sightline.training.sornet.layouts import FACTS, LENGTHS
from sightline.training.sornet.losses import (
    FactsHead,
    enlarged,
    facts_loss,
    masked_mean,
    pairs_of,
    pointing_loss,
    predicate_loss,
)


def made(seed: int, scenes: int = 2, places: int = 4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    logits = 3.0 * torch.randn(scenes, places, places, 8, generator=draw)
    labels = torch.rand(scenes, places, places, 8, generator=draw) < 0.3
    return logits, labels, torch.rand(scenes, places, generator=draw) < 0.7


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_predicates_agree_with_loops(seed: int) -> None:
    logits, labels, present = made(seed)
    expected = oracle.predicate_loss(logits.double().numpy(), labels.numpy(), present.numpy())
    assert float(predicate_loss(logits, labels, present)) == pytest.approx(expected, rel=1e-5)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_without_extra_weight_every_judgement_counts_alike(seed: int) -> None:
    """The published loss: the mean over all judgements that are asked for."""
    logits, labels, present = made(seed)
    asked = [
        oracle.cross_entropy(float(logits[s, i, j, p]), bool(labels[s, i, j, p]))
        for s, i, j, p in np.ndindex(2, 4, 4, 8)
        if i != j and present[s, i] and present[s, j]
    ]
    expected = sum(asked) / len(asked) if asked else 0.0
    assert float(predicate_loss(logits, labels, present, near=1.0)) == pytest.approx(expected, rel=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_facts_agree_with_loops(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    told = torch.randn(2, 4, len(FACTS), generator=draw)
    facts = torch.rand(2, 4, len(FACTS), generator=draw)
    facts[..., LENGTHS:] = facts[..., LENGTHS:].round()
    present = torch.rand(2, 4, generator=draw) < 0.7
    expected = oracle.facts_loss(told.double().numpy(), facts.double().numpy(), present.numpy(), LENGTHS)
    assert float(facts_loss(told, facts, present)) == pytest.approx(expected, rel=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4))
def test_pointing_agrees_with_loops(seed: int, depth: int, heads: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    looked = [torch.rand(2, heads, 3, 6, generator=draw).softmax(dim=-1) for _ in range(depth)]
    covers = torch.rand(2, 3, 6, generator=draw) * (torch.rand(2, 3, 6, generator=draw) < 0.3)
    present = torch.rand(2, 3, generator=draw) < 0.7
    expected = oracle.pointing_loss(
        [one.double().numpy() for one in looked], covers.double().numpy(), present.numpy()
    )
    assert float(pointing_loss(looked, covers, present)) == pytest.approx(expected, rel=1e-4)


def test_pointing_asks_only_for_what_is_seen() -> None:
    """What is hidden or not there, the first block of three and the last quarter of the heads teach nothing."""
    looked = [torch.full((1, 4, 3, 5), 0.2, requires_grad=True) for _ in range(3)]
    covers = torch.zeros(1, 3, 5)
    covers[0, 0, 1] = covers[0, 2, 2] = 0.5  # the second is hidden
    pointing_loss(looked, covers, torch.tensor([[True, True, False]])).backward()
    assert looked[0].grad is None
    for look in looked[1:]:
        assert look.grad is not None
        assert (look.grad[0, :3, 0, 1] < 0).all()
        look.grad[0, :3, 0, 1] = 0
        assert not look.grad.any()


def test_pointing_adds_up_in_single_precision() -> None:
    """Three hundred shares in half precision: added up there, most of the small ones would be lost."""
    look = torch.rand(2, 4, 3, 300, generator=torch.Generator().manual_seed(0)).softmax(dim=-1).bfloat16()
    covers, present = torch.full((2, 3, 300), 0.5), torch.ones(2, 3, dtype=torch.bool)
    found = pointing_loss([look], covers, present)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, pointing_loss([look.float()], covers, present), atol=1e-6, rtol=0)


def test_padding_and_diagonal_have_no_gradient() -> None:
    logits, labels, _ = made(1, scenes=3, places=5)
    present = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
    logits.requires_grad_()
    predicate_loss(logits, labels, present).backward()
    assert logits.grad is not None
    asked = np.zeros((3, 5, 5), bool)
    for s, i, j in np.ndindex(3, 5, 5):
        asked[s, i, j] = i != j and bool(present[s, i]) and bool(present[s, j])
    assert np.array_equal(asked, pairs_of(present).numpy())
    assert not logits.grad[~torch.from_numpy(asked)].any()
    assert (logits.grad[torch.from_numpy(asked)] != 0).all()


def test_facts_of_padding_have_no_gradient() -> None:
    told = torch.randn(2, 3, len(FACTS), requires_grad=True)
    present = torch.tensor([[1, 0, 1], [0, 1, 0]], dtype=torch.bool)
    facts_loss(told, torch.ones(2, 3, len(FACTS)), present).backward()
    assert told.grad is not None
    assert not told.grad[~present].any()
    assert (told.grad[present] != 0).all()


def test_nothing_to_judge_costs_nothing() -> None:
    logits, labels, _ = made(0)
    logits.requires_grad_()
    loss = predicate_loss(logits, labels, torch.tensor([[1, 0, 0, 0], [0, 0, 0, 0]], dtype=torch.bool))
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert logits.grad is not None
    assert not logits.grad.any()


def test_mean_of_what_the_mask_sets() -> None:
    each = torch.arange(6.0).view(2, 3)
    assert float(masked_mean(each, torch.tensor([[1, 0, 0], [0, 0, 1]], dtype=torch.bool))) == 2.5


def test_head_tells_as_many_facts_as_there_are() -> None:
    assert FactsHead(12)(torch.zeros(2, 5, 12)).shape == (2, 5, len(FACTS))


def test_lengths_grow_with_the_view_and_flags_do_not() -> None:
    facts = torch.rand(2, 3, len(FACTS))
    zoom, stretch = torch.tensor([2.0, 0.5]), torch.tensor([0.6, 1.2])
    upright = torch.tensor([name in ("behind", "base", "height", "cavity_depth") for name in FACTS[:LENGTHS]])
    for grown, higher in ((enlarged(facts, zoom), zoom), (enlarged(facts, zoom, stretch), zoom * stretch)):
        for s in range(2):
            expected = facts[s, :, :LENGTHS] * torch.where(upright, higher[s], zoom[s])
            torch.testing.assert_close(grown[s, :, :LENGTHS], expected)
        assert torch.equal(grown[..., LENGTHS:], facts[..., LENGTHS:])
    assert enlarged(facts, None) is facts
