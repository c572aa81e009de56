"""Counts of what a dataset holds: images, categories, boxes, masks, attributes, relations, viewpoints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.errors import DataError
from sightline.geometry.viewpoints import azimuth_bins
from sightline.plain import plain
from sightline.store.dataset import Dataset
from sightline.store.presence import presence_of, seen_classes
from sightline.store.tables import Tables, box_share

SHARES: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Upper ends of the bins that boxes are counted in by their share of the image; the last takes the rest."""

AZIMUTHS: Final = tuple(range(0, 360, 45))
"""Middles of the bins that viewpoints are counted in, degrees; 0 is the front."""

NO_MAJORITY: Final = "no majority"
"""What stands for the predicate of relations whose raters found none."""

_PAIRED: Final = 60
"""Commonest categories whose pairs are counted; with all of them the pairs would grow with the square."""
_GRID: Final = 20
"""Commonest classes whose NC is told."""
_KEPT: Final = 100
"""Values of a `Tally`, and in JSON pairs of categories, that are named."""
_PIXELS: Final = {"pictures": "image", "depth_maps": "depth", "cameras": "camera"}


@dataclass(frozen=True)
class Spread:
    """How numbers are spread: mean, extremes, and the values that 5, 50 and 95 % lie below."""

    mean: float
    least: float
    p5: float
    median: float
    p95: float
    greatest: float

    @classmethod
    def of(cls, values: pl.Series) -> Spread | None:
        """Of a column, nulls aside; None where there is no value.

        >>> Spread.of(pl.Series([1, 2, 3, None])).median
        2.0
        """
        known = values.drop_nulls().to_numpy().astype(np.float64)
        if not known.size:
            return None
        low, middle, high = np.percentile(known, (5, 50, 95)).tolist()
        return cls(float(known.mean()), float(known.min()), low, middle, high, float(known.max()))


@dataclass(frozen=True)
class Tally:
    """How often values occur: `total` of all, how many are `distinct`, and the `commonest` hundred of them."""

    total: int
    distinct: int
    commonest: Mapping[str, int]

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Tally:
        """Of value → how often, the commonest first.

        >>> Tally.of({"red": 2, "blue": 1})
        Tally(total=3, distinct=2, commonest={'red': 2, 'blue': 1})
        """
        return cls(sum(counts.values()), len(counts), dict(islice(counts.items(), _KEPT)))


@dataclass(frozen=True)
class Together:
    """Two categories in one scene: in how many, and how many times more often than if they were independent."""

    first: str
    second: str
    scenes: int
    lift: float


@dataclass(frozen=True)
class Contents:
    """What some scenes hold. Mappings of names go from the commonest to the rarest.

    Attributes:
        scenes: Scenes; `views` images of them; `pictures` images whose pixels are named, `depth_maps` and `cameras`
            likewise.
        splits: Split → scenes; scenes without one are under "".
        sizes: ``width×height`` of images; `width` and `height` are their spread, pixels.
        objects: Objects; `categories` category → objects.
        boxes: Boxes; `boxes_a_view` number of boxes → views; `box_shares` spread of the shares of an image that
            boxes cover, `box_share_bins` upper end of a bin of `SHARES` → boxes, `box_aspects` spread of width over
            height. Of images whose size was never told, boxes in pixels have no share.
        masks: ``visible`` and ``amodal`` masks; `hidden` is the spread of objects' hidden shares.
        flags: What the source says of boxes → how many.
        attributes: Attribute → its values, by objects.
        relations: Aspect → predicate → relations; those whose raters found no majority are under ``no majority``.
        relations_a_scene: Number of relations → scenes; `across` relations between two scenes, `voted` with votes.
        together: Pairs of the commonest categories that share a scene, commonest first.
        classes_a_scene: Number of classes to be seen, no stuff, no parts → scenes; `class_scenes` class → scenes.
        cooccurrence: Of the commonest such classes, class → other class → NC, the share of the scenes with the
            first that also have the second.
        viewpoints: Azimuth an object is seen from, of `AZIMUTHS` → boxes; `landmarks` boxes with named points.
    """

    scenes: int
    views: int
    pictures: int
    depth_maps: int
    cameras: int
    splits: Mapping[str, int]
    sizes: Tally
    width: Spread | None
    height: Spread | None
    objects: int
    categories: Mapping[str, int]
    boxes: int
    boxes_a_view: Mapping[int, int]
    box_shares: Spread | None
    box_share_bins: Mapping[str, int]
    box_aspects: Spread | None
    masks: Mapping[str, int]
    hidden: Spread | None
    flags: Mapping[str, int]
    attributes: Mapping[str, Tally]
    relations: Mapping[str, Mapping[str, int]]
    relations_a_scene: Mapping[int, int]
    across: int
    voted: int
    together: tuple[Together, ...]
    classes_a_scene: Mapping[int, int]
    class_scenes: Mapping[str, int]
    cooccurrence: Mapping[str, Mapping[str, float]]
    viewpoints: Mapping[int, int]
    landmarks: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, under the attributes' names; of `together` the first hundred."""
        values = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return values | {"together": values["together"][:_KEPT]}


