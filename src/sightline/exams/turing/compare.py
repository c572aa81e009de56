"""Is one model better than another? On the images both were asked the same questions about, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.errors import ConfigError
from sightline.exams.run import Run, require_alike
from sightline.exams.turing.records import asked_of
from sightline.exams.turing.scores import KINDS, counted, kinds_of, shares
from sightline.stats import Comparisons, compare, holm

MODELS_OWN: Final = ("withhold", "deadline")
"""Options that change how a model is asked, not what; the others must agree between runs."""


@dataclass(frozen=True)
class TuringComparison:
    """Accuracy of two runs, of all questions and of each type.

    Attributes:
        comparisons: One row a statistic. `p_holm` is corrected over the four types; the total, asked about
            beforehand, keeps its p-value there.
        dropped: Images that were not asked the same questions in both runs.
    """

    comparisons: Comparisons
    dropped: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"dropped": self.dropped, "comparisons": self.comparisons.to_dicts()}


def compare_runs(a: Run, b: Run, *, resamples: int = 2000, seed: int = 0) -> TuringComparison:
    """Compare two runs of the Turing exam with the same streams; truth may be withheld in one of them.

    Args:
        a: One run.
        b: The other.
        resamples: Bootstrap resamples and sign flips.
        seed: Of both.
    """
    require_alike(a, b, (set(a.options) | set(b.options)) - set(MODELS_OWN))
    return compare_records(a.records(), b.records(), resamples=resamples, seed=seed)


def compare_records(a: pl.DataFrame, b: pl.DataFrame, *, resamples: int = 2000, seed: int = 0) -> TuringComparison:
    """Like `compare_runs`, from records."""
    mine, theirs = asked_of(a), asked_of(b)
    first, second = _questions(mine), _questions(theirs)
    both = sorted(image for image in first.keys() & second.keys() if first[image] == second[image])
    if not both:
        raise ConfigError("the runs have no image in common that was asked the same questions")
    found = compare(
        _counts(mine, both),
        _counts(theirs, both),
        shares,
        ["accuracy", *(f"  {kind}" for kind in KINDS)],
        resamples=resamples,
        seed=seed,
    )
    corrected = [found[0].p_value, *holm([row.p_value for row in found[1:]]).tolist()]
    rows = Comparisons(replace(row, p_holm=p) for row, p in zip(found, corrected, strict=True))
    return TuringComparison(rows, len(first.keys() | second.keys()) - len(both))


def _questions(asked: pl.DataFrame) -> dict[str, list[Any]]:
    """What was asked about each image: item, step, question and truth."""
    told = asked.select("cluster_id", pl.struct("item", "step", "question", "truth").alias("asked"))
    grouped = told.group_by("cluster_id", maintain_order=True).agg("asked")
    return {image: sorted(rows, key=lambda row: (row["item"], row["step"])) for image, rows in grouped.iter_rows()}


def _counts(asked: pl.DataFrame, images: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(images, 5, 2) right answers and questions, all and of each type."""
    place = pl.DataFrame({"cluster_id": images, "place": np.arange(len(images))})
    kept = asked.join(place, on="cluster_id", how="inner", maintain_order="left")
    return counted(kept["place"].to_numpy(), len(images), kept["right"].to_numpy(), kinds_of(kept))
