"""Work out ``margins.npz``: ``python tools/bake_margins.py``. Takes four minutes of a core.

Of GeoSpa's shapes and the kitchen's, in GeoSpa's sizes, it keeps all that can be asked; of the invented ones, which
are many, what is asked about two things, and leaves three to be worked out when they meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Final

from sightline.worlds import margins
from sightline.worlds.fits import TOLERANCE, boxed, in_units, work_out
from sightline.worlds.margins import Question
from sightline.worlds.shapes import GEOSPA, KITCHEN, solid
from sightline.worlds.solids import Outline
from sightline.worlds.spec import load_world

ALL_OF: Final = tuple(f"{shape}:{size}" for shape in GEOSPA + KITCHEN for size in ("small", "medium", "large"))
PAIRS_OF: Final = tuple(load_world(f"geospa/{name}").solids() for name in ("alike", "vessels"))


def bake() -> dict[Question, float]:
    """Answers to what `can_contain` and `can_support` can ask about the built-in shapes."""
    answers: dict[Question, float] = {}
    for names in PAIRS_OF:
        for outer, inner in _regions(names):
            for outline, _ in inner:
                _answer(answers, in_units(outer, outline))
    for outer, inner in _regions(ALL_OF):
        fitting = []
        for outline, low_enough in inner:
            margin = _answer(answers, in_units(outer, outline)) * max(outer.half)
            if low_enough and margin >= -TOLERANCE:
                fitting.append(outline)
        for two in combinations_with_replacement(fitting, 2):
            _answer(answers, in_units(outer, *two))
    return answers


def _answer(answers: dict[Question, float], question: Question) -> float:
    if question not in answers:
        answers[question] = work_out(question)
    return answers[question]


def _regions(names: Sequence[str]) -> Iterator[tuple[Outline, list[tuple[Outline, bool]]]]:
    """Cavities and tops, each with all that may be asked about, and whether that is low enough for the cavity."""
    things = [solid(name) for name in names]
    for host in things:
        if host.cavity is not None:
            depth = host.cavity.depth + TOLERANCE
            yield host.cavity.outline, [(thing.outline, thing.height / 2.0 <= depth) for thing in things]
        if host.top is not None:
            yield boxed(host.outline), [(boxed(thing.outline), True) for thing in things]


if __name__ == "__main__":
    margins.save(bake())
