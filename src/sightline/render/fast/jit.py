"""How the kernels are compiled. One place, since one word more or less costs a factor of two."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sightline.kernels import compiler, stamp

STAMP: Final = stamp(sorted(Path(__file__).parent.glob("*.py")))
"""Digest of all files here: everything is compiled anew when any of them changes."""

kernel = compiler(STAMP)
"""Compile for the CPU."""

device = compiler(STAMP, _nrt=False)
"""Compile a function that makes no arrays; CUDA kernels may call it too.

Arrays are not counted while it runs: a counter is an atomic operation, and there would be several a ray.
"""

small = compiler(STAMP, _nrt=False, forceinline=True)
"""A `device` function that is put into its callers, because a call would cost more than its work."""
