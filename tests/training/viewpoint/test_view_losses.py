"""Losses of a ViewNet against loops, and what must hold of any of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reference import viewnet_oracle as oracle
from sightline.models.nets.viewpoint import BoxLogits, cell_middles
from sightline.training.viewpoint.losses import (
    generalised_iou,
    heat_loss,
    reach_loss,
    share_named,
    share_right,
    spots,
    view_losses,
)

BINS = 8


def judged(seed: int, boxes: int = 3, classes: int = 2) -> BoxLogits:
    draw = torch.Generator().manual_seed(seed)
    shapes = ((1, boxes, classes), (1, boxes, classes, BINS), (1, boxes, classes, BINS), (1, boxes, classes, 2))
    return BoxLogits(*(torch.randn(shape, generator=draw) for shape in shapes))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 359.9), st.sampled_from([0, 1, 2, 4]))
def test_azimuths_count_up_to_symmetry(seed: int, azimuth: float, symmetry: int) -> None:
    said, classes = judged(seed, boxes=1), torch.tensor([[1]])
    truth, turns = torch.tensor([[[azimuth, 10.0, -3.0]]]), torch.tensor([[symmetry]])
    everywhere = torch.ones(1, 1, dtype=torch.bool)
    named, binned, inside, tilted = view_losses(said, classes, truth, turns, everywhere).tolist()
    bins, offsets = (part[0, 0, 1].double().numpy() for part in (said.bins, said.offsets))
    place = azimuth * BINS / 360.0 * max(symmetry, 1)
    if abs(place % 1 - 0.5) > 1e-3:  # halfway between bins either will do
        expected = oracle.azimuth_losses(bins, offsets, azimuth, symmetry)
        assert (binned, inside) == pytest.approx(expected, abs=1e-4)
        if symmetry:
            alike = truth + torch.tensor([360.0 / symmetry, 0.0, 0.0])
            again = view_losses(said, classes, alike, turns, everywhere)
            assert again.tolist() == pytest.approx([named, binned, inside, tilted], abs=1e-3)
    assert named == pytest.approx(-float(said.classes[0, 0].log_softmax(0)[1]), abs=1e-5)
    gaps = (said.tilts[0, 0, 1] - torch.tensor([10.0, -3.0]) / 45.0).abs().tolist()
    assert tilted == pytest.approx(sum(g * g / 0.4 if g < 0.2 else g - 0.1 for g in gaps), abs=1e-5)


def test_what_is_not_counted_teaches_nothing() -> None:
    said, classes = judged(1), torch.tensor([[0, 1, -1]])
    truth, turns = torch.rand(1, 3, 3) * 100, torch.ones(1, 3, dtype=torch.int64)
    counted = torch.tensor([[True, False, False]])
    first = view_losses(said, classes, truth, turns, counted)
    truth[:, 1:] += 50.0
    torch.testing.assert_close(view_losses(said, classes, truth, turns, counted), first)
    assert not view_losses(said, classes, truth, turns, counted & False).any()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_generalised_iou_as_by_hand(seed: int) -> None:
    boxes = np.sort(np.random.default_rng(seed).uniform(0, 1, (2, 2, 2)), axis=1).reshape(2, 4)
    made = generalised_iou(*torch.from_numpy(boxes))
    assert float(made) == pytest.approx(oracle.giou(*boxes))


BOXES = torch.tensor([[[0.1, 0.1, 0.5, 0.9], [0.5, 0.2, 0.9, 0.6], [0.0, 0.0, 0.0, 0.0]]])
PRESENT = torch.tensor([[True, True, False]])


def near() -> Tensor:
    return spots(BOXES, PRESENT, 8, 12)


def test_a_spot_is_one_in_the_cell_of_the_middle() -> None:
    made = near()
    assert (made[0, 0] == 1.0).nonzero().tolist() == [[4, 3]]  # 0.5 · 8 is a border of two cells: the later one
    assert made[0, 1, 3, 8] == 1.0
    assert not made[0, 2].any()
    assert 0.0 < made[0, 0, 4, 4] < 1.0


def test_right_heat_costs_little_and_wrong_heat_much() -> None:
    classes = torch.tensor([[1, 0, -1]])
    right = torch.full((1, 2, 8, 12), -12.0)
    for i, c in ((0, 1), (1, 0)):
        right[0, c] = torch.where(near()[0, i] >= 1.0, 12.0, right[0, c])
    cost = float(heat_loss(right, near(), classes, PRESENT))
    assert cost < 1e-3
    assert float(heat_loss(right.flip(1), near(), classes, PRESENT)) > 10.0
    assert float(heat_loss(torch.full_like(right, 12.0), near(), classes, PRESENT)) > 10.0


def test_true_boxes_cost_nothing() -> None:
    middles = cell_middles(8, 12)[None]
    owner = near().argmax(dim=1)
    boxes = BOXES[0][owner[0]].permute(2, 0, 1)[None]
    reach = torch.cat((middles - boxes[:, :2], boxes[:, 2:] - middles), dim=1)
    assert float(reach_loss(reach, near(), BOXES)) == pytest.approx(0.0, abs=1e-5)
    assert float(reach_loss(reach + 0.1, near(), BOXES)) > 0.3


def test_share_right_counts_up_to_symmetry() -> None:
    said = torch.tensor([[[10.0, 0, 0], [190.0, 0, 0], [190.0, 0, 0], [77.0, 0, 0]]])
    truth = torch.tensor([[[350.0, 0, 0], [350.0, 0, 0], [350.0, 0, 0], [0.0, 0, 0]]])
    counted = torch.ones(1, 4, dtype=torch.bool)
    assert float(share_right(said, truth, torch.tensor([[1, 1, 2, 0]]), counted)) == 0.75


def test_share_of_classes_counts_what_counts() -> None:
    empty = torch.zeros(1, 3, 0)
    judged = BoxLogits(torch.tensor([[[2.0, 1.0], [0.0, 3.0], [5.0, 0.0]]]), empty, empty, empty)
    classes, counted = torch.tensor([[0, 0, -1]]), torch.tensor([[True, True, False]])
    assert share_named(judged, classes, counted).item() == 0.5
    assert share_named(judged, classes, counted & False).item() == 0.0
