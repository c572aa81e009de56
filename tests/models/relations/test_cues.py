"""Cues of boxes: what stays and what turns, in numpy and torch alike; the paper's eleven numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.models.relations.cues import (
    ANTISYMMETRIC,
    PAPER_BOXES,
    SYMMETRIC,
    box_cues,
    checked_cues,
    paper_boxes,
)


def boxes(seed: int, n: int) -> NDArray[np.float64]:
    ends = np.sort(np.random.default_rng(seed).random((n, 2, 2)), axis=1)
    return ends.reshape(n, 4)


@given(st.integers(0, 10_000), st.integers(0, 6))
def test_turning_a_pair(seed: int, n: int) -> None:
    a, b = boxes(seed, n), boxes(seed + 1, n)
    (stays, turns), (stays_back, turns_back) = box_cues(a, b), box_cues(b, a)
    assert stays.shape == (n, SYMMETRIC)
    assert turns.shape == (n, ANTISYMMETRIC)
    np.testing.assert_array_equal(stays, stays_back)  # to the last bit
    np.testing.assert_array_equal(turns, -turns_back)


def test_torch_computes_the_same() -> None:
    a, b = boxes(0, 50), boxes(1, 50)
    for ours, theirs in zip(box_cues(a, b), box_cues(torch.from_numpy(a), torch.from_numpy(b)), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12)


def test_the_papers_numbers() -> None:
    found = paper_boxes(np.array([[0.0, 0.1, 0.5, 0.6]]), np.array([[0.3, 0.4, 1.0, 1.0]]))
    assert found.shape == (1, PAPER_BOXES)
    np.testing.assert_allclose(found[0], [0.0, 0.1, 0.5, 0.6, 0.3, 0.4, 1.0, 1.0, 0.2, 0.2, 0.04])
    apart = paper_boxes(np.array([[0.0, 0.0, 0.1, 0.1]]), np.array([[0.5, 0.5, 1.0, 1.0]]))
    assert apart[0, 8:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("given_cues", "expected"),
    [
        ("b", "b"),
        ("cb", "bc"),  # in the paper's order
        ("adcb", "bcda"),
        ("c", None),  # without boxes
        ("bx", None),  # no such cue
        ("bb", None),  # twice
        ("", None),
    ],
)
def test_sums_of_cues(given_cues: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ConfigError, match="cues are b with"):
            checked_cues(given_cues)
    else:
        assert checked_cues(given_cues) == expected
