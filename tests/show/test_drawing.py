"""Marks of a drawing: outlines against counting crossings pixel by pixel, places of labels, letters in pictures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import resvg_py
from hypothesis import given
from hypothesis import strategies as st

from sightline.show import raster as raster_module
from sightline.show.drawing import bent, chip, free_corner, path, rimmed, spread
from sightline.show.outlines import outlines
from sightline.show.raster import measure, raster, spell
from sightline.show.svg import INK, MUTED, shorten, text_line, text_width


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
    square = path([np.array([(10.0, 10), (60, 10), (60, 60), (10, 60)])])
    line = rimmed("path", {"d": square}, "#ff0000", 2.0, None, dash="6 4")
    drawn = np.asarray(raster(line, (70, 70)))[..., 1]
    edge = np.concatenate([drawn[9:11, 10:60].T, drawn[10:60, 59:61], drawn[59:61, 10:60].T, drawn[10:60, 9:11]])
    assert (255 - edge.astype(float)).sum() / 255 / 2 == pytest.approx(120, rel=0.03)


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), max_size=8))
def test_spots_are_spread_inside(spots: list[tuple[float, float]]) -> None:
    placed = spread(spots, (0, 0, 300, 200))
    for p in placed:
        assert p is not None
        assert 12 <= p[0] <= 288
        assert 12 <= p[1] <= 188


def test_two_spots_on_one_place_part() -> None:
    a, b = spread([(100, 100), (100, 100)], (0, 0, 300, 200))
    assert a is not None
    assert b is not None
    assert np.hypot(a[0] - b[0], a[1] - b[1]) == pytest.approx(23, abs=0.1)


def test_labels_give_way() -> None:
    bounds, size = (0, 0, 100, 100), (30.0, 10.0)
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
    assert measure(shorten("a very long name indeed", 80, 13), 13) <= 80
    assert spell("naïve × 猫 –") == "naïve × ? –"
    assert spell("Ḿ\N{GRINNING FACE}") == "M?"


WORDS = [
    "small red metal cube",
    "WWW mmm",
    "geospa/train/0/00000012",
    "0 rectangle cont",
    "3,456 of 10,000",
    "é à ç ü",
]


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize("bold", [False, True])
def test_the_room_left_for_words_is_enough(text: str, bold: bool) -> None:
    """What chips and headings leave is an estimate for any font: in our letters it errs to the wide side."""
    assert measure(text, 12, bold=bold) <= text_width(text, 12) * (1.12 if bold else 1)


def test_an_outline_beyond_the_picture_is_cut_off() -> None:
    outside = path([np.array([(-30.0, -30), (-20, -30), (-20, -20)])])
    across = path([np.array([(15.0, 5), (40, 5), (40, 40), (15, 40)])])
    body = "".join(f'<path d="{d}" fill="{ink}"/>' for d, ink in ((outside, "#ff0000"), (across, "#00ff00")))
    done = np.asarray(raster(body, (20, 10), paper="#000000"))
    assert (done[:, :14] == 0).all()
    assert (done[6:, 16:] == (0, 255, 0)).all()


PROGRAM = """
import sys, numpy as np
from sightline.show.raster import measure, raster
from sightline.show.svg import text_line
bold = sys.argv[1] == "True"
drawn = [np.asarray(raster(text_line(10, 30, text, size=24, bold=bold), (300, 40))) for text in ("", "Hi 1 mask")]
ink = np.flatnonzero((drawn[0] != drawn[1]).any(axis=(0, 2)))
print(len(ink), ink.min(), ink.max(), measure("Hi 1 mask", 24, bold=bold))
"""


@pytest.mark.parametrize("bold", [False, True])
def test_letters_are_there_without_fonts_of_the_system(bold: bool, tmp_path: Path) -> None:
    """In a process that finds no font of its user, words still leave ink, as wide as `measure` says."""
    empty = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "FONTCONFIG_PATH": str(tmp_path)}
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)} | empty
    words = [sys.executable, "-c", PROGRAM, str(bold)]
    said = subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout.split()
    count, first, last, wide = (float(word) for word in said)
    assert count > 50
    assert first == pytest.approx(10, abs=3)
    assert last == pytest.approx(10 + wide, abs=3)


def test_only_the_shipped_letters_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No font of the system is looked at, so a sheet is the same everywhere; without ours the words are missing."""
    seen: list[dict[str, Any]] = []
    drawn = resvg_py.svg_to_bytes

    def watched(**options: Any) -> bytes:
        seen.append(options)
        return drawn(**options)

    monkeypatch.setattr(resvg_py, "svg_to_bytes", watched)
    words = text_line(5, 20, "cup")
    with_words = np.asarray(raster(words, (60, 30)))
    assert seen[0]["skip_system_fonts"] is True
    assert (with_words != np.asarray(raster("", (60, 30)))).any()
    monkeypatch.setattr(raster_module, "_font_files", lambda: ())
    assert (np.asarray(raster(words, (60, 30))) == 255).all()


def test_every_letter_the_font_is_said_to_have_is_in_it() -> None:
    """A letter that is missing would be drawn as nothing, or as the sign for a missing one."""
    letters = sorted(raster_module._LETTERS - {" ", "\xa0", "\xad", "\ufffd"})
    missing = np.asarray(raster(text_line(5, 20, "\ufffd"), (30, 30)))
    rows = [letters[i : i + 40] for i in range(0, len(letters), 40)]
    body = "".join(text_line(5 + 30 * k, 20 + 30 * j, c) for j, row in enumerate(rows) for k, c in enumerate(row))
    drawn = np.asarray(raster(body, (30 * 40, 30 * len(rows))))
    for j, row in enumerate(rows):
        for k, letter in enumerate(row):
            cell = drawn[30 * j : 30 * j + 30, 30 * k : 30 * k + 30]
            assert (cell != 255).any(), letter
            assert (cell != missing).any(), letter


def test_colours_of_a_page_are_light_in_a_picture() -> None:
    """A drawing names colours by variables that a page sets; a picture takes their fallbacks."""
    drawn = np.asarray(raster(chip((0, 0), "", MUTED), (9, 9)))
    assert tuple(drawn[5, 5]) == (0x67, 0x70, 0x7C)
    assert tuple(np.asarray(raster(chip((0, 0), "", INK), (9, 9)))[5, 5]) == (0x1C, 0x23, 0x2B)
