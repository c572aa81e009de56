"""The front door: any dataset this house knows, opened the same way."""

from __future__ import annotations

from pathlib import Path

from sightline.errors import DataError
from sightline.store.dataset import Dataset
from sightline.store.formats import detect
from sightline.store.manifest import MANIFEST, PARTIAL
from sightline.store.tables import Tables


def is_dataset(path: str | Path) -> bool:
    """Whether a folder holds a Sightline dataset."""
    return (Path(path) / MANIFEST).exists()


def open_dataset(path: str | Path) -> Dataset:
    """Open a Sightline dataset, or read a file or folder of a known format into memory.

    Nothing is written. An outside format is read and checked as a whole, so `sightline import` pays off for
    anything large or opened often.
    """
    place = Path(path)
    if is_dataset(place):
        return Dataset.open(place)
    if (place / PARTIAL).is_dir():
        raise DataError("still being generated: run the same sightline generate again to go on", file=place)
    return Dataset.from_tables(Tables.concat(detect(place).read(place)), path=place)
