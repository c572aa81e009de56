"""Charts of viewpoints: azimuths, elevations and degrees of occlusion of a dataset, confusion, errors, curves."""

from __future__ import annotations

import numpy as np
import pytest

from exams.viewpoint_runs import CLASSES, scenes
from sightline.exams.viewpoint.exam import ViewpointExam
from sightline.show.viewpoint_charts import confusion_chart, error_chart, precision_recall_charts, viewpoint_figures
from sightline.stats.viewed_boxes import ViewedBoxes, ViewRules, matches_by_class
from sightline.store.viewpoint_contents import viewpoint_contents


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return scenes(tmp_path_factory.mktemp("charts") / "d", 18)


def test_figures_of_a_dataset(data):
    items = ViewpointExam().items(data)
    roses, spreads = viewpoint_figures(viewpoint_contents(data.tables()))
    assert sorted(figure.title for figure in roses.figures) == sorted(CLASSES)
    buses = sum(name == "bus" for item in items for name in item.categories)
    assert f"{buses} objects" in next(figure.svg for figure in roses.figures if figure.title == "bus")
    low = sum(int(((item.angles[:, 1] >= 0) & (item.angles[:, 1] < 10)).sum()) for item in items)
    elevations, occlusion = spreads.figures
    assert f"0° to 10°: {low}" in elevations.svg
    free = sum(int((item.occlusion[[c == "bus" for c in item.categories]] <= 1 / 3).sum()) for item in items)
    assert f"bus: up to 1/3 {100 * free / buses:.0f}" in occlusion.svg


def test_confusion_and_errors():
    assert "0°, 180°: .25 (n = 1)" in confusion_chart(np.array([[3, 1], [0, 0]]), title="t")
    assert "mean 10.0" in error_chart(np.array([5.2, 15.9, np.nan]), title="t")


def test_curves_of_boxes_and_of_right_views():
    there = ViewedBoxes(
        np.array([0, 1]), np.array(["car", "car"], object), np.array([[0.0, 0, 9, 9]] * 2), np.zeros((2, 3))
    )
    said = ViewedBoxes(there.image, there.category, there.box, np.array([[0.0, 0, 0], [180, 0, 0]]), np.ones(2))
    matches = dict(matches_by_class(there, said, ViewRules((4,)), ["car", "bus"]))
    (figure,) = precision_recall_charts(matches, 2)  # nothing is drawn of a class without objects
    assert figure.title == "car"
    assert "boxes: 1.00 at recall 1.00" in figure.svg
    assert "with the right of 4 views: 0.50 at recall 1.00" in figure.svg
