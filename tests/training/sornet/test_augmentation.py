"""Augmentation against a slow loop over pixels, and what must hold of any change."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from reference import augment_oracle as oracle
from sightline.training.augmentation import (
    Augmentation,
    Change,
    _hue,
    _swapped,
    draw_changes,
    middles,
    moved,
    nearly_normal,
    read_at,
)
from sightline.training.sornet.augmentation import (
    apply,
    covers,
    dulled_patches,
    dulled_views,
    fill,
    prepared,
    unchanged,
)

NOTHING = Augmentation(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
STRONG = Augmentation(1.0, 0.5, 3.0, 1.0, 2.0, 1.0, 2.0, 1.0, 0.5, 1.0, 0.5, 0.3, 0.7, 0.9)
FEWER_ON_PATCHES = 0.3


def pictures(scenes: int = 3, views: int = 2, queries: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Views of 9 × 7 pixels and patches of 5 × 5."""
    draw = torch.Generator().manual_seed(seed)
    shapes = (scenes, views, 7, 9, 3), (scenes, queries, 5, 5, 3)
    one, two = (torch.randint(0, 256, shape, generator=draw, dtype=torch.uint8) for shape in shapes)
    return one, two


def drawn(how: Augmentation, seed: int = 0, scenes: int = 3, views: int = 2, first: bool = True) -> Change:
    torch.manual_seed(seed)
    return draw_changes(how, scenes, views, first=first)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_agrees_with_a_loop_over_pixels(seed: int, first: bool) -> None:
    change = drawn(replace(STRONG, noise=0.0, share=0.7, swap=0.5), seed, first=first)
    views, patches = pictures(seed=seed)
    seen, asked = apply(change, views, patches)
    for s in range(len(views)):
        how: dict[str, Any] = {
            "colours": change.colours[s].double().numpy(),
            "offset": change.offset[s].double().numpy(),
            "exponent": float(change.exponent[s]),
        }
        for v, made in enumerate(seen[s]):
            shift = (float(change.shift[s, v, 0]), float(change.shift[s, v, 1]))
            zoom = scale(change, s, stretched=v == 0)
            expected = oracle.changed(
                views[s, v].numpy(), **how, zoom=zoom, shift=shift, blur=float(change.blur[s])
            )
            np.testing.assert_allclose(made.numpy(), expected, atol=2e-4)
        for q, made in enumerate(asked[s]):
            blur, zoom = FEWER_ON_PATCHES * float(change.blur[s]), scale(change, s, stretched=True)
            expected = oracle.changed(patches[s, q].numpy(), **how, zoom=zoom, shift=(0.0, 0.0), blur=blur)
            np.testing.assert_allclose(made.numpy(), expected, atol=2e-4)


def scale(change: Change, scene: int, *, stretched: bool) -> tuple[float, float]:
    """Of one picture along x and y."""
    zoom = float(change.zoom[scene])
    return zoom, zoom * float(change.stretch[scene]) if stretched else zoom


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_covers_agree_with_masks_moved_one_after_the_other(seed: int) -> None:
    change = drawn(replace(NOTHING, share=0.7, zoom=0.6, shift=0.3, stretch=0.5), seed)
    ids = torch.randint(0, 5, (3, 2, 6, 9), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)
    made = covers(ids, 4, 3, change)
    assert made.shape == (3, 4, 2 * 2 * 3)
    for s, n, v in np.ndindex(3, 4, 2):
        shift = (float(change.shift[s, v, 0]), float(change.shift[s, v, 1]))
        mask = (ids[s, v] == n + 1).double().numpy()
        moved = oracle.moved_mask(mask, scale(change, s, stretched=v == 0), shift)
        expected = moved.reshape(2, 3, 3, 3).mean(axis=(1, 3)).ravel()
        np.testing.assert_allclose(made[s, n, 6 * v : 6 * v + 6].numpy(), expected, atol=1e-5)


