"""What a baseline may learn from: the very scenes of the exam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PredicateStudy:
    """The scenes to come with their truth, in the exam's order.

    Attributes:
        scenes: Scene ids.
        looks: For each scene the looks of its objects (see `Queries`).
        truth: For each scene (n, n, 8) bool, [subject, object, predicate].
    """

    scenes: tuple[str, ...]
    looks: tuple[tuple[Mapping[str, str], ...], ...]
    truth: tuple[NDArray[np.bool_], ...]


@runtime_checkable
class LearnsFromTruth(Protocol):
    """A blind baseline that is handed the truth of the exam before it begins.

    Either it says the same of every scene (majority), or it never uses a scene's own truth to answer about it. Only
    a model that has ``sees_truth = True`` is asked to `prepare`.
    """

    sees_truth: bool

    def prepare(self, study: PredicateStudy) -> None:
        """Fit."""
