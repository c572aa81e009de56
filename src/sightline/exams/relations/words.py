"""Codes ↔ the words that stand in records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.exams.relations.matching import Outcome
from sightline.exams.relations.protocols import ABSENT
from sightline.scenes import NO_MAJORITY, words
from sightline.skills import SILENT


def truth_words(aspect: str, codes: NDArray[Any]) -> list[str]:
    """Words of truth codes: a label, ``no_majority``, or ``absent`` for a pair that is not there.

    >>> truth_words("depth", np.array([1, -1, -2]))
    ['closer', 'no_majority', 'absent']
    """
    vocabulary = _truth_vocabulary(aspect)
    return [vocabulary[code] for code in codes.tolist()]


def answer_words(aspect: str, codes: NDArray[Any]) -> list[str | None]:
    """Words of answer codes; None for silence.

    >>> answer_words("depth", np.array([3, -1]))
    ['same', None]
    """
    vocabulary = words(aspect)
    return [None if code == SILENT else vocabulary[code] for code in codes.tolist()]


def truth_codes(aspect: str, column: pl.Series) -> NDArray[np.int8]:
    """Codes of truth words; a word that is none of them is a DataError.

    >>> truth_codes("depth", pl.Series(["closer", "absent"])).tolist()
    [1, -2]
    """
    mapping = {word: code for code, word in _truth_vocabulary(aspect).items()}
    return _codes(column, mapping).to_numpy().astype(np.int8)


def answer_codes(aspect: str, column: pl.Series) -> NDArray[np.int8]:
    """Codes of answer words, `SILENT` for null.

    >>> answer_codes("occlusion", pl.Series(["none", None])).tolist()
    [0, -1]
    """
    mapping = {word: code for code, word in enumerate(words(aspect))}
    return _codes(column, mapping).fill_null(SILENT).to_numpy().astype(np.int8)


def outcome_words(truth: NDArray[Any], answer: NDArray[Any], outcome: NDArray[Any]) -> list[str]:
    """Words of matching outcomes, the answer having possibly been filled in since.

    >>> outcome_words(np.array([1, 1]), np.array([1, -1]), np.array([1, 2]))
    ['correct', 'missed_object']
    """
    final = np.where((truth == answer) & (truth >= 0), Outcome.CORRECT, outcome)
    return [Outcome(code).name.lower() for code in final.tolist()]


def _codes(column: pl.Series, mapping: Mapping[str, int]) -> pl.Series:
    """Codes of words, null for null."""
    found = column.cast(pl.String)
    codes = found.replace_strict(mapping, default=None, return_dtype=pl.Int8)
    foreign = found.filter(codes.is_null() & found.is_not_null())
    if len(foreign):
        raise DataError("not a label", field=column.name, expected=" or ".join(mapping), found=foreign[0])
    return codes


def _truth_vocabulary(aspect: str) -> dict[int, str]:
    return dict(enumerate(words(aspect))) | {NO_MAJORITY: "no_majority", ABSENT: "absent"}
