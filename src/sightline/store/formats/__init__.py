"""Outside formats, one module each, imported when first used.

>>> sorted(FORMATS)[:5]
['2.5vrd', 'ade20k', 'clevr', 'coco', 'coco-panoptic']
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any, Final

from sightline.errors import ConfigError, DataError
from sightline.files import OUTSIDE, is_inside
from sightline.hints import hint
from sightline.store.blobs import PREFIX
from sightline.store.tables import Tables

__all__ = ["EXPORTS", "FORMATS", "Format", "detect", "named", "pick"]


_LOOKED_INTO: Final = 50
"""Folders below one of no known format that are looked into for a hint, at most."""


@dataclass(frozen=True, slots=True)
class Format:
    """An outside format.

    Attributes:
        name: What the user calls it.
        describe: What it is, in one line.
        module: The module here that has its functions, imported at the first call.
        options: Names of its import options.
        photos_out: Whether an export takes the photos along.
    """

    name: str
    describe: str
    module: str
    options: tuple[str, ...]
    photos_out: bool = False

    def detect(self, path: Path) -> bool:
        """Whether a path looks like it."""
        return bool(self._function("detect")(path))

    def read(self, path: str | Path, *, allow_outside: bool = False, **options: Any) -> Iterator[Tables]:
        """Checked import in parts.

        Args:
            path: File or folder.
            allow_outside: Photos may be links that lead out of the folder, or of that given as ``images``.
            **options: Those of the format.
        """
        for option in options:
            if option not in self.options:
                raise ConfigError(f"{self.name} has no import option {option!r} (it has {', '.join(self.options)})")
        parts: Iterator[Tables] = self._function("read")(Path(path), **options)
        allowed = allow_outside or bool(os.environ.get(OUTSIDE))
        return (
            parts
            if allowed
            else _inside(parts, _photo_folder(Path(options.get("instances") or path), options.get("images")))
        )

    @property
    def write(self) -> Callable[..., object] | None:
        """Export, or None where there is none."""
        write: Callable[..., object] | None = self._function("write")
        return write

    def notes(self, path: Path, **options: Any) -> list[str]:
        """What an import of a path will leave out and why; nothing unless the format has its own."""
        notes = self._function("notes")
        if notes is None:
            return []
        return list(notes(path, **{k: v for k, v in options.items() if k in signature(notes).parameters}))

    def left_out(self, tables: Tables) -> list[str]:
        """What an export of tables leaves out, with how many; nothing unless the format has its own."""
        left_out = self._function("left_out")
        return [] if left_out is None else list(left_out(tables))

    def _function(self, name: str) -> Any:
        return getattr(import_module(f"{__name__}.{self.module}"), name, None)


def _photo_folder(path: Path, images: str | Path | None) -> Path:
    """The folder in which the photos of a source must lie: that given for them, or else its own."""
    own = path if path.is_dir() else path.absolute().parent
    return (
        Path(images) if images else own.parent if own.name.lower() == "annotations" else own
    )  # COCO's and VOC's layout


def _inside(parts: Iterator[Tables], folder: Path) -> Iterator[Tables]:
    """The parts as they come; a DataError at the first photo that is a link out of the folder."""
    for part in parts:
        for photo in part.views["image"].drop_nulls().unique(maintain_order=True):
            if not photo.startswith(PREFIX) and not is_inside(photo, folder):
                expected = f"a file in {folder}; --allow-outside follows links"
                raise DataError("photo is a link that leads out of its folder", file=photo, expected=expected)
        yield part


def named(name: str) -> Format:
    """The format of that name.

    >>> named("coco").name
    'coco'
    >>> named("cocoo")
    Traceback (most recent call last):
    sightline.errors.ConfigError: unknown format 'cocoo', did you mean 'coco'?
    """
    known = {**FORMATS, **EXPORTS}
    if name in known:
        return known[name]
    raise ConfigError(f"unknown format {name!r}{hint(name, known)}")


def detect(path: str | Path) -> Format:
    """The format that a file or folder looks like; a DataError if it looks like none."""
    place = Path(path)
    if not place.exists():
        raise DataError("no such file or folder", file=place)
    for candidate in FORMATS.values():
        if candidate.detect(place):
            return candidate
    inside = _known_folders(place)
    if inside:
        folders = ", ".join(f"{folder} ({known.name})" for folder, known in inside)
        raise DataError(_why_unknown(place), file=place, expected=f"one of the folders in it: {folders}")
    known = "one of" + "".join(f"\n  {f.name}: {f.describe}" for f in FORMATS.values()) + "\n"
    raise DataError(_why_unknown(place), file=place, expected=known)


def _known_folders(place: Path) -> list[tuple[Path, Format]]:
    """Folders right below one that look like a format, by name."""
    if not place.is_dir() or (place / "dataset.json").exists():
        return []
    folders = islice(sorted(child for child in place.iterdir() if child.is_dir()), _LOOKED_INTO)
    found = []
    for folder in folders:
        with suppress(OSError, DataError):  # a folder that cannot be read is no hint
            found += [(folder, known) for known in FORMATS.values() if known.detect(folder)][:1]
    return found


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
    """The format to read: of that name, or, without a name, the one the path looks like."""
    if name in EXPORTS:
        raise ConfigError(f"{name} can be written but not read")
    return named(name) if name else detect(path)


_FORMATS: Final = (
    Format(
        "2.5vrd",
        "a folder with files such as within_image_objects_test.csv and within_image_vrd_test.csv",
        "vrd25",
        ("images",),
    ),
    Format("clevr", "a scenes.json file, or a folder with *scenes.json files", "clevr", ("images", "split")),
    Format(
        "coco-panoptic",
        "a panoptic_X.json file beside a folder panoptic_X of PNG files, or a folder with such files",
        "coco_panoptic",
        ("images", "split"),
    ),
    Format(
        "coco-results",
        "a JSON list of a detector's results, beside the instances file it is about or with --instances",
        "coco_results",
        ("instances", "images", "split"),
    ),
    Format(
        "cocoa",
        "a JSON file with the amodal regions of a photo, or of many; or a folder with such files",
        "cocoa",
        ("images", "split"),
    ),
    Format(
        "coco",
        "an instances JSON file, or a folder with annotations/instances_*.json",
        "coco",
        ("images", "split", "empty_boxes"),
    ),
    Format(
        "openimages",
        "a folder with files such as train-annotations-bbox.csv and challenge-2018-train-vrd.csv",
        "openimages",
        ("images", "split", "relationships", "descriptions"),
    ),
    Format(
        "vrd",
        "a vrd.json file, or a folder with objects.json, predicates.json and annotations_{train,test}.json",
        "vrd",
        ("images", "split"),
    ),
    Format("vsr", "a JSONL file with image, caption, relation and label; or a folder", "vsr", ("images", "split")),
    Format(
        "semantic-masks",
        "a YAML file with classes and the folder of masks of a split, one PNG a photo; or its folder",
        "semantic_masks",
        ("images", "split"),
    ),
    Format("yolo", "a data.yaml with names, or a folder with images and labels", "yolo", ("images", "split"), True),
    Format(
        "voc", "a folder with Annotations/*.xml, maybe JPEGImages and ImageSets", "voc", ("images", "split"), True
    ),
    Format(
        "pascal3d",
        "PASCAL3D+'s folder with Annotations/<class>_<source>/*.mat, or .mat files with a record",
        "pascal3d",
        ("images", "split"),
    ),
    Format(
        "pascal3d-poses",
        "CSV files with imgPath, bboxTLX … rotationClass, or a .mat file with rotationData",
        "pascal3d_poses",
        ("images", "split"),
    ),
    Format(
        "imagenet3d",
        "ImageNet3D's folders <class>/*.npz, one of them, or one .npz file with annotations",
        "imagenet3d",
        ("images", "split"),
    ),
    Format(
        "ade20k",
        "a folder with X.jpg, X.json and a folder X of instance masks for every photo X, at any depth",
        "ade20k",
        ("split",),
    ),
    Format(
        "photos",
        "a folder of photos, at any depth, and nothing else; with --format photos any folder",
        "photos",
        ("split",),
    ),
)

FORMATS: Final = {form.name: form for form in _FORMATS}
"""Name → format, in the order in which a path is tried: last those that look through all folders below."""

_EXPORTS: Final = (
    Format(
        "parquet",
        "a folder that datasets.load_dataset opens: a row a view with its picture, objects and relations",
        "parquet_write",
        (),
        True,
    ),
    Format("fiftyone", "FiftyOne's own folder: metadata.json, samples.json and data", "fiftyone_write", (), True),
    Format(
        "label-studio",
        "a folder with Label Studio's tasks.json, its labelling interface and the photos",
        "label_studio_write",
        (),
        True,
    ),
    Format(
        "bop",
        "a folder of the BOP challenge: poses, cameras, rgb, depth and masks, in millimetres",
        "bop_write",
        (),
        True,
    ),
)

EXPORTS: Final = {form.name: form for form in _EXPORTS}
"""Name → format that can be written and not read."""
