"""The questions of the predicates exam: one scene each, its objects given as canonical patches, and what is true.

Each true fact is one stored relation of the aspect *spatial* or *geometry*; what is not listed is false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.predicates.patches import patches_of
from sightline.generation import canonical_of
from sightline.generation.canonical import has_canonical
from sightline.scenes import Object, Scene, View
from sightline.scenes.labels import PREDICATES
from sightline.skills import Queries
from sightline.store import Dataset, Tables, scenes_from_tables

APPEARANCE: Final = ("shape", "size", "color", "material")
FEWEST: Final = 2
"""Objects a scene needs to have a pair."""


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


@dataclass(frozen=True)
class PredicatesItem:
    """One scene.

    Attributes:
        facts: What is true of it; never shown to a model.
        views: Those of its views that all scenes have, by id, in stored order, as a model may see them.
        patches: One patch an object, (side, side, 3) uint8: a canonical view, or cut from the photo.
        appearance: Shape, size, colour and material of each object, as far as known.
    """

    facts: Facts
    views: Mapping[str, View]
    patches: Sequence[NDArray[np.uint8]]
    appearance: tuple[Mapping[str, str], ...]

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
        return Queries(self.scene_id, shown, np.stack(self.patches), self.appearance)


@dataclass(frozen=True)
class Questions:
    """All scenes to be asked about.

    Attributes:
        items: In stored order.
        left_out: Scenes with fewer than two objects, which have no pair.
        cropped: Whether patches are cut from the photos, which have no canonical views.
    """

    items: tuple[PredicatesItem, ...]
    left_out: int
    cropped: bool = False


def questions(tables: Tables, data: Dataset) -> Questions:
    """One item for every scene with a pair.

    Args:
        tables: The scenes to be asked about.
        data: The dataset they come from: its pictures and canonical views.

    Raises:
        DataError: No scene with a pair, no such relations, or neither canonical views nor a box of an object.
    """
    if (tables.objects.group_by("scene_id").len()["len"] < FEWEST).all():
        most = int(tables.objects.group_by("scene_id").len()["len"].max() or 0)  # type: ignore[arg-type]
        expected = "two objects in a scene, as `sightline generate` makes them"
        problem = "no scene has two objects, so there is no pair to ask about"
        raise DataError(problem, file=data.path, expected=expected, found=most)
    facts = {f.scene_id: f for f in facts_of(tables, data) if len(f.objects) >= FEWEST}
    strips: dict[tuple[str | None, str, str], NDArray[np.uint8]] = {}

    def patch(scene_id: str, thing: Object) -> NDArray[np.uint8]:
        look = (thing.shape, thing.attributes.get("color", ""), thing.attributes.get("material", ""))
        if look not in strips:
            strips[look] = canonical_of(data, thing)
        chosen: NDArray[np.uint8] = strips[look][patch_number(scene_id, thing.id, len(strips[look]))]
        return chosen

    photos = not has_canonical(data)
    bare = _scenes(tables, data, set(facts), seen=photos)
    common = set.intersection(*({view.id for view in scene.views} for scene in bare))
    items = tuple(
        PredicatesItem(
            facts=facts[scene.id],
            views={view.id: view.without_truth() for view in scene.views if view.id in common},
            patches=patches_of(scene) if photos else tuple(patch(scene.id, thing) for thing in scene.objects),
            appearance=tuple(appearance_of(thing) for thing in scene.objects),
        )
        for scene in bare
    )
    return Questions(items, tables.views["scene_id"].n_unique() - len(items), photos)


def patch_number(scene_id: str, object_id: str, count: int) -> int:
    """Which of an object's canonical views stands for it in a scene: always the same one.

    >>> patch_number("geospa/train/0/00000007", "2", 10)
    7
    """
    return crc32(f"{scene_id}/{object_id}".encode()) % count


def appearance_of(thing: Object) -> dict[str, str]:
    """Shape, size, colour and material, each where it is known; the shape without its size.

    >>> appearance_of(Object("0", "mug", {"color": "red", "height": "0.1"}))
    {'shape': 'mug', 'color': 'red'}
    """
    known = {"shape": thing.category, **thing.attributes}
    return {key: known[key] for key in APPEARANCE if known.get(key)}


def _scenes(tables: Tables, data: Dataset, wanted: set[str], *, seen: bool) -> list[Scene]:
    """The scenes without relations, and without sightings unless asked for: those would take most of the time."""

    def of(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(pl.col("scene_id").is_in(wanted))

    sightings = {"sightings": of(tables.sightings)} if seen else {}
    kept = Tables.build(views=of(tables.views), objects=of(tables.objects), **sightings)
    return list(scenes_from_tables(kept, blobs=data.blobs))


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
            expected="a dataset made by `sightline generate`; photos with boxes suit `exam relations --no-truth`",
        )
    codes = {word: code for code, word in enumerate(PREDICATES)}
    rows = stored.select(
        "scene_id",
        "subject",
        "object",
        "predicate",
        "object_scene",
        code=pl.col("predicate").replace_strict(codes, default=None, return_dtype=pl.Int64),
    )
    for end in ("subject", "object"):
        named = things.rename({"object_id": end, "place": f"{end}_place", "row": f"{end}_row"})
        rows = rows.join(named, on=["scene_id", end], how="left", maintain_order="left")
    _refuse(rows, pl.col("code").is_null(), "predicate", "not a predicate", ", ".join(PREDICATES), data)
    strange = pl.col("object_scene").is_not_null() | pl.col("object_row").is_null()
    _refuse(rows, pl.col("subject_row").is_null(), "subject", "no such object in the scene", None, data)
    _refuse(rows, strange, "object", "no such object in the scene", None, data)
    itself = pl.col("subject") == pl.col("object")
    _refuse(rows, itself, "object", "an object related to itself", "another object", data)
    return rows


def _refuse(
    rows: pl.DataFrame, bad: pl.Expr, field: str, problem: str, expected: str | None, data: Dataset
) -> None:
    wrong = rows.filter(bad).head(1)
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
