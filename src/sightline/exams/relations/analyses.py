"""Where a model is right and where it is not: by difficulty, against the heuristics, by size and place; silence.

And do its answers, or the labels themselves, contradict each other? The laws, by name: ``symmetry``: (a, b) said
closer or same, yet (b, a) closer (the paper's test). ``symmetry_exact``: (b, a) is not the reverse of (a, b).
``symmetry_occlusion``: the same for occlusion. ``transitivity``: a ≤ b and b ≤ c, yet a > c.
``transitivity_strict``: a < b and b < c, yet a > c; tells real contradictions from *same* drifting over a chain of
near-ties. ``transitivity_all``: what breaks ``transitivity``, as a share of all ordered triples that were answered,
also those whose answers are no premises: what the paper's 0.5 % of the labels fits. Across images no triple is
asked completely, so transitivity has no case there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.marks import SUBTASKS, MarkedPairs, Marks, Subtask, joint_counts
from sightline.exams.relations.pairs import Difficulty, PairTable, difficulty
from sightline.exams.relations.protocols import FN, FP, TP, Aspect, Floats, Protocol, ratio
from sightline.geometry import area, centre
from sightline.scenes import Depth
from sightline.skills import SILENT, Setting
from sightline.stats import Interval, OrderedPairs, intervals

SCALES: Final = (Difficulty.EASY, Difficulty.MODERATE, Difficulty.DIFFICULT)
"""The scales with a depth label to be right about."""

ATTRIBUTES: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "size": area,
    "vertical": lambda boxes: centre(boxes)[..., 1],
    "horizontal": lambda boxes: centre(boxes)[..., 0],
}
"""What objects are binned by: share of the image, and the centre's place from top to bottom and left to right."""

AGREES, AGAINST_LOWER, AGAINST_LARGER, AGAINST_BOTH, UNDECIDED = range(5)


@dataclass(frozen=True)
class ByDifficulty:
    """F1 by how well the raters agreed on the depth order (the paper's Table 9).

    Attributes:
        f1: Sub-task ``<setting>/<aspect>`` → scale → F1 over all labels; occlusion too by the depth scale.
        average: Scale → mean over the three sub-tasks; empty where one was not asked.
        pairs: Setting → scale → ordered pairs.
    """

    f1: Mapping[str, Mapping[str, Interval]]
    average: Mapping[str, Interval]
    pairs: Mapping[Setting, Mapping[str, int]]


@dataclass(frozen=True)
class AccuracySlice:
    """Accuracy on some of the pairs with a clear depth order.

    Attributes:
        accuracy: Share of ordered pairs answered right, silence being wrong.
        pairs: Ordered pairs in the slice.
    """

    accuracy: Interval
    pairs: int


@dataclass(frozen=True)
class Silence:
    """How often a model does not commit itself.

    Attributes:
        unanswered: Aspect → share of ordered pairs without an answer.
        unsure: Share of ordered pairs whose depth the model calls unsure; None where depth was not asked.
    """

    unanswered: Mapping[str, Interval]
    unsure: Interval | None


def by_difficulty(
    marks: Marks, *, protocol: Protocol = Protocol.DEFAULT, resamples: int = 2000, seed: int = 0
) -> ByDifficulty:
    """F1 of every sub-task on easy, moderate and difficult pairs; intervals by units that share no image."""

    def scale_of(marked: MarkedPairs) -> NDArray[np.int64]:
        code = difficulty(marked.pairs.depth_votes).astype(np.int64)
        return np.where(code < len(SCALES), code, -1)

    scales: dict[Subtask, NDArray[np.int64]] = {task: scale_of(marked) for task, marked in marks.items()}
    joint = joint_counts(marks, protocol, part=scales, parts=len(SCALES))

    def values(totals: Floats) -> Floats:
        f1 = joint.f1(totals)
        return np.concatenate([f1, f1.mean(axis=1, keepdims=True)], axis=1)

    f1_intervals = intervals(joint.counts, values, resamples=resamples, seed=seed)
    rows = [
        {scale.word: f1_intervals[i * len(SCALES) + k] for k, scale in enumerate(SCALES)}
        for i in range(len(joint.subtasks) + 1)
    ]
    names = [f"{setting}/{aspect}" for setting, aspect in joint.subtasks]
    pairs = {
        setting: {scale.word: int((codes == scale).sum()) for scale in SCALES}
        for (setting, _), codes in scales.items()
    }
    average = rows[-1] if joint.subtasks == SUBTASKS else {}
    return ByDifficulty(dict(zip(names, rows[:-1], strict=True)), average, pairs)


