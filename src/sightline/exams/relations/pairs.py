"""Annotated object pairs as arrays: what every relations analysis works on; and from raw votes to a difficulty."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sightline.errors import DataError
from sightline.exams.relations.protocols import Aspect
from sightline.scenes import NO_MAJORITY, REVERSE, Depth, words
from sightline.skills import Setting
from sightline.stats import OrderedPairs
from sightline.store import Dataset
from sightline.store.contents import contents_of
from sightline.store.tables import Tables
from sightline.text import counted

SETTINGS: tuple[Setting, ...] = ("within_image", "across_images")
SETTING_WORDS: Final[dict[Setting, str]] = {"within_image": "within an image", "across_images": "across two images"}
"""How a reader is told of each setting, in the order of every table."""
ASPECTS: tuple[Aspect, ...] = ("depth", "occlusion")

NO_VOTES = -1
"""Difficulty code of a pair that nobody voted on."""

_REVERSE = np.array(REVERSE, dtype=np.int8)  # indexed by code; −1 is its last entry


@dataclass(frozen=True)
class PairTable:
    """n annotated pairs of one setting, over m objects and c clusters.

    Attributes:
        setting: Within one image or across two.
        clusters: (c,) ids of the independent units: the scene, or the unordered pair of scenes.
        cluster: (n,) index into `clusters`.
        scenes: (s,) ids of all scenes of the setting, also those without a pair.
        object_ids: (m,) the source's own id; `object_scene` (m,) index into `scenes`.
        boxes: (m, 4) xyxy, fractions of the image.
        categories: Distinct class names; `category` (m,) index into it.
        first: (n,) index of the subject's object; `second` (n,) of the other.
        depth: (n,) codes of `Depth`, −1 where the raters found no majority.
        occlusion: (n,) codes of `Occlusion`; all −1 across images, where it is not asked.
        depth_votes: (n, 4) how many raters gave each code; `occlusion_votes` likewise.
        asked: (n, 2) whether the data speaks of the pair's depth, and of its occlusion: not asked is not undecided.
    """

    setting: Setting
    clusters: NDArray[np.object_]
    cluster: NDArray[np.int32]
    scenes: NDArray[np.object_]
    object_ids: NDArray[np.object_]
    object_scene: NDArray[np.int32]
    boxes: NDArray[np.float64]
    categories: tuple[str, ...]
    category: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    depth: NDArray[np.int8]
    occlusion: NDArray[np.int8]
    depth_votes: NDArray[np.int16]
    occlusion_votes: NDArray[np.int16]
    asked: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: NDArray[Any]) -> PairTable:
        """The pairs picked by an index or boolean array; objects, scenes and clusters stay numbered as they are."""
        picked = {name: getattr(self, name)[rows] for name in _PER_PAIR}
        return replace(self, **picked)

    def reversed(self) -> PairTable:
        """Every pair the other way round: ends and 1↔2 swapped, votes too."""
        swap = np.array([0, 2, 1, 3])
        return replace(
            self,
            first=self.second,
            second=self.first,
            depth=_REVERSE[self.depth],
            occlusion=_REVERSE[self.occlusion],
            depth_votes=self.depth_votes[:, swap],
            occlusion_votes=self.occlusion_votes[:, swap],
        )

    def ordered(self) -> PairTable:
        """All 2n ordered pairs: the annotated ones first, then their reverses in the same order."""
        back = self.reversed()
        both: dict[str, Any] = {n: np.concatenate([getattr(self, n), getattr(back, n)]) for n in _PER_PAIR}
        return replace(self, **both)

    def unlabelled(self) -> PairTable:
        """The same pairs without labels and votes: what there is to judge, not how."""
        label, votes = np.full(len(self), NO_MAJORITY, dtype=np.int8), np.zeros((len(self), 4), dtype=np.int16)
        return replace(self, depth=label, occlusion=label, depth_votes=votes, occlusion_votes=votes)

    @property
    def aspects(self) -> tuple[Aspect, ...]:
        """What was asked of some of these pairs: depth, occlusion, or both."""
        return tuple(aspect for aspect, column in zip(ASPECTS, self.asked.T, strict=True) if column.any())

    def asked_of(self, aspect: Aspect) -> NDArray[np.bool_]:
        """(n,) True where the data speaks of one aspect of the pair."""
        return self.asked[:, ASPECTS.index(aspect)]

    @cached_property
    def consistency(self) -> OrderedPairs:
        """The pairs as symmetry and transitivity see them."""
        return OrderedPairs(self.cluster, self.first, self.second, len(self.clusters))

    @property
    def boxes_a(self) -> NDArray[np.float64]:
        """(n, 4) boxes of the subjects."""
        return self.boxes[self.first]

    @property
    def boxes_b(self) -> NDArray[np.float64]:
        """(n, 4) boxes of the objects."""
        return self.boxes[self.second]


_PER_PAIR = ("cluster", "first", "second", "depth", "occlusion", "depth_votes", "occlusion_votes", "asked")


def tables_of(data: Dataset, split: str) -> dict[Setting, PairTable]:
    """The annotated pairs of a split by setting, also settings without a pair; made once an opened dataset.

    Args:
        data: The dataset.
        split: Name of a split; "" for data without splits.
    """

    def make() -> dict[Setting, PairTable]:
        stored = data.tables(split=split or None)
        return {setting: pair_table(stored, setting, split) for setting in SETTINGS}

    return data.memo(("relations pairs", split), make)


def tables_by_split(data: Dataset) -> dict[tuple[Setting, str], PairTable]:
    """(setting, split) → annotated pairs, for all that have some; the split is "" in data without splits."""
    return {
        (setting, split): table
        for split in data.splits or ("",)
        for setting, table in tables_of(data, split).items()
        if len(table)
    }


def has_pairs(data: Dataset) -> bool:
    """Whether a dataset has depth or occlusion relations."""
    return _asked(data).limit(1).collect().height > 0


def no_pairs(data: Dataset, split: str = "") -> DataError:
    """Say that there are no depth or occlusion relations, which split has some, or what the data is good for."""
    held = data.scan("views").join(_asked(data), on="scene_id", how="semi").select("split").unique().collect()
    problem = "no depth or occlusion relations"
    if split in held["split"]:
        where = f" in split {split}" if split else ""
        return DataError(f"{problem} of the setting asked about{where}", file=data.path)
    if held.height:
        named = ", ".join(repr(name) for name in held["split"].sort())
        return DataError(f"{problem} in split {split!r}; there are some in {named}", file=data.path)
    contents = contents_of(data)
    boxes = counted(contents.boxes, "box", "boxes")
    if not contents.boxes:
        would = "nor boxes to ask about: `sightline import` reads some with COCO, YOLO, VOC and others"
    elif contents.box_shares is None:
        would = f"but {boxes} without the sizes of their images, which measuring consistency (--no-truth) needs"
    else:
        would = f"but {boxes}: `sightline exam relations --no-truth` measures how consistent answers about them are"
    return DataError(f"{problem} here, {would}", file=data.path)


def _asked(data: Dataset) -> pl.LazyFrame:
    return data.scan("relations").filter(pl.col("aspect").is_in(ASPECTS)).select("scene_id")


def pair_table(tables: Tables, setting: Setting, split: str) -> PairTable:
    """Collect the depth and occlusion relations of one setting and split.

    A relation that crosses scenes belongs to ``across_images``, any other to ``within_image``. Boxes in pixels
    become fractions of the image, which needs the image size. Scenes of the split count for a setting by their
    `source`, or, where no source is named after a setting, by having its relations. Of a scene with several views
    the first one is asked about; a pair of which one end is wholly hidden there (flag ``hidden``) is not asked.
    """
    crosses = pl.col("object_scene").is_not_null()
    views = tables.views.filter(pl.col("split") == split)
    if views["source"].is_in(["within_image", "across_images"]).any():
        views = views.filter(pl.col("source") == setting)
    relations = tables.relations.filter(
        pl.col("aspect").is_in(["depth", "occlusion"]), crosses if setting == "across_images" else ~crosses
    ).join(views.select("scene_id").unique(), on="scene_id", how="semi", maintain_order="left")
    sightings = fraction_boxes(tables, views)
    relations = _in_first_view(relations, views, sightings)
    scenes = views["scene_id"].unique(maintain_order=True)
    pairs = _one_row_a_pair(relations)
    keys = sightings.select("scene_id", "object_id").with_row_index("row")
    low, high = pl.min_horizontal("scene_id", "other"), pl.max_horizontal("scene_id", "other")
    cluster = pairs.select(pl.when(low == high).then(low).otherwise(low + "|" + high)).to_series()
    clusters = cluster.unique().sort()  # one order for all, however the pairs come: seeds then mean the same
    categories = sightings["category"].unique().sort()
    return PairTable(
        setting=setting,
        clusters=clusters.to_numpy().astype(object),
        cluster=_codes(cluster, clusters),
        scenes=scenes.to_numpy().astype(object),
        object_ids=sightings["object_id"].to_numpy().astype(object),
        object_scene=_codes(sightings["scene_id"], scenes),
        boxes=sightings.select("x0", "y0", "x1", "y1").to_numpy().astype(np.float64),
        categories=tuple(categories),
        category=_codes(sightings["category"], categories),
        first=_lookup(pairs, keys, "scene_id", "subject"),
        second=_lookup(pairs, keys, "other", "object"),
        depth=_label_codes(pairs, "depth"),
        occlusion=_label_codes(pairs, "occlusion"),
        depth_votes=_vote_counts(pairs, "depth"),
        occlusion_votes=_vote_counts(pairs, "occlusion"),
        asked=pairs.select(f"{aspect}_asked" for aspect in ASPECTS).to_numpy() & [True, setting == "within_image"],
    )


def fraction_boxes(tables: Tables, views: pl.DataFrame) -> pl.DataFrame:
    """Sightings in the first view of every scene with category, boxes as fractions of the image.

    DataError where boxes are in pixels and the image size is unknown.
    """
    views = views.unique("scene_id", keep="first", maintain_order=True)
    frames = views.select("scene_id", "view_id", "width", "height", "units")
    seen = tables.sightings.join(frames, on=["scene_id", "view_id"], how="inner", maintain_order="left")
    classes = tables.objects.select("scene_id", "object_id", "category")
    seen = seen.join(classes, on=["scene_id", "object_id"], how="left", maintain_order="left")
    pixels = pl.col("units") == "pixels"
    sizeless = seen.filter(pixels & (pl.col("width").is_null() | pl.col("height").is_null()))
    if sizeless.height:
        row = sizeless["scene_id"][0]
        raise DataError("boxes are in pixels but the image size is unknown", row=row, field="width, height")
    by_width = pl.when(pixels).then(pl.col("x0", "x1") / pl.col("width")).otherwise(pl.col("x0", "x1"))
    by_height = pl.when(pixels).then(pl.col("y0", "y1") / pl.col("height")).otherwise(pl.col("y0", "y1"))
    return seen.with_columns(by_width, by_height)


def _in_first_view(relations: pl.DataFrame, views: pl.DataFrame, sightings: pl.DataFrame) -> pl.DataFrame:
    """The relations that hold in the first view of their scene, between things that show there."""
    first = views.unique("scene_id", keep="first", maintain_order=True).select("scene_id", first="view_id")
    placed = relations.join(first, on="scene_id", how="left", maintain_order="left")
    shown = placed.filter(pl.col("view_id").is_null() | (pl.col("view_id") == pl.col("first"))).drop("first")
    keys = ["scene_id", "object_id"]
    hidden = sightings.filter(pl.col("flags").list.contains("hidden")).select(keys)
    for scene, end in ((pl.col("scene_id"), "subject"), (pl.coalesce("object_scene", "scene_id"), "object")):
        shown = shown.join(hidden, left_on=[scene, end], right_on=keys, how="anti", maintain_order="left")
    return shown


def _one_row_a_pair(relations: pl.DataFrame) -> pl.DataFrame:
    """Depth and occlusion of the same pair side by side, in order of first appearance."""
    keys = ["scene_id", "subject", "other", "object"]
    long = relations.with_columns(pl.col("object_scene").fill_null(pl.col("scene_id")).alias("other"))
    turned = long.select(scene_id="other", subject="object", other="scene_id", object="subject", aspect="aspect")
    again = long.join(turned, on=[*keys, "aspect"], how="semi", maintain_order="left")
    doubled = pl.concat([long.filter(pl.struct(*keys, "aspect").is_duplicated()), again])
    if doubled.height:
        row = doubled.row(0, named=True)
        pair = f"pair ({row['subject']}, {row['object']})"
        raise DataError(f"{pair} has two {row['aspect']} labels", row=row["scene_id"])
    wide = long.select(keys).unique(maintain_order=True)
    for aspect in ASPECTS:
        said = {aspect: pl.col("predicate"), f"{aspect}_votes": pl.col("votes"), f"{aspect}_asked": pl.lit(True)}
        labels = long.filter(pl.col("aspect") == aspect).select(*keys, **said)
        wide = wide.join(labels, on=keys, how="left", maintain_order="left")
    return wide.with_columns(pl.col(f"{aspect}_asked").fill_null(value=False) for aspect in ASPECTS)


def _lookup(pairs: pl.DataFrame, keys: pl.DataFrame, scene: str, obj: str) -> NDArray[np.int32]:
    rows = pairs.select(scene, obj).join(
        keys, left_on=[scene, obj], right_on=["scene_id", "object_id"], how="left", maintain_order="left"
    )
    missing = rows.filter(pl.col("row").is_null())
    if missing.height:
        row = missing.row(0, named=True)
        raise DataError("relation of an object that is not seen", row=row[scene], field=obj, found=row[obj])
    return rows["row"].to_numpy().astype(np.int32)


def _codes(values: pl.Series, vocabulary: pl.Series) -> NDArray[np.int32]:
    """Position of each value in the vocabulary."""
    frame = vocabulary.alias("v").to_frame().with_row_index("code")
    coded = values.alias("v").to_frame().join(frame, on="v", how="left", maintain_order="left")
    return coded["code"].to_numpy().astype(np.int32)


def _label_codes(pairs: pl.DataFrame, aspect: str) -> NDArray[np.int8]:
    _refuse_unknown(pairs.select("scene_id", word=aspect), aspect)
    mapping = {word: code for code, word in enumerate(words(aspect))}
    codes = pairs[aspect].replace_strict(mapping, return_dtype=pl.Int8)
    return codes.fill_null(NO_MAJORITY).to_numpy().astype(np.int8)


def _vote_counts(pairs: pl.DataFrame, aspect: str) -> NDArray[np.int16]:
    ballots = pairs.select("scene_id", word=f"{aspect}_votes").explode("word", empty_as_null=True)
    _refuse_unknown(ballots, f"{aspect} votes")
    votes = pl.col(f"{aspect}_votes").list
    counts = [votes.count_matches(word).fill_null(0).cast(pl.Int16).alias(word) for word in words(aspect)]
    return pairs.select(counts).to_numpy().astype(np.int16)


def _refuse_unknown(labels: pl.DataFrame, field: str) -> None:
    """DataError for the first word that is no label of its aspect; null says that there is none."""
    allowed = words(field.split()[0])
    strange = labels.filter(~pl.col("word").is_in(allowed))
    if strange.height:
        scene, word = strange.row(0)
        expected = "one of " + ", ".join(allowed)
        raise DataError("label outside its range", row=scene, field=field, expected=expected, found=word)


def concat_pairs(tables: list[PairTable]) -> PairTable:
    """Pairs of several tables in one, everything renumbered; the setting is the first one's."""
    categories = tuple(sorted({name for table in tables for name in table.categories}))
    code = {name: i for i, name in enumerate(categories)}
    objects, scenes, clusters = (
        np.cumsum([0, *(len(getattr(table, name)) for table in tables)]) for name in ("boxes", "scenes", "clusters")
    )
    shifts = {"cluster": clusters, "object_scene": scenes, "first": objects, "second": objects}

    def join(name: str) -> NDArray[Any]:
        parts = [getattr(table, name) for table in tables]
        if name in shifts:
            parts = [(part + by).astype(np.int32) for part, by in zip(parts, shifts[name][:-1], strict=True)]
        return np.concatenate(parts)

    renamed = [np.array([code[n] for n in t.categories], dtype=np.int32)[t.category] for t in tables]
    whole: dict[str, Any] = {"setting": tables[0].setting, "categories": categories}
    whole["category"] = np.concatenate(renamed)
    whole |= {field.name: join(field.name) for field in fields(PairTable) if field.name not in whole}
    return PairTable(**whole)


