"""Transcripts and drawings of a stream: whole, sound, escaped."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from sightline.errors import DataError
from sightline.exams.turing.drawing import (
    question_picture,
    region_map,
    stream_drawing,
    stream_example,
    stream_picture,
)
from sightline.exams.turing.transcript import Line, Transcript, hue, transcripts
from sightline.scenes import Object, Scene, Sighting, View
from sightline.show.frame import ImageFrame, frame_of

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"&'{{ 7*7 }}|_`"
LEFT = (0.0, 0.0, 0.5, 1.0)
RIGHT = (0.5, 0.0, 1.0, 1.0)


def test_records_of_another_exam() -> None:
    with pytest.raises(DataError, match="not records of the turing exam"):
        transcripts(pl.DataFrame({"item": ["a"]}))
    assert transcripts(pl.DataFrame()) == []


def line(number: int, truth: str, reply: str | None = None, **more: Any) -> Line:
    given: dict[str, Any] = {"kind": "exist", "text": "Is there a cat in the designated region?", "region": LEFT}
    given |= {"p_yes": 0.5, "support": 40} | more
    return Line(number=number, truth=truth, reply=reply, **given)


@pytest.mark.parametrize(
    ("truth", "reply", "right", "outcome"),
    [
        ("yes", "yes", True, "right"),
        ("no", "yes", False, "wrong"),
        ("yes", "abstain", False, "silent"),
        ("no", "late", False, "silent"),
        ("ambiguous", None, None, "ambiguous"),  # never asked
        ("yes", None, None, ""),  # nobody was asked
    ],
)
def test_outcomes(truth: str, reply: str | None, right: bool | None, outcome: str) -> None:
    told = Transcript.of("s", [line(1, truth, reply)])
    assert told.lines[0].right is right
    assert stream_example(blank(), told).questions[0].outcome == outcome


def test_regions_are_named_in_the_order_met() -> None:
    told = Transcript.of(
        "s", [line(1, "no"), line(2, "no", region=RIGHT), line(3, "no"), line(4, "no", region=None)]
    )
    assert [told.said(one) for one in told.lines[:3]] == [
        f"Is there a cat in the {where}?" for where in ("left half (A)", "right half (B)", "left half (A)")
    ]
    assert told.hue(told.lines[3]) is None
    assert len({hue(i).name for i in range(64)}) == len({hue(i).words for i in range(64)}) == 64
    assert hue(1, (0.1, 0.2, 0.3, 0.4)).words == "region B"  # no words for that place
    assert hue(1, LEFT, by_colour=True).words == "the yellow region"


def blank(units: str = "pixels", size: tuple[int, int] | None = None) -> ImageFrame:
    boxes = {"a": (10.0, 20.0, 110.0, 220.0), "b": (100.0, 0.0, 400.0, 200.0)}
    if units == "normalised":
        boxes = {"a": (0.1, 0.1, 0.4, 0.6), "b": (0.3, 0.0, 1.0, 0.8)}
    scene = Scene(
        "s",
        views=(View("v", size=size, units=units),),  # type: ignore[arg-type]
        objects=(Object("a", HOSTILE), Object("b", "dog", {"color": "red"})),
        sightings=tuple(Sighting("v", name, box) for name, box in boxes.items()),
    )
    return frame_of(scene)


@pytest.mark.parametrize(
    ("units", "size", "expected", "sized"),
    [
        ("pixels", None, (416.0, 228.8), False),  # nobody told the size: as far as the boxes reach, and a rim
        ("pixels", (500, 250), (500.0, 250.0), True),
        ("normalised", None, (600.0, 600.0), False),  # fractions of a square
        ("normalised", (500, 250), (500.0, 250.0), True),
    ],
)
def test_frames(units: str, size: tuple[int, int] | None, expected: tuple[float, float], sized: bool) -> None:
    frame = blank(units, size)
    assert frame.size == expected
    assert frame.sized is sized
    assert frame.place(RIGHT) == (expected[0] / 2, 0.0, expected[0], expected[1])
    assert [o.words for o in frame.objects] == [HOSTILE.replace("_", " "), "red dog"]


def test_classes_of_open_images_are_drawn_by_their_names() -> None:
    scene = Scene(
        "s",
        views=(View("v", size=(500, 250)),),
        objects=(Object("a", "/m/0bwd_0j"), Object("b", "/m/unknown")),
        sightings=(Sighting("v", "a", (0.0, 0.0, 300.0, 200.0)), Sighting("v", "b", (100.0, 0.0, 400.0, 200.0))),
    )
    words = " ".join(ElementTree.fromstring(stream_drawing(frame_of(scene), Transcript.of("s", []))).itertext())
    assert "elephant" in words
    assert "0bwd" not in words
    assert "/m/unknown" in words  # no name is known: better than nothing


def test_drawings_without_a_picture_are_sound_and_show_what_was_found() -> None:
    labelled = line(2, "yes", "no", kind="unique", label="dog 1", object_id="b")
    told = Transcript.of("s", [line(1, "no", "no", region=RIGHT), labelled, line(3, "ambiguous", story=2)])
    drawn = stream_drawing(blank(), told)
    root = ElementTree.fromstring(drawn)
    words = " ".join(text for text in root.itertext())
    assert "dog 1" in words
    assert hue(1).css in drawn  # the left half, met second, where the dog was labelled
    assert hue(0).css not in drawn  # the right half led to nothing
    assert "<script" not in drawn
    ElementTree.fromstring(region_map(LEFT, hue(9), (3, 2)))
    sheet = np.asarray(stream_picture(blank(), told))
    for found in (hue(0), hue(1)):
        assert (np.abs(sheet.astype(int) - [*bytes.fromhex(found.css[1:])]).sum(axis=2) < 12).any()
    bare, framed = (np.asarray(question_picture(blank(), box, hue(0), ())) for box in (None, LEFT))
    assert (bare != framed).any()
    assert stream_picture(blank(), Transcript.of("s", [])).width > 700
