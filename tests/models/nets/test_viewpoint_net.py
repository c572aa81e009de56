"""ViewNet's parts against loops over single numbers; its shape, its file, its angles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import viewnet_oracle as oracle
from sightline.errors import ConfigError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.viewpoint import (
    BoxLogits,
    Maps,
    ViewNet,
    ViewNetConfig,
    boxes_of,
    kept,
    overlaps,
    peaks,
    roi_align,
    viewnet_config,
)

CLASSES = ("bus", "car", "chair")
SMALL = ViewNetConfig(CLASSES, (8, 8, 16, 16), (1, 1, 1, 1), neck=8, hidden=16, bins=8, side=96)


def net(seed: int = 0) -> ViewNet:
    torch.manual_seed(seed)
    made = ViewNet(SMALL)
    with torch.no_grad():
        for weight in made.parameters():  # every weight is felt
            weight += 0.1 * torch.randn_like(weight)
    return made.eval()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_boxes_are_sampled_as_by_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(2, 3, 5, 7))
    boxes = np.sort(rng.uniform(-0.2, 1.2, (2, 2, 2, 2)), axis=2).reshape(2, 2, 4)
    made = roi_align(torch.from_numpy(features).float(), torch.from_numpy(boxes), 3).numpy()
    for b in range(2):
        for n in range(2):
            np.testing.assert_allclose(made[b, n], oracle.roi_align(features[b], boxes[b, n], 3), atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_the_likelier_of_two_that_overlap_is_kept(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, 0.5, (n, 2))
    boxes = np.concatenate((low, low + rng.uniform(0.1, 0.5, (n, 2))), axis=1)
    scores, classes = rng.permutation(n).astype(float), rng.integers(0, 2, n)
    given = [torch.from_numpy(part) for part in (boxes, scores, classes)]
    assert kept(*given, 0.4).tolist() == oracle.nms(boxes, scores, classes, 0.4)
    assert overlaps(given[0], given[0])[0, -1] == pytest.approx(oracle.iou(boxes[0], boxes[-1]))


def test_a_peak_has_the_box_of_its_cell() -> None:
    heat, reach = torch.full((1, 3, 4, 6), -9.0), torch.full((1, 4, 4, 6), 0.1)
    heat[0, 1, 2, 3], heat[0, 1, 2, 4], heat[0, 2, 0, 0] = 2.0, 1.0, 0.0  # the second is beside a likelier one
    reach[0, :, 2, 3] = torch.tensor([0.2, 0.1, 0.3, 0.2])
    found = peaks(Maps(heat, reach, heat), 2)
    assert found.classes.tolist() == [[1, 2]]
    assert found.scores[0].tolist() == pytest.approx([torch.tensor(2.0).sigmoid().item(), 0.5])
    x, y = 3.5 / 6, 2.5 / 4
    assert found.boxes[0, 0].tolist() == pytest.approx([x - 0.2, y - 0.1, x + 0.3, y + 0.2])
    assert found.boxes[0, 1].tolist() == pytest.approx([0.0, 0.125 - 0.1, 1 / 12 + 0.1, 0.225])  # clipped


def test_angles_are_those_of_the_class_asked_for() -> None:
    bins, offsets, tilts = torch.zeros(1, 1, 2, 8), torch.zeros(1, 1, 2, 8), torch.zeros(1, 1, 2, 2)
    bins[0, 0, 0, 7], offsets[0, 0, 0, 7] = 3.0, 0.4
    bins[0, 0, 1, 0], offsets[0, 0, 1, 0], tilts[0, 0, 1] = 3.0, -0.2, torch.tensor([0.5, -0.1])
    judged = BoxLogits(torch.zeros(1, 1, 2), bins, offsets, tilts)
    assert judged.angles(torch.tensor([[0]]))[0, 0].tolist() == pytest.approx([333.0, 0.0, 0.0])
    assert judged.angles(torch.tensor([[1]]))[0, 0].tolist() == pytest.approx([351.0, 22.5, -4.5], abs=1e-4)


def test_what_is_said_of_a_box_depends_on_it_alone() -> None:
    pictures, made = torch.rand(2, 3, 64, 96), net()
    boxes = torch.tensor([[[0.1, 0.1, 0.6, 0.7], [0.4, 0.2, 0.9, 0.9]]]).repeat(2, 1, 1)
    with torch.inference_mode():
        maps = made(pictures)
        both, one = made.judge(maps, boxes), made.judge(made(pictures[1:]), boxes[1:, 1:])
    for part, alone in zip(both, one, strict=True):
        torch.testing.assert_close(part[1:, 1:], alone, atol=1e-4, rtol=1e-4)
    assert maps.heat.shape == (2, 3, 8, 12)
    assert maps.fine.shape == (2, 8, 16, 24)
    assert boxes_of(maps.reach).shape == (2, 4, 8, 12)


def test_kept_in_half_precision(tmp_path: Path) -> None:
    file = tmp_path / "viewnet.safetensors"
    file.write_bytes(dump_checkpoint(net(), {"steps": 7}, half=True))
    opened = load_checkpoint(file, ViewNet)
    assert (opened.net.config, opened.facts) == (SMALL, {"steps": 7})
    with torch.inference_mode():
        torch.testing.assert_close(
            opened.net(torch.ones(1, 3, 64, 64)).heat, net()(torch.ones(1, 3, 64, 64)).heat, atol=0.05, rtol=0.05
        )


@pytest.mark.parametrize(("size", "most"), [("tiny", 4e6), ("base", 16e6)])
def test_what_ships_is_small(size: str, most: float) -> None:
    with torch.device("meta"):
        made = ViewNet(viewnet_config(size, tuple("abcdefghijkl")))
    assert 2 * sum(weight.numel() for weight in made.parameters()) < most


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"widths": (8, 8, 8)}, "four stages"),
        ({"neck": 12}, "widths in eighths"),
        ({"classes": ()}, "has classes"),
        ({"bins": -1}, "at least one"),
        ({"hidden": 0}, "at least one"),
    ],
)
def test_shapes_that_cannot_be(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        viewnet_config(**{"size": "tiny", "classes": CLASSES, **changes})


def test_an_unknown_size() -> None:
    with pytest.raises(ConfigError, match="unknown size 'huge' of a ViewNet; there are tiny, base, large"):
        viewnet_config("huge", CLASSES)
