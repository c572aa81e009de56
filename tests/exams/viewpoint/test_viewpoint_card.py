"""The viewpoint exam on the report card, its plots and its pictures."""

from __future__ import annotations

import json

import pytest

import sightline as sl
from exams.viewpoint_runs import CLASSES, Finds, Knows, runs, scenes


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
