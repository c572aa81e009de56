from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

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
            "int has no skill (expected a method relate() or detect() or predicates() or answer() or viewpoint() "
            "or classify() or segment() or estimate_depth())",
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
        ("import neighbour_of_mine", "KeyError: 'in there'"),  # its neighbour raises
        ("import no_neighbour_of_mine", "ModuleNotFoundError"),  # there is none
    ],
)
def test_a_file_that_cannot_be_run(tmp_path: Path, source: str, says: str) -> None:
    (tmp_path / "neighbour_of_mine.py").write_text("{}['in there']")
    (tmp_path / "bad.py").write_text(source)
    with pytest.raises(ModelError) as raised:
        load(f"{tmp_path / 'bad.py'}:net")
    assert "bad.py: running it failed: " in str(raised.value)
    assert says in str(raised.value)


LAZY = """
import sys
from pathlib import Path
assert sys.path[0] == str(Path(__file__).parent), sys.path[0]
import helper
from package.inner import BOTH
class Net:
    name = helper.NAME
    def __init__(self):
        import in_init
        self.init = in_init.NAME
    def relate(self, pairs):
        import lazy
        from package import deeper
        return self.name, BOTH, self.init, lazy.NAME, deeper.name()
"""


def write_neighbours(folder: Path, name: str) -> None:
    (folder / "package").mkdir(parents=True)
    for file, text in {
        "net.py": LAZY,
        "helper.py": f"NAME = {name!r}",
        "in_init.py": "import helper\nNAME = helper.NAME",
        "lazy.py": "from helper import NAME",
        "package/__init__.py": "",
        "package/inner.py": "import helper\nfrom . import beside\nBOTH = helper.NAME + beside.NAME",
        "package/beside.py": f"NAME = {name!r}",
        "package/deeper.py": "def name():\n    from helper import NAME\n    return NAME",
        "numpy.py": "",  # shadows what it should not be asked for
    }.items():
        (folder / file).write_text(text)


def test_neighbours_are_imported_as_python_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "helper.py").write_text("NAME = 'elsewhere'")
    monkeypatch.syspath_prepend(elsewhere)
    import helper  # type: ignore[import-not-found]

    before = set(sys.modules), list(sys.path), list(sys.meta_path)
    for name in "ab":
        write_neighbours(tmp_path / name, name)
    (tmp_path / "a" / "numpy.py").unlink()
    models: list[Any] = [load(f"{tmp_path / name / 'net.py'}:Net") for name in "ab"]
    for model, name in [*zip(models, "ab", strict=True), (models[0], "a")]:
        assert model.relate(None) == (name, name * 2, name, name, name)
    assert sys.modules["helper"] is helper
    assert helper.NAME == "elsewhere"
    assert {name for name in set(sys.modules) - before[0] if "sightline_model" not in name} == set()
    assert (sys.path, sys.meta_path) == before[1:]
    del sys.modules["helper"]


def test_a_neighbour_is_loaded_as_it_is_now(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import helper\nclass Net:\n    name = helper.NAME\n    def relate(self, p): ..."
    )
    names = []
    for name in ("one", "two"):  # within a second, of the same size: a cache of compiled code would look fresh
        (tmp_path / "helper.py").write_text(f"NAME = {name!r}")
        names.append(name_of(load(f"{tmp_path / 'net.py'}:Net")))
    assert names == ["one", "two"]
    assert not (tmp_path / "__pycache__").exists()
