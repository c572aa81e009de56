"""Region sets: what names stand for, where windows lie, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import ConfigError
from sightline.exams.turing.vocabulary.regions import MOST, SETS, region_set
from sightline.exams.turing.vocabulary.vocabulary import WHOLE

GRID = {"rows": 2, "columns": 2, "width": 0.6, "height": 0.6}


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ([], [WHOLE]),  # the image is always there
        (["quarters", WHOLE], [WHOLE, *(r.name for r in SETS["quarters"])]),  # and always first
        (["right half", "right half"], [WHOLE, "right half"]),  # told twice
        (["left third", {"name": "mine", "box": [0, 0, 1 / 3, 1]}], [WHOLE, "left third"]),  # equal boxes
        (
            [{"rows": 2, "columns": 2, "width": 0.5, "height": 0.5}, "quarters"],
            [WHOLE, *(f"window {r}.{c} of 2×2, 0.5×0.5" for r in (1, 2) for c in (1, 2))],
        ),  # a grid that is the quarters
        ([{"name": "sky", "box": [0, 0, 1, 0.25]}], [WHOLE, "sky"]),  # a box of one's own
    ],
)
def test_names_in_order(spec: list[Any], names: list[str]) -> None:
    assert [r.name for r in region_set(spec)] == names


@pytest.mark.parametrize("name", ["halves", "thirds", "quarters"])
def test_a_set_tiles_the_image_without_overlap(name: str) -> None:
    regions = SETS[name]
    rows = [r for r in regions if r.box[3] - r.box[1] < 1]
    for part in (rows, [r for r in regions if r not in rows]) if name != "quarters" else (regions,):
        assert sum((r.box[2] - r.box[0]) * (r.box[3] - r.box[1]) for r in part) == pytest.approx(1)
        assert not any(a.meets(b) for a in part for b in part if a is not b)


def test_the_standard_set_reaches_every_place_and_has_subregions() -> None:
    regions = region_set()
    assert len({r.box for r in regions}) == len(regions) == 20
    assert all(r.within(regions[0]) for r in regions)
    assert sum(r.within(regions[1]) for r in regions) >= 4  # the left half can be narrowed


@given(st.integers(1, 5), st.integers(1, 5), st.floats(0.05, 1), st.floats(0.05, 1))
def test_windows_have_their_size_and_touch_the_edges(rows: int, columns: int, width: float, height: float) -> None:
    windows = region_set([{"rows": rows, "columns": columns, "width": width, "height": height}])
    for r in windows[1:]:
        assert r.box[2] - r.box[0] == pytest.approx(width, abs=1e-9)
        assert r.box[3] - r.box[1] == pytest.approx(height, abs=1e-9)
        assert r.within(windows[0])
    if columns > 1 and width < 1 and len(windows) == 1 + rows * columns:
        assert min(r.box[0] for r in windows[1:]) == 0
        assert max(r.box[2] for r in windows) == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (["halfs"], r"f: regions\[0\]: unknown region 'halfs', did you mean 'halves'"),  # misspelt
        (["zzz"], "there are image, halves, thirds, quarters"),  # far from anything
        ([{**GRID, "rows": 0}], r"\[0\].rows: expected a whole number"),  # no rows
        ([{**GRID, "rows": True}], r"\[0\].rows"),  # a bool is no number
        ([{**GRID, "width": 1.5}], r"\[0\].width: expected a fraction"),  # wider than the image
        ([{**GRID, "depth": 1}], "expected a name, {name, box} or"),  # unknown field
        ([3], "expected a name"),  # no name
        ([{"name": "", "box": [0, 0, 1, 1]}], r"\[0\].name"),  # nameless
        ([{"name": "x", "box": [0, 0, 1]}], r"\[0\].box: expected four"),  # three numbers
        ([{"name": "x", "box": [0.5, 0, 0.5, 1]}], "has no area"),  # empty
        ([{"name": "x", "box": [0, 0, float("nan"), 1]}], r"\[0\].box"),  # not a number
        ([{"name": WHOLE, "box": [0, 0, 0.5, 1]}], "is the whole image"),  # a false whole
        ([{"name": "x", "box": [0, 0, 0.5, 1]}, {"name": "x", "box": [0, 0, 0.4, 1]}], "two boxes are called 'x'"),
        ([{"rows": 9, "columns": 8, "width": 0.3, "height": 0.3}], f"73 regions, at most {MOST}"),  # too many
    ],
)
def test_refused(spec: list[Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        region_set(spec, where="f: regions")
