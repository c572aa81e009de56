"""``sightline report`` over runs of the predicates exam, alone and beside others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.exams.core import sit
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.run import MANIFEST
from sightline.generate import generate
from sightline.models.registry import candidate

MODEL = """
import numpy as np
from sightline.skills import Verdicts

class Yes:
    name = "yes"

    def predicates(self, queries):
        return Verdicts(np.ones((len(queries), len(queries), 8), dtype=np.int8))

class Staring(Yes):
    def attention(self, queries):
        return np.ones((len(queries), len(queries.views), 2, 3))

yes, staring = Yes(), Staring()
"""

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset and three runs on it."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine.py").write_text(MODEL)
    data = generate("geospa/val_default", folder / "data", scenes=3, size=(60, 40), depth=None, canonical=1)
    for spec, name in (("predicates_majority", "m"), (f"{folder / 'mine.py'}:yes", "y")):
        sit(PredicatesExam(), candidate(spec), data, folder / "runs" / name)
    sit(PredicatesExam(), candidate(f"{folder / 'mine.py'}:staring"), data, folder / "stares" / "s")
    return folder


def test_the_page_of_the_exam_at_hand(home: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("report", home / "runs", "--out", tmp_path / "p.html", "--resamples", 100, "--json")
    assert done.code == 0, done.err
    assert (done.json["exam"], done.json["focus"]) == ("predicates", "yes")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.html", "p.json", "p.md"]
    assert "Attention for object" not in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_attention_loads_the_model(home: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("report", home / "stares", "--attention", "--out", tmp_path, "--resamples", 100)
    assert done.code == 0, done.err
    assert "Attention for object 1" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--protocol", "paper"), "--protocol paper goes with the relations exam"),  # an option of the other exam
        (("--attention",), "no method attention(queries)"),  # the model has none
        (("--exam", "relations"), "no run of the exam 'relations' here"),  # not there
    ],
)
def test_what_cannot_be_is_said(home: Path, tmp_path: Path, cli: Cli, options: tuple[str, ...], says: str) -> None:
    done = cli("report", home / "runs", *options, "--out", tmp_path / "p.html", "--resamples", 100)
    assert done.code != 0
    assert says in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())


def test_several_exams_in_one_tree(home: Path, tmp_path: Path, cli: Cli) -> None:
    other = tmp_path / "runs" / "relations"
    other.mkdir(parents=True)
    manifest = json.loads((home / "runs" / "m" / MANIFEST).read_text(encoding="utf-8"))
    manifest["identity"]["exam"] = "relations"
    (other / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    places = (home / "runs", tmp_path / "runs")
    mixed = cli("report", *places, "--out", tmp_path / "p.html", "--resamples", 100)
    assert mixed.code != 0
    assert "give --exam predicates or --exam relations" in " ".join(mixed.err.split())
    told = cli("report", *places, "--exam", "predicates", "--out", tmp_path / "p.html", "--resamples", 100)
    assert told.code == 0, told.err
    assert (tmp_path / "p.html").exists()
