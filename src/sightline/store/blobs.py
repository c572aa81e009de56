"""Pictures beside the tables: files named by the sha256 of their bytes, and loaders that read them.

A reference is ``blob:<sha256><suffix>``, the file ``images/<first two digits>/<sha256><suffix>`` of the dataset
folder; any other reference is a path inside that folder, or anywhere where that is allowed. `encodings` tells the
forms.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from sightline.errors import DataError, PictureError
from sightline.files import atomic_write, refuse_outside, sync_files
from sightline.store.encodings import UNREADABLE, Kind, decode, decode_reduced, encode
from sightline.store.manifest import IMAGES

PREFIX = "blob:"

T = TypeVar("T")

_NAME = re.compile(r"[0-9a-f]{64}(\.[a-z0-9]{1,5})?")


def blob_path(ref: str) -> str | None:
    """Path of a blob below ``images/``; None for any other reference.

    >>> blob_path("blob:1f3d.png"), blob_path("/photos/7.jpg")
    ('1f/1f3d.png', None)
    """
    name = ref.removeprefix(PREFIX)
    return None if name == ref else f"{name[:2]}/{name}"


@dataclass(frozen=True)
class Blobs(Mapping[str, Path]):
    """The blobs of one dataset folder, as a mapping from reference to file.

    `root` is the dataset folder; paths in references are taken from there. Handing it to ``write(images=…)``
    carries the pictures of one dataset into another. With `lazy`, what is put may be lost with the machine's power
    until `sync` is called. With `allow_outside` references may be absolute, and links may lead anywhere.
    """

    root: Path
    lazy: bool = False
    allow_outside: bool = False

    def put(self, data: bytes, suffix: str = "") -> str:
        """Store bytes, unless they are here already; returns their reference."""
        ref = f"{PREFIX}{hashlib.sha256(data).hexdigest()}{suffix.lower()}"
        path = self.file(ref)
        # A file cut short is one that was not yet synced when a machine lost power.
        if not path.exists() or path.stat().st_size != len(data):
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, data, sync=not self.lazy)
        return ref

    def sync(self, refs: Iterable[str]) -> None:
        """Make the blobs of lazy writing durable: one wait for many files."""
        sync_files([self.file(ref) for ref in refs])

    def put_array(self, kind: Kind, pixels: NDArray[Any], form: str | None = None) -> str:
        """Store a picture (HWC uint8 RGB), depth map (HW metres) or id map (HW, 0…65535); see `encodings.encode`.

        Without a form nothing is lost.
        """
        return self.put(*encode(kind, pixels, form))

    def loader(self, kind: Kind, ref: str | None, row: str | None = None) -> PixelLoader | None:
        """A loader for a view, which errors call `row`; None where there is no reference."""
        return None if ref is None else PixelLoader(self, kind, ref, row)

    def locate(self, ref: str) -> Path:
        """The file a reference means; a DataError where it leads out of the dataset folder or is no file."""
        if ref.startswith(PREFIX):
            return self.file(ref)
        path = self.root / ref
        if not Path(ref).is_absolute() and ".." in Path(ref).parts:
            raise DataError("leads out of the dataset", file=self.root, field="image", found=ref)
        self.check(path)
        return path

    def check(self, path: Path, field: str = "image") -> None:
        """Refuse a file of the dataset that leads out of its folder, unless that is allowed, or that is none."""
        try:
            refuse_outside(path, self.root, field=field, allowed=self.allow_outside)
        except (OSError, ValueError) as error:  # a name that cannot be one
            raise DataError(f"not a path: {error}", file=self.root, field=field, found=str(path)) from None

    def damage(self, ref: str) -> DataError | None:
        """What is wrong with a blob: not here, or its bytes are not those it was named after."""
        try:
            path = self.file(ref)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except DataError as error:
            return error
        except OSError as error:
            return DataError(f"blob cannot be read: {error.strerror}", file=self.root, field="image", found=ref)
        return None if path.name.startswith(digest) else DataError("blob is damaged", file=path, found=digest)

    def file(self, ref: str) -> Path:
        """Where a blob is, or would be; a DataError for anything that is not a blob reference."""
        name = ref.removeprefix(PREFIX)
        if not ref.startswith(PREFIX) or not _NAME.fullmatch(name):
            raise DataError(
                "not a blob reference", file=self.root, field="image", expected="blob:<sha256>[.suffix]", found=ref
            )
        path = self.root / IMAGES / name[:2] / name
        self.check(path)
        return path

    def __getitem__(self, ref: str) -> Path:
        if ref not in self:
            raise KeyError(ref)
        return self.file(ref)

    def __contains__(self, ref: object) -> bool:
        try:
            return isinstance(ref, str) and self.file(ref).is_file()
        except DataError:
            return False

    def __iter__(self) -> Iterator[str]:
        for path in sorted((self.root / IMAGES).glob("??/*")):
            if _NAME.fullmatch(path.name):
                yield PREFIX + path.name

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class PixelLoader:
    """What a View calls for its pixels; remembers the reference it came from."""

    blobs: Blobs
    kind: Kind
    ref: str
    row: str | None = None

    def __call__(self) -> NDArray[Any]:
        """The pixels, or a PictureError that names the file, the scene and the view."""
        return self._read(decode)

    def reduced(self) -> tuple[NDArray[Any], tuple[int, int]]:
        """Pixels to look at, fewer where there are very many, and the picture's own (width, height)."""
        return self._read(decode_reduced)

    def _read(self, read: Callable[[Kind, Path], T]) -> T:
        path = self.blobs.locate(self.ref)
        try:
            return read(self.kind, path)
        except FileNotFoundError:
            raise PictureError("picture is missing", file=path, row=self.row, field=self.kind) from None
        except UNREADABLE as error:
            raise PictureError(
                f"picture cannot be read: {error}", file=path, row=self.row, field=self.kind
            ) from error
