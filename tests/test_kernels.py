"""Compiling: the cache on disk, a folder nobody may write to, two processes for a first picture."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from numba.core import caching
from numba.core.event import Listener, install_listener

from sightline.kernels import compiler, is_kept
from sightline.render.fast import renderer, shade
from sightline.worlds import arrange, load_world


def double(x: int) -> int:
    return 2 * x


@pytest.mark.long
def test_what_is_compiled_is_kept_as_long_as_the_stamp_is_the_same(tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_kernels as t; t.told()"
    for stamp, kept in (("a", "False"), ("a", "True"), ("b", "False")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path), "STAMP": stamp},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == [kept, "8", "True"]


def told() -> None:
    """Of a process of its own: whether the function was there, what it gives, whether it is there now."""
    import os

    compiled = compiler(os.environ["STAMP"])(double)
    print(is_kept(compiled), compiled(4), is_kept(compiled))


def test_without_a_folder_to_keep_it_in_a_function_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    compiled = compiler("stamp")(double)
    assert compiled(4) == 8
    assert not is_kept(compiled)


@pytest.mark.parametrize("on", [True, False])
def test_garbage_is_collected_again_after_compiling(on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    seen: list[bool] = []

    class Looks(Listener):
        def on_start(self, event: object) -> None:
            seen.append(gc.isenabled())

        def on_end(self, event: object) -> None:
            pass

    (gc.enable if on else gc.disable)()
    try:
        compiled = compiler("stamp")(lambda x: x + 1)
        with install_listener("numba:run_pass", Looks()):
            assert compiled(1) == 2
        assert seen
        assert not any(seen)
        assert gc.isenabled() is on
    finally:
        gc.enable()


def test_what_the_other_process_compiles_is_what_a_picture_needs() -> None:
    """One version of each kernel for both: else the first picture would compile them once more."""
    layout = arrange(load_world("geospa/train"), 0, 0)
    renderer.FastRenderer().frame(layout, layout.shots[0])
    renderer.compile_shading()
    names = ("_light_table", "_light", "_gloss", "_compose", "_smooth_edges", "_encode")
    assert {name: len(getattr(shade, name).signatures) for name in names} == dict.fromkeys(names, 1)
    assert shade.is_compiled()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes started beside this one, where nothing seems compiled and there are two cores."""
    processes: list[subprocess.Popen[bytes]] = []
    start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen

    def note(*how: object, **more: object) -> subprocess.Popen[bytes]:
        processes.append(start(*how, **more))
        return processes[-1]

    monkeypatch.setattr(renderer.subprocess, "Popen", note)
    monkeypatch.setattr(renderer, "is_compiled", lambda: False)
    monkeypatch.setattr(renderer.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    return processes


def test_the_other_process_works_and_is_waited_for(started: list[subprocess.Popen[bytes]]) -> None:
    with renderer.shading_compiled_beside():
        assert len(started) == 1
    assert started[0].returncode == 0


def test_an_interruption_ends_the_other_process(started: list[subprocess.Popen[bytes]]) -> None:
    with pytest.raises(KeyboardInterrupt), renderer.shading_compiled_beside():
        raise KeyboardInterrupt
    assert started[0].returncode is not None


def test_no_other_process_where_all_is_compiled_or_there_is_one_core(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renderer.os, "sched_getaffinity", lambda _: {0}, raising=False)
    with renderer.shading_compiled_beside():
        pass
    monkeypatch.setattr(renderer.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(renderer, "is_compiled", lambda: True)
    with renderer.shading_compiled_beside():
        pass
    assert started == []
