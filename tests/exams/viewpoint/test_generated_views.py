"""The viewpoint exam on generated scenes: truth from geometry, symmetry of the models, segmentation by pose."""

from __future__ import annotations

import numpy as np
import pytest

import sightline as sl
from sightline.exams.viewpoint.exam import ViewpointExam
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
    for path in ("segmentation", "segmentation_occlusion"):
        true, random, closest, said = (
            result.scores.below(path, row) for row in ("true", "random", "closest", "predicted")
        )
        assert result.scores.facts[path]["n_images"] == len(items)
        assert set(true) == {*symmetry, "mean", "mean without bottle"}
        for name in symmetry:
            least = 0.85 if path.endswith("occlusion") else 0.5  # the camera's residual and pixels at the edge
            assert true[name].value > least
            assert said[name].value == pytest.approx(true[name].value, abs=0.03)  # bottles turn unseen
            assert random[name].value < true[name].value
            assert closest[name].value < true[name].value
            assert result.scores.facts[path]["random_sd"][name] > 0
        assert true["mean"].low < true["mean"].value < true["mean"].high
    assert result.scores.at("segmentation", "true", "mean").value <= true["mean"].value
    none = sl.score(result, data, segmentation=0, resamples=20).scores
    assert none.at("segmentation", "true", "mean") is None
    document = sl.score(result, data, segmentation=2, resamples=20).scores.to_dict()
    assert document["segmentation"]["n_images"] == 2
