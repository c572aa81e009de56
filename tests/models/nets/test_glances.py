"""Glances: each is the network on pictures moved by less than a patch, and a model's judgement is their mean."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import ConfigError
from sightline.models.nets.sornet import MOST_GLANCES, Sornet, SornetConfig, glances, moved, offsets


@pytest.fixture(scope="module")
def net() -> Sornet:
    torch.manual_seed(0)
    return Sornet(SornetConfig(32, 2, 2, 8, views=("original", "top"), image=(64, 32), patch=16)).eval()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(-9, 9), st.integers(-9, 9))
def test_moved_pictures_show_what_lies_beside_and_repeat_their_edge(
    height: int, width: int, right: int, down: int
) -> None:
    picture = np.arange(height * width * 3).reshape(height, width, 3)
    told = moved(torch.from_numpy(picture)[None, None], right, down)[0, 0].numpy()
    for y in range(height):
        for x in range(width):
            from_y, from_x = min(max(y + down, 0), height - 1), min(max(x + right, 0), width - 1)
            assert (told[y, x] == picture[from_y, from_x]).all()


@pytest.mark.parametrize("side", [16, 32])
def test_no_two_glances_cut_alike(side: int) -> None:
    cuts = {(right % side, down % side) for right, down in offsets(MOST_GLANCES, side)}
    assert len(cuts) == MOST_GLANCES
    assert offsets(1, side) == [(0, 0)]
    assert offsets(3, side) == offsets(MOST_GLANCES, side)[:3]
    assert np.sum(offsets(MOST_GLANCES, side), axis=0).tolist() == [0, 0]


@pytest.mark.parametrize("count", [0, MOST_GLANCES + 1])
def test_so_many_are_refused(count: int) -> None:
    with pytest.raises(ConfigError, match=f"1 to {MOST_GLANCES}, not {count}"):
        offsets(count, 32)


def test_each_glance_is_the_network_on_moved_pictures(net: Sornet) -> None:
    images = torch.randint(256, (3, 1, 32, 64, 3), dtype=torch.uint8)
    queries = torch.randint(256, (3, 4, 16, 16, 3), dtype=torch.uint8)
    with torch.inference_mode():
        told = glances(net, images, queries, (1,), count=4)
        assert told.shape == (4, 3, 4, 4, 8)
        for one, offset in zip(told, offsets(4, 16), strict=True):
            assert torch.allclose(one, net(moved(images, *offset), queries, (1,)), atol=1e-5)
    assert not torch.allclose(told[0], told[1], atol=1e-3)
