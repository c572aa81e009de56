"""The viewpoint exam on generated scenes: truth from geometry, symmetry of the models, segmentation by pose."""

from __future__ import annotations

import numpy as np
import pytest

import sightline as sl
from sightline.exams.viewpoint.exam import ViewpointExam
from sightline.exams.viewpoint.segmentation import answered_azimuths, pose_segmentation, posed_objects
from sightline.generation import generate
from sightline.store import Dataset

WORLD = """
about: CAD models
extends: kitchen
shapes: [cad/bus/city, cad/car/sedan, cad/bottle/wine]
sizes: [medium]
objects: [2, 3]
kinds: [2, 3]
placement: {independent: 1}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Dataset:
    folder = tmp_path_factory.mktemp("cad")
    (folder / "cad.yaml").write_text(WORLD)
    return generate(folder / "cad.yaml", folder / "d", scenes=4, seed=2, size=(240, 160), depth=None)


class Turned:
    """Knows the truth, and turns bottles by any angle: nobody sees that."""

    name = "turned"

    def __init__(self, data: Dataset) -> None:
        self.items = {item.id: item for item in ViewpointExam().items(data)}

    def viewpoint(self, objects: sl.BoxedObjects) -> sl.ViewAngles:
        item = self.items[objects.view.id]
        angles = item.angles[item.asked]
        angles[np.array(objects.categories) == "bottle", 0] += 100
        return sl.ViewAngles(angles)


def test_generated_scenes_can_be_asked_about(data, tmp_path):
    items = ViewpointExam().items(data)
    symmetry = {name: s for item in items for name, s in zip(item.categories, item.symmetry.tolist(), strict=True)}
    assert symmetry == {"bottle": 0, "bus": 1, "car": 1}
    assert all(np.isfinite(item.occlusion).all() for item in items)
    (result, *priors) = sl.examine(Turned(data), data, "viewpoint", out=tmp_path)
    assert len(priors) == 3
    assert result.scores.at("accuracy_pi_18", "mean without bottle").value == 1.0
    assert result.scores.at("accuracy_pi_6", "bottle").value == 0.0
    lenient = sl.score(result, data, symmetry=True, resamples=20).scores
    assert lenient.at("accuracy_pi_18", "mean").value == 1.0
    objects, shapes, library = posed_objects(data, answered_azimuths(result.records))
    assert len(objects) == sum(len(item.asked) for item in items)
    found = pose_segmentation(objects, shapes, library, occlusion=True)
    for name in symmetry:
        assert found.true[name] > 0.85  # the simplified camera's residual, and pixels at the edge
        assert found.predicted[name] == pytest.approx(found.true[name], abs=0.03)
        assert found.random[name][0] < found.true[name]
