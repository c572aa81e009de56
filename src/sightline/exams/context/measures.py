"""Count the records of the context exam: violations and mAP of classifiers, and the controls of every skill.

All by source image. A *case* is a class in an image that was removed and of which a context class was removed too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.exams.base import Measures, Name, RankedMeasures
from sightline.exams.context.answered import answered, replies_after
from sightline.exams.context.counts import SUBSETS, ContextRecords, Share, comes_back, measured, subsets
from sightline.exams.context.segmented import segmented
from sightline.exams.run import RunRecords
from sightline.exams.turing.conversation import YES
from sightline.stats import Ranking, rank

MOST_CONTEXT: Final = 6
"""Context classes from which on images are counted together."""
CONTROLS: Final = {"removal": "removal", "false": "false_edit", "empty": "empty_region"}
"""Edits that a control is held against, and their names in scores."""
_NEEDS: Final = {
    "v_min": "classify",
    "v_mean": "classify",
    "map": "classify",
    "ar": "segment",
    "miou": "segment",
    "beaf": "answer",
}


def context_measures(
    records: RunRecords, *, alpha: float, fewest: int, companion: str = ""
) -> Iterator[Measures | RankedMeasures]:
    """Count the records of a run.

    Args:
        records: Of the run.
        alpha: Change of an IoU from which on a class is affected.
        fewest: Images behind an affected rate for it to enter maxima.
        companion: Class with and without which segmenters' IoU is given; empty for that of each class's own.
    """
    read = ContextRecords.of(records)
    if read is None:
        return
    facts: dict[str, Any] = {"n_images": read.items.height, "skill": read.skill}
    facts["n_by_class"] = dict(sorted(_times(read.items["classes"]).items()))
    facts["n_not_removable"] = _not_removable(read)
    reasons = {
        key: f"of models with the skill {skill}; this one was examined in {read.skill}"
        for key, skill in _NEEDS.items()
        if skill != read.skill
    }
    facts |= dict.fromkeys(reasons)
    kinds: dict[str, Callable[[], Iterator[Measures | RankedMeasures]]] = {
        "classify": lambda: _classified(read, fewest),
        "segment": lambda: segmented(read, alpha, fewest, companion),
        "answer": lambda: answered(read, fewest),
    }
    for measures in kinds[read.skill]():
        yield measures
        reasons |= measures.facts.get("reasons", {})
    yield measured(read, np.zeros((len(read.units), 0, 0)), (), facts=facts | {"reasons": reasons})
    yield _controls(read, alpha)


def _times(lists: pl.Series) -> dict[str, int]:
    names, counts = np.unique([name for of in lists.to_list() for name in of or ()], return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def _not_removable(read: ContextRecords) -> dict[str, int]:
    """Why a class of an image could not be removed → how often, the commonest first."""
    if "kept" not in read.items.columns:
        return {}
    reasons = [why.partition(": ")[2] for of in read.items["kept"].to_list() for why in of or ()]
    return dict(Counter(reasons).most_common())


def _classified(read: ContextRecords, fewest: int) -> Iterator[Measures | RankedMeasures]:
    yield _violations(read, fewest)
    yield _violations_left(read)
    yield _by_context(read)
    yield _average_precision(read)
    yield comes_back(read, *_back_scores(read))


def _violation_fields() -> dict[str, pl.Expr]:
    low, without, gap = pl.col("lowest"), pl.col("without"), pl.col("gap")
    return {
        "n": pl.lit(1),
        "v_min": low < without,
        "v_mean": gap < 0,
        "ties_min": low == without,
        "ties_mean": gap == 0,
        "chance": pl.col("k") / (pl.col("k") + 1),
        "apart": low > without,
    }


def _violations(read: ContextRecords, fewest: int) -> Measures:
    """V^min and V^mean by class and averaged, ties, and the literal denominators of (2) and (3)."""
    there = read.rows.filter((pl.col("edit") == "original") & (pl.col("truth") == YES))
    classes = sorted(set(there["category"]))
    counts = read.counted(read.cases, classes, "category", _violation_fields())
    counts = np.concatenate([counts, read.counted(there, classes, "category", {"there": pl.lit(1)})], axis=2)
    n, v_min, v_mean, ties_min, ties_mean, chance, told, present = range(8)
    every = list(range(len(classes)))
    title = "violations, mean over classes"
    means = {
        "v_min": ("V^min", v_min, n),
        "v_mean": ("V^mean", v_mean, n),
        "ties_min": ("ties, min", ties_min, n),
        "ties_mean": ("ties, mean", ties_mean, n),
        "v_min_literal": ("V^min, of all images with the class", v_min, present),
        "v_mean_literal": ("V^mean, of all images with the class", v_mean, present),
    }
    apart = Name(("told_apart", "mean"), "told apart", "", None, headline=1, percent=True)
    shares = [Share(apart, told, n, every)]
    for path, (label, top, bottom) in means.items():
        family = {"v_min": "", "v_mean": ""}.get(path)
        shares.append(Share(Name((path, "mean"), label, title, family, percent=True), top, bottom, every))
    for path, top in (("v_min", v_min), ("v_mean", v_mean)):
        label = means[path][0]
        pooled = Name((path, "pooled"), f"{label}, all cases together", title, "pooled", percent=True)
        shares.append(Share(pooled, top, n, every, pooled=True))
        for i, name in enumerate(classes):
            table = f"{label} by class" if path == "v_min" else ""
            by_class = Name((path, name), name, table, label, f"  {label}, {name}", 1, percent=True)
            shares.append(Share(by_class, top, n, [i]))
    cases = dict(zip(classes, counts[:, :, n].sum(axis=0).astype(int).tolist(), strict=True))
    for i, name in enumerate(classes):
        part = cases[name] >= fewest  # a class with few cases is nobody's weakest point
        shares.append(Share(Name(("told_apart", name), name, part=part, percent=True), told, n, [i]))
    facts: dict[str, Any] = {"n_cases": sum(cases.values()), "n_cases_by_class": cases}
    by_chance = Share(apart, chance, n, every).value(counts.sum(axis=0, keepdims=True))
    facts["chance"] = {"v_min": float(by_chance[0]), "v_mean": 0.5}
    if not facts["n_cases"]:
        facts["reasons"] = dict.fromkeys(("v_min", "v_mean"), "no image has two classes that can be removed")
    return measured(read, counts, shares, facts=facts)


def _violations_left(read: ContextRecords) -> Measures:
    """V^min and V^mean over those context classes whose hole leaves at least half of the object."""
    cases, classes = read.cases_left, sorted(set(read.cases["category"]))
    counts = read.counted(cases, classes, "category", _violation_fields())
    every, title = range(len(classes)), "violations, mean over classes"
    words = {"v_min_left": ("V^min", 1), "v_mean_left": ("V^mean", 2)}
    shares = []
    for path, (label, top) in words.items():
        label = f"{label}, half of the object left"
        shares.append(Share(Name((path, "mean"), label, title, "left", percent=True), top, 0, every))
        pooled = Name((path, "pooled"), f"{label}, all cases together", "", "left", percent=True)
        shares.append(Share(pooled, top, 0, every, pooled=True))
    return measured(read, counts, shares, facts={"n_cases_left": cases.height})


def _by_context(read: ContextRecords) -> Measures:
    """V^min and V^mean by number of context classes, over all cases with so many."""
    fields = _violation_fields()
    cases = read.cases.with_columns(group=pl.col("k").clip(upper_bound=MOST_CONTEXT))
    numbers = sorted(set(cases["group"]))
    counts = read.counted(cases, numbers, "group", fields)
    labels = [f"{k}+" if k == MOST_CONTEXT else f"{k}" for k in numbers]
    title = "{} by number of context classes"
    words = {"v_min": "V^min", "v_mean": "V^mean"}
    shares = [
        Share(Name((f"{path}_by_context", label), label, title.format(words[path]), percent=True), top, 0, [i])
        for path, top in (("v_min", 1), ("v_mean", 2))
        for i, label in enumerate(labels)
    ]
    totals = counts.sum(axis=0)
    by_chance = {label: float(of[5] / of[0]) for label, of in zip(labels, totals, strict=True)}
    n = {label: int(of[0]) for label, of in zip(labels, totals, strict=True)}
    facts = {"n_by_context": n, "chance_by_context": {"v_min": by_chance, "v_mean": dict.fromkeys(labels, 0.5)}}
    return measured(read, counts, shares, facts=facts)


def _average_precision(read: ContextRecords) -> RankedMeasures:
    """AP of each class over all images, and mAP on Full, Co-occur and Single."""
    whole = read.rows.filter(pl.col("edit") == "original").join(
        read.items.select("item", n=pl.col("classes").list.len()), on="item"
    )
    # Equal scores stand in an order that has nothing to do with the truth.
    order = [blake2b(item.encode(), digest_size=8).digest() for item in whole["item"]]
    whole = whole.with_columns(order=pl.Series(order, dtype=pl.Binary)).sort("order", "category")
    classes = sorted(set(whole.filter(pl.col("truth") == YES)["category"]))
    of_class = {
        subset: {name: _ranking(of.filter(pl.col("category") == name), len(read.units)) for name in classes}
        for subset, of in subsets(whole).items()
    }
    names, groups = [], {}
    for subset, word in SUBSETS.items():
        names.append(Name(("map", subset), word, "mAP", "", f"mAP, {word}", -1, percent=True))
        groups[f"map/{subset}"] = list(of_class[subset].values()) or [_ranking(whole.clear(), len(read.units))]
    for name in classes:
        names.append(Name(("ap", name), name, "", "AP", f"  AP, {name}", 1, percent=True))
        groups[f"ap/{name}"] = [of_class["full"][name]]
    lists = {word: of["item"].n_unique() for word, of in subsets(whole).items()}
    shown = {"full": "a class", "cooccur": "two classes and more", "single": "exactly one class"}
    reasons = {f"map.{subset}": f"no image shows {shown[subset]}" for subset, n in lists.items() if not n}
    return RankedMeasures(read.units, groups, tuple(names), {"n_by_subset": lists, "reasons": reasons})


def _ranking(rows: pl.DataFrame, n: int) -> Ranking:
    there = (rows["truth"] == YES).to_numpy()
    unit = rows["unit"].to_numpy()
    return rank(rows["score"].to_numpy(), unit, there, np.bincount(unit[there], minlength=n))


def _back_scores(read: ContextRecords) -> tuple[pl.DataFrame, pl.Expr, str]:
    before = read.rows.filter((pl.col("edit") == "original") & (pl.col("score") > 0)).select("item", "category")
    own = read.rows.filter((pl.col("edit") == "removal") & (pl.col("gone") == pl.col("category")))
    note = "of removed classes with a logit above 0 before, those still above 0"
    return own.join(before, on=["item", "category"], how="semi"), pl.col("score") > 0, note


def _controls(read: ContextRecords, alpha: float) -> Measures:
    """How often one removal affects a class that stayed, and how often edits that remove nothing do.

    Affected: a classifier scores the class lower than where it was removed; a segmenter's IoU changes by α or more;
    a reply about it changes. All of the same image, class and hole.
    """
    if read.skill == "classify":
        own = read.cases.select("item", "category", "without")
        rows = read.rows.join(own, on=["item", "category"]).with_columns(hit=pl.col("score") < pl.col("without"))
    elif read.skill == "segment":
        rows = read.changes.with_columns(hit=pl.col("delta").abs() + 1e-12 >= alpha)
    else:
        rows = replies_after(read).with_columns(hit=pl.col("before") != pl.col("answer"))
    controls = rows.filter(pl.col("edit").is_in(["false", "empty"])).select("item", "gone").unique()
    kinds = list(CONTROLS)
    rows = rows.filter(pl.col("edit").is_in(kinds) & (pl.col("gone") != pl.col("category")))
    rows = rows.join(controls, on=["item", "gone"], how="semi")
    counts = read.counted(rows, kinds, "edit", {"n": pl.lit(1), "hit": pl.col("hit")})
    shown = "affected by an edit" if controls.height else ""
    shares = []
    for i, kind in enumerate(kinds):
        words = CONTROLS[kind].replace("_", " ")
        name = Name(("controls", CONTROLS[kind]), words, shown, "controls", f"affected by {words}", 3, percent=True)
        shares.append(Share(name, 1, 0, [i]))
    return measured(read, counts, shares, facts={"n_controls": int(counts[:, 1:, 0].sum())})
