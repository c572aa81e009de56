"""The command line: one module per command.

Errors a user can cause are printed without a traceback and end with exit code 2.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from sightline import __version__
from sightline.cli.console import err, interruptible
from sightline.errors import SightlineError

COMMANDS = (
    "generate",
    "look",
    "import",
    "export",
    "select",
    "remove",
    "check",
    "stats",
    "audit",
    "models",
    "prompts",
    "exam",
    "score",
    "compare",
    "plan",
    "report",
    "track",
    "board",
    "turing",
    "train",
    "blender",
    "demo",
)
"""In the order a user meets them; each lives in the module ``cli/<name>_command.py``."""

_UNWRITTEN = "nothing of it was written, what stood there before is as it was; the same command starts anew"
_KEPT = {
    **dict.fromkeys(("import", "export", "select", "look", "remove", "report", "turing"), _UNWRITTEN),
    "blender": "nothing was installed; the same command starts anew",
    "demo": "what was finished is kept; the same command goes on from there",
}
"""Command → what is kept of it on Ctrl-C, where it does not say so itself; the others change nothing."""


_LONGEST_ERROR = 1000
"""Characters of an error that are printed: a value in it may be a whole spoilt file."""


def _module_of(command: str) -> Any:
    return import_module(f"sightline.cli.{command}_command")


class _Listing(TyperCommand):
    """A command whose help ends with what there is to choose from: its module's `listing`, made when asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.epilog = _module_of(str(self.name)).listing()
        super().format_help(ctx, formatter)


class _InOrder(TyperGroup):
    """Lists commands and groups of commands as a user meets them."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is click's
        return [*COMMANDS]

    def invoke(self, ctx: Any) -> Any:
        with interruptible(lambda: _KEPT.get(ctx.invoked_subcommand or "", "nothing was changed")):
            return super().invoke(ctx)


app = typer.Typer(
    name="sightline",
    cls=_InOrder,
    help="Exams for vision models: what does a model understand of a scene, and what does it guess?",
    epilog="`sightline generate -h` lists worlds, `sightline exam -h` exams, `sightline models` models.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

for _name in COMMANDS:
    _module = _module_of(_name)
    if hasattr(_module, "app"):
        app.add_typer(_module.app, name=_name)
    else:
        app.command(_name, cls=_Listing if hasattr(_module, "listing") else None)(_module.command)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and exit.")
) -> None:
    if version:
        typer.echo(f"sightline {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Entry point of ``sightline`` and ``python -m sightline``."""
    _leave_ascii()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without κ, a file name that is no text
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="sightline")
    except SightlineError as error:
        _fail(str(error))
    except KeyboardInterrupt:  # while the command was being read
        err.print("interrupted: nothing was begun")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except MemoryError as error:
        _fail(f"not enough memory: {error}" if str(error) else "not enough memory")
    except RecursionError:
        _fail("something is nested too deeply to be worked on")
    except OSError as error:  # a full disk, a folder nobody may write to, a file where a folder should be
        _fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except BaseException as error:  # polars' own, and its panic, which is no Exception
        if type(error).__module__.partition(".")[0] not in ("polars", "pyo3_runtime"):
            raise
        _fail(f"a table cannot be read: {str(error).partition(chr(10))[0]}")


def _leave_ascii() -> None:
    """Start over in Python's UTF-8 mode where the locale knows ASCII only, so that all file names can be opened."""
    if os.name == "posix" and sys.getfilesystemencoding() == "ascii":
        os.environ["PYTHONUTF8"] = "1"  # for processes of this one too
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def _fail(problem: str) -> NoReturn:
    err.print("error: ", style="bold red", end="")
    err.print(problem if len(problem) <= _LONGEST_ERROR else f"{problem[:_LONGEST_ERROR]}…")
    sys.exit(2)
