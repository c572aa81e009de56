"""Whether a model is still the one that answered: code, neighbours, state, servers, files; what cannot be told."""

from __future__ import annotations

import functools
import importlib
import linecache
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sightline.exams.run import UNKNOWN_MODEL
from sightline.models import candidate
from sightline.models.identity import note_asked, object_fingerprint, source_files


class Held:
    """A model that holds one value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def relate(self, pairs: Any) -> Any: ...


@dataclass
class Point:
    x: float = 1.0
    within: Any = None


def closure(k: int) -> Callable[[int], int]:
    return lambda x: x + k


def in_itself() -> list[Any]:
    made: list[Any] = [1]
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.1, 0.2),  # a number
        ("a", b"a"),  # a type
        (1, True),  # another type that is equal
        ([1, 2], [2, 1]),  # an order that counts
        ([[1], 2], [[1, 2]]),  # a nesting
        ({"a": 1}, {"a": 2}),  # a value
        (np.zeros(3), np.array([0, 0, 1e-300])),  # an element
        (np.zeros(3), np.zeros((3, 1))),  # a shape
        (np.array([None, "a"]), np.array([None, "b"])),  # objects in an array
        (Point(1), Point(2)),  # an object in it
        (Point(within=[Point(1)]), Point(within=[Point(3)])),  # deeper
        (closure(1), closure(2)),  # what a function takes from around it
        (functools.partial(max, 1), functools.partial(max, 2)),  # an argument
        (Path("a"), Path("b")),  # a path
        (np.random.default_rng(1), np.random.default_rng(2)),  # a seed
    ],
)
def test_another_state_is_another_model(one: Any, other: Any) -> None:
    assert object_fingerprint(Held(one)) != object_fingerprint(Held(other))


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"a": 1, "b": [Point(2.5)]},  # equal, not identical
        lambda: [threading.Lock(), threading.RLock()],  # hold nothing
        lambda: np.arange(6).reshape(2, 3),
        lambda: closure(4),
        lambda: float("nan"),
        lambda: in_itself(),  # contains itself
    ],
)
def test_the_same_state_is_the_same_model(make: Callable[[], Any]) -> None:
    first = object_fingerprint(Held(make()))
    assert first == object_fingerprint(Held(make()))
    assert not first.startswith(UNKNOWN_MODEL)


def test_an_order_that_does_not_count() -> None:
    assert object_fingerprint(Held({"a": 1, "b": 2})) == object_fingerprint(Held({"b": 2, "a": 1}))


def test_another_process_hashes_alike(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "class M:\n    def __init__(self): self.words = {'red', 'green', 'blue', 'grey', 'pink'}\n"
        "    def relate(self, pairs): return pairs in {'a', 'b', 'c', 'd'}\n"
    )
    code = "from m import M; from sightline.models.identity import object_fingerprint as f; print(f(M()))"
    hashes = set()
    for seed in "12":
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join([str(tmp_path), *sys.path])}
        made = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        hashes.add(made.stdout)
    assert len(hashes) == 1
    assert not hashes.pop().startswith(UNKNOWN_MODEL)


def test_the_name_is_no_state() -> None:
    model = Held(1)
    before = object_fingerprint(model)
    model.name = "other"  # type: ignore[attr-defined]
    assert object_fingerprint(model) == before


def test_a_model_that_says_so_itself() -> None:
    model = Held(iter([]))  # an iterator has a state nobody sees
    model.fingerprint = "weights of May"  # type: ignore[attr-defined]
    assert candidate(model).fingerprint == "weights of May"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (lambda: (i for i in ()), "a generator in it cannot be hashed"),  # it goes on somewhere
        (lambda: sys.stderr, "in it cannot be hashed"),  # a file
        (lambda: functools.reduce(lambda inner, _: [inner], range(5000), []), "nested too deeply"),
    ],
)
def test_what_cannot_be_told(value: Callable[[], Any], says: str) -> None:
    hashed = object_fingerprint(Held(value()))
    assert hashed.startswith(UNKNOWN_MODEL)
    assert says in hashed


def test_a_class_typed_into_a_console() -> None:
    typed: dict[str, Any] = {"__name__": "console"}
    exec("class M:\n    def relate(self, pairs): return 1\n", typed)
    assert object_fingerprint(typed["M"]()) == f"{UNKNOWN_MODEL}: the source of M cannot be seen, it is in no file"


CELL = """
from dataclasses import dataclass
{}
@dataclass
class M:
    weight: float = 1.0
    margin = {}
    def relate(self, pairs): return help_it(pairs)
