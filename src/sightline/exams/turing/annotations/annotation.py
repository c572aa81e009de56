"""What a dataset knows of its images, in the words of a vocabulary.

An image is one view of a scene. Its objects are those whose category belongs to a type and of which something is
seen there: they have a sighting that is not flagged ``hidden``, and their visible mask, or where there is none
their box, covers some of the image. Where that is too little to rest an answer on (`visibility`) it is ambiguous
whether the object is seen. What is neither said nor denied stays open, unless the vocabulary (`absent`) or
the caller (`closed`) reads silence as no. Depth and occlusion have one answer a pair: another answer denies, and
"unsure" or no majority leaves it open under any facts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.exams.turing.annotations import facts, visibility
from sightline.exams.turing.annotations.columns import OF_OBJECTS, OF_PAIRS, Columns, packed, widths
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.store import Dataset
from sightline.store.tables import POLARS_ERRORS

_BLOCK: Final = 10_000  # scenes read at a time
_CROWD: Final = ("group", "crowd")
_BOX: Final = ("x0", "y0", "x1", "y1")

Bools = NDArray[np.bool_]


def annotate(
    dataset: Dataset,
    vocabulary: Vocabulary,
    *,
    split: str | None = None,
    view: str | None = None,
    closed: bool = False,
    scenes: Collection[str] | None = None,
) -> Columns:
    """The images of a dataset as columns, in stored order.

    With ``extent: boxes`` the largest x1 and y1 of an image's boxes stand for its size where that was never told;
    boxes in fractions of the image are taken as they are.

    Args:
        dataset: Where they are.
        vocabulary: What is asked for.
        split: Only scenes of it.
        view: Name of the view to look at, scenes without it are left out; by default each scene's first.
        closed: Read silence as no everywhere.
        scenes: Only scenes with these ids.

    Raises:
        ConfigError: Unknown split.
        DataError: No scene is left, an unknown scene, a view whose size is needed and was never told, a relation
            with an object that is not there, or a broken mask.
    """
    views = _views(dataset, split, view, scenes)
    return _joined([_block(dataset, part, vocabulary, closed) for part in views.iter_slices(_BLOCK)])


def _views(dataset: Dataset, split: str | None, view: str | None, scenes: Collection[str] | None) -> pl.DataFrame:
    """One row an image: scene_id, view_id, width, height, units."""
    if split is not None and split not in dataset.splits:
        raise ConfigError(f"{dataset.path} has no split {split!r}: it has {', '.join(dataset.splits) or 'none'}")
    rows = dataset.scan("views").select("scene_id", "split", "view_id", "width", "height", "units")
    if scenes is not None:
        rows = rows.filter(pl.col("scene_id").is_in(sorted(scenes)))
    views = _collected(rows, dataset, "views")
    missing = sorted(set(scenes or ()) - set(views["scene_id"]))
    if missing:
        raise DataError("no such scene", file=dataset.path, field="scene_id", found=missing[0])
    if split is not None:
        views = views.filter(pl.col("split") == split)
    if view is not None:
        views = views.filter(pl.col("view_id") == view)
    if views.is_empty():
        chosen = [f"{name} {value!r}" for name, value in (("split", split), ("view", view)) if value is not None]
        raise DataError(f"no scene is left{' with ' + ' and '.join(chosen) if chosen else ''}", file=dataset.path)
    return views.unique("scene_id", keep="first", maintain_order=True)


def _block(dataset: Dataset, views: pl.DataFrame, vocabulary: Vocabulary, closed: bool) -> Columns:
    views = views.with_row_index("image")
    everything = _rows(dataset, "objects", ["object_id", "category", "attributes"], views)
    everything = everything.with_row_index("row")
    sightings = _sightings(dataset, views)
    frame, seen, glimpsed = _visible(everything, sightings, views, vocabulary)
    stored = _stored_relations(dataset, views, everything, vocabulary)
    shown = sightings.filter(~pl.col("flags").list.contains("hidden"))
    visible = everything.join(shown, on=["image", "object_id"], how="semi")["row"].to_numpy()
    visible = np.setdiff1d(visible, frame["row"].to_numpy()[~seen[:, 0]])
    things = facts.KnownObjects(frame, everything["category"], stored, closed, visible)
    starts = np.searchsorted(frame["image"].to_numpy(), np.arange(views.height + 1)).astype(np.int64)
    pairs = facts.ImagePairs.of(starts)
    yes, no = facts.attributes(things, vocabulary)
    holds, fails = facts.relations(things, pairs, vocabulary)
    return Columns(
        ids=views["scene_id"].to_numpy().astype(object),
        starts=starts,
        objects=frame["object_id"].to_numpy().astype(object),
        types=things.types,
        crowd=_flagged(frame, _CROWD),
        yes=yes,
        no=no,
        seen=packed(seen)[:, 0],
        pair_starts=pairs.starts,
        holds=holds,
        fails=fails,
        glimpsed=packed(glimpsed)[:, 0],
        **widths(vocabulary),
    )


def _rows(
    dataset: Dataset, table: str, columns: Sequence[str], views: pl.DataFrame, where: pl.Expr | None = None
) -> pl.DataFrame:
    """Rows of the chosen scenes in stored order, ``image`` (row of `views`) in place of the scene's id."""
    ids = views["scene_id"]
    rows = dataset.scan(table).filter(pl.col("scene_id").is_between(pl.lit(ids.min()), pl.lit(ids.max())))
    if where is not None:
        rows = rows.filter(where)
    chosen = views.lazy().select("scene_id", "image")
    rows = rows.select("scene_id", *columns).join(chosen, on="scene_id", how="inner", maintain_order="left")
    return _collected(rows.drop("scene_id"), dataset, table)


