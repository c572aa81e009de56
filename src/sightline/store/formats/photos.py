"""Photos beside a dataset's files, found by the image id in their name; and a plain folder of photos, import only.

Of a plain folder every photo, at any depth, is a scene without objects: its id is the path below the folder without
suffix (with it, where two differ in nothing else), its size that of the photo.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from sightline.errors import DataError
from sightline.store.pictures import picture_sizes
from sightline.store.tables import Tables

VIEW: Final = "0"
"""Id of the one view of a scene that is a photo."""

_SUFFIXES: Final = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif")
_TEXTS: Final = (".txt", ".md", ".html", ".pdf", ".rtf")  # what may lie beside photos and tells nothing of them
_JUNK: Final = ("thumbs.db", "desktop.ini")
_PHOTOS_A_PART: Final = 5000


def detect(path: Path) -> bool:
    """Whether the path is a photo, or a folder of photos and nothing else but texts, at any depth."""
    place = Path(path)
    if place.is_file():
        return is_photo(place)
    has_photos = False
    for file in place.rglob("*"):
        if _is_hidden(file, place) or not file.is_file():
            continue
        if not is_photo(file) and file.suffix.lower() not in _TEXTS and file.name.lower() not in _JUNK:
            return False
        has_photos |= is_photo(file)
    return has_photos


def read(path: str | Path, *, split: str = "") -> Iterator[Tables]:
    """Read a folder of photos, or one photo, by path.

    Args:
        path: The folder, or the photo.
        split: Name of the split of all.

    Raises:
        DataError: Where there is no photo. One that cannot be read has no size; an import lists it.
    """
    place = Path(path).absolute()
    files = [place] if place.is_file() else photo_files(place)
    if not files:
        raise DataError("folder has no photos", file=path, expected=f"files such as {', '.join(_SUFFIXES[:4])}")
    root = place.parent if place.is_file() else place
    stems = [file.relative_to(root).with_suffix("").as_posix() for file in files]
    times = Counter(stems)
    names = [s if times[s] == 1 else f.relative_to(root).as_posix() for s, f in zip(stems, files, strict=True)]
    for start in range(0, len(files), _PHOTOS_A_PART):
        part = files[start : start + _PHOTOS_A_PART]
        sizes = [size or (None, None) for size in picture_sizes(part)]
        ids = [f"{split}/{name}" if split else name for name in names[start : start + _PHOTOS_A_PART]]
        columns = (ids, map(str, part), *zip(*sizes, strict=True))
        views = pl.DataFrame(zip(*columns, strict=True), ["scene_id", "image", "width", "height"], orient="row")
        told = {"view_id": pl.lit(VIEW), "split": pl.lit(split), "source": pl.lit("photos")}
        yield Tables.build(views=views.with_columns(**told))


def photo_files(folder: Path) -> list[Path]:
    """Photos of a folder at any depth, by path; hidden ones are passed over."""
    return sorted(
        file for file in folder.rglob("*") if is_photo(file) and file.is_file() and not _is_hidden(file, folder)
    )


def is_photo(file: Path) -> bool:
    """Whether a file is named as photos are."""
    return file.suffix.lower() in _SUFFIXES


def _is_hidden(file: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(root).parts)


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
        if is_photo(file) and file.is_file()
    }
    if not found:
        raise DataError(
            "folder has no photos", file=folder, expected="<image id>.jpg, directly or in direct subfolders"
        )
    return found


def photo_of(image_id: str, photos: Mapping[str, str]) -> pl.Expr:
    """Path of each row's photo by the named column of image ids; null where there is none.

    >>> pl.DataFrame({"id": ["a", "b"]}).select(photo_of("id", {"a": "/x/a.jpg"})).to_series().to_list()
    ['/x/a.jpg', None]
    """
    if not photos:
        return pl.lit(None, pl.String)
    return pl.col(image_id).replace_strict(photos, default=None, return_dtype=pl.String)