def contents_of(data: Dataset, scenes: Collection[str] | None = None) -> Contents:
    """Count what a dataset holds, or some of its scenes by id. Reads and checks all rows, no pictures."""
    tables: Tables = data.memo("contents", data.tables)
    if scenes is None:
        return count(tables)
    ids = pl.DataFrame({"scene_id": list(scenes)}, schema={"scene_id": pl.String})
    return count(
        Tables(**{n: f.join(ids, on="scene_id", how="semi", maintain_order="left") for n, f in tables.frames()})
    )


def count(tables: Tables) -> Contents:
    """Count what tables hold."""
    views, boxes = tables.views, _measured(tables)
    sized = views.drop_nulls(["width", "height"])
    scenes = views.unique("scene_id", maintain_order=True)
    classes = seen_classes(tables)
    told = tables.relations.with_columns(pl.col("predicate").fill_null(NO_MAJORITY))
    return Contents(
        scenes=scenes.height,
        views=views.height,
        **{name: views[column].count() for name, column in _PIXELS.items()},
        splits=_counted(scenes["split"]),
        sizes=Tally.of(_counted(sized.select(pl.format("{}×{}", "width", "height")).to_series())),
        width=Spread.of(sized["width"]),
        height=Spread.of(sized["height"]),
        objects=tables.objects.height,
        categories=_counted(tables.objects["category"]),
        boxes=boxes.height,
        boxes_a_view=_per(boxes, views, ["scene_id", "view_id"]),
        box_shares=Spread.of(boxes["share"]),
        box_share_bins=_bins(boxes["share"]),
        box_aspects=Spread.of(boxes["aspect"]),
        masks={kind: boxes[f"{kind}_mask"].count() for kind in ("visible", "amodal")},
        hidden=Spread.of(boxes["occluded_fraction"]),
        flags=_counted(boxes["flags"].explode(empty_as_null=False)),
        attributes=_attributes(tables.objects["attributes"].drop_nulls()),
        relations={
            str(aspect): _counted(of["predicate"]) for (aspect,), of in told.group_by("aspect", maintain_order=True)
        },
        relations_a_scene=_per(told, scenes, ["scene_id"]) if told.height else {},
        across=told["object_scene"].count(),
        voted=told.filter(pl.col("votes").list.len() > 0).height,
        together=_together(tables.objects, scenes.height),
        classes_a_scene=_per(classes, scenes, ["scene_id"]) if classes.height else {},
        class_scenes=_counted(classes["category"]),
        cooccurrence=_cooccurrence(classes, scenes["scene_id"]),
        viewpoints=_viewpoints(boxes["viewpoint"].drop_nulls()),
        landmarks=boxes["landmarks"].count(),
    )


def _counted(values: pl.Series) -> dict[str, int]:
    """Value → how often, the commonest first."""
    counts = values.alias("value").drop_nulls().value_counts().sort("count", "value", descending=[True, False])
    return dict(counts.iter_rows())


