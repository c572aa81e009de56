"""One Blender process for one job: started, listened to, and cleared away whatever happens."""

from __future__ import annotations

import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, SightlineError
from sightline.render.blender import jobs, worker
from sightline.render.blender.environment import environment, python_of, status, tail
from sightline.worlds.layout import Layout, Shot
from sightline.worlds.shapes import solid as built_in
from sightline.worlds.solids import Solid

Arrays = dict[str, NDArray[Any]]

LAST_LINES = 12


class RenderError(SightlineError):
    """Blender died, hung or never started; carries the last it said."""


def render(
    work: Sequence[tuple[Layout, Sequence[Shot]]],
    settings: jobs.BlenderSettings,
    *,
    folder: Path | None = None,
    timeout: float = 3600.0,
    solid: Callable[[str], Solid] = built_in,
) -> Iterator[Arrays]:
    """The arrays of every view of a job, each as soon as Blender has it.

    Args:
        work: Layouts with the shots to take of each.
        settings: How to render.
        folder: Blender's environment; by default as `environment` says.
        timeout: Seconds a single view may take.
        solid: Knows the shapes that layouts name.

    Raises:
        ConfigError: The environment is not there.
        RenderError: The process died, or a view took too long.
    """
    place = environment(folder)
    if not python_of(place).exists():
        raise ConfigError(status(place).problem or "")
    scratch = Path(tempfile.mkdtemp(prefix="sightline-blender-"))
    try:
        views = jobs.write(scratch, work, settings, solid)
        yield from _listen(place, scratch, views, timeout)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _listen(place: Path, scratch: Path, views: int, timeout: float) -> Iterator[Arrays]:
    command = [str(python_of(place)), "-I", worker.__file__, str(scratch)]
    process = subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True)
    reader.start()
    said: deque[str] = deque(maxlen=LAST_LINES)

    def await_line(wanted: str) -> None:
        """Read lines until the wanted one; keep the others for the message of a failure."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = lines.get(timeout=max(deadline - time.monotonic(), 0.0))
            except queue.Empty:
                raise RenderError(f"Blender took more than {timeout:g} s for one view and was stopped") from None
            if line is None:
                raise RenderError(f"{_end(process.wait())}: {_reason(place, said)}")
            if line == wanted:
                return
            said.append(line)

    try:
        for number in range(views):
            await_line(f"view {number}\n")
            path = scratch / f"{number}.npz"
            with np.load(path) as arrays:
                view = {name: arrays[name] for name in arrays.files}
            path.unlink()
            yield view
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()


def _pump(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _reason(place: Path, said: deque[str]) -> str:
    """A missing library is told as such; anything else in Blender's own last words."""
    return status(place).problem or tail("".join(said), LAST_LINES)


def _end(code: int) -> str:
    if code >= 0:
        return f"Blender stopped with exit code {code}"
    kind = signal.Signals(-code).name
    return f"Blender was ended by {kind}" + (" (out of memory?)" if kind == "SIGKILL" else "")
