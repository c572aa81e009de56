"""Pooling over boxes against point-by-point oracles."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.pooling import part_points, part_values
from sightline.models.nets.regions import box_masks, position_sensitive, roi_align, roi_max, union_boxes


def made(seed: int, channels: int, height: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    boxes = np.sort(rng.uniform(-0.1, 1.1, (3, 2, 2)), axis=1).reshape(3, 4)
    return rng.normal(size=(2, channels, height, width)), boxes, rng.integers(0, 2, 3)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 6), st.integers(1, 3))
def test_average_and_largest(seed: int, height: int, width: int, cells: int) -> None:
    maps, boxes, image = made(seed, 2, height, width)
    tensors = [torch.from_numpy(array) for array in (maps, boxes, image)]
    mean, most = roi_align(*tensors, cells).numpy(), roi_max(*tensors, cells).numpy()
    for n in range(3):
        for c in range(2):
            for y in range(cells):
                for x in range(cells):
                    values = part_values(maps[image[n], c], boxes[n], cells, y, x)
                    np.testing.assert_allclose(mean[n, c, y, x], np.mean(values), atol=1e-9)
                    np.testing.assert_allclose(most[n, c, y, x], np.max(values), atol=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 3), st.booleans())
def test_position_sensitive(seed: int, cells: int, limited: bool) -> None:
    maps, boxes, image = made(seed, 2 * cells**2, 5, 4)
    inside = made(seed + 1, 1, 1, 1)[1] if limited else None
    tensors = [torch.from_numpy(array) for array in (maps, boxes, image)]
    limits = None if inside is None else torch.from_numpy(inside)
    ours = position_sensitive(*tensors, cells, limits).numpy()
    assert ours.shape == (3, 2, cells, cells)
    for n in range(3):
        for c in range(2):
            for y in range(cells):
                for x in range(cells):
                    plane = maps[image[n], c * cells**2 + y * cells + x]
                    values = part_values(plane, boxes[n], cells, y, x)
                    if inside is not None:
                        x0, y0, x1, y1 = inside[n]
                        places = part_points(boxes[n], cells, y, x)
                        hits = [x0 <= px <= x1 and y0 <= py <= y1 for px, py in places]
                        values = [value for value, hit in zip(values, hits, strict=True) if hit]
                    expected = np.mean(values) if values else 0.0
                    np.testing.assert_allclose(ours[n, c, y, x], expected, atol=1e-9)


def test_masks_and_unions() -> None:
    a, b = torch.tensor([[0.0, 0.5, 0.5, 1.0]]), torch.tensor([[0.25, 0.0, 1.0, 0.75]])
    assert union_boxes(a, b).tolist() == [[0.0, 0.0, 1.0, 1.0]]
    assert box_masks(a, 4)[0].tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
