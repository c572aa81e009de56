"""Compile functions with numba, with a cache on disk that is stale as soon as any of their files changes.

Numba keeps compiled code as long as a function's own file is the same, though the code holds what was called from
other files too. So kernels that call each other are compiled with one `stamp` over all their files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

__all__ = ["compiler", "keep", "stamp"]

F = TypeVar("F", bound=Callable[..., Any])


def stamp(files: Iterable[Path]) -> str:
    """The digest of files, in the order given, and of this one, which says how they are compiled."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in (*files, Path(__file__)))).hexdigest()


def keep(compiled: Any, stamp: str) -> Any:
    """Let numba's cache of a compiled function, for CPU or CUDA, go with a stamp; returns the function."""
    cache = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if cache is not None:  # None where compiling is switched off
        cache._source_stamp = stamp
    return compiled


def compiler(stamp: str, **options: Any) -> Callable[[F], F]:
    """A decorator that compiles for the CPU with a cache on disk; `options` are `numba.njit`'s.

    Floating point is strict, for the same results on any machine; divisions do not raise.
    """

    def compile_one(function: F) -> F:
        compiled: F = keep(njit(cache=True, error_model="numpy", **options)(function), stamp)
        return compiled

    return compile_one