def test_covers_of_unchanged_views() -> None:
    """An object that fills the lower left patch of the second view is in that token and no other."""
    ids = torch.zeros(1, 2, 32, 48, dtype=torch.uint8)
    ids[0, 1, 16:, :16] = 2
    found = covers(ids, 3, 16)
    assert found.shape == (1, 3, 12)
    assert (found > 1e-5).nonzero().tolist() == [[0, 1, 6 + 3]]
    assert float(found.max()) == pytest.approx(1.0)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_views_are_read_as_by_an_affine_grid(seed: int) -> None:
    """At the size of a real view, against torch's own sampling."""
    change = drawn(replace(NOTHING, share=1.0, zoom=0.4, shift=0.1, stretch=0.5), seed, scenes=1)
    draw = torch.Generator().manual_seed(seed)
    views = torch.randint(0, 256, (1, 2, 160, 240, 3), generator=draw, dtype=torch.uint8)
    frames = torch.zeros(2, 2, 3)
    frames[:, :, 2] = change.shift[0]
    frames[:, 0, 0], frames[:, 1, 1] = 1 / change.zoom, 1 / change.zoom
    frames[0, 1, 1] /= change.stretch[0]
    planes = views[0].permute(0, 3, 1, 2) / 255.0
    grid = functional.affine_grid(frames, list(planes.shape), align_corners=False)
    expected = functional.grid_sample(planes, grid, padding_mode="border", align_corners=False)
    made = apply(change, views, pictures(1)[1])[0][0].permute(0, 3, 1, 2)
    torch.testing.assert_close(made, expected.clamp(1e-4, 1.0), atol=1e-4, rtol=0)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_both_ways_to_move_pictures_agree(seed: int) -> None:
    """What is compiled for a card reads pixels by rows and columns; elsewhere torch samples by a grid."""
    change = drawn(replace(NOTHING, share=1.0, zoom=1.0, shift=0.6, stretch=0.5), seed)
    planes = torch.rand(3, 3, 14, 18, generator=torch.Generator().manual_seed(seed))
    scales = torch.stack((change.zoom, change.zoom * change.stretch), dim=1)
    x, y = (middles(side, scales[:, axis], change.shift[:, 0, axis]) for axis, side in enumerate((18, 14)))
    torch.testing.assert_close(read_at(planes, x, y), moved(planes, scales, change.shift[:, 0]), atol=1e-5, rtol=0)


def test_what_is_compiled_is_the_same_change() -> None:
    """A card's code differs: how pictures are moved, powers and noise. Traced here, and run as it was traced."""
    traced = torch.compile(apply, backend="eager", dynamic=False, fullgraph=True)
    change, shown = drawn(replace(STRONG, noise=0.0)), pictures()
    for made, expected in zip(traced(change, *shown), apply(change, *shown), strict=True):
        torch.testing.assert_close(made, expected, atol=1e-5, rtol=0)
    grey = torch.full((2, 2, 64, 64, 3), 128, dtype=torch.uint8)
    noisy = drawn(NOTHING, scenes=2)._replace(noise=torch.tensor([0.04, 0.0]))
    seen, _ = traced(noisy, grey, grey[:, :, :5, :5])
    assert float(seen[0].std()) == pytest.approx(0.04, rel=0.02)
    torch.testing.assert_close(seen[1], grey[1] / 255.0)


def test_sixteen_bits_between_are_enough() -> None:
    """Where colours may be far outside of what is shown: less than a fifth of a step of 8 bits."""
    planes = 4.0 * torch.rand(2, 3, 14, 18, generator=torch.Generator().manual_seed(0)) - 1.5
    x, y = torch.linspace(-1.1, 1.2, 18).expand(2, -1), torch.linspace(-0.7, 0.9, 14).expand(2, -1)
    exact, short = (read_at(given, x, y).float().clamp(0.0, 1.0) for given in (planes, planes.half()))
    assert float((exact - short).abs().max()) < 0.2 / 255


