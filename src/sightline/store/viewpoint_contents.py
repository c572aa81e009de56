"""Counts of objects with viewpoints, class by class: what Table 1 and Figures 2 to 4 of PASCAL3D+'s paper tell."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.geometry.viewpoints import azimuth_bins
from sightline.scenes import occlusion_ratio
from sightline.store.convert import landmarks_from, viewpoint_from
from sightline.store.tables import Tables

SECTIONS: Final = 24
"""Sections of the circle that azimuths are counted in, the first about 0°, the front."""

ELEVATIONS: Final = tuple(range(-90, 90, 10))
"""Lower ends of the bins that elevations are counted in, degrees; the last takes 90 too."""

VIEWS: Final = 8
"""Sections of which the commonest is told."""

PAPER: Final[Mapping[str, Mapping[str, int]]] = {
    "pascal": {"objects": 13898, "images": 8505},
    "imagenet": {"images": 22394},
}
"""What the paper counts in its two sources."""

_NEARLY: Final = 0.95


@dataclass(frozen=True)
class ClassViews:
    """Objects of one class that have a viewpoint.

    Attributes:
        objects: Objects; `images` in which they are seen; `sources` and `subtypes` by name → objects.
        occluded: Objects flagged so, or with an occluded landmark; `truncated` likewise; `difficult` flagged so.
        coarse: Objects whose viewpoint is angles alone.
        azimuths: Objects in each of `SECTIONS`; `elevations` in each bin of `ELEVATIONS`.
        occlusion: Objects with an occlusion ratio up to a third, up to two thirds, above; of those with landmarks.
        commonest: Share of the commonest of `VIEWS` sections; `below` share of elevations below 0.
    """

    objects: int
    images: int
    sources: Mapping[str, int]
    subtypes: Mapping[str, int]
    occluded: int
    truncated: int
    difficult: int
    coarse: int
    azimuths: tuple[int, ...]
    elevations: tuple[int, ...]
    occlusion: tuple[int, int, int]
    commonest: float
    below: float


@dataclass(frozen=True)
class ViewpointContents:
    """Objects with viewpoints of a dataset.

    Attributes:
        classes: By name, the commonest first.
        boxes: All boxes, also those without a viewpoint.
        sources: Source → objects with a viewpoint and images that show one.
        off_centre: Share of them whose box does not cover the middle of its image; None where no size is known.
        azimuths: How many different whole degrees of azimuth there are.
        landmarks: Objects with landmarks.
    """

    classes: Mapping[str, ClassViews]
    boxes: int
    sources: Mapping[str, tuple[int, int]]
    off_centre: float | None
    azimuths: int
    landmarks: int

    @property
    def objects(self) -> int:
        """Objects with a viewpoint."""
        return sum(of.objects for of in self.classes.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"objects": self.objects, "elevation_bins": list(ELEVATIONS)}

    def against_paper(self) -> list[str]:
        """Counts beside those of the paper, of each source that is here about whole; nothing for smaller sets."""
        lines = []
        for source, told in PAPER.items():
            here = dict(zip(("objects", "images"), self.sources.get(source, (0, 0)), strict=True))
            if all(here[what] >= _NEARLY * count for what, count in told.items()):
                ours = " in ".join(f"{here[what]:,} {what}" for what in told)
                paper = " in ".join(f"{count:,} {what}" for what, count in told.items())
                lines.append(f"{source}: {ours}; the paper has {paper}")
        return lines


def viewpoint_contents(tables: Tables) -> ViewpointContents | None:
    """Count the objects with viewpoints of tables; None where there is none."""
    seen = tables.sightings.filter(pl.col("viewpoint").is_not_null())
    if not seen.height:
        return None
    facts = tables.views.select("scene_id", "view_id", "source", "units", "width", "height")
    rows = seen.join(facts, on=["scene_id", "view_id"], how="left").join(
        tables.objects.select("scene_id", "object_id", "category", "attributes"),
        on=["scene_id", "object_id"],
        how="left",
    )
    rows = rows.with_columns(pl.concat_str("scene_id", "view_id", separator="\n").alias("image"))
    names = rows["category"].value_counts().sort("count", "category", descending=[True, False])["category"]
    classes = {name: _class_views(rows.filter(pl.col("category") == name)) for name in names}
    azimuths = {round(viewpoint_from(text).azimuth) % 360 for text in rows["viewpoint"].unique()}
    by_source = rows.group_by("source", maintain_order=True).agg(pl.len(), pl.col("image").n_unique())
    return ViewpointContents(
        classes,
        tables.sightings.height,
        {source: (objects, images) for source, objects, images in by_source.sort("source").iter_rows()},
        _off_centre(rows),
        len(azimuths),
        rows["landmarks"].count(),
    )


def _off_centre(rows: pl.DataFrame) -> float | None:
    fractions = pl.col("units") == "normalised"
    x, y = (pl.when(fractions).then(0.5).otherwise(pl.col(side) / 2) for side in ("width", "height"))
    covers = (pl.col("x0") <= x) & (x <= pl.col("x1")) & (pl.col("y0") <= y) & (y <= pl.col("y1"))
    known = rows.filter(fractions | pl.col("width").is_not_null()).select(~covers).to_series()
    share = known.mean()
    return float(share) if isinstance(share, float) else None


def _class_views(rows: pl.DataFrame) -> ClassViews:
    views = [viewpoint_from(text) for text in rows["viewpoint"]]
    azimuths, elevations = (np.array([getattr(view, key) for view in views]) for key in ("azimuth", "elevation"))
    marks = [landmarks_from(text) if text else () for text in rows["landmarks"]]
    states = [{mark.state for mark in points} for points in marks]
    flags = [set(of or ()) for of in rows["flags"].to_list()]
    ratios = np.array([occlusion_ratio(points) for points in marks])
    thirds = np.bincount(np.searchsorted((1 / 3, 2 / 3), ratios[np.isfinite(ratios)]), minlength=3)
    told = [json.loads(text).get("subtype") if text else None for text in rows["attributes"]]
    sources = Counter(rows["source"].to_list())
    bins = np.clip((elevations - ELEVATIONS[0]) // 10, 0, len(ELEVATIONS) - 1).astype(np.int64)
    hidden = {
        word: sum(word in flag or word in state for flag, state in zip(flags, states, strict=True))
        for word in ("occluded", "truncated")
    }
    return ClassViews(
        objects=len(views),
        images=rows["image"].n_unique(),
        sources=dict(sorted(sources.items())),
        subtypes=dict(Counter(str(one) for one in told if one).most_common()),
        **hidden,
        difficult=sum("difficult" in flag for flag in flags),
        coarse=sum(not view.continuous for view in views),
        azimuths=tuple(np.bincount(azimuth_bins(azimuths, SECTIONS), minlength=SECTIONS).tolist()),
        elevations=tuple(np.bincount(bins, minlength=len(ELEVATIONS)).tolist()),
        occlusion=(int(thirds[0]), int(thirds[1]), int(thirds[2])),
        commonest=float(np.bincount(azimuth_bins(azimuths, VIEWS)).max() / len(views)),
        below=float((elevations < 0.0).mean()),
    )
