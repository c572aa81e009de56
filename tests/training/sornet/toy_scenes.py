"""Scenes that can be learned in seconds: the brighter of two patches contains and is left of the darker one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sightline.scenes.labels import PREDICATES
from sightline.training.fit import Fitted, fit
from sightline.training.learner import Learner
from sightline.training.sornet.pictures import SceneBatch
from sightline.training.sornet.plan import SornetPlan
from sightline.training.sornet.sources import SceneSource
from sightline.training.sornet.task import SornetTask

VIEWS = ("original", "top")


class ToySource:
    """Batches drawn from their number; the views are noise. Three places, the last one sometimes empty."""

    image = (64, 32)
    most = 3
    bank: Tensor = torch.zeros(1, 1, 32, 32, 3, dtype=torch.uint8)
    outlines: Tensor | None = None

    def __init__(self, batch: int = 4, facts: bool = True, name: str = "toy", fresh: int = 0) -> None:
        self.batch, self.with_facts, self.name, self.fresh = batch, facts, name, fresh
        self.asked: list[int] = []

    def loader(self, start: int, stop: int) -> Iterator[int]:
        for number in range(start, stop):
            self.asked.append(number)
            yield number

    def scenes(self, loaded: int, views: Sequence[int]) -> SceneBatch:
        draw = torch.Generator().manual_seed(loaded)
        noise = torch.randint(0, 256, (self.batch, 2, 32, 64, 3), generator=draw, dtype=torch.uint8)
        light = torch.randint(0, 256, (self.batch, 3), generator=draw)
        present = torch.ones(self.batch, 3, dtype=torch.bool)
        present[::2, 2] = False
        patches = light.to(torch.uint8).view(self.batch, 3, 1, 1, 1).expand(-1, -1, 32, 32, 3)
        brighter = light[:, :, None] > light[:, None, :]
        labels = torch.zeros(self.batch, 3, 3, len(PREDICATES), dtype=torch.bool)
        labels[..., 0], labels[..., 4] = brighter, brighter
        facts = torch.rand(self.batch, 3, 13, generator=draw).round() if self.with_facts else None
        ids = torch.randint(0, 4, (self.batch, 2, 16, 32), generator=draw, dtype=torch.uint8)
        return SceneBatch(
            noise[:, list(views)],
            patches,
            present,
            labels,
            facts,
            ids=ids[:, list(views)] if self.with_facts else None,
        )

    def facts(self) -> dict[str, Any]:
        return {"toy": self.name, "scenes": 10_000} | ({"fresh": self.fresh} if self.fresh else {})


def fit_sornet(plan: SornetPlan, source: SceneSource, folder: Path, **how: Any) -> tuple[Learner, Fitted]:
    """Train a SORNet by the engine."""
    return fit(SornetTask(plan, source), folder, **how)


def toy_plan(**changes: Any) -> SornetPlan:
    """Six steps of four scenes, in single precision, not compiled."""
    usual: dict[str, Any] = {
        "views": VIEWS,
        "steps": 6,
        "batch": 4,
        "warmup": 2,
        "compiled": False,
        "precision": "fp32",
        "rate": 3e-3,
        "most_objects": 6,
        "canonical": 2,
    }
    return SornetPlan(**{**usual, **changes})
