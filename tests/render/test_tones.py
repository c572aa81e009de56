"""One tone curve for all back ends: the same bytes, smooth, undone by its inverse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fast_layouts import layout_of, shot

from sightline.render.blender import BlenderRenderer, renderer
from sightline.render.fast import FastRenderer
from sightline.render.fast.shade import _encode
from sightline.render.tones import EXPOSURE, RADIANCES, TONES, WHITE, displayed, encoded
from sightline.worlds import arrange, load_world


def test_every_byte_is_reached_and_undone() -> None:
    np.testing.assert_array_equal(encoded(RADIANCES), np.arange(256))
    assert (np.diff(RADIANCES) > 0).all()
    assert (np.diff(TONES.astype(int)) >= 0).all()
    assert set(TONES) == set(range(256))


def test_the_curve_is_linear_and_then_bends_without_a_kink() -> None:
    radiance = np.linspace(0.0, WHITE, 100_001)
    light = displayed(radiance)
    dim = EXPOSURE * radiance < 0.5
    np.testing.assert_allclose(light[dim], EXPOSURE * radiance[dim])
    slope = np.diff(light) / np.diff(radiance)
    assert (np.diff(slope) < 1e-6).all()  # never steeper again
    assert np.abs(np.diff(slope)).max() < 1e-3 * EXPOSURE
    assert light[-1] == pytest.approx(1.0)
    assert displayed(np.array([-1.0, 99.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("radiance", "byte"),
    [
        (0.0, 0),
        (0.25, 124),  # sRGB of 0.8 × 0.25
        (0.625, 188),  # the knee: sRGB of one half
        (1.5, 230),  # the brightest table: not white
        (5.5, 249),  # a lamp in a mirror: not white
        (16.0, 255),
        (1e9, 255),
        (-1.0, 0),
    ],
)
def test_bytes(radiance: float, byte: int) -> None:
    assert encoded(np.array(radiance)) == byte


def test_kernels_and_host_write_the_same_bytes() -> None:
    rng = np.random.default_rng(0)
    light = (rng.random((40, 50, 3)) ** 4 * 20 - 0.1).astype(np.float32)
    image = np.empty(light.shape, np.uint8)
    _encode(light, TONES, image)
    np.testing.assert_array_equal(image, encoded(light))


def test_blenders_radiance_goes_through_the_same_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    light = np.random.default_rng(1).random((6, 8, 3)).astype(np.float32) * 4

    def render(*_: Any, **__: Any) -> Iterator[dict[str, Any]]:
        yield {"light": light}

    monkeypatch.setattr(renderer, "render", render)
    layout = layout_of([], shot((0.0, -6.0, 6.0), size=(8, 6)))
    [frame] = BlenderRenderer().frames(layout)
    np.testing.assert_array_equal(frame.image, encoded(light))


@pytest.mark.parametrize("world", ["geospa/train", "geospa/val_op", "geospa/invented", "kitchen"])
def test_pictures_are_not_clipped(world: str) -> None:
    """Before, the bright middle of the table alone was white in one pixel of ten."""
    fast = FastRenderer()
    for index in (1, 2):
        frame = fast.frames(arrange(load_world(world), 77, index), ["original"])[0]
        assert frame.image is not None
        assert (frame.image >= 254).all(axis=2).mean() < 0.001
        assert (frame.image[frame.ids > 0] == 255).any(axis=1).mean() <= 0.01
