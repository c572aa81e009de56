"""A census of a dataset: which words it uses of its objects and their relations, and how often."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from sightline.store import Dataset

ENOUGH: Final = 30
"""Objects of a category, value or flag, and relations of a predicate, that make a word of it: what an estimate
needs by default. In a set of fewer than 600 images one in twenty images is enough."""


@dataclass(frozen=True)
class Census:
    """Words a dataset uses, and how often.

    Attributes:
        images: How many there are.
        sources: The sets they come from.
        categories: Category → objects.
        values: (category, attribute key) → value → objects.
        flags: (category, flag) → objects.
        shares: Whether it tells how much of an object is hidden.
        aspects: Aspect → predicate → relations.
        pairs: (aspect, predicate) → categories of its subjects and objects.
        sized: Whether all images tell their size, or boxes are fractions of it.
    """

    images: int
    sources: frozenset[str]
    categories: Mapping[str, int]
    values: Mapping[tuple[str, str], Mapping[str, int]]
    flags: Mapping[tuple[str, str], int]
    shares: bool
    aspects: Mapping[str, Mapping[str, int]]
    pairs: Mapping[tuple[str, str], tuple[frozenset[str], frozenset[str]]]
    sized: bool

    @classmethod
    def of(cls, dataset: Dataset) -> Census:
        """All words of a dataset, counted."""
        views = dataset.scan("views").select("scene_id", "source", "width", "units").collect()
        things = dataset.scan("objects").select("scene_id", "object_id", "category", "attributes").collect()
        values: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for category, facts in things.select("category", "attributes").iter_rows():
            for key, value in (json.loads(facts) if facts else {}).items():
                values[category, key][str(value)] += 1
        counts = things.group_by("category").len().sort("len", "category", descending=[True, False])
        place = things.select("scene_id", "object_id", "category")
        sightings = (
            dataset.scan("sightings").select("scene_id", "object_id", "occluded_fraction", "flags").collect()
        )
        flags = sightings.explode("flags").drop_nulls("flags").unique(["scene_id", "object_id", "flags"])
        counted = flags.join(place, on=["scene_id", "object_id"]).group_by("category", "flags").len()
        aspects, pairs = _relations(dataset, place)
        return cls(
            images=views["scene_id"].n_unique(),
            sources=frozenset(views["source"].unique()),
            categories=dict(counts.iter_rows()),
            values=values,
            flags={(category, flag): n for category, flag, n in counted.iter_rows()},
            shares=sightings["occluded_fraction"].is_not_null().any(),
            aspects=aspects,
            pairs=pairs,
            sized=bool((views["width"].is_not_null() | (views["units"] == "normalised")).all()),
        )

    @property
    def enough(self) -> int:
        """How often a word must be used to be taken up."""
        return max(1, min(ENOUGH, self.images // 20))


def _relations(
    dataset: Dataset, place: pl.DataFrame
) -> tuple[dict[str, dict[str, int]], dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]]]:
    """Predicates by aspect, and between which categories, within one image each."""
    rows = dataset.scan("relations").filter(pl.col("object_scene").is_null()).drop_nulls("predicate")
    told = rows.select("scene_id", "subject", "object", "aspect", "predicate").collect()
    for end in ("subject", "object"):
        named = place.rename({"object_id": end, "category": f"{end}_category"})
        told = told.join(named, on=["scene_id", end], how="left")
    aspects: dict[str, dict[str, int]] = defaultdict(dict)
    pairs = {}
    groups = told.group_by("aspect", "predicate").agg(
        pl.len(), pl.col("subject_category").unique(), pl.col("object_category").unique()
    )
    for aspect, predicate, n, subjects, objects in groups.sort("aspect", "predicate").iter_rows():
        aspects[aspect][predicate] = n
        pairs[aspect, predicate] = frozenset(subjects), frozenset(objects)
    return dict(aspects), pairs
