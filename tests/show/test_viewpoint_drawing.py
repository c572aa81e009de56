"""Pictures of viewpoints: arrows to fronts and tops, dials, landmarks."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from sightline.scenes import Landmark
from sightline.show.viewpoint_drawing import SAID, TRUE, DrawnView, view_drawing, view_frame

SVG = "{http://www.w3.org/2000/svg}"


def test_arrows_point_where_the_front_is_seen():
    def ends(azimuth, elevation=0.0):
        truth, nothing = np.array([azimuth, elevation, 0.0]), np.full(3, np.nan)
        one = DrawnView("car", (0.25, 0.25, 0.75, 0.75), truth, nothing)
        svg = view_drawing(view_frame([one], (100, 100)), [one])
        lines = [e for e in ElementTree.fromstring(svg).iter(f"{SVG}line") if e.get("stroke") == TRUE]
        top, front = lines[:2]
        return [
            (float(e.get("x2")) - float(e.get("x1")), float(e.get("y2")) - float(e.get("y1"))) for e in (front, top)
        ]

    (dx, dy), (tx, ty) = ends(90.0)  # from its right-hand side the front points to the left, the top up
    assert dx < -50
    assert (dy, tx) == pytest.approx((0, 0), abs=1e-6)
    assert ty < -50
    assert ends(270.0)[0][0] > 50
    assert ends(0.0, 30.0)[0][1] > 20  # from the front and above it points down


def test_pictures_show_landmarks_and_what_was_not_answered():
    marks = (Landmark("a", 5.0, 5.0), Landmark("b", 9.0, 5.0, "occluded"))
    known, nothing = np.array([10.0, 5.0, 0.0]), np.full(3, np.nan)
    one = DrawnView("<car>", (2.0, 2.0, 30.0, 20.0), known, nothing, "not answered", marks)
    svg = view_drawing(view_frame([one], None), [one], title="t")
    assert "&lt;car&gt;" in svg
    assert "not answered" in svg
    assert SAID not in svg
    colours = [e.get("fill") for e in ElementTree.fromstring(svg).iter(f"{SVG}circle")]
    assert colours.count("#ffd43b") == colours.count("#868e96") == 1
