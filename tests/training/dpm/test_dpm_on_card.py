"""Deformable part models are taught on a card, and find objects there, as on the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy_pictures import toy_pictures

from pretended_card import pretended_card
from sightline.models.dpm.filters import Dpm
from sightline.models.dpm.model import DpmModel
from sightline.scenes import View
from sightline.skills import Detections
from sightline.training.dpm import phases
from sightline.training.dpm.fit import train
from sightline.training.dpm.plan import DpmPlan

PLAN = DpmPlan(
    "toy", "dpm-voc-vp", 4, positives=8, negatives=2, cells=16, parts=1, rounds=1, mining=2, hard=2, interval=2
)


def seen(net: Dpm, device: str) -> list[Detections]:
    model = DpmModel(net, device=device)
    toys = toy_pictures(4, seed=1)
    return [model.detect(View(p.name, size=p.load().shape[1::-1], load_image=p.load)) for p in toys]


@pytest.mark.parametrize(
    ("form", "views"),
    [
        ("vdpm", 4),
        pytest.param("dpm-voc-vp", 4, marks=pytest.mark.long),  # looks for wrong answers too
        pytest.param("dpm", 0, marks=pytest.mark.long),  # turns objects to face one way
    ],
)
def test_a_card_teaches_and_finds_what_the_cpu_does(
    form: str, views: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "RANDOM_WINDOWS", 20)
    plan, pictures = replace(PLAN, form=form, views=views), toy_pictures(10)
    by_cpu = train(plan, pictures, tmp_path / "cpu").net
    assert by_cpu is not None
    with pretended_card() as card:
        by_card = train(plan, pictures, tmp_path / "card", device="cuda").net
        assert DpmModel(by_card, device="cuda")._bank.parts.device == card
        on_card = seen(by_cpu, "cuda")
    assert by_card.config == by_cpu.config
    for mine, other in zip(
        by_card.filters, by_cpu.filters, strict=True
    ):  # the CPU keeps features in half precision
        np.testing.assert_allclose(mine.vector(), other.vector(), atol=0.05 * float(other.vector().abs().max()))
    on_cpu = seen(by_cpu, "cpu")
    assert sum(len(found.scores) for found in on_cpu) >= 4
    for mine, other in zip(on_card, on_cpu, strict=True):
        np.testing.assert_allclose(mine.scores, other.scores, atol=1e-4)
        np.testing.assert_allclose(mine.boxes, other.boxes, atol=1e-3)
        np.testing.assert_array_equal(mine.angles, other.angles)
