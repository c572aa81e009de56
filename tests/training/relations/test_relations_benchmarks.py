"""The programs that teach and examine relations networks: a toy training, its rows, the page made of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sightline.models.registry import load
from sightline.models.relations.model import OrderedModel, PairModel

ROOT = Path(__file__).resolve().parents[3]


def run(*words: object) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_from_a_toy_training_to_the_page(tmp_path: Path) -> None:
    card, nets = ROOT / "benchmarks" / "relations_card.py", ROOT / "benchmarks" / "relations_nets.py"
    only = ("--only", "detector,drnet,boxes-classes,boxes-appearance,ordered")
    told = run(card, "all", "--out", tmp_path / "card", "--toy", *only)
    assert "FAILED" not in told
    taught = tmp_path / "card" / "nets"
    assert {file.stem for file in taught.iterdir()} == set(only[1].split(","))
    assert "ordered: boxes-classes, put in order" in told
    for name, kind in (("boxes-classes", PairModel), ("ordered", OrderedModel)):
        assert type(load(str(taught / f"{name}.safetensors"))) is kind
    assert "drnet is done" in run(card, "all", "--out", tmp_path / "card", "--toy", *only)
    run(nets, "world", "--nets", taught, "--out", tmp_path / "rows", "--scenes", 4, "--size", "96x64")
    row = json.loads((tmp_path / "rows" / "drnet.json").read_text())
    assert set(row["on"]) == {"truth", "detected"}
    assert set(row["on"]["truth"]["room"]["apart"]["within_image"]) >= {"far apart", "between", "close together"}
    paired = json.loads((tmp_path / "rows" / "paired.json").read_text())["on"]
    assert set(paired) == {"ordered minus boxes-classes", "drnet minus boxes-classes"}
    (tmp_path / "rows" / "detector.json").write_bytes((taught / "detector.json").read_bytes())
    page = run(ROOT / "docs" / "pages" / "relations_nets.py", "--world", tmp_path / "rows")
    assert "### True boxes, detected boxes, perfect predicates" in page
    assert "| DRNet |" in page


@pytest.mark.long
def test_cue_a_of_another_backbone_and_rows_added_later(tmp_path: Path) -> None:
    card, nets = ROOT / "benchmarks" / "relations_card.py", ROOT / "benchmarks" / "relations_nets.py"
    backbone = ("--backbone", ROOT / "src" / "sightline" / "models" / "weights" / "viewnet-tiny.safetensors")
    toy = ("all", "--out", tmp_path / "card", "--toy", *backbone)
    told = run(card, *toy, "--only", "boxes-classes,boxes-appearance")
    assert "FAILED" not in told
    taught = tmp_path / "card" / "nets"
    assert {file.stem for file in taught.iterdir()} == {"boxes-classes", "boxes-appearance"}  # and no detector
    assert json.loads((taught / "boxes-appearance.json").read_text())["backbone"] == backbone[1].name
    how = ("--nets", taught, "--out", tmp_path / "rows", "--scenes", 4, "--size", "96x64")
    told = run(nets, "world", *how)  # no backbone given
    assert "boxes-appearance: left out, since its cue A is viewnet-tiny.safetensors's" in told
    before = (tmp_path / "rows" / "boxes-classes.json").read_bytes()
    run(nets, "world", *how, *backbone)
    row = json.loads((tmp_path / "rows" / "boxes-appearance.json").read_text())
    assert set(row["on"]) == {"truth"}  # no detector, no detected boxes
    assert row["backbone"] == backbone[1].name
    assert (tmp_path / "rows" / "boxes-classes.json").read_bytes() == before
