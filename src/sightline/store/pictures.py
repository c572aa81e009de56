"""Pictures looked at before they are used: their size, and whether all of their pixels can be read.

`picture_size` reads the header alone. `look_at` decodes every pixel too, JPEG at an eighth of its size, which finds
a file cut short all the same: 1.6 ms of processor time a photo of 640 × 480 pixels, shared by several threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from sightline.errors import DataError, PictureError
from sightline.store.blobs import Blobs
from sightline.store.encodings import UNREADABLE, TooLargeError, open_picture, upright_size

Size = tuple[int, int]
"""Width and height, pixels."""

_THREADS: Final = min(8, os.cpu_count() or 1)
_HEAD: Final = 64  # bytes looked at to tell text from pictures

T = TypeVar("T")
R = TypeVar("R")


def picture_size(file: str | Path) -> Size | None:
    """Width and height by a picture's header, pixels; None where it cannot be read."""
    try:
        with Path(file).open("rb") as stream, open_picture(stream) as picture:
            return upright_size(picture)
    except UNREADABLE:
        return None


def picture_sizes(files: Sequence[Path]) -> list[Size | None]:
    """`picture_size` of many pictures."""
    return _in_threads(picture_size, files)


def look_at(file: Path) -> Size | PictureError:
    """Width and height of a picture, pixels, all of which can be read; else what is wrong with it."""
    try:
        with file.open("rb") as stream, open_picture(stream) as picture:
            size = upright_size(picture)
            if picture.format == "JPEG":
                picture.draft("L", (1, 1))
            try:
                picture.load()
            except UNREADABLE as error:
                expected, found = _pixels(size), f"{file.stat().st_size} bytes"
                return PictureError(f"picture is cut short: {error}", file=file, expected=expected, found=found)
            return size
    except FileNotFoundError:
        return PictureError("picture is missing", file=file)
    except TooLargeError as error:
        return PictureError(f"picture is too large: {error}", file=file)
    except MemoryError:
        return PictureError("picture is too large: there is not enough memory for it", file=file)
    except UNREADABLE:
        return PictureError("not a picture", file=file, expected="a picture", found=_content(file))


def picture_faults(views: pl.DataFrame, blobs: Blobs) -> dict[tuple[str, str], PictureError]:
    """What is wrong with the pictures of some views, by scene and view: unreadable, or of another size.

    Args:
        views: Rows of the views table; those without a picture are passed over.
        blobs: Where references lead.
    """
    shown = views.filter(pl.col("image").is_not_null())
    refs = shown["image"].unique(maintain_order=True).to_list()
    looked = dict(zip(refs, _in_threads(lambda ref: _located(ref, blobs), refs), strict=True))
    faults = {}
    for scene, view, ref, *sides in shown.select("scene_id", "view_id", "image", "width", "height").iter_rows():
        found = looked[ref]
        if isinstance(found, PictureError):
            faults[scene, view] = PictureError(
                found.problem, file=found.file, row=scene, expected=found.expected, found=found.found
            )
        elif None not in sides and tuple(sides) != found:
            problem = "picture has another size than its annotation"
            expected = _pixels((sides[0], sides[1]))
            faults[scene, view] = PictureError(
                problem, file=blobs.locate(ref), row=scene, expected=expected, found=_pixels(found)
            )
    return faults


def _located(ref: str, blobs: Blobs) -> Size | PictureError:
    try:
        return look_at(blobs.locate(ref))
    except DataError as error:
        return PictureError(error.problem, file=error.file, expected=error.expected, found=error.found)


def _content(file: Path) -> str:
    """What stands in a file that is no picture."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as reason:
        return str(reason.strerror or reason)
    if not head:
        return "an empty file"
    try:
        text = head.decode("utf-8", "strict" if len(head) < _HEAD else "ignore")
    except UnicodeDecodeError:
        text = ""
    if text and all(char.isprintable() or char.isspace() for char in text):
        return f"text: {' '.join(text.split())[:32]}"
    return f"bytes {head[:8].hex(' ')} …"


def _pixels(size: Size) -> str:
    return f"{size[0]} × {size[1]} pixels"


def _in_threads(action: Callable[[T], R], values: Iterable[T]) -> list[R]:
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(action, values))
