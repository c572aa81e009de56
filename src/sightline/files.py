"""Files and folders: writes that happen whole or not at all, locks, and whether a folder holds the same work.

Whatever goes on where it stopped (a run of an exam, a training, a dataset being generated) needs these three.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import secrets
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from pathlib import Path
from tokenize import TokenError
from typing import Any, Final

from sightline.errors import ConfigError, DataError

DAMAGED: Final = (
    OSError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    TokenError,
    pickle.UnpicklingError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged picture, zip, .npz or pickle may end in."""

_OLD: Final = re.compile(r"\.[0-9a-f]{12}\.old")
_LEFT: Final = re.compile(r"\.[0-9a-f]{12}\.(old|partial)")


class _Missing:
    def __repr__(self) -> str:
        return "not set"


MISSING: Final = _Missing()
"""Stands for the value of a field that is not there; shown as ``not set``."""


OUTSIDE: Final = "SIGHTLINE_ALLOW_OUTSIDE"
"""Environment variable that lets stored datasets point outside their folder; ``--allow-outside`` sets it."""


def user_cache() -> Path:
    """The folder for what can be made again: ``SIGHTLINE_CACHE``, else ``sightline`` in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SIGHTLINE_CACHE") or Path(home) / "sightline").resolve()


def is_inside(path: str | Path, folder: Path) -> bool:
    """Whether a path, with all links followed, lies in a folder."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def refuse_outside(path: Path, folder: Path, *, field: str, allowed: bool = False) -> None:
    """Refuse a file of a dataset that leads out of its folder, by links or ``..``, or that is none.

    Args:
        path: The file; one that is not there is not looked at further.
        folder: The dataset's.
        field: What names the file, for the DataError.
        allowed: It may lead anywhere, as long as it is a regular file.
    """
    if not (allowed or os.environ.get(OUTSIDE) or is_inside(path, folder)):
        expected = "a file inside the folder; --allow-outside (in Python allow_outside=True) lets it lead elsewhere"
        raise DataError("leads out of the dataset", file=folder, field=field, expected=expected, found=str(path))
    if path.exists() and not path.is_file():
        problem = "not a regular file, but a folder, pipe or device"
        raise DataError(problem, file=folder, field=field, found=str(path))


def read_bytes(path: str | Path, *, most: int | None = None) -> bytes:
    """Read a regular file whole; a DataError for anything else, which might never end: a folder, pipe or device.

    Args:
        path: The file; links are followed.
        most: Bytes it may have.
    """
    try:
        size = regular_size(path)
        if most is not None and size > most:
            raise DataError("file is too large", file=path, expected=f"at most {most:,} bytes")
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DataError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=path) from None


def regular_size(path: str | Path) -> int:
    """Give the size of a regular file in bytes; a DataError for a folder, pipe or device, an OSError for none."""
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
        raise DataError(f"cannot be read: {kind}, not a file", file=path)
    return status.st_size


def atomic_write(path: str | Path, data: bytes, *, sync: bool = True) -> None:
    """Put `data` at `path` so that a reader, or a machine that loses power, sees the old file or the new one.

    A hidden temporary file in the same folder is written, synced and renamed over `path`, then the folder is
    synced. On failure the temporary file is removed and `path` is as it was. Without `sync` only the reader is
    safe, until `sync_files` is called for many files together.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise
    if sync:
        sync_folder(path.parent)


def sync_files(paths: Collection[Path]) -> None:
    """Make files written without `sync` durable, and their names."""
    for path in paths:
        sync_folder(path)
    for folder in {path.parent for path in paths}:
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable; or the content of a file."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def staged_folder(path: str | Path, *, owned: Collection[str], marker: str, overwrite: bool) -> Iterator[Path]:
    """A folder to fill that takes the name `path` only when the block ends well.

    Until then it is a hidden sibling of `path`, locked while its process lives; if the block fails it is removed,
    and what stood at `path` is as it was. Siblings that killed processes left are removed first. An old folder is
    replaced only with `overwrite`, and only if it holds nothing but `owned` names and has the file `marker`:
    nobody's other files are ever deleted.
    """
    path = Path(path).resolve()
    _refuse_taken(path, owned, marker, overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    stage = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    with ExitStack() as held:
        with _locked(path.parent):  # nobody may see the stage before it is locked
            _clear_killed(path)
            stage.mkdir()
            held.enter_context(_locked(stage))
        try:
            yield stage
            sync_folder(stage)
            _refuse_taken(path, owned, marker, overwrite)  # someone may have written there meanwhile
            _swap_in(stage, path)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, waiting for it; nothing where the system has none."""
    if os.name != "posix":
        yield
        return
    descriptor = open_locked(folder, busy=None)
    try:
        yield
    finally:
        os.close(descriptor)


