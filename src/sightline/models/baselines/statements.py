"""Call statements true or false without looking: the commoner label of all others, or of the same relation."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Final, Literal

from sightline.errors import ModelError
from sightline.skills import Asked, StatementsStudy

FOLDS: Final = 5


class StatementPrior:
    """Says what is commoner among the statements about other images; true where both are equally common.

    Images are dealt into `FOLDS` by their ids, and a statement is answered by the other folds' labels.

    Args:
        by: Count the statements with the same relation, or all of them. A relation that no other fold has is
            answered by all.
    """

    cross_fits = True

    def __init__(self, by: Literal["relation", "all"] = "relation") -> None:
        self.by = by
        self._counts: Counter[tuple[int, str, bool]] = Counter()

    def prepare_statements(self, study: StatementsStudy) -> None:
        """Count the labels of each fold, by relation and in all."""
        for scene, relation, truth in zip(study.scenes, study.relations, study.truth, strict=True):
            for key in {relation, ""}:
                self._counts[fold_of(scene), key, truth] += 1

    def answer(self, asked: Asked) -> bool:
        """The commoner label."""
        if not self._counts:
            raise ModelError(
                "statement_majority and relation_majority answer statements only: sightline exam statements"
            )
        own = fold_of(asked.scene_id)
        keys = ("" if self.by == "all" else str(asked.question.get("relation", "")), "")
        for key in keys:
            said = [
                sum(self._counts[fold, key, word] for fold in range(FOLDS) if fold != own) for word in (True, False)
            ]
            if any(said):
                return said[0] >= said[1]
        return True


def fold_of(scene_id: str) -> int:
    """Fold of an image: the same for an id for ever.

    >>> [fold_of(f"image {i}") for i in range(8)]
    [2, 3, 0, 3, 1, 3, 4, 2]
    """
    return blake2b(scene_id.encode(), digest_size=4).digest()[0] % FOLDS
