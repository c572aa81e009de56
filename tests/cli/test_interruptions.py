"""Ctrl-C: every long command says what was kept and how to go on, in one sentence, and ends with 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

HELD = """
import importlib, sys, time
from pathlib import Path
where, name = sys.argv[1].split(":")
module, ready = importlib.import_module(where), Path(sys.argv[2])
real = getattr(module, name)
def hold(*given, **named):
    if ready.exists():  # what is called on the way out
        return real(*given, **named)
    ready.touch()
    time.sleep(100)
setattr(module, name, hold)
sys.argv = ["sightline", *sys.argv[3:]]
from sightline.__main__ import main
main()
"""
"""Runs a command that comes to a stop where a function is first called."""

WRITE = "sightline.files:atomic_write"
UNWRITTEN = "nothing of it was written, what stood there before is as it was; the same command starts anew"

SLOW = """
import time
from pathlib import Path
import numpy as np
from sightline import Judgements
class Slow:
    asked = 0
    def relate(self, pairs):
        self.asked += 1
        if self.asked > 2:
            Path(__file__).with_name("ready").touch()
            time.sleep(100)
        return Judgements(np.ones(len(pairs), np.int8), np.zeros(len(pairs), np.int8))
"""

COMMANDS = {
    "generate": ("generate geospa/train --scenes 1 --size 48x32 --out {to}", WRITE, "no scene was finished"),
    "import": ("import {labels} --out {to}", WRITE, UNWRITTEN),
    "export": ("export coco {scenes} --out {to}", WRITE, UNWRITTEN),
    "look": ("look {scenes} --out {to}.png --scenes 1", WRITE, UNWRITTEN),
    "stats": ("stats {labels} --json", "sightline.plain:plain", "nothing was changed"),
    "exam": (
        "exam relations --data {labels} --model size --no-baselines --out {to}",
        WRITE,
        "nothing was answered yet",
    ),
    "report": ("report {runs} --out {to}.html", WRITE, UNWRITTEN),
    "turing": (
        "turing write {scenes} --halves --min-support 2 --questions 2 --out {to}",
        "sightline.exams.turing.exam:write_exam",
        UNWRITTEN,
    ),
    "blender": (
        "blender install --folder {to}",
        "sightline.render.blender.environment:_make",
        "nothing was installed; the same command starts anew",
    ),
    "workers": (
        "exam relations --data {labels} --model {to}/slow.py:Slow --no-baselines --workers 1 --out {to}/runs",
        "",
        "2 answered items kept in {to}/runs/relations; the same command goes on where it was",
    ),
    "all": (
        "exam all --data {labels} --model {to}/slow.py:Slow --no-baselines --out {to}/runs",
        "",
        "2 answered items kept",
    ),
}


@pytest.fixture(scope="module")
def stopped(
    generated: Path, simulated: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, tuple[int, str, Path]]]:
    """Every command, started at once, interrupted as by a terminal, the whole group: exit code, stderr, folder."""
    import sightline as sl

    home = tmp_path_factory.mktemp("stopped")
    sl.examine("size", simulated, "relations", out=home / "runs", baselines=False, limit=2)
    begun: dict[str, subprocess.Popen[str]] = {}
    for name, (words, held, _) in COMMANDS.items():
        to = home / name
        ready = home / f"{name}.ready"
        if not held:
            to.mkdir()
            (to / "slow.py").write_text(SLOW)
            ready = to / "ready"
        given = [
            word.format(to=to, labels=simulated, scenes=generated, runs=home / "runs") for word in words.split()
        ]
        start = [sys.executable, "-c", HELD, held, str(ready)] if held else [sys.executable, "-m", "sightline"]
        begun[name] = subprocess.Popen(
            [*start, *given], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        begun[name].ready = ready  # type: ignore[attr-defined]
    made = {}
    try:
        for name, process in begun.items():
            last = time.monotonic() + 60
            while not process.ready.exists() and process.poll() is None and time.monotonic() < last:  # type: ignore[attr-defined]
                time.sleep(0.01)
            with suppress(ProcessLookupError):  # the test will show what it said
                os.killpg(process.pid, signal.SIGINT)
            made[name] = (process.wait(timeout=60), process.stderr.read() if process.stderr else "", home / name)
        yield made
    finally:
        for process in begun.values():
            process.kill()
            process.communicate()


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_says_what_was_kept(stopped: dict[str, tuple[int, str, Path]], name: str) -> None:
    code, err, to = stopped[name]
    assert code == 130, err
    said = [line for line in err.splitlines() if line.startswith("interrupted")]
    assert len(said) == 1, err
    assert said[0].startswith("interrupted: ")
    assert COMMANDS[name][2].format(to=to) in said[0]
    assert "Traceback" not in err
    if COMMANDS[name][2] == UNWRITTEN:
        assert not [path for path in to.parent.glob(f"*{name}*") if path.suffix != ".ready"]


def test_ctrl_c_while_it_starts() -> None:
    code = (
        "import builtins, os, signal, sys\nreal = builtins.__import__\n"
        "def slow(name, *rest):\n"
        "    if name == 'sightline.cli': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "import sightline.__main__\nbuiltins.__import__ = slow\nsightline.__main__.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted: nothing was begun\n")
