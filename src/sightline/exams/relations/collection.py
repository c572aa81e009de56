"""From Open Images boxes to the object pairs that raters are asked about, as 2.5VRD was made.

Each step is a function of its own. Boxes are a frame with scene_id, object_id, category (text), x0, y0, x1, y1
(xyxy, fractions of the image) and group (bool). Pairs are a frame with scene_1, object_1, category_1, box_1 and
the same for 2; a box there is a list of four. Nothing depends on the order of rows. The pair drawn for an image
depends only on the seed and that image, so it can be redone alone; which images are paired depends on all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.pairs import fraction_boxes
from sightline.geometry import area, iou
from sightline.hints import did_you_mean
from sightline.store import Dataset
from sightline.store.formats.hierarchy import Hierarchy

SMALLEST: Final = 0.02
LARGEST: Final = 0.7
"""Share of the image a box may have, borders included."""

OVERLAP: Final = 0.7
"""IoU above which two boxes are taken for the same thing."""

_CORNERS: Final = ("x0", "y0", "x1", "y1")
_ID: Final = ("scene_id", "object_id")


@dataclass(frozen=True)
class ClassRules:
    """What the filters must know about the classes.

    Attributes:
        person: Classes of whole people.
        body_parts_and_clothing: What is dropped where a person is boxed.
        part_of: (part, whole) pairs of classes.
        mids: What a class may be called → its MID: the MID itself, and its name in lower case. Empty where the
            sets above hold the only names there are.
    """

    person: frozenset[str] = frozenset()
    body_parts_and_clothing: frozenset[str] = frozenset()
    part_of: frozenset[tuple[str, str]] = frozenset()
    mids: Mapping[str, str] = field(default_factory=dict)

    def class_of(self, name: str) -> str:
        """The class that a name stands for, as the sets have it; the name itself where it is not known.

        >>> ClassRules(mids={"/m/01g317": "/m/01g317", "person": "/m/01g317"}).class_of("Person")
        '/m/01g317'
        """
        return self.mids.get(name) or self.mids.get(name.casefold(), name)

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Those of the names that stand for no class, sorted; none where names are not translated."""
        return sorted({name for name in names if self.class_of(name) not in self.mids}) if self.mids else []

    @classmethod
    def from_hierarchy(
        cls, hierarchy: Hierarchy, *, person: str = "Person", clothing: str = "Clothing"
    ) -> ClassRules:
        """From Open Images' own hierarchy, opened with its class descriptions.

        Body parts are what the hierarchy declares part of a person; clothing is that class and its kinds.

        Args:
            hierarchy: Kinds, parts and names.
            person: English name of the class of people in the descriptions.
            clothing: That of clothing.
        """
        someone, worn = _by_name(hierarchy, person), _by_name(hierarchy, clothing)
        relations = (hierarchy.kinds, hierarchy.parts)
        mids = {mid for direct in relations for above, below in direct.items() for mid in (above, *below)}
        return cls(
            person=frozenset({someone}) | hierarchy.descendants(someone),
            body_parts_and_clothing=hierarchy.parts_of(someone) | {worn} | hierarchy.descendants(worn),
            part_of=frozenset((part, mid) for mid in mids for part in hierarchy.parts_of(mid)),
            # Of two classes of one name the one that stands in the hierarchy is meant.
            mids={
                called.casefold(): mid
                for mid, called in sorted(hierarchy.names.items(), key=lambda c: c[0] in mids)
            }
            | {mid: mid for mid in (*hierarchy.names, *mids)},
        )


@dataclass(frozen=True)
class Collection:
    """What is to be labelled, and what was left out on the way.

    Attributes:
        boxes: The boxes that are left.
        within: Pairs of boxes of one image.
        across: Pairs of boxes of two images; each image stands in at most one image pair.
        dropped: Step → how many boxes, pairs or images it dropped.
    """

    boxes: pl.DataFrame
    within: pl.DataFrame
    across: pl.DataFrame
    dropped: Mapping[str, int]


def boxes_of(data: Dataset, split: str) -> pl.DataFrame:
    """The boxes of a split of an imported dataset, in the form the steps take; `group` is the flag of that name."""
    tables = data.tables(split or None)
    seen = fraction_boxes(tables, tables.views).with_columns(group=pl.col("flags").list.contains("group"))
    return seen.select("scene_id", "object_id", "category", *_CORNERS, "group")


