"""Features, distance transform and scores of deformable part models against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference import dpm_oracle
from sightline.models.dpm import detector, hog
from sightline.models.dpm.detector import FilterBank, RootPlace, best_places, distance_transform, suppressed
from sightline.models.dpm.filters import PART, ComponentFilters, Dpm, DpmConfig, FilterShape, MixtureComponent
from sightline.models.dpm.hog import FEATURES, PyramidLevel, mirrored, pyramid, scales_for


def channels_first(picture: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(picture.astype(np.float32)).permute(2, 0, 1)


@given(
    picture=st.tuples(st.integers(5, 20), st.integers(5, 20)).flatmap(
        lambda size: arrays(np.uint8, (*size, 3), elements=st.integers(0, 255))
    ),
    cell=st.sampled_from([4, 8]),
)
@settings(max_examples=6, deadline=None)
def test_features_are_those_of_the_formula(picture, cell):
    expected = dpm_oracle.hog(picture, cell)
    made = hog.hog(channels_first(picture), cell)
    np.testing.assert_allclose(made.permute(1, 2, 0).numpy(), expected, atol=2e-5)


def test_features_by_any_device_are_those_of_the_cpu():
    picture = torch.from_numpy(np.random.default_rng(0).uniform(0, 255, (3, 50, 66)).astype(np.float32))
    by_cpu = hog._histogram(np.ascontiguousarray(picture.permute(1, 2, 0).numpy()), 8, *hog._TURNS)
    np.testing.assert_allclose(hog._histogram_of_tensor(picture, 8).numpy(), by_cpu, rtol=1e-4, atol=1e-3)


def test_mirrored_features_are_those_of_the_mirrored_picture():
    picture = torch.from_numpy(np.random.default_rng(1).uniform(0, 255, (3, 48, 72)).astype(np.float32))
    inner = (slice(None), slice(2, -2), slice(2, -2))  # beyond the edges gradients lie between two directions
    torch.testing.assert_close(mirrored(hog.hog(picture))[inner], hog.hog(picture.flip(-1))[inner])


def test_a_pyramid_has_parts_at_twice_the_scale():
    picture = np.random.default_rng(2).integers(0, 256, (97, 150, 3)).astype(np.uint8)
    levels = pyramid(picture, scales_for((150, 97), 3))
    assert [level.scale for level in levels[:4]] == pytest.approx([1, 2 ** (-1 / 3), 2 ** (-2 / 3), 0.5])
    for level in levels:
        assert level.fine.shape[1:] == tuple(2 * n for n in level.coarse.shape[1:])
    assert levels[0].coarse.shape == (FEATURES, 12, 19)
    shared = levels[0].coarse[:, : levels[3].fine.shape[1], : levels[3].fine.shape[2]]
    torch.testing.assert_close(levels[3].fine[:, :12, :19], shared)  # the whole picture's, used again


def test_a_picture_shrinks_to_its_means_by_any_factor():
    rng = np.random.default_rng(6)
    picture = torch.from_numpy(rng.uniform(0, 255, (3, 800, 1200)).astype(np.float32))
    ramp = torch.linspace(0, 1000, 1200)[None, None].expand(3, 800, -1)
    small = hog.resized(picture + ramp, (8, 12))  # by 100 each way
    assert small.shape == (3, 8, 12)
    expected = torch.nn.functional.avg_pool2d(picture + ramp, 100)
    torch.testing.assert_close(small[:, 1:-1, 1:-1], expected[:, 1:-1, 1:-1], rtol=0.02, atol=3.0)
    assert hog.resized(picture[:, :1], (1, 8)).shape == (3, 1, 8)  # one row cannot be halved


numbers = st.floats(-3, 3, allow_nan=False, width=32)


@given(
    scores=st.tuples(st.just(2), st.integers(1, 6), st.integers(1, 7)).flatmap(
        lambda shape: arrays(np.float32, shape, elements=numbers)
    ),
    bends=arrays(np.float32, (2, 4), elements=st.floats(0.0625, 2, width=32)),
    lean=arrays(np.float32, (2, 2), elements=st.floats(-1, 1, width=32)),
)
@settings(max_examples=25, deadline=None)
def test_the_distance_transform_is_the_best_of_all_places(scores, bends, lean):
    deformations = np.concatenate([lean, bends[:, 2:]], axis=1)
    expected = np.stack([dpm_oracle.distance_transform(s, d) for s, d in zip(scores, deformations, strict=True)])
    given_ = torch.from_numpy(scores), torch.from_numpy(deformations)
    np.testing.assert_allclose(distance_transform(*given_).numpy(), expected, atol=1e-4)
    for at_once in (detector._AT_ONCE, 60, 1):  # numbers, and so parts and rows, compared at once
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(detector, "_AT_ONCE", at_once)
            across = detector._best_along(given_[0], given_[1][:, 0], given_[1][:, 2])
            down = detector._best_along(across.transpose(1, 2), given_[1][:, 1], given_[1][:, 3]).transpose(1, 2)
        np.testing.assert_allclose(down.numpy(), expected, atol=1e-4)


def random_filters(shape: FilterShape, rng: np.random.Generator) -> ComponentFilters:
    made = ComponentFilters(shape)
    weights = rng.normal(size=shape.size).astype(np.float32)
    made.fill(torch.from_numpy(weights))
    made.deformations[:, 2:] = made.deformations[:, 2:].abs() + 0.05
    made.edges.copy_(torch.from_numpy(rng.normal(size=tuple(made.edges.shape)).astype(np.float32)))
    return made


def toy_model(rng: np.random.Generator) -> Dpm:
    shapes = (FilterShape(4, 5, ((0, 1), (2, 4))), FilterShape(5, 4, ((3, 0), (1, 2))))
    both = (
        MixtureComponent("toy", 0, False, (45.0, 5.0, 0.0)),
        MixtureComponent("toy", 0, True, (315.0, 5.0, 0.0)),
        MixtureComponent("toy", 1, False, (0.0, 5.0, 0.0)),
    )
    net = Dpm(DpmConfig("vdpm", 8, shapes, both))
    for mine, shape in zip(net.filters, shapes, strict=True):
        mine.load_state_dict(random_filters(shape, rng).state_dict())
    return net


@pytest.mark.parametrize("seed", [0, 1])
def test_a_score_is_that_of_the_best_placement_of_every_part(seed):
    rng = np.random.default_rng(seed)
    net = toy_model(rng)
    coarse, fine = (rng.normal(size=(FEATURES, n, m)).astype(np.float32) for n, m in ((5, 6), (10, 12)))
    bank = FilterBank(net)
    (scores,) = bank.scores([PyramidLevel(1.0, torch.from_numpy(coarse), torch.from_numpy(fine))])
    down, across = bank.pad
    for number, filters in enumerate(bank.components):
        parts = {
            "root": filters.root.numpy(),
            "parts": filters.parts.numpy(),
            "anchors": filters.shape.anchors,
            "deformations": filters.deformations.numpy(),
            "bias": 10.0 * float(filters.bias),
        }
        for row, column in ((0, 0), (-down, -across), (1, 1)):
            expected = dpm_oracle.placement_score(coarse, fine, parts, row, column, (2 * down, 2 * across))
            assert float(scores.totals[number][row + down, column + across]) == pytest.approx(expected, abs=2e-3)
            place = RootPlace(0.0, number, 0, row, column)
            chosen = [
                (window, at, d)
                for window, at, d in zip(
                    parts["parts"], scores.part_places(place), parts["deformations"], strict=True
                )
            ]
            again = dpm_oracle.window_score(coarse, parts["root"], row, column) + parts["bias"]
            for (window, at, deformation), anchor in zip(chosen, parts["anchors"], strict=True):
                dy, dx = at - np.array((2 * row, 2 * column)) - np.array(anchor)
                again += dpm_oracle.window_score(fine, window, *at)
                again -= float(np.dot(deformation, (dx, dy, dx * dx, dy * dy)))
            assert again == pytest.approx(expected, abs=2e-3)


def test_a_mirrored_component_scores_the_mirrored_picture_alike():
    rng = np.random.default_rng(3)
    net = toy_model(rng)
    coarse, fine = (
        torch.from_numpy(rng.normal(size=(FEATURES, n, m)).astype(np.float32)) for n, m in ((6, 7), (12, 14))
    )
    bank = FilterBank(net)
    (here,) = bank.scores([PyramidLevel(1.0, coarse, fine)])
    (there,) = bank.scores([PyramidLevel(1.0, mirrored(coarse), mirrored(fine))])
    torch.testing.assert_close(here.totals[0], there.totals[1].flip(-1), rtol=1e-4, atol=1e-3)
    columns = 7 - net.config.filters[0].columns
    box = bank.box(RootPlace(0.0, 0, 0, 1, 1), here)
    other = bank.box(RootPlace(0.0, 1, 0, 1, columns - 1), there)
    width = 7 * hog.CELL
    assert (width - other[2], other[1], width - other[0], other[3]) == pytest.approx(box, rel=1e-4)


def test_parts_are_counted_in_alike_by_every_device():
    rng = np.random.default_rng(7)
    bank = FilterBank(toy_model(rng))
    picture = rng.integers(0, 256, (96, 120, 3)).astype(np.uint8)
    for scores in bank.scores(pyramid(picture, [1.0, 0.6])):
        alone = torch.nn.functional.conv2d(
            torch.nn.functional.pad(scores.coarse, (0, bank.roots.shape[3] - 1, 0, bank.roots.shape[2] - 1))[None],
            bank.roots,
        )[0]
        scores._maps = alone + bank.biases[:, None, None]
        scores._add_parts_by_tensors(distance_transform(scores.responses, bank.deformations))
        for mine, expected in zip(scores._maps, scores.totals, strict=True):
            assert expected.abs().max() > 0.1
            torch.testing.assert_close(mine[: expected.shape[0], : expected.shape[1]], expected)


def test_the_best_places_are_sorted_and_suppressed():
    rng = np.random.default_rng(4)
    bank = FilterBank(toy_model(rng))
    levels = pyramid(rng.integers(0, 256, (80, 96, 3)).astype(np.uint8), scales_for((96, 80), 2))
    scores = list(bank.scores(levels))
    every = np.concatenate([t.numpy().ravel() for level in scores for t in level.totals])
    found = best_places(scores, least=-1e9, most=50)
    np.testing.assert_allclose([p.score for p in found], np.sort(every)[::-1][:50])
    for place in found[:5]:
        total = scores[place.level].totals[place.component]
        assert float(total[place.row + bank.pad[0], place.column + bank.pad[1]]) == place.score
    boxes = np.array([(0, 0, 10, 10), (1, 0, 11, 10), (20, 0, 30, 10), (0, 0, 10, 4.9)], dtype=np.float64)
    # the second overlaps the first, a better one; the last overlaps it by less than a half
    assert suppressed(boxes, np.array([1.0, 0.5, 2.0, 0.1])).tolist() == [2, 0, 3]
    assert not len(suppressed(np.zeros((0, 4)), np.zeros(0)))
    assert PART == 6
