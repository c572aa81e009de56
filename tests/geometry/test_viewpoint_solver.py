"""Viewpoints from landmarks: exact where landmarks are, closest in the sense of equation 1 where they are not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from reference.viewpoint_oracle import official_pixel
from sightline.errors import DataError
from sightline.geometry import Viewpoint, geodesic, project, rotations, solve_viewpoint
from sightline.geometry.viewpoint_solver import solve_viewpoints

MIDDLE = (251.5, 160.25)


def problems(
    n: int, landmarks: int, seed: int = 0, distances: tuple[float, float] = (1.5, 60.0)
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in no plane, where they are seen, and azimuth, elevation, theta and distance: over the full range."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.4, 0.4, (4 * n, landmarks, 3))
    middles = points.mean(axis=1, keepdims=True)
    thickness = np.linalg.svd(points - middles, compute_uv=False)[:, 2]
    points = points[thickness > 0.08][:n]
    truth = np.column_stack(
        [
            rng.uniform(0, 360, n),
            np.degrees(np.arcsin(rng.uniform(-1, 1, n))),
            rng.uniform(-180, 180, n),
            rng.uniform(*distances, n),
        ]
    )
    seen = np.stack(
        [project(p, Viewpoint(a, e, d, t, MIDDLE)) for p, (a, e, t, d) in zip(points, truth, strict=True)]
    )
    return points, seen, truth


@pytest.mark.parametrize("landmarks", [4, 5, 8, 12])
def test_exact_landmarks_give_the_exact_viewpoint(landmarks: int) -> None:
    points, seen, truth = problems(800, landmarks)
    fits = solve_viewpoints(points, seen, MIDDLE)
    azimuth = np.abs((fits.angles[:, 0] - truth[:, 0] + 180) % 360 - 180)
    assert azimuth.max() < 0.1
    assert np.abs(fits.angles[:, 1] - truth[:, 1]).max() < 0.1
    assert geodesic(rotations(*fits.angles.T), rotations(*truth[:, :3].T)).max() < 1e-4
    np.testing.assert_allclose(fits.distance, truth[:, 3], rtol=1e-6)
    assert fits.error.max() < 1e-4


def test_the_principal_point_is_estimated_where_it_is_not_known() -> None:
    points, seen, truth = problems(400, 8, distances=(1.5, 20))
    fits = solve_viewpoints(points, seen)
    assert geodesic(rotations(*fits.angles.T), rotations(*truth[:, :3].T)).max() < 0.1
    np.testing.assert_allclose(fits.principal, np.tile(MIDDLE, (400, 1)), atol=0.5)


def test_the_sum_of_distances_is_as_small_as_a_slow_search_finds_it() -> None:
    """Equation 1: a search that knows no slope, from the truth and from our answer, finds nothing better."""
    optimize = pytest.importorskip("scipy.optimize")
    points, seen, truth = problems(2, 7, seed=1, distances=(4, 10))
    seen = seen + np.random.default_rng(2).normal(0, 3, seen.shape)
    for p, u, at in zip(points, seen, truth, strict=True):

        def mean(pose: np.ndarray, p: np.ndarray = p, u: np.ndarray = u) -> float:
            a, e, t, d = pose.tolist()
            pixels = [official_pixel(q, a, e, d, t, MIDDLE) for q in p.tolist()]
            return float(np.mean([math.dist(x, y) for x, y in zip(pixels, u.tolist(), strict=True)]))

        fit = solve_viewpoint(p, u, MIDDLE)
        found = fit.viewpoint
        ours = np.array([found.azimuth, found.elevation, found.theta, found.distance])
        assert fit.error == pytest.approx(mean(ours), abs=1e-9)
        assert fit.viewpoint.error == fit.error
        options = {"maxiter": 200, "fatol": 1e-4}
        searched = [optimize.minimize(mean, s, method="Nelder-Mead", options=options).fun for s in (at, ours)]
        assert fit.error <= min(searched) + 0.01


def test_squares_are_the_better_choice_where_errors_are_gaussian() -> None:
    points, seen, truth = problems(600, 10, distances=(4, 15))
    noisy = seen + np.random.default_rng(0).normal(0, 2, seen.shape)
    real = rotations(*truth[:, :3].T)
    distances, squares = (solve_viewpoints(points, noisy, MIDDLE, squares=flag) for flag in (False, True))
    gaps = [np.median(geodesic(rotations(*fits.angles.T), real)) for fits in (distances, squares)]
    assert gaps[1] < gaps[0] < 1.5
    assert (distances.error < squares.error + 0.01).all()


def test_misplaced_landmarks_are_left_out_of_account_where_asked() -> None:
    points, seen, truth = problems(200, 12, distances=(4, 15))
    rng = np.random.default_rng(3)
    noisy = seen + rng.normal(0, 1, seen.shape)
    noisy[:, :4] += rng.uniform(60, 200, (200, 4, 2)) * rng.choice([-1, 1], (200, 4, 2))
    real = rotations(*truth[:, :3].T)
    plain, robust = (solve_viewpoints(points, noisy, MIDDLE, robust=cap) for cap in (None, 5.0))
    off, near = (geodesic(rotations(*fits.angles.T), real) for fits in (plain, robust))
    assert np.percentile(near, 90) < 1.5 < 2.0 < np.percentile(off, 90)
    exact = seen.copy()
    exact[:, :4] = noisy[:, :4]
    assert (
        np.percentile(geodesic(rotations(*solve_viewpoints(points, exact, MIDDLE, robust=5.0).angles.T), real), 90)
        < 0.1
    )


FLAT = [(0.3, 0.0, 0.2), (-0.3, 0.0, 0.2), (0.3, 0.0, -0.2), (-0.3, 0.0, -0.2), (0.1, 0.0, 0.05)]
"""A screen: its landmarks are in one plane, so from afar two tilts look alike."""


@pytest.mark.parametrize("azimuth", [25.0, 335.0])
def test_coarse_angles_decide_between_viewpoints_that_look_alike(azimuth: float) -> None:
    rng = np.random.default_rng(0)
    seen = project(FLAT, Viewpoint(azimuth, 1.0, 60, 0, MIDDLE)) + rng.normal(0, 0.2, (5, 2))
    for near in (azimuth + 10, azimuth - 10):
        fit = solve_viewpoint(FLAT, seen, MIDDLE, coarse=(near, 0.0))
        assert abs(fit.viewpoint.azimuth - azimuth) < 8.0
        assert fit.viewpoint.coarse == (near, 0.0)


def test_with_fewer_than_two_landmarks_the_coarse_angles_are_the_answer() -> None:
    fit = solve_viewpoint(FLAT, [(1.0, 2.0), *[(math.nan, math.nan)] * 4], MIDDLE, coarse=(200.0, 5.0))
    assert fit.viewpoint == Viewpoint(200.0, 5.0, 0.0, 0.0, MIDDLE, coarse=(200.0, 5.0))
    assert (math.isnan(fit.error), fit.landmarks) == (True, 1)
    fits = solve_viewpoints(FLAT, np.full((2, 5, 2), np.nan), coarse=[(10.0, 1.0), (math.nan, math.nan)])
    assert fits[0].viewpoint == Viewpoint(10.0, 1.0, coarse=(10.0, 1.0))
    assert np.isnan(fits.angles[1]).all()


@pytest.mark.parametrize("landmarks", [2, 3])
def test_two_landmarks_are_met_from_the_coarse_angles(landmarks: int) -> None:
    points, seen, truth = problems(50, 4)
    fits = solve_viewpoints(points[:, :landmarks], seen[:, :landmarks], MIDDLE, coarse=truth[:, :2])
    assert np.median(fits.error) < 1e-3


def test_landmarks_that_are_missing_do_not_count() -> None:
    points, seen, _ = problems(40, 9)
    noisy = seen + np.random.default_rng(0).normal(0, 2, seen.shape)
    short = solve_viewpoints(points[:, :7], noisy[:, :7], MIDDLE)
    points[:, 7], noisy[:, 8] = np.nan, np.nan
    padded = solve_viewpoints(points, noisy, MIDDLE)
    np.testing.assert_array_equal(padded.angles, short.angles)
    assert padded.landmarks.tolist() == [7] * 40
    alone = solve_viewpoint(points[5], noisy[5], MIDDLE)
    assert alone == padded[5]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: solve_viewpoint(FLAT, [(1, 2)] * 4), "do not fit together"),  # a pixel too few
        (lambda: solve_viewpoint(FLAT, np.full((5, 2), np.nan)), "too few landmarks"),  # nothing seen
        (lambda: solve_viewpoints(FLAT, [(1, 2)] * 5), r"not \(B, N, 2\)"),  # one problem, no batch
        (lambda: solve_viewpoint(FLAT, [(1, 2)] * 5, viewport=0), "must be above 0"),  # no viewport
        (lambda: solve_viewpoint(FLAT, [(1, 2)] * 5, robust=-1), "must be above 0"),  # no scale
    ],
)
def test_what_cannot_be_solved_is_told(act: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        act()


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)])
def test_landmarks_in_one_place_count_as_one(place: tuple[float, float, float]) -> None:
    """Whatever is not given aside; their pixels do not matter."""
    points = np.array([place, place, place, (math.nan, 0.0, 0.0), (0.3, 0.2, 0.1)])
    for pixels in (np.zeros((5, 2)), np.arange(10.0).reshape(5, 2)):
        pixels[4] = math.nan
        with pytest.raises(DataError, match="all landmarks are at one place"):
            solve_viewpoint(points, pixels, (1.0, 1.0))
        fit = solve_viewpoint(points, pixels, (1.0, 1.0), coarse=(200.0, 5.0))
        assert fit.viewpoint == Viewpoint(200.0, 5.0, 0.0, 0.0, (1.0, 1.0), coarse=(200.0, 5.0))
        assert (math.isnan(fit.error), fit.landmarks) == (True, 3)


def test_two_places_are_enough() -> None:
    fit = solve_viewpoint([(0.1, 0.0, 0.0)] * 3 + [(0.1, 0.001, 0.0)], [(10.0, 20.0)] * 3 + [(11.0, 20.0)])
    assert math.isfinite(fit.error)
