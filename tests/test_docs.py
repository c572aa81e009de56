"""The docs keep their word: examples run, and the commands they show exist with those options."""

from __future__ import annotations

import doctest
import functools
import re
import runpy
import shlex
import shutil
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)])
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
UNRUN = re.compile(r"^<!-- not run: (.{8,}) -->\n```python\n", re.MULTILINE)
"""Stands before a block of Python that cannot be run here, and says why."""
RELATIVE = [str(page.relative_to(ROOT)) for page in PAGES]


def blocks(page: Path, *languages: str) -> list[str]:
    return fenced(page.read_text(encoding="utf-8"), *languages)


def fenced(text: str, *languages: str) -> list[str]:
    """Blocks of these languages, also those that stand in a list."""
    return [textwrap.dedent(body) for _, language, body in FENCE.findall(text) if language in languages]


def commands(page: Path) -> list[list[str]]:
    """Words of every shown ``sightline …`` command, continuation lines joined."""
    shown = "\n".join(blocks(page, "console", "bash", "sh")).replace("\\\n", " ")
    lines = [line.removeprefix("$ ").strip() for line in shown.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if re.match(r"\S*\bsightline ", line)]


@functools.cache
def options_by_command() -> dict[str, set[str]]:
    from sightline.cli import app

    def of(group: Any, above: str = "") -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name in group.list_commands(None):
            command = group.get_command(None, name)  # those of `exam` are made when they are asked for
            found[above + name] = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
            found |= of(command, f"{above}{name} ") if hasattr(command, "list_commands") else {}
        return found

    return of(typer.main.get_command(app))


@pytest.mark.parametrize("page", PAGES, ids=RELATIVE)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ``>>>`` examples of a page, in order, in one namespace and an empty folder."""
    source = "\n".join(block for block in blocks(page, "python", "pycon") if ">>>" in block)
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(source, {"__name__": "__docs__"}, page.name, str(page), 0)
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    assert result.failed == 0, "".join(told)


def plain_blocks(page: Path) -> list[str]:
    """Python without prompts that is to be run."""
    text = UNRUN.sub("```skipped\n", page.read_text(encoding="utf-8"))
    return [block for block in fenced(text, "python") if ">>>" not in block]


PLAIN = [page for page in PAGES if plain_blocks(page)]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders that pages speak of: generated scenes, and runs over labels."""
    import sightline
    from sightline.exams.relations import simulate

    folder = tmp_path_factory.mktemp("examples")
    for name, world, scenes in (("train", "geospa/train", 24), ("test", "geospa/val_default", 2)):
        sightline.generate(world, folder / name, scenes=scenes, size=(96, 64))
    simulate(folder / "labels", images=8)
    sightline.examine("bottom_edge", folder / "labels", "relations", out=folder / "runs", baselines=False)
    shutil.copytree(folder / "test", folder / "first")
    return folder


@pytest.mark.parametrize("page", PLAIN, ids=[str(page.relative_to(ROOT)) for page in PLAIN])
def test_plain_blocks_run(page: Path, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python without prompts runs too, in order, in one namespace, beside small data with the names pages use."""
    import sightline

    real = sightline.generate

    def few(world: str, *given: Any, scenes: int = 2, **how: Any) -> Any:
        return real(world, *(given or [tmp_path / "generated"]), scenes=min(scenes, 4), **{"size": (96, 64), **how})

    shutil.copytree(examples, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(vars(sightline), "generate", few)
    namespace: dict[str, Any] = {"__name__": "__docs__"}
    for block in plain_blocks(page):
        exec(compile(block, f"{page.name} (a block of Python)", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=RELATIVE)
def test_settings_can_be_read(page: Path) -> None:
    """YAML and TOML that pages show are YAML and TOML."""
    for block in blocks(page, "yaml"):
        assert isinstance(yaml.safe_load(block), dict)
    for block in blocks(page, "toml"):
        assert tomllib.loads(block)


def test_what_is_not_run_says_why() -> None:
    """Few blocks, and each with a reason; every block of Python is run or is one of them."""
    reasons = [reason for page in PAGES for reason in UNRUN.findall(page.read_text(encoding="utf-8"))]
    assert 0 < len(reasons) < 10
    shown = sum(len(blocks(page, "python")) for page in PAGES)
    prompts = sum(">>>" in block for page in PAGES for block in blocks(page, "python"))
    assert shown == prompts + len(reasons) + sum(len(plain_blocks(page)) for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=RELATIVE)
def test_shown_commands_exist(page: Path) -> None:
    known = options_by_command()
    for name, *words in commands(page):
        if name.startswith("-"):
            continue
        if words and f"{name} {words[0]}" in known:
            name = f"{name} {words.pop(0)}"
        assert name in known, f"{page.name} shows `sightline {name}`, which does not exist"
        shown = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert shown <= known[name], (
            f"{page.name}: `sightline {name}` has no {', '.join(sorted(shown - known[name]))}"
        )


def test_there_are_examples_and_commands_to_check() -> None:
    """The two tests above would pass on empty hands."""
    assert sum(block.count(">>>") for page in PAGES for block in blocks(page, "python")) > 10
    assert len([c for page in PAGES for c in commands(page)]) > 8


def test_the_layout_names_every_package_in_the_order_of_the_imports() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = page.partition("\n## Layout\n")[2].partition("\n## ")[0].splitlines()
    named = [name for row in rows if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    there = [path.stem for path in (ROOT / "src" / "sightline").iterdir() if not path.name.startswith(("_", "py."))]
    assert sorted(named) == sorted(there)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    order = [layer.split(" ")[0].removeprefix("sightline.") for layer in reversed(layers)]
    assert [name for name in named if name in order] == order


def test_command_reference_is_current() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "cli_reference.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), "run python docs/cli_reference.py"
