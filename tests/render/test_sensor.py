"""Sensors: nothing at zero strength, seeded, as strong as declared, and truth that moves with the picture."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.errors import ConfigError, DataError
from sightline.generation import generate
from sightline.generation.scene import as_taken
from sightline.render.fast import FastRenderer
from sightline.render.frames import Frame
from sightline.render.sensor import bending, exposed, taken
from sightline.render.tones import RADIANCES, encoded
from sightline.render.truth import tight_box
from sightline.worlds import World, arrange, load_world, world_from
from sightline.worlds.layout import Sensor
from sightline.worlds.sensor import PRESETS

SIZE = (96, 64)


def grey(byte: int = 120, size: int = 64) -> np.ndarray:
    return np.full((size, size, 3), byte, np.uint8)


@pytest.fixture(scope="module")
def frame() -> Frame:
    layout = arrange(replace(load_world("geospa/train"), resolution=SIZE), 0, 3)
    return FastRenderer().frame(layout, layout.shots[0])


def radiance(image: np.ndarray) -> np.ndarray:
    return RADIANCES[image]


def test_no_strength_changes_no_byte(frame: Frame) -> None:
    every = np.arange(256, dtype=np.uint8).repeat(3).reshape(16, 16, 3)
    for image in (every, frame.image):
        assert (exposed(image, Sensor(angle=30.0, seed=5)) == image).all()
    same = taken(frame, Sensor())
    assert all(getattr(same, f.name) is getattr(frame, f.name) for f in fields(Frame) if f.name != "image")


@pytest.mark.parametrize("stops", [-2.0, 0.5, 1.0])
def test_a_stop_doubles_the_light(stops: float) -> None:
    before, after = radiance(grey(90)), radiance(exposed(grey(90), Sensor(exposure=stops)))
    assert after.mean() / before.mean() == pytest.approx(2.0**stops, rel=0.03)  # bytes are steps


def test_white_balance_tints_and_at_one_keeps_grey() -> None:
    assert (exposed(grey(), Sensor(red=1.0, blue=1.0)) == grey()).all()
    warm = radiance(exposed(grey(), Sensor(red=1.5, blue=0.5)))[0, 0] / radiance(grey())[0, 0]
    assert warm == pytest.approx([1.5, 1.0, 0.5], rel=0.03)


@pytest.mark.parametrize(("shot", "read"), [(0.05, 0.0), (0.0, 0.02), (0.04, 0.02)])
@pytest.mark.parametrize("byte", [90, 150])
def test_noise_has_the_declared_variance(shot: float, read: float, byte: int) -> None:
    clean = grey(byte, 200)
    noisy = radiance(exposed(clean, Sensor(shot=shot, read=read, seed=3)))
    light = float(radiance(clean)[0, 0, 0])
    assert noisy.var() == pytest.approx(shot**2 * light + read**2, rel=0.05)
    assert noisy.mean() == pytest.approx(light, rel=0.01)
    assert abs(np.corrcoef(noisy[..., 0].ravel(), noisy[..., 1].ravel())[0, 1]) < 0.03  # each channel its own


def test_noise_is_seeded() -> None:
    one, again, other = (exposed(grey(), Sensor(shot=0.05, seed=seed)) for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


@pytest.mark.parametrize(
    ("sensor", "across", "along"),
    [(Sensor(defocus=3.0), 7, 7), (Sensor(motion=6.0, angle=0.0), 7, 1), (Sensor(motion=6.0, angle=90.0), 1, 7)],
)
def test_blur_spreads_a_point_and_keeps_its_light(sensor: Sensor, across: int, along: int) -> None:
    point = encoded(np.zeros((41, 41, 3)))
    dark = radiance(point)[0, 0, 0]
    point[20, 20] = 255
    light = radiance(exposed(point, sensor)) - dark
    assert light.sum() == pytest.approx((radiance(point) - dark).sum(), rel=0.03)
    lit = light[..., 0] > 0.05
    assert (np.ptp(np.flatnonzero(lit.any(axis=0))) + 1, np.ptp(np.flatnonzero(lit.any(axis=1))) + 1) == (
        across,
        along,
    )
    centre = (light.sum(axis=2) * np.arange(41)).sum() / light.sum()
    assert centre == pytest.approx(20, abs=0.1)
    flat = exposed(grey(), sensor)
    assert (flat == grey()).all()  # edges too


@pytest.mark.parametrize("distortion", [-0.25, 0.1, 0.4])
def test_bending_stays_inside_is_round_and_keeps_the_order(distortion: float) -> None:
    rows, columns = bending(64, 96, distortion)
    assert rows.min() >= 0
    assert rows.max() <= 64
    assert columns.min() >= 0
    assert columns.max() <= 96
    assert (np.diff(columns, axis=1) > 0).all()
    assert (np.diff(rows, axis=0) > 0).all()
    np.testing.assert_allclose(rows[::-1], 64 - rows)
    x, y = columns - 48, rows - 32
    u, v = np.meshgrid(np.arange(96) - 47.5, np.arange(64) - 31.5)
    np.testing.assert_allclose(x * v, y * u, atol=1e-9)  # along the radius
    assert np.hypot(x, y)[0, 0] / np.hypot(u, v)[0, 0] == pytest.approx(
        (1 + distortion * (47.5**2 + 31.5**2) / (48**2 + 32**2)) / max(1, 1 + distortion)
    )


def test_truth_moves_with_the_picture(frame: Frame) -> None:
    """Paint the ids into the picture: after the lens both still say the same, away from edges."""
    colours = np.linspace(0, 255, len(frame.amodal) + 1).astype(np.uint8)
    painted = replace(frame, image=np.repeat(colours[frame.ids][..., None], 3, axis=2))
    bent = taken(painted, Sensor(distortion=0.3))
    assert bent.image is not None
    assert (bent.ids != frame.ids).any()
    ids = bent.ids
    core = np.ones_like(ids, dtype=bool)
    core[[0, -1]] = core[:, [0, -1]] = False
    for down, right in product((-1, 0, 1), (-1, 0, 1)):
        core &= np.roll(ids, (down, right), (0, 1)) == ids
    assert (bent.image[..., 0] == colours[ids])[core].all()
    for i in range(len(bent.amodal)):
        assert (bent.amodal[i] | (ids != i + 1)).all()  # what is seen of a thing is part of it
    assert ((bent.depth > 0) | np.isnan(bent.depth)).all()
    assert np.isin(bent.depth[~np.isnan(bent.depth)], frame.depth).all()  # nothing is mixed


SENSOR = (
    "extends: geospa/train\nresolution: [96, 64]\nsensor: {preset: webcam, distortion: 0.2, exposure: [0.2, 0.4]}\n"
)


def written(folder: Path, text: str) -> World:
    file = folder / "taken.yaml"
    file.write_text(text)
    return load_world(file)


def test_each_view_has_its_own_sensor_within_what_is_declared(tmp_path: Path) -> None:
    world = written(tmp_path, SENSOR)
    layouts = [arrange(world, 0, i) for i in range(40)]
    sensors = [shot.sensor for layout in layouts for shot in layout.shots]
    assert len({sensor.seed for sensor in sensors}) == len(sensors)
    for name, low, high in (("exposure", 0.2, 0.4), ("distortion", 0.2, 0.2), ("shot", *PRESETS["webcam"]["shot"])):
        values = [getattr(sensor, name) for sensor in sensors]
        assert low <= min(values) <= max(values) <= high
        assert max(values) - min(values) >= 0.9 * (high - low)
    plain = written(tmp_path, SENSOR.replace("sensor:", "about: x  #"))
    assert plain.sensor is None
    bare = arrange(plain, 0, 0)
    assert (bare.objects, [s.camera for s in bare.shots]) == (
        layouts[0].objects,
        [s.camera for s in layouts[0].shots],
    )


def test_stored_pictures_are_taken_by_the_sensor_and_truth_fits_them(tmp_path: Path) -> None:
    written(tmp_path, SENSOR)
    one, two = (generate(tmp_path / "taken.yaml", tmp_path / name, scenes=2) for name in ("a", "b"))
    assert one.fingerprint == two.fingerprint
    for index, scene in enumerate(one):
        layout = arrange(load_world(tmp_path / "taken.yaml"), 0, index)
        ideal, view = FastRenderer().frame(layout, layout.shots[0]), scene.views[0]
        bent = taken(ideal, layout.shots[0].sensor)
        assert (view.ids() == bent.ids).all()
        assert view.camera is None  # ours have no place for a lens that bends
        assert np.abs(view.image().astype(int) - ideal.image).mean() > 3
        for seen in scene.sightings:
            mask = view.ids() == int(seen.object_id) + 1
            assert seen.box == (tight_box(mask) or seen.box)
        assert (view.normals() == bent.normals).all()
        without = scene.without("0").views[0]
        changed = (without.image() != view.image()).any(axis=2).mean()
        assert 0 < changed < 1
        assert without.ids().shape == (64, 96)


def test_truth_alone_is_the_same_truth(tmp_path: Path) -> None:
    written(tmp_path, SENSOR)
    pictures, truth = (
        generate(tmp_path / "taken.yaml", tmp_path / str(form), scenes=1, image_format=form)
        for form in ("png", None)
    )
    assert [s.sightings for s in pictures] == [s.sightings for s in truth]


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("sensor: fone", "sensor", "one of none, phone, webcam"),
        ("sensor: {preset: fone}", "sensor.preset", "'fone' .expected one of phone, webcam, found 'fone'"),
        ("sensor: fone", "sensor", "or a mapping, found 'fone'"),
        ("sensor: {exposre: 1}", "sensor.exposre", "did you mean 'exposure'"),
        ("sensor: {jpeg: 99}", "sensor.jpeg", "0 to 95"),
        ("sensor: {distortion: -0.5}", "sensor.distortion", "-0.3 to 0.5"),
        ("sensor: {shot: loud}", "sensor.shot", "neither a number nor a range"),
        ("sensor: [1]", "sensor", "unknown sensor"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, field: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        written(tmp_path, f"shapes: [cube]\n{text}\n")
    assert caught.value.field == field


def test_a_sensor_chosen_with_generate_changes_pictures_and_no_truth(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"scenes": 2, "size": (96, 64)}
    made = {
        sensor: generate("geospa/train", tmp_path / str(sensor), **asked, sensor=sensor)
        for sensor in (None, "none", "phone")
    }
    assert made["none"].fingerprint == made[None].fingerprint
    assert made["none"].recipe == made[None].recipe
    assert made["phone"].fingerprint != made[None].fingerprint
    assert made["phone"].truth_fingerprint == made[None].truth_fingerprint
    assert made["phone"].recipe is not None
    assert made["phone"].recipe["settings"]["sensor"] == "phone"
    train = load_world("geospa/train")
    world = world_from(train.name, {**train.settings, "resolution": [96, 64], "sensor": "phone"})
    for index, (seen, ideal) in enumerate(zip(made["phone"], made[None], strict=True)):
        layout = arrange(world, 0, index)
        taken_by_phone = as_taken(layout.shots[0], FastRenderer().frame(layout, layout.shots[0]))
        assert (seen.views[0].image() == taken_by_phone.image).all()
        assert np.abs(seen.views[0].image().astype(int) - ideal.views[0].image()).mean() > 1


def test_a_sensor_chosen_with_generate_replaces_the_worlds_own(tmp_path: Path) -> None:
    written(tmp_path, SENSOR)
    [ideal] = generate(tmp_path / "taken.yaml", tmp_path / "d", scenes=1, sensor="none")
    assert ideal.views[0].camera is not None
    with pytest.raises(ConfigError, match="unknown sensor 'phon', did you mean 'phone'"):
        generate("geospa/train", tmp_path / "e", scenes=1, sensor="phon")
    assert not (tmp_path / "e").exists()


def test_none_is_no_sensor(tmp_path: Path) -> None:
    assert written(tmp_path, "shapes: [cube]\nsensor: none\n").sensor is None
    assert load_world("geospa/train").sensor is None
