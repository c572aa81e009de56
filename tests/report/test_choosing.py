"""Which scenes are shown: the worst, typical and perfect ones, or those asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_runs import dataset
from sightline.report.choosing import Chosen, choose, named

from sightline.errors import ConfigError


@pytest.mark.parametrize(
    ("asked", "right", "chosen"),
    [
        ([8, 8, 8, 8, 8], [8, 1, 5, 4, 8], Chosen(("b",), ("d",), ("a",))),  # worst, middle, perfect
        ([8, 8], [3, 3], Chosen(("a",), ("b",), ())),  # a tie goes by id; none is perfect
        ([8, 16, 0], [8, 16, 0], Chosen((), (), ("b",))),  # the fullest perfect one; nothing asked is never shown
        ([], [], Chosen((), (), ())),  # no scene
    ],
)
def test_choice(asked: list[int], right: list[int], chosen: Chosen) -> None:
    names = "abcde"[: len(asked)]
    counts = np.array(asked, dtype=np.int64), np.array(right, dtype=np.int64)
    assert choose(names, *counts, worst=1, typical=1, perfect=1) == chosen


ASKED = ("w/0/0001", "w/0/0002", "w/1/0003")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (("w/1/0003", "w/0/0001"), ("w/1/0003", "w/0/0001")),  # in the order given
        (("w/0/0002", "w/0/0001", "w/0/0002"), ("w/0/0002", "w/0/0001")),  # twice is once
        ((), ()),  # none
        (("w/0/001",), r"has no scene 'w/0/001', did you mean 'w/0/0001'\?"),  # a near miss
        (("0003",), r"has no scene '0003', did you mean 'w/1/0003'\?"),  # the end of an id
        (("zzz",), r"has no scene 'zzz'; m was asked about 3 scenes, such as 'w/0/0001'"),  # nothing near
        (("w/0/0001", ""), r"has no scene ''; m was asked about 3 scenes"),  # the second, and empty
    ],
)
def test_scenes_asked_for(wanted: tuple[str, ...], found: tuple[str, ...] | str, tmp_path: Path) -> None:
    data = dataset(tmp_path, 8)
    if isinstance(found, tuple):
        assert named(wanted, ASKED * 2, data, "m") == found
        return
    with pytest.raises(ConfigError, match=found):
        named(wanted, ASKED, data, "m")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("other",), "m was asked about 1 scene, such as 'other'"),  # sat with a limit
        ((), "m was asked about 0 scenes$"),  # answered nothing
    ],
)
def test_a_scene_that_was_not_asked_about(asked: tuple[str, ...], says: str, tmp_path: Path) -> None:
    data = dataset(tmp_path, 8)
    there = next(iter(data)).id
    with pytest.raises(ConfigError, match=f"no answers to show on the scene '{there}': {says}"):
        named((there,), asked, data, "m")
