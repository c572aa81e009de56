"""Scene sketches: well-formed, boxes where they belong, nothing fetched."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sightline.report.sketch import SketchImage, scene_sketch, spoken

SVG = "{http://www.w3.org/2000/svg}"
PIXEL = "data:image/png;base64,iVBORw0KGgo="
HOSTILE = "<script>alert('x')</script>\"&\x00\x1b\ud800 onload=1"


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def shown(svg: str) -> list[str]:
    """The text a reader sees, without hover texts."""
    return ["".join(t.itertext()) for t in parse(svg).iter(f"{SVG}text")]


def rects(svg: str) -> list[dict[str, str]]:
    return [r.attrib for r in parse(svg).iter(f"{SVG}rect")]


def test_hostile_text_stays_text() -> None:
    image = SketchImage([(0, 0, 0.5, 0.5), (0.2, 0.2, 1, 1)], [HOSTILE, HOSTILE], None, None, HOSTILE)
    root = parse(scene_sketch(image, pair=(0, 1), truth=HOSTILE, answer=HOSTILE, votes=HOSTILE, title=HOSTILE))
    assert not list(root.iter(f"{SVG}script"))
    assert not [a for e in root.iter() for a in e.attrib if a.startswith("on") or a == "id"]
    assert "<script>alert('x')</script>" in "".join(root.itertext())


def test_sketch_draws_the_boxes_where_they_are() -> None:
    image = SketchImage([(0.25, 0.5, 0.75, 1.0), (0.0, 0.0, 0.5, 0.5)], ["cup", "table"], (200, 100))
    drawn = rects(scene_sketch(image, pair=(0, 1), truth="A closer", answer="B closer", width=400))
    a = next(r for r in drawn if r.get("stroke-width") == "2.5")
    assert [float(a[k]) for k in ("x", "y", "width", "height")] == [100, 100, 200, 100]


def test_sketch_says_its_caption_and_an_unknown_shape() -> None:
    flat = SketchImage([(0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)], ["cup", "table"], (200, 100))
    line = "truth: A closer · model: B closer · votes 4–1"
    svg = scene_sketch(flat, pair=(0, 1), truth=spoken("closer"), answer=spoken("farther"), votes="4–1")
    assert line in shown(svg)
    assert parse(svg)[0].text == line
    assert not [t for t in shown(svg) if "aspect" in t]
    square = SketchImage(flat.boxes, flat.labels)
    assert [t for t in shown(scene_sketch(square, pair=(0, 1), truth="", answer="")) if "aspect" in t]


def test_sketch_of_two_images_puts_one_letter_in_each() -> None:
    image = SketchImage([(0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)], ["cup", "table"], (200, 100))
    svg = scene_sketch(image, image, pair=(0, 1), truth="A closer", answer="unsure", width=412)
    letters = {t.text: float(t.attrib["x"]) for t in parse(svg).iter(f"{SVG}text") if t.text in {"A", "B"}}
    assert letters["A"] < 200 < 212 <= letters["B"]


@pytest.mark.parametrize(
    "photo",
    [
        "https://example.org/x.png",  # would fetch
        "data:image/svg+xml;base64,AAAA",  # may carry anything
        'data:image/png;base64,AA" onload="x',  # breaks out
        "data:image/png;base64,AAAA\n",  # ends early
    ],
)
def test_sketch_takes_only_raster_data(photo: str) -> None:
    boxes = [(0.0, 0.0, 0.5, 0.5), (0.5, 0.5, 1.0, 1.0)]
    with pytest.raises(ValueError, match="data URI"):
        scene_sketch(SketchImage(boxes, ["a", "b"], (1, 1), photo), pair=(0, 1), truth="", answer="")
    good = scene_sketch(SketchImage(boxes, ["a", "b"], (1, 1), PIXEL), pair=(0, 1), truth="", answer="")
    assert [i.attrib["href"] for i in parse(good).iter(f"{SVG}image")] == [PIXEL]


@given(
    st.lists(st.tuples(*[st.floats(0, 0.45)] * 2, *[st.floats(0.5, 1)] * 2), min_size=2, max_size=8),
    st.tuples(st.integers(50, 900), st.integers(50, 900)),
)
@settings(max_examples=25, deadline=None)
def test_sketch_stays_in_its_frame(boxes: list[tuple[float, float, float, float]], size: tuple[int, int]) -> None:
    svg = scene_sketch(SketchImage(boxes, ["cup"] * len(boxes), size), pair=(0, 1), truth="t", answer="u")
    height = float(parse(svg).attrib["viewBox"].split()[3])
    for r in rects(svg):
        assert float(r["x"]) + float(r["width"]) <= 441
        assert float(r["y"]) + float(r["height"]) <= height
