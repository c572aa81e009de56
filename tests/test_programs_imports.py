"""Names that programs outside the package import from it exist: most import inside functions."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(file for folder in ("benchmarks", "docs/pages", "tools") for file in (ROOT / folder).glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda file: file.stem)
def test_names_imported_from_sightline_exist(program: Path) -> None:
    missing = [
        f"line {node.lineno}: {node.module}.{name.name}"
        for node in ast.walk(ast.parse(program.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sightline"
        for name in node.names
        if not hasattr(import_module(node.module), name.name) and find_spec(f"{node.module}.{name.name}") is None
    ]
    assert not missing
