"""Scenes of other sources as 2.5VRD has them: generated ones, or of another format with depth and occlusion."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from sightline.errors import DataError
from sightline.store.schema import usual_split
from sightline.store.tables import Tables

_ENDS = ["scene_id", "subject", "other", "object"]


def fitted(tables: Tables) -> Iterator[Tables]:
    """Fit scenes into the format, those with pairs within an image first, then those with pairs across two.

    Each scene keeps its first view; boxes become fractions of it, and a label that was never voted on becomes the
    one vote for it. A pair is written once, and within an image only with both labels, since the format has no
    other; objects that the view does not show, or shows no part of, are left out, as the exam leaves them out. A
    split goes by the one of the format's three that its name begins with; without a split it is the test split.

    Raises:
        DataError: Where a split is none of those, a view has boxes in pixels and no size, or nothing is left.
    """
    views = tables.views.unique("scene_id", keep="first", maintain_order=True)
    named = {name: usual_split(name) if name else "test" for name in views["split"].unique()}
    for name, ours in named.items():
        if ours is None:
            expected = "names that begin with train, val or test"
            raise DataError("2.5VRD has no such split", field="split", expected=expected, found=name)
    views = views.with_columns(split=pl.col("split").replace_strict(named))
    sightings = _in_fractions(tables.sightings, views)
    pairs = _pairs(tables.relations, views, sightings)
    found = False
    for setting, inside in (("within_image", True), ("across_images", False)):
        chosen = pairs.filter((pl.col("other") == pl.col("scene_id")) == inside)
        if inside:
            both = chosen.group_by(_ENDS).agg(pl.col("aspect").n_unique() == 2).filter("aspect")
            chosen = chosen.join(both.select(_ENDS), on=_ENDS, how="semi", maintain_order="left")
        else:
            chosen = chosen.filter(pl.col("aspect") == "depth")
        if not chosen.height:
            continue
        found = True
        used = pl.concat([chosen["scene_id"], chosen["other"]]).unique()
        shown = sightings.filter(pl.col("scene_id").is_in(used.implode()))
        yield Tables(
            views.filter(pl.col("scene_id").is_in(used.implode())).with_columns(
                source=pl.lit(setting), units=pl.lit("normalised")
            ),
            tables.objects.join(shown, on=["scene_id", "object_id"], how="semi", maintain_order="left"),
            shown,
            chosen.select(tables.relations.columns),
        )
    if not found:
        raise DataError(
            "there are no depth and occlusion labels to write",
            expected="scenes whose relations have both, as generated ones do",
        )


def _in_fractions(sightings: pl.DataFrame, views: pl.DataFrame) -> pl.DataFrame:
    """What is seen in each scene's own view, boxes in fractions of it."""
    shown = views.select("scene_id", "view_id", "width", "height", "units")
    visible = sightings.filter(~pl.col("flags").list.contains("hidden"))
    seen = visible.join(shown, on=["scene_id", "view_id"], how="inner", maintain_order="left")
    sizeless = seen.filter((pl.col("units") != "normalised") & pl.col("width").is_null())
    if sizeless.height:
        problem = "the format needs the image size, which the source never told"
        raise DataError(problem, row=sizeless["scene_id"][0], field="size")
    whole = pl.col("units") == "normalised"
    sides = {
        side: pl.when(whole).then(pl.col(side)).otherwise(pl.col(side) / pl.col(length))
        for side, length in {"x0": "width", "x1": "width", "y0": "height", "y1": "height"}.items()
    }
    return seen.with_columns(**sides).select(sightings.columns)


def _pairs(relations: pl.DataFrame, views: pl.DataFrame, sightings: pl.DataFrame) -> pl.DataFrame:
    """Depth and occlusion labels of pairs that are seen, each pair once: the way round it stands first."""
    own = views.select("scene_id", own_view="view_id")
    labels = (
        relations.filter(pl.col("aspect").is_in(["depth", "occlusion"]))
        .join(own, on="scene_id", how="inner", maintain_order="left")
        .filter(pl.col("view_id").is_null() | (pl.col("view_id") == pl.col("own_view")))
        .with_columns(other=pl.col("object_scene").fill_null(pl.col("scene_id")))
    )
    seen = sightings.select("scene_id", "object_id")
    for scene, thing in (("scene_id", "subject"), ("other", "object")):
        ends = seen.rename({"scene_id": scene, "object_id": thing})
        labels = labels.join(ends, on=[scene, thing], how="semi", maintain_order="left")
    first, second = pl.struct("scene_id", "subject"), pl.struct(scene_id="other", subject="object")
    key = pl.concat_list(first, second).list.sort()
    vote = pl.when(pl.col("votes").list.len() == 0).then(pl.concat_list("predicate")).otherwise(pl.col("votes"))
    written = labels.with_columns(key=key).with_columns(
        votes=pl.when(pl.col("predicate").is_null()).then(pl.col("votes")).otherwise(vote),
        kept=(pl.col("scene_id").first().over("key") == pl.col("scene_id"))
        & (pl.col("subject").first().over("key") == pl.col("subject")),
    )
    return written.filter("kept").unique([*_ENDS, "aspect"], keep="first", maintain_order=True)
