"""How the kernels are compiled. One place, since one word more or less costs a factor of two."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def _stamp() -> str:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


STAMP = _stamp()
"""Digest of all files here. Numba keeps compiled code as long as a function's own file is the same, though it holds
what was called from other files too; so everything is compiled anew when any of them changes."""


def _jit(function: F, **options: Any) -> F:
    compiled: Any = njit(cache=True, error_model="numpy", **options)(function)
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:  # None where compiling is switched off
        kept._source_stamp = STAMP
    return compiled  # type: ignore[no-any-return]


def kernel(function: F) -> F:
    """Compile for the CPU, with a cache on disk.

    Floating point is strict, for the same pixels on any machine; divisions do not raise.
    """
    return _jit(function)


def device(function: F) -> F:
    """Compile a function that makes no arrays; CUDA kernels may call it too.

    Arrays are not counted while it runs: a counter is an atomic operation, and there would be several a ray.
    """
    return _jit(function, _nrt=False)


def small(function: F) -> F:
    """A `device` function that is put into its callers, because a call would cost more than its work."""
    return _jit(function, _nrt=False, forceinline=True)
