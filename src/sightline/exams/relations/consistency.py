"""The relations exam without truth: do a model's answers fit together, and does it keep to them?

Any photos with boxes will do. Of every image a bounded sample of its boxes is paired, each with each, and with
those of one other image. Three things are counted: contradictions between answers (`law_counts`, and within an
image against across two), whether an answer stays the same when the picture is changed (`sightline.variations`),
and how far two models, or a model and a blind rule, say the same. None of that is correctness: a rule that never
looks contradicts itself nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.base import Measures, Name
from sightline.exams.hooks import model_call
from sightline.exams.relations.analyses import law_counts
from sightline.exams.relations.collection import (
    boxes_of,
    drop_extreme_sizes,
    drop_groups,
    drop_overlapping,
    generator,
    image_pairs,
    pairs_across,
    pairs_within,
    sample_boxes,
)
from sightline.exams.relations.items import RelationsItem
from sightline.exams.relations.marks import RECORDS, Marks, answer_words, joint_units, mark_pairs
from sightline.exams.relations.measures import SUBTASK_TITLES, task_name
from sightline.exams.relations.pairs import SETTINGS, PairTable, pair_table
from sightline.exams.relations.protocols import ratio
from sightline.exams.run import ItemRecords
from sightline.exams.run_schema import RecordColumn
from sightline.geometry import area
from sightline.scenes import View
from sightline.skills import Judgements, Pairs, Setting
from sightline.stats import OrderedPairs
from sightline.store import Dataset, Tables
from sightline.store.contents import contents_of
from sightline.text import counted
from sightline.variations import VARIATIONS, Variation

MEANING: Final = (
    "Consistency, not correctness: there is no truth here. These figures say whether answers fit together and stay "
    "the same, not whether they are right; a rule that never looks can be perfectly consistent."
)

ORIGINAL: Final = "original"
"""Variant of the pictures as they are."""

KEPT: Final = 0.5
"""Share of a box that must still be seen in a changed picture to be asked about there."""

COLUMNS: Final = RECORDS | {
    "truth": RecordColumn(pl.String, empty=True),
    "variant": RecordColumn(pl.String, words=(ORIGINAL, *VARIATIONS)),
    "unchanged": RecordColumn(pl.String),
}
"""Columns of the records, as they are checked when a run is read."""

LAWS: Final = {
    "symmetry": "closer both ways",
    "symmetry_exact": "depth not the reverse",
    "transitivity": "transitivity",
    "transitivity_strict": "transitivity, strict",
    "transitivity_all": "transitivity, of all triples",
    "symmetry_occlusion": "occlusion not the reverse",
}
"""Laws that answers can break, in the words of tables."""

ASKED: Final = ("item", "subject", "object", "aspect")
"""Columns that name a question, whoever was asked and of whichever variant of the pictures."""
_NO_PHOTO: Final = "no photo to change"
_STORED: Final = "the model's answers are stored, of the pictures as they are"


def box_tables(
    data: Dataset, split: str, settings: Sequence[Setting], *, objects: int, seed: int
) -> dict[Setting, PairTable]:
    """Pairs of the boxes there are, without labels, by setting; made once an opened dataset.

    Boxes pass the filters that 2.5VRD's did (no groups, 2 to 70 % of the image, pairs of an IoU up to 0.7), since
    elsewhere the questions are ill-defined.

    Args:
        data: Any data with boxes.
        split: Name of a split; "" for all scenes.
        settings: Those that are asked.
        objects: Boxes of an image at most, drawn by lot.
        seed: Of the lots, and of which two images are paired.
    """

    def make() -> dict[Setting, PairTable]:
        stored, boxes = data.tables(split or None), drop_extreme_sizes(drop_groups(boxes_of(data, split)))
        views = stored.views.with_columns(split=pl.lit(split))
        tables = {}
        for setting in settings:
            # The same photo may stand in a dataset once a setting, with boxes of its own.
            own = views.filter(pl.col("source") == setting) if views["source"].is_in(SETTINGS).any() else views
            some = sample_boxes(boxes.join(own, on="scene_id", how="semi"), objects, seed=seed)
            pairs = Tables(own, stored.objects, stored.sightings, _relations(some, setting, seed))
            tables[setting] = pair_table(pairs, setting, split)
        return tables

    made = data.memo(("relations of boxes", split, tuple(settings), objects, seed), make)
    some = {setting: table for setting, table in made.items() if len(table)}
    if not some:
        expected = "boxes of 2 to 70 % of the image, two in one image or one each in two"
        where = f" in split {split}" if split else ""
        found = counted(contents_of(data).boxes, "box", "boxes")
        raise DataError(f"no two boxes to ask about{where}", file=data.path, expected=expected, found=found)
    return some


def _relations(boxes: pl.DataFrame, setting: Setting, seed: int) -> pl.DataFrame:
    """The pairs to ask about, as relations without an answer."""
    within = setting == "within_image"
    if within:
        pairs = drop_overlapping(pairs_within(boxes))
    else:
        pairs = pairs_across(boxes, image_pairs(boxes["scene_id"], seed=seed))
    other = pl.lit(None, pl.String) if within else pl.col("scene_2")
    asked = pairs.select(scene_id="scene_1", subject="object_1", object="object_2", object_scene=other)
    named = pl.DataFrame({"aspect": ["depth", "occlusion"] if within else ["depth"]})
    return Tables.build(relations=asked.join(named, how="cross")).relations


def consistency_records(model: Any, item: RelationsItem, changes: Sequence[str], seed: int) -> ItemRecords:
    """Ask about the pairs of one item, of the pictures as they are and of each changed: one row a judgement."""
    pairs = replace(item.pairs, view_a=_kept(item.pairs.view_a), view_b=_kept(item.pairs.view_b))
    reason = _STORED if getattr(model, "stored_answers", False) else _NO_PHOTO if not _has_photos(pairs) else ""
    columns: dict[str, list[Any]] = {}
    everything = np.ones(len(pairs), dtype=bool)
    for variant in (ORIGINAL, *(() if reason else changes)):
        changed, there = (pairs, everything) if variant == ORIGINAL else changed_pairs(pairs, variant, seed)
        if not there.any():
            continue
        with model_call(model, "relate"):
            given = model.relate(changed)
        said = Judgements.checked(given, len(changed), type(model).__name__)
        _extend(columns, item, variant, there, said)
    facts = {"setting": pairs.setting, "other_scene": item.other_scene, "unchanged": reason if changes else ""}
    return ItemRecords(facts, columns)


def changed_pairs(pairs: Pairs, change: str, seed: int) -> tuple[Pairs, NDArray[np.bool_]]:
    """The pairs in changed pictures, without those of which too little is left; and (n,) which are still there."""
    one = _drawn(change, pairs.view_a, seed)
    other = one if pairs.setting == "within_image" else _drawn(change, pairs.view_b, seed)
    boxes_a, boxes_b = one[0].boxes(pairs.boxes_a, one[1]), other[0].boxes(pairs.boxes_b, other[1])
    there: NDArray[np.bool_] = (area(boxes_a) >= KEPT * area(pairs.boxes_a)) & (
        area(boxes_b) >= KEPT * area(pairs.boxes_b)
    )
    view_a, view_b = one[0].view(pairs.view_a), other[0].view(pairs.view_b)
    low, high = sorted((view_a.id, view_b.id))
    changed = replace(
        pairs,
        cluster_id=view_a.id if pairs.setting == "within_image" else f"{low}|{high}",
        view_a=view_a,
        view_b=view_b,
        boxes_a=boxes_a[there],
        boxes_b=boxes_b[there],
        categories_a=tuple(np.array(pairs.categories_a, dtype=object)[there]),
        categories_b=tuple(np.array(pairs.categories_b, dtype=object)[there]),
    )
    return changed, there


def _drawn(change: str, view: View, seed: int) -> tuple[Variation, tuple[int, int]]:
    """The change of one picture, the same whenever it is asked for, and the picture's size."""
    height, width = view.image().shape[:2] if view.size is None else view.size[::-1]
    return VARIATIONS[change](generator(seed, f"{change}|{view.id}"), (width, height)), (width, height)


