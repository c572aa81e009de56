"""Say why predictions fit none of the pairs that are asked about: other images, pairs, boxes or classes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.geometry import area, iou_matrix

_IMAGES: Final = "image_id_1, image_id_2"
_NAMED: Final = 3
"""Ids that an error names."""


def no_rows(path: Path) -> DataError:
    """The file has a header and nothing below it."""
    return DataError("no prediction at all, so none answers any pair", file=path, expected="a row for each pair")


def other_images(path: Path, expected: Iterable[str], found: Iterable[str]) -> DataError:
    """No prediction is about an image that is asked about."""
    return DataError(
        "no prediction is about an image that is asked about",
        file=path,
        field=_IMAGES,
        expected=f"ids such as {_some(expected)}",
        found=f"ids such as {_some(found)}",
    )


def other_pairs(path: Path, expected: Iterable[tuple[str, str]], found: Iterable[tuple[str, str]]) -> DataError:
    """Images are known, but never together."""
    return DataError(
        "no prediction is about two images that are asked about together, in that order",
        file=path,
        field=_IMAGES,
        expected=f"pairs such as {_some(expected)}",
        found=f"pairs such as {_some(found)}",
    )


def other_classes(path: Path, expected: Iterable[str], found: Iterable[str]) -> DataError:
    """Boxes fit, classes never do."""
    return DataError(
        "boxes of predictions fit, but never with both classes right",
        file=path,
        field="entity_1, entity_2",
        expected=f"classes such as {_some(expected)}",
        found=f"classes such as {_some(found)}",
    )


def other_boxes(
    path: Path, truth: tuple[NDArray[Any], NDArray[Any]], said: tuple[NDArray[Any], NDArray[Any]], threshold: float
) -> DataError:
    """Images are right, but no prediction has both boxes of a pair; tells the nearest, and how large boxes are.

    Args:
        path: The file.
        truth: (n, 4) boxes of the first objects of the pairs of some image, and of the second.
        said: (m, 4) those of the predictions about it.
        threshold: The IoU to exceed.
    """
    quality = np.minimum(iou_matrix(said[0], truth[0]), iou_matrix(said[1], truth[1]))
    row, pair = np.unravel_index(int(quality.argmax()), quality.shape)
    best = f"IoU {quality[row, pair]:.2f} at best"
    sizes = [f"{100 * float(np.median(area(np.concatenate(boxes)))):.1f} %" for boxes in (truth, said)]
    return DataError(
        f"no prediction has both boxes of a pair that is asked about (IoU above {threshold:g}): {best}",
        file=path,
        field="xmin, ymin, xmax, ymax of both",
        expected=f"such as {_box(truth[0][pair])} and {_box(truth[1][pair])}, {sizes[0]} of the image (median)",
        found=f"such as {_box(said[0][row])} and {_box(said[1][row])}, {sizes[1]} of the image",
    )


def _some(values: Iterable[Any]) -> str:
    return ", ".join(map(repr, islice(values, _NAMED))) or "none"


def _box(box: NDArray[Any]) -> str:
    return "(" + ", ".join(f"{edge:.3g}" for edge in box) + ")"
