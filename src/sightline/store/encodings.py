"""Pixels as bytes and back.

Pictures: PNG, lossless; JPEG, quality 95 without colour subsampling; WebP, lossless. Depth maps: ``.npz`` with one
float32 array ``depth`` (metres, NaN unknown), or 16-bit grey PNG in millimetres (0 unknown; what is farther than
65.535 m becomes unknown). Id and stuff maps: grey PNG of 8 bits, or 16 where there are more than 255 ids. Outside
pictures may be any file Pillow reads; photos whose EXIF tag says how the camera was held come upright.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from sightline.errors import ConfigError, DataError
from sightline.files import DAMAGED

Kind = Literal["image", "depth", "ids", "stuff"]

UNREADABLE = (*DAMAGED, Image.DecompressionBombError)
"""What reading a file that is no picture may raise."""


class TooLargeError(ValueError):
    """A picture has more than `LARGEST` pixels, and its format cannot be decoded smaller."""


FORMS: Final[dict[Kind, tuple[str, ...]]] = {
    "image": ("png", "jpeg", "webp"),
    "depth": ("npz", "png"),
    "ids": ("png",),
    "stuff": ("png",),
}
"""How each kind can be kept; the first is the lossless default."""

WHOLE: Final = 24_000_000
"""Pixels up to which a picture that is only looked at is decoded whole (72 MB)."""

LARGEST: Final = 2 * (Image.MAX_IMAGE_PIXELS or 89_478_485)
"""Pixels up to which a file is decoded that cannot be decoded smaller (178,956,970; 0.7 GB), Pillow's own limit."""

_PICTURE: Final[dict[str, dict[str, Any]]] = {
    "png": {"compress_level": 1},  # five times as fast as the usual 6, files 15 % larger (480×320)
    "jpeg": {"quality": 95, "subsampling": 0},
    "webp": {"lossless": True, "quality": 0, "method": 0},  # quality is effort here: all pixels are kept
}


def encode(kind: Kind, pixels: NDArray[Any], form: str | None = None) -> tuple[bytes, str]:
    """The bytes and the suffix of a picture, depth map, id map or stuff map.

    Args:
        kind: What the pixels are.
        pixels: HWC uint8 RGB, HW metres, or HW ids 0…65535.
        form: One of `FORMS`, by default the first. JPEG and WebP take a quality, ``jpeg:90`` or ``webp:80``;
            WebP with a quality is no longer lossless.

    >>> encode("ids", np.zeros((2, 2), int))[1], encode("depth", np.ones((2, 2)), "png")[1]
    ('.png', '.png')
    """
    name, _, quality = (form or FORMS[kind][0]).partition(":")
    if name not in FORMS[kind]:
        raise ConfigError(f"unknown form {form!r} of {kind}: choose one of {', '.join(FORMS[kind])}")
    if kind == "image":
        return _picture(_checked(pixels), name, quality), ".jpg" if name == "jpeg" else f".{name}"
    if quality:
        raise ConfigError(f"form {form!r}: only pictures have a quality")
    if kind in ("ids", "stuff"):
        return _ids(pixels), ".png"
    return (_millimetres(pixels) if name == "png" else _metres(pixels)), f".{name}"


def decode(kind: Kind, path: Path) -> NDArray[Any]:
    """The pixels of a file; whatever `UNREADABLE` holds where it is none."""
    # From memory: np.load leaves a file open where it cannot read it.
    return _DECODERS[kind](io.BytesIO(path.read_bytes()), path.suffix.lower())


_TURNS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""EXIF's orientation tag → what makes the picture upright; from 5 on width and height change places."""

_ORIENTATION: Final = 0x0112
_TAGGED: Final = ("JPEG", "MPO", "WEBP")  # of a PNG the tag may stand behind all pixels; Pillow turns TIFF itself


def _orientation(image: Image.Image) -> int:
    """EXIF's orientation of a picture, 1 where it has none."""
    try:
        value = image.getexif().get(_ORIENTATION) if image.format in _TAGGED else None
    except UNREADABLE:
        return 1
    return value if isinstance(value, int) and value in _TURNS else 1


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Width and height of an opened picture as a viewer shows it, pixels."""
    return image.size[::-1] if _orientation(image) >= 5 else image.size


def _upright(image: Image.Image, orientation: int) -> Image.Image:
    """The picture as a camera's owner held it: photos of phones are stored sideways, with a tag."""
    return image.transpose(_TURNS[orientation]) if orientation in _TURNS else image


def reduction(size: tuple[int, int]) -> int:
    """By how much width and height of a large picture are divided to look at it: 1, 2, 4, 8 and so on.

    >>> reduction((6000, 4000)), reduction((30_000, 30_000))
    (1, 8)
    """
    step = 1
    while size[0] * size[1] > WHOLE * step**2:
        step *= 2
    return step


