"""Edits kept by content: found again, bounded, and safe where several processes write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.edits import FillRequest, remove
from sightline.edits.cache import EditCache


class Noise:
    """Fills with noise that its seed decides; counts how often it is asked."""

    name = "noise"

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.identity, self.asked = seed, f"noise {seed}", 0

    def fill(self, request: FillRequest) -> Any:
        self.asked += 1
        return np.random.default_rng(self.seed).integers(0, 256, request.pixels.shape, dtype=np.uint8)


def requested(value: int = 0) -> FillRequest:
    pixels = np.random.default_rng(9).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    pixels[0, 0] = value
    hole = np.zeros((30, 40), bool)
    hole[5:15, 8:20] = np.eye(10, 12, dtype=bool) | np.eye(10, 12, 3, dtype=bool)
    return FillRequest(pixels, hole)


def test_an_edit_is_found_again_by_content(tmp_path: Path) -> None:
    fill, request = Noise(), requested()
    made = EditCache(tmp_path).remove(request, fill)
    again = EditCache(tmp_path)
    assert (again.remove(requested(), fill) == made).all()
    assert (fill.asked, again.hits, again.misses) == (1, 1, 0)
    assert (made == remove(request, Noise())).all()


@pytest.mark.parametrize("change", ["pixels", "hole", "fill"])
def test_other_content_is_another_edit(tmp_path: Path, change: str) -> None:
    cache, request = EditCache(tmp_path), requested()
    cache.remove(request, Noise())
    other = {
        "pixels": lambda: requested(1),
        "hole": lambda: FillRequest(request.pixels, request.hole ^ np.eye(30, 40, dtype=bool)),
        "fill": requested,
    }[change]()
    fill = Noise(1 if change == "fill" else 0)
    assert (cache.remove(other, fill) == remove(other, fill)).all()
    assert cache.misses == 2


def test_a_fill_without_identity_is_asked_every_time(tmp_path: Path) -> None:
    fill = Noise()
    fill.identity = ""
    for _ in range(2):
        EditCache(tmp_path).remove(requested(), fill)
    assert fill.asked == 2
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("data", [b"", b"no picture", None])
def test_a_spoilt_file_is_made_anew(tmp_path: Path, data: bytes | None) -> None:
    cache, fill = EditCache(tmp_path), Noise()
    made = cache.remove(requested(), fill)
    file = cache.path(requested(), fill.identity)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if data is None else data)
    assert (cache.remove(requested(), fill) == made).all()
    assert file.read_bytes() == whole


def test_what_was_used_longest_ago_goes(tmp_path: Path) -> None:
    big, fill = EditCache(tmp_path), Noise()
    for value in range(6):
        big.remove(requested(value), fill)
        os.utime(big.path(requested(value), fill.identity), (value, value))
    big.remove(requested(0), fill)  # used again, so now the newest
    sizes = [path.stat().st_size for path in tmp_path.glob("??/*")]
    small = EditCache(tmp_path, limit=sum(sizes) - 1)
    small.remove(requested(6), fill)
    there = [value for value in range(7) if small.path(requested(value), fill.identity).exists()]
    assert 0 in there
    assert 6 in there
    assert 1 not in there
    assert sum(path.stat().st_size for path in tmp_path.glob("??/*")) <= small.limit


def test_a_folder_nobody_can_write_to_costs_no_edit(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = EditCache(tmp_path / "file" / "edits")
    assert (cache.remove(requested(), Noise()) == remove(requested(), Noise())).all()


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_edit_cache import Noise, requested
from sightline.edits import remove
from sightline.edits.cache import EditCache
for turn in range(3):
    cache = EditCache(Path(sys.argv[1]), limit=30_000)
    for value in range(40):
        edited = cache.remove(requested(value), Noise())
        assert (edited == remove(requested(value), Noise())).all()
"""


def test_two_processes_may_share_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(Path(__file__).parent)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        assert process.wait() == 0, process.stderr and process.stderr.read()
        assert process.stderr is not None
        process.stderr.close()
    assert not [*tmp_path.glob("??/.*")], "no temporary file is left"