def counter_heuristic(depth: MarkedPairs, *, resamples: int = 2000, seed: int = 0) -> dict[str, AccuracySlice]:
    """Accuracy on clear-order pairs where the usual cues mislead; intervals by cluster.

    Slices: ``all``; ``lower_is_farther``: the object with the lower bottom edge is not the closer one;
    ``larger_is_farther``; ``both``: it is so for both cues; ``neither``: both cues tell the truth. A cue on which
    the objects tie neither misleads nor tells the truth.

    Args:
        depth: Depth judgements of one setting.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    counts = depth.clear_counts(part=cue_part(depth.pairs), parts=5)
    slices = {
        "all": [AGREES, AGAINST_LOWER, AGAINST_LARGER, AGAINST_BOTH, UNDECIDED],
        "lower_is_farther": [AGAINST_LOWER, AGAINST_BOTH],
        "larger_is_farther": [AGAINST_LARGER, AGAINST_BOTH],
        "both": [AGAINST_BOTH],
        "neither": [AGREES],
    }
    members = np.zeros((5, len(slices)))
    for column, parts in enumerate(slices.values()):
        members[parts, column] = 1.0

    def values(totals: Floats) -> Floats:
        merged = np.einsum("bpk,ps->bsk", totals, members)
        return ratio(merged[..., 0], merged[..., 1])

    accuracies = intervals(counts, values, resamples=resamples, seed=seed)
    sizes = members.T @ counts.sum(axis=0)[:, 1]
    return {name: AccuracySlice(i, int(n)) for name, i, n in zip(slices, accuracies, sizes, strict=True)}


def cue_part(table: PairTable) -> NDArray[np.int64]:
    """(n,) which of the two cues, lower bottom edge and larger area, point the wrong way; ties are undecided.

    Meaningful for pairs with a clear order only.
    """
    a, b = table.boxes_a, table.boxes_b
    sense = np.where(table.depth == Depth.CLOSER, 1.0, -1.0)
    lower = np.sign(a[:, 3] - b[:, 3]) * sense
    larger = np.sign(area(a) - area(b)) * sense
    return np.select(
        [(lower < 0) & (larger < 0), lower < 0, larger < 0, (lower > 0) & (larger > 0)],
        [AGAINST_BOTH, AGAINST_LOWER, AGAINST_LARGER, AGREES],
        UNDECIDED,
    )


def silence(marks: Mapping[Aspect, MarkedPairs], *, resamples: int = 2000, seed: int = 0) -> Silence:
    """Shares of unanswered and of unsure over all ordered pairs of one setting; intervals by cluster.

    Args:
        marks: The setting's judgements by aspect.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    units = {unit: i for i, unit in enumerate(dict.fromkeys(u for m in marks.values() for u in m.clusters))}

    def tally(marked: MarkedPairs, event: NDArray[np.bool_]) -> NDArray[np.int64]:
        unit = np.array([units[name] for name in marked.clusters], dtype=np.int64)[marked.cluster]
        return np.stack(
            [np.bincount(unit[event], minlength=len(units)), np.bincount(unit, minlength=len(units))], 1
        )

    events = [tally(marked, marked.answer == SILENT) for marked in marks.values()]
    if "depth" in marks:
        events.append(tally(marks["depth"], marks["depth"].answer == Depth.UNSURE))
    counts = np.stack(events, axis=1)
    shares = intervals(counts, lambda t: ratio(t[..., 0], t[..., 1]), resamples=resamples, seed=seed)
    return Silence(dict(zip(marks, shares, strict=False)), shares[-1] if "depth" in marks else None)


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
        marks: Judgements of one setting by aspect; laws of an aspect that was not asked are left out.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    found: dict[str, Violations] = {}
    for aspect, marked in marks.items():
        found |= _violations(law_counts(marked.pairs.consistency, aspect, marked.answer), resamples, seed)
    return found


def law_counts(pairs: OrderedPairs, aspect: Aspect, answer: NDArray[np.int8]) -> dict[str, NDArray[np.int64]]:
    """(C, 2) violations and cases by cluster of every law that answers to ordered pairs can break, by name."""
    if aspect == "occlusion":
        return {"symmetry_occlusion": pairs.symmetry(answer, aspect="occlusion")}
    symmetry = {"symmetry": pairs.symmetry(answer), "symmetry_exact": pairs.symmetry(answer, exact=True)}
    return symmetry | _transitivity(pairs, answer)