def decode_reduced(kind: Kind, path: Path) -> tuple[NDArray[Any], tuple[int, int]]:
    """Decode a file to look at: pixels, made smaller by its `reduction`, and its own (width, height).

    A baseline JPEG is decoded at an eighth if need be and takes no more room than that. Any other file must be
    decoded whole first; of more than `LARGEST` pixels it is refused (TooLargeError).
    """
    if path.suffix.lower() == ".npz":
        depth = decode(kind, path)
        step = reduction((depth.shape[1], depth.shape[0]))
        return depth[::step, ::step], (depth.shape[1], depth.shape[0])
    with path.open("rb") as file, open_picture(file) as image:
        size, step = image.size, reduction(image.size)
        turn, shown_size = _orientation(image), upright_size(image)
        if kind != "image":
            return _MAPS[kind](np.asarray(image)[::step, ::step]), size
        image.draft("RGB", (size[0] // step, size[1] // step))  # heeded by JPEG alone
        shown = image if image.mode == "RGB" else image.convert("RGB")
        small = _upright(shown.reduce(reduction(shown.size)), turn)
        return np.asarray(small, dtype=np.uint8), shown_size


def open_picture(file: IO[bytes]) -> Image.Image:
    """Read a picture's header; TooLargeError where it has more than `LARGEST` pixels and must be decoded whole."""
    start = file.read(3)
    file.seek(0)
    try:
        if start != b"\xff\xd8\xff":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of large pictures and odd metadata
                return Image.open(file)
        image = JpegImageFile(file)  # Image.open would refuse a large one before its decoder is asked for less
        if "progressive" not in image.info or image.width * image.height <= LARGEST:
            return image
    except Image.DecompressionBombError:
        pass
    raise TooLargeError(f"more than {LARGEST:,} pixels; of these only a baseline JPEG is shown")


def round_trip(kind: Kind, pixels: NDArray[Any], form: str | None = None) -> NDArray[Any]:
    """The pixels as they come back from that form.

    >>> round_trip("depth", np.array([[1.2345678, 70.0]]), "png")
    array([[1.235, nan]], dtype=float32)
    """
    data, suffix = encode(kind, pixels, form)
    return _DECODERS[kind](io.BytesIO(data), suffix)


def _checked(pixels: NDArray[Any]) -> NDArray[Any]:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise DataError("not a picture", expected="HWC uint8 RGB", found=f"{pixels.dtype} {pixels.shape}")
    return pixels


def _picture(pixels: NDArray[Any], name: str, quality: str) -> bytes:
    if not quality:
        return _saved(pixels, name, **_PICTURE[name])
    if name == "png" or not quality.isdecimal() or not 1 <= int(quality) <= 100:
        raise ConfigError(f"form '{name}:{quality}': expected jpeg or webp with a quality of 1 to 100")
    extra = {"subsampling": 0} if name == "jpeg" else {"method": 2}
    return _saved(pixels, name, quality=int(quality), **extra)


def _metres(depth: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, depth=np.asarray(depth, dtype=np.float32))
    return buffer.getvalue()


def _millimetres(depth: NDArray[Any]) -> bytes:
    millimetres = np.rint(np.asarray(depth, dtype=np.float64) * 1000)
    known = (millimetres >= 1) & (millimetres <= 0xFFFF)  # False for NaN too
    return _saved(np.where(known, millimetres, 0).astype(np.uint16), "png")


def _ids(ids: NDArray[Any]) -> bytes:
    if ids.size and not (ids.min() >= 0 and ids.max() <= 0xFFFF):
        raise DataError("id map out of range", expected="0…65535", found=f"{ids.min()}…{ids.max()}")
    return _saved(ids.astype(np.uint16 if ids.size and ids.max() > 0xFF else np.uint8), "png")


def _saved(pixels: NDArray[Any], name: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format=name, **(options or _PICTURE[name]))
    return buffer.getvalue()


def _decode_image(data: io.BytesIO, _: str) -> NDArray[np.uint8]:
    with Image.open(data) as image:
        return np.asarray(_upright(image.convert("RGB"), _orientation(image)), dtype=np.uint8)


def _decode_depth(data: io.BytesIO, suffix: str) -> NDArray[np.float32]:
    if suffix == ".png":
        with Image.open(data) as image:
            return _depth(np.asarray(image))
    with np.load(data, allow_pickle=False) as arrays:
        return np.asarray(arrays["depth"], dtype=np.float32)


def _depth(millimetres: NDArray[Any]) -> NDArray[np.float32]:
    far = millimetres.astype(np.float64)
    return np.where(far > 0, far / 1000, np.nan).astype(np.float32)


def _decode_ids(data: io.BytesIO, _: str) -> NDArray[np.int32]:
    with Image.open(data) as image:
        return np.asarray(image).astype(np.int32)


_MAPS: Final[dict[Kind, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "depth": _depth,
    "ids": lambda stored: stored.astype(np.int32),
    "stuff": lambda stored: stored.astype(np.uint8),
}
_DECODERS: Final[dict[Kind, Callable[[io.BytesIO, str], NDArray[Any]]]] = {
    "image": _decode_image,
    "depth": _decode_depth,
    "ids": _decode_ids,
    "stuff": lambda data, suffix: _decode_ids(data, suffix).astype(np.uint8),
}