def test_nearly_normal_numbers() -> None:
    """Moments, and nothing to see between neighbours, channels, pictures or calls."""
    torch.manual_seed(0)
    noise, later = nearly_normal((64, 3, 80, 120)), nearly_normal((64, 3, 80, 120))
    error = noise.numel() ** -0.5
    assert float(noise.mean()) == pytest.approx(0.0, abs=4 * error)
    assert float((noise**2).mean()) == pytest.approx(1.0, abs=6 * error)
    assert float((noise**3).mean()) == pytest.approx(0.0, abs=10 * error)
    assert float((noise**4).mean()) == pytest.approx(2.7, abs=30 * error)  # a normal one has 3
    assert 3.3 < float(noise.abs().max()) < 3.46
    beside = (
        noise[..., 1:] * noise[..., :-1],
        noise[..., 1:, :] * noise[..., :-1, :],
        noise[:, 1:] * noise[:, :-1],
    )
    for product in (*beside, noise[1:] * noise[:-1], noise * later):
        assert float(product.mean()) == pytest.approx(0.0, abs=5 * error)
    spread = noise.flatten(1).mean(dim=1) * (3 * 80 * 120) ** 0.5  # one picture's mean, of deviation 1
    assert 0.7 < float(spread.std()) < 1.3
    torch.manual_seed(0)
    assert torch.equal(nearly_normal((64, 3, 80, 120)), noise)


