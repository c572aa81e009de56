"""2.5VRD's files as its evaluator takes them: labels only, votes never looked at, pairs in file order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.store.formats.bulk import ObjectIndex, extend, give_back
from sightline.store.formats.csvio import (
    BLOCK,
    FIRST_ROW,
    NUMBER,
    TEXT,
    Column,
    code,
    csv_blocks,
    refuse,
    refuse_boxes,
    write_csvs,
)
from sightline.store.formats.vrd25_files import (
    BOX,
    DISTANCE,
    LABEL_COLUMNS,
    OBJECT_COLUMNS,
    OCCLUSION,
    VOTE_COLUMNS,
    ends_of,
    index_objects,
    refuse_repeated_pairs,
)

_END_1: Final = ("image_id_1", "entity_1", *(f"{side}_1" for side in BOX))
_END_2: Final = ("image_id_2", "entity_2", *(f"{side}_2" for side in BOX))
_PREDICTION_COLUMNS: Final[dict[str, Column]] = {
    **{name: NUMBER if name[0] in "xy" else TEXT for name in (*_END_1, *_END_2)},
    "occlusion": code(OCCLUSION),
    "distance": code(DISTANCE),
}
_OURS: Final = {
    "image_a": "image_id_1",
    "image_b": "image_id_2",
    "a_x0": "xmin_1",
    "a_y0": "ymin_1",
    "a_x1": "xmax_1",
    "a_y1": "ymax_1",
    "b_x0": "xmin_2",
    "b_y0": "ymin_2",
    "b_x1": "xmax_2",
    "b_y1": "ymax_2",
    "depth": "distance",
    "occlusion": "occlusion",
}
"""Our column → the evaluator's."""
_OUR_PREDICTIONS: Final = {**_OURS, "category_a": "entity_1", "category_b": "entity_2"}


def read_scoring_truth(objects_csv: str | Path, vrd_csv: str | Path) -> pl.DataFrame:
    """The annotated pairs with their boxes.

    Columns: image_a, image_b (str), a_x0 … b_y1 (f64, fractions of the image), depth and occlusion (Int8 codes of
    `Depth` and `Occlusion`, −1 where the raters found no majority).
    """
    return pl.concat(scoring_truth_blocks(objects_csv, vrd_csv))


def scoring_truth_blocks(
    objects_csv: str | Path, vrd_csv: str | Path, *, block: int = BLOCK
) -> Iterator[pl.DataFrame]:
    """Like `read_scoring_truth`, in consecutive frames of some `block` bytes of text each.

    That no pair stands twice is known, and said, only after the last one.
    """
    path = Path(vrd_csv)
    index, boxes = _indexed_objects(Path(objects_csv), block)
    first, second = (np.empty(0, dtype=np.int32) for _ in "12")
    for line, pairs in csv_blocks(path, LABEL_COLUMNS, ignored=VOTE_COLUMNS, block=block):
        ends = ends_of(pairs, index, path, line)
        extend(first, ends[0])
        extend(second, ends[1])
        sides = [
            pl.Series(f"{side}_{end}", boxes[rows, j])
            for end, rows in zip("12", ends, strict=True)
            for j, side in enumerate(BOX)
        ]
        yield pairs.with_columns(sides).select(pl.col(theirs).alias(ours) for ours, theirs in _OURS.items())
    refuse_repeated_pairs(first, second, index, path)
    del index, boxes, first, second
    give_back()


def _indexed_objects(path: Path, block: int) -> tuple[ObjectIndex, NDArray[np.float64]]:
    """The objects file as an index and boxes (n, 4), columns as in `BOX`."""
    boxes = np.empty((0, len(BOX)))

    def checked() -> Iterator[pl.DataFrame]:
        for line, objects in csv_blocks(path, OBJECT_COLUMNS, block=block):
            refuse_boxes(objects, BOX, file=path, line=line)
            extend(boxes, objects.select(BOX).to_numpy())
            yield objects

    return index_objects(checked(), path), boxes


def read_predictions(csv: str | Path) -> pl.DataFrame:
    """A predictions file; no row at all is a model that said nothing.

    Columns: those of `read_scoring_truth` (labels 0…3 only), then category_a and category_b (str).
    """
    return pl.concat(prediction_blocks(csv))


def prediction_blocks(csv: str | Path, *, block: int = BLOCK) -> Iterator[pl.DataFrame]:
    """Like `read_predictions`, in consecutive frames of some `block` bytes of text each."""
    path = Path(csv)
    for line, rows in csv_blocks(path, _PREDICTION_COLUMNS, needs_rows=False, block=block):
        yield _checked(rows, path, line).select(
            pl.col(theirs).alias(ours) for ours, theirs in _OUR_PREDICTIONS.items()
        )


def write_predictions(frame: pl.DataFrame, path: str | Path) -> None:
    """Write predictions, a frame as `read_predictions` gives, for 2.5VRD's evaluator."""
    target = Path(path)
    for ours in _OUR_PREDICTIONS:
        if ours not in frame.columns:
            raise DataError("predictions lack a column", file=target, field=ours, found=", ".join(frame.columns))
    theirs = frame.select(pl.col(ours).alias(name) for ours, name in _OUR_PREDICTIONS.items())
    rows = theirs.select(*_PREDICTION_COLUMNS)
    for name, column in _PREDICTION_COLUMNS.items():
        unreadable = column.parse(pl.col(name).cast(pl.String)).is_null()
        refuse(rows, unreadable, column.problem, file=target, field=name, expected=column.expected)
    write_csvs({target: _checked(rows, target)})


def _checked(rows: pl.DataFrame, path: Path, line: int = FIRST_ROW) -> pl.DataFrame:
    refuse_boxes(rows, ("xmin_1", "xmax_1", "ymin_1", "ymax_1"), file=path, line=line)
    refuse_boxes(rows, ("xmin_2", "xmax_2", "ymin_2", "ymax_2"), file=path, line=line)
    return rows
