"""Classifiers, segmenters and the in-painter learn on a card, and are examined there, as on the CPU."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pretended_card import pretended_card
from sightline.training.context.evaluation import class_figures, class_scores, pixel_counts, pixel_figures
from sightline.training.context.plan import ClassifierPlan, SegmenterPlan
from sightline.training.context.scenes import EditedScenes
from sightline.training.context.task import ClassifierTask, EditedSource, SegmenterTask
from sightline.training.inpainter.pairs import PairSource, PairStream, ScenePairs
from sightline.training.inpainter.task import InpainterPlan, InpainterTask
from sightline.worlds import load_world

from coloured_scenes import coloured_scenes  # isort: skip

CLASSIFY = ClassifierPlan(steps=2, batch=6, shrink=16, width=8, warmup=1, precision="fp32", flips=False)
SEGMENT = SegmenterPlan(steps=2, batch=6, size="tiny", warmup=1, precision="fp32", flips=False)
PAINT = InpainterPlan(steps=2, batch=3, width=4, blocks=1, side=32, warmup=1, precision="fp32")


def on(given: Any, device: str) -> Any:
    """The same scenes or pairs with their tensors on a device."""
    names = [one.name for one in fields(given) if isinstance(getattr(given, one.name), Tensor)]
    return replace(given, **{name: getattr(given, name).to(device) for name in names})


def step(task: Any, loaded: Any, device: str) -> tuple[dict[str, float], dict[str, Tensor]]:
    """Figures and gradients of one batch."""
    torch.manual_seed(4)
    parts = {name: part.to(device) for name, part in task.modules().items()}
    loss, figures = task.loss(loaded, 0)
    loss.backward()
    said = {name: float(value.detach()) for name, value in figures.items()}
    return said, {name: w.grad.cpu() for name, w in parts["net"].named_parameters() if w.grad is not None}


def same_step(given: Any, there: Any) -> None:
    assert there[0] == pytest.approx(given[0], rel=1e-4, abs=1e-6)
    assert given[1].keys() == there[1].keys()
    for name, gradient in given[1].items():
        torch.testing.assert_close(there[1][name], gradient, rtol=1e-3, atol=1e-5)


def every_edit(scenes: EditedScenes) -> EditedScenes:
    """The scenes with one edit each: which one is drawn does not hang on a device's random numbers."""
    return replace(scenes, table=scenes.table[:, :1])


@pytest.mark.parametrize("removal", ["none", "rand", "const"])
def test_a_step_of_a_classifier(removal: Any) -> None:
    scenes = coloured_scenes(12)
    scenes = every_edit(scenes) if removal == "rand" else scenes

    def made(device: str) -> Any:
        source = EditedSource(on(scenes, device), batch=6, seed=1)
        return step(
            ClassifierTask(replace(CLASSIFY, removal=removal, share=1.0), source), source.numbers(0), device
        )

    here = made("cpu")
    with pretended_card():
        there = made("cuda")
    same_step(here, there)


@pytest.mark.parametrize(
    ("removal", "negative"), [("none", 0.0), ("random", 0.0), ("sizebased", 1.0), ("hardnegative", 1.0)]
)
def test_a_step_of_a_segmenter(removal: Any, negative: float) -> None:
    scenes = every_edit(coloured_scenes(12, labelled=True))

    def made(device: str) -> Any:
        source = EditedSource(on(scenes, device), batch=6, seed=1)
        plan = replace(SEGMENT, removal=removal, negative=negative)
        return step(SegmenterTask(plan, source), source.numbers(0), device)

    here = made("cpu")
    with pretended_card():
        there = made("cuda")
    same_step(here, there)


@pytest.fixture
def gradients_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let inference be what a pretended card can do."""
    monkeypatch.setattr(torch, "inference_mode", torch.no_grad)


@pytest.mark.usefixtures("gradients_off")
def test_figures_of_a_classifier() -> None:
    scenes = coloured_scenes(12)
    net = ClassifierTask(CLASSIFY, EditedSource(scenes, batch=6, seed=1)).modules()["net"].eval()

    def said(device: str) -> Any:
        return class_figures(class_scores(net.to(device), on(scenes, device)), scenes.classes)

    here = said("cpu")
    with pretended_card():
        there = said("cuda")
    assert there["n_cases"] == here["n_cases"] > 0
    assert there["map"] == pytest.approx(here["map"])


@pytest.mark.usefixtures("gradients_off")
def test_figures_of_a_segmenter() -> None:
    scenes = coloured_scenes(30, labelled=True)
    net = SegmenterTask(SEGMENT, EditedSource(scenes, batch=6, seed=1)).modules()["net"].eval()

    def said(device: str) -> Any:
        given = on(scenes, device)
        counts = pixel_counts(net.to(device), given)
        return counts, pixel_figures(counts, given)

    counts, figures = said("cpu")
    with pretended_card():
        there, others = said("cuda")
    np.testing.assert_array_equal(there.both, counts.both)
    np.testing.assert_allclose(there.after, counts.after)
    assert others == figures
    assert figures["ar"]["pairs"]


def test_a_step_of_the_inpainter(monkeypatch: pytest.MonkeyPatch) -> None:
    world = replace(load_world("context/train"), resolution=(48, 32))
    source = PairSource(PairStream([world], seed=3, size=3))
    pairs: ScenePairs = source.pairs(next(iter(source.loader(0, 1))))

    def made(device: str) -> Any:
        monkeypatch.setattr(source, "pairs", lambda _: on(pairs, device))
        return step(InpainterTask(PAINT, source), None, device)

    here = made("cpu")
    with pretended_card():
        there = made("cuda")
    same_step(here, there)
