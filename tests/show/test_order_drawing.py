"""Depth orders drawn: one number a level, near boxes over far ones, the row of names beneath."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from sightline.show.frame import frame_of_boxes
from sightline.show.order_drawing import order_drawing

BOXES = [(0.1, 0.1, 0.6, 0.6), (0.3, 0.3, 0.9, 0.9), (0.2, 0.0, 0.4, 0.2)]


def test_a_level_has_one_number_and_one_colour() -> None:
    frame = frame_of_boxes(BOXES, ["cup", "<plate>", "wall"], (200, 100))
    drawing = order_drawing(frame, [1, 0, 1], title="a photo")
    ElementTree.fromstring(drawing)  # well formed, whatever the names
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", drawing)
    assert texts.count("1") == 2  # on the plate and in the list
    assert texts.count("2") == 3  # on the cup, on the wall and once in the list
    assert "cup, wall" in texts
    assert len(set(re.findall(r'<circle[^>]*fill="(#\w+)"', drawing))) == 2
    assert drawing.rindex("2: cup") < drawing.rindex("1: &lt;plate&gt;")  # far boxes are drawn first


def test_no_object() -> None:
    ElementTree.fromstring(order_drawing(frame_of_boxes([], [], (20, 10)), []))


def test_levels_of_all_objects_are_needed() -> None:
    with pytest.raises(ValueError, match="zip"):
        order_drawing(frame_of_boxes(BOXES, ["a", "b", "c"]), [0])
