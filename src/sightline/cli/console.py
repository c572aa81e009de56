"""What the commands share: where text goes, JSON, progress, option types."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from sightline.files import OUTSIDE
from sightline.text import counted as counted
from sightline.text import file_name as file_name
from sightline.text import printable

_WIDE = None if sys.stdout.isatty() else 200  # a pipe has no width of its own: keep rows on one line


class _PlainConsole(Console):
    """Prints texts that come from anywhere: nothing in them steers the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Lay out what is to be printed; control sequences of texts are spelled out, those of rich itself stay."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


# What is printed holds file, class and model names: nothing in it is markup or an emoji.
out = _PlainConsole(highlight=False, soft_wrap=True, width=_WIDE, markup=False, emoji=False)
err = _PlainConsole(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document to standard output, nothing else.")]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Follow links and paths that lead out of the data's folder.")
]
ProtocolName = Annotated[
    Literal["default", "paper", "official"],
    typer.Option(
        "--protocol",
        help="How answers are counted: by our protocol, as the paper's tables fit, or as its evaluator does.",
    ),
]
DataPath = Annotated[Path, typer.Argument(help="A Sightline dataset, or a folder or file of a known format.")]


@contextmanager
def outside_allowed(allowed: bool) -> Iterator[None]:
    """Let datasets that are opened meanwhile, by worker processes too, point outside their folders."""
    before = os.environ.get(OUTSIDE)
    if allowed:
        os.environ[OUTSIDE] = "1"
    try:
        yield
    finally:
        if allowed and before is None:
            del os.environ[OUTSIDE]


def print_json(value: Any) -> None:
    """One JSON document on standard output, in ASCII whatever the terminal speaks; NaN becomes null."""
    from sightline.plain import plain  # here, since it needs NumPy, which help does not

    sys.stdout.write(json.dumps(plain(value), indent=2) + "\n")


@contextmanager
def quiet_stdout(*, active: bool) -> Iterator[None]:
    """Send what a model or its libraries print to standard error, so that standard output stays one document."""
    if not active:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)  # also for code that is not Python, and for worker processes
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def interruptible(kept: Callable[[], str]) -> Iterator[None]:
    """Around long work: on Ctrl-C say what was kept and how to go on.

    Args:
        kept: Makes the end of the sentence; called only then.
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        if not stop.args:  # else it was said further inside
            sentence = kept()
            err.print(f"interrupted: {sentence}")
            raise KeyboardInterrupt(sentence) from None
        raise


def table(title: str, *columns: str) -> Table:
    """A plain table: first column left, the others right."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right")
    return made


def number(value: float | None, digits: int = 3) -> str:
    """A figure for a table; a dash where there is none.

    >>> number(0.85712), number(float("nan"))
    ('0.857', '–')
    """
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def cell(score: Mapping[str, Any] | None) -> str:
    """A score with its interval for a table; a dash where there is none.

    >>> cell({"value": 0.8571, "low": 0.85, "high": 0.864}), cell({"value": None})
    ('0.857 [0.850, 0.864]', '–')
    """
    if not score or score["value"] is None:
        return "–"
    limits = "" if score["low"] is None else f" [{number(score['low'])}, {number(score['high'])}]"
    return number(score["value"]) + limits


@contextmanager
def progress(title: str, *, quiet: bool) -> Iterator[Any]:
    """A progress bar on standard error; yields ``update(done, total)``, None where nothing is shown."""
    if quiet:
        yield None
        return
    from sightline.show.progress import progress_bar

    with progress_bar(title, err) as update:
        yield update


def words_of(given: list[str] | None) -> list[str]:
    """The words of an option that may be repeated, or hold several with commas between."""
    return [word.strip() for text in given or [] for word in text.split(",") if word.strip()]
