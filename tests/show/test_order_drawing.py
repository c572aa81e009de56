"""Depth orders drawn: one number a level, near boxes over far ones, names beneath; photos of a dataset."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import ConfigError, DataError
from sightline.scenes import Object, Scene, Sighting, View
from sightline.show.frame import frame_of_boxes
from sightline.show.order_drawing import order_drawing, order_sheet
from sightline.store import write_scenes

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


def test_a_number_moves_in_the_larger_box() -> None:
    boxes = [(0.1, 0.0, 0.9, 1.0), (0.45, 0.45, 0.55, 0.55)]  # one around the other, with one middle
    drawing = order_drawing(frame_of_boxes(boxes, ["shelf", "cup"], (200, 200)), [0, 1], width=200)
    spots = re.findall(r'<circle[^>]*cx="([\d.]+)"[^>]*cy="([\d.]+)"', drawing)[:2]
    small, large = (np.array(spot, dtype=float) for spot in spots)
    assert small == pytest.approx([100, 100])
    assert np.abs(large - small).max() >= 20


def scene(name: str, objects: int) -> Scene:
    things = tuple(Object(str(i), "cup") for i in range(objects))
    seen = [Sighting("0", str(i), (10.0 * i, 10.0, 10.0 * i + 20, 40.0 + i)) for i in range(objects)]
    crowd = (Object("crowd", "person"),), (Sighting("0", "crowd", (0, 0, 99, 50), flags=frozenset({"crowd"})),)
    picture = np.full((50, 100, 3), 90, dtype=np.uint8)
    view = View("0", size=(100, 50), load_image=lambda: picture)
    return Scene(name, views=(view,), objects=(*things, *crowd[0]), sightings=(*seen, *crowd[1]))


def test_photos_are_drawn_a_file_each(tmp_path: Path) -> None:
    data = write_scenes([scene("desk", 3), scene("empty", 0)], tmp_path / "data")
    asked: list[Any] = []

    def by_bottom(view: View, boxes: NDArray[np.float64], categories: Sequence[str]) -> list[int]:
        asked.append((view.id, view.load_depth, boxes.tolist(), list(categories)))
        return np.argsort(np.argsort(-boxes[:, 3])).tolist()

    made = order_sheet(data, tmp_path / "o.svg", by_bottom, title="bottoms")
    assert [file.name for file in made.files] == ["o.svg", "o-2.svg"]
    assert made.to_dict()["overlays"] == ["order"]
    [(name, depth, boxes, categories)] = asked  # nothing to ask of the empty one; the crowd is left out
    assert (name, depth, categories) == ("desk", None, ["cup"] * 3)
    np.testing.assert_allclose(boxes[2], [0.2, 0.2, 0.4, 0.84])
    drawn = made.files[0].read_text()
    assert "1: cup; 2: cup; 3: cup" in drawn
    assert "bottoms: desk" in drawn
    pictures = order_sheet(data, tmp_path / "o.png", by_bottom, ids=["desk"], width=100)
    with Image.open(pictures.files[0]) as picture:
        assert picture.size[0] == 2 * (100 + 32)
        assert picture.getpixel((32 + 190, 32 + 5)) == (90, 90, 90)  # the photo itself, beside the boxes


@pytest.mark.parametrize(
    ("out", "more", "error", "problem"),
    [
        ("o.html", {}, ConfigError, "a .svg or .png file, not 'o.html'"),
        ("o.png", {"views": ["1"]}, ConfigError, "no scene has a view 1"),
        ("o.png", {"ids": ["table"]}, DataError, "table"),
    ],
)
def test_orders_that_cannot_be_drawn(
    tmp_path: Path, out: str, more: dict[str, Any], error: type[Exception], problem: str
) -> None:
    data = write_scenes([scene("desk", 2)], tmp_path / "data")
    with pytest.raises(error, match=problem):
        order_sheet(data, tmp_path / out, lambda *_: [0, 1], **more)
    assert not (tmp_path / out).exists()


def test_an_image_of_unknown_size_is_noted(tmp_path: Path) -> None:
    one = scene("desk", 2)
    bare = replace(one, views=(View("0"),))
    made = order_sheet(write_scenes([bare], tmp_path / "data"), tmp_path / "o.svg", lambda *_: [0, 1])
    assert made.notes == ("desk: the size of the image is unknown, so its boxes are taken to reach all over it",)
