"""The benchmark that makes Table 2: stopped and gone on with, and its models in the exam."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BENCHMARK = ROOT / "benchmarks" / "viewpoint.py"
SIZES = {"images": 20, "val": 4, "positives": 6, "negatives": 4, "cells": 16, "parts": 2, "rounds": 1}
SMALL = [word for name, size in SIZES.items() for word in (f"--{name}", size)]
SMALL += ["--size", "120x80", "--classes", "car,chair", "--views", 4, "--mining", 1, "--interval", 3]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.long
def test_an_unknown_class_is_refused(tmp_path):
    done = run(BENCHMARK, "--out", tmp_path / "t", "--classes", "car,cup")
    assert done.returncode == 2
    assert "no class 'cup'; there are aeroplane" in done.stderr


@pytest.mark.long
def test_too_little_to_learn_from_is_told_without_a_traceback(tmp_path):
    """Cars alone are shown: there is no picture without one."""
    sizes = ("--images", 2, "--val", 1, "--size", "96x64", "--views", 4, "--interval", 3)
    done = run(BENCHMARK, "--out", tmp_path / "t", "--classes", "car", "--no-dpm", *sizes)
    assert done.returncode == 2
    assert done.stderr.startswith("error: too little to learn from")
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_table_2_is_made_in_two_goes_and_its_model_takes_the_exam(tmp_path):
    out = tmp_path / "table"
    first = run(BENCHMARK, "--out", out, *SMALL, "--deadline", 1)
    assert first.returncode == 0, first.stderr
    assert "the same command goes on" in first.stdout
    assert not (out / "table2.md").exists()
    done = run(BENCHMARK, "--out", out, *SMALL)
    assert done.returncode == 0, done.stderr
    results = json.loads((out / "table2.json").read_text())
    assert list(results) == ["dpm", "vdpm-4", "dpm-voc-vp-4"]
    for name, result in results.items():
        assert set(result["scores"]) == {"car", "chair", "mean"}
        assert result["train"] > 0 < result["detect"]
        for scores in result["scores"].values():
            assert 0.0 <= scores["ap"] <= 1.0
            assert name == "dpm" or 0.0 <= scores["avp"] <= scores["ap"]
    assert "| VDPM, 4 views |" in (out / "table2.md").read_text()

    data, model = tmp_path / "views", out / "models" / "vdpm-4.safetensors"
    assert (
        run("-m", "sightline", "generate", "cad/val", "--scenes", 3, "--size", "120x80", "--out", data).returncode
        == 0
    )
    words = ("exam", "viewpoint", "--data", data, "--boxes", "detected", "--model", f"vdpm:{model}", "--json")
    taken = run("-m", "sightline", *words, "--out", tmp_path / "runs")
    assert taken.returncode == 0, taken.stderr
    assert "vdpm" in taken.stdout
