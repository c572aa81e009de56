"""Boxes with viewpoints as ``sightline score viewpoint`` reads them: a JSON list, one entry a box."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.documents import read_json
from sightline.errors import DataError

MEAN: Final = "mean"
"""What scores call the mean over classes, so that no class may be called so."""

_ANGLES: Final = ("azimuth", "elevation", "theta")
_EXPECTED: Final = {
    "image": "a text",
    "class": f"a text other than {MEAN!r}",
    "score": "a number",
    "difficult": "true or false",
    **dict.fromkeys(_ANGLES, "degrees or null"),
}
_DEFAULTS: Final = {"elevation": None, "theta": None, "difficult": False}
"""What a field that is left out means; the others are needed."""


def read_view_boxes(path: Path, images: dict[str, int], *, detected: bool) -> dict[str, NDArray[Any]]:
    """Read n boxes: the columns of `stats.viewed_boxes.ViewedBoxes`; DataError names the row, from 1, and field.

    Args:
        path: The file.
        images: Image → index; images that are new are added.
        detected: Rows have ``score``; else they may have ``difficult``.
    """
    rows = read_json(path)
    if not isinstance(rows, list):
        raise DataError("not a list of boxes", file=path, expected="[…]", found=rows)
    own = ("score", np.float64) if detected else ("difficult", np.bool_)
    made: dict[str, list[Any]] = {name: [] for name in ("image", "category", "box", "angles", own[0])}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError("not a box", file=path, row=number, expected="{…}", found=row)
        for name in ("image", "class", *_ANGLES, own[0]):
            if not _fits(name, row.get(name, _DEFAULTS.get(name, ...))):
                raise _problem(path, number, row, name, _EXPECTED[name])
        box = row.get("box")
        if not isinstance(box, list) or len(box) != 4 or not all(map(_is_number, box)):
            raise _problem(path, number, row, "box", "[x1, y1, x2, y2]")
        if box[2] < box[0] or box[3] < box[1]:
            raise _problem(path, number, row, "box", "x1 ≤ x2 and y1 ≤ y2")
        made["image"].append(images.setdefault(str(row["image"]), len(images)))
        made["category"].append(row["class"])
        made["box"].append(box)
        made["angles"].append([math.nan if row.get(name) is None else row[name] for name in _ANGLES])
        made[own[0]].append(row.get(own[0], False))
    return {
        "image": np.array(made["image"], dtype=np.int64),
        "category": np.array(made["category"], dtype=object),
        "box": np.array(made["box"], dtype=np.float64).reshape(-1, 4),
        "angles": np.array(made["angles"], dtype=np.float64).reshape(-1, 3),
        own[0]: np.array(made[own[0]], dtype=own[1]),
    }


def _fits(name: str, value: object) -> bool:
    if name in ("image", "class"):
        number = name == "image" and isinstance(value, int) and not isinstance(value, bool)
        return number or (isinstance(value, str) and value != "" and (name == "image" or value != MEAN))
    if name == "difficult":
        return isinstance(value, bool)
    return _is_number(value) or (name != "score" and value is None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _problem(path: Path, number: int, row: dict[str, Any], name: str, expected: str) -> DataError:
    problem = "not fitting" if name in row else "field is missing"
    return DataError(problem, file=path, row=number, field=name, expected=expected, found=row.get(name))
