"""What few rays leave behind in pictures: squares, dots, bands and stairs that a viewer would find."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.render.fast import FastRenderer, Settings
from sightline.render.frames import Frame
from sightline.scenes.types import Camera
from sightline.worlds import arrange, load_world


def drawn(world: str, seed: int, index: int) -> Frame:
    return FastRenderer().frames(arrange(load_world(world), seed, index), ["original"])[0]


def pixels(frame: Frame) -> NDArray[np.int64]:
    assert frame.image is not None
    return frame.image.astype(np.int64)


def test_a_flat_side_shows_no_squares_of_mirror_rays() -> None:
    frame = drawn("geospa/invented", 1234, 9)
    side = (frame.ids == 4) & (np.abs(frame.normals - frame.normals[135, 35]).max(axis=2) < 1e-3)
    inner = side.copy()
    for axis in (0, 1):
        inner &= np.roll(side, 1, axis) & np.roll(side, -1, axis)
    assert inner.sum() > 1000
    for axis in (0, 1):
        step = np.abs(pixels(frame) - np.roll(pixels(frame), 1, axis))
        assert step[inner & np.roll(inner, 1, axis)].max() <= 5


@pytest.mark.parametrize("most", [8, 12, 16, 20, 24])
def test_points_of_a_lamp_leave_no_row_or_column_empty(most: int) -> None:
    for along in Settings().plan().points[:most].T:
        gaps = np.diff(np.sort(np.append(along, (-1.0, 1.0))))
        assert gaps.max() < 5.0 / most


@pytest.mark.parametrize(
    ("points", "typical", "worst"),
    [
        (8, 0.08, 0.25),
        (12, 0.08, 0.30),
        (16, 0.045, 0.15),
        (20, 0.04, 0.15),
        (24, 0.035, 0.14),  # each time the first ones: a lamp is tried with as many as it is bright
    ],
)
def test_points_of_a_lamp_tell_how_much_an_edge_hides(points: int, typical: float, worst: float) -> None:
    """Straight edges at random, against a fine lattice of points."""
    random = np.random.default_rng(0)
    turns, away = random.uniform(0.0, 2.0 * math.pi, 2000), random.uniform(-1.3, 1.3, 2000)
    edges = np.stack((np.cos(turns), np.sin(turns)))
    side = (np.arange(60) + 0.5) / 30.0 - 1.0
    fine = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    truth = (fine @ edges < away).mean(axis=0)
    told = (Settings().plan().points[:points] @ edges < away).mean(axis=0)
    off = np.abs(told - truth)[(truth > 0.02) & (truth < 0.98)]
    assert math.sqrt((off**2).mean()) < typical
    assert off.max() < worst


@pytest.mark.parametrize("count", [12, 13, 200, 201, 300])
def test_a_lamp_has_as_many_points_as_asked(count: int) -> None:
    points = Settings(shadow_most=count, objects_most=1).plan().points
    assert points.shape == (count, 2)
    assert len(np.unique(points, axis=0)) == count
    assert np.abs(points).max() <= 1.0


@pytest.mark.parametrize(
    ("world", "seed", "index", "most", "rare"),
    [
        ("geospa/val_size", 301, 2, 5, 10),  # twelve points of every lamp left steps of 7, and 12
        ("geospa/val_op", 1234, 2, 5, 8),
        ("kitchen", 1234, 8, 2, 5),
    ],
)
def test_steps_of_soft_shadows_are_low(world: str, seed: int, index: int, most: int, rare: int) -> None:
    """On the ground, beside a picture with so many points of a lamp that no step is seen, in 8-bit values."""
    layout = arrange(load_world(world), seed, index)
    finer = FastRenderer(Settings(shadow_first=16, shadow_most=192)).frames(layout, ["original"])[0]
    frame = FastRenderer().frames(layout, ["original"])[0]
    off = np.abs(pixels(frame) - pixels(finer)).max(axis=2)[frame.ids == 0]
    assert np.percentile(off, 99) <= most
    assert np.percentile(off, 99.9) <= rare


def test_the_ground_is_not_dark_where_the_flat_sides_of_a_cylinder_leave_it_bare() -> None:
    # Shadows are thrown by the round cylinder, of which the drawn sides are chords.
    frame = drawn("geospa/val_op", 1234, 4)
    row = pixels(frame)[209, 208:231].sum(axis=1)
    seen = frame.ids[209, 208:231]
    assert {0, 3} == set(seen.tolist())
    assert row[seen == 0].min() > 0.9 * row[seen == 0].mean()


def test_the_horizon_has_no_stairs() -> None:
    layout = arrange(load_world("street"), 1, 0)
    shot = next(s for s in layout.shots if s.name == "original")
    roll = math.radians(4.0)
    turn = np.array(((math.cos(roll), -math.sin(roll), 0), (math.sin(roll), math.cos(roll), 0), (0, 0, 1)))
    pose = turn @ np.array(shot.camera.world_to_camera).reshape(3, 4)
    camera = Camera(shot.camera.k, tuple(pose.ravel().tolist()))
    bare = replace(layout, objects=(), surroundings=replace(layout.surroundings, walls=()))
    frame = FastRenderer().frame(bare, replace(shot, camera=camera))
    image, sky = pixels(frame), np.isnan(frame.depth)
    last = sky.sum(axis=0) - 1  # row of the last pixel of sky, column by column
    columns = np.arange(sky.shape[1])
    assert sky[last, columns].all()
    assert last.min() > 3
    assert last.max() < sky.shape[0] - 5
    above, below = image[last - 3, columns, 2], image[last + 4, columns, 2]
    share = (image[[last, last + 1], columns, 2] - below) / (above - below)
    assert ((share > 0.2) & (share < 0.8)).mean() > 0.2
    assert (np.abs(np.diff(share.sum(axis=0))) < 0.5).mean() > 0.9


def test_the_hollow_of_a_metal_box_is_not_mottled() -> None:
    """Brightness of flat places against that of the eight places four pixels away: 1.2 % with short means."""
    frame = drawn("geospa/val_size", 77, 1)
    bright = pixels(frame).sum(axis=2)
    around = [(dy, dx) for dy in (-4, 0, 4) for dx in (-4, 0, 4)]
    flat = frame.ids == 3
    for step in around:
        bent = np.abs(np.roll(frame.normals, step, (0, 1)) - frame.normals).max(axis=2) > 0.05
        flat &= (np.roll(frame.ids, step, (0, 1)) == 3) & ~bent
    mean = np.mean([np.roll(bright, step, (0, 1)) for step in around], axis=0)
    assert flat.sum() > 7000
    assert (np.abs(bright - mean) / mean)[flat].mean() < 0.008
