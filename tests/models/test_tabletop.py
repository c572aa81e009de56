"""The small network that comes along: it finds things and orders them by depth in scenes it never saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="checkpoints need safetensors")

import sightline
from sightline.errors import ConfigError
from sightline.geometry.boxes import iou_matrix
from sightline.models import candidate
from sightline.models.nets.tabletop import STRIDE, TabletopConfig, TabletopNet
from sightline.models.tabletop import CATEGORY, TabletopDepth, small_detector
from sightline.skills import Detections, skills_of
from sightline.store import Dataset


@pytest.fixture(scope="module")
def unseen(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("unseen") / "data"
    return sightline.generate("geospa/val_op", folder, scenes=8, size=(144, 96), seed=99)


def test_it_finds_most_things_in_unseen_scenes(unseen: Dataset) -> None:
    model = small_detector()
    found = right = there = 0
    for scene in unseen:
        view = scene.views[0]
        boxes = np.array([seen.box for seen in scene.seen_in(view.id)]) / (144, 96, 144, 96)
        said = Detections.checked(model.detect(view.without_truth()), model.name)
        assert set(said.categories) <= {CATEGORY}
        overlap = iou_matrix(said.boxes, boxes)
        there += len(boxes)
        found += len(said.boxes)
        right += int((overlap.max(axis=0, initial=0.0) > 0.5).sum())
    assert right / there > 0.5
    assert found < 2 * there


def test_its_depth_follows_the_true_depth(unseen: Dataset) -> None:
    source = TabletopDepth(small_detector())
    agreement = []
    for scene in unseen:
        view = scene.views[0]
        far = source.estimate_depth(view.without_truth())
        assert far.shape == (96 // STRIDE, 144 // STRIDE)
        true = view.depth()[STRIDE // 2 :: STRIDE, STRIDE // 2 :: STRIDE]
        known = np.isfinite(true)
        agreement.append(np.corrcoef(far[known], true[known])[0, 1])
    assert min(agreement) > 0.8


def test_both_together_take_the_relations_exam(unseen: Dataset, tmp_path: Path) -> None:
    exam = sightline.RelationsExam(boxes="detected")
    results = sightline.examine("small_depth+small_detector", unseen, exam, out=tmp_path, baselines=False)
    assert results[0].run.status == "finished"
    assert "relate" in skills_of(candidate("small_depth").model)
    first, second = (candidate(spec).fingerprint for spec in ("small_detector", "small_detector:threshold=0.5"))
    assert first != second


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"image": (100, 96)}, "multiples of 8"), ({"width": 0}, "width must be"), ({"blocks": 9}, "blocks 1 to 5")],
)
def test_shapes_that_cannot_be(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TabletopNet(TabletopConfig(**changes))  # type: ignore[arg-type]