def _has_photos(pairs: Pairs) -> bool:
    return pairs.view_a.load_image is not None and pairs.view_b.load_image is not None


def _kept(view: View) -> View:
    """The view with its picture read once however often it is looked at, while one item is asked."""
    return view if view.load_image is None else replace(view, load_image=cache(view.load_image))


def _extend(
    columns: dict[str, list[Any]], item: RelationsItem, variant: str, there: NDArray[np.bool_], said: Judgements
) -> None:
    """Add the judgements of one variant; nobody knows the truth, hence nobody what is right."""
    subjects, objects, place = item.subjects, item.objects, np.cumsum(there) - 1
    for aspect, rows in item.rows.items():
        asked = rows[there[rows]]
        answers = answer_words(aspect, getattr(said, aspect)[place[asked]])
        more: dict[str, list[Any]] = {
            "subject": [subjects[row] for row in asked],
            "object": [objects[row] for row in asked],
            "reverse": item.reverse[asked].tolist(),
            "aspect": [aspect] * len(asked),
            "variant": [variant] * len(asked),
            "truth": [None] * len(asked),
            "answer": answers,
            "right": [None] * len(asked),
        }
        for name, values in more.items():
            columns.setdefault(name, []).extend(values)


def consistency_measures(
    rows: pl.DataFrame, items: pl.DataFrame, tables: Mapping[Setting, PairTable]
) -> Iterator[Measures]:
    """Everything that is counted of one run: contradictions, and answers that stay when pictures are changed.

    ``both_ways``: the share of ordered pairs whose reverse got the reverse answer, of all sub-tasks together.
    ``contradictions``: broken laws by sub-task, as shares of their cases; ``within_against_across``: triples of two
    objects of one image and one of another. ``changes``: by sub-task and change, the share of answers that are the
    same in the changed picture; silence there is another answer.

    Args:
        rows: The records, a row a judgement.
        items: A row an item, with why its pictures were not changed.
        tables: The pairs that were asked, by setting.
    """
    left_out = (
        Counter(word for word in items["unchanged"].to_list() if word) if "unchanged" in items.columns else {}
    )
    facts = {"truth": None, "meaning": MEANING, "items": items.height, "not_changed": dict(left_out)}
    yield Measures((), np.zeros((0, 1)), lambda totals: totals, (), facts)
    if not rows.height:
        return
    marks = mark_pairs(rows.filter(pl.col("variant") == ORIGINAL), tables)
    counts = {task: law_counts(m.pairs.consistency, task[1], m.answer) for task, m in marks.items()}
    yield _both_ways(marks, counts)
    for task, by_law in counts.items():
        # Which figures there are must not depend on answers, or runs could not be compared.
        triples = task[0] == "within_image"
        laws = {law: of for law, of in by_law.items() if triples or law.startswith("symmetry")}
        yield _broken(tuple(marks[task].clusters), task_name(*task), laws)
    if mixed := within_against_across(marks):
        yield _broken(tuple(marks["across_images", "depth"].clusters), "within_against_across", mixed)
    yield from _changes(rows)


