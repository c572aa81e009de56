"""Records of the context exam, read and summed by source image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.base import Measures, Name
from sightline.exams.run import RunRecords
from sightline.stats import mean_known
from sightline.store.presence import Presence

Floats = NDArray[np.float64]

HALF: Final = 0.5
"""Share of a class's pixels that a context class's hole must leave for a violation to be called the model's."""
SUBSETS: Final = {"full": "Full", "cooccur": "Co-occur", "single": "Single"}
"""Images by number of classes: all, those of two and more, those of one."""


@dataclass(frozen=True)
class ContextRecords:
    """Records of a run, read for counting.

    Attributes:
        rows: Records with ``unit``, the place of their image among `units`.
        items: One row an image: item, unit, classes, labelled, removable.
        units: Ids of the images, sorted.
        skill: What the model was examined in.
    """

    rows: pl.DataFrame
    items: pl.DataFrame
    units: tuple[str, ...]
    skill: str

    @classmethod
    def of(cls, records: RunRecords) -> ContextRecords | None:
        """Read the records of a run; None where it has answered nothing."""
        if not records.rows.height:
            return None
        units = sorted(set(records.items["cluster_id"]))
        place = {unit: i for i, unit in enumerate(units)}
        unit = pl.col("cluster_id").replace_strict(place, return_dtype=pl.Int64).alias("unit")
        skill = str(records.items["skill"][0])
        return cls(records.rows.with_columns(unit), records.items.with_columns(unit), tuple(units), skill)

    @cached_property
    def cases(self) -> pl.DataFrame:
        """One row a class that counts in an image: without (its score once removed), lowest, context, gap, k.

        ``lowest`` is its lowest score with a context class removed, ``context`` that class, ``gap`` the mean score
        with one removed less ``without``, ``k`` the number of context classes.
        """
        return self._cases(self.rows.filter(pl.col("edit") == "removal"))

    @cached_property
    def cases_left(self) -> pl.DataFrame:
        """The cases over those context classes whose hole leaves half of the class or more; none in older runs."""
        removed = self.rows.filter(pl.col("edit") == "removal")
        if "left" not in removed.columns:
            return self._cases(removed.clear())
        return self._cases(removed.filter((pl.col("gone") == pl.col("category")) | (pl.col("left") >= HALF)))

    def _cases(self, removed: pl.DataFrame) -> pl.DataFrame:
        own = removed.filter(pl.col("gone") == pl.col("category"))
        others = removed.filter(pl.col("gone") != pl.col("category")).select("item", "category", "gone", "score")
        pairs = own.select("item", "unit", "category", without="score").join(others, on=["item", "category"])
        keys = ["item", "unit", "category"]
        return (
            pairs.sort(*keys, "score", "gone")
            .group_by(keys, maintain_order=True)
            .agg(
                pl.col("without").first(),
                lowest=pl.col("score").first(),
                context=pl.col("gone").first(),
                gap=(pl.col("score") - pl.col("without")).mean(),
                k=pl.len().cast(pl.Int64),
            )
        )

    @cached_property
    def changes(self) -> pl.DataFrame:
        """One row an image, affected class and removed one: item, unit, edit, category, gone, before, delta."""
        known = self.rows.filter(pl.col("iou").is_not_null())
        return known.select(
            "item", "unit", "edit", "category", "gone", "before", delta=pl.col("iou") - pl.col("before")
        )

    def counted(self, rows: pl.DataFrame, groups: Sequence[Any], key: str, fields: Mapping[str, Any]) -> Floats:
        """(C, G, F) sums of fields, expressions over rows, by image and group; `key` is the groups' column."""
        place = {group: i for i, group in enumerate(groups)}
        counts = np.zeros((len(self.units), len(groups), len(fields)))
        inside = rows.filter(pl.col(key).is_in(list(groups))) if groups else rows.clear()
        group = np.array([place[value] for value in inside[key].to_list()], dtype=np.int64)
        values = inside.select(**{name: e.cast(pl.Float64) for name, e in fields.items()}).to_numpy()
        np.add.at(counts, (inside["unit"].to_numpy(), group), values)
        return counts


@dataclass(frozen=True)
class Share:
    """One figure as a ratio of totals: the mean of ``top / bottom`` over groups, or the ratio of their sums.

    Attributes:
        name: The figure.
        top: Number of a field; `bottom` of another.
        of: Groups.
        pooled: Sum over the groups before dividing.
    """

    name: Name
    top: int
    bottom: int
    of: Sequence[int]
    pooled: bool = False

    def value(self, totals: Floats) -> Floats:
        """(B,) of totals (B, G, F)."""
        part = totals[:, list(self.of)]
        part = part.sum(axis=1, keepdims=True) if self.pooled else part
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = part[..., self.top] / part[..., self.bottom]
        return mean_known(ratio)


def measured(read: ContextRecords, counts: Floats, shares: Sequence[Share], **how: Any) -> Measures:
    """Measures of counts (C, G, F) whose figures are shares; `how` are other fields of `Measures`."""

    def statistic(totals: Floats) -> Floats:
        return np.stack([share.value(totals) for share in shares], axis=1)

    return Measures(read.units, counts, statistic, tuple(share.name for share in shares), **how)


def subsets(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows of Full, Co-occur and Single, by the column ``n``, the number of an image's classes."""
    chosen = {"full": pl.lit(True), "cooccur": pl.col("n") >= 2, "single": pl.col("n") == 1}
    return {word: rows.filter(where) for word, where in chosen.items()}


def comes_back(read: ContextRecords, rows: pl.DataFrame, found: pl.Expr, note: str) -> Measures:
    """Share of what was removed that the model still finds."""
    counts = read.counted(
        rows.with_columns(group=pl.lit("all")), ["all"], "group", {"n": pl.lit(1), "found": found}
    )
    name = Name(("comes_back",), "removed and still found", "the fill", percent=True)
    return measured(read, counts, [Share(name, 1, 0, [0])], facts={"n_removed": rows.height, "still_found": note})


def presence(read: ContextRecords) -> Presence:
    """Which classes are in which image; of segmenters those with labelled pixels."""
    column = "labelled" if read.skill == "segment" else "classes"
    named = read.items.select("item", column).iter_rows()
    return Presence.of({item: of or () for item, of in named})
