"""How well "is closer than" is told by where and how large both objects are (the paper's Figures 6 and 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.marks import MarkedPairs
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import FN, FP, TP, Floats, Protocol, ratio
from sightline.geometry import area, centre
from sightline.scenes import Depth
from sightline.stats import Interval, intervals

ATTRIBUTES: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "size": area,
    "vertical": lambda boxes: centre(boxes)[..., 1],
    "horizontal": lambda boxes: centre(boxes)[..., 0],
}
"""What objects are binned by: share of the image, and the centre's place from top to bottom and left to right."""


@dataclass(frozen=True)
class Grid:
    """Scores of *closer* by the bin of the first object (row) and of the second (column), b × b bins.

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

    def square(cells: list[Interval], field: str) -> Floats:
        return np.array([getattr(i, field) for i in cells]).reshape(b, b)

    return Grid(
        attribute=name,
        edges=edges,
        pairs=pairs.reshape(b, b),
        f1=square(f1, "value"),
        f1_low=square(f1, "low"),
        f1_high=square(f1, "high"),
        accuracy=square(accuracy, "value"),
        accuracy_low=square(accuracy, "low"),
        accuracy_high=square(accuracy, "high"),
    )