def _clear_killed(path: Path) -> None:
    """Remove what killed writers of a folder left beside it, and bring back what stood there before the last."""
    for left in path.parent.glob(f".{escape(path.name)}.*"):
        if _OLD.fullmatch(left.name.removeprefix(f".{path.name}")) and not path.exists():
            left.rename(path)  # killed between the two renames
        elif _LEFT.fullmatch(left.name.removeprefix(f".{path.name}")) and os.name == "posix":
            with suppress(ConfigError):  # its writer lives
                descriptor = open_locked(left, busy="being written")
                shutil.rmtree(left, ignore_errors=True)
                os.close(descriptor)


def _refuse_taken(path: Path, owned: Collection[str], marker: str, overwrite: bool) -> None:
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{path} is a file, not a folder to write into")
    names = {p.name for p in path.iterdir()} if path.exists() else set()
    if not names:
        return
    if marker not in names:
        raise ConfigError(f"{path} is not empty and holds no {marker}; choose another folder")
    if not overwrite:
        way = "pass overwrite to replace it" if owned else "choose another folder"
        raise ConfigError(f"{path} already holds {marker}; {way}")
    foreign = sorted(names - set(owned))
    if foreign:
        raise ConfigError(f"{path} cannot be replaced: it also holds {foreign[0]}, which is not ours to delete")


def _swap_in(stage: Path, path: Path) -> None:
    old = path.with_name(f".{path.name}.{secrets.token_hex(6)}.old")
    if path.exists():
        path.rename(old)
    try:
        stage.rename(path)
    except BaseException:
        if old.exists():
            old.rename(path)
        raise
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def open_locked(path: Path, *, busy: str | None, flags: int = os.O_RDONLY) -> int:
    """Open a file or folder for this process alone and give its descriptor; the lock dies with the process.

    Args:
        path: What to lock.
        busy: Text of the ConfigError where another process holds it; None waits until that one lets go.
        flags: How to open it, as for `os.open`.
    """
    import fcntl  # here, so that reading data needs no Unix

    descriptor = os.open(path, flags, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if busy is None else fcntl.LOCK_NB))
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise ConfigError(busy) from None
        raise
    return descriptor


def differences(
    first: Mapping[str, Any], second: Mapping[str, Any], *, depth: float = math.inf
) -> Iterator[tuple[str, Any, Any]]:
    """Find where two identities differ: the field, its value in the first and in the second, `MISSING` where unset.

    Fields come in the order of the first, then those only the second has. Mappings within are compared field by
    field (``settings.gap``), down to `depth` levels.

    >>> list(differences({"seed": 0, "settings": {"gap": 1}}, {"seed": 3, "settings": {"gap": 1, "x": 2}}))
    [('seed', 0, 3), ('settings.x', not set, 2)]
    """
    for key in dict.fromkeys([*first, *second]):
        a, b = first.get(key, MISSING), second.get(key, MISSING)
        if depth > 1 and isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from ((f"{key}.{rest}", *values) for rest, *values in differences(a, b, depth=depth - 1))
        elif a != b:
            yield key, a, b