def collect(boxes: pl.DataFrame, classes: ClassRules, *, seed: int, training: bool = False) -> Collection:
    """All steps on the boxes of one split.

    Args:
        boxes: One row a box.
        classes: Which classes are people, parts…
        seed: Of all random choices, 0 or more.
        training: Whether one random pair an image (or image pair) is taken instead of all.
    """
    dropped: dict[str, int] = {}

    def count(step: str, before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
        dropped[step] = before.height - after.height
        return after

    left = count("body parts and clothing", boxes, drop_parts_of_people(boxes, classes))
    left = count("group boxes", left, drop_groups(left))
    left = count("too small or too large", left, drop_extreme_sizes(left))
    within = pairs_within(left)
    within = count("overlapping pairs", within, drop_overlapping(within))
    within = count("part-of pairs", within, drop_part_of(within, classes))
    partners = image_pairs(left["scene_id"], seed=seed)
    dropped["images without a partner"] = left["scene_id"].n_unique() - 2 * partners.height
    across = pairs_across(left, partners)
    if training:
        within, across = one_pair_each(within, seed=seed), one_pair_each(across, seed=seed)
    return Collection(left.sort(_ID), within, across, dropped)


def drop_parts_of_people(boxes: pl.DataFrame, classes: ClassRules) -> pl.DataFrame:
    """Without body parts and clothing in images that have the box of a person."""
    peopled = pl.col("category").is_in(classes.person).any().over("scene_id")
    return boxes.filter(~(peopled & pl.col("category").is_in(classes.body_parts_and_clothing)))


def drop_groups(boxes: pl.DataFrame) -> pl.DataFrame:
    """Without boxes around several things."""
    return boxes.filter(~pl.col("group"))


def drop_extreme_sizes(boxes: pl.DataFrame) -> pl.DataFrame:
    """Without boxes under `SMALLEST` or over `LARGEST` of the image."""
    return boxes.filter(pl.Series(_right_size(boxes.select(_CORNERS).to_numpy())))


def sample_boxes(boxes: pl.DataFrame, most: int, *, seed: int) -> pl.DataFrame:
    """At most so many boxes of each image, drawn by lot; which ones depends on the seed and their ids alone."""
    lots = [_digest(seed, f"{scene}|{thing}") for scene, thing in boxes.select(_ID).iter_rows()]
    dealt = boxes.with_columns(lot=pl.Series(lots, dtype=pl.UInt64)).sort("lot", *_ID)
    return dealt.group_by("scene_id", maintain_order=True).head(most).drop("lot").select(boxes.columns).sort(_ID)


def pairs_within(boxes: pl.DataFrame) -> pl.DataFrame:
    """All n(n − 1)/2 pairs of each image, the smaller object id first."""
    first, second = _ends(boxes)
    pairs = first.join(second, left_on="scene_1", right_on="scene_2", coalesce=False)
    return _in_order(pairs.filter(pl.col("object_1") < pl.col("object_2")))


def pairs_across(boxes: pl.DataFrame, partners: pl.DataFrame) -> pl.DataFrame:
    """All pairs of a box in the first and a box in the second image of each image pair."""
    first, second = _ends(boxes)
    return _in_order(partners.join(first, on="scene_1").join(second, on="scene_2"))


def drop_overlapping(pairs: pl.DataFrame) -> pl.DataFrame:
    """Without pairs of an IoU over `OVERLAP`: two boxes of one thing. Only for pairs within an image."""
    a, b = (pairs[name].to_numpy() if pairs.height else np.zeros((0, 4)) for name in ("box_1", "box_2"))
    return pairs.filter(pl.Series(iou(a, b) <= OVERLAP, dtype=pl.Boolean))


def drop_part_of(pairs: pl.DataFrame, classes: ClassRules) -> pl.DataFrame:
    """Without pairs of a thing and a part of such a thing, in either order. Only for pairs within an image."""
    parts = pl.DataFrame(sorted(classes.part_of), schema={"part": pl.String, "whole": pl.String}, orient="row")
    for ends in (["category_1", "category_2"], ["category_2", "category_1"]):
        pairs = pairs.join(parts, left_on=ends, right_on=["part", "whole"], how="anti", maintain_order="left")
    return pairs


def image_pairs(scenes: pl.Series, *, seed: int) -> pl.DataFrame:
    """Images shuffled into two groups and paired, one of each: a frame with scene_1, scene_2.

    Of an odd number one image stays alone.

    >>> image_pairs(pl.Series(["a", "b", "c"]), seed=0).height
    1
    """
    shuffled = sorted(set(scenes), key=lambda scene: (_digest(seed, scene), scene))
    half = len(shuffled) // 2
    return pl.DataFrame(
        {"scene_1": shuffled[:half], "scene_2": shuffled[half : 2 * half]},
        schema={"scene_1": pl.String, "scene_2": pl.String},
    )


def one_pair_each(pairs: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """One random pair of every image or image pair."""
    ordered = _in_order(pairs)
    spans = ordered.group_by("scene_1", "scene_2", maintain_order=True).len()
    starts = np.cumsum(spans["len"].to_numpy()) - spans["len"].to_numpy()
    chosen = [
        int(start) + int(generator(seed, f"{a}|{b}").integers(number))
        for start, (a, b, number) in zip(starts, spans.iter_rows(), strict=True)
    ]
    return ordered[chosen]


def generator(seed: int, key: str) -> np.random.Generator:
    """Random numbers that depend on the seed and an id alone, on any machine.

    >>> int(generator(0, "a").integers(1000)) == int(generator(0, "a").integers(1000))
    True
    """
    return np.random.default_rng(np.random.SeedSequence([seed, _digest(0, key)]))


def filter_detections(
    boxes: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike,
    *,
    keep: int,
    categories: Sequence[str] = (),
    classes: ClassRules | None = None,
) -> NDArray[np.intp]:
    """Indices of the detections that stay, best first: the collection's filters, then the `keep` best.

    Boxes of groups and of extreme size go, and body parts and clothing where a person is among the `keep` best: a
    detector's last guesses name anything. Boxes that overlap stay, as they did in the dataset: what goes there is
    their pair (see `detected.all_pairs`).

    Args:
        boxes: (n, 4) xyxy, fractions of the image.
        scores: (n,) higher is surer; among equals the earlier wins.
        groups: (n,) True for a box around several things; may be empty for none.
        keep: How many at most.
        categories: n classes, by MID or by name.
        classes: Which of them are people, and what goes beside them; None where nobody knows.

    >>> filter_detections([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.49], [0, 0, 0.1, 0.1]], [0.8, 0.9, 1.0], [], keep=5)
    array([1, 0])
    """
    b, s, g = np.asarray(boxes, dtype=np.float64).reshape(-1, 4), np.asarray(scores), np.asarray(groups, dtype=bool)
    usable = np.flatnonzero(_right_size(b) & ~(g if g.size else np.zeros(len(b), dtype=bool)))
    left: NDArray[np.intp] = usable[np.argsort(-s[usable], kind="stable")]
    if classes is not None:
        kinds = [classes.class_of(categories[row]) for row in left]
        if any(kind in classes.person for kind in kinds[: max(keep, 0)]):
            left = left[[kind not in classes.body_parts_and_clothing for kind in kinds]]
    return left[: max(keep, 0)]


def _right_size(boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    share = area(boxes)
    right: NDArray[np.bool_] = (share >= SMALLEST) & (share <= LARGEST)
    return right


def _ends(boxes: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The boxes as the first and as the second end of pairs."""
    corners = pl.concat_arr(pl.col(_CORNERS).cast(pl.Float64))
    ends = boxes.select(scene="scene_id", object="object_id", category="category", box=corners)
    return ends.rename(lambda name: f"{name}_1"), ends.rename(lambda name: f"{name}_2")


def _in_order(pairs: pl.DataFrame) -> pl.DataFrame:
    names = [f"{name}_{end}" for end in (1, 2) for name in ("scene", "object", "category", "box")]
    return pairs.select(names).sort("scene_1", "scene_2", "object_1", "object_2")


def _digest(seed: int, key: str) -> int:
    """64 bits of a hash that is the same everywhere, unlike `hash`."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{key}".encode()).digest()[:8])


def _by_name(hierarchy: Hierarchy, name: str) -> str:
    mids = [mid for mid, called in hierarchy.names.items() if called == name]
    if len(mids) != 1:
        near = did_you_mean(name, set(hierarchy.names.values()))
        raise ConfigError(f"{len(mids)} classes of the descriptions are called {name!r}{near}")
    return mids[0]
