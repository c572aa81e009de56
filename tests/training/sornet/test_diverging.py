"""A training whose loss or weights are no numbers any more ends in an error, and leaves what was good before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_scenes import ToySource, fit_sornet, toy_plan

from sightline.errors import ConfigError
from sightline.training.folder import LOG, PLAN, STATE
from sightline.training.learner import Learner
from sightline.training.sornet.pictures import SceneBatch
from sightline.training.sornet.task import WEIGHTS


class BadFrom(ToySource):
    """From one batch on its facts are no numbers, and so are losses and weights."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def scenes(self, loaded: int, views: Sequence[int]) -> SceneBatch:
        made = super().scenes(loaded, views)
        assert made.facts is not None
        return replace(made, facts=made.facts * math.nan) if loaded >= self.number else made


@pytest.mark.parametrize("steps", [2, 6])
def test_too_high_a_rate(steps: int, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"diverged: loss nan \(predicates\) at step 2; try a lower rate"
    ) as caught:
        fit_sornet(toy_plan(rate=1e30, warmup=0, steps=steps), ToySource(), tmp_path, log_every=2)
    assert str(caught.value).endswith("(--rate) than 1e+30")
    assert {file.name for file in tmp_path.iterdir()} == {PLAN, LOG}


@pytest.mark.parametrize(
    ("settings", "step", "rows", "state"),
    [
        ({"log_every": 1, "save_every": 3}, 5, 5, 3),  # seen by the log
        ({"log_every": 4, "save_every": 3}, 6, 2, 3),  # at the end
        ({"log_every": 4, "save_every": 4, "bad": 1}, 4, 1, 0),  # by both at once
        ({"log_every": 5, "save_every": 2, "bad": 3}, 4, 0, 2),  # when a state is saved
    ],
)
def test_it_stops_before_it_is_saved(settings: Any, step: int, rows: int, state: int, tmp_path: Path) -> None:
    plan, bad = toy_plan(), settings.pop("bad", 4)
    whole, _ = fit_sornet(plan, ToySource(), tmp_path / "whole")
    with pytest.raises(ConfigError, match=f"diverged: .* at step {step}; try a lower rate") as caught:
        fit_sornet(plan, BadFrom(bad), tmp_path / "bad", **settings)
    assert ("in another folder: here an earlier state is kept" in str(caught.value)) == bool(state)
    assert len((tmp_path / "bad" / LOG).read_text().splitlines()) == 1 + rows
    assert (tmp_path / "bad" / STATE).exists() == (tmp_path / "bad" / WEIGHTS).exists() == bool(state)
    source = ToySource()  # the state before is as good as ever
    learner, _ = fit_sornet(plan, source, tmp_path / "bad")
    assert source.asked == list(range(state, 6))
    assert all(map(torch.equal, learner.mean, whole.mean))


def test_weights_of_a_last_step_whose_loss_was_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Learner.optimizer_step

    def spoilt(self: Learner, *given: Any, **more: Any) -> None:
        step(self, *given, **more)
        if self.global_step == 1:  # counted when the step is over
            with torch.no_grad():
                next(self.head.parameters()).fill_(math.inf)

    monkeypatch.setattr(Learner, "optimizer_step", spoilt)
    with pytest.raises(ConfigError, match=r"diverged: loss 0\.\d+ and weights that are no numbers at step 2;"):
        fit_sornet(toy_plan(steps=2), ToySource(), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {PLAN, LOG}


def test_a_state_that_was_saved_all_the_same(tmp_path: Path) -> None:
    fit_sornet(toy_plan(), ToySource(), tmp_path)
    state = torch.load(tmp_path / STATE, weights_only=True)
    state["mean"][0].fill_(math.nan)
    torch.save(state, tmp_path / STATE)
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(ConfigError, match="weights that are no numbers at step 6"):
        fit_sornet(toy_plan(), ToySource(), tmp_path)
    assert not (tmp_path / WEIGHTS).exists()