def _collected(rows: pl.LazyFrame, dataset: Dataset, table: str) -> pl.DataFrame:
    try:
        return rows.collect()
    except (*POLARS_ERRORS, OSError) as error:
        raise DataError(f"table cannot be read: {error}", file=dataset.path, field=table) from error


def _sightings(dataset: Dataset, views: pl.DataFrame) -> pl.DataFrame:
    """What is seen in the chosen views, an object once."""
    columns = ["view_id", "object_id", *_BOX, "visible_mask", "occluded_fraction", "flags"]
    rows = _rows(dataset, "sightings", columns, views)
    chosen = views.select("image", "view_id")
    rows = rows.join(chosen, on=["image", "view_id"], how="semi", maintain_order="left")
    return rows.drop("view_id").unique(["image", "object_id"], keep="first", maintain_order=True)


def _visible(
    everything: pl.DataFrame, sightings: pl.DataFrame, views: pl.DataFrame, vocabulary: Vocabulary
) -> tuple[pl.DataFrame, Bools, Bools]:
    """The objects of a type of which something is seen, (n, W) in which regions, and where hardly anything is."""
    types = {category: t for t, kind in enumerate(vocabulary.types) for category in kind.categories}
    typed = everything.with_columns(
        type=pl.col("category").replace_strict(types, default=None, return_dtype=pl.Int16)
    ).filter(pl.col("type").is_not_null())
    objects = typed.join(sightings, on=["image", "object_id"], how="inner", maintain_order="left")
    objects = objects.filter(~pl.col("flags").list.contains("hidden"))
    seen, glimpsed = _seen(objects, sightings, views, vocabulary)
    in_image = seen[:, 0] | glimpsed[:, 0]
    fractions = (views["units"] == "normalised").to_numpy()[objects["image"].to_numpy()]
    objects = objects.with_columns(fractions=pl.Series(fractions))
    return objects.filter(pl.Series(in_image)), seen[in_image], glimpsed[in_image]


