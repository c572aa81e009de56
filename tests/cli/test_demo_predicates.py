"""The demo's exam of the shipped network, over two scenes a split."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="checkpoints need safetensors")

from sightline.api import report
from sightline.cli.demo_command import SPLITS, show_predicates
from sightline.exams.predicates.exam import BASELINES


def test_the_shipped_network_and_all_baselines_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = show_predicates(tmp_path / "data", tmp_path / "runs", scenes=2)
    assert len(set(runs)) == len(SPLITS)
    page = report(runs, tmp_path / "card.html", attention=True, resamples=100)
    assert len(page.parts) == len(SPLITS)
    for split, part in zip(SPLITS, page.parts, strict=True):
        assert split in part.title
        made = part.to_dict()["document"]
        assert {run["name"] for run in made["runs"]} == {"sornet", *BASELINES.values()}
        assert made["focus"] == "sornet"
        assert all(run["status"] == "finished" and run["items"] == 2 for run in made["runs"])
    assert "data:image" in (tmp_path / "card.html").read_text()
    printed = capsys.readouterr().out
    for words in ("generate geospa/val_op", "exam predicates", "--model sornet"):
        assert words in printed
    assert len([*tmp_path.glob("runs/*/predicates/*/manifest.json")]) == len(SPLITS) * (1 + len(BASELINES))
