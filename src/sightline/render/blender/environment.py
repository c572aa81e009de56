"""Blender's own environment: where it is, whether it works, and how it is made.

bpy wants a certain Python and an old numpy, so it shares no environment with Sightline; they meet as processes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sightline.errors import ConfigError

RELEASE: Final = "4.5"
PACKAGES: Final = (f"bpy=={RELEASE}.*", "numpy>=1.26,<2")
PYTHON: Final = (3, 11)
"""The one Python that bpy 4.5 has wheels for."""

DOWNLOAD: Final = "about 400 MB"

LIBRARIES: Final = {
    "libXrender.so.1": "libxrender1",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libSM.so.6": "libsm6",
    "libGL.so.1": "libgl1",
}
"""What bpy links to, with or without a screen, and the Debian package of each."""

_PROBE = """
import ctypes, json, sys
report = {"bpy": None, "missing": [], "problem": None}
try:
    import bpy, numpy
    report["bpy"] = bpy.app.version_string
except Exception as error:
    report["problem"] = f"{type(error).__name__}: {error}"
    if sys.platform == "linux" and not isinstance(error, ModuleNotFoundError):
        for name in sys.argv[1:]:
            try:
                ctypes.CDLL(name)
            except OSError:
                report["missing"].append(name)
print("\\n" + json.dumps(report))
"""
_NO_NETWORK = ("connection broken", "name resolution", "getaddrinfo", "Network is unreachable", "timed out")
"""pip says in the end that there is no such package, whatever kept it from looking."""


@dataclass(frozen=True, slots=True)
class Status:
    """What stands in the environment's folder.

    Attributes:
        bpy: Blender's version; None where it cannot be used.
        problem: Why not, in a sentence; None if it can.
    """

    folder: Path
    bpy: str | None = None
    problem: str | None = None


def environment(folder: Path | None = None) -> Path:
    """The environment's folder: the one given, else SIGHTLINE_BLENDER, else one in the user's cache."""
    if folder is not None:
        return folder
    named = os.environ.get("SIGHTLINE_BLENDER")
    return Path(named) if named else _cache() / "sightline" / f"blender-{RELEASE}"


def status(folder: Path | None = None) -> Status:
    """Try the environment; takes a second or two, for Blender is loaded once."""
    place = environment(folder)
    python = python_of(place)
    if not python.exists():
        hint = f"sightline blender install ({DOWNLOAD}), or set SIGHTLINE_BLENDER"
        return Status(place, problem=f"there is no Blender in {place}: {hint}")
    ran = subprocess.run([python, "-I", "-c", _PROBE, *LIBRARIES], capture_output=True, text=True, errors="replace")  # noqa: S603
    try:
        report = json.loads(ran.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return Status(place, problem=f"the Python in {place} does not run: {tail(ran.stderr)}")
    if report["missing"]:
        return Status(place, problem=_missing(report["missing"]))
    if report["problem"]:
        return Status(place, problem=f"Blender in {place} does not load: {report['problem']}")
    if not report["bpy"].startswith(f"{RELEASE}."):
        return Status(place, problem=f"Blender in {place} is {report['bpy']}; Sightline needs {RELEASE}")
    return Status(place, bpy=report["bpy"])


def install(folder: Path | None = None, *, python: str | None = None) -> Path:
    """Make the environment, if it is not there yet. pip tells its progress on standard output.

    Args:
        folder: Where; by default as `environment` says.
        python: A Python 3.11 to make it with; by default this one, else the first ``python3.11`` on the path.

    Raises:
        ConfigError: No Python 3.11, no network, no room, or a system library is missing.
    """
    place = environment(folder)
    new = not place.exists() or not any(place.iterdir())
    if not new:
        if not (place / "pyvenv.cfg").exists():
            raise ConfigError(f"{place} is neither empty nor a Python environment: choose another folder")
        if status(place).bpy:
            return place
    try:
        _make(place, python or _find_python())
    except BaseException:
        if new:
            shutil.rmtree(place, ignore_errors=True)
        raise
    state = status(place)
    if state.problem:
        raise ConfigError(state.problem)
    return place


def python_of(folder: Path) -> Path:
    """The Python of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def tail(text: str, lines: int = 6) -> str:
    r"""The last lines that say something, on one line.

    >>> tail("a\n\nb\nc\n", lines=2)
    'b | c'
    """
    return " | ".join([line.strip() for line in text.splitlines() if line.strip()][-lines:]) or "it said nothing"


def _make(place: Path, python: str) -> None:
    _run([python, "-m", "venv", str(place)], "the environment could not be made")
    pip = [str(python_of(place)), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    _run([*pip, "--only-binary=:all:", "--progress-bar=on", *PACKAGES], "Blender could not be fetched")


def _run(command: list[str], failure: str) -> None:
    """Run with standard output shown and standard error kept for the message."""
    try:
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")  # noqa: S603
    except OSError as error:
        raise ConfigError(f"{failure}: {command[0]}: {error.strerror}") from error
    if ran.returncode:
        raise ConfigError(f"{failure}: {_why(ran.stderr)}")


def _why(text: str) -> str:
    """What a failed pip or venv most likely means."""
    if "No space left" in text:
        return "the disk is full"
    if any(sign in text for sign in _NO_NETWORK):
        return f"the package index cannot be reached; {DOWNLOAD} must come over the network, once"
    if "No matching distribution" in text:
        return f"the package index has no bpy {RELEASE} for this machine ({tail(text, 1)})"
    return tail(text)


def _find_python() -> str:
    if sys.version_info[:2] == PYTHON:
        return sys.executable
    name = "python{}.{}".format(*PYTHON)
    program = shutil.which(name)
    if program is None:
        here = "{}.{}".format(*sys.version_info[:2])
        raise ConfigError(f"Blender {RELEASE} needs {name}; this is Python {here} and no {name} is on the path")
    return program


def _missing(names: list[str]) -> str:
    packages = " ".join(LIBRARIES[name] for name in names)
    return f"Blender needs system libraries that are missing ({', '.join(names)}): sudo apt install {packages}"


def _cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
