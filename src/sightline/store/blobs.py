"""Pictures beside the tables: files named by the sha256 of their bytes, and loaders that read them.

A reference is ``blob:<sha256><suffix>``, the file ``images/<first two digits>/<sha256><suffix>`` of the dataset
folder; any other reference is a path, absolute or inside the dataset folder. Forms: pictures are any file Pillow
reads; depth maps are ``.npz`` with one float32 array ``depth`` (metres, NaN unknown); id maps are 16-bit grey PNG.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import DataError
from sightline.store.atomic import atomic_write
from sightline.store.manifest import IMAGES

PREFIX = "blob:"
Kind = Literal["image", "depth", "ids"]

_UNREADABLE = (
    OSError, EOFError, ValueError, KeyError, SyntaxError, zipfile.BadZipFile, Image.DecompressionBombError,
)  # fmt: skip

_NAME = re.compile(r"[0-9a-f]{64}(\.[a-z0-9]{1,5})?")


@dataclass(frozen=True)
class Blobs(Mapping[str, Path]):
    """The blobs of one dataset folder, as a mapping from reference to file.

    `root` is the dataset folder; paths in references are taken from there. Handing it to ``write(images=…)``
    carries the pictures of one dataset into another.
    """

    root: Path

    def put(self, data: bytes, suffix: str = "") -> str:
        """Store bytes, unless they are here already; returns their reference."""
        ref = f"{PREFIX}{hashlib.sha256(data).hexdigest()}{suffix.lower()}"
        path = self.file(ref)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, data)
        return ref

    def put_array(self, kind: Kind, pixels: NDArray[Any]) -> str:
        """Store a picture (HWC uint8 RGB, as PNG), depth map (HW metres) or id map (HW, 0…65535), losslessly."""
        return self.put(_ENCODERS[kind](pixels), ".npz" if kind == "depth" else ".png")

    def loader(self, kind: Kind, ref: str | None) -> PixelLoader | None:
        """A loader for a view; None where there is no reference."""
        return None if ref is None else PixelLoader(self, kind, ref)

    def locate(self, ref: str) -> Path:
        """The file a reference means. It never leads out of the dataset folder, unless it is an absolute path."""
        if ref.startswith(PREFIX):
            return self.file(ref)
        path = Path(ref)
        if not path.is_absolute() and ".." in path.parts:
            raise DataError("path leads out of the dataset", file=self.root, field="image", found=ref)
        return self.root / path

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
        return self.root / IMAGES / name[:2] / name

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

    def __call__(self) -> NDArray[Any]:
        """The pixels, or a DataError that names the file."""
        path = self.blobs.locate(self.ref)
        try:
            return _DECODERS[self.kind](path)
        except FileNotFoundError:
            raise DataError("picture is missing", file=path, field=self.kind) from None
        except _UNREADABLE as error:
            raise DataError(f"picture cannot be read: {error}", file=path, field=self.kind) from error


def _encode_image(pixels: NDArray[Any]) -> bytes:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise DataError("not a picture", expected="HWC uint8 RGB", found=f"{pixels.dtype} {pixels.shape}")
    return _png(pixels)


def _encode_depth(depth: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, depth=np.asarray(depth, dtype=np.float32))
    return buffer.getvalue()


def _encode_ids(ids: NDArray[Any]) -> bytes:
    if ids.size and not (ids.min() >= 0 and ids.max() <= 0xFFFF):
        raise DataError("id map out of range", expected="0…65535", found=f"{ids.min()}…{ids.max()}")
    return _png(ids.astype(np.uint16))


def _png(pixels: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


def _decode_image(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=np.uint8)


def _decode_depth(path: Path) -> NDArray[np.float32]:
    # From memory: np.load leaves the file open where it cannot read it.
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
        return np.asarray(arrays["depth"], dtype=np.float32)


def _decode_ids(path: Path) -> NDArray[np.int32]:
    with Image.open(path) as image:
        return np.asarray(image).astype(np.int32)


_ENCODERS: dict[Kind, Callable[[NDArray[Any]], bytes]] = {
    "image": _encode_image,
    "depth": _encode_depth,
    "ids": _encode_ids,
}
_DECODERS: dict[Kind, Callable[[Path], NDArray[Any]]] = {
    "image": _decode_image,
    "depth": _decode_depth,
    "ids": _decode_ids,
}
