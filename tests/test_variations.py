"""Changed pictures: boxes and masks follow the pixels, and nothing given is written to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import ConfigError
from sightline.scenes import Camera, View
from sightline.variations import VARIATIONS, Grey, Jpeg, Mirror, Noise, Shift, Variation, small_shift

SIZES = st.tuples(st.integers(4, 24), st.integers(4, 24))


@st.composite
def marked_pictures(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """A dark picture with one bright rectangle of whole pixels, its box in fractions, and (width, height)."""
    width, height = draw(SIZES)
    x0, y0 = draw(st.integers(0, width - 2)), draw(st.integers(0, height - 2))
    x1, y1 = draw(st.integers(x0 + 1, width)), draw(st.integers(y0 + 1, height))
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    pixels[y0:y1, x0:x1] = 255
    return pixels, np.array([[x0 / width, y0 / height, x1 / width, y1 / height]]), (width, height)


def seen(mask: np.ndarray, size: tuple[int, int]) -> list[float]:
    """The box around what a mask shows, in fractions."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return [columns[0] / size[0], rows[0] / size[1], (columns[-1] + 1) / size[0], (rows[-1] + 1) / size[1]]


@given(marked_pictures(), st.sampled_from([Mirror(), Shift(1, -2), Shift(-3, 0), Shift(0, 2)]))
def test_boxes_and_masks_follow_the_pixels(picture, change: Variation) -> None:
    pixels, box, size = picture
    before = pixels.copy()
    mask = change.masks(pixels[..., 0] > 0)
    moved = change.boxes(box, size)
    if mask.any():
        assert seen(mask, size) == pytest.approx(moved[0].tolist())
        assert (change.pixels(pixels)[..., 0] > 0)[mask].all()  # an edge may be repeated around it
    else:
        assert (moved[0, 2:] - moved[0, :2]).min() == pytest.approx(0.0)  # nothing is left to see
    assert (pixels == before).all()
    assert change.pixels(pixels).shape == pixels.shape


@given(SIZES, st.integers(0, 1000))
def test_mirrored_twice_is_the_same_bytes(size: tuple[int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    masks = rng.random((2, size[1], size[0])) < 0.5
    boxes = np.sort(rng.random((3, 2, 2)), axis=1).reshape(3, 4)
    twice = Mirror().pixels(Mirror().pixels(pixels))
    assert twice.tobytes() == pixels.tobytes()
    assert (Mirror().masks(Mirror().masks(masks)) == masks).all()
    np.testing.assert_allclose(Mirror().boxes(Mirror().boxes(boxes, size), size), boxes, atol=1e-15)


@given(SIZES, st.integers(-30, 30), st.integers(-30, 30))
def test_a_shift_there_and_back_keeps_what_never_left(size: tuple[int, int], right: int, down: int) -> None:
    width, height = size
    pixels = np.arange(width * height * 3, dtype=np.int64).reshape(height, width, 3).astype(np.uint8)
    back = Shift(-right, -down).pixels(Shift(right, down).pixels(pixels))
    stayed = Shift(-right, -down).masks(Shift(right, down).masks(np.ones((height, width), dtype=bool)))
    assert (back[stayed] == pixels[stayed]).all()
    assert stayed.sum() == max(width - abs(right), 0) * max(height - abs(down), 0)


def test_a_jpeg_looks_alike_and_leaves_places_alone() -> None:
    ramp = np.linspace(0, 255, 64 * 48).reshape(48, 64).astype(np.uint8)
    pixels = np.stack([ramp] * 3, axis=-1)
    coarse, fine = (Jpeg(q).pixels(pixels).astype(int) for q in (5, 95))
    assert 0 < np.abs(coarse - pixels).mean() < 20
    assert np.abs(fine - pixels).mean() < np.abs(coarse - pixels).mean()
    assert Jpeg().boxes(np.array([[0.1, 0.2, 0.3, 0.4]]), (64, 48)).tolist() == [[0.1, 0.2, 0.3, 0.4]]
    assert (Jpeg(30).pixels(pixels) == Jpeg(30).pixels(pixels)).all()
    with pytest.raises(ConfigError, match="from 1 to 95, found 96"):
        Jpeg(96)


@given(SIZES, st.integers(0, 10_000))
def test_a_small_shift_is_seeded_small_and_never_nothing(size: tuple[int, int], seed: int) -> None:
    one, again = (small_shift(np.random.default_rng(seed), size, 0.1) for _ in range(2))
    assert one == again
    assert (abs(one.right), abs(one.down)) != (0, 0)
    assert abs(one.right) <= max(1, round(0.1 * size[0]))
    assert abs(one.down) <= max(1, round(0.1 * size[1]))


@pytest.mark.parametrize("name", VARIATIONS)
def test_a_changed_view_is_another_picture_loaded_when_looked_at(name: str) -> None:
    loads = []

    def load() -> np.ndarray:
        loads.append(1)
        return np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)

    camera = Camera((1.0,) * 9, (0.0,) * 12)
    view = View("v", image_ref="photo.jpg", size=(16, 12), camera=camera, load_image=load, load_depth=load)
    change = VARIATIONS[name](np.random.default_rng(1), (16, 12))
    changed = change.view(view)
    assert not loads
    assert (changed.id, changed.image_ref, changed.load_depth) == (f"v@{name}", None, None)
    assert (changed.camera is None) == change.moves
    assert (changed.image() != view.image()).any()
    assert change.view(View("v")).load_image is None


@given(SIZES, st.integers(0, 1000), st.sampled_from([2.0, 15.0, 60.0]))
def test_noise_is_of_its_strength_and_the_same_for_the_same_view(
    size: tuple[int, int], seed: int, sigma: float
) -> None:
    pixels = np.full((8 * size[1], 8 * size[0], 3), 128, dtype=np.uint8)
    noisy = Noise(sigma, seed).pixels(pixels).astype(float) - 128
    assert noisy.std() == pytest.approx(sigma, rel=0.25)
    assert abs(noisy.mean()) < sigma / 4
    view = View("v", size=(8 * size[0], 8 * size[1]), load_image=lambda: pixels)
    changed, again, other = (
        Noise(sigma).view(view),
        Noise(sigma).view(view),
        Noise(sigma).view(replace(view, id="w")),
    )
    assert (changed.image() == again.image()).all()
    assert (changed.image() != other.image()).any()
    assert (changed.id, changed.size) == ("v@noise", view.size)


def test_a_grey_picture_shows_nothing() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 3), dtype=np.uint8)
    assert (Grey().pixels(pixels) == 128).all()
    with pytest.raises(ConfigError):
        Noise(0.0)
