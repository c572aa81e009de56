"""One scene: the same whenever and wherever it is made; cameras and lights where the world says."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from sightline import worlds
from sightline.errors import ConfigError
from sightline.geometry.cameras import centre, intrinsics, project
from sightline.worlds import Layout, arrange, load_world, presets, relations

SLOW, KEPT = ("cad/", "context/street/"), ("cad/train", "context/street/train")  # CAD models take long
PRESETS = tuple(n for n in presets() if not n.startswith(SLOW) or n in KEPT)


@pytest.mark.parametrize("name", PRESETS)
def test_a_scene_is_the_same_alone_and_in_any_order(name: str) -> None:
    world = load_world(name)
    forward = [arrange(world, 7, i) for i in range(4)]
    backward = [arrange(load_world(name), 7, i) for i in reversed(range(4))]
    assert forward == backward[::-1]
    assert forward[0].objects != forward[1].objects
    assert arrange(world, 8, 0).objects != forward[0].objects


ELSEWHERE = """
import sys
lacking = "polars", "pyarrow", "PIL", "pydantic", "trimesh", "shapely", "manifold3d", "scipy"
sys.modules.update(dict.fromkeys(lacking))
import sightline.worlds as worlds
assert "numpy" not in sys.modules  # importing the room costs nothing
for name in ("kitchen", "geospa/val_shape", "context/train"):
    for index in (11, 2):
        layout = worlds.arrange(worlds.load_world(name), 3, index)
        print(layout, worlds.relations(layout))
"""


def test_another_process_without_what_a_gpu_machine_lacks_makes_the_same_scenes() -> None:
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True)
    expected = {}
    for name in ("context/train", "kitchen", "geospa/val_shape"):
        for index in (2, 11):
            layout = arrange(load_world(name), 3, index)
            expected[name, index] = f"{layout} {relations(layout)}"
    order = [(name, index) for name in ("kitchen", "geospa/val_shape", "context/train") for index in (11, 2)]
    assert done.stdout.splitlines() == [expected[scene] for scene in order]


def test_the_room_lists_what_it_offers() -> None:
    assert set(dir(worlds)) == set(worlds.__all__)
    assert all(getattr(worlds, name) is not None for name in worlds.__all__)
    with pytest.raises(AttributeError, match="arrnage"):
        _ = worlds.arrnage


def test_the_global_state_of_random_numbers_is_left_alone() -> None:
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    arrange(load_world("geospa/train"), 0, 0)
    assert (state == np.random.get_state()[1]).all()  # noqa: NPY002


def test_jitter_does_not_depend_on_placement() -> None:
    world = load_world("geospa/train")
    other = replace(world, shapes=(("cube", 1.0),), gap=0.4, objects=(2, 2))
    a, b = arrange(world, 0, 5), arrange(other, 0, 5)
    assert a.objects != b.objects
    assert (a.shots, a.lights) == (b.shots, b.lights)


def test_cameras_and_lights_are_jittered_within_bounds() -> None:
    world = load_world("geospa/train")
    layouts = [arrange(world, 0, i) for i in range(40)]
    for k, camera in enumerate(world.cameras):
        eyes = np.array([centre(_pose(layout, k)) for layout in layouts]) - camera.position
        assert abs(eyes).max() <= 0.5
        assert abs(eyes).max() > 0.4  # the whole range is used
    for k, light in enumerate(world.lights):
        moved = abs(np.array([layout.lights[k].position for layout in layouts]) - light.position)
        assert moved.max() <= light.jitter
        assert (moved.max() > 0.8) == (light.name != "top")
    still = arrange(replace(world, jitter=0.0), 0, 0)
    np.testing.assert_allclose(centre(_pose(still, 0)), world.cameras[0].position)


def _pose(layout: Layout, k: int) -> np.ndarray:
    return np.array(layout.shots[k].camera.world_to_camera).reshape(3, 4)


def test_all_cameras_look_at_the_middle_of_the_table() -> None:
    layout = arrange(load_world("geospa/train"), 0, 0)
    for shot in layout.shots:
        k, pose = np.array(shot.camera.k).reshape(3, 3), np.array(shot.camera.world_to_camera).reshape(3, 4)
        np.testing.assert_allclose(project(k, pose, [(0, 0, 0)])[0, :2], (240, 160))
    np.testing.assert_allclose(np.array(layout.shots[0].camera.k).reshape(3, 3), intrinsics(58.5, 480, 320))


def test_left_and_behind_are_those_of_the_original_picture() -> None:
    for index in range(5):
        layout = arrange(load_world("geospa/train"), 0, index)
        shot = layout.shots[0]
        k, pose = np.array(shot.camera.k).reshape(3, 3), np.array(shot.camera.world_to_camera).reshape(3, 4)
        middle, left, behind = project(k, pose, [(0, 0, 0), (*layout.left, 0), (*layout.behind, 0)])
        assert left[0] < middle[0] - 1
        assert left[1] == pytest.approx(middle[1], abs=3)
        assert behind[2] > middle[2] + 0.5
        assert behind[0] == pytest.approx(middle[0], abs=1e-6)
        assert math.hypot(*layout.left) == pytest.approx(1) == math.hypot(*layout.behind)


def test_a_camera_inside_an_object_is_refused() -> None:
    world = replace(load_world("geospa/train"), shapes=(("cube", 1.0),), sizes=("medium",), area=((-1, 1), (-1, 1)))
    low = replace(world.cameras[1], name="low", position=(0.0, 0.1, 0.2), target=(5.0, 5.0, 0.2), jitter=0.0)
    crowded = replace(world, cameras=(*world.cameras, low), objects=(3, 3), in_view="any")
    with pytest.raises(
        ConfigError, match=r"scene \d+ of seed 0: camera 'low' stands inside object \d, cube:medium"
    ):
        [arrange(crowded, 0, i) for i in range(20)]


@pytest.mark.parametrize(("seed", "index"), [(-1, 0), (0, -1)])
def test_negative_seeds_and_indices(seed: int, index: int) -> None:
    with pytest.raises(ConfigError, match="0 or more"):
        arrange(load_world("geospa/train"), seed, index)
