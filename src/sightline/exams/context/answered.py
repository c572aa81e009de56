"""Scores of models that answer yes and no: what they notice of a removal, after BEAF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.exams.base import Measures, Name
from sightline.exams.context.counts import ContextRecords, Floats, Share, comes_back, measured
from sightline.exams.turing.conversation import NO, REPLIES, YES

OUTCOMES: Final = ("true_understanding", "ignorance", "stubborn_yes", "stubborn_no", "unparsed")


def answered(read: ContextRecords, fewest: int) -> Iterator[Measures]:
    """BEAF's outcomes, what comes back, and shares of replies."""
    pairs = replies_after(read).filter(pl.col("edit") == "removal")
    yield _outcomes(read, pairs, fewest)
    own = pairs.filter((pl.col("gone") == pl.col("category")) & (pl.col("before") == YES))
    yield comes_back(
        read, own, pl.col("answer") == YES, "of removed classes with a yes before, those with a yes after"
    )
    yield _reply_shares(read)


def replies_after(read: ContextRecords) -> pl.DataFrame:
    """Replies about edits with the reply about the original, ``before``."""
    original = read.rows.filter(pl.col("edit") == "original").select("item", "category", before="answer")
    return read.rows.filter(pl.col("edit") != "original").join(original, on=["item", "category"])


def _outcomes(read: ContextRecords, pairs: pl.DataFrame, fewest: int) -> Measures:
    """BEAF's outcomes of removed classes, by class too, and the indecision about all others."""
    before, after = pl.col("before"), pl.col("answer")
    own = pairs.filter(pl.col("gone") == pl.col("category"))
    others = pairs.filter(pl.col("gone") != pl.col("category"))
    classes = sorted(set(own["category"]))
    are = [(YES, NO), (NO, YES), (YES, YES), (NO, NO)]
    fields = {name: (before == a) & (after == b) for name, (a, b) in zip(OUTCOMES, are, strict=False)}
    fields = {"n": pl.lit(1)} | fields | {"unparsed": ~(before.is_in([YES, NO]) & after.is_in([YES, NO]))}
    counts = read.counted(own, classes, "category", fields)
    read_ = others.filter(before.is_in([YES, NO]) & after.is_in([YES, NO])).with_columns(group=pl.lit("all"))
    rest = read.counted(read_, ["all"], "group", {"n": pl.lit(1), "changed": before != after})
    width = counts.shape[2]
    counts = np.concatenate([counts, np.pad(rest, ((0, 0), (0, 0), (0, width - 2)))], axis=1)
    every, last = range(len(classes)), len(classes)
    shares = [
        Share(
            Name(("beaf", name), name.replace("_", " "), "before and after", "", percent=True),
            i,
            0,
            every,
            pooled=True,
        )
        for i, name in enumerate(OUTCOMES, start=1)
    ]
    shares.append(
        Share(Name(("beaf", "indecision"), "indecision", "before and after", "", percent=True), 1, 0, [last])
    )
    title = "true understanding"
    times = dict(zip(classes, counts[:, : len(classes), 0].sum(axis=0).astype(int).tolist(), strict=True))
    by_class = []
    for i, name in enumerate(classes):
        label, table = f"{name} ({times[name]})", f"{title} by class (removals)"
        shown = Name((title.replace(" ", "_"), name), label, table, title, f"  {name}", 1, percent=True)
        by_class.append(Share(replace(shown, part=times[name] >= fewest), 1, 0, [i]))

    def statistic(totals: Floats) -> Floats:
        plain = [share.value(totals) for share in shares]
        understood, decided = plain[0], 1 - plain[-1]
        with np.errstate(invalid="ignore", divide="ignore"):
            f1 = np.where(understood + decided > 0, 2 * understood * decided / (understood + decided), 0.0)
        f1 = np.where(np.isnan(understood + decided), np.nan, f1)
        return np.stack([f1, *plain, *(share.value(totals) for share in by_class)], axis=1)

    f1 = Name(("beaf", "f1"), "F1", "before and after", "", headline=1, percent=True)
    names = (f1, *(share.name for share in (*shares, *by_class)))
    facts: dict[str, Any] = {"n_removed_asked": own.height, "n_others_asked": others.height}
    facts["n_removed_by_class"] = times
    if not own.height:
        facts["reasons"] = {"beaf": "no class can be removed from an image"}
    return Measures(read.units, counts, statistic, names, facts)


def _reply_shares(read: ContextRecords) -> Measures:
    """Share of each reply, and of right ones about original pictures."""
    fields: dict[str, Any] = {"n": pl.lit(1)} | {word: pl.col("answer") == word for word in REPLIES}
    first = pl.col("edit") == "original"
    fields |= {"first": first, "right": first & pl.col("right")}
    counts = read.counted(read.rows.with_columns(group=pl.lit("all")), ["all"], "group", fields)
    shares = [
        Share(Name(("replies", word), word, percent=True), i, 0, [0]) for i, word in enumerate(REPLIES, start=1)
    ]
    right = Name(("accuracy", "original"), "right about the original", "before and after", "", percent=True)
    return measured(read, counts, [*shares, Share(right, len(REPLIES) + 2, len(REPLIES) + 1, [0])])
