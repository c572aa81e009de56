"""Outside formats, one module each, imported when first used.

>>> sorted(FORMATS)
['2.5vrd', 'ade20k', 'clevr', 'coco', 'openimages', 'vrd']
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sightline.errors import ConfigError, DataError
from sightline.hints import hint
from sightline.store.tables import Tables

__all__ = ["FORMATS", "Format", "detect", "named", "pick"]


@dataclass(frozen=True, slots=True)
class Format:
    """An outside format.

    Attributes:
        name: What the user calls it.
        describe: What it is, in one line.
        detect: Whether a path looks like it.
        read: Checked import in parts; options differ by format.
        write: Export, or None where there is none.
        notes: What an import of a path will leave out and why; nothing unless the format has its own.
    """

    name: str
    describe: str
    detect: Callable[[Path], bool]
    read: Callable[..., Iterator[Tables]]
    write: Callable[..., object] | None = None
    notes: Callable[[Path], list[str]] = lambda path: []  # noqa: ARG005 - every format is asked


def named(name: str) -> Format:
    """The format of that name.

    >>> named("coco").name
    'coco'
    >>> named("cocoo")
    Traceback (most recent call last):
    sightline.errors.ConfigError: unknown format 'cocoo', did you mean 'coco'?
    """
    if name in FORMATS:
        return FORMATS[name]
    raise ConfigError(f"unknown format {name!r}{hint(name, FORMATS)}")


def detect(path: str | Path) -> Format:
    """The format that a file or folder looks like; a DataError if it looks like none."""
    place = Path(path)
    if not place.exists():
        raise DataError("no such file or folder", file=place)
    for candidate in FORMATS.values():
        if candidate.detect(place):
            return candidate
    known = "; ".join(f"{f.name}: {f.describe}" for f in FORMATS.values())
    raise DataError(_why_unknown(place), file=place, expected=known)


def _why_unknown(place: Path) -> str:
    if (place / "dataset.json").exists():
        return "this is a Sightline dataset already, not of an outside format"
    if not place.is_file():
        return "not of a known format"
    with place.open("rb") as file:
        start = file.read(3)
    if not start:
        return "file is empty"
    return "file begins with a byte order mark (BOM)" if start == BOM_UTF8 else "not of a known format"


def pick(path: str | Path, name: str = "") -> Format:
    """The format of that name, or, without a name, the one the path looks like."""
    return named(name) if name else detect(path)


def _function(module: str, function: str) -> Callable[..., Any]:
    """`function` of a format's module, imported at the first call."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(import_module(f"{__name__}.{module}"), function)(*args, **options)

    return call


def _reader(name: str, module: str, known: Collection[str]) -> Callable[..., Iterator[Tables]]:
    read = _function(module, "read")

    def call(path: str | Path, **options: Any) -> Iterator[Tables]:
        for option in options:
            if option not in known:
                raise ConfigError(f"{name} has no import option {option!r} (it has {', '.join(known)})")
        parts: Iterator[Tables] = read(Path(path), **options)
        return parts

    return call


FORMATS: Final[dict[str, Format]] = {
    "2.5vrd": Format(
        "2.5vrd",
        "a folder with files such as within_image_objects_test.csv and within_image_vrd_test.csv",
        _function("vrd25", "detect"),
        _reader("2.5vrd", "vrd25", ("images",)),
        _function("vrd25", "write"),
        _function("vrd25", "skipped"),
    ),
    "clevr": Format(
        "clevr",
        "a scenes.json file, or a folder with *scenes.json files",
        _function("clevr", "detect"),
        _reader("clevr", "clevr", ("images", "split")),
        _function("clevr", "write"),
    ),
    "coco": Format(
        "coco",
        "an instances JSON file, or a folder with annotations/instances_*.json",
        _function("coco", "detect"),
        _reader("coco", "coco", ("images", "split", "empty_boxes")),
        _function("coco", "write"),
    ),
    "openimages": Format(
        "openimages",
        "a folder with files such as train-annotations-bbox.csv and challenge-2018-train-vrd.csv",
        _function("openimages", "detect"),
        _reader("openimages", "openimages", ("images", "split", "relationships", "descriptions")),
    ),
    "vrd": Format(
        "vrd",
        "a vrd.json file, or a folder with objects.json, predicates.json and annotations_{train,test}.json",
        _function("vrd", "detect"),
        _reader("vrd", "vrd", ("images", "split")),
        notes=_function("vrd", "notes"),
    ),
    "ade20k": Format(
        "ade20k",
        "a folder with X.jpg, X.json and a folder X of instance masks for every photo X, at any depth",
        _function("ade20k", "detect"),
        _reader("ade20k", "ade20k", ("split",)),
        notes=_function("ade20k", "notes"),
    ),
}
"""Name → format, in the order in which a path is tried: ADE20K last, for it looks through all folders below."""
