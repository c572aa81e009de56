"""Scenes of a dataset chosen and ordered by what is in them: categories, boxes, sizes, relations, flags, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import polars as pl

from sightline.errors import ConfigError
from sightline.hints import did_you_mean
from sightline.store.dataset import Dataset
from sightline.store.tables import box_share

Order = Literal["stored", "name", "boxes", "size", "relations", "categories"]
ORDERS: Final[tuple[str, ...]] = get_args(Order)


@dataclass(frozen=True)
class Selection:
    """Which scenes, and in which order; by default all, as stored.

    Attributes:
        categories: The scene has an object of each.
        relations: The scene has a relation of each predicate.
        flags: Each is told of a box: ``crowd``, ``truncated``, ``occluded``…
        boxes: Least and greatest number of boxes in one view; None for no end.
        size: Least and greatest share of its image that one box covers; of the categories, where there are any.
        search: Words that all stand in the scene's id, categories, attributes, predicates or flags.
        order: By the number of boxes (of the view with most), the largest box, the number of relations or of
            categories, greatest first; or by ``name``.
        reverse: The other way round.
    """

    categories: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    boxes: tuple[int | None, int | None] = (None, None)
    size: tuple[float | None, float | None] = (None, None)
    search: str = ""
    order: Order = "stored"
    reverse: bool = False


EVERYTHING: Final = Selection()
_WORDS: Final = pl.exclude("scene_id", "object_id")


def shares(data: Dataset) -> pl.LazyFrame:
    """Boxes with their flags and the share of its image that each covers; null where its size was never told."""
    views = data.scan("views").select("scene_id", "view_id", "units", "width", "height")
    boxes = data.scan("sightings").select("scene_id", "view_id", "object_id", "x0", "y0", "x1", "y1", "flags")
    joined = boxes.join(views, on=["scene_id", "view_id"], how="left")
    return joined.select("scene_id", "view_id", "object_id", "flags", share=box_share())


def select(data: Dataset, wanted: Selection, split: str = "") -> list[str]:
    """Ids of the scenes that fit, in the order asked for.

    Raises:
        ConfigError: For an unknown split or order, and where no object, relation or box of the whole dataset has a
            category, predicate or flag.
        DataError: Where a table cannot be read.
    """
    if wanted.order not in ORDERS:
        raise ConfigError(f"unknown order {wanted.order!r}: choose one of {', '.join(ORDERS)}")
    if split and split not in data.splits:
        raise ConfigError(f"{data.path} has no split {split!r}: it has {', '.join(data.splits) or 'none'}")
    views = data.scan("views").select("scene_id", "split")
    views = views.filter(pl.col("split") == split) if split else views
    kept = views.select("scene_id").unique(maintain_order=True).with_row_index("place").collect()
    objects = data.scan("objects").select("scene_id", "object_id", "category", "attributes")
    relations = data.scan("relations").select("scene_id", "predicate").drop_nulls()
    boxes = shares(data)
    flagged = boxes.select("scene_id", flag="flags").explode("flag").drop_nulls()
    for names, table, column, said in (
        (wanted.categories, objects, "category", "no object is a"),
        (wanted.relations, relations, "predicate", "no relation is"),
        (wanted.flags, flagged, "flag", "no box is flagged"),
    ):
        kept = _having(kept, table, column, names, said)
    if wanted.boxes != (None, None):
        found = kept.join(_most_boxes(boxes).collect(), on="scene_id", how="left", maintain_order="left")
        kept = found.filter(_between(pl.col("by").fill_null(0), wanted.boxes)).select("scene_id", "place")
    if wanted.size != (None, None):
        of = boxes.join(objects, on=["scene_id", "object_id"], how="left")
        of = of.filter(pl.col("category").is_in(wanted.categories)) if wanted.categories else of
        fits = of.filter(_between(pl.col("share"), wanted.size)).select("scene_id").unique().collect()
        kept = kept.join(fits, on="scene_id", how="semi", maintain_order="left")
    if wanted.search.strip():
        kept = _searched(kept, wanted.search, objects, relations, flagged)
    ids = _ordered(kept, wanted.order, boxes, relations, objects)
    return ids[::-1] if wanted.reverse else ids


def _having(kept: pl.DataFrame, table: pl.LazyFrame, column: str, names: Sequence[str], said: str) -> pl.DataFrame:
    for name in names:
        scenes = table.filter(pl.col(column) == name).select("scene_id").unique().collect()
        if scenes.is_empty():
            known = table.select(column).unique().collect()[column].drop_nulls().to_list()
            raise ConfigError(f"{said} {name!r}{did_you_mean(name, known)}")
        kept = kept.join(scenes, on="scene_id", how="semi", maintain_order="left")
    return kept


def _most_boxes(boxes: pl.LazyFrame) -> pl.LazyFrame:
    """Scene → boxes of the view that has most."""
    return boxes.group_by("scene_id", "view_id").len("by").group_by("scene_id").agg(pl.col("by").max())


def _between(value: pl.Expr, ends: tuple[float | None, float | None]) -> pl.Expr:
    low, high = ends
    return (value >= (float("-inf") if low is None else low)) & (value <= (float("inf") if high is None else high))


def _searched(kept: pl.DataFrame, search: str, *tables: pl.LazyFrame) -> pl.DataFrame:
    """Scenes in whose words, of all tables together, every word of the search stands."""
    texts = [
        table.select("scene_id", text=pl.concat_str(_WORDS, separator=" ", ignore_nulls=True))
        .group_by("scene_id")
        .agg(pl.col("text").unique().str.join(" "))
        .collect()
        for table in tables
    ]
    words = pl.concat([kept.select("scene_id", pl.col("scene_id").alias("text")), *texts])
    text = pl.col("text").str.join(" ").str.to_lowercase().str.replace_all("_", " ")
    whole = words.group_by("scene_id").agg(text)
    for word in search.lower().replace("_", " ").split():
        whole = whole.filter(pl.col("text").str.contains(word, literal=True))
    return kept.join(whole, on="scene_id", how="semi", maintain_order="left")


def _ordered(
    kept: pl.DataFrame, order: Order, boxes: pl.LazyFrame, relations: pl.LazyFrame, objects: pl.LazyFrame
) -> list[str]:
    if order == "stored":
        return kept["scene_id"].to_list()
    if order == "name":
        return sorted(kept["scene_id"])
    if order == "boxes":
        table = _most_boxes(boxes)
    elif order == "size":
        table = boxes.group_by("scene_id").agg(pl.col("share").max().alias("by"))
    elif order == "relations":
        table = relations.group_by("scene_id").agg(pl.len().alias("by"))
    else:
        table = objects.group_by("scene_id").agg(pl.col("category").n_unique().alias("by"))
    found = kept.join(table.collect(), on="scene_id", how="left")
    return found.sort(["by", "place"], descending=[True, False], nulls_last=True)["scene_id"].to_list()
