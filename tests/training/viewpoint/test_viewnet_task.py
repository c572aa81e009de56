"""Teaching a ViewNet: pictures and truth are changed alike, and an interrupted training goes on exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sightline.errors import ConfigError
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.viewpoint import ViewNet
from sightline.training.augmentation import Augmentation
from sightline.training.fit import fit
from sightline.training.viewpoint.plan import ViewNetPlan
from sightline.training.viewpoint.task import ViewNetTask
from sightline.training.viewpoint.views import DrawnViews, KeptViews, ViewBatch

PLAN = ViewNetPlan(steps=6, batch=4, warmup=1, precision="fp32", side=96, least=1)
MOVES = Augmentation(1.0, 0, 0, 0, 0, 0, 0, 0.4, 0.2, 0, 0, 0, 0, 0)


def white_boxes(count: int = 8, seed: int = 0) -> ViewBatch:
    """Black pictures of 64 × 96 pixels, each with one white box well inside."""
    draw = torch.Generator().manual_seed(seed)
    pictures = torch.zeros(count, 64, 96, 3, dtype=torch.uint8)
    boxes = torch.zeros(count, 1, 4)
    for i in range(count):
        x, y = (int(torch.randint(24, 40, (1,), generator=draw)) for _ in range(2))
        x1, y1 = x + 24, min(y + 16, 50)
        pictures[i, y:y1, x:x1] = 255
        boxes[i, 0] = torch.tensor([x / 96, y / 64, x1 / 96, y1 / 64])
    many = torch.ones(count, 1, dtype=torch.int64)
    return ViewBatch(
        pictures, boxes, 500 * many, many, torch.tensor([[[30.0, 10.0, 4.0]]]).repeat(count, 1, 1), many
    )


class Given:
    """A source of one batch."""

    def __init__(self, batch: ViewBatch) -> None:
        self.batch = batch

    def loader(self, start: int, stop: int) -> list[int]:
        return list(range(start, stop))

    def views(self, _: int) -> ViewBatch:
        return self.batch

    def facts(self) -> dict[str, int]:
        return {}


def task(batch: ViewBatch, **changes: object) -> ViewNetTask:
    return ViewNetTask(replace(PLAN, **changes), Given(batch))


@pytest.mark.parametrize("flips", [0.0, 1.0])
def test_boxes_move_with_the_pixels(flips: float) -> None:
    torch.manual_seed(2)
    pictures, batch = task(white_boxes(), augmentation=MOVES, flips=flips).prepared(white_boxes())
    for picture, box in zip(pictures, batch.boxes[:, 0], strict=True):
        rows, columns = torch.nonzero(picture[0] > 0.5, as_tuple=True)
        found = torch.stack((columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
        torch.testing.assert_close(found.float(), box * torch.tensor([96, 64, 96, 64]), atol=1.0, rtol=0)


def test_a_mirror_turns_azimuth_and_theta() -> None:
    _, batch = task(white_boxes(), augmentation=None, flips=1.0).prepared(white_boxes())
    assert batch.angles[0, 0].tolist() == [-30.0, 10.0, -4.0]
    x0, y0, x1, y1 = white_boxes().boxes[0, 0].tolist()
    assert batch.boxes[0, 0].tolist() == pytest.approx([1 - x1, y0, 1 - x0, y1])


def test_what_leaves_the_picture_is_not_learned() -> None:
    batch = white_boxes()
    batch.boxes[:, 0] = torch.tensor([0.0, 0.0, 0.02, 1.0])
    torch.manual_seed(0)
    _, changed = task(batch, augmentation=replace(MOVES, zoom=0.0)).prepared(batch)
    assert set(changed.classes.unique().tolist()) == {-1, 1}


def test_odd_pictures_are_refused() -> None:
    batch = replace(white_boxes(), pictures=torch.zeros(8, 60, 96, 3, dtype=torch.uint8))
    with pytest.raises(ConfigError, match="whole multiples of 32, not 96×60"):
        task(batch).prepared(batch)


def test_a_loss_and_its_parts(cad_views: DrawnViews) -> None:
    made = ViewNetTask(PLAN, cad_views)
    torch.manual_seed(0)
    made.modules()
    loss, losses = made.loss(next(iter(cad_views.loader(0, 1))), 0)
    parts = {name: value.detach() for name, value in losses.items()}
    assert tuple(parts) == made.metrics
    total = sum(float(parts[name]) for name in ("heat", "box", "class", "azimuth", "tilt"))
    assert float(loss.detach()) == pytest.approx(total, rel=1e-5)
    assert 0.0 <= float(parts["right"]) <= 1.0
    loss.backward()
    assert all(weight.grad is not None for weight in made.net.parameters())


def test_an_interrupted_training_goes_on_exactly(cad_views: DrawnViews, tmp_path: Path) -> None:
    kept = KeptViews(cad_views, 2, batch=4, seed=0)
    whole = fit(ViewNetTask(PLAN, kept), tmp_path / "whole", device="cpu")[1]
    fit(ViewNetTask(PLAN, kept), tmp_path / "parts", stop_after=3, device="cpu")
    parts = fit(ViewNetTask(PLAN, kept), tmp_path / "parts", device="cpu")[1]
    assert parts.steps == whole.steps == 6
    assert parts.weights.read_bytes() == whole.weights.read_bytes()
    opened = load_checkpoint(whole.weights, ViewNet)
    assert opened.facts["steps"] == 6
    assert opened.facts["source"]["world"] == "cad/train"


@pytest.mark.long
def test_training_learns_what_it_is_shown(cad_views: DrawnViews, tmp_path: Path) -> None:
    plan = replace(PLAN, steps=200, batch=12, warmup=20, rate=4e-3, average=0.9, augmentation=None, flips=0.0)
    rows: list[dict[str, float]] = []
    made = ViewNetTask(plan, KeptViews(cad_views, 4, batch=12, seed=0))
    fit(made, tmp_path, log_every=20, progress=lambda _, __, row: rows.append(dict(row)), device="cpu")
    assert rows[-1]["loss"] < 0.35 * rows[0]["loss"]
    assert rows[-1]["right"] > 0.9