def _seen(
    objects: pl.DataFrame, sightings: pl.DataFrame, views: pl.DataFrame, vocabulary: Vocabulary
) -> tuple[Bools, Bools]:
    """(n, W) whether each object is partly visible in each region; and whether too little of it is."""
    images = objects["image"].to_numpy()
    sizes = views.select("width", "height").to_numpy().astype(np.float64)  # NaN where never told
    fractions = (views["units"] == "normalised").to_numpy()
    masked = objects["visible_mask"].is_not_null().to_numpy()
    pixels = sizes if vocabulary.extent == "size" else _box_extents(sightings, sizes, fractions)
    _require(np.isnan(sizes[images, 0]) & masked, objects, views, "its masks")
    _require(np.isnan(pixels[images, 0]) & ~fractions[images], objects, views, "regions of it")
    regions = np.array([region.box for region in vocabulary.regions], dtype=np.float64).reshape(-1, 4)
    extents = np.where((fractions[images] & ~masked)[:, None], 1.0, pixels[images])
    edges = visibility.edges(regions, extents)
    boxes = objects.select(_BOX).to_numpy()
    margins = np.where(fractions[images] & ~masked, visibility.SHARE, visibility.PIXELS)
    touched, seen = visibility.boxes_in(boxes, edges), visibility.boxes_in(boxes, edges, margins)
    if masked.any():
        masks = objects["visible_mask"].drop_nulls().to_list()
        counts, bad = visibility.pixels_in(masks, sizes[images[masked]].astype(np.int64), edges[masked])
        touched[masked], seen[masked] = counts > 0, counts >= visibility.ENOUGH
        if bad is not None:
            row = objects.filter(pl.Series(masked)).row(bad, named=True)
            scene = views["scene_id"][row["image"]]
            raise DataError("run lengths are no mask of the view's size", row=scene, field="visible_mask")
    return seen, touched & ~seen


def _box_extents(sightings: pl.DataFrame, sizes: NDArray[np.float64], fractions: Bools) -> NDArray[np.float64]:
    """(N, 2) how far the boxes of each image reach from its top left corner; its size where that was told."""
    reach = np.zeros_like(sizes)
    images = sightings["image"].to_numpy()
    np.maximum.at(reach, images, sightings.select("x1", "y1").to_numpy())
    return np.where(fractions[:, None] | ~np.isnan(sizes), sizes, reach)


def _require(missing: Bools, objects: pl.DataFrame, views: pl.DataFrame, what: str) -> None:
    if missing.any():
        scene = views["scene_id"][int(objects["image"][int(np.argmax(missing))])]
        problem = f"the view's size was never told, and {what} need it"
        raise DataError(problem, row=scene, field="size", expected="a size, or a vocabulary with `extent: boxes`")


def _stored_relations(
    dataset: Dataset, views: pl.DataFrame, everything: pl.DataFrame, vocabulary: Vocabulary
) -> facts.StoredRelations:
    """Relations within one image, and of the chosen view where they depend on it."""
    within = pl.col("object_scene").is_null() | (pl.col("object_scene") == pl.col("scene_id"))
    columns = ["subject", "object", "aspect", "predicate", "view_id"]
    rows = _rows(dataset, "relations", columns, views, within & facts.wanted_relations(vocabulary))
    if rows["view_id"].null_count() < rows.height:
        shown = views.select("image", shown="view_id")
        rows = rows.join(shown, on="image", maintain_order="left")
        rows = rows.filter(pl.col("view_id").is_null() | (pl.col("view_id") == pl.col("shown")))
    for end in ("subject", "object"):
        places = everything.select("image", pl.col("object_id").alias(end), pl.col("row").alias(f"{end}_row"))
        rows = rows.join(places, on=["image", end], how="left", maintain_order="left")
        stranger = rows.filter(pl.col(f"{end}_row").is_null()).head(1)
        if stranger.height:
            scene, named = views["scene_id"][stranger["image"][0]], stranger[end][0]
            problem = "relation with an object that is not there"
            raise DataError(problem, file=dataset.path, row=scene, field=end, found=named)
    return facts.stored_relations(rows.select("aspect", "predicate", subject="subject_row", object="object_row"))


def _flagged(frame: pl.DataFrame, flags: Sequence[str]) -> Bools:
    return (frame["flags"].list.set_intersection(list(flags)).list.len() > 0).to_numpy()


def _joined(parts: Sequence[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    flat = ("ids", *OF_OBJECTS, *OF_PAIRS, "glimpsed")
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in flat}
    for name in ("starts", "pair_starts"):
        sizes = np.concatenate([np.diff(getattr(part, name)) for part in parts])
        columns[name] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return replace(parts[0], **columns)
