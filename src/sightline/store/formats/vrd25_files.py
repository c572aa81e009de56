"""The two files of 2.5VRD, objects and pairs, as checked frames. `vrd25` turns these into scenes and back.

A pair's labels speak of (first, second): distance −1 no majority, 0 unsure, 1 first is closer, 2 second is closer,
3 same; occlusion −1 no majority, 0 none, 1 first occludes second, 2 second occludes first, 3 mutual.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

import numpy as np
import polars as pl

from sightline.errors import DataError
from sightline.scenes import NO_MAJORITY, Depth, Occlusion
from sightline.store.formats.bulk import Ints, ObjectIndex
from sightline.store.formats.csvio import (
    FIRST_ROW,
    NUMBER,
    TEXT,
    Column,
    code,
    code_list,
    read_csv,
    refuse,
    refuse_boxes,
)

Setting = Literal["within_image", "across_images"]

DISTANCE: Final[dict[str, Depth | Occlusion]] = {
    "0": Depth.UNSURE,
    "1": Depth.CLOSER,
    "2": Depth.FARTHER,
    "3": Depth.SAME,
}
OCCLUSION: Final[dict[str, Depth | Occlusion]] = {
    "0": Occlusion.NONE,
    "1": Occlusion.OCCLUDES,
    "2": Occlusion.OCCLUDED,
    "3": Occlusion.MUTUAL,
}
NOBODY: Final = {"-1": NO_MAJORITY}

BOX: Final = ("xmin", "xmax", "ymin", "ymax")
OBJECT_COLUMNS: Final[dict[str, Column]] = {
    "image_id": TEXT,
    "object_id": TEXT,
    "entity": TEXT,
    **dict.fromkeys(BOX, NUMBER),
}
ENDS: Final = ("image_id_1", "object_id_1", "image_id_2", "object_id_2")
LABEL_COLUMNS: Final[dict[str, Column]] = {
    **dict.fromkeys(ENDS, TEXT),
    "distance": code({**NOBODY, **DISTANCE}),
    "occlusion": code({**NOBODY, **OCCLUSION}),
}
VOTE_COLUMNS: Final[dict[str, Column]] = {
    "raw_distance": code_list({cell: label.word for cell, label in DISTANCE.items()}),
    "raw_occlusion": code_list({cell: label.word for cell, label in OCCLUSION.items()}),
}


def read_objects(path: Path) -> pl.DataFrame:
    """The objects file: image_id, object_id, entity, and the box in fractions of the image (f64)."""
    return check_objects(read_csv(path, OBJECT_COLUMNS), path)


def read_pairs(path: Path, objects: pl.DataFrame, setting: Setting) -> pl.DataFrame:
    """The pairs file of an import: ids, distance and occlusion as Int8 codes, votes as lists of words."""
    pairs = read_csv(path, LABEL_COLUMNS | VOTE_COLUMNS)
    check_ends(pairs, objects, path)
    return check_votes(pairs, setting, path)


def check_objects(objects: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The same frame, once boxes are real boxes and no object stands twice."""
    refuse_boxes(objects, BOX, file=path)
    index_objects([objects], path)
    return objects


def index_objects(blocks: Iterable[pl.DataFrame], path: Path) -> ObjectIndex:
    """Where each object stands in the objects file, once none stands there twice."""
    index = ObjectIndex(blocks)
    row = index.first_repeat()
    if row is not None:
        raise DataError(
            "object stands twice",
            file=path,
            row=FIRST_ROW + row,
            field="image_id, object_id",
            expected="each once",
            found=", ".join(index.name(row)),
        )
    return index


