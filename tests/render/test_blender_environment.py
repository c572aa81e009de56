"""Blender's environment is found, made once, and explained when it does not work. Needs no Blender, no network."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import sightline.render.blender.environment as room
from sightline.errors import ConfigError
from sightline.render.blender.environment import environment, install, python_of, status

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fake environments are POSIX scripts")


@pytest.mark.parametrize(
    ("given", "variable", "cache", "expected"),
    [
        ("/given", "/named", "/cache", "/given"),  # the argument wins
        (None, "/named", "/cache", "/named"),  # then SIGHTLINE_BLENDER
        (None, "", "/cache", "/cache/sightline/blender-4.5"),  # an empty variable is none
        (None, None, "", "/home/me/.cache/sightline/blender-4.5"),  # no XDG folder either
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="cache folders differ by system")
def test_where_the_environment_is(
    given: str | None, variable: str | None, cache: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    if variable is None:
        monkeypatch.delenv("SIGHTLINE_BLENDER", raising=False)
    else:
        monkeypatch.setenv("SIGHTLINE_BLENDER", variable)
    assert environment(Path(given) if given else None) == Path(expected)


def _wheel(folder: Path, name: str, version: str, source: str) -> None:
    info = f"{name}-{version}.dist-info"
    with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", source)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip sees nothing but the wheels of this folder."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for variable in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setattr(room, "PYTHON", sys.version_info[:2])
    return folder


@pytest.mark.long
def test_install_makes_it_once(index: Path, tmp_path: Path) -> None:
    _wheel(index, "bpy", "4.5.99", "class app:\n    version_string = '4.5.99 fake'\n")
    _wheel(index, "bpy", "5.0.1", "raise RuntimeError('the wrong one')\n")
    _wheel(index, "numpy", "1.26.4", "")
    _wheel(index, "numpy", "2.1.0", "raise RuntimeError('too new')\n")
    place = tmp_path / "cache" / "blender"
    assert install(place) == place
    assert status(place).bpy == "4.5.99 fake"
    for wheel in index.iterdir():
        wheel.unlink()
    assert install(place) == place  # nothing is fetched again


NO_MATCH = "ERROR: No matching distribution found for bpy==4.5.*"
BROKEN = "WARNING: Retrying after connection broken by 'NewConnectionError: [Errno 111] Connection refused'"


@pytest.mark.parametrize(
    ("venv", "pip", "problem"),
    [
        ("", NO_MATCH, "could not be fetched: the package index has no bpy 4.5 for this machine"),
        ("", f"{BROKEN}\n{NO_MATCH}", "could not be fetched: the package index cannot be reached"),  # no network
        ("", "OSError: [Errno 28] No space left on device", "could not be fetched: the disk is full"),
        ("", "one\n\ntwo", "could not be fetched: one | two"),  # what nobody thought of
        ("No module named ensurepip", "", "could not be made: No module named ensurepip"),  # Debian without venv
    ],
)
def test_a_failed_install_says_why_and_leaves_nothing(venv: str, pip: str, problem: str, tmp_path: Path) -> None:
    body = f"""
if sys.argv[2] == "venv":
    (Path(sys.argv[3]) / "bin").mkdir(parents=True)
    shutil.copy(__file__, Path(sys.argv[3]) / "bin" / "python")
    sys.exit({venv!r} or 0)
sys.exit({pip!r})
"""
    python = python_of(_fake(tmp_path / "host", f"import shutil\nfrom pathlib import Path\n{body}"))
    with pytest.raises(ConfigError, match=re.escape(problem)):
        install(tmp_path / "blender", python=str(python))
    assert not (tmp_path / "blender").exists()


def test_install_never_touches_a_folder_of_yours(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ConfigError, match="neither empty nor a Python environment"):
        install(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_install_needs_the_right_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "PYTHON", (3, 99))
    with pytest.raises(ConfigError, match=r"needs python3\.99; this is Python 3"):
        install(tmp_path / "blender")
    with pytest.raises(ConfigError, match=r"could not be made: /no/python: No such file"):
        install(tmp_path / "blender", python="/no/python")


def _fake(folder: Path, body: str) -> Path:
    python = python_of(folder)
    python.parent.mkdir(parents=True)
    python.write_text(f"#!{sys.executable}\nimport json, sys\n{body}\n")
    python.chmod(0o755)
    return folder


VERSION_5 = """print('{"bpy": "5.0.1", "missing": [], "problem": null}')"""
PLAYS_PYTHON = "program, sys.argv = sys.argv[3], sys.argv[3:]; exec(program)"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (PLAYS_PYTHON, "does not load: ModuleNotFoundError: No module named 'bpy'"),  # an empty environment
        ("sys.exit('segfault, as it were')", "does not run: segfault, as it were"),  # a broken one
        ("", "does not run: it said nothing"),  # a mute one
        (VERSION_5, "is 5.0.1; Sightline needs 4.5"),  # another release, whose interface differs
    ],
)
def test_status_says_what_is_wrong(body: str, problem: str, tmp_path: Path) -> None:
    found = status(_fake(tmp_path / "blender", body))
    assert found.bpy is None
    assert problem in (found.problem or "")


@pytest.mark.skipif(sys.platform != "linux", reason="apt")
def test_status_names_every_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LIBRARIES", {"libc.so.6": "libc6", "libNo.so.1": "libno1", "libNay.so.2": "libnay2"})
    place = _fake(tmp_path / "blender", PLAYS_PYTHON)
    (place / "bin" / "bpy.py").write_text("raise ImportError('libNo.so.1: cannot open shared object file')")
    assert status(place).problem == (
        "Blender needs system libraries that are missing (libNo.so.1, libNay.so.2): sudo apt install libno1 libnay2"
    )


def test_status_without_an_environment_names_the_command(tmp_path: Path) -> None:
    assert "sightline blender install" in (status(tmp_path / "none").problem or "")
