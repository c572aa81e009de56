"""Counts of several sub-tasks over units that share no image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.protocols import Aspect, Protocol
from sightline.exams.relations.sheets import SUBTASKS, Sheet, Subtask
from sightline.exams.relations.tally import Counts, rates
from sightline.skills import Setting

Floats = NDArray[np.float64]


def aspects_of(setting: Setting) -> tuple[Aspect, ...]:
    """What is asked in a setting.

    >>> aspects_of("across_images")
    ('depth',)
    """
    return tuple(aspect for s, aspect in SUBTASKS if s == setting)


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Part / whole, NaN where the whole is 0.

    >>> ratio(np.array([1, 0]), np.array([2, 0]))
    array([0.5, nan])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = np.true_divide(part, whole)
    return share


@dataclass(frozen=True)
class Joint:
    """Counts of several sub-tasks over common independent units.

    Attributes:
        subtasks: The s sub-tasks there are answers for.
        counts: (units, s, parts, 4, 3).
        protocol: How they were counted.
    """

    subtasks: tuple[Subtask, ...]
    counts: Counts
    protocol: Protocol

    def f1(self, totals: Floats) -> Floats:
        """(B, s, parts) F1 over all labels, from totals (B, s, parts, 4, 3)."""
        per_task = [
            rates(totals[:, i], protocol=self.protocol, aspect=aspect, setting=setting)[..., -1, 2]
            for i, (setting, aspect) in enumerate(self.subtasks)
        ]
        return np.stack(per_task, axis=1)


def joint_counts(
    sheets: Mapping[Subtask, Sheet],
    protocol: Protocol,
    *,
    part: Mapping[Setting, NDArray[Any]] | None = None,
    parts: int = 1,
) -> Joint:
    """Counts of all sub-tasks over units that share no image.

    An image pair is resampled together with the within-image questions of its two images, since both see the same
    photos.

    Args:
        sheets: Judgements by sub-task.
        protocol: How to count.
        part: Slice of each judgement, by setting (see `Sheet.counts`).
        parts: How many slices there are.
    """
    units, n = joint_units({key: sheet.images for key, sheet in sheets.items()})
    subtasks = tuple(task for task in SUBTASKS if task in sheets)
    counts = np.zeros((n, len(subtasks), parts, 4, 3), dtype=np.int64)
    for i, task in enumerate(subtasks):
        slices = None if part is None else part[task[0]]
        np.add.at(counts[:, i], units[task], sheets[task].counts(protocol, part=slices, parts=parts))
    return Joint(subtasks, counts, protocol)


def joint_units(images: Mapping[Subtask, NDArray[np.object_]]) -> tuple[dict[Subtask, NDArray[np.int64]], int]:
    """Number of the independent unit of every cluster, by sub-task, and how many units there are.

    Images joined by a pair, directly or through others, are one unit.

    Args:
        images: (c, 2) the two images of every cluster, or one image twice.
    """
    sizes = np.cumsum([0, *(len(ends) for ends in images.values())])
    names = np.concatenate([np.empty((0, 2), dtype=object), *images.values()])
    number: dict[str, int] = {}
    edges = np.array([number.setdefault(name, len(number)) for name in names.ravel()], dtype=np.int64).reshape(
        -1, 2
    )
    root = components(edges[:, 0], edges[:, 1], len(number))
    distinct, unit = np.unique(root[edges[:, 0]], return_inverse=True)
    return {t: unit[lo:hi] for t, lo, hi in zip(images, sizes, sizes[1:], strict=False)}, len(distinct)


def components(a: NDArray[np.int64], b: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Lowest node of the connected component of each of n nodes, given edges a[i] – b[i].

    >>> components(np.array([0, 3]), np.array([2, 2]), 5)
    array([0, 1, 0, 0, 4])
    """
    root = np.arange(n)
    while True:
        low = np.minimum(root[a], root[b])
        found = root.copy()
        for end in (a, b, root[a], root[b]):
            np.minimum.at(found, end, low)
        found = found[found]
        if (found == root).all():
            return root
        root = found