def _per(rows: pl.DataFrame, units: pl.DataFrame, keys: list[str]) -> dict[int, int]:
    """Number of rows → units that have so many, those without one too."""
    found = units.select(keys).join(rows.group_by(keys).len("n"), on=keys, how="left")
    counts = found["n"].fill_null(0).value_counts().sort("n")
    return dict(counts.iter_rows())


def _measured(tables: Tables) -> pl.DataFrame:
    """Boxes with the share of its image that each covers, and width over height in pixels; null where unknown."""
    size = tables.views.select("scene_id", "view_id", "units", "width", "height")
    wide, high = pl.col("x1") - pl.col("x0"), pl.col("y1") - pl.col("y0")
    shape = pl.when(pl.col("units") == "normalised").then(pl.col("width") / pl.col("height")).otherwise(1.0)
    return tables.sightings.join(size, on=["scene_id", "view_id"], how="left", maintain_order="left").with_columns(
        share=box_share(), aspect=wide / high * shape
    )


def _bins(shares: pl.Series) -> dict[str, int]:
    known = shares.drop_nulls().to_numpy()
    if not known.size:
        return {}
    places = np.minimum(np.searchsorted(SHARES, known), len(SHARES) - 1)
    return {f"{end:g}": int(n) for end, n in zip(SHARES, np.bincount(places, minlength=len(SHARES)), strict=True)}


def _attributes(stored: pl.Series) -> dict[str, Tally]:
    """Attribute → its values; equal JSON texts are parsed once."""
    found: dict[str, Counter[str]] = {}
    for text, n in _counted(stored).items():
        for name, value in _object(text, "attributes").items():
            found.setdefault(name, Counter())[str(value)] += n
    names = sorted(found, key=lambda name: (-found[name].total(), name))
    return {name: Tally.of(dict(sorted(found[name].items(), key=lambda one: (-one[1], one[0])))) for name in names}


def _together(objects: pl.DataFrame, scenes: int) -> tuple[Together, ...]:
    """Pairs of the commonest categories by the number of scenes that have both."""
    there = objects.select("scene_id", "category").drop_nulls().unique()
    often = _counted(there["category"])
    kept = there.filter(pl.col("category").is_in(list(often)[:_PAIRED]))
    both = kept.join(kept, on="scene_id", suffix="_2").filter(pl.col("category") < pl.col("category_2"))
    counts = both.group_by("category", "category_2").len("n")
    counts = counts.sort("n", "category", "category_2", descending=[True, False, False])
    return tuple(Together(a, b, n, n * scenes / (often[a] * often[b])) for a, b, n in counts.iter_rows())


def _cooccurrence(classes: pl.DataFrame, scenes: pl.Series) -> dict[str, dict[str, float]]:
    """NC of the commonest classes, commonest first."""
    names = list(_counted(classes["category"]))[:_GRID]
    ratio = presence_of(classes, scenes, names).cooccurrence()
    return {a: dict(zip(names, row.tolist(), strict=True)) for a, row in zip(names, ratio, strict=True)}


def _viewpoints(stored: pl.Series) -> dict[int, int]:
    """Azimuth, to the next 45° → boxes; empty where no viewpoint is known."""
    if not stored.len():
        return {}
    azimuths = np.array([_object(text, "viewpoint", azimuth=float)["azimuth"] for text in stored], dtype=np.float64)
    bins = azimuth_bins(azimuths[np.isfinite(azimuths)], len(AZIMUTHS))
    return dict(zip(AZIMUTHS, np.bincount(bins, minlength=len(AZIMUTHS)).tolist(), strict=True))


def _object(text: str, field: str, **needed: type) -> dict[str, Any]:
    """A stored JSON object; DataError where it is none, or lacks a number."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(value.get(k), (int, kind)) for k, kind in needed.items()):
        expected = "a JSON object" + "".join(f" with {name}" for name in needed)
        raise DataError("damaged column", field=field, expected=expected, found=text[:60])
    return value
