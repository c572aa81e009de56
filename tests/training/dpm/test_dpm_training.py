"""Training of deformable part models on toys: it finds them, tells their sides, goes on where it stopped."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_pictures import toy_pictures

from sightline.errors import ConfigError, DataError
from sightline.geometry.boxes import iou
from sightline.models.dpm.detector import FilterBank
from sightline.models.dpm.filters import Dpm, DpmConfig, FilterShape, MixtureComponent, joined
from sightline.models.dpm.hog import mirrored, pyramid
from sightline.models.dpm.model import DpmModel
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.registry import load
from sightline.scenes import View
from sightline.skills import Detections
from sightline.training.dpm.examples import Neighbourhood, placement_vector, positives_of, wrong_answers
from sightline.training.dpm.fit import train
from sightline.training.dpm.phases import Lesson, facing_one_way, with_parts
from sightline.training.dpm.plan import DpmPlan

PLAN = DpmPlan(
    "toy", "vdpm", 4, positives=16, negatives=4, cells=16, parts=2, rounds=1, mining=2, interval=3, cost=0.01
)


@pytest.fixture(scope="module")
def pictures():
    return toy_pictures(20)


@pytest.fixture(scope="module")
def taught(pictures, tmp_path_factory):
    return train(PLAN, pictures, tmp_path_factory.mktemp("toy") / "vdpm")


def right_answers(model: DpmModel, views: int) -> tuple[float, float]:
    """Shares of toys whose best box is right, and of those whose view is right too."""
    boxed = seen = 0
    toys = [p for p in toy_pictures(15, seed=1) if p.categories]
    for picture in toys:
        pixels = picture.load()
        view = View(picture.name, size=pixels.shape[1::-1], load_image=picture.load)
        found = Detections.checked(model.detect(view), "dpm")
        best = int(found.scores.argmax())
        box = found.boxes[best] * np.array(pixels.shape[1::-1] * 2)
        good = float(iou(box, picture.boxes[0])) >= 0.5
        boxed += good
        if views:
            off = abs((found.angles[best, 0] - picture.angles[0, 0] + 180) % 360 - 180)
            seen += good and off < 180 / views
    return boxed / len(toys), seen / len(toys)


def test_a_vdpm_finds_toys_and_tells_their_sides(taught):
    assert taught.finished
    assert list(taught.costs) == ["first", "roots-1", "parts-1", "boxes"]
    config = taught.net.config
    # the two sides share their filters, the front and the back have their own
    assert [(c.filters, c.mirrored, c.angles[0]) for c in config.components] == [
        (0, False, 0.0),
        (1, False, 90.0),
        (1, True, 270.0),
        (2, False, 180.0),
    ]
    assert [c.angles[1] for c in config.components] == pytest.approx([5.0, 6.0, 8.0, 7.0])
    boxed, seen = right_answers(DpmModel(taught.net, device="cpu"), 4)
    assert boxed >= 0.9
    assert seen >= 0.9


def test_filters_see_in_a_mirror_what_they_learned(taught):
    bank = FilterBank(taught.net)
    torch.testing.assert_close(bank.components[2].root, mirrored(bank.components[1].root))
    assert float(bank.components[1].deformations[:, 2:].min()) >= 0.01 - 1e-6


def test_a_training_goes_on_to_the_same_bytes(pictures, taught, tmp_path):
    folder = tmp_path / "again"
    stopped = train(PLAN, pictures, folder, until=time.monotonic() - 1.0)
    assert not stopped.finished
    assert stopped.net is None
    whole = taught.weights.parent
    folder.mkdir()
    for name in ("plan.json", "first.safetensors", "roots-1.safetensors"):  # as if it had been stopped there
        (folder / name).write_bytes((whole / name).read_bytes())
    costs = json.loads((whole / "phases.json").read_text())
    (folder / "phases.json").write_text(json.dumps({k: costs[k] for k in ("first", "roots-1")}))
    asked: list[str] = []
    again = train(PLAN, pictures, folder, progress=lambda what, *_: asked.append(what))
    assert again.finished
    assert not any(what.startswith(("first", "roots")) for what in asked)
    assert again.weights.read_bytes() == taught.weights.read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": 20}, "holds another training: its plan.cells is 16, now it is 20"),
        ({"category": "ball"}, "holds another training: its plan.category"),
    ],
)
def test_another_plan_is_refused(pictures, taught, change, words):
    with pytest.raises(ConfigError, match=words):
        train(replace(PLAN, **change), pictures, taught.weights.parent)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"form": "hog"}, "form must be"),
        ({"views": 5}, "an even number"),
        ({"views": 0}, "0 for dpm alone"),
        ({"cells": 3}, "cells must be at least 12"),
        ({"cost": 0.0}, "cost must be above 0"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(given, words):
    with pytest.raises(ConfigError, match=words):
        replace(PLAN, **given)


def test_too_little_to_learn_from_is_told(pictures, tmp_path):
    with pytest.raises(DataError, match="pictures without toy"):
        train(PLAN, [p for p in pictures if p.categories], tmp_path / "none")
    with pytest.raises(DataError, match="whole objects of class cup"):
        train(replace(PLAN, category="cup"), pictures, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_file_is_a_model_of_the_registry(taught, tmp_path):
    for spec in (f"{taught.weights}:device=cpu,most=3", f"vdpm:{taught.weights},device=cpu,most=3"):
        model = load(spec)
        assert model.facts()["form"] == "vdpm"
        picture = toy_pictures(1, seed=2)[0]
        found = model.detect(View("v", size=(96, 72), load_image=picture.load))
        assert len(found.scores) <= 3
        assert set(found.categories) == {"toy"}
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(Path(taught.weights).read_bytes()[:2000])
    with pytest.raises(Exception, match="not a readable safetensors file"):
        load(str(damaged))


def test_classes_are_joined_in_one_file(taught):
    net = taught.net
    other = Dpm(replace(net.config, components=tuple(replace(c, category="ball") for c in net.config.components)))
    other.load_state_dict(net.state_dict())
    both = joined([net, other])
    assert both.config.categories == ("toy", "ball")
    picture = toy_pictures(1, seed=3)[0]
    model = DpmModel(both, device="cpu")
    found = model.find(picture.load(), model.features(picture.load()))
    scores = {
        name: [s for s, c in zip(found.scores, found.categories, strict=True) if c == name]
        for name in ("toy", "ball")
    }
    assert scores["toy"] == scores["ball"] != []
    plain = Dpm(DpmConfig("dpm", 0, (FilterShape(4, 4),), (MixtureComponent("toy", 0),)))
    with pytest.raises(ConfigError, match="different kinds"):
        joined([net, plain])


def test_a_placement_has_the_features_its_score_is_made_of(pictures, taught):
    bank = FilterBank(taught.net)
    for positive in positives_of(PLAN, pictures)[:4]:
        near = Neighbourhood(positive, PLAN.cells, PLAN.interval, share=0.5, reach=1)
        scores = list(bank.scores(near.levels))
        for component, one in enumerate(taught.net.config.components):
            place = near.fitting_place(bank, scores, [component], 0.7)
            assert place is not None
            vector = placement_vector(bank, scores[place.level], place)
            weights = taught.net.filters[one.filters].vector().numpy()
            assert float(vector @ weights) == pytest.approx(place.score, abs=1e-3)


def test_wrong_answers_carry_their_loss(pictures, taught):
    bank = FilterBank(taught.net)
    positive = next(p for p in positives_of(PLAN, pictures) if p.section == 1)
    near = Neighbourhood(positive, PLAN.cells, PLAN.interval, share=0.75, reach=1)
    scores = list(bank.scores(near.levels))
    wrong = wrong_answers(near, bank, scores, most=4)
    assert len({place.component for place, _ in wrong}) == len(wrong) == 4
    width, height = near.size
    for place, loss in wrong:
        window = np.clip(bank.window(place, scores[place.level].level.scale), 0, (width, height, width, height))
        view = taught.net.config.components[place.component].angles[0] != 90.0
        assert loss == pytest.approx(0.5 * (1 - float(iou(window, near.box))) + 0.5 * view, abs=1e-6)
    values = [place.score + loss for place, loss in wrong]
    assert values == sorted(values, reverse=True)


def test_filters_that_no_object_was_placed_by_find_nothing(pictures, tmp_path):
    # the toys' three groups of aspect ratio are placed by two sets of filters
    made = train(replace(PLAN, form="dpm", views=0), pictures, tmp_path / "dpm").net
    idle = [not filters.root.any() for filters in made.filters]
    assert idle == [False, True, False]
    pixels = toy_pictures(1, seed=4)[0].load()
    bank = FilterBank(made)
    for scores in bank.scores(pyramid(pixels, [1.0, 0.7])):
        for component, total in zip(bank.mixture, scores.totals, strict=True):
            assert not idle[component.filters] or float(total.max()) < -1.5


def test_parts_lie_where_a_root_has_its_weight():
    net = Dpm(DpmConfig("vdpm", 4, (FilterShape(6, 8),), (MixtureComponent("toy", 0, False, (0.0, 0.0, 0.0)),)))
    root = torch.full((31, 6, 8), -1.0)  # weights below 0 are no evidence
    root[:, 3:6, 5:8] = 1.0
    root[:, 0:3, 0:3] = 0.8
    net.filters[0].root.copy_(root)
    made = with_parts(net, 2).config.filters[0]
    assert made.anchors == ((6, 10), (0, 0))


def test_mirrored_objects_are_turned_to_face_one_way():
    rng = np.random.default_rng(0)
    one = torch.from_numpy(rng.normal(size=(31, 4, 5)).astype(np.float32))
    noisy = [one + 0.1 * torch.from_numpy(rng.normal(size=(31, 4, 5)).astype(np.float32)) for _ in range(6)]
    mixed = [mirrored(n) if i % 2 else n for i, n in enumerate(noisy)]
    turned = torch.stack(facing_one_way(mixed))
    assert torch.allclose(turned, torch.stack(noisy))


@pytest.mark.long
@pytest.mark.parametrize(("form", "views"), [("dpm", 0), ("dpm-voc-vp", 4), ("vdpm", 8)])
def test_every_form_learns_the_toy(form, views, pictures, tmp_path):
    plan = replace(PLAN, form=form, views=views)
    made = train(plan, toy_pictures(30), tmp_path / "toy")
    assert len(made.net.config.components) == (6 if form == "dpm" else 4)  # toys are seen from four sides
    boxed, seen = right_answers(DpmModel(made.net, device="cpu"), views)
    assert boxed >= 0.9
    assert seen >= 0.9 or form == "dpm"


def test_a_structured_round_asks_more_than_a_latent_one(pictures, taught):
    plan = replace(PLAN, form="dpm-voc-vp", positives=8)
    lesson = Lesson.of(plan, pictures)
    before = load_checkpoint(taught.weights.parent / "roots-1.safetensors", Dpm).net
    before = Dpm(replace(before.config, form="dpm-voc-vp"))
    before.load_state_dict(load_checkpoint(taught.weights.parent / "roots-1.safetensors", Dpm).net.state_dict())
    said: list[str] = []
    made = replace(lesson, progress=lambda what, *_: said.append(what)).run("parts-1", before)
    assert any("views, search" in what for what in said)
    bank, right = FilterBank(made), 0
    for positive in lesson.positives:
        near = Neighbourhood(positive, plan.cells, plan.interval, share=0.5, reach=1)
        scores = list(bank.scores(near.levels))
        places = [near.fitting_place(bank, scores, [c], 0.7) for c in range(4)]
        best = max((p for p in places if p is not None), key=lambda p: p.score)
        right += made.config.components[best.component].angles[0] == 90.0 * positive.section
    assert right == len(lesson.positives)
