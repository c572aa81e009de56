"""Where shapes of a library come from: one kind of file each, all read to solids named ``category/model``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sightline.matlab import is_mat
from sightline.worlds.shapes.pascal_models import cad_files, read_cad_models
from sightline.worlds.solids import Solid


class ShapeSource(NamedTuple):
    """A kind of file that shapes are imported from.

    Attributes:
        name: What the user calls it; `describe` what it is, in one line.
        detect: Whether a path looks like it.
        read: Its solids in medium size, each with the file it came from.
    """

    name: str
    describe: str
    detect: Callable[[Path], bool]
    read: Callable[[Path], Iterator[tuple[Solid, str]]]


def _is_cad(path: Path) -> bool:
    """Whether files are all named as one of PASCAL3D+'s categories, as its CAD folder has them."""
    files = [file for file in path.glob("*.mat") if is_mat(file)] if path.is_dir() else [path]
    return bool(files) and all(is_mat(file) and file.stem in CATEGORIES for file in files)


def _cad(path: Path) -> Iterator[tuple[Solid, str]]:
    for file in cad_files(path):
        for model in read_cad_models(file):
            yield model.solid(file), file.name


CATEGORIES: Final = (
    "aeroplane",
    "bicycle",
    "boat",
    "bottle",
    "bus",
    "car",
    "chair",
    "diningtable",
    "motorbike",
    "sofa",
    "train",
    "tvmonitor",
)
"""The rigid categories of PASCAL3D+."""

SOURCES: Final = {
    source.name: source
    for source in (
        ShapeSource("pascal3d-cad", "PASCAL3D+'s folder CAD with <class>.mat files, or one of them", _is_cad, _cad),
    )
}


def source_of(path: Path, name: str = "") -> ShapeSource | None:
    """The source of that name, or the one a path looks like; None where it is none."""
    if name:
        return SOURCES.get(name)
    return next((source for source in SOURCES.values() if path.exists() and source.detect(path)), None)
