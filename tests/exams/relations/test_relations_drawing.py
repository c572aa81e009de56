"""The drawing of a pair: well-formed, escaped, true to its boxes, inside its frame."""

from __future__ import annotations

import base64
import io
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sightline.exams.relations.drawing import pair_drawing, spoken
from sightline.show.frame import frame_of_boxes
from sightline.show.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('x')</script>\"&\x00\x1b\ud800 onload=1"
LONG = "a label that is far too long to stand anywhere in a chart of this width, at all"


def drawn(word: str, *, photo: bool = False) -> str:
    """A drawing whose every word is the same."""
    boxes = [(0, 0, 0.5, 0.5), (0.2, 0.2, 1, 1), (0, 0.5, 0.9, 0.9)]
    pixels = np.full((6, 6, 3), 90, dtype=np.uint8) if photo else None
    frame = frame_of_boxes(boxes, [word] * 3, None, pixels, scene=word)
    return pair_drawing(frame, pair=(0, 1), truth=word, answer=word, votes=word, title=word)


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def shown(svg: str) -> list[str]:
    """The text a reader sees, without hover texts."""
    return ["".join(t.itertext()) for t in parse(svg).iter(f"{SVG}text")]


def rects(svg: str) -> list[dict[str, str]]:
    return [r.attrib for r in parse(svg).iter(f"{SVG}rect")]


def test_it_stands_alone_and_says_what_it_is() -> None:
    root = parse(drawn("plain"))
    assert root.tag == f"{SVG}svg"
    assert root.attrib["role"] == "img"
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "plain"
    assert "plain" in (root[1].text or "")
    assert root.attrib["viewBox"].startswith("0 0 440 ")


@pytest.mark.parametrize("photo", [False, True])
def test_hostile_text_stays_text(photo: bool) -> None:
    root = parse(drawn(HOSTILE, photo=photo))
    assert "script" not in {e.tag.removeprefix(SVG) for e in root.iter()}
    assert not any(name.startswith("on") or name == "id" for e in root.iter() for name in e.attrib)
    assert any("<script>" in text for text in root.itertext())
    assert not any(re.search(r"https?:|url\(", value) for e in root.iter() for value in e.attrib.values())


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60))
def test_any_text_gives_well_formed_xml_with_finite_numbers(text: str) -> None:
    for node in parse(drawn(text)).iter():
        numbers = [v for k, v in node.attrib.items() if k in {"x", "y", "width", "height", "x1", "x2", "cx", "cy"}]
        assert all(math.isfinite(float(v)) for v in numbers)


@pytest.mark.parametrize("photo", [False, True])
def test_text_stays_inside_the_drawing(photo: bool) -> None:
    for node in parse(drawn(LONG, photo=photo)).iter(f"{SVG}text"):
        wide = text_width("".join(node.itertext()), float(node.attrib["font-size"]))
        share = {"end": 0.0, "middle": 0.5}.get(node.attrib.get("text-anchor", ""), 1.0)
        assert float(node.attrib["x"]) + share * wide <= 446, "".join(node.itertext())


def test_drawing_draws_the_boxes_where_they_are() -> None:
    image = frame_of_boxes([(0.25, 0.5, 0.75, 1.0), (0.0, 0.0, 0.5, 0.5)], ["cup", "table"], (200, 100))
    drawn = rects(pair_drawing(image, pair=(0, 1), truth="A closer", answer="B closer", width=400))
    a = next(r for r in drawn if r.get("stroke-width") == "2.5")
    assert [float(a[k]) for k in ("x", "y", "width", "height")] == [100, 100, 200, 100]


def test_drawing_says_its_caption_and_an_unknown_shape() -> None:
    flat = frame_of_boxes([(0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)], ["cup", "table"], (200, 100))
    line = "truth: A closer · model: B closer · votes 4–1"
    svg = pair_drawing(flat, pair=(0, 1), truth=spoken("closer"), answer=spoken("farther"), votes="4–1")
    assert line in shown(svg)
    assert parse(svg)[0].text == line
    assert not [t for t in shown(svg) if "aspect" in t]
    square = frame_of_boxes([(0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)], ["cup", "table"])
    assert [t for t in shown(pair_drawing(square, pair=(0, 1), truth="", answer="")) if "aspect" in t]


def test_drawing_of_two_images_puts_one_letter_in_each() -> None:
    image = frame_of_boxes([(0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)], ["cup", "table"], (200, 100))
    svg = pair_drawing(image, image, pair=(0, 1), truth="A closer", answer="unsure", width=412)
    letters = {t.text: float(t.attrib["x"]) for t in parse(svg).iter(f"{SVG}text") if t.text in {"A", "B"}}
    assert letters["A"] < 200 < 212 <= letters["B"]


def test_a_photo_travels_inside_the_drawing() -> None:
    """A frame holds pixels, never an address: nothing is fetched and nothing but a picture can come in."""
    pixels = np.full((900, 1200, 3), 90, dtype=np.uint8)
    frame = frame_of_boxes([(0.0, 0.0, 0.5, 0.5), (0.5, 0.5, 1.0, 1.0)], ["a", "b"], (1200, 900), pixels)
    (image,) = parse(pair_drawing(frame, pair=(0, 1), truth="", answer="")).iter(f"{SVG}image")
    uri = image.attrib["href"]
    assert uri.startswith("data:image/jpeg;base64,")
    assert Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).size == (640, 480)


@given(
    st.lists(st.tuples(*[st.floats(0, 0.45)] * 2, *[st.floats(0.5, 1)] * 2), min_size=2, max_size=8),
    st.tuples(st.integers(50, 900), st.integers(50, 900)),
)
@settings(max_examples=25, deadline=None)
def test_drawing_stays_in_its_frame(boxes: list[tuple[float, float, float, float]], size: tuple[int, int]) -> None:
    svg = pair_drawing(frame_of_boxes(boxes, ["cup"] * len(boxes), size), pair=(0, 1), truth="t", answer="u")
    height = float(parse(svg).attrib["viewBox"].split()[3])
    for r in rects(svg):
        assert float(r["x"]) + float(r["width"]) <= 441
        assert float(r["y"]) + float(r["height"]) <= height
