"""Photos that lie beside a dataset's files, found by the image id in their name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from sightline.errors import DataError

_SUFFIXES: Final = (".jpg", ".jpeg", ".png", ".webp")


def find_photos(folder: str | Path) -> dict[str, str]:
    """Image id → absolute path of the photos in a folder and its direct subfolders (``train``, ``test``…).

    Ids are looked up among the files that are there, never joined to a path, so no id can lead out of the folder.

    Raises:
        DataError: Where there is no such folder or it has no photo.
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise DataError("no such folder of photos", file=folder)
    found = {
        file.stem: str(file)
        for pattern in ("*/*", "*")
        for file in sorted(root.glob(pattern))
        if file.suffix.lower() in _SUFFIXES and file.is_file()
    }
    if not found:
        raise DataError("folder has no photos", file=folder, expected="<image id>.jpg")
    return found


def photo_of(image_id: str, photos: Mapping[str, str]) -> pl.Expr:
    """Path of each row's photo by the named column of image ids; null where there is none.

    >>> pl.DataFrame({"id": ["a", "b"]}).select(photo_of("id", {"a": "/x/a.jpg"})).to_series().to_list()
    ['/x/a.jpg', None]
    """
    if not photos:
        return pl.lit(None, pl.String)
    return pl.col(image_id).replace_strict(photos, default=None, return_dtype=pl.String)
