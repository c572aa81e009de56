"""Scores of a ViewNet's answers: truth scores 1, views from behind are flips, classes are counted alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sightline.models.nets.viewpoint import ViewNet, viewnet_config
from sightline.stats.viewed_boxes import ViewedBoxes
from sightline.training.viewpoint.evaluation import ViewAnswers, answer_views, drawn, score_given, score_views
from sightline.training.viewpoint.plan import CLASSES
from sightline.training.viewpoint.views import DrawnViews


def answers(turn: float = 0.0, named: str = "", images: int = 30) -> ViewAnswers:
    """A car and a bottle in every picture, found and judged exactly but for a turn of the azimuth."""
    rng = np.random.default_rng(0)
    image = np.repeat(np.arange(images), 2)
    category = np.array(["car", "bottle"] * images, dtype=object)
    low = rng.uniform(0, 0.4, (2 * images, 2))
    boxes = np.concatenate((low, low + rng.uniform(0.2, 0.5, (2 * images, 2))), axis=1)
    angles = np.stack([rng.uniform(0, 360, 2 * images), rng.uniform(-20, 40, 2 * images), np.zeros(2 * images)], 1)
    said = angles + np.array([turn, 0.0, 0.0])
    objects = ViewedBoxes(image, category, boxes, angles, symmetry=np.array([1, 0] * images))
    found = ViewedBoxes(image, category, boxes, said, np.linspace(1, 0.5, 2 * images))
    words = np.array([named or name for name in category], dtype=object)
    return ViewAnswers(images, objects, np.array([0, 1] * images), said, words, found)


def value(scores: dict[str, object], *path: str) -> float:
    at: object = scores
    for name in path:
        at = at[name]  # type: ignore[index]
    return float(at.value)  # type: ignore[attr-defined]


def test_truth_scores_one() -> None:
    scores = score_views(answers(), resamples=50)
    for name in ("accuracy_pi_6", "accuracy_pi_18", "side_right", "class"):
        assert value(scores, "given", name, "mean") == 1.0
    assert value(scores, "given", "median_error", "car") == pytest.approx(0.0, abs=1e-5)
    assert value(scores, "given", "front_for_back", "mean") == 0.0
    for name in ("ap", "avp 8", "avp 24", "arp 30"):
        assert value(scores, "detected", name, "mean") == 1.0
    assert (scores["images"], scores["objects"]) == (30, 60)


def test_views_from_behind_are_flips_of_what_has_a_front() -> None:
    scores = score_views(answers(turn=180.0, named="car"), resamples=50)
    assert value(scores, "given", "accuracy_pi_6", "car") == 0.0
    assert value(scores, "given", "accuracy_pi_6", "bottle") == 1.0
    assert value(scores, "given", "accuracy_pi_6", "mean") == 0.5
    assert value(scores, "given", "accuracy_pi_6", "mean without bottle") == 0.0
    assert value(scores, "given", "front_for_back", "car") == 1.0
    assert value(scores, "given", "side_right", "car") == 0.0
    assert value(scores, "detected", "avp 8", "car") == 0.0
    assert value(scores, "detected", "ap", "car") == 1.0
    assert value(scores, "given", "class", "mean") == 0.5


def test_some_objects_are_scored_alone() -> None:
    half = answers(turn=180.0, named="car")
    first = score_given(half, half.place == 0, resamples=50)  # the cars
    assert set(first["class"]) == {"mean", "car"}
    assert (first["class"]["mean"].value, first["accuracy_pi_6"]["mean"].value) == (1.0, 0.0)


def test_a_network_answers_about_every_object_that_is_visible(cad_views: DrawnViews) -> None:
    torch.manual_seed(0)
    net = ViewNet(viewnet_config("tiny", CLASSES))
    said = answer_views(net, drawn(cad_views, 2))
    batches = [cad_views.views(loaded) for loaded in cad_views.loader(0, 2)]
    visible = sum(int(((b.classes >= 0) & (b.pixels > 0)).sum()) for b in batches)
    assert (said.images, len(said.objects), len(said.angles)) == (12, visible, visible)
    assert np.isfinite(said.angles).all()
    assert int((said.place == 0).sum()) == sum(int((b.pixels[:, 0] > 0).sum()) for b in batches)
    assert net.training
