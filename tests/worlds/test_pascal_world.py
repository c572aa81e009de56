"""The world cad/pascal: objects are seen from sides and heights as often as those of their class in real photos."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.geometry import azimuth_bins
from sightline.render.landmarks import viewpoint_of
from sightline.scenes import Viewpoint
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import named
from sightline.worlds import arrange, load_world
from sightline.worlds.cad import SUBTYPES
from sightline.worlds.cameras import Distribution, DrawnCameraSpec
from sightline.worlds.looks import category_of
from sightline.worlds.shapes import split_name

Ranges = dict[tuple[float, float], float]

STEPS = (-90, -60, -45, -30, -20, -10, -5, 0, 5, 10, 20, 30, 45, 60, 90)
FEWEST = 200
"""A step of the elevation with fewer than one in so many poses of a class is left out."""

WORLD = load_world("cad/pascal")
CLASSES = sorted(SUBTYPES)
BELOW = {"aeroplane": 0.606, "train": 0.492, "bus": 0.473, "bottle": 0.303, "chair": 0.035, "diningtable": 0.0}
"""Share of poses of the real files with the camera below the object, steps left out aside."""


def weights(drawn: Distribution) -> Ranges:
    return dict(zip(drawn.ranges, np.diff((0.0, *drawn.steps)).tolist(), strict=True))


def elevations(name: str) -> Ranges:
    (camera,) = next(category.cameras for category in WORLD.categories if category.name == name)
    assert isinstance(camera, DrawnCameraSpec)
    return weights(camera.elevation)


def turns(name: str) -> dict[int, float]:
    """Weights of sections of 15° of the azimuth, which is minus the turn."""
    drawn = weights(next(zone.turn for zone in WORLD.zones if zone.name == name))
    assert all(high - low == 15.0 for low, high in drawn)
    return {round(-(low + high) / 30.0) % 24: weight for (low, high), weight in drawn.items()}


@pytest.mark.realdata
def test_weights_are_the_numbers_of_real_poses(real_data: Path) -> None:
    poses: dict[str, list[Viewpoint]] = defaultdict(list)
    for part in named("pascal3d-poses").read(real_data / "pascal3d"):
        for scene in scenes_from_tables(part):
            (seen,) = scene.sightings
            assert seen.viewpoint is not None
            poses[scene.objects[0].category].append(seen.viewpoint)
    assert sorted(poses) == CLASSES
    for name, views in poses.items():
        counts, _ = np.histogram([view.elevation for view in views], STEPS)
        steps = zip(pairwise(STEPS), counts.tolist(), strict=True)
        assert elevations(name) == {step: n for step, n in steps if n * FEWEST >= len(views)}, name
        sections = np.bincount(azimuth_bins(np.array([view.azimuth for view in views]), 24), minlength=24)
        assert turns(name) == {k: n for k, n in enumerate(sections.tolist()) if n}, name


@pytest.fixture(scope="module")
def seen() -> dict[str, NDArray[np.float64]]:
    """By class, azimuth and elevation of what 1,500 scenes hold, in degrees."""
    world = replace(WORLD, variants=(48, 49))  # few models to build
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for layout in (arrange(world, 0, index) for index in range(1500)):
        for placed in layout.objects:
            view = viewpoint_of(placed, layout.shots[0])
            assert view is not None
            name = category_of(split_name(placed.shape)[0])
            assert name == layout.category
            found[name].append((view.azimuth, view.elevation))
    return {name: np.array(views) for name, views in found.items()}


@pytest.mark.parametrize("name", CLASSES)
def test_scenes_are_seen_from_as_high_as_real_photos(name: str, seen: dict[str, NDArray[np.float64]]) -> None:
    drawn, steps = seen[name][:, 1], elevations(name)
    poses = sum(steps.values())
    real = {end: sum(n for (_, high), n in steps.items() if high <= end) / poses for end in (-20, 0, 10, 30)}
    assert {end: (drawn < end).mean() for end in real} == pytest.approx(real, abs=0.12)  # objects stand apart
    if name in BELOW:
        assert real[0] == pytest.approx(BELOW[name], abs=0.001)
        assert (drawn < 0).mean() == pytest.approx(BELOW[name], abs=0.1)


@pytest.mark.parametrize("name", CLASSES)
def test_scenes_are_seen_from_the_sides_of_real_photos(name: str, seen: dict[str, NDArray[np.float64]]) -> None:
    poses = turns(name)
    real = np.bincount([(k + 1) // 3 % 8 for k in poses], list(poses.values()), 8) / sum(poses.values())
    drawn = np.bincount(azimuth_bins(seen[name][:, 0], 8), minlength=8) / len(seen[name])
    assert np.abs(drawn - real).sum() / 2 < 0.12
    assert drawn.argmax() == real.argmax() or real.max() < 0.3
