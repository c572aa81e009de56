"""2.5VRD's files as its evaluator takes them: labels only, votes never looked at, pairs in file order."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from sightline.errors import DataError
from sightline.store.formats.csvio import NUMBER, TEXT, Column, code, read_csv, refuse, refuse_boxes, write_csvs
from sightline.store.formats.vrd25_files import (
    BOX,
    DISTANCE,
    LABEL_COLUMNS,
    OCCLUSION,
    VOTE_COLUMNS,
    check_ends,
    read_objects,
)

_END_1: Final = ("image_id_1", "entity_1", *(f"{side}_1" for side in BOX))
_END_2: Final = ("image_id_2", "entity_2", *(f"{side}_2" for side in BOX))
_PREDICTION_COLUMNS: Final[dict[str, Column]] = {
    **{name: NUMBER if name[0] in "xy" else TEXT for name in (*_END_1, *_END_2)},
    "occlusion": code(OCCLUSION),
    "distance": code(DISTANCE),
}
_OURS: Final = {
    "image_a": "image_id_1", "image_b": "image_id_2",
    "a_x0": "xmin_1", "a_y0": "ymin_1", "a_x1": "xmax_1", "a_y1": "ymax_1",
    "b_x0": "xmin_2", "b_y0": "ymin_2", "b_x1": "xmax_2", "b_y1": "ymax_2",
    "depth": "distance", "occlusion": "occlusion",
}  # fmt: skip
"""Our column → the evaluator's."""
_OUR_PREDICTIONS: Final = {**_OURS, "category_a": "entity_1", "category_b": "entity_2"}


def read_scoring_truth(objects_csv: str | Path, vrd_csv: str | Path) -> pl.DataFrame:
    """The annotated pairs with their boxes.

    Columns: image_a, image_b (str), a_x0 … b_y1 (f64, fractions of the image), depth and occlusion (Int8 codes of
    `Depth` and `Occlusion`, −1 where the raters found no majority).
    """
    objects, path = read_objects(Path(objects_csv)), Path(vrd_csv)
    pairs = check_ends(read_csv(path, LABEL_COLUMNS, ignored=VOTE_COLUMNS), objects, path)
    for end in ("1", "2"):
        boxes = objects.select(
            pl.col("image_id", "object_id").name.suffix(f"_{end}"), pl.col(*BOX).name.suffix(f"_{end}")
        )
        pairs = pairs.join(boxes, on=[f"image_id_{end}", f"object_id_{end}"], how="left", maintain_order="left")
    return pairs.select(pl.col(theirs).alias(ours) for ours, theirs in _OURS.items())


def read_predictions(csv: str | Path) -> pl.DataFrame:
    """A predictions file; no row at all is a model that said nothing.

    Columns: those of `read_scoring_truth` (labels 0…3 only), then category_a and category_b (str).
    """
    path = Path(csv)
    rows = _checked(read_csv(path, _PREDICTION_COLUMNS, needs_rows=False), path)
    return rows.select(pl.col(theirs).alias(ours) for ours, theirs in _OUR_PREDICTIONS.items())


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


def _checked(rows: pl.DataFrame, path: Path) -> pl.DataFrame:
    refuse_boxes(rows, ("xmin_1", "xmax_1", "ymin_1", "ymax_1"), file=path)
    refuse_boxes(rows, ("xmin_2", "xmax_2", "ymin_2", "ymax_2"), file=path)
    return rows
