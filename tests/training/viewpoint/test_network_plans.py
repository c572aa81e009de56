"""The plans of benchmarks/viewpoint_network.py: each is a plan, and the one for a CPU goes all the way."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from sightline.models.nets.viewpoint import COARSE

FILE = Path(__file__).parents[3] / "benchmarks" / "viewpoint_network.py"


@pytest.fixture(scope="module")
def network() -> Any:
    spec = spec_from_file_location("viewpoint_network", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_plan_can_be_made(network: Any) -> None:
    for name in network.PLANS:
        plan = network.plan_of(name, 400)
        assert plan.steps == 400
        assert plan.resolution_side % COARSE == 0


@pytest.mark.long
def test_the_way_on_a_cpu(network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["x", "train", "toy", "--steps", "2", "--workers", "0", "--scenes", "4", "--few", "--splits", "val"]
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(tmp_path), "--results", str(tmp_path / "r")])
    network.main()
    made = json.loads((tmp_path / "r" / "toy.json").read_text())
    assert made["steps"] == 2
    assert made["splits"]["val"]["images"] == 4
    assert 0.0 <= made["splits"]["val"]["given"]["accuracy_pi_6"]["mean"]["value"] <= 1.0
    assert (tmp_path / "r" / "toy.safetensors").stat().st_size < 16e6
