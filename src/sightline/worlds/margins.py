"""Margins of the built-in shapes, worked out once and kept beside this file: every process starts with them.

An outline is known by a digest of its numbers: one that has changed, or that comes from a mesh file, is not in here
and is worked out when it is asked for. ``python tools/bake_margins.py`` makes the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.worlds.shapes.baked import save_arrays
from sightline.worlds.solids import Outline

FILE: Final = Path(__file__).with_name("margins.npz")

Question = tuple[Outline, ...]
"""A region with one or two outlines that are to fit it, as `fits` puts it."""


class Margins(NamedTuple):
    """Margins by question, as the file holds them.

    Attributes:
        numbers: The number, from 1, of every outline by its digest.
        questions: (n,) int64, ascending, see `_code`.
        answers: (n,) float64.
    """

    numbers: dict[int, int]
    questions: NDArray[np.int64]
    answers: NDArray[np.float64]


def stored(question: Question) -> float | None:
    """Look a margin up in the file; None if it has none.

    >>> stored((Outline("box", (1.0, 1.0)), Outline("box", (0.5, 0.5))))
    0.5
    """
    known = load()
    numbers = [known.numbers.get(_digest(outline), 0) for outline in question]
    if 0 in numbers:
        return None
    code = _code(numbers, len(known.numbers) + 1)
    at = int(np.searchsorted(known.questions, code))
    listed = at < len(known.questions) and known.questions[at] == code
    return float(known.answers[at]) if listed else None


@cache
def load(path: Path = FILE) -> Margins:
    """The file's content; nothing where there is no file."""
    if not path.is_file():
        return Margins({}, np.empty(0, np.int64), np.empty(0))
    with np.load(path, allow_pickle=False) as file:
        digests = file["digests"].tolist()
        return Margins({digest: i + 1 for i, digest in enumerate(digests)}, file["questions"], file["answers"])


def save(answers: Mapping[Question, float], path: Path = FILE) -> None:
    """Write the file; the same answers make the same bytes."""
    digests = sorted({_digest(outline) for question in answers for outline in question})
    numbers = {digest: i + 1 for i, digest in enumerate(digests)}
    codes = {
        _code([numbers[_digest(outline)] for outline in question], len(digests) + 1): margin
        for question, margin in answers.items()
    }
    questions = sorted(codes)
    save_arrays(
        path,
        {
            "digests": np.array(digests, np.uint64),
            "questions": np.array(questions, np.int64),
            "answers": np.array([codes[question] for question in questions]),
        },
    )


def _code(numbers: list[int], base: int) -> int:
    """One whole number for the numbers of two or three outlines."""
    region, one, two = (*numbers, 0)[:3]
    return (region * base + one) * base + two


@lru_cache(maxsize=1 << 14)
def _digest(outline: Outline) -> int:
    return int.from_bytes(blake2b(repr(outline).encode(), digest_size=8).digest(), "big")
