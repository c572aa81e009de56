"""What is true of the scenes of a dataset, as arrays: which predicates hold, who is hidden, who is in or on whom.

Each true fact is one stored relation of the aspect *spatial* or *geometry*; what is not listed is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.scenes.labels import PREDICATES
from sightline.store import Dataset, Tables

ASPECTS: Final = ("spatial", "geometry")
HOW: Final = ("contained", "supported", "independent")
"""How an object may be placed: in another, on another, or neither."""

_DIGITS: Final = 1e4
_PLACES: Final = {"contains": 0, "supports": 1}


@dataclass(frozen=True)
class Facts:
    """The truth of one scene of n objects, in stored order.

    Attributes:
        scene_id: The scene.
        objects: Object ids.
        truth: (n, n, 8) bool, [subject, object, predicate]; the diagonal is False.
        hidden: (n,) hidden share in the scene's first view, rounded down to four digits so that only an object
            wholly hidden has 1; NaN where unknown, or outside the image.
        how: n words of `HOW`.
    """

    scene_id: str
    objects: tuple[str, ...]
    truth: NDArray[np.bool_]
    hidden: NDArray[np.float64]
    how: tuple[str, ...]


def facts_of(tables: Tables, data: Dataset) -> list[Facts]:
    """The truth of every scene that has objects, in stored order.

    Args:
        tables: The scenes to be asked about.
        data: The dataset they come from, for errors.
    """
    things = tables.objects.select("scene_id", "object_id").with_columns(
        place=pl.int_range(pl.len()).over("scene_id"), row=pl.int_range(pl.len())
    )
    true = _true_rows(tables, things, data)
    sizes = things.group_by("scene_id", maintain_order=True).len()
    n = sizes["len"].to_numpy().astype(np.int64)
    start = np.concatenate([[0], np.cumsum(n * n * len(PREDICATES))])
    scene = np.repeat(np.arange(len(n)), n)
    first = true["subject_row"].to_numpy()
    pair = true["subject_place"].to_numpy() * n[scene[first]] + true["object_place"].to_numpy()
    code = true["code"].to_numpy().astype(np.int64)
    truth = np.zeros(int(start[-1]), dtype=bool)
    truth[start[scene[first]] + pair * len(PREDICATES) + code] = True
    hidden, how = _hidden(tables, things), _how(true, len(scene))
    rows = list(pairwise(np.concatenate([[0], np.cumsum(n)]).tolist()))
    ids = things["object_id"].to_list()
    return [
        Facts(
            scene_id=name,
            objects=tuple(ids[a:b]),
            truth=truth[start[i] : start[i + 1]].reshape(b - a, b - a, len(PREDICATES)),
            hidden=hidden[a:b],
            how=tuple(HOW[place] for place in how[a:b]),
        )
        for i, (name, (a, b)) in enumerate(zip(sizes["scene_id"], rows, strict=True))
    ]


def _true_rows(tables: Tables, things: pl.DataFrame, data: Dataset) -> pl.DataFrame:
    """Relations as codes and rows of `things`; DataError where one speaks of a stranger, or in other words."""
    stored = tables.relations.filter(pl.col("aspect").is_in(ASPECTS))
    if not stored.height:
        raise DataError(
            "no spatial or geometry relations, so there is nothing to examine",
            file=data.path,
            expected="a dataset made by `sightline generate`",
        )
    codes = {word: code for code, word in enumerate(PREDICATES)}
    told = stored.select(
        "scene_id",
        "subject",
        "object",
        "predicate",
        "object_scene",
        code=pl.col("predicate").replace_strict(codes, default=None, return_dtype=pl.Int64),
    )
    for end in ("subject", "object"):
        named = things.rename({"object_id": end, "place": f"{end}_place", "row": f"{end}_row"})
        told = told.join(named, on=["scene_id", end], how="left", maintain_order="left")
    _refuse(told, pl.col("code").is_null(), "predicate", "not a predicate", ", ".join(PREDICATES), data)
    strange = pl.col("object_scene").is_not_null() | pl.col("object_row").is_null()
    _refuse(told, pl.col("subject_row").is_null(), "subject", "no such object in the scene", None, data)
    _refuse(told, strange, "object", "no such object in the scene", None, data)
    itself = pl.col("subject") == pl.col("object")
    _refuse(told, itself, "object", "an object related to itself", "another object", data)
    return told


def _refuse(
    told: pl.DataFrame, bad: pl.Expr, field: str, problem: str, expected: str | None, data: Dataset
) -> None:
    wrong = told.filter(bad).head(1)
    if wrong.height:
        row, found = wrong["scene_id"][0], wrong[field][0]
        raise DataError(problem, file=data.path, row=row, field=field, expected=expected, found=found)


def _hidden(tables: Tables, things: pl.DataFrame) -> NDArray[np.float64]:
    """(rows,) hidden share of every object in its scene's first view, NaN where unknown."""
    first = tables.views.group_by("scene_id", maintain_order=True).agg(pl.col("view_id").first())
    seen = tables.sightings.select("scene_id", "view_id", "object_id", "occluded_fraction")
    shares = seen.join(first, on=["scene_id", "view_id"], how="semi").unique(["scene_id", "object_id"])
    lined = things.join(shares, on=["scene_id", "object_id"], how="left", maintain_order="left")
    share = lined["occluded_fraction"].fill_null(float("nan")).to_numpy()
    rounded: NDArray[np.float64] = np.floor(share * _DIGITS) / _DIGITS
    return rounded


def _how(true: pl.DataFrame, n: int) -> NDArray[np.int64]:
    """(rows,) codes of `HOW`; what stands in one thing and on another counts as contained."""
    how = np.full(n, len(HOW) - 1, dtype=np.int64)
    placed = true.filter(pl.col("predicate").is_in(list(_PLACES)))
    codes = placed["predicate"].replace_strict(_PLACES, return_dtype=pl.Int64).to_numpy()
    np.minimum.at(how, placed["object_row"].to_numpy(), codes)
    return how
