"""The margins that are stored: all that the built-in shapes can ask for, and what working them out gives."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from bake_margins import ALL_OF as NAMES
from bake_margins import PAIRS_OF
from sightline.worlds import fits, margins, solid
from sightline.worlds.margins import stored
from sightline.worlds.solids import Outline

HOLLOW = [name for name in NAMES if solid(name).cavity]
FLAT = [name for name in NAMES if solid(name).top]


def questions(seed: int, many: int) -> list[margins.Question]:
    """Some that labels ask: pairs, and triples of which both pairs fit."""
    rng = np.random.default_rng(seed)
    found: list[margins.Question] = []
    while len(found) < many:
        holder, item, beside = (str(rng.choice(names)) for names in (HOLLOW, NAMES, NAMES))
        cavity = solid(holder).cavity
        assert cavity is not None
        inner = [solid(item).outline, solid(beside).outline]
        both = all(fits.can_contain(holder, name) for name in (item, beside))
        found.append(fits.in_units(cavity.outline, *inner[: 1 + both]))
        supporter = str(rng.choice(FLAT))
        both = all(fits.can_support(supporter, name) for name in (item, beside))
        boxes = [fits.boxed(outline) for outline in (solid(supporter).outline, *inner)]
        found.append(fits.in_units(*boxes[: 2 + both]))
    return found


@pytest.mark.long
def test_what_is_kept_is_what_working_it_out_gives() -> None:
    asked = questions(0, 150)
    assert {len(question) for question in asked} == {2, 3}
    for question in asked:
        assert stored(question) == pytest.approx(fits.work_out(question), abs=1e-9)


@pytest.mark.long
def test_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(question: margins.Question) -> float:
        raise AssertionError(f"not in the file: {question}")

    for function in (fits.contains_fit, fits.supports_fit, fits._margin):
        function.cache_clear()
    monkeypatch.setattr(fits, "work_out", refuse)
    for a, b in itertools.chain(*(itertools.product(names, repeat=2) for names in (NAMES, *PAIRS_OF))):
        fits.can_contain(a, b)
        fits.can_support(a, b)
    rng = np.random.default_rng(1)
    for names in rng.choice(NAMES, size=(4000, 3)).tolist():
        fits.can_contain(*names)
        fits.can_support(*names)


def test_the_file_is_small() -> None:
    assert margins.FILE.stat().st_size < 1_000_000


def test_a_shape_that_has_changed_is_not_known() -> None:
    region = Outline("box", (1.0, 1.0))
    assert stored((region, Outline("box", (0.5, 0.5)))) == 0.5
    assert stored((region, Outline("box", (0.5, 0.500001)))) is None
    assert stored((region, Outline("ellipse", (0.5, 0.4999)))) is None


def test_answers_survive_the_file(tmp_path: Path) -> None:
    a, b, c = (Outline("box", (1.0, half)) for half in (1.0, 0.5, 0.25))
    answers = {(a, b): 0.5, (a, c): 0.75, (a, b, c): -0.125, (a, b, b): 0.0}
    margins.save(answers, tmp_path / "margins.npz")
    made = margins.load(tmp_path / "margins.npz")
    assert sorted(made.answers) == sorted(answers.values())
    assert len(made.numbers) == 3
    first = (tmp_path / "margins.npz").read_bytes()
    margins.save(dict(reversed(answers.items())), tmp_path / "margins.npz")
    assert (tmp_path / "margins.npz").read_bytes() == first


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    assert len(margins.load(tmp_path / "none.npz").answers) == 0
