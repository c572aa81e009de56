"""The demo's exam of the shipped network, over two scenes a split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="checkpoints need safetensors")

from sightline.cli.demo_predicates import SPLITS, show_predicates

from sightline.exams.predicates.exam import BASELINES


def test_the_shipped_network_and_all_baselines_sit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = show_predicates(tmp_path, scenes=2)
    assert [page.stem for _, page in seen] == [*SPLITS]
    for words, page in seen:
        assert f"geospa/{page.stem}" in words
        told = json.loads(page.with_suffix(".json").read_text())
        assert {run["name"] for run in told["runs"]} == {"sornet", *BASELINES.values()}
        assert told["focus"] == "sornet"
        assert all(run["status"] == "finished" and run["items"] == 2 for run in told["runs"])
        assert "data:image" in page.read_text()
    printed = capsys.readouterr().out
    for words in ("generate geospa/val_op", "exam predicates", "--model sornet", "--attention"):
        assert words in printed
    assert len([*tmp_path.glob("runs/*/predicates/*/manifest.json")]) == len(SPLITS) * (1 + len(BASELINES))