def test_autocast_moves_no_pixel() -> None:
    """Only the last digits of a pixel may go; a matrix product under autocast would misplace it by half a pixel."""
    views = torch.randint(0, 256, (1, 1, 32, 480, 3), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    with torch.autocast("cpu", torch.bfloat16):
        seen, asked = apply(drawn(NOTHING, scenes=1, views=1), views, pictures(1)[1])
    assert seen.dtype == asked.dtype == torch.bfloat16
    torch.testing.assert_close(seen.float(), views / 255.0, atol=2.1e-3, rtol=0)


def test_only_the_original_camera_sees_things_stretched() -> None:
    how = replace(NOTHING, share=1.0, stretch=0.5)
    assert torch.equal(drawn(how, first=False).stretch, torch.ones(3))
    assert (drawn(how).stretch != 1.0).all()


def test_prepared_does_what_is_known_of_the_scenes() -> None:
    change = drawn(replace(STRONG, noise=0.0))
    views, patches = pictures()
    sizes = torch.tensor([0.5, 1.0, 1.5, 0.8]).expand(3, -1)
    ids = torch.randint(0, 5, (3, 2, 7, 9), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    outlines = torch.full((3, 4, 5, 5), 255, dtype=torch.uint8)
    plain = (*apply(change, views, patches, sizes), None)
    dull = dulled_views(views, ids, 4, change.matte), dulled_patches(patches, outlines, change.matte)
    where = covers(ids[..., :6, :8], 4, 2, change)
    some = views[..., :6, :8, :], ids[..., :6, :8]
    for made, expected in (
        (prepared(None, views, patches, None, None, None, 2), (*unchanged(views, patches), None)),
        (prepared(change, views, patches, sizes, None, outlines, 2), plain),  # nobody knows whose the pixels are
        (prepared(change, some[0], patches, sizes, some[1], None, 2)[2:], (where,)),
        (prepared(change, views, patches, sizes, ids, outlines, 1)[:2], apply(change, *dull, sizes)),
    ):
        for one, other in zip(made, expected, strict=True):
            assert (one is None and other is None) or torch.equal(one, other)


@pytest.mark.parametrize(
    "how",
    [
        NOTHING,  # no scene, no strength
        replace(NOTHING, share=1.0),  # all scenes, no strength
        replace(STRONG, share=0.0, swap=0.0, grey=0.0),  # full strength, no scene
    ],
)
def test_no_change(how: Augmentation) -> None:
    views, patches = pictures()
    for made, kept in zip(apply(drawn(how), views, patches), unchanged(views, patches), strict=True):
        torch.testing.assert_close(made, kept, atol=1.01e-4, rtol=0)  # black is lifted to 0.0001


def test_unchanged_is_the_same_pixels() -> None:
    views, patches = pictures()
    seen, asked = unchanged(views, patches)
    assert torch.equal((seen * 255).round().byte(), views)
    assert torch.equal((asked * 255).round().byte(), patches)


def test_views_and_patches_change_alike() -> None:
    """A plain colour comes out the same in a view and in a patch, however it is moved and blurred."""
    change = drawn(replace(STRONG, noise=0.0, contrast=0.3, brightness=0.1), scenes=8)
    colour = torch.randint(0, 256, (8, 1, 1, 1, 3), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    seen, asked = apply(change, colour.expand(-1, 2, 7, 9, -1), colour.expand(-1, 3, 5, 5, -1))
    torch.testing.assert_close(seen[:, :1, :1, :1].expand_as(seen), seen, atol=1e-5, rtol=0)
    torch.testing.assert_close(seen[:, :1, :1, :1].expand_as(asked), asked, atol=1e-5, rtol=0)
    assert (seen[:, 0, 0, 0] - colour[:, 0, 0, 0] / 255.0).abs().max() > 0.05


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_stays_in_range(seed: int) -> None:
    for made in apply(drawn(STRONG, seed), *pictures(seed=seed)):
        assert made.isfinite().all()
        assert made.min() >= 0.0
        assert made.max() <= 1.0


def test_half_a_turn_twice_is_no_turn() -> None:
    half = _hue(torch.tensor([math.pi]), torch.ones(1))
    torch.testing.assert_close(half @ half, torch.eye(3)[None], atol=1e-6, rtol=0)
    assert (half - torch.eye(3)).abs().max() > 0.5


def test_a_third_of_a_turn_moves_red_to_green() -> None:
    third = _hue(torch.tensor([2 * math.pi / 3]), torch.ones(1))[0]
    torch.testing.assert_close(
        third @ torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]), atol=1e-6, rtol=0
    )


def test_no_saturation_is_grey_of_the_same_mean() -> None:
    made = _hue(torch.tensor([0.3]), torch.zeros(1))[0] @ torch.tensor([0.9, 0.3, 0.0])
    torch.testing.assert_close(made, torch.full((3,), 0.4))


def test_swapped_channels() -> None:
    colours = torch.arange(18.0).view(2, 3, 3)
    keys = torch.tensor([[0.9, 0.1, 0.5], [0.9, 0.1, 0.5]])
    made = _swapped(colours, torch.tensor([1.0, 0.0]), keys)
    assert torch.equal(made[0], colours[0, [1, 2, 0]])
    assert torch.equal(made[1], colours[1])


def test_seeded() -> None:
    one, two, other = drawn(STRONG, 4), drawn(STRONG, 4), drawn(STRONG, 5)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert not torch.equal(one.colours, other.colours)


def test_scenes_change_each_in_its_own_way() -> None:
    change = drawn(STRONG, scenes=16)
    assert len({tuple(c.ravel().tolist()) for c in change.colours}) == 16
    assert len(change.zoom.unique()) == 16


def test_share_of_the_scenes() -> None:
    change = drawn(Augmentation(share=0.25, swap=0.0), scenes=4000)
    assert (change.zoom != 1.0).float().mean() == pytest.approx(0.25, abs=0.03)
    assert (change.exponent != 1.0).float().mean() == pytest.approx(0.25, abs=0.03)
    assert (change.noise > 0.0).float().mean() == pytest.approx(0.25, abs=0.03)
    assert (change.blur > 0.0).float().mean() == pytest.approx(0.125, abs=0.03)


@pytest.mark.parametrize(
    ("name", "reach", "value"),
    [
        ("zoom", 0.3, lambda c: c.zoom.log().abs()),
        ("gamma", 0.4, lambda c: c.exponent.log().abs()),
        ("shift", 0.05, lambda c: c.shift.abs() / 2),  # half sides
        ("noise", 0.1, lambda c: c.noise),
        ("blur", 0.6, lambda c: c.blur),
    ],
)
def test_strength_is_the_end_of_the_range(name: str, reach: float, value: Any) -> None:
    change = drawn(replace(NOTHING, share=1.0, **{name: reach}), scenes=2000)
    found = value(change)
    assert 0.95 * reach < float(found.max()) <= reach * (1 + 1e-5)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_patches_grow_as_their_objects_would(seed: int) -> None:
    """A medium object seen 1.5 times nearer is a large one, and fills its square as a large one does."""
    change = drawn(replace(NOTHING, share=1.0, zoom=0.5), seed)
    views, patches = pictures(seed=seed)
    sizes = torch.tensor([0.5, 1.0, 1.5, 0.8]).expand(3, -1)
    _, asked = apply(change, views, patches, sizes)
    for s, q in np.ndindex(3, 4):
        size, zoom = float(sizes[s, q]), float(change.zoom[s])
        grown = (0.35 + 0.3 * size * zoom) / (0.35 + 0.3 * size)
        expected = oracle.moved(patches[s, q].numpy() / 255.0, (grown, grown), (0.0, 0.0))
        np.testing.assert_allclose(asked[s, q].numpy(), expected, atol=2e-4)


def test_fill_of_the_three_sizes() -> None:
    torch.testing.assert_close(fill(torch.tensor([0.5, 1.0, 1.5])), torch.tensor([0.5, 0.65, 0.8]))


def test_stretched_things_are_mostly_lower() -> None:
    stretch = drawn(replace(NOTHING, share=1.0, stretch=0.5), scenes=4000).stretch
    assert math.exp(-0.5) < stretch.min() < 0.62
    assert 1.23 < stretch.max() < math.exp(0.45 * 0.5)
    assert (stretch < 1).float().mean() == pytest.approx(1 / 1.45, abs=0.03)


def test_a_grey_scene_has_no_colour_left() -> None:
    seen, asked = apply(drawn(replace(NOTHING, grey=1.0)), *pictures())
    for made in (seen, asked):
        torch.testing.assert_close(made, made[..., :1].expand_as(made))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_dull_views_agree_with_a_loop_over_pixels(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    views = torch.randint(0, 256, (2, 2, 24, 32, 3), generator=draw, dtype=torch.uint8)
    ids = torch.randint(0, 3, (2, 2, 2, 2), generator=draw, dtype=torch.uint8)
    ids = ids.repeat_interleave(3, dim=2).repeat_interleave(4, dim=3)  # (2, 2, 6, 8): cells of four pixels
    matte = torch.rand(2, generator=draw)
    made = dulled_views(views, ids, 2, matte)
    for s, v in np.ndindex(2, 2):
        expected = oracle.dulled(views[s, v].numpy(), ids[s, v].numpy(), float(matte[s]))
        np.testing.assert_allclose(made[s, v].numpy(), expected, atol=0.51)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_dull_patches_agree_with_a_loop_over_pixels(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    patches = torch.randint(0, 256, (2, 3, 4, 4, 3), generator=draw, dtype=torch.uint8)
    outlines = torch.randint(0, 256, (2, 3, 4, 4), generator=draw, dtype=torch.uint8)
    outlines[1, 2] = 0  # nothing there
    matte = torch.rand(2, generator=draw)
    made = dulled_patches(patches, outlines, matte)
    for s, q in np.ndindex(2, 3):
        share = outlines[s, q].double().numpy()[..., None] / 255.0
        pixels = patches[s, q].double().numpy()
        mean = (pixels * share).sum(axis=(0, 1)) / max(share.sum(), 1e-6)
        expected = pixels + float(matte[s]) * share * (mean - pixels)
        np.testing.assert_allclose(made[s, q].numpy(), expected, atol=0.51)
