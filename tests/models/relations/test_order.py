"""Depth orders: the best cut into levels, and answers that cannot contradict each other whatever the chances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.preorder import contradictions, merges, partitions, right_pairs, total_gain
from sightline.models.relations.order import levels, merged_levels, order_within


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_the_best_cut(seed: int, n: int) -> None:
    gain = np.triu(np.random.default_rng(seed).normal(size=(n, n)), k=1)
    ours = levels(gain)
    best = max((total_gain(gain, level) for level in partitions(n)), default=0.0)
    assert total_gain(gain, ours.tolist()) == pytest.approx(best)
    assert (np.diff(ours) >= 0).all()


@given(st.integers(0, 10_000), st.integers(1, 7))
def test_any_chances_give_an_order(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(4, 0.4), size=(n, n))
    low = np.tril_indices(n, k=-1)
    chances[low] = chances.transpose(1, 0, 2)[low][:, [0, 2, 1, 3]]
    order = order_within(chances)
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    said = dict(zip(zip(i.tolist(), j.tolist(), strict=True), order.between(i, j).tolist(), strict=True))
    assert contradictions(said) == []


def test_sure_chances_are_followed() -> None:
    depth = np.array([3.0, 1.0, 1.0, 2.0])
    chances = np.zeros((4, 4, 4))
    for i in range(4):
        for j in range(4):
            chances[i, j, 1 if depth[i] < depth[j] else 2 if depth[i] > depth[j] else 3] = 1.0
    assert order_within(chances).level.tolist() == [2, 0, 0, 1]


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 5))
def test_the_best_row_of_two_images(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (np.unique(rng.integers(0, 3, size), return_inverse=True)[1].astype(np.intp) for size in (n, m))
    chances = rng.dirichlet(np.full(4, 0.4), size=(n, m))
    closer, farther = chances[..., 1], chances[..., 2]
    a, b = merged_levels(first, second, closer, farther)
    best = max(right_pairs(x, y, closer, farther) for x, y in merges(first.tolist(), second.tolist()))
    assert right_pairs(a.tolist(), b.tolist(), closer, farther) == pytest.approx(best)
    assert not set(a.tolist()) & set(b.tolist())  # nothing is *same* across images
    for level, own in ((a, first), (b, second)):  # each image keeps its order
        assert (np.sign(level[:, None] - level[None]) == np.sign(own[:, None] - own[None])).all()


def test_sure_chances_across_are_followed() -> None:
    depth_a, depth_b = np.array([3.0, 0.0]), np.array([1.0, 4.0, -1.0])
    closer = (depth_a[:, None] < depth_b[None]).astype(float)
    a, b = merged_levels(np.array([1, 0]), np.array([1, 2, 0]), closer, 1.0 - closer)
    assert a.tolist() == [3, 1]
    assert b.tolist() == [2, 4, 0]
