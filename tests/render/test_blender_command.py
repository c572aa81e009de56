"""``sightline blender``: what a user sees, with an environment that only pretends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sightline.cli import blender_command
from sightline.errors import ConfigError
from sightline.render.blender.environment import python_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake is a POSIX script")


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    made.command("blender")(blender_command.command)
    return made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An environment that says it has Blender."""
    folder = tmp_path / "blender"
    python = python_of(folder)
    python.parent.mkdir(parents=True)
    python.write_text(f"""#!{sys.executable}\nprint('{{"bpy": "4.5.15 LTS", "missing": [], "problem": null}}')\n""")
    python.chmod(0o755)
    (folder / "pyvenv.cfg").touch()
    return folder


@pytest.mark.parametrize(
    "action",
    [
        "status",  # looks
        "install",  # finds it there already
    ],
)
def test_a_working_environment(action: str, app: typer.Typer, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_BLENDER", str(place))
    plain = CliRunner().invoke(app, [action])
    assert (plain.exit_code, plain.stdout) == (0, f"Blender 4.5.15 LTS in {place}\n")
    told = CliRunner().invoke(app, [action, "--json"])
    assert json.loads(told.stdout) == {"folder": str(place), "bpy": "4.5.15 LTS", "problem": None}


def test_a_missing_environment(app: typer.Typer, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["status", "--folder", str(tmp_path / "none"), "--json"])
    assert told.exit_code == 2
    assert "sightline blender install" in json.loads(told.stdout)["problem"]


def test_an_impossible_install(app: typer.Typer, tmp_path: Path) -> None:
    words = ["install", "--folder", str(tmp_path / "new"), "--python", "/no/python"]
    told = CliRunner().invoke(app, words)
    assert isinstance(told.exception, ConfigError)  # `main` prints it
    assert not (tmp_path / "new").exists()
