"""Run `sightline look` in this process, for the tests of contact sheets."""

from __future__ import annotations

import typer
from click.testing import Result
from typer.testing import CliRunner


def look(*words: object) -> Result:
    """Run the command with those words; what it raised is in the result."""
    from sightline.cli.look_command import command

    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(map(str, words)))
