"""Compile functions with numba, with a cache on disk that is stale as soon as any of their files changes.

Numba keeps compiled code as long as a function's own file is the same, though the code holds what was called from
other files too. So kernels that call each other are compiled with one `stamp` over all their files.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.event import Listener, register

__all__ = ["compiler", "is_kept", "keep", "stamp"]

F = TypeVar("F", bound=Callable[..., Any])


def stamp(files: Iterable[Path]) -> str:
    """The digest of files, in the order given, and of this one, which says how they are compiled."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in (*files, Path(__file__)))).hexdigest()


def keep(compiled: Any, stamp: str) -> Any:
    """Let numba's cache of a compiled function, for CPU or CUDA, go with a stamp; returns the function."""
    if (cache := _cache_of(compiled)) is not None:
        cache._source_stamp = stamp
    return compiled


def is_kept(compiled: Any) -> bool:
    """Whether compiled code of a function, as its files are now, lies in the cache on disk."""
    cache = _cache_of(compiled)
    return cache is not None and bool(cache._load_index())


def _cache_of(compiled: Any) -> Any:
    """Numba's files of a function; None where compiling is switched off or no folder can be written to."""
    return getattr(getattr(compiled, "_cache", None), "_cache_file", None)


def compiler(stamp: str, **options: Any) -> Callable[[F], F]:
    """A decorator that compiles for the CPU with a cache on disk; `options` are `numba.njit`'s.

    Floating point is strict, for the same results on any machine; divisions do not raise. The cache lies
    in ``NUMBA_CACHE_DIR``, else beside the code, else in the user's cache folder; where none can be written to,
    every process compiles for itself.
    """
    options = {"error_model": "numpy"} | options

    def compile_one(function: F) -> F:
        compiled: Any
        try:
            compiled = keep(njit(cache=True, **options)(function), stamp)
        except RuntimeError:  # no folder to keep it in
            compiled = njit(**options)(function)
        return cast(F, compiled)

    return compile_one


class _NoCollection(Listener):
    """Leaves Python's garbage to be collected after compiling: to look for it costs a sixth of the time."""

    def __init__(self) -> None:
        self._depth, self._was_on = 0, False

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


register("numba:compile", _NoCollection())  # type: ignore[no-untyped-call]
