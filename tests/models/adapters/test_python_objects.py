from __future__ import annotations

from pathlib import Path

import pytest

from sightline.errors import ModelError
from sightline.models import load, name_of

SOURCE = """
from __future__ import annotations
from dataclasses import dataclass
import numpy as np
from sightline.skills import Judgements

@dataclass
class Net:
    layers: int = 3
    def relate(self, pairs):
        return Judgements(np.ones(len(pairs), np.int8), np.zeros(len(pairs), np.int8))

@dataclass(frozen=True, slots=True)
class Frozen:
    def relate(self, pairs): ...

made = Net(layers=5)
def factory():
    return Net(layers=7)
def broken():
    raise RuntimeError("no weights")
class Needy(Net):
    def __init__(self, weights): ...
number = 4
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("Net", 3),  # a class
        ("made", 5),  # an object
        ("factory", 7),  # a factory
    ],
)
def test_what_can_be_a_model(file: Path, name: str, layers: int) -> None:
    model = load(f"{file}:{name}")
    assert model.layers == layers
    assert name_of(model) == f"mine.py:{name}"


def test_an_object_that_takes_no_name(file: Path) -> None:
    spec = f"{file}:Frozen"
    assert name_of(load(spec), spec) == "mine.py:Frozen"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Nett", "mine.py: no object 'Nett', did you mean 'Net'?"),  # misspelt
        (
            "number",
            "int has no skill (expected a method relate() or detect() or predicates() or answer())",
        ),  # not a model
        ("broken", "mine.py:broken: calling it failed: RuntimeError: no weights (line 21)"),  # factory fails
        ("Needy", "calling it failed: TypeError"),  # class wants arguments
    ],
)
def test_what_cannot(file: Path, name: str, says: str) -> None:
    with pytest.raises(ModelError) as raised:
        load(f"{file}:{name}")
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 1\nraise ValueError('bad day')", "ValueError: bad day (line 2)"),  # raises
        ("def f(:\n  pass", "SyntaxError: invalid syntax (line 1)"),  # does not parse
        ("import sys\nsys.exit(3)", "SystemExit: 3 (line 2)"),  # wants to stop the program
        ("import neighbour_of_mine", "ModuleNotFoundError"),  # its folder is not on the path
    ],
)
def test_a_file_that_cannot_be_run(tmp_path: Path, source: str, says: str) -> None:
    (tmp_path / "neighbour_of_mine.py").touch()
    (tmp_path / "bad.py").write_text(source)
    with pytest.raises(ModelError) as raised:
        load(f"{tmp_path / 'bad.py'}:net")
    assert "bad.py: running it failed: " in str(raised.value)
    assert says in str(raised.value)
