"""Names in the code: modules are nouns, a class name is defined once; and the formatter sees every line."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "sightline"
FILES = sorted(SOURCE.rglob("*.py"))

NOUNS = {
    "training": "what a model learns from, and the package that does it: the field's own noun",
    "drawing": "a picture that is drawn",
    "encoding": "how bytes stand for a value",
    "scoring": "counting points, the field's own noun",
    "turing": "a name",
    "matching": "a set of pairs, as in graph theory",
}
"""Modules that end in -ing and are nouns all the same → why."""


def words_of_modules() -> dict[str, Path]:
    """Every word of a module's or package's name → where it is."""
    names = {path.parent if path.name == "__init__.py" else path for path in FILES}
    return {word: path for path in names for word in path.stem.strip("_").split("_")}


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 100


def test_modules_are_nouns() -> None:
    gerunds = {word: path.relative_to(SOURCE) for word, path in words_of_modules().items() if word.endswith("ing")}
    strange = {word: path for word, path in gerunds.items() if word not in NOUNS}
    assert not strange, f"name what they hold: {', '.join(map(str, strange.values()))}"


def test_a_class_name_is_defined_once() -> None:
    defined = Counter(
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in defined.items() if count > 1] == []


@pytest.mark.parametrize("words", ["fmt: skip", "fmt: off"])
def test_the_formatter_sees_everything(words: str) -> None:
    assert [path for path in FILES if re.search(rf"#\s*{words}", path.read_text(encoding="utf-8"))] == []
