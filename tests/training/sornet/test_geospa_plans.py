"""The benchmark that trains plans by name says which there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "geospa.py"


def test_unknown_plan() -> None:
    done = subprocess.run(
        [sys.executable, BENCHMARK, "train", "tiny", "nosuch"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "error: no plan 'nosuch'; there are base, " in done.stderr
    assert "Traceback" not in done.stderr