def _both_ways(marks: Marks, counts: Mapping[Any, Mapping[str, NDArray[np.int64]]]) -> Measures:
    """The figure that stands for the exam; an image pair counts together with what was asked within its images."""
    unit, units = joint_units({task: marked.images for task, marked in marks.items()})
    totals = np.zeros((len(units), 2), dtype=np.int64)
    for (setting, aspect), by_law in counts.items():
        broken = by_law["symmetry_exact" if aspect == "depth" else "symmetry_occlusion"]
        np.add.at(totals, unit[setting, aspect], np.column_stack([broken[:, 1] - broken[:, 0], broken[:, 1]]))
    name = Name(
        ("both_ways",),
        "answers that fit their reverse",
        table="Consistency, not correctness",
        family="",
        headline=1,
        percent=True,
    )
    return Measures(units, totals, lambda t: ratio(t[:, :1], t[:, 1:]), (name,))


def comparable_rows(a: pl.DataFrame, b: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The judgements that both runs were asked for, changed pictures among them."""
    keys = [*ASKED, "variant"]
    return tuple(x.join(y, on=keys, how="semi", maintain_order="left") for x, y in ((a, b), (b, a)))  # type: ignore[return-value]


def _broken(units: tuple[str, ...], place: str, laws: Mapping[str, NDArray[np.int64]]) -> Measures:
    """Shares of broken laws at one place; their cases are facts."""
    where = SUBTASK_TITLES.get(place, "within one image against across two")
    names = tuple(
        Name(
            ("contradictions", place, law, "share"),
            LAWS[law],
            table=f"Contradictions, share of cases: {where.lower()}",
            family="contradictions",
            compared=f"{LAWS[law]}, {where.lower()}",
            rank=1,
            percent=True,
        )
        for law in laws
    )
    cases = {law: {"cases": int(of[:, 1].sum())} for law, of in laws.items()}
    facts = {"contradictions": {place: cases}}
    counts = np.stack(list(laws.values()), axis=1)
    return Measures(units, counts, lambda t: ratio(t[..., 0], t[..., 1]), names, facts)


def within_against_across(marks: Marks) -> dict[str, NDArray[np.int64]]:
    """Transitivity of triples of two objects of one image and one of another: (C, 2) by image pair and law.

    Answers within either image and across the two are put together; triples inside one image are taken away. None
    where one of the two was not asked, or of other boxes.
    """
    within, across = marks.get(("within_image", "depth")), marks.get(("across_images", "depth"))
    if within is None or across is None:
        return {}
    inner, outer, c = within.pairs, across.pairs, len(across.clusters)
    if not (np.array_equal(inner.object_ids, outer.object_ids) and np.array_equal(inner.scenes, outer.scenes)):
        return {}
    partner = np.full(len(outer.scenes), -1)
    for end in (outer.first, outer.second):
        partner[outer.object_scene[end]] = outer.cluster
    at = partner[inner.object_scene[inner.first]]
    rows = np.flatnonzero(at >= 0)
    cluster, first, second = at[rows], inner.first[rows], inner.second[rows]
    alone = OrderedPairs(cluster, first, second, c)
    ends = ((cluster, outer.cluster), (first, outer.first), (second, outer.second))
    cluster, first, second = (np.concatenate(both) for both in ends)
    everything = OrderedPairs(cluster, first, second, c)
    answers = within.answer[rows], np.concatenate([within.answer[rows], across.answer])
    laws = {}
    for law in ("transitivity", "transitivity_strict"):
        one, other = (np.where(a == 3, -1, a) if law.endswith("strict") else a for a in answers)
        laws[law] = everything.transitivity(other) - alone.transitivity(one)
    return laws


def _changes(rows: pl.DataFrame) -> Iterator[Measures]:
    """Answers that stay the same in a changed picture, by sub-task and change."""
    before = rows.filter(pl.col("variant") == ORIGINAL, pl.col("answer").is_not_null())
    after = rows.filter(pl.col("variant") != ORIGINAL)
    lined = after.join(before.select(*ASKED, said="answer"), on=ASKED, how="inner", maintain_order="left")
    counted = lined.group_by("setting", "aspect", "variant", "cluster_id").agg(
        same=pl.col("answer").eq_missing(pl.col("said")).sum(), cases=pl.len()
    )
    for task, title in SUBTASK_TITLES.items():
        setting, aspect = task.split("/")
        own = (pl.col("setting") == setting) & (pl.col("aspect") == aspect)
        asked = after.filter(own)
        variants, units = (
            [name for name in VARIATIONS if name in asked["variant"]],
            asked["cluster_id"].unique().sort(),
        )
        counts = np.zeros((len(units), len(variants), 2), dtype=np.int64)
        for k, variant in enumerate(variants):
            of = counted.filter(own & (pl.col("variant") == variant))
            counts[units.search_sorted(of["cluster_id"]), k] = of.select("same", "cases").to_numpy()
        names = tuple(
            Name(
                ("changes", task, variant),
                variant,
                table=f"The same answer when the picture is changed: {title.lower()}",
                family="changes",
                compared=f"same after {variant}, {title.lower()}",
                rank=2,
                percent=True,
            )
            for variant in variants
        )
        if names:
            yield Measures(tuple(units), counts, lambda t: ratio(t[..., 0], t[..., 1]), names)
