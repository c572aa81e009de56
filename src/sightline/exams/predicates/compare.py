"""Is one model better than another? On the scenes both answered, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.predicates.records import counts_of
from sightline.exams.predicates.scores import NAMES, features, statistics
from sightline.exams.run import Run, require_alike
from sightline.stats import Comparisons, compare, holm

Floats = NDArray[np.float64]

_KINDS: Final = ("scene accuracy", "scene-all accuracy", "F1")
_GROUPS: Final = len(NAMES) - 8
_PREDICATE: Final = "  "  # sets a predicate's row in under its group's


@dataclass(frozen=True)
class PredicatesComparison:
    """Scores of two runs, of all predicates, of each group and of each one.

    Attributes:
        comparisons: One row a statistic. `p_holm` is corrected over the eight predicates of one kind of score; the
            totals, asked about beforehand, keep their p-value there.
        dropped: Scenes that only one of the runs has.
    """

    comparisons: Comparisons
    dropped: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"dropped": self.dropped, "comparisons": self.comparisons.to_dicts()}


def compare_runs(a: Run, b: Run, *, resamples: int = 2000, seed: int = 0) -> PredicatesComparison:
    """Compare two runs of the predicates exam over the same data and split; the views shown may differ.

    Args:
        a: One run.
        b: The other.
        resamples: Bootstrap resamples and sign flips.
        seed: Of both.
    """
    require_alike(a, b, ("split",))
    return compare_records(a.records(), b.records(), resamples=resamples, seed=seed)


def compare_records(
    a: pl.DataFrame, b: pl.DataFrame, *, resamples: int = 2000, seed: int = 0
) -> PredicatesComparison:
    """Like `compare_runs`, from records."""
    mine, theirs = counts_of(a), counts_of(b)
    place = {scene: i for i, scene in enumerate(theirs.scenes)}
    both = [(i, place[scene]) for i, scene in enumerate(mine.scenes) if scene in place]
    if not both:
        raise ConfigError("the runs have no scene in common")
    first, second = np.array(both).T
    rows = compare(
        features(mine.counts[first]),
        features(theirs.counts[second]),
        _compared,
        names(),
        resamples=resamples,
        seed=seed,
    )
    dropped = len(mine.scenes) + len(theirs.scenes) - 2 * len(both)
    return PredicatesComparison(_holm_by_kind(rows), dropped)


def names() -> list[str]:
    """Names of the compared statistics, in order.

    >>> names()[:4]
    ['scene accuracy', 'scene accuracy, spatial', 'scene accuracy, geometric', '  left']
    """
    groups = ["", *(f", {name}" for name in NAMES[1:_GROUPS])]
    return [
        name
        for kind in _KINDS
        for name in (*(f"{kind}{group}" for group in groups), *(f"{_PREDICATE}{p}" for p in NAMES[_GROUPS:]))
    ]


def _compared(totals: Floats) -> Floats:
    """Scene accuracy, scene-all accuracy and F1: the first three of `statistics`."""
    return statistics(totals)[:, : len(_KINDS) * len(NAMES)]


def _holm_by_kind(rows: Comparisons) -> Comparisons:
    """Holm's correction over the predicates of each kind of score; totals keep their own p-value."""
    p = [row.p_value for row in rows]
    for start in range(0, len(rows), len(NAMES)):
        family = slice(start + _GROUPS, start + len(NAMES))
        p[family] = holm(p[family]).tolist()
    return Comparisons(replace(row, p_holm=one) for row, one in zip(rows, p, strict=True))
