"""Boxes against a pixel-counting oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sightline.geometry import area, centre, intersection, iou, iou_matrix

SIDE = 12


@st.composite
def whole_boxes(draw: st.DrawFn) -> tuple[int, int, int, int]:
    x0, y0 = draw(st.integers(0, SIDE - 1)), draw(st.integers(0, SIDE - 1))
    return x0, y0, draw(st.integers(x0 + 1, SIDE)), draw(st.integers(y0 + 1, SIDE))


def pixels(box: tuple[int, int, int, int]) -> np.ndarray:
    canvas = np.zeros((SIDE, SIDE), dtype=bool)
    canvas[box[1] : box[3], box[0] : box[2]] = True
    return canvas


@given(whole_boxes(), whole_boxes())
def test_area_intersection_and_iou_count_pixels(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> None:
    p, q = pixels(a), pixels(b)
    assert area(a) == p.sum()
    assert intersection(a, b) == (p & q).sum()
    assert iou(a, b) == (p & q).sum() / (p | q).sum()


@given(st.lists(whole_boxes(), min_size=1, max_size=5), st.lists(whole_boxes(), min_size=1, max_size=5))
def test_the_matrix_holds_every_pair(a: list[tuple[int, ...]], b: list[tuple[int, ...]]) -> None:
    matrix = iou_matrix(a, b)
    assert matrix.shape == (len(a), len(b))
    assert all(matrix[i, j] == iou(a[i], b[j]) for i in range(len(a)) for j in range(len(b)))


@given(whole_boxes())
def test_centre_lies_between(box: tuple[int, int, int, int]) -> None:
    x, y = centre(box)
    assert box[0] < x < box[2]
    assert box[1] < y < box[3]


def test_two_empty_boxes_have_no_iou() -> None:
    assert np.isnan(iou([0, 0, 0, 0], [0, 0, 0, 0]))
