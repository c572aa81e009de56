"""The questions of the predicates exam: one scene each, its objects given as canonical patches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.predicates.truth import Facts, facts_of
from sightline.generate import canonical_of
from sightline.scenes import Object, Scene, View
from sightline.skills import Queries
from sightline.store import Dataset, Tables, scenes_from_tables

LOOKS: Final = ("shape", "size", "color", "material")
FEWEST: Final = 2
"""Objects a scene needs to have a pair."""


@dataclass(frozen=True)
class PredicatesItem:
    """One scene.

    Attributes:
        facts: What is true of it; never shown to a model.
        views: Those of its views that all scenes have, by id, in stored order, as a model may see them.
        patches: One canonical patch an object, (side, side, 3) uint8.
        looks: Shape, size, colour and material of each object, as far as known.
    """

    facts: Facts
    views: Mapping[str, View]
    patches: tuple[NDArray[np.uint8], ...]
    looks: tuple[Mapping[str, str], ...]

    @property
    def id(self) -> str:
        """The scene's id."""
        return self.facts.scene_id

    @property
    def scene_id(self) -> str:
        """The scene's id."""
        return self.facts.scene_id

    @property
    def cluster_id(self) -> str:
        """The scene's id: scenes are independent."""
        return self.facts.scene_id

    def queries(self, views: Sequence[str]) -> Queries:
        """What the model is shown, with those views in that order."""
        shown = tuple(self.views[name] for name in views)
        return Queries(self.scene_id, shown, np.stack(self.patches), self.looks)


@dataclass(frozen=True)
class Questions:
    """All scenes to be asked about.

    Attributes:
        items: In stored order.
        left_out: Scenes with fewer than two objects, which have no pair.
    """

    items: tuple[PredicatesItem, ...]
    left_out: int


def questions(tables: Tables, data: Dataset) -> Questions:
    """One item for every scene with a pair.

    Args:
        tables: The scenes to be asked about.
        data: The dataset they come from: its pictures and canonical views.

    Raises:
        DataError: No scene with a pair, no such relations, or no canonical views of an object.
    """
    if (tables.objects.group_by("scene_id").len()["len"] < FEWEST).all():
        raise DataError("no scene has two objects, so there is no pair to ask about", file=data.path)
    facts = {f.scene_id: f for f in facts_of(tables, data) if len(f.objects) >= FEWEST}
    strips: dict[tuple[str | None, str, str], NDArray[np.uint8]] = {}

    def patch(scene_id: str, thing: Object) -> NDArray[np.uint8]:
        look = (thing.shape, thing.attributes.get("color", ""), thing.attributes.get("material", ""))
        if look not in strips:
            strips[look] = canonical_of(data, thing)
        chosen: NDArray[np.uint8] = strips[look][patch_number(scene_id, thing.id, len(strips[look]))]
        return chosen

    bare = _bare_scenes(tables, data, set(facts))
    common = set.intersection(*({view.id for view in scene.views} for scene in bare))
    items = tuple(
        PredicatesItem(
            facts=facts[scene.id],
            views={view.id: view.without_truth() for view in scene.views if view.id in common},
            patches=tuple(patch(scene.id, thing) for thing in scene.objects),
            looks=tuple(look_of(thing) for thing in scene.objects),
        )
        for scene in bare
    )
    return Questions(items, tables.views["scene_id"].n_unique() - len(items))


def patch_number(scene_id: str, object_id: str, count: int) -> int:
    """Which of an object's canonical views stands for it in a scene: always the same one.

    >>> patch_number("geospa/train/0/00000007", "2", 10)
    7
    """
    return crc32(f"{scene_id}/{object_id}".encode()) % count


def look_of(thing: Object) -> dict[str, str]:
    """Shape, size, colour and material, each where it is known; the shape without its size.

    >>> look_of(Object("0", "mug", {"color": "red", "height": "0.1"}))
    {'shape': 'mug', 'color': 'red'}
    """
    known = {"shape": thing.category, **thing.attributes}
    return {key: known[key] for key in LOOKS if known.get(key)}


def _bare_scenes(tables: Tables, data: Dataset, wanted: set[str]) -> list[Scene]:
    """The scenes without sightings and relations: making those into Python values would take most of the time."""

    def of(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(pl.col("scene_id").is_in(wanted))

    kept = Tables.build(views=of(tables.views), objects=of(tables.objects))
    return list(scenes_from_tables(kept, blobs=data.blobs))
