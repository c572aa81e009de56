"""A ViewNet learns on a card, and answers there, as on the CPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from pretended_card import pretended_card
from sightline.models.viewnet import ViewNetModel
from sightline.scenes import View
from sightline.skills import BoxedObjects, Detections
from sightline.training import augmentation
from sightline.training.viewpoint.plan import ViewNetPlan
from sightline.training.viewpoint.task import ViewNetTask
from sightline.training.viewpoint.views import DrawnViews, ViewBatch

PLAN = ViewNetPlan(steps=2, batch=6, precision="fp32", side=96, least=1)


def on(batch: ViewBatch, device: str) -> ViewBatch:
    return ViewBatch(*(getattr(batch, name).to(device) for name in ViewBatch.__slots__))


def step(cad_views: DrawnViews, device: str, **changes: object) -> tuple[dict[str, float], dict[str, Tensor]]:
    """Figures and gradients of one batch."""
    torch.manual_seed(4)
    task = ViewNetTask(replace(PLAN, **changes), cad_views)
    net = task.modules()["net"].to(device)
    batch = on(cad_views.views(next(iter(cad_views.loader(0, 1)))), device)
    task.source = type("Given", (), {"views": lambda *_: batch})()
    loss, figures = task.loss(None, 0)
    loss.backward()
    said = {name: float(value.detach()) for name, value in figures.items()}
    return said, {name: w.grad.cpu() for name, w in net.named_parameters() if w.grad is not None}


@pytest.mark.parametrize("viewpoints", [True, False])
def test_a_step_on_a_card_is_one_on_the_cpu(
    cad_views: DrawnViews, viewpoints: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(augmentation, "kind_there", lambda _: torch.float32)  # which knows cards alone
    figures, gradients = step(cad_views, "cpu", viewpoints=viewpoints)
    with pretended_card():
        others, there = step(cad_views, "cuda", viewpoints=viewpoints)
    assert others == pytest.approx(figures, rel=1e-4)
    assert gradients.keys() == there.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(there[name], gradient, rtol=1e-3, atol=1e-5)


def test_answers_on_a_card_are_those_of_the_cpu(cad_views: DrawnViews) -> None:
    torch.manual_seed(1)
    net = ViewNetTask(PLAN, cad_views).modules()["net"]
    net.heat.bias.data += 4.0  # it sees objects everywhere
    batch = cad_views.views(next(iter(cad_views.loader(0, 1))))
    image = batch.pictures[0].numpy()
    view = View("a", size=image.shape[1::-1], units="normalised", load_image=lambda: image)
    asked = BoxedObjects("a", view, batch.boxes[0].double().numpy(), ("car",) * batch.boxes.shape[1])

    def said(device: str) -> tuple[Detections, np.ndarray]:
        model = ViewNetModel(net, name="viewnet", device=device)
        return model.detect(view), model.viewpoint(asked).angles

    found, angles = said("cpu")
    with pretended_card():
        there, turned = said("cuda")
    assert len(found.scores)
    np.testing.assert_allclose(there.boxes, found.boxes, atol=1e-5)
    np.testing.assert_allclose(there.scores, found.scores, atol=1e-5)
    np.testing.assert_allclose(turned, angles, atol=1e-3)
