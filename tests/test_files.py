"""Locks and identities; whole writes are tested where the store uses them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from sightline.errors import ConfigError
from sightline.files import MISSING, differences, open_locked


def test_a_second_process_is_refused_or_waits(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from sightline.errors import ConfigError
        from sightline.files import open_locked
        try:
            open_locked(Path(sys.argv[1]), busy="taken")
        except ConfigError as error:
            print(error, flush=True)
        open_locked(Path(sys.argv[1]), busy=None)
        print("mine", flush=True)
        """
    )
    descriptor = open_locked(tmp_path, busy="taken")
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as second:
        assert second.stdout is not None
        assert second.stdout.readline() == "taken\n"
        assert second.poll() is None  # it waits
        os.close(descriptor)
        assert second.stdout.readline() == "mine\n"


def test_within_one_process_too(tmp_path: Path) -> None:
    descriptor = open_locked(tmp_path, busy="taken")
    with pytest.raises(ConfigError, match="taken"):
        open_locked(tmp_path, busy="taken")
    os.close(descriptor)
    os.close(open_locked(tmp_path, busy="taken"))


@pytest.mark.parametrize(
    ("first", "second", "depth", "expected"),
    [
        ({"a": 1}, {"a": 1}, 1, []),
        ({"a": 1, "b": 2}, {"b": 3, "a": 4}, 1, [("a", 1, 4), ("b", 2, 3)]),  # order of the first
        ({"a": None}, {}, 1, [("a", None, MISSING)]),  # unset is not None
        ({}, {"a": 1}, 1, [("a", MISSING, 1)]),
        ({"s": {"x": 1}}, {"s": {"x": 2}}, 1, [("s", {"x": 1}, {"x": 2})]),  # no deeper than asked
        ({"s": {"x": 1, "y": 0}}, {"s": {"x": 2, "y": 0}}, 2, [("s.x", 1, 2)]),
        ({"s": {"x": 1}}, {"s": 5}, 2, [("s", {"x": 1}, 5)]),  # a mapping became a number
    ],
)
def test_differences(first: dict[str, Any], second: dict[str, Any], depth: int, expected: list[Any]) -> None:
    assert list(differences(first, second, depth=depth)) == expected