def check_ends(pairs: pl.DataFrame, objects: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The same frame, once the ends of every pair are known and differ, and no pair stands twice or reversed."""
    index = ObjectIndex([objects])
    refuse_repeated_pairs(*ends_of(pairs, index, path), index, path)
    return pairs


def ends_of(pairs: pl.DataFrame, index: ObjectIndex, path: Path, line: int = FIRST_ROW) -> tuple[Ints, Ints]:
    """Rows of the objects file of both ends, once all are known and no object is paired with itself.

    Args:
        pairs: Consecutive rows of the pairs file.
        index: Of the objects file.
        path: The pairs file.
        line: Line number of the first of the rows.
    """
    first, second = (index.rows(pairs[f"image_id_{end}"], pairs[f"object_id_{end}"]) for end in ("1", "2"))
    for end, rows in (("1", first), ("2", second)):
        refuse(
            pairs,
            pl.lit(pl.Series(rows < 0)),
            "unknown object",
            file=path,
            line=line,
            field=f"image_id_{end}, object_id_{end}",
            expected="an object of the objects file",
        )
    refuse(
        pairs,
        pl.lit(pl.Series(first == second)),
        "object paired with itself",
        file=path,
        line=line,
        field=", ".join(ENDS),
        expected="two",
    )
    return first, second


def refuse_repeated_pairs(first: Ints, second: Ints, index: ObjectIndex, path: Path) -> None:
    """Raise a DataError for the first pair that stands further up already, either way round.

    Args:
        first: First end of every row of the pairs file, as `ends_of` gives it.
        second: Second end.
        index: Of the objects file.
        path: The pairs file.
    """
    key = np.minimum(first, second).astype(np.int64)
    key *= len(index)
    key += np.maximum(first, second)
    ordered = np.sort(key)
    if not np.any(ordered[1:] == ordered[:-1]):
        return
    row = int(np.setdiff1d(np.arange(len(key)), np.unique(key, return_index=True)[1])[0])
    raise DataError(
        "pair stands twice",
        file=path,
        row=FIRST_ROW + row,
        field=", ".join(ENDS),
        expected="each pair once, either way round",
        found=", ".join((*index.name(int(first[row])), *index.name(int(second[row])))),
    )


def check_votes(pairs: pl.DataFrame, setting: Setting, path: Path) -> pl.DataFrame:
    """The same frame, once pairs fit their setting and every label is the strict majority of its votes."""
    same = pl.col("image_id_1") == pl.col("image_id_2")
    images = "image_id_1, image_id_2"
    if setting == "within_image":
        refuse(
            pairs, ~same, "pair of two images in a within-image file", file=path, field=images, expected="the same"
        )
    else:
        refuse(pairs, same, "pair of one image in an across-images file", file=path, field=images, expected="two")
        none = Occlusion.NONE
        hidden = pl.col("occlusion") != none
        refuse(pairs, hidden, "occlusion across images", file=path, field="occlusion", expected=f"{none:d}, none")
        voted = pl.col("raw_occlusion").list.count_matches(none.word) < pl.col("raw_occlusion").list.len()
        refuse(
            pairs,
            voted,
            "occlusion across images",
            file=path,
            field="raw_occlusion",
            expected=f"{none:d}, none",
            found=pl.col("raw_occlusion").list.join(","),
        )
    for label, labels in (("distance", Depth), ("occlusion", Occlusion)):
        votes = pl.col(f"raw_{label}")
        refuse(
            pairs,
            pl.col(label) != _majority(votes, labels),
            "votes contradict the label",
            file=path,
            field=label,
            expected=f"the strict majority of raw_{label}, or {NO_MAJORITY} where there is none",
            found=pl.format("{} for {}", pl.col(label), votes.list.join(",")),
        )
    return pairs


def _majority(votes: pl.Expr, labels: type[Depth] | type[Occlusion]) -> pl.Expr:
    """Code that more than half of the votes name, else NO_MAJORITY."""
    winners = [
        pl.when(votes.list.count_matches(label.word) * 2 > votes.list.len()).then(pl.lit(int(label), pl.Int8))
        for label in labels
    ]
    return pl.coalesce(*winners, pl.lit(NO_MAJORITY, pl.Int8))
