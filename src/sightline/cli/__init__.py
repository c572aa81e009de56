"""The command line: one module per command.

Errors a user can cause are printed without a traceback and end with exit code 2.
"""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from sightline.cli.console import err
from sightline.errors import SightlineError

COMMANDS = ("import", "export", "check", "stats", "audit", "models", "exam", "score", "compare", "report", "demo")
"""In the order a user meets them; each lives in the module ``cli/<name>_command.py``."""

app = typer.Typer(
    name="sightline",
    help="Exams for vision models: what does a model understand of a scene, and what does it guess?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

for _name in COMMANDS:
    _module = import_module(f"sightline.cli.{_name}_command")
    app.command(_name)(_module.command)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"sightline {installed('sightline')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Entry point of ``sightline`` and ``python -m sightline``."""
    try:
        app()
    except SightlineError as error:
        err.print(f"[bold red]error:[/] {_escape(str(error))}")
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
