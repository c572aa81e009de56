"""Progress bars on standard error, in a terminal or a notebook; where it is neither, nothing is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sightline.text import printable

Update = Callable[[int, int | None], None]
"""Called with (done, total); total is None where nobody knows it."""


@contextmanager
def progress_bar(title: str, console: Console | None = None) -> Iterator[Update | None]:
    """Show a bar while the context lasts; yields ``update(done, total)``, None where nothing is shown.

    Args:
        title: What stands before the bar.
        console: Where it is drawn; standard error if not given.
    """
    shown = Console(stderr=True) if console is None else console
    if not (shown.is_terminal or shown.is_jupyter):
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task(printable(title), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
