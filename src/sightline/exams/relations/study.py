"""What a model may learn from before it sits the exam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sightline.exams.relations.pairs import PairTable
from sightline.skills import Setting


@dataclass(frozen=True)
class Study:
    """Labelled pairs for fitting and tuning.

    Attributes:
        train: The split to fit and tune on, by setting; may lack one or both.
        test: The pairs of the split being sat, without labels and votes; with them only for a model that says
            ``cross_fits = True``, which promises never to use a cluster's own labels to answer about it.
    """

    train: Mapping[Setting, PairTable]
    test: Mapping[Setting, PairTable]


@runtime_checkable
class Prepares(Protocol):
    """A model that wants to see the study material first."""

    def prepare(self, study: Study) -> None:
        """Fit and tune."""
