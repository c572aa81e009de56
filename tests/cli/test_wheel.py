"""What pip installs: the wheel's files, its command, its size, and the other package of the same name."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import typer

import sightline
import sightline_exams
from sightline.cli import app

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
NOT_INSTALLED = re.compile(
    r"\bdocs/|\.\./shared|\bMakefile\b|\bmake (test|demo|docs|bench|fuzz|lint)\b|\btools/|\btests/"
)
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked as pip would."""
    pytest.importorskip("hatchling", reason="building a wheel needs hatchling")
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (file,) = out.glob("sightline_exams-*.whl")
    with zipfile.ZipFile(file) as packed:
        packed.extractall(out / "site")
    return out / "site"


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    here = {p.relative_to(SOURCE) for p in SOURCE.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    there = {p.relative_to(wheel) for p in wheel.rglob("*") if p.is_file() and ".dist-info" not in str(p)}
    assert there == here


def test_the_wheel_runs_by_itself(wheel: Path, tmp_path: Path) -> None:
    def printed(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(wheel), "PYTHONSAFEPATH": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert printed("-m", "sightline", "--version") == f"sightline {sightline.__version__}\n"
    assert Path(printed("-c", "import sightline; print(sightline.__file__)").strip()).is_relative_to(wheel)
    assert printed("-c", "import sightline as sl; print(sl.TuringExam.name, sl.__version__)").split() == [
        "turing",
        sightline.__version__,
    ]
    metadata = next(wheel.glob("sightline_exams-*.dist-info"))
    assert "sightline = sightline_exams:main" in (metadata / "entry_points.txt").read_text()
    assert f"Version: {sightline.__version__}\n" in (metadata / "METADATA").read_text()


def test_extras_name_the_distribution() -> None:
    project = SETTINGS["project"]
    assert project["name"] == sightline_exams.NAME == "sightline-exams"
    needed = [*project["dependencies"], *(n for extra in project["optional-dependencies"].values() for n in extra)]
    assert not [n for n in needed if re.match(r"sightline\b(?!-exams)", n)]
    assert not [n for n in project["dependencies"] if n.startswith(("pyarrow", "pandas", "torch"))]
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.py")]:
        wrong = re.findall(
            r"pip install (?:-\S+ )*[\"']?sightline(?!-exams)\b[^\n]*", page.read_text(encoding="utf-8")
        )
        assert not wrong, page


def commands(group: Any, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {above: group}
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        below = commands(command, (*above, name)) if hasattr(command, "list_commands") else {}
        found |= below or {(*above, name): command}
    return found


def test_help_points_to_nothing_a_wheel_lacks() -> None:
    for words, command in commands(typer.main.get_command(app)).items():
        texts = [
            command.help or "",
            command.epilog or "",
            *(getattr(p, "help", None) or "" for p in command.params),
        ]
        assert not [t for t in texts if NOT_INSTALLED.search(t)], words


@pytest.mark.long
def test_messages_point_to_nothing_a_wheel_lacks() -> None:
    """Every text in the code but docstrings and comments."""
    for file in SOURCE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        bare = {
            id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
        }
        texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        wrong = [(n.lineno, n.value) for n in texts if id(n) not in bare and NOT_INSTALLED.search(n.value)]
        assert not wrong, file


@pytest.mark.parametrize("words", commands(typer.main.get_command(app)), ids=" ".join)
def test_every_command_has_short_help(words: tuple[str, ...], cli: Any) -> None:
    brief, whole = cli(*words, "-h"), cli(*words, "--help")
    assert (brief.code, brief.out) == (0, whole.out)
    assert " ".join(("Usage: sightline", *words)) in brief.out


def test_help_lists_worlds_exams_and_models(cli: Any) -> None:
    from sightline.exams.registry import exam_names
    from sightline.models import available
    from sightline.worlds import presets

    def shown(*words: str) -> str:
        return " ".join(cli(*words, "-h").out.split())

    worlds, exams, models = map(shown, ("generate", "exam", "models"))
    assert all(name in worlds for name in presets())
    assert all(name in exams for name in exam_names())
    assert all(model.name in models for model in available())
    assert all(f"sightline {name}" in shown() for name in ("generate -h", "exam -h", "models"))


def test_bash_completes_commands(tmp_path: Path) -> None:
    program = tmp_path / "sightline"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sightline "$@"\n')
    program.chmod(0o755)
    script = (
        "source <(sightline --show-completion bash); COMP_WORDS=(sightline gen); COMP_CWORD=1; "
        'complete -p sightline | grep -o "_[a-z_]*completion"; '
        '_sightline_completion sightline; echo "${COMPREPLY[@]}"'
    )
    paths = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        ["bash", "-c", script], env=os.environ | paths, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["_sightline_completion", "generate"], done.stderr


OTHER = "Metadata-Version: 2.4\nName: sightline\nVersion: 0.0.1\nSummary: Something else.\n"
OURS = "Metadata-Version: 2.4\nName: sightline-exams\nVersion: 0.1.0\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the two distributions' metadata, the package overwritten by the other one's empty file."""
    for name, text in (("sightline-0.0.1", OTHER), ("sightline_exams-0.1.0", OURS)):
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "METADATA").write_text(text)
    return tmp_path


def started(site: Path, code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    found = os.pathsep.join(map(str, (site, *paths, SOURCE)))
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": found},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )


COMMAND = "import sys; sys.argv = ['sightline', '--version']; from sightline_exams import main; main()"


@pytest.mark.parametrize("overwritten", [False, True])
def test_both_packages_installed_is_a_clear_error(site: Path, overwritten: bool) -> None:
    if overwritten:
        (site / "sightline").mkdir()
        (site / "sightline" / "__init__.py").touch()
    done = started(site, COMMAND)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: two packages are installed that are both imported as sightline")
    assert "Something else." in done.stderr
    assert "pip uninstall sightline, then pip install --force-reinstall --no-deps sightline-exams" in done.stderr
    assert "Traceback" not in done.stderr


def test_both_packages_installed_is_an_error_on_first_use_in_python(site: Path) -> None:
    done = started(site, "import sightline; sightline.open")
    assert done.returncode == 1
    assert "NamesakeError: two packages are installed" in done.stderr


def test_what_the_other_package_leaves_behind_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "sightline").mkdir()
    (tmp_path / "sightline" / "__init__.py").touch()
    done = started(tmp_path, COMMAND)
    assert done.returncode == 2
    assert "pip install --force-reinstall --no-deps sightline-exams" in done.stderr


def test_the_package_alone_is_fine(tmp_path: Path) -> None:
    done = started(tmp_path, COMMAND)
    assert (done.returncode, done.stdout) == (0, f"sightline {sightline.__version__}\n")
