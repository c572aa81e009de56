"""Entries that COCO's several files share: images, categories, boxes, masks, and names of splits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes.types import Box
from sightline.store.check import EDGE_TOLERANCE
from sightline.store.formats.jsonio import JsonEntry, entries
from sightline.store.schema import SPLIT_WORDS

Size = tuple[int, int]
"""Width and height, pixels."""

_MOST_PIXELS: Final = 2**32 - 1  # COCO's run lengths are 32-bit


def split_names(suffixes: Sequence[str]) -> list[str]:
    """Name the splits of files by what follows ``instances_`` in their names.

    >>> split_names(["train2017", "val2017"]), split_names(["val2014", "val2017"])
    (['train', 'validation'], ['val2014', 'val2017'])
    """
    plain = [re.sub(r"\d{4}$", "", suffix) for suffix in suffixes]
    names = [SPLIT_WORDS.get(name, name) for name in plain]
    return names if len(set(names)) == len(names) else list(suffixes)


def categories(content: dict[str, Any], file: Path) -> dict[int, tuple[str, str]]:
    """Category id → name and supercategory, empty where there is none."""
    return {
        number: (entry.text("name"), entry.text("supercategory", default=""))
        for number, entry in entries(content, "categories", file)
    }


def known(entry: JsonEntry, key: str, numbers: dict[int, Any]) -> int:
    """The id under a key, which must be one of the numbers."""
    number = entry.integer(key)
    if number not in numbers:
        raise entry.error("unknown id", key, f"the id of one of the {len(numbers)} there are", number)
    return number


def image_size(entry: JsonEntry) -> Size:
    """Width and height of an image entry, pixels."""
    width, height = (entry.integer(key, low=1, high=2**31 - 1) for key in ("width", "height"))
    if width * height > _MOST_PIXELS:
        raise entry.error("image is too large", "width, height", f"at most {_MOST_PIXELS} pixels", (width, height))
    return width, height


def picture_folders(file: Path, suffix: str, images: Path | None) -> list[Path]:
    """Where a file's pictures may lie.

    Args:
        file: The annotations, in the folder ``annotations`` of COCO's layout or in any other.
        suffix: What its name says of the split (``val2017``): pictures may lie in a folder of that name.
        images: The folder to look in; by default those of COCO's layout beside the file.
    """
    if images is not None:
        return [(images / suffix if suffix and (images / suffix).is_dir() else images).absolute()]
    root = file.parent.parent if file.parent.name == "annotations" else file.parent
    beside = (root / suffix, root / "images" / suffix, root / "images", root)
    return list(dict.fromkeys(folder.absolute() for folder in beside if folder.is_dir()))


def picture(entry: JsonEntry, folders: Sequence[Path], *, must_exist: bool) -> str | None:
    """Absolute path of an image entry's picture in the first folder that has it; else None, or a DataError."""
    name = entry.text("file_name", default="")
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts or "\\" in name:
        raise entry.error("picture would lie outside its folder", "file_name", "a relative path", name)
    for folder in folders if inside.parts else ():
        try:
            if (folder / inside).is_file():
                return str(folder / inside)
        except OSError:  # a name that cannot be one
            break
    if must_exist:
        raise entry.error("picture is missing", "file_name", f"a file in {folders[0]}", name)
    return None


def xywh(entry: JsonEntry) -> Sequence[float]:
    """x, y, width and height of ``bbox``, pixels."""
    box = entry.numbers(entry.get("bbox"), "bbox")
    if len(box) != 4 or min(box[2:]) < 0:
        raise entry.error("not a box", "bbox", "x, y, width ≥ 0, height ≥ 0", box)
    return box


def is_empty(entry: JsonEntry) -> bool:
    """Whether ``bbox`` has no width or no height."""
    x, y, width, height = xywh(entry)
    return x + width <= x or y + height <= y


def box_of(entry: JsonEntry, size: Size) -> Box:
    """``bbox`` as x0, y0, x1, y1, which must lie in the image, give or take `EDGE_TOLERANCE`."""
    if is_empty(entry):
        raise entry.error("box is empty", "bbox", "width > 0, height > 0", entry.values["bbox"])
    x, y, width, height = xywh(entry)
    x1, y1 = x + width, y + height
    if min(x, y) < -EDGE_TOLERANCE or x1 > size[0] + EDGE_TOLERANCE or y1 > size[1] + EDGE_TOLERANCE:
        expected = f"within {size[0]}×{size[1]} px, give or take {EDGE_TOLERANCE:g}"
        raise entry.error("box leaves the image", "bbox", expected, entry.values["bbox"])
    return x, y, x1, y1


def mask_of(entry: JsonEntry, key: str, size: Size) -> bytes | None:
    """A segmentation (polygons or run lengths) as compressed RLE; None where there is none."""
    counts = counts_of(entry, key, size)
    return None if counts is None else masks.compress(counts)


def counts_of(entry: JsonEntry, key: str, size: Size) -> masks.Counts | None:
    """A segmentation as run lengths; None where there is none."""
    given = entry.values.get(key)
    if given is None or given == []:
        return None
    width, height = size
    try:
        if isinstance(given, list):
            return masks.polygons([entry.numbers(ring, key) for ring in given], height, width)
        return masks.check(_run_lengths(entry, given, size, key), height, width)
    except DataError as error:
        if error.file is not None:
            raise
        raise entry.error(error.problem, key, error.expected, error.found) from None


def _run_lengths(entry: JsonEntry, given: Any, size: Size, key: str) -> Any:
    if not isinstance(given, dict) or not {"size", "counts"} <= given.keys():
        raise entry.error("not polygons or run lengths", key, "a list, or size and counts", given)
    if given["size"] != [size[1], size[0]]:
        raise entry.error("mask has another size than its image", key, [size[1], size[0]], given["size"])
    counts = given["counts"]
    if isinstance(counts, str):
        return masks.decompress(counts.encode("ascii", "replace"))
    if not isinstance(counts, list) or any(type(run) is not int for run in counts):
        raise entry.error("run lengths are not integers", key, "a list of integers or a string", counts)
    return counts
