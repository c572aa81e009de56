"""The viewpoint exam on the report card, its plots and its pictures."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

import sightline as sl
from exams.viewpoint_runs import CLASSES, Finds, Knows, runs, scenes
from sightline.exams.viewpoint.drawing import SAID, TRUE, DrawnView, view_drawing, view_frame
from sightline.exams.viewpoint.exam import ViewpointExam
from sightline.exams.viewpoint.plots import azimuth_roses, confusion_chart, elevation_chart, occlusion_chart
from sightline.scenes import Landmark

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return scenes(tmp_path_factory.mktemp("card") / "d", 18)


@pytest.mark.parametrize(
    ("boxes", "model", "told"),
    [
        (
            "given",
            Knows,
            ("Accuracy at π/18", "Front taken for back", "Median error, degrees", "flipped", "Azimuths"),
        ),
        ("detected", Finds, ("AVP, 24 views", "ARP, 30°", "Normalised AP", "Precision over recall", "2/3–1")),
    ],
)
def test_the_card_shows_every_class_and_what_went_wrong(data, tmp_path, boxes, model, told):
    made = runs(data, tmp_path / "runs", model(data), boxes=boxes)
    page = sl.report(made, tmp_path / "card.html", data, resamples=30)
    text = (tmp_path / "card.html").read_text()
    for words in (*told, *CLASSES, "mean without bottle", "Confusion of 8 views"):
        assert words in text
    part = json.loads((tmp_path / "card.json").read_text())["parts"][0]
    assert {section["id"] for section in part["sections"]} >= {"classes", "occlusion", "confusion", "data"}
    assert "NaN" not in text
    assert len([example for example in page.examples if example.kind == "worst"]) >= 2


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


def test_plots_of_a_dataset(data):
    items = ViewpointExam().items(data)
    titles = [figure.title for figure in azimuth_roses(items)]
    assert titles == sorted(CLASSES)
    azimuths = [a for item in items for a in item.angles[[c == "bus" for c in item.categories], 0]]
    bus = next(figure.svg for figure in azimuth_roses(items) if figure.title == "bus")
    assert f"{len(azimuths)} objects" in bus
    mean = np.mean(np.round([a for item in items for a in item.angles[:, 1]]))
    assert f"mean {mean:.1f}" in elevation_chart(items)
    free = sum(int((item.occlusion < 0.1).sum()) for item in items)
    assert f"0–10 %: {free}" in occlusion_chart(items)
    table = np.array([[3, 1], [0, 0]])
    assert "0°, 180°: .25 (n = 1)" in confusion_chart(table, title="t")
