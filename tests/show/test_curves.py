from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from sightline.show.curves import DrawnCurve, curve_chart, rose


def wedges(svg: str) -> list[tuple[float, str]]:
    """Radius and words of every wedge."""
    tree = ElementTree.fromstring(svg)
    found = [(e.get("d", ""), e[0].text or "") for e in tree.iter("{http://www.w3.org/2000/svg}path")]
    return [(float(re.search(r"A([\d.]+)", d)[1]), words) for d, words in found]


def test_a_rose_has_a_wedge_a_direction_whose_area_is_the_count() -> None:
    svg = rose([16, 0, 4, 1], title="Azimuths of <buses>")
    found = wedges(svg)
    assert [words for _, words in found] == [
        "0°: 16 of 21 objects",
        "180°: 4 of 21 objects",
        "270°: 1 of 21 objects",
    ]
    radii = np.array([radius for radius, _ in found])
    assert radii / radii[0] == pytest.approx([1, 0.5, 0.25], abs=0.01)
    assert "fullest 76 %" in svg
    assert "&lt;buses&gt;" in svg
    assert "nothing to show" in rose([0, 0], title="none")


def test_curves_run_from_left_to_right_with_their_names() -> None:
    x = np.linspace(0, 1, 1000)
    drawn = [DrawnCurve("a <b>", x, 1 - x), DrawnCurve("c", x[:2], x[:2], dashed=True, colour=1)]
    svg = curve_chart(drawn, title="t")
    tree = ElementTree.fromstring(svg)
    lines = [e.get("points", "").split() for e in tree.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(points) for points in lines] == [400, 2]  # as many as a screen shows
    spots = np.array([[float(v) for v in point.split(",")] for point in lines[0]])
    assert (np.diff(spots[:, 0]) > 0).all()
    assert (np.diff(spots[:, 1]) > 0).all()  # precision falls: down the page
    assert "a &lt;b&gt;" in svg
    assert "nothing to show" in curve_chart([DrawnCurve("a", x[:0], x[:0])], title="t")
