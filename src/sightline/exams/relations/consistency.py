"""Do the answers of a model, or the labels themselves, contradict each other?

The laws, by name: ``symmetry``: (a, b) said closer or same, yet (b, a) closer (the paper's test).
``symmetry_exact``: (b, a) is not the reverse of (a, b). ``symmetry_occlusion``: the same for occlusion.
``transitivity``: a ≤ b and b ≤ c, yet a > c. ``transitivity_strict``: a < b and b < c, yet a > c; tells real
contradictions from *same* drifting over a chain of near-ties. Across images no triple is asked completely, so
transitivity has no case there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.marks import MarkedPairs
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Aspect, ratio
from sightline.scenes import Depth
from sightline.skills import SILENT
from sightline.stats import Interval, intervals, symmetry, transitivity


@dataclass(frozen=True)
class Violations:
    """How often one law is broken.

    Attributes:
        share: Violations over cases, with an interval by cluster; NaN without a case.
        cases: Ordered pairs or triples the law says something about.
    """

    share: Interval
    cases: int


def consistency(
    marks: Mapping[Aspect, MarkedPairs], *, resamples: int = 2000, seed: int = 0
) -> dict[str, Violations]:
    """Broken laws by name: symmetry and transitivity of a model's answers to both directions of every pair.

    Args:
        marks: Judgements of one setting by aspect, depth among them.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    depth = marks["depth"]
    table, answer = depth.pairs, depth.answer
    ends = (table.cluster, table.first, table.second)
    c = len(table.clusters)
    counts = {
        "symmetry": symmetry(*ends, answer, n_clusters=c),
        "symmetry_exact": symmetry(*ends, answer, exact=True, n_clusters=c),
        **_transitivity(table, answer),
    }
    if table.setting == "within_image":
        hides = marks["occlusion"].answer if "occlusion" in marks else np.full_like(answer, SILENT)
        counts["symmetry_occlusion"] = symmetry(*ends, hides, aspect="occlusion", n_clusters=c)
    return _violations(counts, resamples, seed)


def label_consistency(table: PairTable, *, resamples: int = 2000, seed: int = 0) -> dict[str, Violations]:
    """Broken laws of transitivity in the raters' majority labels; they are symmetric by construction.

    Args:
        table: Annotated pairs, one direction each.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    both = table.ordered()
    return _violations(_transitivity(both, both.depth), resamples, seed)


def _transitivity(table: PairTable, depth: NDArray[np.int8]) -> dict[str, NDArray[np.int64]]:
    """(C, 2) violations and cases, with *same* and without it."""
    ends = (table.cluster, table.first, table.second)
    ordered = np.where(depth == Depth.SAME, np.int8(SILENT), depth)
    c = len(table.clusters)
    return {
        "transitivity": transitivity(*ends, depth, n_clusters=c),
        "transitivity_strict": transitivity(*ends, ordered, n_clusters=c),
    }


def _violations(counts: Mapping[str, NDArray[np.int64]], resamples: int, seed: int) -> dict[str, Violations]:
    stacked = np.stack(list(counts.values()), axis=1)
    shares = intervals(stacked, lambda t: ratio(t[..., 0], t[..., 1]), resamples=resamples, seed=seed)
    cases = stacked.sum(axis=0)[:, 1].tolist()
    return {name: Violations(i, n) for name, i, n in zip(counts, shares, cases, strict=True)}