def label_consistency(table: PairTable, *, resamples: int = 2000, seed: int = 0) -> dict[str, Violations]:
    """Broken laws of transitivity in the raters' majority labels; they are symmetric by construction.

    Args:
        table: Annotated pairs, one direction each.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    both = table.ordered()
    return _violations(_transitivity(both.consistency, both.depth), resamples, seed)


def _transitivity(pairs: OrderedPairs, depth: NDArray[np.int8]) -> dict[str, NDArray[np.int64]]:
    """(C, 2) violations and cases: of the premises, without *same*, and of every triple that was answered."""
    ordered = np.where(depth == Depth.SAME, np.int8(SILENT), depth)
    return {
        "transitivity": pairs.transitivity(depth),
        "transitivity_strict": pairs.transitivity(ordered),
        "transitivity_all": pairs.transitivity(depth, every=True),
    }


def _violations(counts: Mapping[str, NDArray[np.int64]], resamples: int, seed: int) -> dict[str, Violations]:
    stacked = np.stack(list(counts.values()), axis=1)
    shares = intervals(stacked, lambda t: ratio(t[..., 0], t[..., 1]), resamples=resamples, seed=seed)
    cases = stacked.sum(axis=0)[:, 1].tolist()
    return {name: Violations(i, n) for name, i, n in zip(counts, shares, cases, strict=True)}


@dataclass(frozen=True)
class Grid:
    """Scores of *closer* by the bin of the first object (row) and of the second (column), b × b bins.

    How well "is closer than" is told by where and how large both objects are (the paper's Figures 6 and 11).

    Attributes:
        attribute: A name of `ATTRIBUTES`.
        edges: (b + 1,) limits of the bins, in fractions of the image.
        pairs: (b, b) ordered pairs in each cell.
        f1: (b, b) F1 of *closer*; NaN where no pair is called or truly closer. `f1_low`, `f1_high`: 95 % limits.
        accuracy: (b, b) share of the truly closer first objects that were called closer. `accuracy_low`,
            `accuracy_high` likewise.
    """

    attribute: str
    edges: Floats
    pairs: NDArray[np.int64]
    f1: Floats
    f1_low: Floats
    f1_high: Floats
    accuracy: Floats
    accuracy_low: Floats
    accuracy_high: Floats


def grids(
    depth: MarkedPairs,
    *,
    attributes: Sequence[str] = tuple(ATTRIBUTES),
    bins: int = 5,
    edges: Mapping[str, Sequence[float]] | None = None,
    protocol: Protocol = Protocol.DEFAULT,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[Grid, ...]:
    """One grid per attribute, intervals by cluster.

    Args:
        depth: Depth judgements of one setting.
        attributes: Names of `ATTRIBUTES`.
        bins: Bins with equally many ends of pairs in each.
        edges: Fixed limits for some attributes, rising; values outside fall into the first or last bin.
        protocol: How to count.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    table = depth.pairs
    limits = [_limits(table, name, bins, (edges or {}).get(name)) for name in attributes]
    cells = [_cells(table, name, e) for name, e in zip(attributes, limits, strict=True)]
    sizes = [(len(e) - 1) ** 2 for e in limits]
    counts = np.concatenate(
        [depth.counts(protocol, part=c, parts=k)[:, :, Depth.CLOSER] for c, k in zip(cells, sizes, strict=True)],
        axis=1,
    )
    scores = intervals(counts, _closer, resamples=resamples, seed=seed)
    made, start, half = [], 0, len(scores) // 2
    for name, limit, cell, size in zip(attributes, limits, cells, sizes, strict=True):
        f1, accuracy = scores[start : start + size], scores[half + start : half + start + size]
        made.append(_grid(name, limit, np.bincount(cell, minlength=size), f1, accuracy))
        start += size
    return tuple(made)


def equal_count_edges(values: Floats, bins: int) -> Floats:
    """(bins + 1,) quantiles; fewer where many values are equal, so that edges always rise.

    >>> equal_count_edges(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), 2)
    array([0., 2., 4.])
    """
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, bins + 1))) if len(values) else np.arange(2.0)
    return edges if len(edges) > 1 else np.array([edges[0], edges[0] + 1.0])


def _limits(table: PairTable, attribute: str, bins: int, given: Sequence[float] | None) -> Floats:
    if attribute not in ATTRIBUTES:
        raise ConfigError(f"unknown attribute {attribute!r}: one of {', '.join(ATTRIBUTES)}")
    if given is None:
        if bins < 1:
            raise ConfigError(f"bins must be at least 1, not {bins}")
        return equal_count_edges(ATTRIBUTES[attribute](table.boxes)[table.first], bins)
    edges = np.asarray(given, dtype=np.float64)
    if len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise ConfigError(f"edges of {attribute} must be at least two rising numbers, not {list(given)}")
    return edges


def _cells(table: PairTable, attribute: str, edges: Floats) -> NDArray[np.int64]:
    """(2n,) cell of each ordered pair: row (first object) · b + column (second)."""
    bin_of = np.searchsorted(edges[1:-1], ATTRIBUTES[attribute](table.boxes), side="right")
    cell: NDArray[np.int64] = bin_of[table.first] * (len(edges) - 1) + bin_of[table.second]
    return cell


def _closer(totals: Floats) -> Floats:
    """F1 of all cells, then recall of all cells, from totals (B, cells, 3)."""
    tp, fp, fn = totals[..., TP], totals[..., FP], totals[..., FN]
    return np.concatenate([ratio(2 * tp, 2 * tp + fp + fn), ratio(tp, tp + fn)], axis=1)


def _grid(name: str, edges: Floats, pairs: NDArray[np.int64], f1: list[Interval], accuracy: list[Interval]) -> Grid:
    b = len(edges) - 1
    squares = {
        f"{score}{suffix}": np.array([getattr(i, end) for i in cells]).reshape(b, b)
        for score, cells in (("f1", f1), ("accuracy", accuracy))
        for suffix, end in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    return Grid(name, edges, pairs.reshape(b, b), **squares)
