"""Edits kept on disk by content: the same picture, hole and fill give the same file.

A file holds the fill's pixels in the hole's bounding box, as lossless PNG; the rest of the picture is the caller's.
Files are written whole or not at all and never changed, so any number of processes may share a folder. It is
bounded: where its files grow above the limit, those used longest ago go.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.edits.fills import Fill, FillRequest, Pixels, remove
from sightline.files import atomic_write, user_cache
from sightline.store.encodings import UNREADABLE, decode, encode

LIMIT: Final = 2_000_000_000
"""Bytes that cached edits may take by default."""

_KEPT: Final = 0.8  # of the limit, after files were deleted, so that not every edit has to delete one


class EditCache:
    """Removes objects from pictures and keeps the edits of fills that have an `identity`.

    Args:
        folder: Where; by default ``edits`` in the user's cache (``SIGHTLINE_CACHE``, else ``~/.cache/sightline``).
        limit: Bytes all files together may have.
    """

    def __init__(self, folder: Path | None = None, *, limit: int = LIMIT) -> None:
        self.folder = user_cache() / "edits" if folder is None else folder
        self.limit = limit
        self.hits = self.misses = 0
        self._size: int | None = None  # bytes in the folder; counted before the first file is written

    def remove(self, request: FillRequest, fill: Fill) -> Pixels:
        """Give what `fills.remove` gives, from disk where it is there."""
        identity = getattr(fill, "identity", None)
        if not identity or getattr(fill, "whole", False) or not request.hole.any():
            return remove(request, fill)
        path = self.path(request, identity)
        box = _box(request.hole)
        kept = self._read(path, request.pixels[box].shape)
        if kept is not None:
            self.hits += 1
            edited = request.pixels.copy()
            np.copyto(edited[box], kept, where=request.hole[box][..., None])
            return edited
        self.misses += 1
        edited = remove(request, fill)
        with suppress(OSError):  # a cache that cannot be written to is no reason to lose the edit
            self._write(path, encode("image", np.ascontiguousarray(edited[box]))[0])
        return edited

    def path(self, request: FillRequest, identity: str) -> Path:
        """The file of an edit, named by a hash of pixels, hole and the fill's identity."""
        digest = blake2b(repr((identity, request.pixels.shape)).encode(), digest_size=20)
        digest.update(np.ascontiguousarray(request.pixels).data)
        digest.update(np.packbits(request.hole).data)
        name = digest.hexdigest()
        return self.folder / name[:2] / f"{name[2:]}.png"

    def _read(self, path: Path, shape: Sequence[int]) -> NDArray[np.uint8] | None:
        """The pixels of a file; None where there is none, or a spoilt one."""
        try:
            kept: NDArray[np.uint8] = decode("image", path)
            os.utime(path)  # used now
        except UNREADABLE:
            return None
        return kept if kept.shape == tuple(shape) else None

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, data, sync=False)
        self._size = self._counted() if self._size is None else self._size + len(data)
        if self._size > self.limit:
            self._size = self._counted(self.limit * _KEPT)

    def _counted(self, limit: float = float("inf")) -> int:
        """Bytes of all files, after those used longest ago were deleted until they fit the limit."""
        files = []
        for path in self.folder.glob("??/*"):
            with suppress(FileNotFoundError):  # another process deleted it
                status = path.stat()
                files.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= limit:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total


def _box(hole: NDArray[np.bool_]) -> tuple[slice, slice]:
    rows, columns = np.flatnonzero(hole.any(axis=1)), np.flatnonzero(hole.any(axis=0))
    return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
