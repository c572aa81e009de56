"""One more exam, in one file of another package, is taken, scored, compared and reported by the usual commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import counting_exam
import pytest


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    counting_exam.install(folder)
    return folder


def sightline(site: Path, *words: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "sightline", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_it_is_one_short_file() -> None:
    assert len(Path(counting_exam.__file__).read_text().splitlines()) <= 150


def test_the_ordinary_commands_know_it(site: Path, generated: Path, tmp_path: Path) -> None:
    runs, five = tmp_path / "runs", f"{site / 'counting_exam.py'}:Five"
    assert "--slack" in sightline(site, "exam", "counting", "--help").stdout
    done = sightline(site, "exam", "counting", "--data", generated, "--model", five, "--out", runs, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["exam"] == "counting"
    asked = {"items_asked", "items_kept", "kept_from"}
    assert set(document["models"][0]) == {"model", "run", "status", "options", "scores", *asked}
    assert document["models"][0]["options"] == {"slack": 0}
    assert document["models"][0]["scores"]["n_scenes"] == 6
    assert document["accuracy"] == document["models"][0]["scores"]["accuracy"]
    assert list(document["baselines"]) == ["three"]
    a, b = document["models"][0]["run"], document["baselines"]["three"]["run"]
    compared = json.loads(sightline(site, "compare", a, b, "--json").stdout)
    assert [row["name"] for row in compared["comparisons"]] == ["accuracy", "sparse", "crowded"]
    card = tmp_path / "card.html"
    written = sightline(site, "report", runs, "--out", card)
    assert written.returncode == 0, written.stderr
    assert "Counting" in card.read_text()
    assert json.loads(card.with_suffix(".json").read_text())["parts"][0]["document"]["runs"]
    assert "counting_exam.py:Five" in card.with_suffix(".md").read_text()


def test_its_options_are_checked(site: Path, generated: Path, tmp_path: Path) -> None:
    for words, says in {
        ("--slak", "1"): "--slack",  # misspelt
        ("--views", "top"): "No such option",  # another exam's
        ("--slack", "-1"): "greater than or equal to 0",  # too small
    }.items():
        done = sightline(site, "exam", "counting", "--data", generated, "--out", tmp_path / "r", *words)
        assert done.returncode == 2
        assert says in done.stderr
    assert not (tmp_path / "r").exists()
