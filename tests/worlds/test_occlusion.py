"""The share of an object that a camera misses, and worlds whose scenes hide as much as they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import ConfigError, DataError
from sightline.geometry.cameras import orbit
from sightline.render.fast import FastRenderer
from sightline.scenes import Camera
from sightline.worlds import Placed, arrange, load_world, solid
from sightline.worlds.occlusion import hidden_share

SIZE = (320, 240)
HIGH = solid("cube:medium").height


def seen_from(right: float = 0.0, down: float = 0.0) -> Camera:
    """A far camera before the front of a cube at the origin, its picture's middle moved by pixels."""
    k = (3000.0, 0.0, 160.0 + right, 0.0, 3000.0, 120.0 + down, 0.0, 0.0, 1.0)
    return Camera(k, tuple(orbit(0.0, 0.0, 60.0, (0.0, 0.0, HIGH / 2)).ravel().tolist()))


def cube(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Placed:
    return Placed("cube:medium", "red", "rubber", (x, y, z), 0.0)


@pytest.mark.parametrize(
    ("others", "right", "expected"),
    [
        ((), 0.0, 0.0),  # alone
        ((cube(y=2 * HIGH),), 0.0, 0.0),  # another behind it
        ((cube(y=-2 * HIGH),), 0.0, 1.0),  # another before it
        ((cube(x=HIGH / 2, y=-2 * HIGH),), 0.0, 0.5),  # before its right half
        ((cube(x=HIGH * 0.75, y=-2 * HIGH), cube(x=-HIGH * 0.75, y=-2 * HIGH)), 0.0, 0.5),  # before both sides
        ((), 160.0, 0.5),  # its right half outside the picture
        ((), -700.0, 1.0),  # all of it outside
        ((cube(x=HIGH / 2, y=-2 * HIGH),), -160.0, 1.0),  # one half hidden, the other outside
        ((cube(y=-80.0),), 0.0, 0.0),  # another behind the camera
    ],
)
def test_share_of_a_cube_that_is_missed(others: tuple[Placed, ...], right: float, expected: float) -> None:
    assert hidden_share((cube(), *others), seen_from(right), SIZE) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    ("split", "low", "high"),
    [
        ("hidden_0", 0.0, 0.01),  # nothing
        ("hidden_20_40", 0.2, 0.4),  # a third
        ("hidden_40_60", 0.4, 0.6),  # half
        ("hidden_60_80", 0.6, 0.8),  # most
    ],
)
def test_scenes_hide_as_much_as_their_split_says(split: str, low: float, high: float) -> None:
    """The renderer, given a picture large enough for the whole object, counts the pixels."""
    layout = arrange(load_world(f"cad/{split}"), 0, 0)
    (shot,) = layout.shots
    width, height = shot.size
    k = np.array(shot.camera.k)
    k[[2, 5]] += (width, height)  # the picture in the middle of one three times as wide
    wide = replace(shot, camera=replace(shot.camera, k=tuple(k.tolist())), size=(3 * width, 3 * height))
    renderer = FastRenderer()
    ids = renderer.frame(layout, wide, shade=False).ids
    alone = renderer.frame(layout.without(*range(1, len(layout.objects))), wide, shade=False).ids
    visible = (ids[height : 2 * height, width : 2 * width] == 1).sum()
    share = 1.0 - visible / (alone == 1).sum()
    assert low - 0.02 <= share <= high + 0.02
    assert share == pytest.approx(hidden_share(layout.objects, shot.camera, shot.size), abs=0.02)


@pytest.mark.parametrize("said", ["1.2", "[0.4, 0.2]", "[-0.1, 0.2]", "half"])
def test_shares_that_cannot_be(said: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(f"extends: kitchen\nhidden: {said}\n")
    with pytest.raises(DataError) as caught:
        load_world(file)
    assert "hidden" in str(caught.value)


def test_a_share_that_no_scene_has(tmp_path: Path) -> None:
    file = tmp_path / "alone.yaml"
    file.write_text("extends: kitchen\nobjects: [1, 1]\nhidden: 1\nattempts: 3\n")
    with pytest.raises(ConfigError, match="none of 3 placements of 1 object hides as much"):
        arrange(load_world(file), 0, 0)
