"""Outlines of masks, against counting crossings pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.report.contact.canvas import Canvas, bent, cut, dashed, spell, width_of
from sightline.report.contact.outlines import outlines
from sightline.report.contact.panel import free_corner, spread


def filled(loops: list[np.ndarray], height: int, width: int) -> np.ndarray:
    """Even-odd, tested at every pixel's middle by a ray to the right."""
    inside = np.zeros((height, width), dtype=bool)
    for y in range(height):
        for x in range(width):
            crossings = 0
            for loop in loops:
                for (x0, y0), (x1, y1) in zip(loop, np.roll(loop, -1, axis=0), strict=True):
                    if (y0 > y + 0.5) != (y1 > y + 0.5):
                        crossings += x + 0.5 < x0 + (x1 - x0) * (y + 0.5 - y0) / (y1 - y0)
            inside[y, x] = crossings % 2
    return inside


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_outlines_enclose_the_mask(height: int, width: int, data: st.DataObject) -> None:
    bits = data.draw(st.lists(st.booleans(), min_size=height * width, max_size=height * width))
    mask = np.array(bits).reshape(height, width)
    assert (filled(outlines(mask, tolerance=0.0), height, width) == mask).all()


@pytest.mark.parametrize("radius", [6, 20, 60])
def test_fewer_corners_stay_near(radius: int) -> None:
    y, x = np.mgrid[: 2 * radius + 9, : 2 * radius + 9] + 0.5
    middle = radius + 4.5
    (loop,) = outlines((x - middle) ** 2 + (y - middle) ** 2 < radius**2)
    assert len(loop) < 2.2 * radius + 12  # the stairs had about 8 corners a pixel of radius
    assert np.abs(np.hypot(*(loop - middle).T) - radius).max() < 1.2


def test_a_hole_is_a_loop_of_its_own() -> None:
    ring = np.ones((7, 7), dtype=bool)
    ring[3, 3] = False
    assert len(outlines(ring)) == 2
    assert outlines(np.zeros((3, 3))) == []


def test_dashes_cover_their_share_of_the_way() -> None:
    square = np.array([(0.0, 0), (50, 0), (50, 50), (0, 50)])
    parts = dashed(square, 6, 4)
    length = sum(np.hypot(*np.diff(part, axis=0).T).sum() for part in parts)
    assert len(parts) == 20
    assert length == pytest.approx(120)


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), max_size=8))
def test_spots_are_spread_inside(spots: list[tuple[float, float]]) -> None:
    placed = spread(spots, (300, 200))
    for p in placed:
        assert p is not None
        assert 12 <= p[0] <= 288
        assert 12 <= p[1] <= 188


def test_two_spots_on_one_place_part() -> None:
    a, b = spread([(100, 100), (100, 100)], (300, 200))
    assert a is not None
    assert b is not None
    assert np.hypot(a[0] - b[0], a[1] - b[1]) == pytest.approx(23, abs=0.1)


def test_labels_give_way() -> None:
    bounds, size = (100, 100), (30.0, 10.0)
    box = (20.0, 20.0, 60.0, 60.0)
    first = free_corner(box, size, bounds, [])
    assert first == (19, 10)
    assert free_corner(box, size, bounds, [(19, 10, 49, 20)]) != first
    assert free_corner(box, size, bounds, [(0, 0, 100, 100)]) is None
    assert free_corner((0, 0, 5, 5), (200.0, 10.0), bounds, []) is None  # wider than the picture


def test_arrows_between_neighbours_are_left_out() -> None:
    assert bent((0, 0), (20, 0), 0.1) == []
    curve = bent((0, 0), (100, 0), 0.1)
    assert curve[0][0] == pytest.approx(12, abs=1)
    assert max(y for _, y in curve) > 3


def test_words_fit_their_room() -> None:
    assert width_of(cut("a very long name indeed", 13, 80), 13) <= 80
    assert spell("naïve × 猫 –") == "naive x ? -"


def test_an_outline_beyond_the_picture_is_cut_off() -> None:
    from PIL import Image

    canvas = Canvas(Image.new("RGB", (20, 10)))
    canvas.fill([np.array([(-30.0, -30), (-20, -30), (-20, -20)])], (255, 0, 0), 1.0)
    canvas.fill([np.array([(15.0, 5), (40, 5), (40, 40), (15, 40)])], (0, 255, 0), 1.0)
    done = np.asarray(canvas.finish())
    assert (done[:, :14] == 0).all()
    assert (done[6:, 16:] == (0, 255, 0)).all()
