"""Losses of training with removal against slow oracles, and which class is removed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import context_losses as slow
from sightline.training.context.losses import (
    RunningLosses,
    drawn_edits,
    hinge,
    negative_loss,
    pixel_loss,
    removal_weights,
    removed_labels,
)
from sightline.training.context.scenes import IGNORED


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.integers(1, 5), images=st.integers(1, 4))
def test_hinge_is_the_formula(seed: int, classes: int, images: int) -> None:
    draw = np.random.default_rng(seed)
    names = [str(i) for i in range(classes)]
    whole, source, gone, logits = [], [], [], []
    for image in range(images):
        removed = sorted(draw.choice(classes, draw.integers(0, classes + 1), replace=False).tolist())
        rows = draw.integers(-3, 4, (len(removed), classes)).astype(float)  # with ties
        whole.append({names[c]: dict(zip(names, row, strict=True)) for c, row in zip(removed, rows, strict=True)})
        source += [image] * len(removed)
        gone += removed
        logits.append(rows)
    made, violated = hinge(
        torch.tensor(np.concatenate(logits)), torch.tensor(source).long(), torch.tensor(gone).long()
    )
    assert float(made) == pytest.approx(slow.hinge(whole))
    cases = [(edits, c) for edits in whole for c in edits if len(edits) > 1]
    broken = sum(min(edits[o][c] for o in edits if o != c) < edits[c][c] for edits, c in cases)
    assert float(violated) == pytest.approx(broken / len(cases) if cases else 0.0)


def test_hinge_moves_the_scores_apart() -> None:
    logits = torch.tensor([[2.0, 0.0], [1.0, 0.0]], requires_grad=True)
    loss, violated = hinge(logits, torch.tensor([0, 0]), torch.tensor([0, 1]))
    loss.backward()
    assert float(loss.detach()) == 1.0  # class 0: 2 without it, 1 with it and without class 1
    assert float(violated) == 0.5
    assert logits.grad is not None
    assert logits.grad.tolist() == [[1.0, 0.0], [-1.0, 0.0]]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_pixel_losses_are_the_formulas(seed: int) -> None:
    draw = np.random.default_rng(seed)
    logits = draw.normal(size=(2, 3, 2, 4)) * 3
    maps = draw.integers(0, 3, (2, 2, 4))
    maps[0, 0, 0] = IGNORED
    holes = draw.random((2, 2, 4)) < 0.4
    holes[0, 1, 1], holes[1, 1, 1] = True, False
    gone = draw.integers(0, 3, 2)
    rows = np.moveaxis(logits, 1, -1).reshape(-1, 3).tolist()
    counted = ((maps != IGNORED) & ~holes).reshape(-1).tolist()
    ours = pixel_loss(torch.tensor(logits), torch.tensor(maps), torch.tensor(holes))
    assert float(ours) == pytest.approx(slow.pixel_loss(rows, maps.reshape(-1).tolist(), counted), rel=1e-5)
    removed = np.repeat(gone, 8).tolist()
    ours = negative_loss(torch.tensor(logits), torch.tensor(gone), torch.tensor(holes))
    assert float(ours) == pytest.approx(slow.negative_loss(rows, removed, holes.reshape(-1).tolist()), rel=1e-4)


def test_negative_loss_of_certainty_is_finite() -> None:
    logits = torch.tensor([[[[60.0]], [[-60.0]]]], requires_grad=True)
    loss = negative_loss(logits, torch.tensor([0]), torch.ones(1, 1, 1, dtype=torch.bool))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(120.0)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_labels_without_the_removed_class() -> None:
    labels = torch.tensor([[True, True, False], [False, True, True]])
    made = removed_labels(labels, torch.tensor([0, 2]))
    assert made.tolist() == [[False, True, False], [False, True, False]]


TABLE = torch.tensor([[0, 1, 2], [3, -1, -1], [-1, -1, -1]])
GONE = torch.tensor([0, 1, 2, 1])
AREAS = torch.tensor([[0.1, 0.2, 0.05], [0.0, 0.3, 0.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("random", [1 / 3, 1 / 3, 1 / 3]),
        ("rand", [1 / 3, 1 / 3, 1 / 3]),
        ("sizebased", [2 / 7, 1 / 7, 4 / 7]),  # ∝ 1 / 0.1, 1 / 0.2, 1 / 0.05
        ("hardnegative", [2 / 7, 4 / 7, 1 / 7]),  # ∝ 1 / 1, 1 / 0.5, 1 / 2
    ],
)
def test_chances_of_removal(strategy: str, expected: list[float]) -> None:
    losses = torch.tensor([1.0, 0.5, 2.0])
    weights = removal_weights(strategy, TABLE, GONE, AREAS, losses)
    assert (weights[0] / weights[0].sum()).tolist() == pytest.approx(expected)
    assert weights[2].tolist() == [0, 0, 0]
    torch.manual_seed(3)
    shown = torch.zeros(4)
    for _ in range(2000):
        rows, edits = drawn_edits(weights, TABLE)
        assert rows.tolist() == [0, 1]  # the third image has nothing that can be removed
        shown[edits] += 1
    assert (shown[:3] / 2000).tolist() == pytest.approx(expected, abs=0.05)
    assert shown[3] == 2000


def test_nothing_to_draw() -> None:
    rows, edits = drawn_edits(torch.zeros(2, 3), torch.full((2, 3), -1))
    assert len(rows) == len(edits) == 0


def test_running_losses() -> None:
    running = RunningLosses(3, keep=0.5)
    logits = torch.zeros(1, 3, 1, 3)
    maps = torch.tensor([[[0, 0, IGNORED]]])
    running.update(logits, maps)
    assert running.mean.tolist() == pytest.approx([0.5 + 0.5 * math.log(3), 1.0, 1.0])  # the others were not shown
    assert "mean" in running.state_dict()  # so that a resumed training goes on with them
