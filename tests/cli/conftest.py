"""Run the command line in this process and see what a user would."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import typer.main

# Making the commands takes 60 ms, more than most of them do here; they hold nothing between calls.
typer.main.get_command = cache(typer.main.get_command)


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def words(self) -> str:
        """What was written to standard error on one line, without the box around it."""
        return " ".join(self.err.replace("│", " ").split())


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """``cli("stats", folder, "--json")`` → exit code and both streams."""

    def call(*words: object) -> Outcome:
        from sightline.cli import main

        monkeypatch.setattr(sys, "argv", ["sightline", *map(str, words)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        streams = capsys.readouterr()
        return Outcome(code, streams.out, streams.err)

    return call