class Difficulty(IntEnum):
    """How well the raters of a pair agree on its depth order."""

    EASY = 0
    MODERATE = 1
    DIFFICULT = 2
    INFEASIBLE = 3
    AMBIGUOUS = 4

    @property
    def word(self) -> str:
        """Lower-case name, the form used in files.

        >>> Difficulty.EASY.word
        'easy'
        """
        return self.name.lower()


def majority(votes: ArrayLike) -> NDArray[np.int8]:
    """Label that more than half of the raters gave, else `NO_MAJORITY`.

    Args:
        votes: (n, 4) how many raters gave each label code.

    >>> majority([[0, 3, 2, 0], [0, 2, 2, 0], [0, 2, 1, 1]])
    array([ 1, -1, -1], dtype=int8)
    """
    v = np.asarray(votes, dtype=np.int64)
    label = np.where(2 * v.max(1, initial=0) > v.sum(1), v.argmax(1), NO_MAJORITY)
    return label.astype(np.int8)


def difficulty(votes: ArrayLike) -> NDArray[np.int8]:
    """Codes of `Difficulty` from the depth votes; `NO_VOTES` where there are none.

    A majority for *unsure* is infeasible whatever its margin, no majority is ambiguous. Else a unanimous pair is
    easy, one with at least 80 % for the winner moderate, any other difficult. With five votes these are the
    paper's scales (5, 4 and 3 of 5).

    Args:
        votes: (n, 4) how many raters gave each code of `Depth`.

    >>> five = [[0, 5, 0, 0], [1, 4, 0, 0], [2, 3, 0, 0], [5, 0, 0, 0], [1, 2, 2, 0]]
    >>> [Difficulty(code).word for code in difficulty(five)]
    ['easy', 'moderate', 'difficult', 'infeasible', 'ambiguous']
    """
    v = np.asarray(votes, dtype=np.int64)
    label, total, best = majority(v), v.sum(1), v.max(1, initial=0)
    scale = np.select(
        [total == 0, label == NO_MAJORITY, label == Depth.UNSURE, best == total, 5 * best >= 4 * total],
        [NO_VOTES, Difficulty.AMBIGUOUS, Difficulty.INFEASIBLE, Difficulty.EASY, Difficulty.MODERATE],
        Difficulty.DIFFICULT,
    )
    return scale.astype(np.int8)


def clear_order(table: PairTable) -> NDArray[np.bool_]:
    """(n,) True where the raters agreed that one of the two is closer."""
    clear: NDArray[np.bool_] = (table.depth == Depth.CLOSER) | (table.depth == Depth.FARTHER)
    return clear
