"""Shared fixtures, and the two ways to run property tests.

`make test` draws the same examples every time, so a change that breaks nothing never turns it red. `make fuzz`
draws new ones: profile ``fuzz``, a seed that it prints, in an order that follows from the seed, and no test is
begun after ``--fuzz-seconds``.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]

# There is a process a core already. With a thread a core in each, networks of a few weights and small matrices
# mostly wait for each other; torch and NumPy read this when they are first imported.
os.environ["OMP_NUM_THREADS"] = "1"

# A deadline would make a slow machine a wrong one; what was found is kept as an @example, not in a database.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("fuzz", derandomize=False, database=None, deadline=None, print_blob=True)
settings.load_profile("fixed")

_BEGUN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The time of a fuzz run."""
    parser.addoption(
        "--fuzz-seconds", type=float, help="begin no test after this time, and shuffle them by the seed"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the tests of a bounded run, so that each leaves out others; all workers have the same seed."""
    if config.getoption("--fuzz-seconds") is not None:
        random.Random(str(config.getoption("--hypothesis-seed"))).shuffle(items)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile what most tests need once, before there are several processes that would each do it for a minute."""
    if session.config.getoption("numprocesses", None) and not hasattr(session.config, "workerinput"):
        note = _compiled_note()
        if note.exists():
            return
        with TemporaryDirectory() as folder:
            for words in (
                "generate geospa/train --scenes 8 --size 48x32 --out d",
                "turing write d --halves --questions 2 --min-support 1 --out t",
            ):
                command = [sys.executable, "-m", "sightline", *words.split()]
                subprocess.run(command, cwd=folder, capture_output=True, check=False)
        with suppress(OSError):
            note.parent.mkdir(exist_ok=True)
            note.touch()


def _compiled_note() -> Path:
    """The file, beside numba's own, that says that the code as it is now has been compiled by this Python."""
    source = REPOSITORY / "src" / "sightline"
    digest = hashlib.sha256(f"{sys.version} {os.environ.get('NUMBA_CACHE_DIR')}".encode())
    for file in sorted(source.rglob("*.py")):
        digest.update(file.read_bytes())
    return source / "__pycache__" / f"compiled-for-tests-{digest.hexdigest()[:16]}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin nothing after the time of a bounded run."""
    limit = item.config.getoption("--fuzz-seconds")
    if limit is not None and time.monotonic() - _BEGUN > limit:
        pytest.skip("the time of this run is over")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of its own for every run: edits and datasets that another version left would be found again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGHTLINE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data: SIGHTLINE_DATA, else ../shared/data beside the checkout; skips where absent."""
    folder = Path(os.environ.get("SIGHTLINE_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real data is not here (set SIGHTLINE_DATA)")
    return folder


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small simulated 2.5VRD-like label set, as CSV files."""
    from sightline.exams.relations import simulate

    folder = tmp_path_factory.mktemp("simulated")
    simulate(folder, images=40, seed=3)
    return folder


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six small GeoSpa scenes from two cameras, with two canonical views of every object."""
    from sightline.generation import generate

    folder = tmp_path_factory.mktemp("generated") / "d"
    generate("geospa/train", folder, scenes=6, views=["original", "top"], seed=5, size=(96, 64), canonical=2)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once; a test opens pages of its own and closes them."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium on the path")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()
