"""The engine trains any network: a straight line, taught, interrupted, gone on with, logged and kept."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sightline.errors import ConfigError, DataError
from sightline.training import log
from sightline.training.fit import fit
from sightline.training.folder import LOG, PLAN, STATE, columns_of, trained_seconds
from sightline.training.learner import Learner
from sightline.training.plan import TrainingPlan


class Points:
    """Points of y = 3x − 1 with a little noise, batch after batch."""

    def __init__(self, slope: float = 3.0) -> None:
        self.slope, self.asked = slope, list[int]()

    def loader(self, start: int, stop: int) -> Iterator[tuple[Tensor, Tensor]]:
        for number in range(start, stop):
            self.asked.append(number)
            x = torch.randn(16, 1, generator=torch.Generator().manual_seed(number))
            yield x, self.slope * x - 1.0

    def facts(self) -> dict[str, Any]:
        return {"slope": self.slope}


class LineTask:
    """Linear regression by the engine: all that another network has to say."""

    name, weights, metrics, muon_prefix = "line", "line.json", ("error",), "none."

    def __init__(self, plan: TrainingPlan, source: Points) -> None:
        self.plan, self.source = plan, source

    def modules(self) -> dict[str, nn.Module]:
        self.net = nn.Linear(1, 1)
        return {"net": self.net}

    def loss(self, loaded: tuple[Tensor, Tensor], step: int) -> tuple[Tensor, dict[str, Tensor]]:
        x, y = loaded
        error = ((self.net(x) + 0.01 * torch.randn(len(x), 1) - y) ** 2).mean()
        return error, {"error": error}

    def counts(self, step: int) -> dict[str, int]:
        return {"points": 16}

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        return json.dumps({**facts, **{name: weight.item() for name, weight in weights.items()}}).encode()

    def steps_of(self, file: Path) -> int | None:
        return int(json.loads(file.read_bytes())["steps"]) if file.exists() else None


def plan(**changes: Any) -> TrainingPlan:
    usual: dict[str, Any] = {"steps": 60, "rate": 0.3, "warmup": 2, "average": 0.5, "clip": 10.0, "decay": 0.0}
    return TrainingPlan(**{**usual, "batch": 16, "precision": "fp32", **changes})


def state(learner: Learner) -> list[Tensor]:
    return [*learner.trained(), *learner.mean]


class KilledError(Exception):
    """Stands for a machine that goes away."""


def killed_at(step: int) -> Any:
    def progress(done: int, total: int, row: Mapping[str, float]) -> None:
        if done == step:
            raise KilledError

    return progress


def test_it_learns_logs_and_keeps(tmp_path: Path) -> None:
    learner, done = fit(LineTask(plan(), Points()), tmp_path, log_every=10)
    kept = json.loads(done.weights.read_bytes())
    assert (kept["weight"], kept["bias"]) == (pytest.approx(3.0, abs=0.1), pytest.approx(-1.0, abs=0.1))
    assert kept["weight"] == learner.mean[0].item() != learner.net.weight.item()
    assert (kept["steps"], kept["source"], kept["plan"]["rate"]) == (60, {"slope": 3.0}, 0.3)
    rows = list(csv.DictReader((tmp_path / LOG).read_text().splitlines()))
    assert tuple(rows[0]) == ("step", "error", "rate", "points_per_s", "seconds")
    assert tuple(rows[0]) == columns_of(LineTask(plan(), Points()))
    assert [row["step"] for row in rows] == ["10", "20", "30", "40", "50", "60"]
    assert float(rows[-1]["error"]) < 0.05 < float(rows[0]["error"])
    assert {file.name for file in tmp_path.iterdir()} == {"line.json", LOG, PLAN, STATE}


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "adamw"},
        {"optimizer": "muon"},  # of which no weight here is Muon's
        {"optimizer": "adam", "schedule": "constant", "clip": 0.0, "average": 0.0, "warmup": 0},  # as published
    ],
)
def test_going_on_is_as_if_never_interrupted(changes: dict[str, Any], tmp_path: Path) -> None:
    how = plan(**changes)
    whole, _ = fit(LineTask(how, Points()), tmp_path / "whole", log_every=1)
    fit(LineTask(how, Points()), tmp_path / "parts", log_every=1, stop_after=7)
    with pytest.raises(KilledError):
        fit(LineTask(how, Points()), tmp_path / "parts", log_every=1, save_every=10, progress=killed_at(25))
    source = Points()
    parts, done = fit(LineTask(how, source), tmp_path / "parts", log_every=1)
    assert (source.asked, done.steps) == (list(range(20, 60)), 60)
    assert all(map(torch.equal, state(whole), state(parts)))
    assert (tmp_path / "whole" / "line.json").read_bytes() == (tmp_path / "parts" / "line.json").read_bytes()


@pytest.mark.parametrize(("clip", "stays"), [(0.0, False), (1e-6, True)])
def test_a_gradient_is_clipped_unless_the_plan_says_not_to(clip: float, stays: bool, tmp_path: Path) -> None:
    how = plan(clip=clip, optimizer="adam", steps=1, rate=0.5, average=0.0, warmup=0, schedule="constant")
    learner, _ = fit(LineTask(how, Points()), tmp_path)
    grown = torch.cat([weight.grad.flatten() for weight in learner.trained() if weight.grad is not None]).norm()
    assert (grown <= 2e-6) == stays


@pytest.mark.parametrize(
    ("first", "later", "steps"),
    [
        (math.inf, math.inf, [4, 8, 9]),  # by steps alone; the last always
        (0.0, math.inf, [1, 4, 8, 9]),  # early, then by steps
        (0.0, 0.0, list(range(1, 10))),  # by time: here the time is up at every step
    ],
)
def test_states_are_saved_early_then_by_steps_and_by_time(
    first: float, later: float, steps: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "FIRST_STATE", first)
    monkeypatch.setattr(log, "STATE_SECONDS", later)
    saved: list[int] = []
    fit(LineTask(plan(steps=9), Points()), tmp_path, save_every=4, saved=saved.append)
    assert saved == steps


def test_the_state_gone_on_from_is_told(tmp_path: Path) -> None:
    fit(LineTask(plan(), Points()), tmp_path, stop_after=7)
    saved: list[int] = []
    fit(LineTask(plan(), Points()), tmp_path, stop_after=9, saved=saved.append)
    assert saved == [7, 9]


def test_it_refuses_what_is_not_its_own(tmp_path: Path) -> None:
    fit(LineTask(plan(), Points()), tmp_path, stop_after=1)
    with pytest.raises(ConfigError, match=r"holds another training: its slope is 3\.0, now it is 2\.0"):
        fit(LineTask(plan(), Points(2.0)), tmp_path)
    torch.save({"weights": torch.zeros(2)}, tmp_path / STATE)
    with pytest.raises(DataError, match="damaged: not the state of a line's training"):
        fit(LineTask(plan(), Points()), tmp_path)


def test_it_says_where_a_training_diverged(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"diverged: loss (inf|nan) \(error\) at step \d+; try a lower rate"):
        fit(LineTask(plan(rate=1e30, warmup=0), Points()), tmp_path, log_every=1)
    assert {file.name for file in tmp_path.iterdir()} == {PLAN, LOG}


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [
        ("1,2.0\n2,4.5\n", 4.5),  # one call
        ("1,2.0\n2,4.5\n3,1.0\n4,3.0\n", 7.5),  # two, each counted anew
        ("1,2.0\n2,4.5\n3,1.0\n4", 5.5),  # the last row cut short
        ("", 0.0),  # nothing done yet
    ],
)
def test_seconds_of_a_training_over_all_calls(tmp_path: Path, rows: str, seconds: float) -> None:
    (tmp_path / LOG).write_text(f"step,seconds\n{rows}")
    assert trained_seconds(tmp_path) == seconds
