"""Writes the second half of reference/cli.md: every argument and option of every command, as the program has them.

Run it after changing a command; tests/test_docs.py checks that the page is current.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from sightline.cli import app

PAGE = Path(__file__).parent / "reference" / "cli.md"
MARK = "<!-- from here on written by docs/cli_reference.py -->\n"


def page() -> str:
    """The whole page: what stands above the mark, then the commands."""
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    group: Any = typer.main.get_command(app)
    sections = ("\n".join(section(name, command)) for name, command in commands(group))
    return head + MARK + "\n" + "\n\n".join(sections) + "\n"


def commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its words, as in ``turing ask``, in the order of the program's own help."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)  # those of `exam` are made when they are asked for
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def section(name: str, command: Any) -> Iterator[str]:
    """Heading, usage, what the command does, and a table of what it takes."""
    hints = get_type_hints(command.callback, include_extras=True)
    taken = [p for p in command.params if p.name in hints]
    places = [p.metavar or p.name.upper() for p in taken if not p.opts[0].startswith("-")]
    yield f"## {name}\n"
    yield f"{command.help.strip()}\n"
    yield f"```text\n{' '.join(['sightline', name, *places, '[OPTIONS]'])}\n```\n"
    yield "| | takes | by default | |\n|---|---|---|---|"
    for p in taken:
        kind, info = get_args(hints[p.name])
        names = [*p.opts, *p.secondary_opts] if p.opts[0].startswith("-") else [p.metavar or p.name.upper()]
        shown = " ".join(f"`{n}`" for n in names)
        yield f"| {shown} | {values(kind, info.min)} | {default(p)} | {info.help} |"


def values(kind: Any, least: float | None) -> str:
    """What may stand after an option, in words."""
    inner = [arm for arm in get_args(kind) if arm is not type(None)]
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in inner)
    if get_origin(kind) is list:
        return f"{values(inner[0], least)}, several"
    if inner:
        return values(inner[0], least)
    words = {Path: "path", int: "whole number", float: "number", str: "text", bool: ""}[kind]
    return words if least is None else f"{words} ≥\u00a0{least:g}"


def default(p: Any) -> str:
    """What holds where nothing is given."""
    if p.required:
        return "*required*"
    if p.default in (None, "") or p.default is False:
        return ""
    return "on" if p.default is True else f"`{p.default}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