def help_it(pairs): return {}
"""


@pytest.mark.parametrize(
    "changed",
    [
        ("", 2, 1),  # a value of the class
        ("", 1, 2),  # a function in another place of the notebook
        ("import numpy", 1, 1),  # nothing that counts
    ],
)
def test_a_class_of_a_notebook(changed: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def typed(cell: str, number: int) -> str:
        name = f"/nowhere/ipykernel_1/{number}.py"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        notebook: Any = ModuleType("notebook")
        monkeypatch.setitem(sys.modules, "notebook", notebook)
        exec(compile(cell, name, "exec", dont_inherit=True), vars(notebook))
        return object_fingerprint(notebook.M())

    before, same, after = (typed(CELL.format(*what), i) for i, what in enumerate([("", 1, 1), ("", 1, 1), changed]))
    assert before == same
    assert not before.startswith(UNKNOWN_MODEL)
    assert (after == before) is bool(changed[0])


def test_being_asked_makes_no_other_model() -> None:
    model = Held({})
    before = object_fingerprint(model)
    model.value["last picture"] = 7  # while it was asked
    note_asked(model, before)
    assert object_fingerprint(model) == before
    model.value["margin"] = 7  # by its owner
    assert object_fingerprint(model) != before


CLASS = "import {0}\nclass M:\n    margin = {1}\n    def relate(self, pairs): return {0}.f({2})\n"


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ("mine.py", CLASS.format("helpers", 1, 3)),  # the method
        ("mine.py", CLASS.format("helpers", 2, 2)),  # a value of the class
        ("helpers.py", "from parts import deep\ndef f(x): return x + 1\n"),  # a neighbour
        ("parts/deep.py", "Y = 2\n"),  # a module that a neighbour imports
    ],
)
@pytest.mark.parametrize("by", ["spec", "object"])
def test_changed_code_is_another_model(
    tmp_path: Path, changed: str, text: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    (tmp_path / "parts" / "deep.py").write_text("Y = 1\n")
    (tmp_path / "helpers.py").write_text("from parts import deep\ndef f(x): return x\n")
    (tmp_path / "mine.py").write_text(CLASS.format("helpers", 1, 2))
    (tmp_path / "bystander.py").touch()

    def now() -> str:
        if by == "spec":
            return candidate(f"{tmp_path / 'mine.py'}:M").fingerprint
        for name in ("mine", "helpers", "parts", "parts.deep"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return candidate(importlib.import_module("mine").M()).fingerprint

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = now()
    (tmp_path / "bystander.py").write_text("x = 1")  # nobody imports it
    assert now() == before
    (tmp_path / changed).write_text(text)
    after = now()
    assert after != before
    assert not after.startswith(UNKNOWN_MODEL)
    for name in ("mine", "helpers", "parts", "parts.deep"):
        sys.modules.pop(name, None)


def test_code_that_was_not_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = "class M:\n    def relate(self, pairs): return {}\n"
    (tmp_path / "stale_mine.py").write_text(text.format(1))
    stale = importlib.import_module("stale_mine").M
    old = object_fingerprint(stale())
    (tmp_path / "stale_mine.py").write_text(text.format(22))  # the file is new, what runs is not
    mixed = object_fingerprint(stale())
    new = object_fingerprint(importlib.reload(sys.modules["stale_mine"]).M())
    assert len({old, mixed, new}) == 3


def test_the_modules_of_a_folder(tmp_path: Path) -> None:
    for name, text in {
        "a.py": "import b, numpy\ndef f():\n    from p.q import r\n",
        "b.py": "import a\nimport missing\n",
        "p/__init__.py": "",
        "p/q/__init__.py": "from . import r\nfrom ..s import x\n",
        "p/q/r.py": "",
        "p/s.py": "x = 1",
        "p/unused.py": "",
        "broken.py": "def (",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {str(file.relative_to(tmp_path)) for file in source_files(tmp_path / "a.py")}
    assert found == {"a.py", "b.py", "p/__init__.py", "p/q/__init__.py", "p/q/r.py", "p/s.py"}
    assert source_files(tmp_path / "broken.py") == [tmp_path / "broken.py"]


def test_tensors() -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self, bias: float) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 2, bias=False)
            torch.nn.init.constant_(self.layer.weight, 0.5)
            self.register_buffer("bias", torch.tensor(bias, dtype=torch.bfloat16))

        def relate(self, pairs: Any) -> Any: ...

    assert object_fingerprint(Net(1.0)) == object_fingerprint(Net(1.0)) != object_fingerprint(Net(2.0))
    net = Net(1.0)
    before = object_fingerprint(net)
    with torch.no_grad():
        net.layer.weight[0, 1] += 1e-3
    assert object_fingerprint(net) != before


CHAT = "http:url=http://localhost:8000/v1,kind=chat,model=m"


@pytest.mark.parametrize(
    ("spec", "same"),
    [
        (CHAT, True),  # the same words
        (f"{CHAT},timeout=5,retries=0", True),  # how long to wait changes no answer
        (CHAT.replace("8000", "8001"), False),  # another address
        (CHAT.replace("model=m", "model=n"), False),  # another model there
        (f"{CHAT},history=2", False),  # asked in another way
        ("http:url=http://localhost:8000/v1", False),  # another kind
    ],
)
def test_a_server_is_known_by_address_model_and_options(spec: str, same: bool) -> None:
    assert (candidate(spec).fingerprint == candidate(CHAT).fingerprint) is same
    assert candidate(candidate(spec).model).fingerprint == candidate(spec).fingerprint  # as an object too


def test_a_file_of_answers_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("scene_id,stream,step,answer\na,0,1,yes\n")
    before = candidate(str(file)).fingerprint
    assert candidate(str(file)).fingerprint == before
    file.write_text("scene_id,stream,step,answer\na,0,1,no\n")
    assert candidate(str(file)).fingerprint != before
